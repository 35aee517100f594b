"""What a rewriter asks of expressions: what their value is, whether they may be computed more often, their code."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

import libcst as cst

from syncfinder.rules.rewrites.rewrite import source
from syncfinder.rules.wording import Spot, bare, dotted, last_name, on_torch, receiver
from syncfinder.sites.site import Known

Found = TypeVar("Found", bound=cst.CSTNode)

_NUMBER = Known("number", sure="certain")
# Element-wise functions and methods that are cheap, have no effects, and give a tensor like their first operand.
ELEMENTWISE = frozenset([
    "abs", "ceil", "clamp", "clip", "clone", "contiguous", "detach", "exp", "floor", "full_like", "log", "logical_not",
    "masked_fill", "maximum", "minimum", "mul", "nan_to_num", "neg", "ones_like", "relu", "round", "rsqrt", "sigmoid",
    "sign", "sqrt", "square", "tanh", "to", "where", "zeros_like",
])  # fmt: skip
# Methods without arguments that give one element.
_REDUCTIONS = frozenset(["all", "amax", "amin", "any", "argmax", "argmin", "max", "mean", "min", "norm", "prod", "sum"])
_LIMITS = ("finfo", "iinfo")
COMPREHENSIONS = (cst.ListComp, cst.SetComp, cst.DictComp, cst.GeneratorExp)
# What binds less than an attribute, a call, a subscript or a unary operator.
_LOOSE = (
    cst.BinaryOperation, cst.BooleanOperation, cst.Comparison, cst.UnaryOperation, cst.IfExp, cst.Lambda, cst.Await,
    cst.NamedExpr, cst.Yield,
)  # fmt: skip
_PURE_OPERATIONS = (cst.UnaryOperation, cst.BinaryOperation)


def text(node: cst.BaseExpression) -> str:
    """Return an expression's whole code without parentheses around it, where one may stand: an argument, a value."""
    code = source(node)
    return bare(code) if "\n" not in code and not isinstance(node, (cst.Tuple, cst.GeneratorExp)) else code


def tight(node: cst.BaseExpression) -> str:
    """Return an expression's whole code so that an attribute, a call or an operator can be put to it."""
    code = source(node)
    number = isinstance(node, (cst.Integer, cst.Float, cst.Imaginary))
    return f"({code})" if not node.lpar and (number or isinstance(node, _LOOSE)) else code


def short(code: str) -> str:
    """Return code on one line, for a message."""
    return " ".join(code.split())


def on_gpu(what: Known) -> bool:
    """Tell whether a value is a tensor that is, or is taken to be, on the GPU."""
    return what.kind == "tensor" and what.place in ("cuda", "assumed")


def is_read(spot: Spot, node: cst.BaseExpression) -> bool:
    """Tell whether host data come from the GPU: `t.tolist()`, `t.item()`, a list of tensors."""
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        return last_name(node.func) in ("item", "tolist") and on_gpu(known(spot, node.func.value))
    return on_gpu(spot.site.facts.get("known", {}).get("element", Known()))


def inside(node: cst.CSTNode, *kinds: type[Found]) -> list[Found]:
    """Return the nodes of these types in a node, itself among them, outer ones first."""
    finder = _Finder(kinds)
    node.visit(finder)
    return finder.found


class _Finder(cst.CSTVisitor):
    def __init__(self, kinds: tuple[type, ...]) -> None:
        super().__init__()
        self.kinds = kinds
        self.found: list[Any] = []

    def on_visit(self, node: cst.CSTNode) -> bool:
        if isinstance(node, self.kinds):
            self.found.append(node)
        return True


def same(a: cst.CSTNode, b: cst.CSTNode) -> bool:
    """Tell whether two expressions are written alike; layout and parentheses around them do not count."""
    return _plain(a) == _plain(b)


def _plain(node: cst.CSTNode) -> str:
    return bare(" ".join(source(node).split()))


def is_path(node: cst.CSTNode) -> bool:
    """Tell whether an expression is a name or a chain of attributes."""
    return dotted(node) != ""


