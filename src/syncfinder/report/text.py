"""What the formats for people share: which findings they show, and colours."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from syncfinder.finding import Finding

LEVEL_STYLES = {"error": "bold red", "warning": "bold yellow", "info": "bold blue"}


def visible(findings: Iterable[Finding], show_info: bool) -> list[Finding]:
    """The findings that a format for people shows."""
    return [f for f in findings if show_info or f.level != "info"]


@dataclass(frozen=True, slots=True)
class Styler:
    """Styles text for a terminal of 16 colours, or leaves it as it is."""

    color: bool

    def __call__(self, text: str, style: str) -> str:
        """Style is rich's words, such as "bold red"."""
        if not self.color:
            return text
        from rich.color import ColorSystem
        from rich.style import Style

        return Style.parse(style).render(text, color_system=ColorSystem.STANDARD)


def fixable(finding: Finding, style: Styler) -> str:
    """The mark of a finding that `--fix` would fix, with a space after it; nothing for others."""
    return f"[{style('*', 'bold cyan')}] " if finding.fixable else ""


def one_line(text: str) -> str:
    """The text with all white space, line ends too, as single spaces."""
    return " ".join(text.split())
