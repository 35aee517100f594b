"""What a GPU confirmed of a rule: the evidence that `syncfinder verify` wrote for its fixtures."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from syncfinder.files import shipped
from syncfinder.rules.catalogue import load


def folder() -> Path | None:
    """Return the folder of the evidence files: inside an installed wheel, else the one of the source tree."""
    return shipped("_fixtures/evidence", "fixtures/evidence")


def confirmed(code: str) -> Iterator[str]:
    """Yield a sentence per machine: how many marked places of the rule's fixtures it confirms, and what a fix does."""
    where = folder()
    for path in sorted(where.glob("*.json")) if where is not None else ():
        found: dict[str, Any] = json.loads(path.read_bytes())
        mine = [
            v for name, v in found["fixtures"].items() if name.rpartition("/")[0].rpartition("/")[2].startswith(code)
        ]
        if mine:
            yield _sentence(code, found, mine)


def _sentence(code: str, found: dict[str, Any], verdicts: list[dict[str, Any]]) -> str:
    """A fixture with any fault confirms nothing."""
    marked = agreeing = 0
    for verdict in verdicts:
        places = sum(code in codes for codes in verdict["marks"].values())
        marked += places
        agreeing += 0 if verdict["faults"] else places
    text = f"Confirmed on {found['gpu']}, torch {found['torch']}, {found['date']}: {agreeing} of {marked} places"
    twins = [t for v in verdicts for t in v["twins"]]
    if load()[code].shown_by == "outcome":
        return f"{text}: what comes out is wrong until the host waits there, and right with a fix ({len(twins)} fixes)."
    if not twins:
        return text + "."
    if load()[code].shown_by == "cost":
        before = statistics.median(t["before_idle_ms"] for t in twins)
        after = statistics.median(t["after_idle_ms"] for t in twins)
        return f"{text} hold the host; {before:.1f} ms -> {after:.2f} ms with an idle GPU ({len(twins)} fixes)."
    before = statistics.median(t["before_ms"] for t in twins)
    after = statistics.median(t["after_ms"] for t in twins)
    queued = found["queued_ms"]
    return f"{text}; blocked {before:.1f} ms -> {after:.2f} ms behind {queued:.0f} ms of work ({len(twins)} fixes)."
