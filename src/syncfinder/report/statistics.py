"""`--statistics`: how many findings each rule has, in place of the findings."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TextIO

from syncfinder.finding import Finding


@dataclass(slots=True)
class Row:
    """The findings of one rule; `fixable` counts those with edits to apply."""

    count: int
    code: str
    name: str
    fixable: int = 0

    @property
    def mark(self) -> str:
        """[*] all can be fixed, [-] some, [ ] none."""
        return "[*]" if self.fixable == self.count else "[-]" if self.fixable else "[ ]"


def rows(findings: Iterable[Finding]) -> list[Row]:
    """Count findings by rule, the most frequent first."""
    found: dict[str, Row] = {}
    for finding in findings:
        row = found.setdefault(finding.code, Row(0, finding.code, finding.name))
        row.count += 1
        row.fixable += finding.fix is not None and bool(finding.fix.edits)
    return sorted(found.values(), key=lambda row: (-row.count, row.code))


def write(findings: Iterable[Finding], stream: TextIO, *, as_json: bool) -> None:
    """Write a line per rule as ruff does, count, code and name, tabs between them; or a JSON list."""
    table = rows(findings)
    if as_json:
        data = [{"code": r.code, "name": r.name, "count": r.count, "fixable": r.fixable == r.count} for r in table]
        stream.write(json.dumps(data, indent=2) + "\n")
        return
    width = max((len(str(row.count)) for row in table), default=0)
    marked = any(row.fixable for row in table)
    for row in table:
        mark = f"{row.mark} " if marked else ""
        stream.write(f"{row.count:>{width}}\t{row.code}\t{mark}{row.name}\n")
