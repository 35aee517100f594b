"""The conditions of waits: whether what is known of a call's arguments fulfils them.

`torchmodel.conditions.TESTS` makes the same tests of measured calls.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from syncfinder.infer.values import (
    CERTAIN,
    CPU,
    CUDA,
    LIKELY,
    NONE,
    UNKNOWN,
    Api,
    Array,
    Const,
    Device,
    Library,
    Mapping,
    Sequence,
    Tensor,
    UnknownValue,
    Value,
    is_number,
    tensor_in,
    tensors,
)

if TYPE_CHECKING:
    from syncfinder.torchmodel.model import Effect, Param, Row, Term


@dataclass(slots=True)
class BoundCall:
    """A call's arguments under the parameters of one overload."""

    row: Row
    overload: int
    parameters: tuple[Param, ...]
    values: dict[str, Value]
    nodes: dict[str, ast.expr | None]
    init: dict[str, Value]


def holds(effect: Effect, bound: BoundCall, operands: list[Tensor]) -> int | None:
    """Return how sure it is that all conditions of an effect hold; None when one does not."""
    sure = CERTAIN
    for term in effect.when:
        found = TERMS[term.test](term, bound, operands) if term.test in TERMS else None
        if found is None:
            return None
        sure = max(sure, found)
    return sure


def given(term: Term, bound: BoundCall, operands: list[Tensor]) -> int | None:
    value = bound.values.get(term.parameter)
    return None if value is None or value.key == NONE.key else CERTAIN


def missing(term: Term, bound: BoundCall, operands: list[Tensor]) -> int | None:
    return CERTAIN if given(term, bound, operands) is None else None


def is_tensor(term: Term, bound: BoundCall, operands: list[Tensor]) -> int | None:
    value = bound.values.get(term.parameter)
    if value is None:
        return None
    if isinstance(value, UnknownValue):
        kinds = {p.type[0] for overload in bound.row.overloads for p in overload if p.name == term.parameter}
        return LIKELY if kinds == {"T"} else None
    return CERTAIN if tensor_in(value) is not None else None


def is_cuda(term: Term, bound: BoundCall, operands: list[Tensor]) -> int | None:
    value = bound.values.get(term.parameter)
    found = tensor_in(value) if value is not None else None
    if found is None and isinstance(value, (Sequence, Mapping)):
        found = tensor_in(value.each())
    return CERTAIN if found is not None and found.waits else None


def is_host(term: Term, bound: BoundCall, operands: list[Tensor]) -> int | None:
    value = bound.values.get(term.parameter)
    if value is None:
        return None
    if isinstance(value, Sequence):
        parts = value.parts()
        on_host = all(is_number(p) or isinstance(p, Sequence) or known_host(p) for p in parts)
        return CERTAIN if parts and on_host else None
    return CERTAIN if known_host(value) else None


def known_host(value: Value) -> bool:
    found = tensor_in(value)
    return (found is not None and found.place == CPU) or isinstance(value, Array)


def is_list(term: Term, bound: BoundCall, operands: list[Tensor]) -> int | None:
    return CERTAIN if isinstance(bound.values.get(term.parameter), (Sequence, Array)) else None


def is_number_term(term: Term, bound: BoundCall, operands: list[Tensor]) -> int | None:
    value = bound.values.get(term.parameter)
    return CERTAIN if value is not None and is_number(value) else None


def default_of(term: Term, bound: BoundCall) -> object:
    return next((p.default for p in bound.parameters if p.name == term.parameter and p.optional), ...)


def equals(term: Term, bound: BoundCall, operands: list[Tensor]) -> int | None:
    value = bound.values.get(term.parameter)
    have = default_of(term, bound) if value is None else ...
    if isinstance(value, Const):
        have = value.value
    elif isinstance(value, Api):
        have = value.name
    elif isinstance(value, Device) and value.place == CUDA:
        have = "cuda"
    return CERTAIN if have is not ... and have == term.literal and (have is None) == (term.literal is None) else None


def differs(term: Term, bound: BoundCall, operands: list[Tensor]) -> int | None:
    return CERTAIN if equals(term, bound, operands) is None else None


def negative(term: Term, bound: BoundCall, operands: list[Tensor]) -> int | None:
    value = bound.values.get(term.parameter)
    return CERTAIN if isinstance(value, Const) and isinstance(value.value, (int, float)) and value.value < 0 else None


