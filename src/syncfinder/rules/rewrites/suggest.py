"""From a rewrite of nodes to edits of the file: where each change stands, and whether it may stand there."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Mapping
from dataclasses import dataclass

import libcst as cst
from libcst.metadata import CodeRange

from syncfinder.finding import Edit, Suggestion
from syncfinder.rules.rewrites import REWRITERS
from syncfinder.rules.rewrites.rewrite import Change, Rewrite
from syncfinder.rules.wording import Spot
from syncfinder.sites.site import Span

Positions = Mapping[cst.CSTNode, CodeRange]
_STATEMENTS = (cst.BaseSmallStatement, cst.BaseCompoundStatement)
_INDENT = re.compile(r"[ \t\f]*")
_DEFINITION = re.compile(r"[ \t\f]*(?:async[ \t]+)?def\b")


@dataclass(frozen=True, slots=True)
class Placing:
    """The lines of the file, and the file's line of each line of the module that libcst has parsed."""

    lines: list[str]
    line_of: Mapping[int, int]

    def span(self, position: CodeRange) -> Span | None:
        """Return where a node stands in the file; None where it is not of the file."""
        line, end_line = self.line_of.get(position.start.line), self.line_of.get(position.end.line)
        if line is None or end_line is None or end_line - line != position.end.line - position.start.line:
            return None
        return Span(line, position.start.column + 1, end_line, position.end.column + 1)

    def text(self, span: Span) -> str:
        """Return the file's text in a span."""
        rows = self.lines[span.line - 1 : span.end_line]
        rows[-1] = rows[-1][: span.end_column - 1]
        rows[0] = rows[0][span.column - 1 :]
        return "\n".join(rows)

    def indent(self, line: int) -> str:
        """Return the white space that a line of the file begins with."""
        found = _INDENT.match(self.lines[line - 1])
        return found[0] if found is not None else ""

    def speaks_of(self, name: str, line: int) -> bool:
        """Tell whether a name occurs in the function that a line of the file is in."""
        first = line
        while first and not (_DEFINITION.match(self.lines[first - 1]) and self._depth(first) < self._depth(line)):
            first -= 1
        outside, last = self._depth(first) if first else -1, line
        while last < len(self.lines) and (not self.lines[last].strip() or self._depth(last + 1) > outside):
            last += 1
        return any(re.search(rf"\b{re.escape(name)}\b", row) for row in self.lines[max(0, first - 1) : last])

    def _depth(self, line: int) -> int:
        return len(self.indent(line))


def suggest(spot: Spot, help_text: str, positions: Positions, placing: Placing) -> Suggestion:
    """Return the rewrite of a site with its edits, else its help.

    A guess, and a wait that stands in a callee, are never edited.
    """
    site = spot.site
    rewriter = REWRITERS.get(site.kind) if not site.calls else None
    rewrite = rewriter(spot) if rewriter is not None else None
    if rewrite is None:
        return Suggestion(help_text)
    if not rewrite.changes:
        return Suggestion(rewrite.message)
    edits = _edits(rewrite, spot, positions, placing)
    taken = any(placing.speaks_of(name, site.span.line) for name in rewrite.binds)
    if edits is None or taken or site.confidence == "possible":
        return Suggestion(help_text)
    return Suggestion(rewrite.message, rewrite.applicability, edits, rewrite.imports)


def _edits(rewrite: Rewrite, spot: Spot, positions: Positions, placing: Placing) -> tuple[Edit, ...] | None:
    edits = []
    for change in rewrite.changes:
        place = {"replace": _replaced, "before": _inserted, "remove": _removed}[change.kind]
        edit = place(change, spot, positions, placing)
        if edit is None:
            return None
        edits.append(edit)
    return tuple(sorted(edits, key=lambda e: (e.span.line, e.span.column)))


def _replaced(change: Change, spot: Spot, positions: Positions, placing: Placing) -> Edit | None:
    span = placing.span(positions[change.node])
    if span is None or not _comments(placing.text(span)) <= _comments(change.source):
        return None
    if "\n" not in change.source:
        return Edit(span, change.source)
    return Edit(
        span, _indented(change.source, placing.indent(_block_line(change.node, positions, placing) or span.line))
    )


