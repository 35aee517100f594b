"""Which file an import names, answered from directory listings alone."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

# Described by the torch model, or of no interest: their files are never read.
_NEVER = frozenset(sys.stdlib_module_names) | {"torch", "numpy"}
_PROJECT_MARKS = ("pyproject.toml", "setup.py", ".git")
_LEVELS_ABOVE = 2


class Roots:
    """Finds modules. Listings and answers are remembered: make a new one when files may have changed.

    `folders` are further places, after those around the importer, where an absolute import may start.
    """

    def __init__(self, folders: Sequence[Path] = ()) -> None:
        self._folders = tuple(map(str, folders))
        self._listings: dict[str, tuple[frozenset[str], frozenset[str]]] = {}
        self._starts: dict[str, tuple[str, ...]] = {}
        self._found: dict[tuple[str, str, int], Path | None] = {}

    def module_name(self, path: Path) -> str:
        """The dotted name that a file has in its outermost package: the parents with an `__init__.py` count."""
        folder, name = os.path.split(path)
        parts = [] if name == "__init__.py" else [name.removesuffix(".py")]
        while self._is_package(folder):
            folder, package = os.path.split(folder)
            parts.append(package)
        return ".".join(reversed(parts)) or os.path.basename(folder)

    def find_module(self, importer: Path, dotted: str, level: int) -> Path | None:
        """The file of the module that `importer` names with `level` leading dots, or None.

        A package gives its `__init__.py`, a namespace package its folder. torch, numpy and the standard library
        are never found.
        """
        key = (os.path.dirname(importer), dotted, level)
        try:
            return self._found[key]
        except KeyError:
            found = self._find(*key)
            answer = None if found is None else Path(found)
            self._found[key] = answer
            return answer

    def _find(self, folder: str, dotted: str, level: int) -> str | None:
        parts = dotted.split(".") if dotted else []
        if level:
            for _ in range(level - 1):
                folder = os.path.dirname(folder)
            return self._below(folder, parts)
        if not parts or parts[0] in _NEVER:
            return None
        namespace = None
        starts = (*self._start_folders(folder), *_parents_of_namesake(folder, parts[0]), *self._folders)
        for start in starts:
            found = self._below(start, parts)
            if found is not None and found.endswith(".py"):
                return found
            namespace = namespace or found
        return namespace

    def _below(self, folder: str, parts: list[str]) -> str | None:
        """The file, or else the namespace folder, that `parts` name below `folder`."""
        for i, part in enumerate(parts):
            files, folders = self._listing(folder)
            last = i == len(parts) - 1
            below = os.path.join(folder, part)
            if part in folders and not (last and part + ".py" in files and not self._is_package(below)):
                folder = below
            elif last and part + ".py" in files:
                return below + ".py"
            else:
                return None
        files, folders = self._listing(folder)
        if "__init__.py" in files:
            return os.path.join(folder, "__init__.py")
        return folder if files or folders else None

    def _start_folders(self, folder: str) -> tuple[str, ...]:
        """Where an absolute import of a file in `folder` may start: from its packages' root up to the project's."""
        starts = self._starts.get(folder)
        if starts is None:
            root = folder
            while self._is_package(root) and os.path.dirname(root) != root:
                root = os.path.dirname(root)
            climbed = [root]
            while not self._is_project(climbed[-1]) and os.path.dirname(climbed[-1]) != climbed[-1]:
                climbed.append(os.path.dirname(climbed[-1]))
            if not self._is_project(climbed[-1]):
                climbed = climbed[:_LEVELS_ABOVE]
            both = (place for above in climbed for place in (above, os.path.join(above, "src")))
            starts = self._starts[folder] = tuple(both)
        return starts

    def _is_package(self, folder: str) -> bool:
        return "__init__.py" in self._listing(folder)[0]

    def _is_project(self, folder: str) -> bool:
        files, folders = self._listing(folder)
        return any(mark in files or mark in folders for mark in _PROJECT_MARKS)

    def _listing(self, folder: str) -> tuple[frozenset[str], frozenset[str]]:
        """The names of a folder's files and of its folders; both empty when it cannot be read."""
        listing = self._listings.get(folder)
        if listing is None:
            files: list[str] = []
            folders: list[str] = []
            try:
                with os.scandir(folder) as entries:
                    for entry in entries:
                        (folders if entry.is_dir() else files).append(entry.name)
            except OSError:
                pass
            listing = self._listings[folder] = (frozenset(files), frozenset(folders))
        return listing


def _parents_of_namesake(folder: str, first: str) -> list[str]:
    """The parents of those folders above a file that bear the imported name: namespace packages without a project."""
    found: list[str] = []
    while True:
        folder, name = os.path.split(folder)
        if not name:
            return found
        if name == first:
            found.append(folder)
