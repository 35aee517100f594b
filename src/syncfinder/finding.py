"""What `check` reports: one finding, and its JSON form (DESIGN.md section 8)."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from syncfinder.sites.site import Confidence, Hop, Level, Reason, Span

Applicability = Literal["safe", "unsafe", "display-only"]


@dataclass(frozen=True, slots=True)
class Edit:
    """`content` in the place of the span's text. An empty span inserts, empty content removes."""

    span: Span
    content: str

    def to_json(self) -> dict[str, Any]:
        """Return the edit in ruff's JSON shape."""
        return {
            "content": self.content,
            "location": {"row": self.span.line, "column": self.span.column},
            "end_location": {"row": self.span.end_line, "column": self.span.end_column},
        }


@dataclass(frozen=True, slots=True)
class Suggestion:
    """What to write instead. The edits belong together; a display-only suggestion has none.

    `imports` are statements that the edits need; where the file lacks one, an edit that adds it is among them.
    """

    message: str
    applicability: Applicability = "display-only"
    edits: tuple[Edit, ...] = ()
    imports: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {
            "applicability": self.applicability,
            "message": self.message,
            "edits": [edit.to_json() for edit in self.edits],
        }


@dataclass(slots=True)
class Finding:
    """`filename` is absolute. `why` is the provenance of the operand's device, strongest first.

    `fixable`: the run's settings allow that its fix is applied.
    """

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
    fixable: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the finding in ruff's JSON shape, with this tool's own keys after it."""
        return {
            "code": self.code,
            "name": self.name,
            "message": self.message,
            "filename": self.filename,
            "location": {"row": self.span.line, "column": self.span.column},
            "end_location": {"row": self.span.end_line, "column": self.span.end_column},
            "fix": self.fix.to_json() if self.fix is not None else None,
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
