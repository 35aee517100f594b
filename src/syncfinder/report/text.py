"""What the formats for people share: which findings they show, and colours."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from syncfinder.finding import Finding

_CODES = {"bold": "1", "dim": "2", "red": "31", "yellow": "33", "blue": "34", "cyan": "36"}
LEVEL_STYLES = {"error": "bold red", "warning": "bold yellow", "info": "bold blue"}


def visible(findings: Iterable[Finding], show_info: bool) -> list[Finding]:
    """The findings that a format for people shows."""
    return [f for f in findings if show_info or f.level != "info"]


@dataclass(frozen=True, slots=True)
class Styler:
    """Puts ANSI styles around text, or leaves it as it is."""

    color: bool

    def __call__(self, text: str, style: str) -> str:
        """Style is words such as "bold red"."""
        if not self.color or not text:
            return text
        return f"\x1b[{';'.join(_CODES[word] for word in style.split())}m{text}\x1b[0m"


def one_line(text: str) -> str:
    """The text with all white space, line ends too, as single spaces."""
    return " ".join(text.split())
