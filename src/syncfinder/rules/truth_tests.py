"""SF104: Python wants to know whether a tensor is true."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import libcst as cst

from syncfinder.rules.wording import FamilyVisitor, Spot, Wording, Words, atom, code


def _truth(spot: Spot) -> Words:
    """Word the test by the construct that makes it: the nearest ancestor that has a place for a truth value."""
    node: cst.CSTNode = spot.node
    if isinstance(node, cst.Comparison) and len(node.comparisons) > 1:
        return _chain(spot, node)
    if isinstance(node, cst.Call) and _is_bool(node):
        return _bool(spot, node)
    for parent in (node, *spot.parents):
        if isinstance(parent, cst.BaseStatement) and not isinstance(parent, (cst.If, cst.While)):
            break
        words = _by_construct(spot, parent, node)
        if words is not None:
            return words
        node = parent
    if any(isinstance(p, cst.UnaryOperation) and isinstance(p.operator, cst.Not) for p in spot.parents):
        return _message(spot, "what `not` makes of it"), f"`torch.logical_not({spot.text})` stays on the device"
    return _message(spot, "whether it is true"), _BRANCH.format(spot.text)


_BRANCH = "keep the choice on the device: `torch.where({0}, a, b)`, or move the test out of the hot path"


def _message(spot: Spot, what: str, text: str | None = None) -> str:
    return f"`{text or spot.text}` {spot.place}: the host waits to know {what}"


def _by_construct(spot: Spot, parent: cst.CSTNode, child: cst.CSTNode) -> Words | None:
    """`child` is the part of `parent` that the site stands in."""
    text = spot.text
    if isinstance(parent, cst.If) and parent.test is child:
        return _message(spot, "which branch to take"), _BRANCH.format(text)
    if isinstance(parent, cst.While) and parent.test is child:
        return _message(spot, "whether to go on"), (
            "run a number of steps that the host knows and mask what is finished, or test a pinned copy one step old"
        )
    if isinstance(parent, cst.Assert):
        return _message(spot, "whether the assertion holds"), (
            f"`torch._assert_async({text})` checks on the device (private API; a failure kills the context, later), "
            "or check while debugging only"
        )
    if isinstance(parent, cst.IfExp):
        return _ternary(spot, parent, child)
    if isinstance(parent, cst.BooleanOperation) and parent.left is child:
        return _and_or(spot, parent)
    if isinstance(parent, cst.CompIf):
        return _message(spot, "whether to keep the element"), (
            "build one mask on the device and apply it with `torch.where`, instead of a test per element"
        )
    if isinstance(parent, cst.Comparison) and len(parent.comparisons) > 1:
        return _chain(spot, parent)
    if isinstance(parent, cst.Call) and _is_bool(parent):
        return _bool(spot, parent)
    return None


def _is_bool(call: cst.Call) -> bool:
    return isinstance(call.func, cst.Name) and call.func.value == "bool" and len(call.args) == 1


def _ternary(spot: Spot, choice: cst.IfExp, child: cst.CSTNode) -> Words | None:
    if choice.test is not child:
        return None
    a, b = code(choice.body), code(choice.orelse)
    message = _message(spot, f"whether to take `{a}` or `{b}`")
    return message, f"`torch.where({code(choice.test)}, {a}, {b})` chooses on the device"


def _and_or(spot: Spot, operation: cst.BooleanOperation) -> Words:
    word = "and" if isinstance(operation.operator, cst.And) else "or"
    left, right = code(operation.left), code(operation.right)
    message = _message(spot, f"whether `{word}` needs its other side")
    return (
        message,
        f"`torch.logical_{word}({left}, {right})` combines two tensors on the device; test once, as late as possible",
    )


def _chain(spot: Spot, comparison: cst.Comparison) -> Words:
    parts, left = [], comparison.left
    for target in comparison.comparisons:
        operator = code(cst.Comparison(left=cst.Name("a"), comparisons=[target.with_changes(comparator=cst.Name("b"))]))
        parts.append(f"({code(left)} {operator[2:-2]} {code(target.comparator)})")
        left = target.comparator
    message = _message(spot, "whether to go on to its next comparison", code(comparison))
    return message, f"`{' & '.join(parts)}` compares on the device"


def _bool(spot: Spot, call: cst.Call) -> Words:
    tensor = atom(call.args[0].value)
    return _message(
        spot, "whether it is true", tensor
    ), f"keep `{tensor}` a tensor, and choose with `torch.where({tensor}, a, b)`"


class TruthTests(FamilyVisitor):
    """Words the truth tests."""

    WORDING: ClassVar[Mapping[str, Wording]] = {"truth": _truth}
