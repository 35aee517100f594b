"""libcst metadata: which sites are on a node, by exact position, as libcst's type provider answers for types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

import libcst as cst
from libcst.metadata import BaseMetadataProvider, CodeRange, PositionProvider

from syncfinder.sites.site import Site

Key = tuple[int, int, int, int]  # line from 1, column from 0, end line, end column
# What a site can stand on: an operand, a slice, the braces of an f-string, or a whole simple statement.
MARKED = (cst.BaseExpression, cst.Slice, cst.BaseSmallStatement, cst.FormattedStringExpression)
_ANCESTORS = 12
# Nodes that can be an ancestor worth knowing. Others (whitespace, punctuation) may reach beyond their parent's range.
_HOLDERS = (
    *MARKED,
    cst.BaseCompoundStatement,
    cst.Arg,
    cst.AssignTarget,
    cst.CompFor,
    cst.CompIf,
    cst.ComparisonTarget,
    cst.BaseElement,
    cst.Index,
    cst.SubscriptElement,
)


@cache
def _is(kind: type[cst.CSTNode], kinds: tuple[type[cst.CSTNode], ...]) -> bool:
    """`isinstance`, asked once per type: libcst's classes are abstract ones, whose checks are slow."""
    return issubclass(kind, kinds)


@dataclass(frozen=True, slots=True)
class Mark:
    """A site on a node; `parents` are the node's ancestors, innermost first."""

    site: Site
    parents: tuple[cst.CSTNode, ...]


class DeviceProvider(BaseMetadataProvider[tuple[Mark, ...]]):
    """Maps a node to the marks on it. Its cache entry maps positions in the module to sites."""

    METADATA_DEPENDENCIES = (PositionProvider,)

    @classmethod
    def gen_cache(cls, root_path: Path, paths: list[str], **kwargs: Any) -> Mapping[str, object]:
        """Exists because libcst hands a cache only to providers that say how to make one; the engine makes it."""
        return {}

    def __init__(self, cache: Mapping[Key, list[Site]]) -> None:
        super().__init__(cache)
        self._wanted = cache

    def _gen_impl(self, module: cst.Module) -> None:
        """Find the nodes from the positions alone, which costs a fraction of a visit.

        Positions are recorded when a node ends, so backwards a parent comes before its children, and the ancestors of a
        node are those of the nodes before it whose range holds its own. Of nodes with the same position the innermost
        wins, because it comes last.
        """
        positions = cast(dict[cst.CSTNode, CodeRange], self.metadata[PositionProvider])
        starts = {key[:2] for key in self._wanted}
        found: dict[Key, tuple[cst.CSTNode, tuple[cst.CSTNode, ...]]] = {}
        open_nodes: list[tuple[tuple[int, int], tuple[int, int], cst.CSTNode]] = []
        for node, position in reversed(positions.items()):
            if not _is(type(node), _HOLDERS):
                continue
            start = (position.start.line, position.start.column)
            end = (position.end.line, position.end.column)
            while open_nodes and not (open_nodes[-1][0] <= start and end <= open_nodes[-1][1]):
                open_nodes.pop()
            key = (start[0], start[1], end[0], end[1])
            if start in starts and key in self._wanted and _is(type(node), MARKED):
                found[key] = (node, tuple(n for _, _, n in open_nodes[: -_ANCESTORS - 1 : -1]))
            open_nodes.append((start, end, node))
        for key, (node, parents) in found.items():
            self.set_metadata(node, tuple(Mark(site, parents) for site in self._wanted[key]))
