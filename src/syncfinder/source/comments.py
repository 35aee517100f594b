"""What comments tell: suppressions (`# syncfinder: ignore[SF101] reason`) and places (`# syncfinder: x is cpu`).

A comment at a line's end belongs to its line; one alone on its line belongs to the next line of code as well.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass, field

from syncfinder.source.file import SourceFile

# Tokenizing is slow, so it is done only in files where these are found; a plain search comes before the expressions.
_MARK, _SYNC_OK_MARK = "syncfinder:", "gpu-sync-ok"
_MAY_SUPPRESS = re.compile(r"syncfinder:\s*ignore")
_MAY_HINT = re.compile(r"syncfinder:[^\n]*\sis\s")

_IGNORE = re.compile(r"#\s*syncfinder:\s*ignore(?P<file>-file)?\b\s*(?P<rest>.*)")
_CODES = re.compile(r"\[(?P<codes>[^\]]*)\]\s*(?P<reason>.*)")
_CODE = re.compile(r"SF\d{0,3}")
_SYNC_OK = re.compile(r"#\s*gpu-sync-ok\b(?!-)\s*:?\s*(?P<reason>.*)")
_HINT = re.compile(r"#\s*syncfinder:\s*(?P<hints>[\w.]+\s+is\s.*)")
_PLACE = re.compile(r"(?P<name>[^\W\d]\w*(?:\.[^\W\d]\w*)*)\s+is\s+(?P<place>cpu|cuda|gpu|pinned)\b")


@dataclass(slots=True)
class Ignore:
    """One suppression. `codes` are codes or their prefixes, none for every code. Columns from 1, end exclusive."""

    line: int
    column: int
    end_column: int
    codes: tuple[str, ...]
    reason: str
    whole_file: bool
    used: set[str] = field(default_factory=set)

    def take(self, code: str) -> bool:
        """Whether this comment covers `code`; remembers that it was of use."""
        if not self.codes:
            self.used.add("")
            return True
        hits = [prefix for prefix in self.codes if code.startswith(prefix)]
        self.used.update(hits)
        return bool(hits)

    def unused_codes(self) -> tuple[str, ...]:
        """Those of `codes` that covered nothing."""
        return tuple(code for code in self.codes if code not in self.used)


class Suppressions:
    """The suppressions of one file. `problems` are (line, message) of those that cannot be understood."""

    def __init__(self) -> None:
        self.ignores: list[Ignore] = []
        self.problems: list[tuple[int, str]] = []
        self._by_line: dict[int, list[Ignore]] = {}

    def covers(self, code: str, lines: range) -> bool:
        """Whether a comment on one of these lines, or one for the whole file, suppresses `code`; marks it as used."""
        if not self.ignores:
            return False
        near = [ignore for line in lines for ignore in self._by_line.get(line, ())]
        if any([ignore.take(code) for ignore in near]):
            return True
        return any([ignore.take(code) for ignore in self.ignores if ignore.whole_file])

    def unused(self) -> list[Ignore]:
        """The suppressions, in order of lines, that covered nothing, or one of whose codes covered nothing."""
        return [ignore for ignore in self.ignores if not ignore.used or ignore.unused_codes()]

    def _add(self, ignore: Ignore, lines: tuple[int, ...]) -> None:
        self.ignores.append(ignore)
        if not ignore.whole_file:
            for line in lines:
                self._by_line.setdefault(line, []).append(ignore)


def suppressions(file: SourceFile) -> Suppressions:
    """Read the suppression comments of a file."""
    found = Suppressions()
    text = file.text
    if _SYNC_OK_MARK in text or (_MARK in text and _MAY_SUPPRESS.search(text)):
        for token, lines in _comments(text):
            _read_ignore(token, lines, found)
    return found


def hints(file: SourceFile) -> dict[int, dict[str, str]]:
    """Read `# syncfinder: x is cpu, self.y is cuda` comments: line -> name -> "cpu", "cuda" or "pinned"."""
    found: dict[int, dict[str, str]] = {}
    if _MARK in file.text and _MAY_HINT.search(file.text):
        for token, lines in _comments(file.text):
            match = _HINT.search(token.string)
            if match is None:
                continue
            for hint in _PLACE.finditer(match["hints"]):
                place = "cuda" if hint["place"] == "gpu" else hint["place"]
                for line in lines:
                    found.setdefault(line, {})[hint["name"]] = place
    return found


def _read_ignore(token: tokenize.TokenInfo, lines: tuple[int, ...], found: Suppressions) -> None:
    match = _IGNORE.search(token.string)
    if match is None:
        match = _SYNC_OK.search(token.string)
        if match is not None:
            found._add(_ignore(token, match.start(), (), match["reason"], False), lines)
        return
    line, rest, whole_file = token.start[0], match["rest"], match["file"] is not None
    if not rest.startswith("["):
        found._add(_ignore(token, match.start(), (), rest, whole_file), lines)
        return
    bracket = _CODES.match(rest)
    codes = tuple(re.split(r"[\s,]+", bracket["codes"].strip(" \t,").upper())) if bracket else ()
    wrong = next((code for code in codes if not _CODE.fullmatch(code)), None)
    if bracket is None:
        found.problems.append((line, "the bracket of `syncfinder: ignore[` is not closed: nothing is suppressed"))
    elif wrong is not None:
        what = f"`{wrong}` is not a code such as SF101" if wrong else "`[]` names no code"
        found.problems.append((line, f"{what}: nothing is suppressed"))
    else:
        found._add(_ignore(token, match.start(), codes, bracket["reason"], whole_file), lines)


def _ignore(token: tokenize.TokenInfo, start: int, codes: tuple[str, ...], reason: str, whole_file: bool) -> Ignore:
    line, column = token.start
    # a further comment on the same line is not the reason
    reason = reason.split("#", 1)[0].strip(" \t:-")
    return Ignore(line, column + start + 1, column + len(token.string) + 1, codes, reason, whole_file)


def _comments(text: str) -> Iterator[tuple[tokenize.TokenInfo, tuple[int, ...]]]:
    """The comments of a file, each with the lines it belongs to."""
    waiting: list[tokenize.TokenInfo] = []
    blank = (tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING)
    try:
        for token in tokenize.generate_tokens(io.StringIO(text, newline="\n").readline):
            if token.type == tokenize.COMMENT:
                if token.line[: token.start[1]].strip():
                    yield token, (token.start[0],)
                else:
                    waiting.append(token)
            elif waiting and token.type not in blank:
                for comment in waiting:
                    yield comment, (comment.start[0], token.start[0])
                waiting.clear()
    except (tokenize.TokenError, SyntaxError):
        pass  # the parser reports it; what was read until here stands
    for comment in waiting:
        yield comment, (comment.start[0],)
