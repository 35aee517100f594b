"""The change that a fix would make, as removed and added lines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from syncfinder.finding import Edit, Suggestion
from syncfinder.fixes.apply import apply
from syncfinder.report.text import Styler
from syncfinder.source.file import SourceFile


def change(file: SourceFile, fix: Suggestion, style: Styler) -> list[str]:
    """The lines to print; where the condition of an unsafe fix is not known to hold, they say so."""
    title = "fix:" if fix.applicability == "safe" else f"{fix.applicability} fix:"
    out = [style(title, "bold cyan")]
    for first, last, edits in _hunks(fix.edits, len(file.lines)):
        old = file.lines[first - 1 : last]
        new = apply("\n".join(old), [_moved(edit, first - 1) for edit in edits]).split("\n")
        while old and new and old[-1] == new[-1]:
            old, new = old[:-1], new[:-1]
        while old and new and old[0] == new[0]:
            old, new, first = old[1:], new[1:], first + 1
        width = len(str(last))
        out += [f"{first + n:>{width}} {style(f'- {row}', 'red')}".rstrip() for n, row in enumerate(old)]
        out += [f"{first + n:>{width}} {style(f'+ {row}', 'green')}".rstrip() for n, row in enumerate(new)]
    return out


def _hunks(edits: tuple[Edit, ...], count: int) -> Iterator[tuple[int, int, list[Edit]]]:
    """Yield runs of edits that share lines, each with its first and last line."""
    run: list[Edit] = []
    for edit in sorted(edits, key=lambda e: (e.span.line, e.span.column)):
        if run and edit.span.line > max(e.span.end_line for e in run):
            yield run[0].span.line, max(e.span.end_line for e in run), run
            run = []
        run.append(edit)
    if run:
        yield run[0].span.line, min(max(e.span.end_line for e in run), count), run


def _moved(edit: Edit, lines: int) -> Edit:
    span = edit.span
    return replace(edit, span=replace(span, line=span.line - lines, end_line=span.end_line - lines))
