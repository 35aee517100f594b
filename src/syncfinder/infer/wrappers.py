"""The project's own wrappers: what a call does that the settings (`models`) speak of, in place of the callee's body."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from syncfinder.infer.reading import formattable, read
from syncfinder.infer.values import (
    ARRAY,
    ASSUMED,
    BOOL,
    CERTAIN,
    CPU,
    CUDA,
    FLOAT,
    LIKELY,
    NONE,
    TEXT,
    UNKNOWN,
    Device,
    Function,
    Sequence,
    Tensor,
    Value,
)

if TYPE_CHECKING:
    from syncfinder.infer.calls import Arguments
    from syncfinder.infer.frame import Frame
    from syncfinder.keys import Wrapper

PLACES = {"cuda": CUDA, "cpu": CPU, "pinned": CPU, "tensor": ASSUMED, "device": ASSUMED}
PLAIN: dict[str, Value] = {
    "number": FLOAT, "bool": BOOL, "text": TEXT, "list": Sequence("list"), "array": ARRAY, "nothing": NONE,
}  # fmt: skip


def dotted_name(function: Function) -> str:
    """Return a function's name from its outermost package on: pkg.mod.Class.method."""
    return f"{function.module.name}.{function.qualname}"


def call_wrapper(
    wrapper: Wrapper, name: str, function: Function | None, arguments: Arguments, node: ast.expr, frame: Frame
) -> Value:
    """Return the result of a call as the settings say it, and publish the waits that they speak of."""
    if wrapper.waits:
        frame.publish("device-wait", node, name, None)
    given = None if wrapper.reads is None else argument(wrapper.reads, function, arguments)
    for tensor in formattable(given) if given is not None else ():
        read(tensor, "check", name, node, frame)
    return result(wrapper.returns, name, node, frame)


def argument(wanted: str | int, function: Function | None, arguments: Arguments) -> Value | None:
    """Return what a call gives for a parameter. Where nobody knows the signature, a name means the first argument."""
    names: list[str] = []
    skipped = 0
    if function is not None:
        names = [a.arg for a in (*function.node.args.posonlyargs, *function.node.args.args)]
        skipped = int(function.owner is not None and function.kind != "static")
    if isinstance(wanted, int):
        position = wanted + skipped
        name = names[position] if position < len(names) else ""
    else:
        name = wanted
        position = names.index(name) if name in names else len(arguments.values) if names else 0
    return arguments.get(position, name)


def result(said: str | None, name: str, node: ast.expr, frame: Frame) -> Value:
    if said is None:
        return UNKNOWN
    if said in PLAIN:
        return PLAIN[said]
    place = PLACES[said.split()[0]]
    why = frame.reason(f"`{name}` returns a {said} by the settings", node)
    if said.endswith("device"):
        return Device(place, why)
    sure = LIKELY if place == ASSUMED else CERTAIN
    return Tensor(place, why=why, sure=sure, memory="pinned" if said == "pinned tensor" else None)
