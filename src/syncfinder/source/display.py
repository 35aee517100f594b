"""How a path is written for people: relative to the working directory when below it."""

from __future__ import annotations

import os


def shown(path: str | os.PathLike[str]) -> str:
    """Return `path` relative to the working directory when it is below it, else as it is."""
    text = os.fspath(path)
    try:
        here = os.getcwd()
    except OSError:  # the working directory was deleted
        return text
    if not here.endswith(os.sep):
        here += os.sep
    return text[len(here) :] if text.startswith(here) else text
