"""Gitignore patterns, asked one directory entry at a time as git does on its way down the tree.

The last pattern that matches an entry decides. What is below an ignored folder is never asked about.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

Match = Callable[[str], object]


@dataclass(frozen=True, slots=True)
class Pattern:
    """`regex` matches the entry's name, or with `by_path` its path below the gitignore file; folders end in a slash."""

    regex: str
    by_path: bool
    ignores: bool


def compile_line(line: str) -> Pattern | None:
    """Turn one line of a gitignore file into a pattern; None for comments, blank lines and lines that match nothing."""
    text = _without_trailing_spaces(line.rstrip("\r\n"))
    if not text or text.startswith("#"):
        return None
    ignores = not text.startswith("!")
    text = text if ignores else text[1:]
    folder = text.endswith("/")
    text = text[:-1] if folder else text
    by_path = "/" in text
    text = text.removeprefix("/")
    if not text:
        return None
    regex = _translate(text)
    if regex is None:
        return None
    return Pattern(regex + ("/" if folder else "/?"), by_path, ignores)


def _without_trailing_spaces(line: str) -> str:
    stripped = line.rstrip(" ")
    backslashes = len(stripped) - len(stripped.rstrip("\\"))
    return stripped + " " if backslashes % 2 and stripped != line else stripped


def _translate(glob: str) -> str | None:
    """A regular expression for the glob; None when a bracket or a backslash is not closed, which matches nothing."""
    if glob == "**":
        return ".+"
    parts: list[str] = []
    i = 0
    if glob.startswith("**/"):
        parts.append("(?:.*/)?")
        i = 3
    while i < len(glob):
        if glob.startswith("/**/", i):
            parts.append("/(?:.*/)?(?=[^/])")
            i += 4
        elif glob[i:] == "/**":
            parts.append("/.+")
            break
        elif glob[i] == "/":
            parts.append("/(?=[^/])")  # the slash at a folder's own end is not this one
            i += 1
        elif glob[i] == "*":
            i += len(glob[i:]) - len(glob[i:].lstrip("*"))
            parts.append("[^/]*")
        elif glob[i] == "[":
            found = _bracket(glob, i)
            if found is None:
                return None
            parts.append(found[0])
            i = found[1]
        elif glob[i] == "\\":
            if i + 1 == len(glob):
                return None
            parts.append(re.escape(glob[i + 1]))
            i += 2
        else:
            parts.append("[^/]" if glob[i] == "?" else re.escape(glob[i]))
            i += 1
    return "".join(parts)


_CLASSES = {
    "[:alnum:]": "a-zA-Z0-9",
    "[:alpha:]": "a-zA-Z",
    "[:digit:]": "0-9",
    "[:lower:]": "a-z",
    "[:upper:]": "A-Z",
    "[:space:]": r"\s",
}


def _bracket(glob: str, start: int) -> tuple[str, int] | None:
    """The character class that opens at `start`, and the index after it; None when it does not close."""
    i = start + 1
    negated = glob[i : i + 1] in ("!", "^") and glob[i : i + 1] != ""
    i += negated
    body: list[str] = []
    while i < len(glob) and (glob[i] != "]" or not body):
        name = next((name for name in _CLASSES if glob.startswith(name, i)), None)
        if name is not None:
            body.append(_CLASSES[name])
            i += len(name)
        elif glob[i] == "\\" and i + 1 < len(glob):
            body.append(re.escape(glob[i + 1]))
            i += 2
        else:
            body.append("-" if glob[i] == "-" else re.escape(glob[i]))
            i += 1
    if i >= len(glob):
        return None
    regex = f"(?!/)[{'^' if negated else ''}{''.join(body)}]"
    try:
        re.compile(regex)
    except re.error:  # a range that runs backwards
        return None
    return regex, i + 1


class IgnoreRules:
    """The patterns of one gitignore file."""

    __slots__ = ("_groups", "patterns")

    def __init__(self, patterns: Iterable[Pattern]) -> None:
        self.patterns = tuple(patterns)
        self._groups = _grouped(self.patterns)

    @classmethod
    def of_lines(cls, lines: Iterable[str]) -> IgnoreRules:
        """The rules of a gitignore file's lines."""
        return cls(pattern for line in lines if (pattern := compile_line(line)) is not None)

    def decide(self, path: str, name: str) -> bool | None:
        """True to ignore, False to keep, None when no pattern matches. For the arguments see Pattern."""
        for ignores, by_name, by_path in self._groups:
            if (by_name is not None and by_name(name)) or (by_path is not None and by_path(path)):
                return ignores
        return None

    def without_matches(self, path: str, name: str) -> IgnoreRules:
        """The rules without those patterns that ignore this entry itself."""
        kept = [
            p for p in self.patterns if not (p.ignores and re.fullmatch(p.regex, path if p.by_path else name, re.S))
        ]
        return self if len(kept) == len(self.patterns) else IgnoreRules(kept)


def _grouped(patterns: tuple[Pattern, ...]) -> list[tuple[bool, Match | None, Match | None]]:
    """Merge neighbours of one kind into one expression each, last group first: far fewer matches per entry."""
    groups: list[tuple[bool, list[str], list[str]]] = []
    for pattern in patterns:
        if not groups or groups[-1][0] != pattern.ignores:
            groups.append((pattern.ignores, [], []))
        _, names, paths = groups[-1]
        (paths if pattern.by_path else names).append(pattern.regex)
    return [(ignores, _any_of(names), _any_of(paths)) for ignores, names, paths in reversed(groups)]


def _any_of(regexes: list[str]) -> Match | None:
    if not regexes:
        return None
    return re.compile("|".join(f"(?:{r})" for r in regexes), re.DOTALL).fullmatch
