"""Which files are checked: the Python files below the given folders, and every file given by name."""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from syncfinder.source.display import shown

# Folders that hold no code of the project. They are left out below a given folder, never when given themselves.
# fmt: off
DEFAULT_EXCLUDES = frozenset({
    ".bzr", ".direnv", ".eggs", ".git", ".git-rewrite", ".hg", ".ipynb_checkpoints", ".mypy_cache", ".nox",
    ".pants.d", ".pyenv", ".pytest_cache", ".pytype", ".ruff_cache", ".svn", ".syncfinder_cache", ".tox", ".venv",
    ".vscode", "__pycache__", "__pypackages__", "_build", "buck-out", "build", "dist", "node_modules",
    "site-packages", "venv",
})
# fmt: on


@dataclass(slots=True)
class Discovery:
    """`files` are absolute, sorted, each once. `errors` each name a path; `notes` say what was left out."""

    files: list[Path] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


class _Scope:
    """Gitignore patterns and the folder, with a slash at its end, that they are relative to.

    Every entry is asked about on the way down. For files GitIgnoreSpec ranks a match of a folder above them lower than
    one of the file; folders need no such ranking (by it `*` would win over a later `!*/`): the last pattern decides.
    """

    __slots__ = ("_files", "_folders", "_lines", "folder")

    def __init__(self, folder: str, lines: Sequence[str]) -> None:
        from pathspec import GitIgnoreSpec, PathSpec

        self.folder = folder
        self._lines = lines
        self._files = GitIgnoreSpec.from_lines(lines)
        self._folders = PathSpec(self._files.patterns)

    def decide(self, path: str) -> bool | None:
        """True to ignore, False to keep, None when no pattern matches. Folders' paths end in a slash."""
        relative = self._relative(path)
        if relative.endswith("/"):
            return self._folders.check_file(relative).include
        return self._files.check_file(relative).include

    def named(self, folder: str) -> _Scope:
        """The scope without the patterns that leave `folder` out: naming it overrides them."""
        relative = self._relative(folder)
        patterns = zip(self._lines, self._folders.patterns, strict=True)
        return _Scope(self.folder, [line for line, p in patterns if not (p.include and p.match_file(relative))])

    def _relative(self, path: str) -> str:
        """Outside the scope's folder, a path that only patterns for names can match."""
        if path.startswith(self.folder):
            return path[len(self.folder) :]
        return "../" + path[path.rstrip("/").rfind("/") + 1 :]


def discover(
    paths: Sequence[Path], exclude: Sequence[str], respect_gitignore: bool = True, root: Path | None = None
) -> Discovery:
    """Find the files to check.

    `exclude` holds gitignore patterns relative to `root` (the working directory); they and the defaults apply below
    the given folders only. A missing path, or a folder without Python files, is an error.
    """
    walk = _Walk(_exclude_scope(exclude, os.path.abspath(root or os.curdir)), respect_gitignore)
    for path in paths:
        walk.add(str(path))
    return walk.result()


