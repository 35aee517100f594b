"""Gitignore patterns: which paths a list of them matches, seen from the folder that they are relative to."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Sequence

_NAME = re.compile(r"[\w.-]+")


class Scope:
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

    def matches(self, path: str) -> bool:
        """Whether a pattern matches a file, or a folder above it."""
        return self._files.match_file(self._relative(path))

    def named(self, folder: str) -> Scope:
        """The scope without the patterns that leave `folder` out: naming it overrides them."""
        relative = self._relative(folder)
        patterns = zip(self._lines, self._folders.patterns, strict=True)
        return Scope(self.folder, [line for line, p in patterns if not (p.include and p.match_file(relative))])

    def _relative(self, path: str) -> str:
        """Outside the scope's folder, a path that only patterns for names can match."""
        if path.startswith(self.folder):
            return path[len(self.folder) :]
        return "../" + path[path.rstrip("/").rfind("/") + 1 :]


def prefix(folder: str) -> str:
    return folder if folder.endswith("/") else folder + "/"


def usable(lines: Sequence[str]) -> list[str]:
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


def scope_of(patterns: Sequence[str], root: str) -> Scope | None:
    """Return what the patterns of settings match; None if they match nothing.

    A path below `root`, absolute or with a leading `./`, stands for that one place.
    """
    folder = prefix(root)
    lines = []
    for pattern in patterns:
        if pattern.startswith(folder):
            pattern = "/" + pattern[len(folder) :]
        elif pattern.startswith("./"):
            pattern = pattern[1:]
        lines.append(pattern)
    lines = usable(lines)
    return Scope(folder, lines) if lines else None


class Excludes:
    """What settings leave out. Plain names are looked up; only the other patterns are matched."""

    __slots__ = ("_names", "_root", "_scope")

    def __init__(self, patterns: Sequence[str], root: str) -> None:
        self._root = root
        ordered = any(p.startswith("!") for p in patterns)  # a later pattern takes back what an earlier one matches
        self._names = frozenset() if ordered else frozenset(p for p in patterns if _NAME.fullmatch(p))
        self._scope = scope_of([p for p in patterns if p not in self._names], root)

    def leave_out(self, path: str, name: str) -> bool:
        """Whether a path with this last part is left out; folders' paths end in a slash."""
        return name in self._names or (self._scope is not None and bool(self._scope.decide(path)))

    def reach(self, path: str, is_folder: bool) -> bool:
        """Whether a path, or a folder above it, is left out."""
        below = path.startswith(prefix(self._root))
        parts = path[len(prefix(self._root)) :].split("/") if below else [os.path.basename(path)]
        here = prefix(self._root if below else os.path.dirname(path))
        for position, part in enumerate(parts):
            last = position == len(parts) - 1
            here += part if last and not is_folder else part + "/"
            if self.leave_out(here, part):
                return True
        return False

    def named(self, folder: str) -> Excludes:
        """The excludes without those that leave `folder` out: naming it overrides them."""
        out = Excludes((), self._root)
        root = prefix(self._root)
        inside = folder[len(root) :] if folder.startswith(root) else os.path.basename(folder.rstrip("/"))
        out._names = self._names.difference(inside.rstrip("/").split("/"))
        out._scope = self._scope.named(folder) if self._scope is not None else None
        return out


class FileIgnores:
    """`per-file-ignores`: the codes, or how they begin, that are ignored in a file."""

    def __init__(self, rows: Sequence[tuple[str, tuple[str, ...]]], root: str) -> None:
        self._rows = [
            (scope, pattern.startswith("!"), codes)
            for pattern, codes in rows
            if (scope := scope_of([pattern.removeprefix("!")], root)) is not None
        ]

    def of(self, path: str) -> tuple[str, ...]:
        """Return the codes that are ignored in the file at an absolute path."""
        return tuple(code for scope, others, codes in self._rows if scope.matches(path) is not others for code in codes)
