"""The lines of source under a finding's headline, with carets under the operand that waits."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

from syncfinder.report.text import Styler
from syncfinder.sites.site import Span
from syncfinder.source.file import SourceFile

_BEFORE = 2
_MOST_MARKED = 4
_TAB = "    "


@dataclass(frozen=True, slots=True)
class _Row:
    """One line as shown, and the half-open range of shown columns, from 0, that is underlined."""

    text: str
    start: int = 0
    end: int = 0


def frame(file: SourceFile, span: Span, style: Styler, width: int | None) -> list[str]:
    """The lines to print. `width` is the terminal's, in columns; None never cuts a line."""
    lines = file.lines
    last = min(span.end_line, len(lines))
    if not 1 <= span.line <= last:
        return []
    first = max(span.line - _BEFORE, 1)
    while first < span.line and not lines[first - 1].strip():
        first += 1
    marked_to = min(last, span.line + _MOST_MARKED - 1)
    gutter = len(str(last))
    room = None if width is None else max(width - gutter - 4, 20)
    bar = style("|", "bold blue")
    out = [f"{' ' * gutter} {bar}"]
    for number in range(first, marked_to + 1):
        row = _row(lines[number - 1], number, span)
        if room is not None:
            row = _cut(row, room)
        out.append(f"{style(f'{number:>{gutter}}', 'bold blue')} {bar} {row.text}".rstrip())
        if row.end > row.start:
            carets = style("^" * (row.end - row.start), "bold red")
            out.append(f"{' ' * gutter} {bar} {' ' * row.start}{carets}")
    if marked_to < last:
        out.append(f"{style('.' * 3, 'bold blue')}")
    out.append(f"{' ' * gutter} {bar}")
    return out


def _row(line: str, number: int, span: Span) -> _Row:
    if not span.line <= number <= span.end_line:
        return _Row(_shown(line))
    indent = len(line) - len(line.lstrip())
    start = span.column - 1 if number == span.line else indent
    end = span.end_column - 1 if number == span.end_line else len(line.rstrip())
    left = _columns(_shown(line[:start]))
    return _Row(_shown(line), left, max(left + _columns(_shown(line[start:end])), left + (number == span.line)))


def _shown(text: str) -> str:
    """Tabs as spaces; characters that would move the cursor or colour the terminal as a replacement sign."""
    if text.isascii() and text.isprintable():
        return text
    text = text.replace("\t", _TAB)
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def _columns(text: str) -> int:
    """How many columns a terminal takes for the text."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    return len(text) + wide - sum(unicodedata.combining(c) != 0 for c in text)


def _cut(row: _Row, room: int) -> _Row:
    """Cut a line that is too long for the terminal to a window that shows what is underlined."""
    if _columns(row.text) <= room:
        return row
    if not row.text.isascii():
        return _Row(row.text, row.start, min(row.end, max(row.start + 1, room)))
    left = 0 if row.end <= room - 3 else max(min(row.start - 8, len(row.text) - room + 3), 0)
    text = ("..." if left else "") + row.text[left:]
    shift = 3 - left if left else 0
    if len(text) > room:
        text = text[: room - 3] + "..."
    return _Row(text, row.start + shift, min(row.end + shift, room))
