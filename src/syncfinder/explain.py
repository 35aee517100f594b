"""`syncfinder explain FILE:LINE`: what the engine believes about the values on a line, why, and what it reports."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from syncfinder.config import Settings
from syncfinder.finding import Finding
from syncfinder.sites.site import Reason
from syncfinder.source.file import SourceFile

if TYPE_CHECKING:
    from syncfinder.infer.watch import Watched

MOST_VALUES = 4  # of one expression; a function is evaluated once per shape of its arguments


@dataclass(frozen=True, slots=True)
class Belief:
    """What one expression is taken for, in words (`Tensor[cuda, bool]`), and why; `column` is 1-based."""

    text: str
    column: int
    value: str
    confidence: str
    why: tuple[Reason, ...]


@dataclass(slots=True)
class Explanation:
    """`reported` are the line's findings, `hidden` those that are not shown, each with the reason."""

    file: SourceFile
    line: int
    beliefs: list[Belief] = field(default_factory=list)
    reported: list[Finding] = field(default_factory=list)
    hidden: list[tuple[Finding, str]] = field(default_factory=list)


def explain(path: Path, line: int, settings: Settings) -> Explanation:
    """Evaluate a file and say what is known of a line (1-based).

    Raises:
        SourceError: the file cannot be read.
        ValueError: the file has no such line, or cannot be parsed.
    """
    from syncfinder.stages import with_deep_stack

    return with_deep_stack(lambda: _explain(Path(os.path.abspath(path)), line, settings))


def _explain(path: Path, line: int, settings: Settings) -> Explanation:
    from syncfinder.infer.watch import watching
    from syncfinder.source.decode import source_of
    from syncfinder.stages import observe_here, word_file

    file = source_of(path, {})
    count = len(file.text.splitlines())
    if not 1 <= line <= count:
        raise ValueError(f"{path} has {count} lines")
    with watching(path, line) as seen:
        observed = observe_here([path], [path], {}, settings)
    if observed.errors:
        raise ValueError(observed.errors[0])
    found = Explanation(file, line)
    found.beliefs = list(_beliefs(list(seen.values()), file))
    for finding, suppressed in word_file(path, observed.sites.get(path, []), {}).findings:
        if finding.span.line <= line <= finding.span.end_line:
            finding.level = settings.level_of(finding.code, finding.level)
            reason = _hidden_by(path, finding, suppressed, settings)
            if reason is None:
                found.reported.append(finding)
            else:
                found.hidden.append((finding, reason))
    return found


def _hidden_by(path: Path, finding: Finding, suppressed: bool, settings: Settings) -> str | None:
    if suppressed:
        return "suppressed by a comment"
    if not settings.selects(finding.code):
        return "its rule is not selected"
    if not settings.selects_in(path, finding.code):
        return "ignored in this file by per-file-ignores"
    if not settings.keeps(finding.confidence):
        return f"{finding.confidence}, below min-confidence"
    if finding.level == "info" and not settings.show_info:
        return f"info ({finding.context}), shown with --show-info"
    return None


def _beliefs(seen: list[Watched], file: SourceFile) -> Iterator[Belief]:
    """The line's values in source order, the outer of two that begin together first; names of code say nothing."""
    from syncfinder.infer.frame import CONFIDENCE
    from syncfinder.infer.showing import show
    from syncfinder.infer.values import Api, Const, Method, ModuleValue, UnknownValue, tensor_in

    seen.sort(key=lambda w: (w.node.lineno, w.node.col_offset, -(w.node.end_col_offset or 0)))
    for entry in seen:
        values = [v for v in entry.values if not isinstance(v, (Api, Const, Method, ModuleValue))]
        if len(values) > 1:
            values = [v for v in values if not isinstance(v, UnknownValue)]
        text = " ".join((ast.get_source_segment(file.text, entry.node) or ast.unparse(entry.node)).split())
        column = len(file.text.splitlines()[entry.node.lineno - 1].encode()[: entry.node.col_offset].decode()) + 1
        for value in values[:MOST_VALUES]:
            tensor = tensor_in(value)
            confidence = CONFIDENCE[tensor.sure] if tensor is not None else ""
            why = tensor.why if tensor is not None else getattr(value, "why", ())
            yield Belief(text, column, show(value), confidence, tuple(why))
