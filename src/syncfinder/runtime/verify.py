"""`syncfinder verify`: run fixtures on a GPU and compare what is seen with their marks.

A fixture is a module of functions without required parameters. A line that ends in `# expect: CODE` must make the host
wait, no other line may; where CODE is a hazard, the line must change what the function returns (`runtime.hazards`).
`name_fixed` is the twin of `name`: it must return the same, and not wait; of a hazard it must return what is right.
The fixtures' code is run.
"""

from __future__ import annotations

import contextlib
import datetime
import io
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from syncfinder.files import write_whole
from syncfinder.runtime.attribute import slow_of, waits_of
from syncfinder.runtime.fixture import (
    QUEUED_MS,
    Seen,
    Twin,
    Verdict,
    compare,
    digest,
    fixture_files,
    marked_lines,
    marks,
    statement_starts,
)
from syncfinder.runtime.functions import FIXED, SEED, functions_of, load
from syncfinder.runtime.hazards import Bench, show, twin_agrees
from syncfinder.runtime.instruments import LateDevice, Stall, machine, need_gpu, same, start_afresh

REPEATS = 5


def verify(paths: Iterable[Path], root: Path, progress: Callable[[Verdict], None]) -> list[Verdict]:
    """Run fixtures and return a verdict for each file, its path relative to `root`.

    Raises:
        RuntimeError: torch has no GPU here, or Python is too old.
        FileNotFoundError: there are no fixtures.
    """
    files = fixture_files(paths)
    need_gpu("verify")
    if sys.version_info < (3, 11):
        raise RuntimeError("verify needs CPython 3.11 or newer: older ones do not tell where an expression stands")
    stall = Stall()
    verdicts = []
    for path in files:
        with contextlib.redirect_stdout(io.StringIO()):  # what the fixtures print
            verdicts.append(_verify(path, root, stall))
        progress(verdicts[-1])
    return verdicts


def evidence(verdicts: Iterable[Verdict]) -> dict[str, Any]:
    """Return the evidence file's content: the machine, the date, and a verdict per fixture."""
    return {
        **machine(),
        "date": datetime.date.today().isoformat(),
        "queued_ms": QUEUED_MS,
        "fixtures": {v.path: {k: x for k, x in asdict(v).items() if k != "path"} for v in verdicts},
    }


def write(verdicts: Iterable[Verdict], path: Path) -> None:
    """Write the evidence file. Raises OSError."""
    write_whole(path, json.dumps(evidence(verdicts), indent=1) + "\n")


def _verify(path: Path, root: Path, stall: Stall) -> Verdict:
    text = path.read_text(encoding="utf-8")
    verdict = Verdict(_relative(path, root), digest(path), {})
    try:
        verdict.marks = marks(text)
        functions = functions_of(load(path))
    except Exception as error:
        verdict.faults.append(f"cannot be loaded: {type(error).__name__}: {error}")
        return verdict
    hazardous = bool(marked_lines(verdict, "outcome"))
    costly = bool(marked_lines(verdict, "cost"))
    by_line: dict[int, Seen] = {}
    for name, function in functions.items():
        call = _tolerant(_seeded(function)) if hazardous else _seeded(function)
        try:
            waits = waits_of(call, str(path.resolve()), text, stall)
        except Exception as error:
            verdict.faults.append(f"{name} raised {type(error).__name__}: {error}")
            continue
        for place in sorted(waits.places):
            seen = by_line.setdefault(place.line, Seen(place.line, [], False, False))
            seen.places.append(place)
            seen.reported |= place in waits.reported
            seen.blocked |= place in waits.blocked
        if costly:
            verdict.slow += sorted({place.line for place in slow_of(call, str(path.resolve()), text)})
    verdict.seen = [by_line[line] for line in sorted(by_line)]
    if hazardous:
        _hazards(path, text, functions, verdict, stall)
    else:
        for name, fixed in _twins(functions):
            equal = same(_seeded(fixed)(), _seeded(functions[name])())
            _twin(name, functions[name], fixed, equal, verdict, stall)
    compare(verdict, text)
    return verdict


def _hazards(path: Path, text: str, functions: dict[str, Callable[[], Any]], verdict: Verdict, stall: Stall) -> None:
    """Show the hazards of each function, and that its twin's outcome is the right one."""
    statements = statement_starts(text)
    marked = {statements.get(line, line): line for line in marked_lines(verdict, "outcome")}
    device = LateDevice(stall)
    benches = {
        name: Bench(name, _with_seed(function), str(path.resolve()), statements, device, SEED)
        for name, function in functions.items()
    }
    shown = {name: show(bench, marked) for name, bench in benches.items()}
    for each in shown.values():
        verdict.hazards += each.hazards
        verdict.faults += each.faults
    for name, fixed in _twins(functions):
        equal = twin_agrees(benches[name + FIXED], shown[name].right)
        _twin(name, _tolerant(functions[name]), _tolerant(fixed), equal, verdict, stall)


def _twins(functions: dict[str, Callable[[], Any]]) -> list[tuple[str, Callable[[], Any]]]:
    """The functions that have a fixed form, with that form."""
    return [(name, functions[name + FIXED]) for name in functions if name + FIXED in functions]


def _relative(path: Path, root: Path) -> str:
    try:
        return path.resolve().relative_to(root.resolve()).as_posix()
    except ValueError:
        return path.as_posix()


def _seeded(function: Callable[[], Any]) -> Callable[[], Any]:
    with_seed = _with_seed(function)
    return lambda: with_seed(SEED)


def _with_seed(function: Callable[[], Any]) -> Callable[[int], Any]:
    def call(seed: int) -> Any:
        start_afresh(seed)
        return function()

    return call


def _tolerant(function: Callable[[], Any]) -> Callable[[], Any]:
    """A hazard may end in an error; that is judged where outcomes are compared."""

    def call() -> Any:
        with contextlib.suppress(Exception):
            return function()

    return call


def _twin(
    name: str,
    function: Callable[[], Any],
    fixed: Callable[[], Any],
    equal: bool,
    verdict: Verdict,
    stall: Stall,
) -> None:
    original, better = _seeded(function), _seeded(fixed)
    if not equal:
        verdict.faults.append(f"{name}{FIXED} returns something else than {name}")
    times = {
        (which, queued): _blocked_ms(call, queued, stall)
        for which, call in (("before", original), ("after", better))
        for queued in (QUEUED_MS, 0.0)
    }
    verdict.twins.append(
        Twin(
            name,
            equal,
            times["before", QUEUED_MS],
            times["after", QUEUED_MS],
            times["before", 0.0],
            times["after", 0.0],
        )
    )


def _blocked_ms(call: Callable[[], Any], queued: float, stall: Stall) -> float:
    """The median CPU time of a call behind queued work, in milliseconds."""
    took = []
    for _ in range(REPEATS):
        torch.cuda.synchronize()
        if queued:
            stall(queued)
        start = time.perf_counter()
        call()
        took.append((time.perf_counter() - start) * 1e3)
        torch.cuda.synchronize()
    return round(statistics.median(took), 3)
