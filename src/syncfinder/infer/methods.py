"""Method calls on tensors, unknown values, containers, strings and arrays."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from syncfinder.infer import classes, overlay, policy
from syncfinder.infer.attributes import attribute_of
from syncfinder.infer.binding import rebind
from syncfinder.infer.calls import Arguments, call_bound, call_heirs
from syncfinder.infer.frame import Frame
from syncfinder.infer.hazards import host_access, write_operand
from syncfinder.infer.invoke import call_value
from syncfinder.infer.library_objects import library_method
from syncfinder.infer.names import last_name
from syncfinder.infer.operators import iterated
from syncfinder.infer.pending import CURRENT
from syncfinder.infer.reading import formattable, read
from syncfinder.infer.sight import surprise
from syncfinder.infer.torchcalls import VIEWS, call_row, device_of, truthy
from syncfinder.infer.values import (
    ARRAY,
    ASSUMED,
    BOOL,
    CPU,
    CUDA,
    FLOAT,
    GPU,
    HOST_COMPARISON,
    INT,
    LIKELY,
    NONE,
    TEXT,
    UNKNOWN,
    UNKNOWN_COMPARISON,
    Array,
    Bound,
    Const,
    Device,
    Instance,
    Library,
    Mapping,
    Method,
    Sequence,
    Super,
    Tensor,
    Text,
    UnknownValue,
    Value,
    join_all,
    tensor_in,
    tensors,
)

# Receivers' names that log: a tensor given to them is formatted.
LOGGERS = {"log", "logger", "logging", "_logger", "_log", "LOG", "LOGGER"}
LOG_METHODS = {"debug", "info", "warning", "warn", "error", "critical", "exception", "log", "info_once", "warning_once"}


def tensor_method(base: Tensor, name: str, arguments: Arguments, node: ast.Call, frame: Frame) -> Value:
    """Return the result of a tensor's method: by the overlay, else by the table."""
    special = overlay.METHODS.get(name)
    if special is not None:
        return special(base, arguments, node, frame)
    row = frame.project.model.method(name)
    if row is None:
        return UNKNOWN
    receiver = node.func.value if isinstance(node.func, ast.Attribute) else None
    made = call_row(row, arguments.before(base, receiver), node, frame)
    if name.endswith("_") and not name.endswith("__") and isinstance(made, Tensor):
        if base.buffers is not None and name not in VIEWS:
            write_operand(base, row.name, node, frame)
        return base.but(ndim=made.ndim)
    if base.buffers is not None and name in VIEWS and isinstance(made, Tensor) and made.place == base.place:
        return made.but(buffers=base.buffers, memory=base.memory)
    return made


def evidence(name: str, base: UnknownValue, node: ast.Call, frame: Frame) -> Tensor:
    why = frame.reason(f"it has .{name}(), which tensors have", node)
    place = CPU if frame.host else ASSUMED
    return Tensor(place, "bool" if base.compared else None, why=why, sure=LIKELY)


def unknown_method(base: UnknownValue, name: str, arguments: Arguments, node: ast.Call, frame: Frame) -> Value:
    """A method of something unknown: a tensor if only tensors have it, or one that tells a library class."""
    model = frame.project.model
    receiver = node.func.value if isinstance(node.func, ast.Attribute) else node
    if name in LOG_METHODS and last_name(receiver) in LOGGERS:
        return logged(name, arguments, frame)
    if base.absent:
        return base
    if base.host:
        return host_data_method(base, name, arguments, node, frame)
    if name == "numpy" and is_call_of(receiver, "cpu"):
        read(evidence(name, base, node, frame), "copy", "Tensor.cpu", receiver, frame)
    guess = policy.by_name(name, frame, node)
    if guess is not None:
        return guess
    if model.tensor_only(name) or is_host_copy(name, arguments, receiver, frame):
        return tensor_method(evidence(name, base, node, frame), name, arguments, node, frame)
    if name in policy.READS and not frame.speaks_of_arrays and not frame.host:
        return tensor_method(evidence(name, base, node, frame), name, arguments, node, frame)
    if name == "to" and frame.stream != CURRENT and is_upload(arguments, receiver, frame):
        return tensor_method(evidence(name, base, node, frame), name, arguments, node, frame)
    if name in KEYED and len(arguments.values) > 1:
        return otherwise(arguments.values[1])
    distinctive = policy.event_class(last_name(receiver), name) or model.distinctive.get(name)
    if distinctive is not None:
        return library_method(Library(distinctive), name, arguments, node, frame, LIKELY)
    surprise(name, arguments, node, frame)
    return UNKNOWN_RESULTS.get(name, UNKNOWN)


