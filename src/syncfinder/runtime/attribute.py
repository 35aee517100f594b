"""Attributing waits to expressions: which instruction of a function made the host wait.

The function runs with a trace of every instruction. The sync debug mode's warnings are caught where they are raised.
For waits that it does not report, the stream is kept busy all the time: an instruction that takes long has waited, if
it takes longer when there is more to wait for. Positions are those of the instruction in the source (co_positions,
CPython 3.11).
"""

from __future__ import annotations

import sys
import time
import types
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from syncfinder.runtime.fixture import Place
from syncfinder.runtime.instruments import REPORT, Stall

# the stream always has this much work before an instruction starts
AHEAD_MS = 8.0
# what the debug mode did not report must wait for this much, too, and take less time when the GPU is idle
LONG_AHEAD_MS = 40.0
# an instruction that takes this part of it has waited
LONG = 0.5
# an instruction that takes this long while the GPU is idle is slow on the host
SLOW_MS = 2.0


@dataclass(slots=True)
class Waits:
    """The places at which the sync debug mode spoke, and those that blocked behind the stalled stream."""

    reported: set[Place] = field(default_factory=set)
    blocked: set[Place] = field(default_factory=set)

    @property
    def places(self) -> set[Place]:
        return self.reported | self.blocked


def waits_of(call: Callable[[], Any], filename: str, source: str, stall: Stall, rounds: int = 2) -> Waits:
    """Run a function several times and return where the host waited in `filename`'s code.

    A place has blocked if it did in every round.

    Raises:
        Exception: whatever the function raises.
    """
    _warm_up(call, filename)
    lines = source.split("\n")
    found = Waits(_reported(call, filename, lines))
    blocked = [_blocked(call, filename, lines, stall, AHEAD_MS) for _ in range(rounds)]
    found.blocked = set.intersection(*blocked)
    if not found.blocked <= found.reported:
        slow = _traced(call, _Clock(filename, lines, LONG * LONG_AHEAD_MS))
        found.blocked &= found.reported | (_blocked(call, filename, lines, stall, LONG_AHEAD_MS) - slow)
    return found


def slow_of(call: Callable[[], Any], filename: str, source: str, rounds: int = 2) -> set[Place]:
    """Run a function several times and return where it held the host for `SLOW_MS` in each run, with an idle GPU.

    Raises:
        Exception: whatever the function raises.
    """
    lines = source.split("\n")
    return set.intersection(*[_traced(call, _Clock(filename, lines)) for _ in range(rounds)])


def _reported(call: Callable[[], Any], filename: str, lines: list[str]) -> set[Place]:
    places: set[Place] = set()

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        if REPORT in str(message):
            place = _innermost(sys._getframe(1), filename, lines)
            if place is not None:
                places.add(place)

    torch.cuda.synchronize()
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = show
        torch.cuda.set_sync_debug_mode("warn")
        try:
            call()
        finally:
            torch.cuda.set_sync_debug_mode("default")
    torch.cuda.synchronize()
    return places


def _innermost(frame: types.FrameType | None, filename: str, lines: list[str]) -> Place | None:
    """The place at which the innermost frame of the file stands."""
    found = _frame_in(frame, filename)
    return _place(found.f_code, found.f_lasti, lines) if found is not None else None


def _frame_in(frame: types.FrameType | None, filename: str) -> types.FrameType | None:
    """The innermost frame of the file, from `frame` outwards."""
    while frame is not None and frame.f_code.co_filename != filename:
        frame = frame.f_back
    return frame


def _place(code: types.CodeType, instruction: int, lines: list[str]) -> Place | None:
    # `verify` has asked for CPython 3.11
    line, end_line, column, end_column = list(code.co_positions())[instruction // 2]  # type: ignore[attr-defined]
    if line is None or end_line is None or column is None or end_column is None:
        return None
    return Place(line, _characters(lines[line - 1], column), end_line, _characters(lines[end_line - 1], end_column))


def _characters(line: str, offset: int) -> int:
    """A column in bytes, from 0, as one in characters, from 1."""
    return len(line.encode()[:offset].decode(errors="replace")) + 1


class _Clock:
    """Notes the instructions of a file that take long while the GPU is idle."""

    def __init__(self, filename: str, lines: list[str], long_ms: float = SLOW_MS) -> None:
        self.filename, self.lines, self.long_ms = filename, lines, long_ms
        self.places: set[Place] = set()
        self.current: tuple[types.CodeType, int] | None = None
        self.started = 0.0

    def trace(self, frame: types.FrameType, event: str, argument: Any) -> Any:
        if frame.f_code.co_filename != self.filename:
            return None
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        if event == "opcode":
            self.step((frame.f_code, frame.f_lasti))
        elif event == "return":
            # what comes is the rest of a call in the caller; between both may be code of others, such as an optimizer's
            caller = _frame_in(frame.f_back, self.filename)
            self.step((caller.f_code, caller.f_lasti) if caller is not None else None)
        return self.trace

    def step(self, following: tuple[types.CodeType, int] | None) -> None:
        """The current instruction is done: did it take long? Then make the GPU ready for the following one."""
        now = time.perf_counter()
        if self.current is not None and (now - self.started) * 1e3 >= self.long_ms:
            place = _place(*self.current, self.lines)
            if place is not None:
                self.places.add(place)
        self.make_ready(now)
        self.current = following
        self.started = time.perf_counter()

    def make_ready(self, now: float) -> None:
        torch.cuda.synchronize()


class _Watch(_Clock):
    """Keeps the stream busy instead, and notes the instructions that take as long as a good part of its work.

    What is waited for may be a part of the work: another stream may have to wait for what was queued until then.
    """

    def __init__(self, filename: str, lines: list[str], stall: Stall, ahead_ms: float) -> None:
        super().__init__(filename, lines, LONG * ahead_ms)
        self.stall, self.ahead_ms = stall, ahead_ms
        self.over = stall(ahead_ms)
        self.busy_until = time.perf_counter() + ahead_ms / 1e3

    def make_ready(self, now: float) -> None:
        if self.over.query():
            self.busy_until = now
        if (self.busy_until - now) * 1e3 < self.ahead_ms:
            self.over = self.stall(self.ahead_ms)
            self.busy_until += self.ahead_ms / 1e3


def _blocked(call: Callable[[], Any], filename: str, lines: list[str], stall: Stall, ahead_ms: float) -> set[Place]:
    return _traced(call, _Watch(filename, lines, stall, ahead_ms))


def _traced(call: Callable[[], Any], clock: _Clock) -> set[Place]:
    torch.cuda.synchronize()
    _with_trace(call, clock.trace)
    torch.cuda.synchronize()
    return clock.places


def _warm_up(call: Callable[[], Any], filename: str) -> None:
    """Run a function once with opcodes traced.

    In CPython 3.12 and 3.13 code has no opcode events in its first such run, and what is slow only the first time must
    not be taken for a wait.
    """

    def trace(frame: types.FrameType, event: str, argument: Any) -> Any:
        if frame.f_code.co_filename != filename:
            return None
        frame.f_trace_opcodes = True
        return trace

    _with_trace(call, trace)


def _with_trace(call: Callable[[], Any], trace: Callable[..., Any]) -> None:
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
