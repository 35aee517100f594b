"""What `syncfinder explain` prints."""

from __future__ import annotations

from dataclasses import replace
from typing import TextIO

from syncfinder.check import Report
from syncfinder.explain import Belief, Explanation
from syncfinder.report import full
from syncfinder.report.formats import Look
from syncfinder.report.text import Styler, one_line
from syncfinder.source.display import shown


def write(explanation: Explanation, stream: TextIO, look: Look) -> None:
    """Write a line's source, what is believed of its expressions, and all its findings."""
    style = Styler(look.color)
    source = explanation.file.text.splitlines()[explanation.line - 1]
    name = shown(str(explanation.file.path))
    stream.write(f"{style(f'{name}:{explanation.line}', 'bold')}\n    {source.strip()}\n\n")
    if not explanation.beliefs:
        stream.write("Nothing on this line was evaluated: it is no expression, or code that never runs.\n")
    for belief in explanation.beliefs:
        stream.write("\n".join(_belief(belief, style)) + "\n")
    stream.write("\n")
    if explanation.reported:
        files = {str(explanation.file.path): explanation.file}
        full.write(Report(findings=list(explanation.reported), files=files), stream, replace(look, show_info=True))
    for finding, reason in explanation.hidden:
        stream.write(f"{finding.code} {one_line(finding.message)}: not reported, {reason}\n")
    if not explanation.reported and not explanation.hidden:
        stream.write("No wait was found on this line.\n")


def _belief(belief: Belief, style: Styler) -> list[str]:
    tag = f" {style(f'[{belief.confidence}]', 'dim')}" if belief.confidence else ""
    lines = [f"{style(one_line(belief.text), 'bold')}: {belief.value}{tag}"]
    lines += [f"    {one_line(r.text)} ({shown(r.path)}:{r.line})" for r in belief.why]
    return lines
