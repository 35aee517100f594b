"""What operators, comparisons and iteration give, without evaluating anything: values in, a value out."""

from __future__ import annotations

import ast
from typing import Any

from syncfinder.infer import sizes
from syncfinder.infer.frame import Frame
from syncfinder.infer.hazards import host_access, read_operand
from syncfinder.infer.measuring import CLOCKS, measured, submitted
from syncfinder.infer.pending import FLOW, Launch, act
from syncfinder.infer.reading import read
from syncfinder.infer.values import (
    ARRAY,
    BOOL,
    CPU,
    CUDA,
    FLOAT,
    GPU,
    HOST_COMPARISON,
    HOST_DATA,
    NONE,
    NUMBER_ORDER,
    TEXT,
    UNKNOWN,
    UNKNOWN_COMPARISON,
    Array,
    Const,
    Device,
    Dtype,
    Mapping,
    Number,
    Sequence,
    Tensor,
    Text,
    Union,
    UnknownValue,
    Value,
    is_number,
    join_all,
    members,
    number_kind,
    on_host,
    tensor_in,
    tensors,
    wider,
)


def operate(left: Value, right: Value, op: ast.operator, node: Any, frame: Frame) -> Value:
    """Return `left op right`."""
    a, b = tensor_in(left), tensor_in(right)
    if a is not None or b is not None:
        return tensor_operation(left, right, a, b, op, node, frame)
    if (
        isinstance(left, (Text, Const))
        and isinstance(op, ast.Mod)
        and (isinstance(left, Text) or isinstance(left.value, str))
    ):
        return formatted(right, node, frame)
    if isinstance(left, Array) or isinstance(right, Array):
        for value in (left, right):
            if isinstance(value, Array) and value.buffers is not None:
                host_access(value.buffers, False, "operator", node, frame)
        return ARRAY
    if isinstance(left, Sequence) and isinstance(right, Sequence) and isinstance(op, ast.Add):
        return concatenated(left, right)
    if isinstance(left, Sequence) and isinstance(op, ast.Mult):
        return Sequence(left.kind, element=left.each()) if left.items or left.element is not None else left
    if isinstance(right, Sequence) and isinstance(op, ast.Mult):
        return Sequence(right.kind, element=right.each())
    if is_number(left) and is_number(right):
        if isinstance(op, ast.Sub):
            measured(left, right, frame)
        return number_operation(left, right, op)
    if isinstance(left, (Mapping, Text, Device)) and isinstance(op, (ast.Add, ast.BitOr)):
        return left
    host = on_host(left) or on_host(right)
    if isinstance(op, (ast.BitAnd, ast.BitOr)) and any(type(v) is UnknownValue and v.compared for v in (left, right)):
        return HOST_COMPARISON if host else UNKNOWN_COMPARISON
    return HOST_DATA if host else UNKNOWN


def number_operation(left: Value, right: Value, op: ast.operator) -> Value:
    known = folded(left, right, op)
    if known is not None:
        return known
    kind = wider(number_kind(left), number_kind(right))
    if isinstance(op, ast.Div):
        return FLOAT
    return Number("int" if kind == "bool" else kind)


def folded(left: Value, right: Value, op: ast.operator) -> Value | None:
    """Return the number that a size is written as: 4 * 1024, 1 << 20."""
    if not (isinstance(left, Const) and isinstance(right, Const)):
        return None
    a, b = left.value, right.value
    if type(a) is not int or type(b) is not int or not 0 <= b < MOST or not 0 <= a < MOST:
        return None
    if isinstance(op, ast.Mult):
        return Const(a * b)
    return Const(a << b) if isinstance(op, ast.LShift) and b < 48 else None


MOST = 1 << 40  # no size is larger


def concatenated(left: Sequence, right: Sequence) -> Value:
    if left.items is not None and right.items is not None:
        return Sequence(left.kind, left.items + right.items)
    parts = [s.each() for s in (left, right) if s.items != ()]
    return Sequence(left.kind, element=join_all(parts))


