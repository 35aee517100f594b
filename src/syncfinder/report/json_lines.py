"""One JSON object a line for each finding, info too, each as in the format `json`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TextIO

from syncfinder.report.text import ordered

if TYPE_CHECKING:
    from syncfinder.check import Report
    from syncfinder.report.formats import Look


def write(report: Report, stream: TextIO, look: Look) -> None:
    """Write a line for each finding."""
    for finding in ordered(report.findings):
        stream.write(json.dumps(finding.to_json()) + "\n")