def host_data_method(base: UnknownValue, name: str, arguments: Arguments, node: ast.Call, frame: Frame) -> Value:
    """A method of a batch, or of a part of one: a tensor's, or a mapping's. Both can be moved to a device."""
    why = frame.reason("a tokenizer or data loader made it on the host", node)
    tensor = Tensor(CPU, why=why, sure=LIKELY)
    if name in ("to", "cuda"):
        moved = tensor_method(tensor, name, arguments, node, frame)
        receiver = node.func.value if isinstance(node.func, ast.Attribute) else node
        return moved if isinstance(receiver, (ast.Subscript, ast.Attribute)) else UNKNOWN
    if frame.project.model.tensor_only(name) or name in policy.READS:
        return tensor_method(tensor, name, arguments, node, frame)
    if name == "items":
        return Sequence("list", element=Sequence("tuple", (TEXT, base)))
    if name in ("keys", "values"):
        return Sequence("list", element=TEXT if name == "keys" else base)
    return HOST_COMPARISON if name == "bool" else UNKNOWN_RESULTS.get(name, base)


# Methods of mappings that return what lies under a key, or their second argument.
KEYED = {"get", "pop", "setdefault"}


def otherwise(default: Value) -> Value:
    """Return what lies under an unknown key: a container is the default of a mapping of such containers."""
    if isinstance(default, Sequence):
        return Sequence(default.kind)
    return Mapping() if isinstance(default, Mapping) else UNKNOWN


UNKNOWN_RESULTS: dict[str, Value] = {
    "numpy": ARRAY,
    "bool": UNKNOWN_COMPARISON,
    "dim": INT,
    "numel": INT,
    "size": UNKNOWN,
    "items": UNKNOWN,
    "format": TEXT,
    "join": TEXT,
}


def is_call_of(node: ast.expr, name: str) -> bool:
    """Return whether an expression calls a method of this name without arguments."""
    return isinstance(node, ast.Call) and not node.args and last_name(node.func) == name


def is_host_copy(name: str, arguments: Arguments, receiver: ast.expr, frame: Frame) -> bool:
    """Return whether `x.cpu()` or `x.to("cpu")` copies a tensor: x is not named like a module."""
    if name == "cpu" and not arguments.values:
        return not policy.named_like_module(receiver)
    if name == "to" and arguments.values:
        found = (
            device_of(arguments.values[0], arguments.nodes[0], frame)
            if isinstance(arguments.values[0], Const)
            else None
        )
        return found is not None and found.place == CPU and not policy.named_like_module(receiver)
    return False


def is_upload(arguments: Arguments, receiver: ast.expr, frame: Frame) -> bool:
    """Return whether `x.to(gpu, non_blocking=True)` moves a tensor: on a stream for copies, it does."""
    device = overlay.target_of(arguments, frame)[0]
    flag = arguments.keywords.get("non_blocking")
    moves = device is not None and bool(device.place & GPU) and truthy(flag)
    named = receiver.value if isinstance(receiver, ast.Subscript) else receiver
    return moves and not policy.named_like_module(named)


def logged(name: str, arguments: Arguments, frame: Frame) -> Value:
    """A logging call formats its arguments if its level is on; debug is off by default."""
    saved = frame.context
    if name == "debug" and saved is None:
        frame.context = "debug"
    for value, where in arguments.every():
        for tensor in tensors(value)[:1]:
            if where is not None:
                read(tensor, "format", f"logging.{name}", where, frame)
    frame.context = saved
    return NONE


def sequence_method(base: Sequence, name: str, arguments: Arguments, node: ast.Call, frame: Frame) -> Value:
    handler = SEQUENCE_METHODS.get(name)
    return handler(base, arguments, node, frame) if handler is not None else UNKNOWN


def grown(base: Sequence, arguments: Arguments, node: ast.Call, frame: Frame, spread: bool = False) -> Value:
    """append, add, insert, extend: the container's elements join what was put in."""
    if not arguments.values:
        return NONE
    added = arguments.values[-1]
    value = iterated(added) if spread else added
    if spread and isinstance(added, Sequence) and added.items == ():
        return NONE
    receiver = node.func.value if isinstance(node.func, ast.Attribute) else None
    method = node.func.attr if isinstance(node.func, ast.Attribute) else "append"
    front = method == "appendleft" or (method == "insert" and arguments.values[0].key == Const(0).key)
    if (
        base.items is not None
        and not frame.repeats
        and not spread
        and len(base.items) < 8
        and (front or method != "insert")
    ):
        value = base.kept(value)
        items = (value, *base.items) if front else (*base.items, value)
        rebind(receiver, Sequence(base.kind, items), frame)
    else:
        rebind(receiver, base.grown(value), frame)
    return NONE