def formatted(value: Value, node: ast.expr, frame: Frame) -> Value:
    for part in value.items or () if isinstance(value, Sequence) else members(value):
        for tensor in tensors(part):
            read(tensor, "format", "%", node.right if isinstance(node, ast.BinOp) else node, frame)
    return TEXT


def tensor_operation(
    left: Value, right: Value, a: Tensor | None, b: Tensor | None, op: ast.operator, node: Any, frame: Frame
) -> Value:
    if isinstance(op, ast.Mod) and (
        isinstance(left, Text) or (isinstance(left, Const) and isinstance(left.value, str))
    ):
        return formatted(right, node, frame)
    if isinstance(op, ast.Mult) and b is not None and (isinstance(left, Sequence) or is_text(left)):
        read(b, "index", "repetition", node.right, frame)
        return left
    operands = [t for t in (a, b) if t is not None]
    for operand in operands:
        if operand.buffers is not None:
            read_operand(operand, "operator", node, frame)
    if not frame.pace or CLOCKS in frame.env:
        submitted(operands, node, frame)
    if FLOW in frame.env and any(t.waits for t in operands):
        act(frame, Launch(frame.stream), told=False)
    made = combine(operands)
    other = right if b is None else left
    dtype = made.dtype if len(operands) == 2 else promoted(operands[0].dtype, other)
    if isinstance(op, ast.Div):
        dtype = "float"
    ndim = broadcast(operands) if len(operands) == 2 or is_number(other) else None
    if isinstance(op, ast.MatMult) and ndim is not None:
        ndim = 0 if ndim == 1 else ndim - any(t.ndim == 1 for t in operands)
    made = made.but(dtype=dtype, ndim=ndim, memory=None, pending=False)
    if made.place == CPU and any(t.memory for t in operands):
        return made.but(memory="pageable", size=sizes.of_result(operands))
    return made


def promoted(dtype: str | None, other: Value) -> str | None:
    if not is_number(other):
        return dtype if dtype == "float" else None
    kind = number_kind(other)
    return dtype if dtype is None else wider(dtype, kind)


def broadcast(operands: list[Tensor]) -> int | None:
    dims = [t.ndim for t in operands]
    return None if None in dims else max(dims)  # type: ignore[type-var]


def joined_dtype(dtypes: set[str | None]) -> str | None:
    """Return the dtype that operands of these dtypes give; float wins even over one that is not known."""
    known = [d for d in dtypes if d is not None]
    if len(known) == len(dtypes):
        return max(known, key=NUMBER_ORDER.index)
    return "float" if "float" in known else None


def combine(operands: list[Tensor]) -> Tensor:
    """Return the result of an operation over several: on the device of those that are not 0-dim host tensors."""
    strong = [t for t in operands if not (t.place == CPU and t.ndim == 0)] or operands
    on_gpu = [t for t in strong if t.place & GPU and not t.place & CPU] or [t for t in strong if t.place & GPU]
    lead = next((t for t in on_gpu if t.place == CUDA), on_gpu[0] if on_gpu else strong[0])
    dtypes = {t.dtype for t in operands}
    return Tensor(lead.place, joined_dtype(dtypes), broadcast(operands), lead.why, lead.sure)


IDENTITY = (ast.Is, ast.IsNot)
MEMBERSHIP = (ast.In, ast.NotIn)


def compared(
    left: Value, right: Value, op: ast.cmpop, left_node: ast.expr, right_node: ast.expr, frame: Frame
) -> Value:
    if isinstance(op, IDENTITY):
        return identity(left, right, op)
    if isinstance(op, MEMBERSHIP):
        return membership(left, right, left_node, right_node, frame)
    if isinstance(left, Sequence) and isinstance(right, Sequence) and isinstance(op, (ast.Eq, ast.NotEq)):
        return elements_compared(left, right, left_node, right_node, frame)
    a, b = tensor_in(left), tensor_in(right)
    if a is not None or b is not None:
        if isinstance(op, (ast.Eq, ast.NotEq)) and (right is NONE or isinstance(right, (Text, Sequence, Mapping))):
            return BOOL
        operands = [t for t in (a, b) if t is not None]
        for operand, where in ((a, left_node), (b, right_node)):
            if operand is not None and operand.buffers is not None:
                read_operand(operand, "comparison", where, frame)
        other = right if b is None else left
        ndim = broadcast(operands) if len(operands) == 2 or is_number(other) else None
        return combine(operands).but(dtype="bool", ndim=ndim)
    if isinstance(left, Const) and isinstance(right, Const) and isinstance(op, (ast.Eq, ast.NotEq)):
        return Const((left.value == right.value) is isinstance(op, ast.Eq))
    if isinstance(left, Array) or isinstance(right, Array):
        return ARRAY
    unknown = isinstance(left, UnknownValue) or isinstance(right, UnknownValue)
    if not unknown or isinstance(left, (Text, Device, Dtype)) or isinstance(right, (Text, Device, Dtype)):
        return BOOL
    return HOST_COMPARISON if on_host(left) or on_host(right) else UNKNOWN_COMPARISON


