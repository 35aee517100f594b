"""The marked statements of a file as one small module that libcst can parse, with every column where it was.

A slice is a run of source lines. It stands below an `if 1:`, so that its indentation, and so its columns and multi-line
strings, stay untouched; clauses that need a partner (`elif`, `except`, a header without its body) get one around them.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterable
from dataclasses import dataclass

_START = re.compile(r"([ \t\f]*)(@|[^\W\d]\w*|)")
_COMPOUND = frozenset(
    ("if", "elif", "else", "while", "for", "with", "async", "def", "class", "try", "except", "finally", "match", "case")
)
_OPEN, _CLOSE = frozenset("([{"), frozenset(")]}")
# How far a header may reach beyond the lines that the site gives (a closing bracket and its colon below them).
_REACH = 40

# First word -> (lines before, lines after) at the slice's own indentation.
_PARTNERS: dict[str, tuple[str, str]] = {
    "elif": ("if 1: pass", ""),
    "else": ("if 1: pass", ""),
    "except": ("try: pass", ""),
    "finally": ("try: pass", ""),
    "try": ("", "finally: pass"),
    "@": ("", "def _(): pass"),
}


@dataclass(frozen=True, slots=True)
class Slice:
    """Lines `first` to `last` of the file; `before` and `after` are the lines that make them parse."""

    first: int
    last: int
    before: tuple[str, ...]
    after: tuple[str, ...]


def _header(lines: list[str], first: int, last: int) -> tuple[int, bool]:
    """Return the last line of a compound statement's header and whether its body is missing from that line."""
    stop = min(len(lines), last + _REACH)
    reader = io.StringIO("\n".join(lines[first - 1 : stop]) + "\n").readline
    depth, colon = 0, 0
    try:
        for token in tokenize.generate_tokens(reader):
            if colon:
                bare = token.type in (tokenize.COMMENT, tokenize.NEWLINE, tokenize.NL)
                end = first + colon - 1
                return max(last, end), bare and end >= last
            if token.type == tokenize.OP:
                depth += (token.string in _OPEN) - (token.string in _CLOSE)
                if token.string == ":" and depth == 0:
                    colon = token.start[0]
    except (tokenize.TokenError, SyntaxError):
        pass  # the caller's parse decides
    return last, False


def _extent(lines: list[str], first: int, last: int) -> tuple[int, int]:
    start = _START.match(lines[first - 1])
    if start is None or start[2] not in _COMPOUND or lines[last - 1].endswith(":"):
        return first, last
    return first, _header(lines, first, last)[0]


def _slice(lines: list[str], first: int, last: int) -> Slice:
    start = _START.match(lines[first - 1])
    indent, word = (start[1], start[2]) if start is not None else ("", "")
    bare = False
    if word in _COMPOUND:
        bare = lines[last - 1].endswith(":") or _header(lines, first, last) == (last, True)
    wrapper = "match 1:" if word == "case" and bare else "if 1:"
    before, after = _PARTNERS.get(word, ("", ""))
    head = [wrapper] if indent or wrapper != "if 1:" else []
    tail = []
    if before:
        head.append(indent + before)
    if bare:
        tail.append(f"{indent} {'case _: pass' if word == 'match' else 'pass'}")
    if after:
        tail.append(indent + after)
    return Slice(first, last, tuple(head), tuple(tail))


def cut(lines: list[str], statements: Iterable[tuple[int, int]]) -> list[Slice]:
    """Return the slices that hold the statements (first and last line, from 1), overlapping ones merged, in order."""
    end = len(lines)
    runs: list[tuple[int, int]] = []
    known = {(first, min(last, end)) for first, last in statements if 1 <= first <= min(last, end)}
    for first, last in sorted(_extent(lines, *statement) for statement in known):
        if runs and first <= runs[-1][1]:
            runs[-1] = (runs[-1][0], max(last, runs[-1][1]))
        else:
            runs.append((first, last))
    return [_slice(lines, first, last) for first, last in runs]


def compose(lines: list[str], slices: list[Slice]) -> tuple[str, dict[int, int]]:
    """Return the synthetic module's text and, for each line of the file in it, its line there."""
    text: list[str] = []
    place: dict[int, int] = {}
    for part in slices:
        text += part.before
        for line in range(part.first, part.last + 1):
            text.append(lines[line - 1])
            place[line] = len(text)
        text += part.after
    return "\n".join(text) + "\n", place
