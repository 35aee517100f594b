"""The commands that need a GPU and torch: `verify` and `measure`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from syncfinder.cli.shared import CLEAN, FINDINGS, save, split, wants_color

if TYPE_CHECKING:
    from syncfinder.runtime.fixture import Verdict

_NEEDS_TORCH = "{error}: this command runs on a GPU and needs torch and numpy: pip install 'syncfinder[gpu]'"


def _say_verdict(verdict: Verdict) -> None:
    click.echo(f"{verdict.path}: {'; '.join(verdict.faults) or 'agrees'}", err=True)


@click.command()
@click.argument("fixtures", nargs=-1, type=click.Path(path_type=Path))
@click.option("--json", "json_file", type=click.Path(dir_okay=False, path_type=Path), help="Write the evidence here.")
def verify(fixtures: tuple[Path, ...], json_file: Path | None) -> int:
    """Run fixtures on this machine's GPU (needs torch) and compare what waits with their marks. Runs their code."""
    try:
        from syncfinder.report.verify import table
        from syncfinder.runtime import verify as harness

        verdicts = harness.verify(fixtures or (Path("fixtures"),), Path.cwd(), _say_verdict)
    except ImportError as error:
        raise click.ClickException(_NEEDS_TORCH.format(error=error)) from error
    except (RuntimeError, FileNotFoundError) as error:
        raise click.ClickException(str(error)) from error
    if json_file is not None:
        save(lambda: harness.write(verdicts, json_file), str(json_file))
    table(verdicts, sys.stdout, color=wants_color())
    return FINDINGS if any(v.faults for v in verdicts) else CLEAN


@click.command()
@click.option("--output-file", "-o", type=click.Path(dir_okay=False), required=True, help="Write the evidence here.")
@click.option("--only", multiple=True, callback=split, metavar="WORDS", help="Only what has one of these words in it.")
def measure(output_file: str, only: tuple[str, ...]) -> int:
    """Measure when torch makes the host wait, on this machine's GPU (needs torch). Runs torch's code and the probes."""
    try:
        from syncfinder.runtime.measure import measure as run
        from syncfinder.runtime.measure import write as write_evidence

        evidence = run(lambda line: click.echo(line, err=True), only)
    except ImportError as error:
        raise click.ClickException(_NEEDS_TORCH.format(error=error)) from error
    except RuntimeError as error:
        raise click.ClickException(str(error)) from error
    save(lambda: write_evidence(evidence, Path(output_file)), output_file)
    return CLEAN
