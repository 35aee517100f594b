"""Which files are checked: the Python files below the given folders, and every file given by name."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from syncfinder.source.display import shown
from syncfinder.source.patterns import Excludes, Scope, prefix, usable

if TYPE_CHECKING:
    from syncfinder.config import Settings


@dataclass(slots=True)
class Discovery:
    """`files` are absolute, sorted, each once. `errors` each name a path; `notes` say what was left out."""

    files: list[Path] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def discover(
    paths: Sequence[Path], settings: Settings, settings_of: Callable[[str], Settings] | None = None
) -> Discovery:
    """Find the files to check.

    What a folder's own settings (`settings_of`; else `settings`) exclude is left out below the given folders only,
    unless `settings` say force-exclude. A missing path, or a folder without Python files, is an error.
    """
    walk = _Walk(settings, settings_of or (lambda _: settings))
    for path in paths:
        walk.add(str(path))
    return walk.result()


class _Walk:
    def __init__(self, settings: Settings, settings_of: Callable[[str], Settings]) -> None:
        self.respect_gitignore = settings.respect_gitignore
        self.force_exclude = settings.force_exclude
        self.settings_of = settings_of
        self.known: dict[int, Excludes] = {}  # by the identity of the settings
        self.files: set[str] = set()
        self.links: set[str] = set()
        self.notebooks = 0
        self.left_out = 0
        self.forced = 0
        self.errors: list[str] = []

    def excludes(self, folder: str) -> Excludes:
        """What the settings of a folder leave out."""
        settings = self.settings_of(folder)
        found = self.known.get(id(settings))
        if found is None:
            root = os.path.abspath(settings.root or os.curdir)
            found = self.known[id(settings)] = Excludes(settings.exclude + settings.extend_exclude, root)
        return found

    def add(self, given: str) -> None:
        """Take one path of the command line."""
        path = os.path.abspath(given)
        try:
            mode = os.stat(path).st_mode
        except OSError as error:
            missing = isinstance(error, (FileNotFoundError, NotADirectoryError))
            self.errors.append(f"{given}: {'no such file or folder' if missing else error.strerror}")
            return
        folder = stat.S_ISDIR(mode)
        if self.force_exclude and self.excludes(path if folder else os.path.dirname(path)).reach(path, folder):
            self.forced += 1
        elif folder:
            self._add_folder(path, given)
        elif not stat.S_ISREG(mode):
            self.errors.append(f"{given}: is neither a file nor a folder")
        elif path.endswith(".ipynb"):
            self.notebooks += 1
        else:
            self.files.add(path)

    def _add_folder(self, path: str, given: str) -> None:
        folder = prefix(path)
        given_excludes = self.excludes(path)
        self.known = {key: e.named(folder) if e is given_excludes else e for key, e in self.known.items()}
        scopes = [scope.named(folder) for scope in _enclosing(path)] if self.respect_gitignore else []
        self.left_out = 0
        found = self.descend(folder, scopes)
        self.known.clear()
        if not found:
            why = f" ({self.left_out} left out by exclude or .gitignore)" if self.left_out else ""
            self.errors.append(f"{given}: no Python files in this folder{why}")

    def descend(self, top: str, scopes: list[Scope]) -> int:
        """Walk down from a folder (its path ends in a slash) and return how many Python files are below it."""
        found = 0
        stack = [(top, scopes)]
        while stack:
            folder, scopes = stack.pop()
            try:
                entries = list(os.scandir(folder))
            except OSError as error:
                self.errors.append(f"{shown(folder)}: cannot be read: {error.strerror}")
                continue
            if self.respect_gitignore and any(e.name == ".gitignore" for e in entries):
                scopes = [*scopes, *_read_rules(folder + ".gitignore", folder)]
            excludes = self.excludes(folder.rstrip("/") or "/")
            for entry in entries:
                found += self._take(entry, folder, excludes, scopes, stack)
        return found

    def _take(
        self,
        entry: os.DirEntry[str],
        folder: str,
        excludes: Excludes,
        scopes: list[Scope],
        stack: list[tuple[str, list[Scope]]],
    ) -> int:
        name = entry.name
        if name.endswith(".py") and entry.is_file():
            if self._ignored(folder + name, name, excludes, scopes):
                self.left_out += 1
                return 0
            (self.links if entry.is_symlink() else self.files).add(folder + name)
            return 1
        if name.endswith(".ipynb"):
            self.notebooks += not self._ignored(folder + name, name, excludes, scopes)
        # links to folders are not followed: they can loop, and what they name is below its own folder
        elif entry.is_dir(follow_symlinks=False):
            if self._ignored(f"{folder}{name}/", name, excludes, scopes):
                self.left_out += 1
            else:
                stack.append((f"{folder}{name}/", scopes))
        return 0

    @staticmethod
    def _ignored(path: str, name: str, excludes: Excludes, scopes: list[Scope]) -> bool:
        """The innermost gitignore file that decides overrides those above it; none overrides the excludes."""
        if excludes.leave_out(path, name):
            return True
        for scope in reversed(scopes):
            decision = scope.decide(path)
            if decision is not None:
                return decision
        return False

    def result(self) -> Discovery:
        """The files sorted, a link only where what it names is not taken by itself."""
        targets = set(self.files)
        for link in sorted(self.links):
            target = os.path.realpath(link)
            if target not in targets:
                targets.add(target)
                self.files.add(link)
        notes = []
        if self.notebooks:
            count = "1 notebook" if self.notebooks == 1 else f"{self.notebooks} notebooks"
            notes.append(f"{count} (.ipynb) left out: syncfinder reads Python files only")
        if self.forced:
            count = "1 given path" if self.forced == 1 else f"{self.forced} given paths"
            notes.append(f"{count} left out by exclude (force-exclude)")
        return Discovery([Path(f) for f in sorted(self.files)], notes, self.errors)


def _read_rules(path: str, folder: str) -> list[Scope]:
    """The rules of one gitignore file that stand for `folder`; none when it is missing, unreadable or empty."""
    try:
        text = Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    lines = usable(text.splitlines())
    return [Scope(folder, lines)] if lines else []


def _enclosing(path: str) -> list[Scope]:
    """The gitignore files above `path` in the git repository that holds it, outermost first."""
    above: list[str] = []
    here = path
    while not os.path.exists(os.path.join(here, ".git")):
        parent = os.path.dirname(here)
        if parent == here:
            return []
        here = parent
        above.append(here)
    scopes = _read_rules(os.path.join(here, ".git", "info", "exclude"), prefix(here))
    for folder in reversed(above):
        scopes += _read_rules(os.path.join(folder, ".gitignore"), prefix(folder))
    return scopes
