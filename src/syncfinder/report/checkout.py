"""Paths as CI services want them: relative to the checkout, with `/`."""

from __future__ import annotations

import os
from pathlib import Path

# Where GitHub Actions, GitLab CI and Azure Pipelines say that the checkout is; a job may run in a folder below it.
_VARIABLES = ("GITHUB_WORKSPACE", "CI_PROJECT_DIR", "BUILD_SOURCESDIRECTORY")


def root() -> Path | None:
    """The checkout that holds the working directory, else the working directory; None when that was deleted."""
    try:
        here = Path.cwd()
    except FileNotFoundError:
        return None
    named = (Path(os.path.abspath(folder)) for name in _VARIABLES if (folder := os.environ.get(name)))
    return next((folder for folder in named if here.is_relative_to(folder)), here)


def relative(path: str, base: Path | None) -> str:
    """Return an absolute path relative to `base`; one that is not below it stays absolute."""
    found = Path(path)
    if base is not None and found.is_relative_to(base):
        found = found.relative_to(base)
    return found.as_posix()
