"""`# syncfinder: x is cpu` at a binding: the device said in the code, and believed."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from syncfinder.infer.annotations import PLACE_WORDS
from syncfinder.infer.values import CERTAIN, Tensor, Value, tensor_in
from syncfinder.sites.site import Reason

if TYPE_CHECKING:
    from syncfinder.infer.project import Module


def apply_hint(module: Module, node: ast.AST, name: str, value: Value) -> Value:
    """Return a bound value as a hint comment on the binding's lines says it is; unchanged where there is none."""
    if not module.hints:
        return value
    first = getattr(node, "lineno", 0)
    for line in range(first, (getattr(node, "end_lineno", first) or first) + 1):
        word = module.hints.get(line, {}).get(name)
        if word in PLACE_WORDS:
            place, memory = PLACE_WORDS[word]
            why = (Reason(f"`{name}` is {word} by a comment", module.filename, line),)
            have = tensor_in(value) or Tensor(place)
            return have.but(place=place, memory=memory or have.memory, why=why, sure=CERTAIN)
    return value
