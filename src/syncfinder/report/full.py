"""The default format: each finding with its source, what to write instead, and why the tool believes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from syncfinder.finding import Finding
from syncfinder.report.change import change
from syncfinder.report.frame import frame
from syncfinder.report.text import LEVEL_STYLES, Styler, fixable, one_line, visible
from syncfinder.source.display import shown

if TYPE_CHECKING:
    from syncfinder.check import Report
    from syncfinder.report.formats import Look

_MOST_REASONS = 3


def write(report: Report, stream: TextIO, look: Look) -> None:
    """Write the findings. One whose file is not in the report is shown without its source."""
    style = Styler(look.color)
    for finding in visible(report.findings, look.show_info):
        lines = [_headline(finding, style), _place(finding, style)]
        file = report.files.get(finding.filename)
        if file is not None:
            lines += frame(file, finding.span, style, look.width)
        lines += _help(finding, style)
        if file is not None and finding.fix is not None and finding.fix.edits:
            lines += change(file, finding.fix, style)
        lines += _why(finding, style)
        stream.write("\n".join(lines) + "\n\n")


def _headline(finding: Finding, style: Styler) -> str:
    tags: list[str] = [finding.confidence] if finding.level != "info" else ["info", finding.confidence]
    if finding.context:
        tags.append(finding.context)
    code = style(finding.code, LEVEL_STYLES[finding.level])
    tag = style(f"[{', '.join(tags)}]", "dim")
    return f"{code} {fixable(finding, style)}{style(one_line(finding.message), 'bold')} {tag}"


def _place(finding: Finding, style: Styler) -> str:
    gutter = len(str(finding.span.end_line))
    place = f"{shown(finding.filename)}:{finding.span.line}:{finding.span.column}"
    return f"{' ' * gutter}{style('-->', 'bold blue')} {place}"


def _help(finding: Finding, style: Styler) -> list[str]:
    if finding.fix is None or not finding.fix.message:
        return []
    first, *rest = finding.fix.message.splitlines()
    return [f"{style('help:', 'bold cyan')} {first}", *(f"      {line}".rstrip() for line in rest)]


def _why(finding: Finding, style: Styler) -> list[str]:
    lines = []
    for i, reason in enumerate(finding.why[:_MOST_REASONS]):
        label = "    " if i else style("why:", "bold cyan")
        lines.append(f"{label} {one_line(reason.text)} ({shown(reason.path)}:{reason.line})")
    if finding.calls:
        hops = " -> ".join(f"{hop.function} ({shown(hop.path)}:{hop.line})" for hop in finding.calls)
        lines.append(f"{style('via:', 'bold cyan')} {hops}")
    return lines
