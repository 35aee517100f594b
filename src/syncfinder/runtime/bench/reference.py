"""Figures of another machine, to compare a run with. Needs no torch."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources

from syncfinder.runtime.bench.result import Experiment, Run

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@dataclass(frozen=True, slots=True)
class Figure:
    """What two methods took in a case, by one clock: medians in microseconds."""

    experiment: str
    case: str
    clock: str
    before: str
    after: str
    before_us: float
    after_us: float

    @property
    def gain(self) -> float:
        """How many times faster the second is."""
        return self.before_us / self.after_us


@dataclass(frozen=True, slots=True)
class Comparison:
    """The same figure there and here, and the experiment that it is of."""

    experiment: Experiment
    there: Figure
    here: Figure


def load() -> tuple[str, list[Figure]]:
    """Return the name of the other machine's GPU, and its figures."""
    text = (resources.files("syncfinder.runtime.bench") / "reference.toml").read_text(encoding="utf-8")
    data = tomllib.loads(text)
    return data["source"], [Figure(**figure) for figure in data["figure"]]


def compare(run: Run) -> Iterator[Comparison]:
    """Yield the comparisons that a run has figures for."""
    by_key = {e.key: e for e in run.experiments}
    for there in load()[1]:
        experiment = by_key.get(there.experiment)
        times = experiment.cases.get(there.case) if experiment is not None else None
        if experiment is not None and times is not None:
            before, after = (times[m].by(there.clock).median for m in (there.before, there.after))
            names = (there.experiment, there.case, there.clock, there.before, there.after)
            yield Comparison(experiment, there, Figure(*names, before, after))
