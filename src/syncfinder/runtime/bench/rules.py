"""Each rule's pattern before and after: a function of its fixtures, and its fixed twin."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from syncfinder.files import shipped
from syncfinder.rules.catalogue import load as catalogue
from syncfinder.runtime.bench.copies import Cases
from syncfinder.runtime.bench.timing import Method
from syncfinder.runtime.fixture import QUEUED_MS, fixture_files
from syncfinder.runtime.functions import SEED, Pair, functions_of, load, pairs_of
from syncfinder.runtime.instruments import Stall, same, start_afresh

# what these rules find does not wait: before and after differ in the outcome, not in time
TIMELESS = ("hazard", "measurement")


def patterns(stall: Stall) -> Cases:
    """A pair of the fixtures of each rule about waits: both behind queued work and behind none.

    Raises:
        FileNotFoundError: there are no fixtures.
    """
    folder = shipped("_fixtures", "fixtures")
    if folder is None:
        raise FileNotFoundError("the fixtures are missing: install syncfinder again")
    for rule in sorted(catalogue().values(), key=lambda rule: rule.code):
        pair = None if rule.family in TIMELESS else _first_pair(folder / f"{rule.code}-{rule.name}")
        if pair is not None:
            start_afresh(SEED)
            expected = pair.original()
            yield (
                f"{rule.code} {pair.name}",
                tuple(
                    _method(function, queued, expected, stall)
                    for queued in (QUEUED_MS, 0.0)
                    for function in (pair.original, pair.fixed)
                ),
            )


def _first_pair(folder: Path) -> Pair | None:
    found = (pair for path in fixture_files([folder]) for pair in pairs_of(functions_of(load(path))))
    return next(found, None)


def _method(function: Callable[[], Any], queued: float, expected: Any, stall: Stall) -> Method:
    def before() -> None:
        # once untimed: what another function left in torch's caches, or took from them, is not this one's doing
        function()
        torch.cuda.synchronize()
        start_afresh(SEED)
        if queued:
            stall(queued)

    return Method(function, lambda result: same(result, expected), before)