def known(spot: Spot, node: cst.BaseExpression) -> Known:
    """Return what is known of a simple expression's value in front of the site's statement."""
    if isinstance(node, (cst.Integer, cst.Float, cst.Imaginary)):
        return _NUMBER
    if isinstance(node, cst.Name) and node.value in ("True", "False"):
        return Known("number", dtype="bool", sure="certain")
    path = dotted(node)
    if path:
        names: dict[str, Known] = spot.site.facts.get("names", {})
        return names.get(path, Known())
    if isinstance(node, cst.Attribute) and isinstance(node.value, cst.Call):
        return _NUMBER if last_name(node.value.func) in _LIMITS else Known()
    if isinstance(node, cst.Subscript) and plain_index(node):
        base = known(spot, node.value)
        return replace(base, ndim=None) if base.kind == "tensor" else Known()
    if isinstance(node, cst.UnaryOperation) and not isinstance(node.operator, cst.Not):
        return known(spot, node.expression)
    if isinstance(node, cst.BinaryOperation):
        return _combined(known(spot, node.left), known(spot, node.right))
    if isinstance(node, cst.Call) and last_name(node.func) in ELEMENTWISE:
        return _called(spot, node)
    if isinstance(node, cst.Call) and last_name(node.func) in _REDUCTIONS and not node.args:
        return replace(_called(spot, node), ndim=0)
    return Known()


def _combined(left: Known, right: Known) -> Known:
    kinds = {left.kind, right.kind}
    if kinds == {"number"}:
        return _NUMBER
    if kinds == {"tensor"}:
        return left if left.ndim is not None and right.ndim == 0 else right if left.ndim == 0 else left.agreed(right)
    if kinds == {"tensor", "number"}:
        tensor = left if left.kind == "tensor" else right
        return tensor if tensor.dtype == "float" else Known("tensor", tensor.place, None, tensor.ndim, tensor.sure)
    return Known()


def _called(spot: Spot, call: cst.Call) -> Known:
    owner = receiver(call)
    operands = [owner] if owner is not None else [a.value for a in call.args if a.keyword is None]
    found = [known(spot, operand) for operand in operands]
    tensor = next((k for k in found if k.kind == "tensor"), Known())
    return replace(tensor, dtype=None)


def pure(node: cst.BaseExpression) -> bool:
    """Tell whether an expression is cheap and has no effects: names, numbers, arithmetic, element-wise functions."""
    if isinstance(node, (cst.Integer, cst.Float, cst.Imaginary, cst.Name)):
        return True
    if isinstance(node, cst.Attribute):
        return pure(node.value) or (isinstance(node.value, cst.Call) and last_name(node.value.func) in _LIMITS)
    if isinstance(node, cst.UnaryOperation):
        return pure(node.expression)
    if isinstance(node, cst.BinaryOperation):
        return pure(node.left) and pure(node.right)
    if isinstance(node, cst.Subscript):
        return pure(node.value) and plain_index(node)
    if isinstance(node, cst.Call):
        return _pure_call(node)
    return isinstance(node, cst.SimpleString)


def _pure_call(call: cst.Call) -> bool:
    if last_name(call.func) not in ELEMENTWISE or any(arg.star for arg in call.args):
        return False
    owner = call.func.value if isinstance(call.func, cst.Attribute) else None
    if owner is None or not (on_torch(call) or pure(owner)):
        return False
    return all(pure(arg.value) for arg in call.args)


def plain_index(node: cst.Subscript) -> bool:
    """Tell whether a subscript has slices and whole numbers only, so that a tensor's part is no copy."""

    def host(part: cst.BaseSlice) -> bool:
        if isinstance(part, cst.Slice):
            bounds = (part.lower, part.upper, part.step)
            return all(b is None or _whole(b) for b in bounds)
        return isinstance(part, cst.Index) and (_whole(part.value) or isinstance(part.value, cst.Ellipsis))

    return all(host(element.slice) for element in node.slice)


def _whole(node: cst.BaseExpression) -> bool:
    negative = isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Minus)
    return isinstance(node.expression if negative else node, cst.Integer)  # type: ignore[attr-defined]


def string(node: cst.BaseExpression | None) -> str | None:
    """Return the code of a message as a plain string: an f-string's braces stay as they are written. None for others.

    Building an f-string costs time in every call, and may itself read a tensor.
    """
    if node is not None and node.lpar:
        node = node.with_changes(lpar=(), rpar=())
    if isinstance(node, cst.SimpleString):
        return source(node)
    if isinstance(node, cst.FormattedString):
        return node.start.replace("f", "").replace("F", "") + source(node)[len(node.start) :]
    if isinstance(node, cst.ConcatenatedString):
        parts = string(node.left), string(node.right)
        return " ".join(p for p in parts if p) if None not in parts else None
    return None
