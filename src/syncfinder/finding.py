"""What `check` reports: one finding, and its JSON form (DESIGN.md section 8)."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from syncfinder.sites.site import Confidence, Hop, Level, Reason, Span

Applicability = Literal["safe", "unsafe", "display-only"]


@dataclass(frozen=True, slots=True)
class Suggestion:
    """What to write instead. `edits` are replacements by span; a display-only suggestion has none."""

    message: str
    applicability: Applicability = "display-only"
    edits: tuple[dict[str, Any], ...] = ()


@dataclass(slots=True)
class Finding:
    """`filename` is absolute. `why` is the provenance of the operand's device, strongest first."""

    code: str
    name: str
    message: str
    filename: str
    span: Span
    level: Level
    confidence: Confidence
    family: str
    context: str | None = None
    function: str | None = None
    fix: Suggestion | None = None
    url: str | None = None
    why: tuple[Reason, ...] = ()
    calls: tuple[Hop, ...] = ()
    related: tuple[dict[str, Any], ...] = field(default=())
    statement: tuple[int, int] = (0, 0)  # the first and last line of its statement

    def to_json(self) -> dict[str, Any]:
        """Return the finding in ruff's JSON shape, with this tool's own keys after it."""
        fix = None
        if self.fix is not None:
            fix = {"applicability": self.fix.applicability, "message": self.fix.message, "edits": list(self.fix.edits)}
        return {
            "code": self.code,
            "name": self.name,
            "message": self.message,
            "filename": self.filename,
            "location": {"row": self.span.line, "column": self.span.column},
            "end_location": {"row": self.span.end_line, "column": self.span.end_column},
            "fix": fix,
            "url": self.url,
            "level": self.level,
            "confidence": self.confidence,
            "family": self.family,
            "context": self.context,
            "function": self.function,
            "why": [asdict(r) for r in self.why],
            "calls": [asdict(h) for h in self.calls],
            "related": list(self.related),
        }
