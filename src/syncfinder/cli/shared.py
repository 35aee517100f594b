"""What the commands share: exit codes, settings, colour, and saving a file."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from syncfinder.config import Settings

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


def settings_for(start: Path, options: dict[str, Any]) -> Settings:
    """The settings for `start` with the command line's options over them."""
    from syncfinder.config import ConfigError, load, override

    try:
        settings = override(load(start, isolated=options["isolated"]), options)
    except ConfigError as error:
        raise click.ClickException(str(error)) from error
    asked = {*settings.select, *settings.extend_select, *settings.ignore, *settings.fixable, *settings.unfixable}
    asked -= {"SF"}
    if asked:
        from syncfinder.rules.catalogue import load as catalogue

        codes = catalogue()
        for selector in sorted(asked):
            if not any(code.startswith(selector) for code in codes):
                raise click.ClickException(f"no rule's code begins with {selector}{near(selector, codes)}")
    return settings


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
