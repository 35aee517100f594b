"""Where host tensors come from: factories that could make them on the device, and numbers."""

from __future__ import annotations

import libcst as cst

from syncfinder.rules.rewrites.calls import expression, with_keyword
from syncfinder.rules.rewrites.operands import known
from syncfinder.rules.wording import Spot, dotted, last_name, receiver

# Factories that give the same on every device, those that draw from the device's generator, and those that may round
# differently. (arange is exact for whole numbers.)
_EXACT = frozenset(["empty", "eye", "full", "ones", "tril_indices", "triu_indices", "zeros"])
_RANDOM = frozenset(["rand", "randint", "randn", "randperm"])
_ROUNDED = frozenset([
    "arange", "bartlett_window", "blackman_window", "hamming_window", "hann_window", "kaiser_window", "linspace",
    "logspace",
])  # fmt: skip
# Methods that move no element to another device and compute nothing but a dtype.
_KEEPING = frozenset([
    "bool", "contiguous", "double", "expand", "expand_as", "flatten", "float", "half", "int", "long", "movedim",
    "permute", "repeat", "reshape", "squeeze", "t", "tile", "transpose", "type", "unsqueeze", "view",
])  # fmt: skip


def is_basic(node: cst.Subscript) -> bool:
    """Tell whether an index has slices, whole numbers, None and `...` only, so that it makes a view everywhere."""
    return all(isinstance(e.slice, cst.Slice) or _is_plain(e.slice) for e in node.slice)


def _is_plain(part: cst.BaseSlice) -> bool:
    if not isinstance(part, cst.Index):
        return False
    value = part.value
    if isinstance(value, cst.UnaryOperation) and isinstance(value.operator, cst.Minus):
        value = value.expression
    return isinstance(value, (cst.Integer, cst.Ellipsis)) or (isinstance(value, cst.Name) and value.value == "None")


def origin_of(node: cst.BaseExpression) -> cst.Call | None:
    """Return the call at the beginning of a chain of methods that change shape or dtype only."""
    while True:
        if isinstance(node, cst.Subscript) and is_basic(node):
            node = node.value
        elif isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
            if last_name(node.func) in _KEEPING and receiver(node) is not None:
                node = node.func.value
            else:
                return node
        else:
            return None


def created_on(spot: Spot, made: cst.BaseExpression, device: str) -> tuple[cst.BaseExpression, list[str]] | None:
    """Return what a factory and methods behind it make, made on a device, and what must hold; None for no factory."""
    origin = origin_of(made)
    if origin is None or not dotted(origin.func).startswith("torch."):
        return None
    name, keywords = last_name(origin.func), {a.keyword.value for a in origin.args if a.keyword is not None}
    if name not in _EXACT | _RANDOM | _ROUNDED or keywords & {"generator", "out", "requires_grad"}:
        return None
    needs = []
    counted = name == "arange" and all(whole_number(spot, a.value) for a in origin.args if a.keyword is None)
    if name in _RANDOM:
        needs.append("other random numbers will do: the GPU has a generator of its own")
    elif name in _ROUNDED and not counted:
        needs.append("a difference in the last bit will do: the GPU may round differently")
    new = with_keyword(origin, "device", expression(device), drop=("pin_memory",))
    return put_for(made, origin, new), needs


def put_for(whole: cst.BaseExpression, part: cst.Call, new: cst.Call) -> cst.BaseExpression:
    """Return an expression with a call in it replaced by another one."""
    if whole is part:
        return new
    there = whole.deep_replace(part, new)
    assert isinstance(there, cst.BaseExpression)
    return there


def python_number(node: cst.BaseExpression) -> bool:
    """Tell whether an expression is certainly a number of Python's own, not one of NumPy."""
    if isinstance(node, (cst.Integer, cst.Float)) or (isinstance(node, cst.Name) and node.value in ("True", "False")):
        return True
    if isinstance(node, cst.UnaryOperation):
        return isinstance(node.operator, cst.Not) or python_number(node.expression)
    if isinstance(node, cst.BinaryOperation):
        return python_number(node.left) and python_number(node.right)
    if isinstance(node, cst.Call):
        return dotted(node.func) in ("len", "int", "float", "bool") or _is_size(node)
    if isinstance(node, cst.Subscript):
        return _is_extent(node)
    if isinstance(node, cst.Attribute):
        limits = isinstance(node.value, cst.Call) and last_name(node.value.func) in ("finfo", "iinfo")
        return limits or node.attr.value == "ndim" or dotted(node).startswith("math.")
    return False


def _is_size(node: cst.Call) -> bool:
    """Tell whether a call is `x.size(i)`, `x.numel()` or `x.dim()`; `x.size()` is a tuple."""
    return last_name(node.func) in ("numel", "dim") or (last_name(node.func) == "size" and len(node.args) == 1)


def _is_extent(node: cst.Subscript) -> bool:
    """Tell whether a subscript is `x.shape[i]`."""
    one = len(node.slice) == 1 and isinstance(node.slice[0].slice, cst.Index)
    return one and isinstance(node.value, cst.Attribute) and node.value.attr.value == "shape"


def whole_number(spot: Spot, node: cst.BaseExpression) -> bool:
    """Tell whether a number is certainly a whole one."""
    if isinstance(node, cst.BinaryOperation):
        exact = isinstance(node.operator, (cst.Add, cst.Subtract, cst.Multiply, cst.FloorDivide, cst.Modulo))
        return exact and whole_number(spot, node.left) and whole_number(spot, node.right)
    if isinstance(node, cst.UnaryOperation):
        return whole_number(spot, node.expression)
    if isinstance(node, cst.Call):
        return dotted(node.func) in ("len", "int") or _is_size(node)
    if isinstance(node, cst.Subscript):
        return python_number(node)
    return isinstance(node, cst.Integer) or known(spot, node).dtype == "int"
