"""Composing edits: those of one pass that do not meet are applied together, the others wait for a later pass."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from syncfinder.finding import Edit

T = TypeVar("T")


def compose(fixes: Iterable[tuple[T, Sequence[Edit]]]) -> tuple[list[T], list[Edit]]:
    """Choose the fixes, in order, that can be applied together; return them and all their edits in order of place.

    Two fixes meet when they touch the same line: what one of them was worded for may be changed by the other. An edit
    that both have (an import) is made once.
    """
    chosen: list[T] = []
    made: dict[Edit, None] = {}
    for fix, edits in fixes:
        new = [edit for edit in edits if edit not in made]
        if new and not any(_meet(a, b) for a in new for b in made):
            chosen.append(fix)
            made.update(dict.fromkeys(new))
    return chosen, sorted(made, key=lambda e: (e.span.line, e.span.column, e.span.end_line, e.span.end_column))


def _meet(a: Edit, b: Edit) -> bool:
    return a.span.line <= b.span.end_line and b.span.line <= a.span.end_line


def apply(text: str, edits: Iterable[Edit]) -> str:
    """Return the text with edits made, which must be in order and not overlap.

    Raises:
        ValueError: an edit is outside of the text, or overlaps the one before it.
    """
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    out, done = [], 0
    for edit in edits:
        span = edit.span
        if not 1 <= span.line <= span.end_line <= len(lines):
            raise ValueError(f"an edit is outside of the file: {span}")
        start = starts[span.line - 1] + span.column - 1
        end = starts[span.end_line - 1] + span.end_column - 1
        if not done <= start <= end <= len(text):
            raise ValueError(f"an edit overlaps the one before it: {span}")
        out += [text[done:start], edit.content]
        done = end
    return "".join(out) + text[done:]
