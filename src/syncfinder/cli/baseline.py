"""`syncfinder baseline`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from syncfinder.cli.shared import CLEAN, FAILED, configuration_for, configured, save


@click.command()
@click.argument("paths", nargs=-1)
@click.option("--output-file", "-o", type=click.Path(dir_okay=False), help="The baseline's file.")
@click.option("--prune", is_flag=True, help="Only remove entries whose findings are gone.")
@click.option("--jobs", "-j", type=click.IntRange(min=1), help="How many processes to use.")
@configured
def baseline(paths: tuple[str, ...], output_file: str | None, prune: bool, **options: Any) -> int:
    """Note the findings of files and folders as known; `check --baseline FILE` then reports new ones only.

    The file is `--output-file`, else the `baseline` of the settings, else syncfinder-baseline.json. If there is one,
    its notes (owner, reason, expires) are kept, and its entries of files that are not checked.
    """
    from syncfinder.check import check
    from syncfinder.gate.baseline import DEFAULT, Baseline, Run, load

    places = [Path(path) for path in paths or (".",)]
    configuration = configuration_for(options)
    settings = configuration.of(places[0])
    target = Path(output_file or settings.baseline or DEFAULT)
    old = load(target) if prune or target.exists() else Baseline(target)
    report = check(places, settings, settings_of=configuration.of_folder, baseline=False, progress=sys.stderr.isatty())
    for note in report.notes:
        click.echo(f"note: {note}", err=True)
    for error in report.errors:
        click.echo(f"error: {error}", err=True)
    if not report.paths:
        return FAILED
    run = Run(
        report.findings,
        report.files,
        report.paths,
        lambda path, code: configuration.of_folder(str(path.parent)).selects_in(path, code),
    )
    new = old.renewed(run, prune=prune)
    save(new.write, str(target))
    known = sum(entry.count for entry in new.entries.values())
    gone = sum(entry.count for entry in old.entries.values()) - known
    findings = "1 finding" if known == 1 else f"{known} findings"
    if prune:
        click.echo(f"Removed {gone} of {known + gone} known findings from {target}.")
    else:
        click.echo(f"Noted {findings} in {target}.")
    return FAILED if report.errors else CLEAN