def _block_line(node: cst.CSTNode, positions: Positions, placing: Placing) -> int | None:
    """Return the file's line that the innermost statement around a node begins in."""
    own, found = positions[node], None
    for other, position in positions.items():
        if isinstance(other, _STATEMENTS) and _holds(position, own) and (found is None or _holds(found, position)):
            found = position
    return placing.line_of.get(found.start.line) if found is not None else None


def _holds(outer: CodeRange, inner: CodeRange) -> bool:
    start, end = (outer.start.line, outer.start.column), (outer.end.line, outer.end.column)
    return start <= (inner.start.line, inner.start.column) and (inner.end.line, inner.end.column) <= end


def _comments(code: str) -> set[str]:
    """Return the comments in code, none of which a change may lose."""
    if "#" not in code:
        return set()
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(f"({code}\n)").readline))
    except (tokenize.TokenError, SyntaxError):
        return {code}
    return {token.string for token in tokens if token.type == tokenize.COMMENT}


def _inserted(change: Change, spot: Spot, positions: Positions, placing: Placing) -> Edit | None:
    """Lines go in front of a statement that begins its line; an `elif` has no place in front of it."""
    statement = _statement(change.node, spot)
    start = positions[statement].start if statement is not None else None
    number = placing.line_of.get(start.line) if start is not None else None
    if start is None or number is None:
        return None
    line, indent = placing.lines[number - 1], placing.indent(number)
    if len(indent) != start.column or line.startswith("elif", len(indent)):
        return None
    text = "".join(f"{row}\n{indent}" for row in change.source.split("\n"))
    return Edit(Span(number, start.column + 1, number, start.column + 1), text)


def _removed(change: Change, spot: Spot, positions: Positions, placing: Placing) -> Edit | None:
    """A statement goes with its line; where others need it, `pass` takes its place."""
    statement = _statement(change.node, spot)
    span = placing.span(positions[statement]) if statement is not None else None
    if span is None:
        return None
    lines, indent = placing.lines, placing.indent(span.line)
    after = lines[span.end_line - 1][span.end_column - 1 :].strip()
    shared = len(indent) != span.column - 1 or (after and not after.startswith("#"))
    if shared or span.end_line == len(lines) or _only(lines, span, len(indent)):
        return Edit(span, "pass")
    return Edit(Span(span.line, 1, span.end_line + 1, 1), "")


def _only(lines: list[str], span: Span, indent: int) -> bool:
    """Return whether neither the code before nor the code after a statement can be of the same block."""

    def inside(row: str) -> bool:
        return len(row) - len(row.lstrip()) >= indent

    code = [(n, row) for n, row in enumerate(lines, 1) if row.strip() and not row.lstrip().startswith("#")]
    before = next((row for n, row in reversed(code) if n < span.line), "")
    after = next((row for n, row in code if n > span.end_line), "")
    header = before.rstrip().endswith(":")  # of several lines, perhaps
    return (header or not inside(before)) and not (after and inside(after))


def _statement(node: cst.CSTNode, spot: Spot) -> cst.CSTNode | None:
    """Return the statement that is or holds the node, one of the spot's own nodes."""
    if isinstance(node, _STATEMENTS):
        return node
    around = (spot.node, *spot.parents)
    start = around.index(node) if node in around else 0
    return next((n for n in around[start:] if isinstance(n, _STATEMENTS)), None)


def _indented(source: str, indent: str) -> str:
    """Return code with the block's indentation, which libcst leaves out, on the lines that do not begin in a string."""
    if not indent:
        return source
    rows = source.split("\n")
    text: set[int] = set()
    try:
        for token in tokenize.generate_tokens(io.StringIO(f"({source}\n)").readline):
            if token.start[0] != token.end[0]:
                text.update(range(token.start[0] + 1, token.end[0] + 1))
    except (tokenize.TokenError, SyntaxError):
        return source
    return "\n".join(row if n == 1 or n in text or not row.strip() else indent + row for n, row in enumerate(rows, 1))
