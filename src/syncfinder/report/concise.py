"""One line for each finding: `path:row:column: CODE message`."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from syncfinder.report.text import LEVEL_STYLES, Styler, fixable, one_line, visible
from syncfinder.source.display import shown

if TYPE_CHECKING:
    from syncfinder.check import Report
    from syncfinder.report.formats import Look


def write(report: Report, stream: TextIO, look: Look) -> None:
    """Write the findings, none of them cut to the terminal's width."""
    style = Styler(look.color)
    for f in visible(report.findings, look.show_info):
        place = f"{style(shown(f.filename), 'bold')}:{f.span.line}:{f.span.column}"
        stream.write(f"{place}: {style(f.code, LEVEL_STYLES[f.level])} {fixable(f, style)}{one_line(f.message)}\n")
