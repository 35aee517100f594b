"""The probes: what `syncfinder check` says of a statement is what the GPU saw when it ran."""

from __future__ import annotations

import json
import sys
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from syncfinder.check import check
from syncfinder.config import Settings
from syncfinder.rules import catalogue
from syncfinder.runtime.probes import IMPORTS, Probe, load

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

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
    rules = catalogue.load()
    found = {f.span.line for f in report.findings if f.level != "info" and rules[f.code].shown_by == "wait"}
    return {key for start, end, key in judged if any(start <= line <= end for line in found)}


def indented(code: str) -> list[str]:
    return ["    " + line for line in code.splitlines() if line.strip()]


def gaps(file: str) -> set[str]:
    """The keys of a file's probes that are known to be judged otherwise, each with its reason in `probe_gaps.toml`."""
    text = (Path(__file__).parent / "probe_gaps.toml").read_text(encoding="utf-8")
    return {gap["key"] for gap in tomllib.loads(text)["gap"] if gap["file"] == file and gap["why"]}


def test_every_probe_was_measured_as_it_stands() -> None:
    """All but one: torch 2.11 refuses it on the GPU, and the evidence file says so."""
    found = evidence()
    measured = {(file, key) for file, rows in found["probes"].items() for _, key, *_ in rows}
    missing = [p for p in load() if (p.file, p.key) not in measured]
    assert all(f"{p.file}: {p.run}" in found["errors"] for p in missing)
    assert len(missing) <= 1


@pytest.mark.parametrize("file", FILES)
def test_findings_agree_with_the_measurement(file: str) -> None:
    rows = {key: (run, waits) for run, key, waits, *_ in evidence()["probes"][file]}
    found = flagged([p for p in load() if p.file == file])
    wrong = {key: run for key, (run, waits) in rows.items() if (key in found) is not waits}
    known = gaps(file)
    assert {key: run for key, run in wrong.items() if key not in known} == {}
    assert known - set(wrong) == set(), "no gaps any more: take them off the list"
