"""The findings under their files' names."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, TextIO

from syncfinder.report.text import LEVEL_STYLES, Styler, fixable, one_line, visible
from syncfinder.source.display import shown

if TYPE_CHECKING:
    from syncfinder.check import Report
    from syncfinder.report.formats import Look


def write(report: Report, stream: TextIO, look: Look) -> None:
    """Write a block for each file, its places in a column of their own."""
    style = Styler(look.color)
    for filename, group in groupby(visible(report.findings, look.show_info), key=lambda f: f.filename):
        findings = list(group)
        places = [f"{f.span.line}:{f.span.column}" for f in findings]
        width = max(map(len, places))
        stream.write(f"{style(shown(filename), 'bold')}:\n")
        for f, place in zip(findings, places, strict=True):
            code = style(f.code, LEVEL_STYLES[f.level])
            stream.write(f"  {place:<{width}} {code} {fixable(f, style)}{one_line(f.message)}\n")
        stream.write("\n")
