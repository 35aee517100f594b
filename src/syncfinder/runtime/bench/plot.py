"""The plot of a run, drawn with matplotlib: a panel per experiment and clock, rows of many cases at the right."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from syncfinder.runtime.bench.result import Experiment, Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLUMNS = 2
PANEL_INCHES = (5.5, 3.2)
# height that a case needs in a panel of rows
ROW_INCHES = 0.42
HEAD_INCHES = 0.9
# room that the methods of a case take, of the room between two cases
FILLED = 0.8


def png(run: Run) -> bytes:
    """Return the plot as a PNG."""
    out = io.BytesIO()
    figure(run).savefig(out, format="png", dpi=110)
    return out.getvalue()


def figure(run: Run) -> Figure:
    """Draw every experiment: medians, and bars from the 10th to the 90th percentile, in microseconds."""
    panels = [(e, clock) for e in run.experiments for clock in e.clocks]
    small = [p for p in panels if p[0].chart != "rows"]
    tall = [p for p in panels if p[0].chart == "rows"]
    lines = -(-len(small) // COLUMNS)
    height = max([lines * PANEL_INCHES[1], *(len(e.cases) * ROW_INCHES for e, _ in tall)])
    columns = (COLUMNS if small else 0) + len(tall)
    drawn = Figure((columns * PANEL_INCHES[0], height + HEAD_INCHES), layout="constrained")
    drawn.suptitle("   ".join([*(f"{k} {v}" for k, v in run.machine.items()), run.date]), fontsize=10)
    grid = drawn.add_gridspec(max(lines, 1), columns)
    for number, (experiment, clock) in enumerate(small):
        axes = drawn.add_subplot(grid[number // COLUMNS, number % COLUMNS])
        _DRAWN[experiment.chart](axes, experiment, clock)
    for number, (experiment, clock) in enumerate(tall):
        axes = drawn.add_subplot(grid[:, columns - len(tall) + number])
        _DRAWN[experiment.chart](axes, experiment, clock)
    return drawn


def _series(experiment: Experiment, clock: str, method: str) -> tuple[list[float], tuple[list[float], list[float]]]:
    """The medians of a method's cases, and how far the percentiles are below and above."""
    found = [times[method].by(clock) for times in experiment.cases.values()]
    return [s.median for s in found], ([s.median - s.p10 for s in found], [s.p90 - s.median for s in found])


def _lines(axes: Axes, experiment: Experiment, clock: str) -> None:
    places = range(len(experiment.cases))
    for method in experiment.methods:
        medians, errors = _series(experiment, clock, method)
        axes.errorbar(places, medians, errors, label=method, marker="o", markersize=3, linewidth=1, capsize=2)
    axes.set_xticks(places, [case.split()[0] for case in experiment.cases])
    axes.set_xlabel(next(iter(experiment.cases)).split(maxsplit=1)[-1])
    axes.set_yscale("log")
    axes.set_ylabel("µs")
    _finish(axes, experiment, clock)


def _bars(axes: Axes, experiment: Experiment, clock: str) -> None:
    width = FILLED / len(experiment.methods)
    for number, method in enumerate(experiment.methods):
        medians, errors = _series(experiment, clock, method)
        places = [case + (number + 0.5) * width - FILLED / 2 for case in range(len(medians))]
        bars = axes.bar(places, medians, width, yerr=errors, label=method, capsize=2)
        axes.bar_label(bars, fmt="%.4g", fontsize=6, padding=2)
    axes.set_xticks(range(len(experiment.cases)), list(experiment.cases))
    axes.margins(y=0.1)
    axes.set_ylim(bottom=0)
    axes.set_ylabel("µs")
    _finish(axes, experiment, clock)


def _rows(axes: Axes, experiment: Experiment, clock: str) -> None:
    height = FILLED / len(experiment.methods)
    for number, method in enumerate(experiment.methods):
        medians, errors = _series(experiment, clock, method)
        places = [case + (number + 0.5) * height - FILLED / 2 for case in range(len(medians))]
        axes.barh(places, medians, height, xerr=errors, label=method, error_kw={"linewidth": 0.8})
    axes.set_yticks(range(len(experiment.cases)), list(experiment.cases), fontsize=7)
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlabel("µs")
    _finish(axes, experiment, clock)


def _finish(axes: Axes, experiment: Experiment, clock: str) -> None:
    axes.set_title(f"{experiment.title}\n{experiment.clocks[clock]}", fontsize=9)
    axes.tick_params(labelsize=7)
    axes.grid(alpha=0.3)
    axes.set_axisbelow(True)
    axes.legend(fontsize=6)


_DRAWN: dict[str, Callable[[Axes, Experiment, str], None]] = {"lines": _lines, "bars": _bars, "rows": _rows}
