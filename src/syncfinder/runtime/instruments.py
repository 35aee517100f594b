"""Whether the host waits for the GPU in a call: two instruments.

The sync debug mode reports waits that torch itself makes (c10::cuda::warn_or_error_on_sync). A stalled stream shows
every other one: the stream is kept busy, and a call that comes back only when the stream is done has waited.
"""

from __future__ import annotations

import contextlib
import copy
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import torch

STALL_MS = 6.0
LONG_STALL_MS = 30.0
REPORT = "called a synchronizing CUDA operation"


@dataclass(frozen=True, slots=True)
class Verdict:
    """`reported`: the sync debug mode spoke. `blocked`: the call came back only when the stalled stream was done.

    `blocked_ms` is how long the call took behind the stall that decided, `stall_ms` how long that stall was.
    """

    reported: bool
    blocked: bool
    blocked_ms: float
    stall_ms: float

    @property
    def waits(self) -> bool:
        return self.reported or self.blocked


class Stall:
    """Keeps the current stream busy for a given time, with a kernel that only spins (torch.cuda._sleep)."""

    def __init__(self) -> None:
        self._cycles_per_ms = _cycles_per_ms()

    def __call__(self, milliseconds: float) -> torch.cuda.Event:
        """Queue the stall and return an event that is done when it is over."""
        torch.cuda._sleep(int(milliseconds * self._cycles_per_ms))
        over = torch.cuda.Event()
        over.record()
        return over


@dataclass(frozen=True, slots=True)
class Schedule:
    """How late streams are, in milliseconds: the default one, another one at its first line, and at each later line."""

    default_ms: float
    first_ms: float
    line_ms: float


class LateDevice:
    """A GPU whose streams are late, so that what nobody waits for is not done yet (`hazards.Device`).

    The other streams are late behind the default one, or the default one is done before they start.
    """

    schedules: ClassVar[tuple[Schedule, ...]] = (Schedule(40.0, 8.0, 8.0), Schedule(15.0, 40.0, 8.0))

    def __init__(self, stall: Stall) -> None:
        self._stall = stall
        self._schedule = self.schedules[0]
        self._others: set[torch.cuda.Stream] = set()

    def start(self, schedule: Schedule) -> None:
        self._schedule = schedule
        self._others = set()
        self._stall(schedule.default_ms)

    def lag(self) -> None:
        stream = torch.cuda.current_stream()
        if stream == torch.cuda.default_stream():
            return
        self._stall(self._schedule.line_ms if stream in self._others else self._schedule.first_ms)
        self._others.add(stream)

    @property
    def used_other_streams(self) -> bool:
        return bool(self._others)

    def wait(self) -> None:
        torch.cuda.synchronize()

    def keep(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return value.detach().cpu().clone()
        if isinstance(value, (list, tuple)):
            kept = [self.keep(item) for item in value]
            return kept if isinstance(value, list) else tuple(kept)
        return {k: self.keep(item) for k, item in value.items()} if isinstance(value, dict) else copy.copy(value)

    def same(self, a: Any, b: Any) -> bool:
        return same(a, b)


def same(a: Any, b: Any) -> bool:
    """Return whether two results are equal: tensors within their dtype's tolerance, wherever they live."""
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        try:
            torch.testing.assert_close(a, b, check_device=False)
        except AssertionError:
            return False
        return True
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(value, b[key]) for key, value in a.items())
    return bool(a == b)


def _cycles_per_ms() -> float:
    """Measure the clock once it has risen, as it does when the GPU is busy: the longest of three."""
    cycles, rates = 20_000_000, []
    torch.cuda._sleep(20 * cycles)
    for _ in range(3):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        torch.cuda._sleep(cycles)
        end.record()
        end.synchronize()
        rates.append(cycles / start.elapsed_time(end))
    return float(max(rates))


@contextlib.contextmanager
def sync_reports() -> Iterator[list[str]]:
    """Collect the sync debug mode's messages of the block."""
    found: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.cuda.set_sync_debug_mode("warn")
        try:
            yield found
        finally:
            torch.cuda.set_sync_debug_mode("default")
            found += [str(w.message) for w in caught if REPORT in str(w.message)]


def judge(prepare: Callable[[], Callable[[], Any]], stall: Stall) -> Verdict:
    """Say whether the host waits in the call that `prepare` returns; it is prepared afresh for each run.

    A call that comes back before the stall is over has not blocked. One that does not may only be slow on the host, so
    it is run again behind a longer stall.

    Raises:
        Exception: whatever the call raises.
    """
    call = prepare()
    torch.cuda.synchronize()
    with sync_reports() as reports:
        result = call()
    torch.cuda.synchronize()
    del result
    blocked, took = _behind(prepare, stall, STALL_MS)
    length = STALL_MS
    if blocked:
        blocked, took = _behind(prepare, stall, LONG_STALL_MS)
        length = LONG_STALL_MS
    return Verdict(bool(reports), blocked, round(took, 2), length)


def _behind(prepare: Callable[[], Callable[[], Any]], stall: Stall, milliseconds: float) -> tuple[bool, float]:
    call = prepare()
    torch.cuda.synchronize()
    over = stall(milliseconds)
    start = time.perf_counter()
    result = call()
    took = (time.perf_counter() - start) * 1e3
    blocked = over.query()
    torch.cuda.synchronize()
    del result
    return blocked, took


def start_afresh(seed: int) -> None:
    """Give torch's global state the values that a fresh process has, and seed its random numbers.

    Using dynamo turns the distributions' checks off for the whole process (TorchPatcher.patch in
    torch/_dynamo/eval_frame.py), so that constructors that wait by default no longer would.
    """
    torch.manual_seed(seed)
    torch.distributions.Distribution.set_default_validate_args(__debug__)


def need_gpu(command: str) -> None:
    """Raise RuntimeError, which names the command, if torch has no GPU here."""
    if not torch.cuda.is_available():
        raise RuntimeError(f"no GPU: {command} needs one that torch can use (torch.cuda.is_available() is false)")


def machine() -> dict[str, str]:
    """Return what the evidence was seen on: GPU, driver, torch and CUDA versions."""
    return {
        "gpu": torch.cuda.get_device_name(),
        "driver": _driver(),
        "torch": str(torch.__version__),
        "cuda": str(torch.version.cuda),
    }


def _driver() -> str:
    import subprocess

    try:
        command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\n")[0].strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
