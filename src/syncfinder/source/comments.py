"""What comments tell: suppressions (`# syncfinder: ignore[SF101] reason`) and places (`# syncfinder: x is cpu`).

A comment at a line's end belongs to its line; one alone on its line belongs to the next line of code as well.
`disable` begins a block, which ends at `enable` or with the indented code around it.
"""

from __future__ import annotations

import difflib
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass, field

from syncfinder.source.file import SourceFile

# Tokenizing is slow, so it is done only in files where these are found; a plain search comes before the expressions.
_MARK, _SYNC_OK_MARK = "syncfinder:", "gpu-sync-ok"
_MAY_HINT = re.compile(r"syncfinder:[^\n]*\sis\s")

_DIRECTIVES = ("ignore", "ignore-file", "disable", "enable")
_DIRECTIVE = re.compile(r"#\s*syncfinder:\s*(?P<what>ignore-file|ignore|disable|enable)(?![\w-])\s*(?P<rest>.*)")
_OTHER = re.compile(r"#\s*syncfinder:\s*(?P<what>[\w-]+)(?P<rest>.*)")
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
    block: range | None = None  # the lines of a block
    text: str = ""  # the directive as it is written, without the reason
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


@dataclass(frozen=True, slots=True)
class Problem:
    """A suppression that cannot be understood, and covers nothing. Columns from 1, end exclusive."""

    line: int
    column: int
    end_column: int
    message: str


class Suppressions:
    """The suppressions of one file, and the `problems` of those that cannot be understood."""

    def __init__(self) -> None:
        self.ignores: list[Ignore] = []
        self.problems: list[Problem] = []
        self._by_line: dict[int, list[Ignore]] = {}

    def covers(self, code: str, lines: range) -> bool:
        """Whether a comment on one of these lines, or one for a block or the file, suppresses `code`.

        Marks it as used: the comment on the lines, else that of the innermost block, else that of the file.
        """
        if not self.ignores:
            return False
        near = [ignore for line in lines for ignore in self._by_line.get(line, ())]
        if any([ignore.take(code) for ignore in near]):
            return True
        blocks = [i for i in self.ignores if i.block and i.block.start < lines.stop and lines.start < i.block.stop]
        if any(ignore.take(code) for ignore in reversed(blocks)):
            return True
        return any([ignore.take(code) for ignore in self.ignores if ignore.whole_file])

    def names(self, code: str, line: int) -> bool:
        """Whether a suppression that covers a line names `code`, or how it begins."""
        return any(
            i.codes and i.take(code)
            for i in self.ignores
            if i.whole_file or i in self._by_line.get(line, ()) or (i.block is not None and line in i.block)
        )

    def unused(self) -> list[Ignore]:
        """The suppressions, in order of lines, that covered nothing, or one of whose codes covered nothing."""
        return [ignore for ignore in self.ignores if not ignore.used or ignore.unused_codes()]


@dataclass(frozen=True, slots=True)
class _Comment:
    """A comment with the lines it belongs to; `alone` on its line or not. Line and column (from 0) are its own."""

    text: str
    line: int
    column: int
    lines: tuple[int, ...]
    alone: bool

    def end_column(self) -> int:
        return self.column + len(self.text) + 1


def speaks(text: str) -> bool:
    """Whether a file's text may hold suppressions."""
    return _MARK in text or _SYNC_OK_MARK in text


def suppressions(file: SourceFile) -> Suppressions:
    """Read the suppression comments of a file."""
    found = Suppressions()
    if speaks(file.text):
        starts: list[tuple[int, int]] = []
        comments = list(_comments(file.text, starts))
        reader = _Reader(found, starts)
        for comment in sorted(comments, key=lambda c: (c.line, c.column)):
            reader.take(comment)
        reader.close()
    return found


def hints(file: SourceFile) -> dict[int, dict[str, str]]:
    """Read `# syncfinder: x is cpu, self.y is cuda` comments: line -> name -> "cpu", "cuda" or "pinned"."""
    found: dict[int, dict[str, str]] = {}
    if _MARK in file.text and _MAY_HINT.search(file.text):
        for comment in _comments(file.text, []):
            match = _HINT.search(comment.text)
            if match is None:
                continue
            for hint in _PLACE.finditer(match["hints"]):
                place = "cuda" if hint["place"] == "gpu" else hint["place"]
                for line in comment.lines:
                    found.setdefault(line, {})[hint["name"]] = place
    return found


