"""A fixture's functions: loaded, and paired with their fixed twins."""

from __future__ import annotations

import importlib.util
import inspect
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FIXED = "_fixed"
# of torch's random numbers before a function runs
SEED = 20


@dataclass(frozen=True, slots=True)
class Pair:
    """A function and its fixed twin."""

    name: str
    original: Callable[[], Any]
    fixed: Callable[[], Any]


def load(path: Path) -> types.ModuleType:
    """Import a fixture. Raises whatever its code raises."""
    spec = importlib.util.spec_from_file_location(f"fixture_{path.stem}", path.resolve())
    assert spec is not None and spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def functions_of(module: types.ModuleType) -> dict[str, Callable[[], Any]]:
    """Return the module's own functions that can be called without arguments; others are their helpers."""
    found: dict[str, Callable[[], Any]] = {}
    for name, value in vars(module).items():
        if not inspect.isfunction(value) or value.__module__ != module.__name__ or name.startswith("_"):
            continue
        parameters = inspect.signature(value).parameters.values()
        if all(p.default is not p.empty or p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters):
            found[name] = value
    return found


def pairs_of(functions: Mapping[str, Callable[[], Any]]) -> Iterator[Pair]:
    """Yield the functions that have a fixed twin, in the order of the file."""
    for name, function in functions.items():
        fixed = functions.get(name + FIXED)
        if fixed is not None:
            yield Pair(name, function, fixed)
