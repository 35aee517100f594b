"""One HTML page of its own, for people who get the report as a file."""

from __future__ import annotations

import re
from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from syncfinder import __version__
from syncfinder.report.summary import of_report
from syncfinder.report.text import grounds, visible
from syncfinder.source.display import shown

if TYPE_CHECKING:
    from markupsafe import Markup

    from syncfinder.check import Report
    from syncfinder.report.formats import Look
    from syncfinder.sites.site import Span
    from syncfinder.source.file import SourceFile

_AROUND = 2
_MOST_MARKED = 8


class Row(NamedTuple):
    """A line of source: what stands before, in and behind the expression that waits."""

    number: int
    before: str
    marked: str
    after: str


def write(report: Report, stream: TextIO, look: Look) -> None:
    """Write the page, in ASCII: other characters as references, so that no terminal's encoding can harm it."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    from syncfinder.rules.catalogue import load

    environment = Environment(
        loader=PackageLoader("syncfinder.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(code=_code, grounds=grounds, shown=shown)
    findings = visible(report.findings, look.show_info)
    rules = load()
    counts = Counter(f.code for f in findings)
    page = environment.get_template("report.html.jinja").render(
        version=__version__,
        summary=of_report(report, show_info=look.show_info),
        errors=report.errors,
        rules=[(rules[code], count) for code, count in sorted(counts.items())],
        files=[(name, list(group)) for name, group in groupby(findings, key=lambda f: f.filename)],
        rows=lambda finding: _rows(report.files.get(finding.filename), finding.span),
    )
    stream.write(page.encode("ascii", "xmlcharrefreplace").decode("ascii") + "\n")


def _rows(file: SourceFile | None, span: Span) -> list[Row]:
    """The lines around a span; none of a file that is not known."""
    if file is None:
        return []
    last = min(span.end_line, span.line + _MOST_MARKED - 1)
    numbers = range(max(span.line - _AROUND, 1), min(last + _AROUND, len(file.lines)) + 1)
    return [_row(number, file.lines[number - 1], span) for number in numbers]


def _row(number: int, line: str, span: Span) -> Row:
    if not span.line <= number <= span.end_line:
        return Row(number, line, "", "")
    start = span.column - 1 if number == span.line else len(line) - len(line.lstrip())
    end = span.end_column - 1 if number == span.end_line else len(line)
    return Row(number, line[:start], line[start:end], line[end:])


def _code(text: str) -> Markup:
    """What stands between backticks as code."""
    from markupsafe import Markup, escape

    parts: list[Any] = re.split(r"`([^`]*)`", text)
    return Markup("").join(Markup("<code>{}</code>").format(p) if i % 2 else escape(p) for i, p in enumerate(parts))
