"""What the commands share: exit codes, settings, colour, and saving a file."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from syncfinder.config import Configuration

CLEAN, FINDINGS, FAILED = 0, 1, 2


def split(_context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(part.strip() for value in values for part in value.split(",") if part.strip())


def codes(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    parts = split(context, parameter, values)
    if not parts:
        return ()
    from syncfinder.config import selectors

    try:
        return selectors(parts)
    except ValueError as error:
        raise click.BadParameter(str(error), context, parameter) from error


def configuration_for(options: dict[str, Any]) -> Configuration:
    """The settings of every file, with the command line's options over them. Raises UserError."""
    from syncfinder.config import SELECTORS, ConfigError, Configuration, unknown_code

    found = unknown_code([code for name in SELECTORS for code in options.get(name) or ()])
    if found is not None:
        raise ConfigError(found)
    return Configuration(options)


def configured(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that say which settings files count."""
    isolated = click.option("--isolated", is_flag=True, help="Ignore all configuration files.")
    config = click.option(
        "--config",
        multiple=True,
        metavar="FILE|KEY=VALUE",
        help="Use this settings file for all files, or set one key (TOML); see `syncfinder config`.",
    )
    return config(isolated(command))


def wants_color() -> bool:
    """Colour on a terminal, unless NO_COLOR is set; elsewhere only with FORCE_COLOR."""
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (sys.stdout.isatty() and os.environ.get("TERM") != "dumb")


def save(write: Callable[[], None], name: str) -> None:
    try:
        write()
    except OSError as error:
        raise click.ClickException(f"{name}: cannot be written: {error.strerror}") from error


def near(given: str, known: Sequence[str] | dict[str, Any]) -> str:
    """ "; did you mean A or B?", or nothing when nothing is near."""
    from difflib import get_close_matches

    by_upper = {name.upper(): name for name in known}
    near = [by_upper[match] for match in get_close_matches(given.upper(), by_upper, n=3, cutoff=0.6)]
    return f"; did you mean {' or '.join(near)}?" if near else ""