def extended(base: Sequence, arguments: Arguments, node: ast.Call, frame: Frame) -> Value:
    return grown(base, arguments, node, frame, spread=True)


def index_of(base: Sequence, arguments: Arguments, node: ast.Call, frame: Frame) -> Value:
    """list.index, count, remove compare with ==, then test."""
    found = tensor_in(arguments.values[0]) if arguments.values else None
    found = found or tensor_in(base.each())
    if found is not None:
        read(found, "builtin", "list.index", node, frame)
    return INT


def sorted_in_place(base: Sequence, arguments: Arguments, node: ast.Call, frame: Frame) -> Value:
    found = tensor_in(base.each())
    if found is not None and "key" not in arguments.keywords:
        read(found, "builtin", "list.sort", node, frame)
    return NONE


def popped(base: Sequence, arguments: Arguments, node: ast.Call, frame: Frame) -> Value:
    for tensor in tensors(arguments.values[0])[:1] if arguments.values else ():
        read(tensor, "index", "list.pop", node, frame)
    return base.each()


SEQUENCE_METHODS: dict[str, Callable[[Sequence, Arguments, ast.Call, Frame], Value]] = {
    "append": grown, "add": grown, "insert": grown, "appendleft": grown, "extend": extended, "update": extended,
    "index": index_of, "count": index_of, "remove": index_of, "sort": sorted_in_place, "pop": popped,
    "popleft": popped, "copy": lambda b, a, n, f: b, "numel": lambda b, a, n, f: INT, "union": lambda b, a, n, f: b,
    "tolist": lambda b, a, n, f: b, "split": lambda b, a, n, f: Sequence("list", element=TEXT),
}  # fmt: skip


def mapping_method(base: Mapping, name: str, arguments: Arguments, node: ast.Call, frame: Frame) -> Value:
    if name == "items":
        return Sequence("list", element=Sequence("tuple", (iterated(base), base.each())))
    if name == "values":
        return (
            Sequence("list", tuple(base.items.values()))
            if base.items and base.element is None
            else Sequence("list", element=base.each())
        )
    if name == "keys":
        return Sequence("list", element=iterated(base))
    if name in ("get", "pop", "setdefault", "popitem"):
        return mapping_get(base, arguments)
    if name == "update":
        added = arguments.values[0] if arguments.values else Mapping(dict(arguments.keywords))
        if isinstance(added, Mapping):
            items = {**(base.items or {}), **(added.items or {})}
            filled = bool(added.items) or added.element is not None
            extra = [m.element for m in (base, added) if m.element is not None and not (m.empty and filled)]
            rebind(
                node.func.value if isinstance(node.func, ast.Attribute) else None,
                Mapping(items, join_all(extra) if extra else None),
                frame,
            )
        return NONE
    return base if name == "copy" else UNKNOWN


def mapping_get(base: Mapping, arguments: Arguments) -> Value:
    key = arguments.first
    default = arguments.values[1] if len(arguments.values) > 1 else NONE
    if isinstance(default, Const) and isinstance(default.value, bool):
        return BOOL  # among tensors, what is on or off when it is missing is no tensor
    if isinstance(key, Const) and base.items is not None and key.value in base.items:
        return base.items[key.value]
    if base.items and base.element is None and isinstance(key, Const):
        return default
    if base.items and isinstance(key, Const):
        return UNKNOWN
    if isinstance(default, Const) and isinstance(default.value, bool):
        return BOOL
    if base.each() is UNKNOWN and otherwise(default) is not UNKNOWN:
        return otherwise(default)
    return join_all([base.each(), default]) if default is not NONE else base.each()


def text_method(base: Text, name: str, arguments: Arguments, node: ast.Call, frame: Frame) -> Value:
    if name == "format":
        for value, where in arguments.every():
            for tensor in formattable(value)[:1]:
                read(tensor, "format", "str.format", where or node, frame)
        return TEXT
    if name in ("split", "rsplit", "splitlines", "partition"):
        return Sequence("list", element=TEXT)
    return (
        INT
        if name in ("index", "find", "count")
        else TEXT
        if name not in ("startswith", "endswith", "isdigit")
        else UNKNOWN
    )


def const_method(base: Const, name: str, arguments: Arguments, node: ast.Call, frame: Frame) -> Value:
    return text_method(TEXT, name, arguments, node, frame) if isinstance(base.value, str) else UNKNOWN


