"""Rewrites of copies from the host to the GPU."""

from __future__ import annotations

from collections.abc import Mapping

import libcst as cst

from syncfinder.rules.rewrites.rewrite import Rewrite, Rewriter, replace, source
from syncfinder.rules.wording import Spot, assigned_subscript


def _scalar_write(spot: Spot) -> Rewrite | None:
    statement = spot.assignment()
    if not isinstance(statement, cst.Assign) or len(statement.targets) != 1:
        return None
    target = assigned_subscript(statement)
    if target is None or len(target.slice) != 1 or spot.site.facts.get("index") != "integer":
        return None
    index = target.slice[0].slice
    if not isinstance(index, cst.Index) or not isinstance(index.value, cst.Integer):
        return None
    number = source(index.value)
    sliced = f"{number}:{index.value.evaluated_value + 1}"
    return Rewrite("write through a slice, which passes the number to the kernel", "safe", (replace(index, sliced),))


REWRITERS: Mapping[str, Rewriter] = {"scalar-write": _scalar_write}
