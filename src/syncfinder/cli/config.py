"""`syncfinder config`: what can be set."""

from __future__ import annotations

import json
import sys

import click

from syncfinder.cli.shared import CLEAN, near


@click.command()
@click.argument("key", required=False)
@click.option("--json-schema", is_flag=True, help="The JSON schema of syncfinder.toml, for editors.")
def config(key: str | None, json_schema: bool) -> int:
    """Explain a setting, given its key; without one, list all settings."""
    from syncfinder import keys
    from syncfinder.report.settings import explanation, listing

    if key is not None and json_schema:
        raise click.UsageError("give a key, or --json-schema")
    if json_schema:
        sys.stdout.write(json.dumps(keys.json_schema(), indent=2) + "\n")
    elif key is None:
        sys.stdout.write(listing(keys.KEYS.values()))
    elif key in keys.KEYS:
        sys.stdout.write(explanation(keys.KEYS[key]))
    else:
        raise click.ClickException(f"there is no setting {key}{near(key, keys.KEYS)}")
    return CLEAN
