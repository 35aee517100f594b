"""A Python file as the pipeline hands it on: path, text, lines."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from syncfinder.sites.site import Span


@dataclass(slots=False)
class SourceFile:
    """`path` is absolute; `text` is decoded, with `\\n` line ends only, and without a byte order mark."""

    path: Path
    text: str

    @cached_property
    def lines(self) -> list[str]:
        """The lines without their ends; line n of the file is `lines[n - 1]`."""
        return self.text.split("\n")

    def column(self, line: int, offset: int) -> int:
        """Turn `ast`'s UTF-8 byte offset into a column counted from 1 in characters."""
        row = self.lines[line - 1]
        if row.isascii():
            return offset + 1
        return len(row.encode()[:offset].decode(errors="replace")) + 1

    def text_of(self, span: Span) -> str:
        """The text that the span covers, with its line ends."""
        lines = self.lines[span.line - 1 : span.end_line]
        if len(lines) == span.end_line - span.line + 1:
            lines[-1] = lines[-1][: span.end_column - 1]
        return "\n".join(lines)[span.column - 1 :]
