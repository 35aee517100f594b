"""Sites in, findings out: one synthetic module per file, one parse, and the families' visitors on the marked nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import replace

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider

from syncfinder.finding import Finding, Suggestion
from syncfinder.rules.catalogue import by_kind
from syncfinder.rules.hazards import Hazards
from syncfinder.rules.measurements import Measurements
from syncfinder.rules.provider import DeviceProvider, Key
from syncfinder.rules.rewrites.packing import packed
from syncfinder.rules.rewrites.suggest import Placing, suggest
from syncfinder.rules.shapes import Shapes
from syncfinder.rules.slices import Slice, compose, cut
from syncfinder.rules.truth_tests import TruthTests
from syncfinder.rules.uploads import Uploads
from syncfinder.rules.value_reads import ValueReads
from syncfinder.rules.waits import Waits
from syncfinder.rules.wording import FamilyVisitor, Spot, Words, enclosed, generic, source_text
from syncfinder.sites.site import Site, Span
from syncfinder.source.file import SourceFile

Worded = dict[int, tuple[str, Suggestion]]  # message and suggestion by the site's id

_FAMILIES: dict[str, type[FamilyVisitor]] = {
    "value-read": ValueReads,
    "truth-test": TruthTests,
    "shape": Shapes,
    "upload": Uploads,
    "wait": Waits,
    "hazard": Hazards,
    "measurement": Measurements,
}


def word_sites(file: SourceFile, sites: list[Site]) -> list[Finding]:
    """Return one finding per site, in the order of the sites; a site that libcst cannot place is worded from itself."""
    worded: Worded = {}
    lines = file.lines
    _visit(lines, cut(lines, {site.block or site.statement for site in sites}), sites, worded)
    return [_finding(file, site, worded.get(id(site))) for site in sites]


def word_plainly(file: SourceFile, sites: list[Site]) -> list[Finding]:
    """Return one finding per site, each worded from itself."""
    return [_finding(file, site, None) for site in sites]


def _visit(lines: list[str], slices: list[Slice], sites: list[Site], worded: Worded) -> None:
    """Word the sites inside the slices. Halves what does not parse, so that one odd statement costs no other one."""
    text, place = compose(lines, slices)
    wanted = _positions(lines, place, sites)
    if not wanted:
        return
    placing = Placing(lines, {there: here for here, there in place.items()})
    try:
        _visit_module(cst.parse_module(text), wanted, placing, worded)
    except (cst.ParserSyntaxError, RecursionError):
        if len(slices) > 1:
            middle = len(slices) // 2
            _visit(lines, slices[:middle], sites, worded)
            _visit(lines, slices[middle:], sites, worded)


def _visit_module(module: cst.Module, wanted: dict[Key, list[Site]], placing: Placing, worded: Worded) -> None:
    uploads: list[Spot] = []

    def take(spot: Spot, words: Words) -> None:
        message, help_text = words
        if spot.site.kind == "construct":
            uploads.append(spot)
        positions = wrapper.resolve(PositionProvider)
        worded[id(spot.site)] = message, suggest(spot, help_text, positions, placing)

    families = {site.family for group in wanted.values() for site in group}
    visitors = [visitor(take) for family, visitor in _FAMILIES.items() if family in families]
    # A freshly parsed tree has no shared nodes, so the wrapper's deep copy is not needed.
    wrapper = _Wrapper(module, unsafe_skip_copy=True, cache={DeviceProvider: wanted})
    with ExitStack() as stack:
        for visitor in visitors:
            stack.enter_context(visitor.resolve(wrapper))
        # Only the marked nodes can say anything: a walk over the whole tree would cost as much as all the rest.
        for node in wrapper.resolve(DeviceProvider):
            for visitor in visitors:
                visitor.on_visit(node)
    for spot, more in packed(uploads):
        message, fix = worded[id(spot.site)]
        worded[id(spot.site)] = message, replace(fix, message=f"{fix.message}\n{more}")


class _Wrapper(MetadataWrapper):
    """A wrapper that does not walk the tree for an empty batch, as libcst does once per round of providers."""

    def visit_batched(
        self,
        visitors: Iterable[cst.BatchableCSTVisitor],
        before_visit: Callable[[cst.CSTNode], None] | None = None,
        after_leave: Callable[[cst.CSTNode], None] | None = None,
    ) -> cst.CSTNode:
        batch = list(visitors)
        return super().visit_batched(batch, before_visit, after_leave) if batch else self.module


def _positions(lines: list[str], place: dict[int, int], sites: list[Site]) -> dict[Key, list[Site]]:
    wanted: dict[Key, list[Site]] = {}
    for site in sites:
        span = _inside_parentheses(lines, site.span)
        line, end_line = place.get(span.line), place.get(span.end_line)
        if line is not None and end_line is not None:
            wanted.setdefault((line, span.column - 1, end_line, span.end_column - 1), []).append(site)
    return wanted


def _inside_parentheses(lines: list[str], span: Span) -> Span:
    """Return the span without parentheses around it: libcst's positions leave them out, `ast`'s tuples have them."""
    line, column, end_line, end_column = span.line, span.column, span.end_line, span.end_column
    if line != end_line or not 1 <= line <= len(lines):
        return span
    row = lines[line - 1]
    while end_column - column > 2 and row[column - 1] == "(" and row[end_column - 2 : end_column - 1] == ")":
        if not enclosed(row[column - 1 : end_column - 1]):
            break
        column, end_column = column + 1, end_column - 1
    return Span(line, column, end_line, end_column)


def _finding(file: SourceFile, site: Site, worded: tuple[str, Suggestion] | None) -> Finding:
    rule = by_kind()[site.kind]
    if worded is None:
        message, help_text = generic(site, source_text(file.lines, site.span))
        worded = message, Suggestion(help_text)
    return Finding(
        code=rule.code,
        name=rule.name,
        message=worded[0],
        filename=str(file.path),
        span=site.span,
        level=site.level,
        confidence=site.confidence,
        family=rule.family,
        context=site.context,
        function=site.function,
        fix=worded[1],
        url=rule.url,
        why=site.why,
        calls=site.calls,
        statement=(min(site.statement[0], site.span.line), max(site.statement[1], site.span.end_line)),
        related=tuple(
            {"message": place.text, "filename": place.path, "location": {"row": place.line, "column": 1}}
            for place in site.related
        ),
    )
