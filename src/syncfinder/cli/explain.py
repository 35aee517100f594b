"""`syncfinder rule` and `syncfinder explain`: what the tool knows and believes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from syncfinder.cli.shared import CLEAN, configuration_for, configured, near, wants_color

if TYPE_CHECKING:
    from syncfinder.torchmodel.model import Model


@click.command()
@click.argument("code", required=False)
@click.option("--all", "every", is_flag=True, help="All rules, in order of their codes.")
@click.option(
    "--all-functions", is_flag=True, help="Only the functions of torch that the rule knows, and when they wait."
)
@click.option("--torch-version", metavar="VERSION", help="The torch that --all-functions speaks of, such as 2.11.")
def rule(code: str | None, every: bool, all_functions: bool, torch_version: str | None) -> int:
    """Explain a rule, given its code (SF101) or its name (tensor-item)."""
    from syncfinder.report.rule import write
    from syncfinder.rules.catalogue import load

    if (code is None) != every:
        raise click.UsageError("give one code, or --all")
    rules = load()
    if code is None:
        wanted = [rules[key] for key in sorted(rules)]
    else:
        wanted = [r for r in rules.values() if code.upper() == r.code or code.lower() == r.name]
        if not wanted:
            names = [*rules, *(r.name for r in rules.values())]
            raise click.ClickException(f"there is no rule {code}{near(code, names)}")
    if all_functions:
        from syncfinder.report.functions import write as write_functions

        write_functions(wanted, _torch_model(torch_version), sys.stdout, terminal=sys.stdout.isatty())
    else:
        write(wanted, sys.stdout, terminal=sys.stdout.isatty())
    return CLEAN


def _torch_model(version: str | None) -> Model:
    from syncfinder.torchmodel.model import load, versions

    try:
        return load(version)
    except FileNotFoundError as error:
        raise click.ClickException(f"--torch-version must be one of {', '.join(versions())}") from error


@click.command()
@click.argument("place", metavar="FILE:LINE")
@configured
def explain(place: str, **options: Any) -> int:
    """Say what is believed about every value on a line, why, and which findings stand there."""
    from syncfinder.explain import explain as run
    from syncfinder.report.explain import write
    from syncfinder.report.formats import Look
    from syncfinder.source.decode import SourceError

    name, colon, line = place.rpartition(":")
    if not colon or not line.isdecimal():
        raise click.UsageError(f"{place!r} is not FILE:LINE, such as model.py:120")
    settings = configuration_for(options).of(Path(name))
    try:
        explanation = run(Path(name), int(line), settings)
    except (SourceError, ValueError) as error:
        raise click.ClickException(str(error)) from error
    write(explanation, sys.stdout, Look(color=wants_color()))
    return CLEAN
