"""Showing hazards: what a function returns depends on whether the host waits at a marked line. Needs no torch.

The function runs on a device whose streams are late, so that nothing is done that it does not wait for. If a wait of
the host before a line makes a part of the outcome right, the line came too early; what is handed on too early shows
with a wait after the line. Right is what comes out with a wait at every line: marked code must give that with waits at
its marks alone, right code without any. Before each run the function runs with other data, so that reused memory holds
wrong values. A function returns what each marked line saw as a part of its own: in a tuple, dict or list of such.
"""

from __future__ import annotations

import sys
import traceback
import types
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from syncfinder.runtime.fixture import Hazard

BEFORE, AFTER, ERROR = "wait before", "wait after", "error"
NOBODY: frozenset[int] = frozenset()
PLAIN = (bool, int, float, str)


class Device(Protocol):
    """What runs a function's work; `instruments.LateDevice` is a GPU."""

    @property
    def schedules(self) -> tuple[Any, ...]:
        """Which streams may be late; the first schedule must do for functions that use one stream only."""

    def start(self, schedule: Any) -> None:
        """Make the streams late."""

    def lag(self) -> None:
        """Called before each line: keep other streams late than the one that `start` stalled."""

    @property
    def used_other_streams(self) -> bool:
        """Whether a line ran on another stream since `start`."""

    def wait(self) -> None:
        """Wait for all streams."""

    def keep(self, value: Any) -> Any:
        """Return a copy of a result that lives on the host."""

    def same(self, a: Any, b: Any) -> bool:
        """Return whether two kept results are equal."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a function returned, or the error that it raised and the line in its file that it came from."""

    value: Any = None
    error: str | None = None
    line: int | None = None

    def parts(self) -> dict[tuple[Any, ...], Any]:
        """Return the outcome's parts by where they stand in it; a list of plain values is one part."""
        if self.error is not None:
            return {(): self}
        return dict(_parts((), self.value))


def _parts(path: tuple[Any, ...], value: Any) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if isinstance(value, dict):
        items: Iterable[tuple[Any, Any]] = value.items()
    elif isinstance(value, tuple) or (isinstance(value, list) and not any(isinstance(x, PLAIN) for x in value)):
        items = enumerate(value)
    else:
        yield path, value
        return
    for key, item in items:
        yield from _parts((*path, key), item)


@dataclass(slots=True)
class Shown:
    """The hazards that a function shows, the faults of its marks, and the right outcome."""

    hazards: list[Hazard] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    right: Outcome = field(default_factory=Outcome)


@dataclass(slots=True)
class Bench:
    """A fixture function on a device: `call(seed)` runs it with other data for each seed.

    `statements` maps the file's lines to the first line of their statement.
    """

    name: str
    call: Callable[[int], Any]
    filename: str
    statements: dict[int, int]
    device: Device
    seed: int
    visited: set[int] = field(default_factory=set)

    def right(self) -> Outcome:
        """Return the outcome with a wait at every line."""
        return self._outcome(None, frozenset(self.statements.values()), NOBODY)

    def behind(self, schedule: Any, before: Iterable[int] = (), after: Iterable[int] = ()) -> Outcome:
        """Return the outcome on late streams, with waits before and after some statements (their first lines)."""
        return self._outcome(schedule, frozenset(before), frozenset(after))

    def equal(self, a: Outcome, b: Outcome) -> bool:
        return not self.wrong(a, b) and not self.wrong(b, a)

    def wrong(self, outcome: Outcome, right: Outcome) -> set[tuple[Any, ...]]:
        """Return the parts of the right outcome that another one does not have."""
        have = outcome.parts()
        return {path for path, part in right.parts().items() if path not in have or not self._same(have[path], part)}

    def _same(self, a: Any, b: Any) -> bool:
        if isinstance(a, Outcome) or isinstance(b, Outcome):
            return isinstance(a, Outcome) and isinstance(b, Outcome) and a.error == b.error
        return self.device.same(a, b)

    def _outcome(self, schedule: Any, before: frozenset[int], after: frozenset[int]) -> Outcome:
        self._run(self.seed + 1, frozenset(self.statements.values()), NOBODY)
        self.device.wait()
        if schedule is not None:
            self.device.start(schedule)
        return self._run(self.seed, before, after)

    def _run(self, seed: int, before: frozenset[int], after: frozenset[int]) -> Outcome:
        steps = _Steps(self, before, after)
        outer = sys.gettrace()
        sys.settrace(steps.trace)
        try:
            value = self.call(seed)
        except Exception as error:
            sys.settrace(outer)
            self.device.wait()
            return Outcome(error=type(error).__name__, line=self._line(error))
        finally:
            sys.settrace(outer)
        self.device.wait()
        return Outcome(self.device.keep(value))

    def _line(self, error: Exception) -> int | None:
        lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == self.filename]
        return lines[-1] if lines else None


