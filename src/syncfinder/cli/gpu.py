"""The commands that need a GPU and torch: `verify`, `measure` and `bench`."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from syncfinder.cli.shared import CLEAN, FINDINGS, save, split, wants_color

if TYPE_CHECKING:
    from syncfinder.runtime.bench.result import Run
    from syncfinder.runtime.fixture import Verdict

_NEEDS_TORCH = "{error}: this command runs on a GPU and needs torch and numpy: pip install 'syncfinder[gpu]'"

# timed runs of each method of `bench`, unless asked otherwise
_REPEATS = 30


def _say(line: str) -> None:
    click.echo(line, err=True)


@contextlib.contextmanager
def _on_a_gpu() -> Iterator[None]:
    """What keeps work from being done on a GPU, as an error of the command line."""
    try:
        yield
    except ImportError as error:
        raise click.ClickException(_NEEDS_TORCH.format(error=error)) from error
    except (RuntimeError, FileNotFoundError) as error:
        raise click.ClickException(str(error)) from error


def _say_verdict(verdict: Verdict) -> None:
    _say(f"{verdict.path}: {'; '.join(verdict.faults) or 'agrees'}")


@click.command()
@click.argument("fixtures", nargs=-1, type=click.Path(path_type=Path))
@click.option("--json", "json_file", type=click.Path(dir_okay=False, path_type=Path), help="Write the evidence here.")
def verify(fixtures: tuple[Path, ...], json_file: Path | None) -> int:
    """Run fixtures on this machine's GPU (needs torch) and compare what waits with their marks. Runs their code."""
    with _on_a_gpu():
        from syncfinder.report.verify import table
        from syncfinder.runtime import verify as harness

        verdicts = harness.verify(fixtures or (Path("fixtures"),), Path.cwd(), _say_verdict)
    if json_file is not None:
        save(lambda: harness.write(verdicts, json_file), str(json_file))
    table(verdicts, sys.stdout, color=wants_color())
    return FINDINGS if any(v.faults for v in verdicts) else CLEAN


@click.command()
@click.option("--output-file", "-o", type=click.Path(dir_okay=False), required=True, help="Write the evidence here.")
@click.option("--only", multiple=True, callback=split, metavar="WORDS", help="Only what has one of these words in it.")
def measure(output_file: str, only: tuple[str, ...]) -> int:
    """Measure when torch makes the host wait, on this machine's GPU (needs torch). Runs torch's code and the probes."""
    with _on_a_gpu():
        from syncfinder.runtime.measure import measure as run
        from syncfinder.runtime.measure import write as write_evidence

        evidence = run(_say, only)
    save(lambda: write_evidence(evidence, Path(output_file)), output_file)
    return CLEAN


_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command()
@click.option("--output-file", "-o", type=_FILE, help="Write every figure here, as JSON.")
@click.option("--plot", "plot_file", type=_FILE, help="Draw the figures here, as a PNG (needs matplotlib).")
@click.option("--from", "saved", type=_FILE, help="Show what --output-file wrote; measures nothing and needs no GPU.")
@click.option("--only", multiple=True, callback=split, metavar="WORDS", help="Only what has one of these in its name.")
@click.option("--repeats", type=click.IntRange(min=5), metavar="N", help=f"Timed runs of each method.  [{_REPEATS}]")
def bench(
    output_file: Path | None, plot_file: Path | None, saved: Path | None, only: tuple[str, ...], repeats: int | None
) -> int:
    """Measure what waits and copies cost on this machine's GPU (needs torch). Runs the fixtures' code."""
    if saved is not None and (output_file is not None or repeats is not None):
        raise click.UsageError("--from measures nothing: it goes with neither --output-file nor --repeats")
    for path in (output_file, plot_file):  # not after minutes of work
        if path is not None and not path.absolute().parent.is_dir():
            raise click.ClickException(f"{path}: there is no such folder: make it first")
    if plot_file is not None:
        try:
            from syncfinder.runtime.bench.plot import png
        except ImportError as error:
            raise click.ClickException(f"{error}: --plot needs matplotlib: pip install 'syncfinder[gpu]'") from error
    run = _bench(only, repeats or _REPEATS) if saved is None else _saved(saved, only)
    from syncfinder.files import write_whole
    from syncfinder.report.bench import tables
    from syncfinder.runtime.bench.result import write

    tables(run, sys.stdout, color=wants_color())
    if output_file is not None:
        save(lambda: write(run, output_file), str(output_file))
    if plot_file is not None:
        save(lambda: write_whole(plot_file, png(run)), str(plot_file))
    return CLEAN


def _bench(only: tuple[str, ...], repeats: int) -> Run:
    from syncfinder.runtime import bench as harness

    try:
        experiments = harness.chosen(only)
    except ValueError as error:
        raise click.ClickException(str(error)) from error
    with _on_a_gpu():
        return harness.run(experiments, repeats, _say)


def _saved(path: Path, only: tuple[str, ...]) -> Run:
    from dataclasses import replace

    from syncfinder.runtime.bench import chosen
    from syncfinder.runtime.bench.result import read

    try:
        run = read(path)
        return replace(run, experiments=chosen(only, run.experiments))
    except OSError as error:
        raise click.ClickException(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise click.ClickException(str(error)) from error