def array_method(base: Array, name: str, arguments: Arguments, node: ast.Call, frame: Frame) -> Value:
    if base.buffers is not None:
        if name in VIEWS:
            return base
        host_access(base.buffers, name == "fill", f"numpy.ndarray.{name}", node, frame)
    if name == "item":
        return FLOAT
    if name == "tolist":
        return Sequence("list", element=FLOAT)
    return ARRAY


def instance_method(base: Instance, name: str, arguments: Arguments, node: ast.Call, frame: Frame) -> Value:
    """A method of a project class; what its bases in a library give; or a guess by name."""
    callee = attribute_of(base, name, frame, node.func)
    if isinstance(callee, Bound):
        return call_bound(callee, arguments, node, frame)
    if not isinstance(callee, UnknownValue) and not is_own_method(callee, base):
        return call_value(callee, arguments, node, frame)
    if isinstance(callee, UnknownValue):
        given = call_heirs(base.cls, name, arguments, node, frame)
        if given is not None:
            return given
    return module_method(base, name, arguments, node, frame)


def is_own_method(callee: Value, base: Value) -> bool:
    return isinstance(callee, Method) and callee.receiver is base


def module_method(base: Instance, name: str, arguments: Arguments, node: ast.Call, frame: Frame) -> Value:
    """What torch.nn.Module gives to its subclasses."""
    if classes.is_module(base.cls):
        if name in ("register_buffer", "register_parameter"):
            return registered(base, name, arguments, node, frame)
        if name in ("parameters", "buffers"):
            return Sequence("list", element=weight(node, frame))
        if name in ("named_parameters", "named_buffers"):
            return Sequence("list", element=Sequence("tuple", (TEXT, weight(node, frame))))
        if name == "state_dict":
            return Mapping(element=weight(node, frame))
        if name in ("to", "cuda", "cpu", "eval", "train", "half", "float", "bfloat16", "requires_grad_", "apply"):
            return base
    guess = policy.by_name(name, frame, node)
    if guess is not None:
        return guess
    return UNKNOWN if frame.project.model.tensor_only(name) else unknown_instance(name, arguments, node, frame)


def unknown_instance(name: str, arguments: Arguments, node: ast.Call, frame: Frame) -> Value:
    distinctive = frame.project.model.distinctive.get(name)
    if distinctive is not None and name != "synchronize":
        return library_method(Library(distinctive), name, arguments, node, frame, LIKELY)
    return UNKNOWN


def weight(node: ast.AST, frame: Frame) -> Tensor:
    return Tensor(ASSUMED, "float", why=frame.reason("a module's parameters are on the GPU", node), sure=LIKELY)


def registered(base: Instance, name: str, arguments: Arguments, node: ast.Call, frame: Frame) -> Value:
    """register_buffer: a tensor that moves with its module."""
    key = arguments.get(0, "name")
    value = arguments.get(1, "tensor" if name == "register_buffer" else "param")
    if isinstance(key, Const) and isinstance(key.value, str) and value is not None:
        found = tensor_in(value)
        if found is not None and found.place == CPU:
            why = frame.reason(f"`{key.value}` is a buffer: it is on the GPU with its module", node)
            value = found.but(place=ASSUMED, why=why, sure=LIKELY)
        if not frame.partial:
            classes.record(frame.owner or base.cls, key.value, value)
    return NONE


def super_method(base: Super, name: str, arguments: Arguments, node: ast.Call, frame: Frame) -> Value:
    callee = attribute_of(base, name, frame, node.func)
    if isinstance(callee, Bound):
        return call_bound(callee, arguments, node, frame)
    if isinstance(base.receiver, Instance) and is_own_method(callee, base.receiver):
        if name in ("to", "cuda"):
            moved_on(name, arguments, node, frame)
        if name in ("to", "cuda", "cpu", "half", "float"):
            return base.receiver
        return module_method(base.receiver, name, arguments, node, frame)
    return call_value(callee, arguments, node, frame)


def moved_on(name: str, arguments: Arguments, node: ast.Call, frame: Frame) -> None:
    """`super().to(...)` is where a module's own `to` moves its parameters; what is only passed on may be a device."""
    why = frame.reason("a module's parameters are made on the host, and moved here", node)
    target = overlay.target_of(arguments, frame)[0] if name == "to" else Device(CUDA)
    if target is None and arguments.open and not arguments.values:
        target = Device(ASSUMED)
    if target is not None and target.place & GPU:
        frame.publish("module", node, f"torch.nn.Module.{name}", Tensor(target.place, why=why))


METHODS: dict[type, Any] = {
    Tensor: tensor_method, UnknownValue: unknown_method, Sequence: sequence_method, Mapping: mapping_method,
    Text: text_method, Const: const_method, Array: array_method, Instance: instance_method, Super: super_method,
}  # fmt: skip
