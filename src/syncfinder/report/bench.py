"""The tables that `syncfinder bench` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.table import Table

    from syncfinder.runtime.bench.reference import Figure
    from syncfinder.runtime.bench.result import Experiment, Run, Spread

WIDTH = 160


def tables(run: Run, stream: TextIO, *, color: bool) -> None:
    """Write a table per experiment and clock: cases by methods; then the figures beside those of the reference."""
    from rich.console import Console

    console = Console(file=stream, no_color=not color, width=None if stream.isatty() else WIDTH, highlight=False)
    console.print(", ".join([*(f"{k} {v}" for k, v in run.machine.items()), run.date]))
    console.print(f"Medians of {run.repeats} runs, in brackets the 10th and the 90th percentile.")
    for experiment in run.experiments:
        console.print(f"\n[bold]{experiment.title}[/bold]")
        console.print(experiment.what)
        for clock, meaning in experiment.clocks.items():
            console.print(_of_experiment(experiment, clock, meaning))
    compared = _beside_reference(run)
    if compared.row_count:
        console.print()
        console.print(compared)


def _of_experiment(experiment: Experiment, clock: str, meaning: str) -> Table:
    from rich.table import Table

    table = Table(meaning)
    for method in experiment.methods:
        table.add_column(method, justify="right")
    for case, times in experiment.cases.items():
        table.add_row(case, *(spread(times[method].by(clock)) for method in experiment.methods))
    return table


def _beside_reference(run: Run) -> Table:
    from rich.table import Table

    from syncfinder.runtime.bench.reference import compare, load

    table = Table("medians beside a reference", "", "from", "to", run.machine["gpu"], load()[0])
    for one in compare(run):
        there = one.there
        clock = one.experiment.clocks[there.clock]
        table.add_row(there.experiment, clock, there.before, there.after, _gain(one.here), _gain(there))
    return table


def _gain(figure: Figure) -> str:
    return f"{duration(figure.before_us)} -> {duration(figure.after_us)} ({figure.gain:.2f} ×)"


def duration(microseconds: float) -> str:
    """A time in µs, or in ms from 1000 µs on."""
    if round(microseconds, 1) < 1000:
        return f"{microseconds:.1f} µs"
    return f"{microseconds / 1e3:.3f} ms"


def spread(of: Spread) -> str:
    """A median with its percentiles, all in the median's unit."""
    scale, digits = (1.0, 1) if round(of.median, 1) < 1000 else (1e3, 3)
    return f"{duration(of.median)} ({of.p10 / scale:.{digits}f}–{of.p90 / scale:.{digits}f})"