class _Walk:
    def __init__(self, excludes: _Scope | None, respect_gitignore: bool) -> None:
        self.given_excludes = excludes
        self.excludes = excludes
        self.respect_gitignore = respect_gitignore
        self.files: set[str] = set()
        self.links: set[str] = set()
        self.notebooks = 0
        self.left_out = 0
        self.errors: list[str] = []

    def add(self, given: str) -> None:
        """Take one path of the command line."""
        path = os.path.abspath(given)
        try:
            mode = os.stat(path).st_mode
        except OSError as error:
            missing = isinstance(error, (FileNotFoundError, NotADirectoryError))
            self.errors.append(f"{given}: {'no such file or folder' if missing else error.strerror}")
            return
        if stat.S_ISDIR(mode):
            self._add_folder(path, given)
        elif not stat.S_ISREG(mode):
            self.errors.append(f"{given}: is neither a file nor a folder")
        elif path.endswith(".ipynb"):
            self.notebooks += 1
        else:
            self.files.add(path)

    def _add_folder(self, path: str, given: str) -> None:
        folder = _prefix(path)
        self.excludes = self.given_excludes.named(folder) if self.given_excludes else None
        scopes = [scope.named(folder) for scope in _enclosing(path)] if self.respect_gitignore else []
        self.left_out = 0
        found = self.descend(folder, scopes)
        if not found:
            why = f" ({self.left_out} left out by exclude or .gitignore)" if self.left_out else ""
            self.errors.append(f"{given}: no Python files in this folder{why}")

    def descend(self, top: str, scopes: list[_Scope]) -> int:
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
            for entry in entries:
                found += self._take(entry, folder, scopes, stack)
        return found

    def _take(
        self, entry: os.DirEntry[str], folder: str, scopes: list[_Scope], stack: list[tuple[str, list[_Scope]]]
    ) -> int:
        name = entry.name
        if name.endswith(".py") and entry.is_file():
            if self._ignored(folder + name, scopes):
                self.left_out += 1
                return 0
            (self.links if entry.is_symlink() else self.files).add(folder + name)
            return 1
        if name.endswith(".ipynb"):
            self.notebooks += not self._ignored(folder + name, scopes)
        # links to folders are not followed: they can loop, and what they name is below its own folder
        elif entry.is_dir(follow_symlinks=False) and name not in DEFAULT_EXCLUDES:
            if self._ignored(f"{folder}{name}/", scopes):
                self.left_out += 1
            else:
                stack.append((f"{folder}{name}/", scopes))
        return 0

    def _ignored(self, path: str, scopes: list[_Scope]) -> bool:
        """The innermost gitignore file that decides overrides those above it; none overrides the excludes."""
        if self.excludes is not None and self.excludes.decide(path):
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
        return Discovery([Path(f) for f in sorted(self.files)], notes, self.errors)


def _prefix(folder: str) -> str:
    return folder if folder.endswith("/") else folder + "/"


def _read_rules(path: str, folder: str) -> list[_Scope]:
    """The rules of one gitignore file that stand for `folder`; none when it is missing, unreadable or empty."""
    try:
        text = Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    lines = _patterns(text.splitlines())
    return [_Scope(folder, lines)] if lines else []


def _patterns(lines: Sequence[str]) -> list[str]:
    """The lines of a gitignore file that hold a pattern which can match something."""
    lines = [line for line in lines if line.strip() and not line.startswith("#")]
    if lines:
        from pathspec import GitIgnoreSpec
    found = []
    for line in lines:
        # a line that git reads as matching nothing is an error to the library
        with contextlib.suppress(ValueError, re.error):
            if any(p.include is not None for p in GitIgnoreSpec.from_lines([line]).patterns):
                found.append(line)
    return found


def _enclosing(path: str) -> list[_Scope]:
    """The gitignore files above `path` in the git repository that holds it, outermost first."""
    above: list[str] = []
    here = path
    while not os.path.exists(os.path.join(here, ".git")):
        parent = os.path.dirname(here)
        if parent == here:
            return []
        here = parent
        above.append(here)
    scopes = _read_rules(os.path.join(here, ".git", "info", "exclude"), _prefix(here))
    for folder in reversed(above):
        scopes += _read_rules(os.path.join(folder, ".gitignore"), _prefix(folder))
    return scopes


def _exclude_scope(exclude: Sequence[str], root: str) -> _Scope | None:
    """The patterns of `exclude`; a path below `root`, absolute or with a leading `./`, stands for that one place."""
    prefix = _prefix(root)
    lines = []
    for pattern in exclude:
        if pattern.startswith(prefix):
            pattern = "/" + pattern[len(prefix) :]
        elif pattern.startswith("./"):
            pattern = pattern[1:]
        lines.append(pattern)
    lines = _patterns(lines)
    return _Scope(prefix, lines) if lines else None
