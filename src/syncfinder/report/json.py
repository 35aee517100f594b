"""One JSON list in ruff's shape, of every finding, info too."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TextIO

from syncfinder.report.text import ordered

if TYPE_CHECKING:
    from syncfinder.check import Report
    from syncfinder.report.formats import Look


def write(report: Report, stream: TextIO, look: Look) -> None:
    """Write the findings as one list."""
    stream.write(json.dumps([f.to_json() for f in ordered(report.findings)], indent=2) + "\n")
