"""The probes: what `syncfinder check` says of a statement is what the GPU saw when it ran."""

from __future__ import annotations

import json
import re
from importlib import resources
from typing import Any

import pytest

from syncfinder.check import check
from syncfinder.config import Settings
from syncfinder.runtime.probes import IMPORTS, Probe, load

SOURCES = resources.files("syncfinder.torchmodel") / "sources"
FILES = sorted({p.file for p in load()})


def evidence() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((SOURCES / "measured-2.11.json").read_text(encoding="utf-8"))
    return found


def flagged(probes: list[Probe]) -> set[str]:
    """The keys of the probes whose judged statement has a finding, when each stands in a function of one module."""
    lines, judged = [*IMPORTS.splitlines(), ""], []
    for number, probe in enumerate(probes):
        lines += [f"def probe_{number}():", '    d = "cuda"', *indented(probe.before)]
        start = len(lines) + 1
        lines += indented(probe.run)
        judged.append((start, len(lines), probe.key))
    report = check([], Settings(), stdin=("probes.py", "\n".join(lines) + "\n"))
    assert report.errors == []
    found = {f.span.line for f in report.findings if f.level != "info"}
    return {key for start, end, key in judged if any(start <= line <= end for line in found)}


def indented(code: str) -> list[str]:
    return ["    " + line for line in code.splitlines() if line.strip()]


def test_every_probe_was_measured_as_it_stands() -> None:
    measured = {(file, key) for file, rows in evidence()["probes"].items() for _, key, *_ in rows}
    assert {(p.file, p.key) for p in load()} - measured == set()


@pytest.mark.parametrize("file", FILES)
def test_findings_agree_with_the_measurement(file: str) -> None:
    todo = {re.sub(r"\s+", " ", t) for t in KNOWN_GAPS.get(file, ())}
    rows = {key: (re.sub(r"\s+", " ", run), waits) for run, key, waits, *_ in evidence()["probes"][file]}
    found = flagged([p for p in load() if p.file == file])
    wrong = {run for key, (run, waits) in rows.items() if (key in found) is not waits}
    assert wrong == todo


KNOWN_GAPS: dict[str, tuple[str, ...]] = {}
