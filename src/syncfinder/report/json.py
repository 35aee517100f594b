"""One JSON list in ruff's shape, of every finding, info too."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TextIO

from syncfinder.finding import Finding
from syncfinder.source.file import SourceFile


def write(
    findings: Iterable[Finding],
    files_by_name: Mapping[str, SourceFile],
    stream: TextIO,
    *,
    color: bool,
    width: int | None,
    show_info: bool,
) -> None:
    """Write the findings sorted by file, row, column and code; the options for people change nothing."""
    ordered = sorted(findings, key=lambda f: (f.filename, f.span.line, f.span.column, f.code))
    stream.write(json.dumps([f.to_json() for f in ordered], indent=2) + "\n")
