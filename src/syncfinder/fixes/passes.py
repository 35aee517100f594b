"""Passes: apply what can be applied together, check the new text, and go on until nothing changes."""

from __future__ import annotations

import ast
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from syncfinder.check import Report
from syncfinder.finding import Finding
from syncfinder.fixes.apply import apply, compose
from syncfinder.source.display import shown
from syncfinder.source.file import SourceFile

MAX_PASSES = 20


@dataclass(slots=True)
class Fixed:
    """What the passes changed: old and new text by file, and how often which rule (code and name) was fixed there."""

    texts: dict[Path, tuple[str, str]] = field(default_factory=dict)
    counts: dict[Path, Counter[tuple[str, str]]] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)

    @property
    def total(self) -> int:
        return sum(counts.total() for counts in self.counts.values())

    def forget(self, path: Path) -> None:
        """Leave a file as it was."""
        self.texts.pop(path, None)
        self.counts.pop(path, None)


def fix(inspect: Callable[[dict[Path, str]], Report], show_info: bool) -> tuple[Report, Fixed]:
    """Fix what may be fixed of the findings that are shown; return the report on what remains, and what was done.

    `inspect` checks the files with some new texts. A file whose fixes do not parse, or never come to an end, is left as
    it was and is an error.
    """
    fixed = Fixed()
    left: set[Path] = set()
    for _ in range(MAX_PASSES):
        report = inspect({path: new for path, (_, new) in fixed.texts.items()})
        known = len(left)
        changed = _pass(report, fixed, left, show_info)
        if not changed and len(left) == known:
            return report, fixed
    for path in changed:
        codes = ", ".join(sorted({code for code, _ in fixed.counts[path]}))
        fixed.errors.append(_fault(path, f"the fixes of {codes} do not come to an end"))
        fixed.forget(path)
    return inspect({path: new for path, (_, new) in fixed.texts.items()}), fixed


def _pass(report: Report, fixed: Fixed, left: set[Path], show_info: bool) -> list[Path]:
    """Make one round of fixes; return the files that it changed."""
    by_file: dict[str, list[Finding]] = {}
    for finding in report.findings:
        if finding.fixable and (show_info or finding.level != "info"):
            by_file.setdefault(finding.filename, []).append(finding)
    changed = []
    for name, findings in by_file.items():
        path, file = Path(name), report.files[name]
        if path in left:
            continue
        chosen, new = _applied(findings, file.text)
        broken = _broken(path, chosen, new, file)
        if broken is not None:
            fixed.errors.append(broken)
            fixed.forget(path)
            left.add(path)
        elif new != file.text:
            old = fixed.texts[path][0] if path in fixed.texts else file.text
            fixed.texts[path] = (old, new)
            fixed.counts.setdefault(path, Counter()).update((f.code, f.name) for f in chosen)
            changed.append(path)
    return changed


def _applied(findings: list[Finding], text: str) -> tuple[list[Finding], str]:
    chosen, edits = compose((f, f.fix.edits) for f in findings if f.fix is not None)
    return chosen, apply(text, edits)


def _broken(path: Path, chosen: list[Finding], new: str, file: SourceFile) -> str | None:
    """Return the error for a fixed text that does not parse; it names the rules whose fixes break it on their own."""
    problem = _problem(new)
    if problem is None:
        return None
    alone = {f.code for f in chosen if _problem(_applied([f], file.text)[1]) is not None}
    codes = ", ".join(sorted(alone or {f.code for f in chosen}))
    return _fault(path, f"the fix of {codes} gives code that does not parse ({problem})")


def _problem(text: str) -> str | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except (SyntaxError, ValueError) as error:
        return str(error)
    return None


def _fault(path: Path, what: str) -> str:
    return f"{shown(path)}: internal error: {what}; the file is left as it was. Please report it; other files are fixed"
