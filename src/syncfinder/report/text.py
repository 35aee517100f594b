"""What the formats share: which findings, in which order, their wording, and colours."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from syncfinder.finding import Finding
from syncfinder.sites.site import Reason

LEVEL_STYLES = {"error": "bold red", "warning": "bold yellow", "info": "bold blue"}


def visible(findings: Iterable[Finding], show_info: bool) -> list[Finding]:
    """The findings that a format for people shows."""
    return [f for f in findings if show_info or f.level != "info"]


def ordered(findings: Iterable[Finding]) -> list[Finding]:
    """The findings as the formats for machines order them."""
    return sorted(findings, key=lambda f: (f.filename, f.span.line, f.span.column, f.code))


def with_help(finding: Finding) -> str:
    """The message and, on lines of their own, what to write instead."""
    message = one_line(finding.message)
    return f"{message}\nhelp: {finding.fix.message}" if finding.fix is not None and finding.fix.message else message


def grounds(finding: Finding) -> list[Reason]:
    """The places that a finding speaks of: why it is believed, and those that it is related to. None comes twice."""
    related = (Reason(r["message"], r["filename"], r["location"]["row"]) for r in finding.related)
    return list(dict.fromkeys((*finding.why, *related)))


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
