"""What a suggestion would change in the file, as the formats write it."""

from __future__ import annotations

from syncfinder.finding import Edit, Finding


def edits(finding: Finding) -> tuple[Edit, ...]:
    """Return the edits of the finding's suggestion, which are all in its file; none for a display-only one."""
    return finding.fix.edits if finding.fix is not None else ()
