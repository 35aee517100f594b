"""Buffers: memory that unfinished work may use, and where it comes from."""

from __future__ import annotations

from typing import Any, NamedTuple

# Where a stream, an event or a buffer comes from: the place that made it, a parameter, or the path that names it.
Origin = tuple[Any, ...]


class Buffer(NamedTuple):
    """Memory that unfinished work may read or write.

    `several`: one of the buffers that are made at one place. `part`: the index by which it is a part of what was made
    there; empty for the whole.
    """

    origin: Origin
    several: bool = False
    part: str = ""


Buffers = frozenset[Buffer]
MAX_BUFFERS = 4


def join_buffers(a: Buffers | None, b: Buffers | None) -> Buffers | None:
    """Return the buffers that either may be; None (not known) where one is not known, or where they are too many."""
    if a is b or a is None or b is None:
        return a if a is b else None
    both = a | b
    return both if len(both) <= MAX_BUFFERS else None
