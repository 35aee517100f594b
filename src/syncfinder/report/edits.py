"""What a suggestion would change in the file, as the formats write it."""

from __future__ import annotations

from typing import Protocol, cast

from syncfinder.finding import Finding
from syncfinder.sites.site import Span


class Edit(Protocol):
    """Put `content` in the place of the span's text; an empty span inserts."""

    @property
    def span(self) -> Span: ...
    @property
    def content(self) -> str: ...


def edits(finding: Finding) -> tuple[Edit, ...]:
    """Return the edits of the finding's suggestion, which are all in its file; none for a display-only one."""
    return cast("tuple[Edit, ...]", finding.fix.edits) if finding.fix is not None else ()