def is_mask(term: Term, bound: BoundCall, operands: list[Tensor]) -> int | None:
    value = bound.values.get(term.parameter, UNKNOWN)
    parts = value.items if isinstance(value, Sequence) and value.items is not None else (value,)
    return CERTAIN if any(t.dtype == "bool" and t.waits for part in parts for t in tensors(part)) else None


def has_ndim(term: Term, bound: BoundCall, operands: list[Tensor]) -> int | None:
    found = tensor_in(bound.values.get(term.parameter, UNKNOWN))
    return CERTAIN if found is not None and found.ndim == term.literal else None


def is_large(term: Term, bound: BoundCall, operands: list[Tensor]) -> int | None:
    """Sizes are known of lists only; a tensor of unknown size is not taken for a large one."""
    value = bound.values.get(term.parameter)
    items = value.items if isinstance(value, Sequence) else None
    return CERTAIN if items is not None and isinstance(term.literal, int) and len(items) >= term.literal else None


def is_matrix(term: Term, bound: BoundCall, operands: list[Tensor]) -> int | None:
    """A norm over two dimensions: those of a matrix, or two that `dim` names."""
    dim = bound.values.get("dim")
    if dim is not None and dim.key != NONE.key:
        return CERTAIN if isinstance(dim, Sequence) and dim.items is not None and len(dim.items) == 2 else None
    found = tensor_in(bound.values.get(term.parameter, UNKNOWN))
    return CERTAIN if found is not None and found.ndim == 2 else None


def same(term: Term, bound: BoundCall, operands: list[Tensor]) -> int | None:
    """Two arguments are equal, given or by default."""
    have = []
    for parameter in (term.parameter, str(term.literal)):
        value = bound.values.get(parameter)
        default = next((p.default for p in bound.parameters if p.name == parameter), ...)
        have.append(value.value if isinstance(value, Const) else default if value is None else ...)
    return CERTAIN if have[0] is not ... and have[0] == have[1] else None


def init_is_cuda(term: Term, bound: BoundCall, operands: list[Tensor]) -> int | None:
    found = tensor_in(bound.init.get(term.parameter, UNKNOWN))
    return CERTAIN if found is not None and found.waits else None


def never(term: Term, bound: BoundCall, operands: list[Tensor]) -> int | None:
    """What the source does not tell and is seldom so: a matrix that is not square."""
    return None


def may_hold(term: Term, bound: BoundCall, operands: list[Tensor]) -> int | None:
    """What the source does not tell and is usually so: equal shapes, a module's mode."""
    return CERTAIN


def not_made_with(term: Term, bound: BoundCall, operands: list[Tensor]) -> int | None:
    """The argument is an object that was not constructed with a keyword of a certain value."""
    value = bound.values.get(term.parameter)
    if not isinstance(value, Library) or not isinstance(term.literal, tuple):
        return None
    made = value.init.get(term.literal[0])
    return None if isinstance(made, Const) and made.value == term.literal[1] else CERTAIN


def init_is(term: Term, bound: BoundCall, operands: list[Tensor]) -> int | None:
    value = bound.init.get(term.parameter)
    return CERTAIN if isinstance(value, Const) and value.value == term.literal else None


def init_differs(term: Term, bound: BoundCall, operands: list[Tensor]) -> int | None:
    return CERTAIN if init_is(term, bound, operands) is None else None


def init_given(term: Term, bound: BoundCall, operands: list[Tensor]) -> int | None:
    value = bound.init.get(term.parameter)
    return None if value is None or value.key == NONE.key else CERTAIN


def init_missing(term: Term, bound: BoundCall, operands: list[Tensor]) -> int | None:
    return CERTAIN if init_given(term, bound, operands) is None else None


TERMS: dict[str, Callable[[Term, BoundCall, list[Tensor]], int | None]] = {
    "given": given, "missing": missing, "tensor": is_tensor, "cuda": is_cuda, "host": is_host, "list": is_list,
    "number": is_number_term, "negative": negative, "is": equals, "not-is": differs, "mask": is_mask,
    "ndim": has_ndim, "large": is_large, "oblong": never, "matrix": is_matrix, "same": same,
    "same-shape": may_hold, "not-made-with": not_made_with, "init-is": init_is, "init-not-is": init_differs,
    "init-given": init_given, "init-missing": init_missing, "init-cuda": init_is_cuda, "mode": may_hold,
    "anywhere": may_hold,
}  # fmt: skip
