"""Timing methods against one another: interleaved, warmed up, by both clocks, their results checked. Needs no torch."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from syncfinder.runtime.bench.result import Spread, Times

# rounds that are run and not counted: kernels are loaded, caches filled, clocks raised
WARMUP = 3


class WrongData(RuntimeError):
    """A method's result is not what it has to be."""


def _nothing() -> None:
    pass


@dataclass(frozen=True, slots=True)
class Method:
    """One way of doing a thing.

    `call` is timed. `check` says whether its result is right, after the clocks have stopped. `before` runs before they
    start; `meanwhile` is CPU work between the call's return and the wait for the GPU, and counts for the second clock.
    """

    call: Callable[[], Any]
    check: Callable[[Any], bool]
    before: Callable[[], object] = _nothing
    meanwhile: Callable[[], object] = _nothing


def measure(
    methods: Mapping[str, Method],
    repeats: int,
    synchronize: Callable[[], object],
    clock: Callable[[], int] = time.perf_counter_ns,
) -> dict[str, Times]:
    """Time each method `repeats` times, in rounds that each begin with another one; `clock` tells nanoseconds.

    Raises:
        WrongData: a result is wrong; the run is worth nothing then.
    """
    names = list(methods)
    samples: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    with _without_gc():
        for number in range(WARMUP + repeats):
            for name in rotated(names, number):
                took = _once(name, methods[name], synchronize, clock)
                if number >= WARMUP:
                    samples[name].append(took)
    return {
        name: Times(spread([returned for returned, _ in taken]), spread([done for _, done in taken]))
        for name, taken in samples.items()
    }


def rotated(names: Sequence[str], number: int) -> list[str]:
    """Return the names in the order of a round: round 1 begins with the second name, and so on."""
    start = number % len(names)
    return [*names[start:], *names[:start]]


def spread(samples: Sequence[float]) -> Spread:
    """Return the deciles of at least two samples, to a hundredth; between two samples they are interpolated."""
    tenths = statistics.quantiles(samples, n=10, method="inclusive")
    return Spread(round(tenths[0], 2), round(statistics.median(samples), 2), round(tenths[-1], 2))


def _once(
    name: str, method: Method, synchronize: Callable[[], object], clock: Callable[[], int]
) -> tuple[float, float]:
    """Microseconds until the call returned, and until the GPU was done."""
    synchronize()
    method.before()
    start = clock()
    result = method.call()
    returned = clock()
    method.meanwhile()
    synchronize()
    done = clock()
    if not method.check(result):
        raise WrongData(f"{name!r} gave wrong data")
    return (returned - start) / 1e3, (done - start) / 1e3


@contextmanager
def _without_gc() -> Iterator[None]:
    """A garbage collection inside a timed call would be taken for its cost."""
    was_on = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