class _Reader:
    """Turns comments, in order of lines, into suppressions. `starts` are where statements begin: line, column."""

    def __init__(self, found: Suppressions, starts: list[tuple[int, int]]) -> None:
        self.found = found
        self.starts = starts
        self.open: list[tuple[Ignore, int]] = []  # blocks that nothing ended yet, with their columns

    def take(self, comment: _Comment) -> None:
        match = _DIRECTIVE.search(comment.text)
        if match is None:
            ok = _SYNC_OK.search(comment.text)
            if ok is not None:
                self.add(_ignore(comment, ok.start(), "# gpu-sync-ok", (), ok["reason"]), comment)
            else:
                self.misspelled(comment)
            return
        what, rest = match["what"], match["rest"]
        codes, reason, wrong = _codes(what, rest)
        if wrong is None and what in ("disable", "enable") and not comment.alone:
            wrong = f"`syncfinder: {what}` must stand on a line of its own"
        if wrong is not None:
            self.problem(comment, match.start(), wrong)
            return
        text = f"# syncfinder: {what}" + (f"[{', '.join(codes)}]" if codes else "")
        ignore = _ignore(comment, match.start(), text, codes, reason)
        if what == "enable":
            self.enable(comment, match.start(), codes)
        elif what == "disable":
            self.end(comment.line)
            self.open.append((ignore, comment.column))
            self.found.ignores.append(ignore)
        else:
            ignore.whole_file = what == "ignore-file"
            self.add(ignore, comment)

    def add(self, ignore: Ignore, comment: _Comment) -> None:
        self.found.ignores.append(ignore)
        if not ignore.whole_file:
            for line in comment.lines:
                self.found._by_line.setdefault(line, []).append(ignore)

    def misspelled(self, comment: _Comment) -> None:
        """A word that is nearly a directive; other words may be prose."""
        match = _OTHER.match(comment.text)
        if match is not None and _HINT.search(comment.text) is None:
            near = difflib.get_close_matches(match["what"], _DIRECTIVES, n=1, cutoff=0.75)
            if near and near[0] != match["what"]:
                self.problem(comment, match.start(), f"`{match['what']}` is unknown; did you mean `{near[0]}`?")

    def enable(self, comment: _Comment, start: int, codes: tuple[str, ...]) -> None:
        self.end(comment.line)
        for position in range(len(self.open) - 1, -1, -1):
            ignore = self.open[position][0]
            if not codes or sorted(ignore.codes) == sorted(codes):
                ignore.block = range(ignore.line, comment.line + 1)
                del self.open[position]
                return
        self.problem(comment, start, "there is no `syncfinder: disable` that this ends")

    def end(self, line: int | None) -> None:
        """End the blocks that code outside of them has ended before a line."""
        for ignore, column in list(self.open):
            after = next((n for n, c in self.starts if n > ignore.line and c < column), None)
            if after is not None and (line is None or after <= line):
                ignore.block = range(ignore.line, after)
                self.open.remove((ignore, column))

    def close(self) -> None:
        self.end(None)
        for ignore, _ in self.open:
            ignore.block = range(ignore.line, 1_000_000_000)

    def problem(self, comment: _Comment, start: int, message: str) -> None:
        column = comment.column + start + 1
        self.found.problems.append(Problem(comment.line, column, comment.end_column(), message))


def _codes(what: str, rest: str) -> tuple[tuple[str, ...], str, str | None]:
    """The codes and the reason behind a directive, and what is wrong with them."""
    if not rest.startswith("["):
        return (), rest, None
    bracket = _CODES.match(rest)
    if bracket is None:
        return (), "", f"the bracket of `syncfinder: {what}[` is not closed: nothing is suppressed"
    codes = tuple(re.split(r"[\s,]+", bracket["codes"].strip(" \t,").upper()))
    wrong = next((code for code in codes if not _CODE.fullmatch(code)), None)
    if wrong is not None:
        said = f"`{wrong}` is not a code such as SF101" if wrong else "`[]` names no code"
        return (), "", f"{said}: nothing is suppressed"
    return codes, bracket["reason"], None


def _ignore(comment: _Comment, start: int, text: str, codes: tuple[str, ...], reason: str) -> Ignore:
    # a further comment on the same line is not the reason
    reason = reason.split("#", 1)[0].strip(" \t:-")
    return Ignore(comment.line, comment.column + start + 1, comment.end_column(), codes, reason, False, None, text)


def _comments(text: str, starts: list[tuple[int, int]]) -> Iterator[_Comment]:
    """The comments of a file; adds to `starts` the line and the column from 0 where each statement begins."""
    waiting: list[tokenize.TokenInfo] = []
    blank = (tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING)
    fresh = True
    try:
        for token in tokenize.generate_tokens(io.StringIO(text, newline="\n").readline):
            if token.type == tokenize.COMMENT:
                if token.line[: token.start[1]].strip():
                    yield _Comment(token.string, *token.start, (token.start[0],), False)
                else:
                    waiting.append(token)
            elif token.type not in blank:
                for comment in waiting:
                    yield _Comment(comment.string, *comment.start, (comment.start[0], token.start[0]), True)
                waiting.clear()
                if fresh and token.type != tokenize.ENDMARKER:
                    starts.append(token.start)
                fresh = token.type == tokenize.NEWLINE
    except (tokenize.TokenError, SyntaxError):
        pass  # the parser reports it; what was read until here stands
    for comment in waiting:
        yield _Comment(comment.string, *comment.start, (comment.start[0],), True)
