"""What a run of `bench` found, and its JSON form. Needs no torch."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from syncfinder.files import write_whole

# the two clocks: until the call gave the CPU back, and until the GPU had done what it was given
RETURNED, DONE = "returned", "done"


@dataclass(frozen=True, slots=True)
class Spread:
    """The 10th percentile, the median and the 90th percentile of a figure, in microseconds."""

    p10: float
    median: float
    p90: float


@dataclass(frozen=True, slots=True)
class Times:
    """What one method took, by both clocks."""

    returned: Spread
    done: Spread

    def by(self, clock: str) -> Spread:
        """Return the figure of a clock: RETURNED or DONE."""
        return self.returned if clock == RETURNED else self.done


@dataclass(frozen=True, slots=True)
class Experiment:
    """Methods of doing one thing, compared in some cases.

    `clocks` has those that tell something here, and what they mean; `chart` is how it is drawn: lines over growing
    cases, bars per case, or rows of many cases. `cases` is case -> method -> times, filled by a run.
    """

    key: str
    title: str
    what: str
    methods: tuple[str, ...]
    clocks: Mapping[str, str]
    chart: str = "bars"
    cases: dict[str, dict[str, Times]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Run:
    """`machine` has the names and versions of GPU, driver and software."""

    machine: dict[str, str]
    date: str
    repeats: int
    experiments: tuple[Experiment, ...]


def write(run: Run, path: Path) -> None:
    """Write a run as JSON. Raises OSError."""
    write_whole(path, json.dumps(asdict(run), indent=1, ensure_ascii=False) + "\n")


def read(path: Path) -> Run:
    """Read a run that `write` wrote.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is something else.
    """
    try:
        return _run(json.loads(path.read_bytes()))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path}: not a result of `syncfinder bench` ({type(error).__name__}: {error})") from error


def _run(data: Any) -> Run:
    experiments = tuple(_experiment(e) for e in data["experiments"])
    return Run({str(k): str(v) for k, v in data["machine"].items()}, data["date"], data["repeats"], experiments)


def _experiment(data: Any) -> Experiment:
    methods = tuple(data["methods"])
    cases = {
        case: {m: Times(Spread(**times[m][RETURNED]), Spread(**times[m][DONE])) for m in methods}
        for case, times in data["cases"].items()
    }
    return Experiment(data["key"], data["title"], data["what"], methods, dict(data["clocks"]), data["chart"], cases)
