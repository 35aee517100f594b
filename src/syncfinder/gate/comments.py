"""Findings about the suppressions themselves: unused ones, those without a reason, and malformed ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from syncfinder.finding import Finding, Suggestion
from syncfinder.rules.catalogue import Rule, by_kind, load
from syncfinder.sites.site import Site, Span
from syncfinder.source.comments import Ignore, Suppressions, suppressions

if TYPE_CHECKING:
    from syncfinder.config import Settings
    from syncfinder.source.file import SourceFile

UNUSED, REASONLESS, MALFORMED = "SF001", "SF002", "SF003"


def lines_of(site: Site) -> range:
    """The lines on which a comment covers a site: those of its statement."""
    return range(min(site.statement[0], site.span.line), max(site.statement[1], site.span.end_line) + 1)


def comment_findings(file: SourceFile, sites: list[Site], settings: Settings) -> list[Finding]:
    """What is wrong with the suppressions of a file.

    `sites` are all of the file's, of whatever confidence and rule: a comment that covers one of them is of use.
    """
    comments = suppressions(file)
    for site in sites:
        comments.covers(by_kind()[site.kind].code, lines_of(site))
    rules = load()
    wanted = [code for code in (MALFORMED, REASONLESS, UNUSED) if settings.selects_in(file.path, code)]
    found = []
    for code in wanted:
        for span, message, advice in _FINDERS[code](comments, file, settings):
            if not comments.names(code, span.line):
                found.append(_finding(rules[code], file, span, message, advice, settings))
    return found


Row = tuple[Span, str, str]  # where, the message, what to do


def _unused(comments: Suppressions, file: SourceFile, settings: Settings) -> Iterator[Row]:
    for ignore in comments.unused():
        unused = [c for c in ignore.unused_codes() if not c.startswith("SF0") and _selected(c, file, settings)]
        if not ignore.used and len(unused) == len(ignore.codes):
            yield _span(ignore), f"`{ignore.text}` suppresses nothing", "remove the comment"
        elif unused:
            names = " and ".join(f"`{code}`" for code in unused)
            yield _span(ignore), f"{names} in `{ignore.text}` suppresses nothing", f"remove {names} from the brackets"


def _selected(prefix: str, file: SourceFile, settings: Settings) -> bool:
    """Whether all rules that a code or its beginning means are asked for: of others nobody wants to hear."""
    meant = [rule.code for rule in load().values() if rule.kinds and rule.code.startswith(prefix)]
    return all(settings.selects_in(file.path, code) for code in meant)


def _reasonless(comments: Suppressions, file: SourceFile, settings: Settings) -> Iterator[Row]:
    for ignore in comments.ignores:
        if not ignore.reason:
            separator = ": " if ignore.text == "# gpu-sync-ok" else " "
            yield (
                _span(ignore),
                f"`{ignore.text}` does not say why the wait is meant",
                f"say it behind the comment: `{ignore.text}{separator}once per batch`",
            )


def _malformed(comments: Suppressions, file: SourceFile, settings: Settings) -> Iterator[Row]:
    for problem in comments.problems:
        span = Span(problem.line, problem.column, problem.line, problem.end_column)
        yield span, problem.message, "write `# syncfinder: ignore[SF101] reason`, with the codes that are meant"


_FINDERS = {UNUSED: _unused, REASONLESS: _reasonless, MALFORMED: _malformed}


def _span(ignore: Ignore) -> Span:
    return Span(ignore.line, ignore.column, ignore.line, ignore.end_column)


def _finding(rule: Rule, file: SourceFile, span: Span, message: str, advice: str, settings: Settings) -> Finding:
    return Finding(
        code=rule.code,
        name=rule.name,
        message=message,
        filename=str(file.path),
        span=span,
        level=settings.level_of(rule.code, "warning"),
        confidence="certain",
        family=rule.family,
        fix=Suggestion(advice),
        statement=(span.line, span.end_line),
    )
