"""The settings in words, for `syncfinder config`."""

from __future__ import annotations

from collections.abc import Collection
from textwrap import wrap

from syncfinder.keys import Key

_WIDTH = 100


def listing(keys: Collection[Key]) -> str:
    """A line per setting: its key, and the first sentence of its help."""
    widest = max(len(key.name) for key in keys)
    return "".join(f"{key.name:<{widest}}  {key.help.partition('. ')[0].rstrip('.')}\n" for key in keys)


def explanation(key: Key) -> str:
    """One setting in full: what it does, its type, default, and an example."""
    lines = [key.name, "", *wrap(key.help, _WIDTH), ""]
    lines += wrap(f"Type: {key.kind.words}", _WIDTH, subsequent_indent="      ")
    lines += [f"Default: {key.shown}", "Example:", "", "    [tool.syncfinder]", f"    {key.example}"]
    return "\n".join(lines) + "\n"
