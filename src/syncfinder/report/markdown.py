"""Markdown for a comment on a pull request: a table of findings for each file."""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING, TextIO

from syncfinder.report.checkout import relative, root
from syncfinder.report.summary import of_report
from syncfinder.report.text import one_line, visible

if TYPE_CHECKING:
    from syncfinder.check import Report
    from syncfinder.finding import Finding
    from syncfinder.report.formats import Look

# GitHub refuses a comment of more than 65,536 characters; the rest is for the lines around the tables.
MOST_CHARACTERS = 64_000
_HEAD = "| place | finding | instead |\n|---:|---|---|\n"
_SPECIAL = re.compile(r"([\\*_<>\[\]|~&@#`])")


def write(report: Report, stream: TextIO, look: Look) -> None:
    """Write the comment. What a comment cannot hold is left out from the end, and counted."""
    stream.write(f"### syncfinder\n\n{_text(of_report(report, show_info=look.show_info))}\n")
    if report.errors:
        stream.write("\n" + "".join(f"- error: {_text(error)}\n" for error in report.errors))
    base, room = root(), MOST_CHARACTERS
    findings = visible(report.findings, look.show_info)
    written = 0
    for filename, group in groupby(findings, key=lambda f: f.filename):
        block = f"\n#### {_code(relative(filename, base))}\n\n{_HEAD}"
        rows = [_row(finding) for finding in group]
        if len(block) + len(rows[0]) > room:
            break
        room -= len(block)
        fitting = _fitting(rows, room)
        room -= sum(map(len, fitting))
        written += len(fitting)
        stream.write(block + "".join(fitting))
        if len(fitting) < len(rows):
            break
    left_out = len(findings) - written
    if left_out:
        stream.write(f"\n{left_out} more: a comment holds no more than this.\n")


def _fitting(rows: list[str], room: int) -> list[str]:
    """The first rows that together take no more than `room` characters."""
    for count, row in enumerate(rows):
        room -= len(row)
        if room < 0:
            return rows[:count]
    return rows


def _row(finding: Finding) -> str:
    place = f"{finding.span.line}:{finding.span.column}"
    tags = ", ".join(filter(None, (finding.level, finding.confidence, finding.context)))
    instead = "<br>".join(_text(line) for line in finding.fix.message.splitlines()) if finding.fix is not None else ""
    return f"| {place} | **{finding.code}** {_text(one_line(finding.message))} ({_text(tags)}) | {instead} |\n"


def _text(text: str) -> str:
    """Text whose backticks set code, as messages do; everything else in it is shown as it is."""
    parts = one_line(text).split("`")
    if len(parts) % 2 == 0:  # a backtick without a partner
        return _SPECIAL.sub(r"\\\1", "`".join(parts))
    return "".join(_code(part) if i % 2 else _SPECIAL.sub(r"\\\1", part) for i, part in enumerate(parts))


def _code(text: str) -> str:
    """Code in a table's cell, where only `|` needs an escape."""
    return f"`{text}`".replace("|", "\\|") if text else "``"
