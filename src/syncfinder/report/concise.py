"""One line for each finding: `path:row:column: CODE message`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TextIO

from syncfinder.finding import Finding
from syncfinder.report.text import LEVEL_STYLES, Styler, fixable, one_line, visible
from syncfinder.source.display import shown
from syncfinder.source.file import SourceFile


def write(
    findings: Iterable[Finding],
    files_by_name: Mapping[str, SourceFile],
    stream: TextIO,
    *,
    color: bool,
    width: int | None,
    show_info: bool,
) -> None:
    """Write the findings, none of them cut to the terminal's width."""
    style = Styler(color)
    for f in visible(findings, show_info):
        place = f"{style(shown(f.filename), 'bold')}:{f.span.line}:{f.span.column}"
        stream.write(f"{place}: {style(f.code, LEVEL_STYLES[f.level])} {fixable(f, style)}{one_line(f.message)}\n")
