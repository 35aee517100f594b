"""The table that `syncfinder verify` prints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from syncfinder.runtime.fixture import Verdict


def table(verdicts: Sequence[Verdict], stream: TextIO, *, color: bool) -> None:
    """Write a row per fixture: marks, lines that waited or showed a hazard, twins, blocked times, and the faults."""
    from rich.console import Console
    from rich.table import Table

    found = Table("fixture", "marked", "waited", "hazards", "twins equal", "blocked before", "after", "verdict")
    for verdict in verdicts:
        equal = f"{sum(t.equal for t in verdict.twins)} of {len(verdict.twins)}" if verdict.twins else "-"
        before = f"{max(t.before_ms for t in verdict.twins):.2f} ms" if verdict.twins else "-"
        after = f"{max(t.after_ms for t in verdict.twins):.2f} ms" if verdict.twins else "-"
        hazards = str(len({hazard.line for hazard in verdict.hazards}))
        word = "agrees" if not verdict.faults else "\n".join(verdict.faults)
        counts = (str(len(verdict.marks)), str(len(verdict.seen)), hazards)
        found.add_row(verdict.path, *counts, equal, before, after, word)
    console = Console(file=stream, no_color=not color, width=None if stream.isatty() else 160)
    console.print(found)
    wrong = sum(bool(v.faults) for v in verdicts)
    console.print(f"{len(verdicts)} fixtures: {len(verdicts) - wrong} agree, {wrong} do not.", highlight=False)