def is_text(value: Value) -> bool:
    """Return whether a value is a string."""
    return isinstance(value, Text) or (isinstance(value, Const) and isinstance(value.value, str))


LISTS_COMPARED = "list comparison"


def elements_compared(
    left: Sequence, right: Sequence, left_node: ast.expr, right_node: ast.expr, frame: Frame
) -> Value:
    """Lists of one length are equal if all their elements are: the comparison of each pair is tested."""
    if left.items is not None and right.items is not None and len(left.items) != len(right.items):
        return BOOL
    for side, other, node in ((left, right, left_node), (right, left, right_node)):
        parts = node.elts if isinstance(node, (ast.List, ast.Tuple)) else []
        whole = len(parts) == len(side.parts())
        against = other.parts() if len(other.parts()) == len(side.parts()) else (other.each(),) * len(side.parts())
        for position, (value, partner) in enumerate(zip(side.parts(), against, strict=True)):
            found = tensor_in(value)
            if found is None or (isinstance(partner, (Const, Text, Sequence, Mapping)) and not is_number(partner)):
                continue  # what is no number is unequal without a look at the value
            if read(found, "builtin", LISTS_COMPARED, parts[position] if whole else node, frame):
                return BOOL
    return BOOL


def identity(left: Value, right: Value, op: ast.cmpop) -> Value:
    if right.key != NONE.key:
        return BOOL
    options = members(left)
    none = [m.key == NONE.key for m in options]
    if all(none):
        return Const(isinstance(op, ast.Is))
    if not any(none) and not any(isinstance(m, UnknownValue) for m in options) and not tensors(left):
        return Const(isinstance(op, ast.IsNot))
    return BOOL


def membership(left: Value, right: Value, left_node: ast.expr, right_node: ast.expr, frame: Frame) -> Value:
    container = tensor_in(right)
    if is_text(left):
        return BOOL  # a tensor holds no strings: what is asked has other entries, whatever else it may be
    if container is not None:
        if not any(isinstance(m, Mapping) for m in members(right)):
            read(container, "builtin", "in", right_node, frame)
        return BOOL
    if isinstance(right, Sequence) and right.kind != "set":
        found = tensor_in(left)
        if found is not None:
            read(found, "builtin", "in", left_node, frame)
        else:
            element = tensor_in(right.each())
            if element is not None:
                read(element, "builtin", "in", right_node, frame)
    return BOOL


def held(value: Value) -> Value:
    """Return what a container gives back: a list that went in empty may have been filled through the container."""
    if isinstance(value, Sequence) and value.items == () and value.kind == "list":
        return Sequence("list", element=value.element)
    return value


def iterated(value: Value) -> Value:
    """Return what iterating over a value yields."""
    if isinstance(value, Tensor):
        return value.but(ndim=value.ndim - 1 if value.ndim else None)
    if isinstance(value, Sequence):
        return held(value.each())
    if isinstance(value, Mapping):
        return TEXT if value.items and all(isinstance(k, str) for k in value.items) else UNKNOWN
    if isinstance(value, Array):
        return ARRAY
    if isinstance(value, Text):
        return TEXT
    if isinstance(value, Union):
        return join_all([iterated(m) for m in value.members if m is not NONE])
    return HOST_DATA if on_host(value) else UNKNOWN