class _Steps:
    """Follows the lines of one file: waits where it is told to, and lets the device lag elsewhere."""

    def __init__(self, bench: Bench, before: frozenset[int], after: frozenset[int]) -> None:
        self.bench, self.before, self.after = bench, before, after
        self.last: dict[types.FrameType, int] = {}

    def trace(self, frame: types.FrameType, event: str, argument: Any) -> Any:
        if frame.f_code.co_filename != self.bench.filename:
            return None
        if event == "line":
            self.step(frame, self.bench.statements.get(frame.f_lineno, frame.f_lineno))
        elif event == "return" and self.last.pop(frame, None) in self.after:
            self.bench.device.wait()
        return self.trace

    def step(self, frame: types.FrameType, statement: int) -> None:
        self.bench.visited.add(statement)
        if self.last.get(frame) in self.after or statement in self.before:
            self.bench.device.wait()
        self.last[frame] = statement
        if statement not in self.before:
            self.bench.device.lag()


def show(bench: Bench, marked: dict[int, int]) -> Shown:
    """Show a function's hazards at its marks. `marked`: the first line of a marked statement -> the marked line."""
    shown = Shown(right=bench.right())
    used = bench.visited & marked.keys()
    by: dict[int, str] = {}
    for schedule in bench.device.schedules:
        wrong = bench.wrong(bench.behind(schedule), shown.right)
        wrong &= bench.wrong(bench.behind(schedule), shown.right)
        others = bench.device.used_other_streams
        for statement in sorted(used - by.keys()):
            how = _shown_by(bench, schedule, statement, wrong, shown.right)
            if how is not None:
                by[statement] = how
        if not others:
            break
    shown.hazards = [Hazard(marked[s], bench.name, by[s]) for s in sorted(by)]
    if not _is_mended(bench, by, shown.right):
        shown.faults.append(f"{bench.name} has a hazard that is not marked: more waits change what it returns")
    if shown.right.error is not None and ERROR not in by.values():
        shown.faults.append(f"{bench.name} raised {shown.right.error}")
    return shown


def _shown_by(bench: Bench, schedule: Any, statement: int, wrong: set[tuple[Any, ...]], right: Outcome) -> str | None:
    """Return how a statement shows a hazard, if it does. `wrong`: the parts that are wrong without a wait."""
    if wrong - bench.wrong(bench.behind(schedule, before=[statement]), right):
        return BEFORE
    if wrong - bench.wrong(bench.behind(schedule, after=[statement]), right):
        return AFTER
    fails = right.error is not None and right.line is not None
    return ERROR if fails and bench.statements.get(right.line) == statement else None  # type: ignore[arg-type]


def _is_mended(bench: Bench, by: dict[int, str], right: Outcome) -> bool:
    """Return whether waits at the shown marks alone give the right outcome, whichever streams are late."""
    before = [s for s, how in by.items() if how == BEFORE]
    after = [s for s, how in by.items() if how == AFTER]
    for schedule in bench.device.schedules:
        if not bench.equal(bench.behind(schedule, before, after), right):
            return False
        if not bench.device.used_other_streams:
            break
    return True


def twin_agrees(fixed: Bench, right: Outcome) -> bool:
    """Return whether a fixed form gives on late streams what the original gives with a wait at every line.

    An original that raises in any case has no right outcome: its fixed form must only have one.
    """
    wanted = right if right.error is None else fixed.right()
    return wanted.error is None and _is_mended(fixed, {}, wanted)
