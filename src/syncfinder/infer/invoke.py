"""Call expressions: arguments, and callees of every kind."""

from __future__ import annotations

import ast
from typing import cast

from syncfinder.infer import policy
from syncfinder.infer.attributes import attribute_of
from syncfinder.infer.calls import Arguments, call_bound, call_function, instantiate
from syncfinder.infer.classes import find_method
from syncfinder.infer.dispatch import E, evaluate
from syncfinder.infer.frame import Frame
from syncfinder.infer.hazards import handed
from syncfinder.infer.measuring import CLOCKS, WAITS, unknown_called
from syncfinder.infer.names import ACCELERATORS, path_of
from syncfinder.infer.pending import FLOW
from syncfinder.infer.values import (
    HOST_DATA,
    NONE,
    UNKNOWN,
    Api,
    Bound,
    Callback,
    Class,
    Flag,
    Function,
    Instance,
    Library,
    Mapping,
    Method,
    ModuleValue,
    Partial,
    Sequence,
    Super,
    Union,
    UnknownValue,
    Value,
    is_number,
    join_all,
)


def call(node: ast.Call, frame: Frame) -> Value:
    func = node.func
    if not node.args and not node.keywords and policy.asks_for_other_platform(func):
        return Flag(False)
    if policy.asks_for_pinned_memory(func):
        return Flag(True)
    if type(func) is ast.Attribute:
        base = evaluate_base(func, frame)
        arguments = arguments_of(node, frame)
        if type(base) is Path:
            value = call_value(base.value, arguments, node, frame)
        else:
            value = call_method(base, method_name(base, func.attr), arguments, node, frame)
        return value if value is not UNKNOWN else made_by_unknown(func, arguments, node, frame)
    callee = evaluate(func, frame)
    if type(callee) is Api and callee.name == "builtins.super":
        return super_value(frame)
    arguments = arguments_of(node, frame)
    value = call_value(callee, arguments, node, frame)
    return value if value is not UNKNOWN else made_by_unknown(func, arguments, node, frame)


def method_name(base: Value, name: str) -> str:
    """Return the name that torch knows a method by: `x.npu()` moves as `x.cuda()` does."""
    if name not in ACCELERATORS or isinstance(base, (ModuleValue, Api, Class)):
        return name
    return name if isinstance(base, Instance) and find_method(base.cls, name) is not None else "cuda"


def made_by_unknown(func: ast.expr, arguments: Arguments, node: ast.Call, frame: Frame) -> Value:
    """What comes out of an unknown call: what prepares data, or is asked for tensors on the CPU, gives host tensors."""
    if frame.pace != WAITS or CLOCKS in frame.env:
        unknown_called(func, arguments, node, frame)
    if FLOW in frame.env:
        handed(func, arguments, node, frame)
    if policy.makes_host_values(func, arguments):
        return HOST_DATA
    moves = isinstance(func, ast.Attribute) and func.attr in MOVES
    return HOST_DATA if not moves and policy.asks_for_host(arguments) else UNKNOWN


MOVES = {"to", "cpu", "cuda", "to_empty"}  # of a module as well, which is no tensor


class Path(Value):
    """A callee found under its whole path (an attribute assigned in this function)."""

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.value = value
        self.key = value.key


def evaluate_base(func: ast.Attribute, frame: Frame) -> Value:
    if "." in frame.env:
        path = path_of(func)
        if path is not None and path in frame.env:
            return Path(frame.env[path])
    return evaluate(func.value, frame)


def arguments_of(node: ast.Call, frame: Frame) -> Arguments:
    """Evaluate a call's arguments in order; known sequences and mappings behind stars are spread."""
    out = Arguments([], [])
    for argument in node.args:
        if type(argument) is ast.Starred:
            spread(evaluate(argument.value, frame), argument.value, out)
        else:
            out.values.append(evaluate(argument, frame))
            out.nodes.append(argument)
    for keyword in node.keywords:
        value = evaluate(keyword.value, frame)
        if keyword.arg is not None:
            out.keywords[keyword.arg] = value
            out.keyword_nodes[keyword.arg] = keyword.value
        elif isinstance(value, Mapping) and value.items is not None:
            for key, item in value.items.items():
                if isinstance(key, str):
                    out.keywords.setdefault(key, item)
                    out.keyword_nodes.setdefault(key, keyword.value)
            out.open = out.open or value.element is not None
        else:
            out.open = True
    return out


