"""`--add-ignore`: write suppression comments for findings, so that each file still means what it did."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from syncfinder.files import write_whole
from syncfinder.finding import Finding
from syncfinder.source.comments import suppressions
from syncfinder.source.decode import decode, encoding_of
from syncfinder.source.display import shown
from syncfinder.source.file import SourceFile

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_BRACKET = re.compile(r"(#\s*syncfinder:\s*ignore\s*\[)[^\]]*(\])")


@dataclass(slots=True)
class Added:
    """How many comments were written to how many files; `errors` each name a file that was left as it is."""

    comments: int = 0
    files: int = 0
    errors: list[str] = field(default_factory=list)


class _Impossible(Exception):
    """A file in which a comment cannot be written; the message says why."""


def add_ignores(findings: Iterable[Finding], reason: str) -> Added:
    """Write `# syncfinder: ignore[CODES] reason` for findings, file by file."""
    by_file: dict[str, list[Finding]] = {}
    for finding in findings:
        by_file.setdefault(finding.filename, []).append(finding)
    added = Added()
    for name, found in sorted(by_file.items()):
        try:
            added.comments += _write(Path(name), found, reason)
            added.files += 1
        except OSError as error:
            added.errors.append(f"{shown(name)}: cannot be written: {error.strerror}")
        except _Impossible as error:
            added.errors.append(f"{shown(name)}: no suppression was added: {error}")
    return added


def _write(path: Path, findings: list[Finding], reason: str) -> int:
    data = path.read_bytes()
    encoding = encoding_of(path, data.replace(b"\r\n", b"\n").replace(b"\r", b"\n"))
    text = decode(path, data)
    plan = _Plan(text, findings)
    raw = data.decode(encoding)
    new = plan.applied(raw, reason)
    try:
        encoded = new.encode(encoding)
    except UnicodeEncodeError as error:
        raise _Impossible(f"the reason has characters that the file's encoding, {encoding}, lacks") from error
    plan.verify(SourceFile(path, text), SourceFile(path, decode(path, encoded)))
    write_whole(path, encoded)
    return len(plan.at_end) + len(plan.above)


class _Plan:
    """Where the comments of one file go: `at_end` of a line, or `above` one; lines from 1, with the codes."""

    def __init__(self, text: str, findings: list[Finding]) -> None:
        self.findings = findings
        self.lines = text.split("\n")
        self.inner = _inner_lines(text)
        self.comments, self.starts = _comments_and_starts(text)
        self.at_end: dict[int, set[str]] = {}
        self.above: dict[int, set[str]] = {}
        for finding in findings:
            self.place(finding)

    def place(self, finding: Finding) -> None:
        """At the end of the first line of the finding that can take a comment, else of its statement, else above it."""
        span, (first, last) = finding.span, finding.statement
        for line in (*range(span.line, span.end_line + 1), *range(first, last + 1)):
            if self.takes_comment(line):
                self.at_end.setdefault(line, set()).add(finding.code)
                return
        if first not in self.starts:
            raise _Impossible(f"there is no place for a comment at line {span.line}")
        self.above.setdefault(first, set()).add(finding.code)

    def takes_comment(self, line: int) -> bool:
        """Whether a comment can stand at the end of a line: not in a string, nor behind a backslash."""
        if line in self.inner or line > len(self.lines):
            return False
        return line in self.comments or not self.lines[line - 1].rstrip().endswith("\\")

    def applied(self, raw: str, reason: str) -> str:
        """Return the file's text with the comments in it; its line ends stay as they are."""
        rows = _LINE.findall(raw)
        for line in sorted({*self.at_end, *self.above}, reverse=True):
            body = rows[line - 1].rstrip("\r\n")
            end = rows[line - 1][len(body) :]
            if line in self.at_end:
                rows[line - 1] = _with_comment(body, self.at_end[line], reason, self.comments.get(line)) + end
            if line in self.above:
                indent = body[: len(body) - len(body.lstrip())]
                rows.insert(line - 1, f"{indent}{_comment(self.above[line], reason)}{end or chr(10)}")
        return "".join(rows)

    def verify(self, old: SourceFile, new: SourceFile) -> None:
        """Make sure that the program is the same and every finding is covered. Raises _Impossible."""
        if ast.dump(ast.parse(old.text)) != ast.dump(ast.parse(new.text)):
            raise _Impossible("it would change what the file means; please report this")
        found = suppressions(new)
        for finding in self.findings:
            first, last = (n + sum(above <= n for above in self.above) for n in finding.statement)
            if not found.covers(finding.code, range(first, last + 1)):
                raise _Impossible(f"it would not cover line {finding.span.line}; please report this")


def _with_comment(body: str, codes: set[str], reason: str, comment: str | None) -> str:
    """A line with a suppression at its end; codes go into the brackets of one that is there."""
    have = _BRACKET.search(comment) if comment is not None else None
    if comment is None or have is None:
        return f"{body.rstrip()}  {_comment(codes, reason)}"
    old = re.split(r"[\s,]+", comment[have.end(1) : have.end() - 1].strip(" \t,"))
    start = len(body.rstrip()) - len(comment)
    joined = ", ".join([*old, *sorted(codes.difference(old))])
    return body[: start + have.end(1)] + joined + body[start + have.end() - 1 :]


def _comment(codes: set[str], reason: str) -> str:
    return f"# syncfinder: ignore[{', '.join(sorted(codes))}] {reason}"


def _inner_lines(text: str) -> set[int]:
    """The lines whose end lies within a string."""
    inner: set[int] = set()
    opened: list[int] = []
    for token in tokenize.generate_tokens(io.StringIO(text, newline="\n").readline):
        name = tokenize.tok_name[token.type]
        if name.endswith("STRING_START"):
            opened.append(token.start[0])
        elif name.endswith("STRING_END"):
            inner.update(range(opened.pop(), token.end[0]))
        elif token.type == tokenize.STRING:
            inner.update(range(token.start[0], token.end[0]))
    return inner


def _comments_and_starts(text: str) -> tuple[dict[int, str], set[int]]:
    """The comments by line, and the lines on which nothing but white space stands before a statement."""
    comments: dict[int, str] = {}
    starts: set[int] = set()
    blank = (tokenize.NL, tokenize.INDENT, tokenize.DEDENT)
    fresh = True
    for token in tokenize.generate_tokens(io.StringIO(text, newline="\n").readline):
        if token.type == tokenize.COMMENT:
            comments[token.start[0]] = token.string
        elif token.type not in blank:
            if fresh:
                starts.add(token.start[0])
            fresh = token.type == tokenize.NEWLINE
    return comments, starts