def spread(value: Value, node: ast.expr, out: Arguments) -> None:
    if isinstance(value, Sequence) and value.items is not None:
        out.values.extend(value.items)
        out.nodes.extend([node] * len(value.items))
    else:
        out.open = True


def super_value(frame: Frame) -> Value:
    """Return what `super()` is in a method; Unknown outside of one."""
    if frame.owner is None or frame.function is None:
        return UNKNOWN
    args = frame.function.node.args
    first = args.args[0].arg if args.args else "self"
    receiver = frame.lookup(first)
    return Super(frame.owner, receiver if receiver is not None else UNKNOWN)


def call_method(base: Value, name: str, arguments: Arguments, node: ast.Call, frame: Frame) -> Value:
    """Return `base.name(arguments)`."""
    # libraries and methods call values themselves
    from syncfinder.infer.library_objects import library_method
    from syncfinder.infer.methods import METHODS

    if isinstance(base, Union):
        rest = [m for m in base.members if m is not NONE and not is_number(m)]
        return join_all([call_method(m, name, arguments, node, frame) for m in rest])
    handler = METHODS.get(type(base))
    if handler is not None:
        return cast(Value, handler(base, name, arguments, node, frame))
    if isinstance(base, Library):
        return library_method(base, name, arguments, node, frame)
    return call_value(attribute_of(base, name, frame, node.func), arguments, node, frame)


def call_value(callee: Value, arguments: Arguments, node: ast.expr, frame: Frame) -> Value:
    """Return the result of calling a value."""
    # libraries and methods call values themselves
    from syncfinder.infer.libraries import call_api
    from syncfinder.infer.library_objects import call_library, library_method
    from syncfinder.infer.methods import METHODS

    if isinstance(callee, UnknownValue):
        return UNKNOWN
    if isinstance(callee, Function):
        return call_function(callee, arguments, node, frame)
    if isinstance(callee, Bound):
        return call_bound(callee, arguments, node, frame)
    if isinstance(callee, Api):
        return call_api(callee, arguments, node, frame)
    if isinstance(callee, Class):
        return instantiate(callee, arguments, node, frame)
    if isinstance(callee, Library):
        return call_library(callee, arguments, node, frame)
    if isinstance(callee, Method):
        handler = METHODS.get(type(callee.receiver))
        if handler is not None and isinstance(node, ast.Call):
            return cast(Value, handler(callee.receiver, callee.name, arguments, node, frame))
        if isinstance(callee.receiver, Library):
            return library_method(callee.receiver, callee.name, arguments, node, frame)
        return UNKNOWN
    if isinstance(callee, Instance):
        return call_instance(callee, arguments, node, frame)
    if isinstance(callee, Partial):
        values = [*callee.arguments, *arguments.values]
        nodes = [*[None] * len(callee.arguments), *arguments.nodes]
        keywords = {**callee.keywords, **arguments.keywords}
        return call_value(
            callee.function, Arguments(values, nodes, keywords, arguments.keyword_nodes, arguments.open), node, frame
        )
    if isinstance(callee, Callback):
        return callee.result
    if isinstance(callee, Union):
        return join_all([call_value(m, arguments, node, frame) for m in callee.members if m is not NONE])
    return UNKNOWN


def call_instance(callee: Instance, arguments: Arguments, node: ast.expr, frame: Frame) -> Value:
    for method_name in ("__call__", "forward"):
        method = find_method(callee.cls, method_name)
        if method is not None:
            return call_function(method, arguments.before(callee), node, frame)
    return UNKNOWN


E[ast.Call] = call
