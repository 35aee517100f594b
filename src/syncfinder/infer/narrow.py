"""Truth tests and narrowing: what a branch knows of the values that its condition speaks of."""

from __future__ import annotations

import ast
from typing import Any

from syncfinder.infer import policy
from syncfinder.infer.dispatch import evaluate
from syncfinder.infer.frame import Env, Frame, KeptTest
from syncfinder.infer.names import ACCELERATORS, last_name, path_of
from syncfinder.infer.reading import read
from syncfinder.infer.scan import shared_names
from syncfinder.infer.values import (
    ASSUMED,
    BOOL,
    CPU,
    CUDA,
    FLOAT,
    GPU,
    INT,
    LIKELY,
    META,
    NONE,
    TEXT,
    UNKNOWN,
    Api,
    Array,
    Class,
    Const,
    Device,
    Dtype,
    Flag,
    Instance,
    Library,
    Mapping,
    Number,
    Sequence,
    Tensor,
    Text,
    UnknownValue,
    Value,
    join_all,
    members,
    on_host,
    tensor_in,
    tensors,
)

HOST_CLASSES: dict[str, Value] = {
    "builtins.int": INT, "builtins.float": FLOAT, "builtins.bool": BOOL, "builtins.str": TEXT,
    "builtins.list": Sequence("list"), "builtins.tuple": Sequence("tuple"), "builtins.dict": Mapping(),
    "builtins.set": Sequence("set"),
}  # fmt: skip
HOST_TYPES: dict[str, tuple[type, ...]] = {
    "builtins.int": (Number, Const), "builtins.float": (Number, Const), "builtins.bool": (Number, Const, Flag),
    "builtins.str": (Text, Const), "builtins.list": (Sequence,), "builtins.tuple": (Sequence,),
    "builtins.dict": (Mapping,), "builtins.set": (Sequence,),
}  # fmt: skip


# What a caller gives of these kinds is no tensor: a branch for tensors does not run for this call.
HOST_VALUES = (Number, Const, Text, Sequence, Mapping, Array, Library, Device, Dtype)


def test(node: ast.expr, frame: Frame, operation: str) -> Value:
    """Evaluate a condition and publish a truth test where it is a tensor; return its value."""
    value = evaluate(node, frame)
    test_value(value, node, frame, operation)
    return value


def test_value(value: Value, node: ast.expr, frame: Frame, operation: str) -> None:
    """Publish the truth test of a value; `not t` and `a and b` have tested their own operands already."""
    operand = node
    if isinstance(node, ast.BoolOp) and frame.last is not None and frame.last[0] is node:
        value = frame.last[1]
    while isinstance(operand, ast.BoolOp):
        operand = operand.values[-1]
    if isinstance(operand, ast.UnaryOp) and isinstance(operand.op, ast.Not):
        return
    if isinstance(operand, ast.NamedExpr):
        operand = operand.value
    for tensor in tensors(value)[:1]:
        read(tensor, "truth", operation, operand, frame)


def branch(node: ast.expr, value: Value, frame: Frame, truth: bool) -> Env | None:
    """Return the environment in which `node` came out as `truth`; None where that cannot be.

    Where the analysis only assumes the other outcome (no GPU, being traced), the frame is muted for the branch.
    """
    if isinstance(value, Const) and isinstance(value.value, (bool, type(None))) and bool(value.value) is not truth:
        return None
    if isinstance(value, Flag) and value.value is not truth:
        frame.muted += 1
    env = dict(frame.env)
    return env if narrow(node, truth, env, frame) else None


def narrow(node: ast.expr, truth: bool, env: Env, frame: Frame) -> bool:
    """Refine `env` by a condition's outcome; return False when the outcome contradicts what is known."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return narrow(node.operand, not truth, env, frame)
    if isinstance(node, ast.BoolOp):
        if isinstance(node.op, ast.And) is truth:
            return all([narrow(part, truth, env, frame) for part in node.values])
        return True
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return narrow_compare(node, truth, env, frame)
    if isinstance(node, ast.Call):
        return narrow_call(node, truth, env, frame)
    if isinstance(node, ast.Attribute) and node.attr in ("is_cuda", "is_cpu"):
        return narrow_place(node.value, CUDA if (node.attr == "is_cuda") is truth else CPU, env, frame)
    if isinstance(node, ast.NamedExpr):
        return narrow(node.target, truth, env, frame)
    if frame.tests and isinstance(node, ast.Name):
        kept = frame.tests.get(node.id)
        if kept is not None and env.get(node.id) is kept.value:
            return any(env.get(p) is not v for p, v in kept.bound.items()) or narrow(kept.test, truth, env, frame)
    return narrow_length(node, truth, env, frame)


def narrow_length(node: ast.expr, filled: bool, env: Env, frame: Frame) -> bool:
    """A list that is still empty, and that nothing out of sight could have filled, has no elements: `if items:`."""
    if not filled:
        return True
    return refine(node, env, frame, lambda m: m.key != NONE.key and not is_still_empty(m, node, frame))


def is_still_empty(value: Value, node: ast.expr, frame: Frame) -> bool:
    """Return whether a name's list has no elements so far: only its function's own statements can fill it."""
    function = frame.function
    if not isinstance(value, Sequence) or value.items != () or type(node) is not ast.Name or function is None:
        return False
    if node.id not in frame.env:
        return False
    scanned = function.scan
    if scanned.shared is None:
        scanned.shared = shared_names(function.node)
    return node.id not in scanned.shared


def tested_length(node: ast.Compare) -> tuple[ast.expr, bool] | None:
    """Return whose length a comparison tests, and whether it holds for lists with elements: `len(items) > 0`."""
    left, right = node.left, node.comparators[0]
    if not (isinstance(left, ast.Call) and isinstance(left.func, ast.Name) and left.func.id == "len" and left.args):
        return None
    if not isinstance(right, ast.Constant):
        return None
    filled = FILLED.get((type(node.ops[0]), right.value))
    return (left.args[0], filled) if filled is not None else None


# Comparisons of a length with a number that tell whether there are elements, by their outcome for lists with some.
FILLED: dict[tuple[type, object], bool] = {
    (ast.Gt, 0): True, (ast.NotEq, 0): True, (ast.GtE, 1): True,
    (ast.Eq, 0): False, (ast.LtE, 0): False, (ast.Lt, 1): False,
}  # fmt: skip


def keep_test(name: str, test: ast.expr, frame: Frame) -> Value:
    """Remember the test whose outcome a name is bound to; return the outcome, told apart from any other bool."""
    paths = [path_of(part) for part in ast.walk(test) if isinstance(part, (ast.Name, ast.Attribute))]
    value = Number("bool")
    frame.tests[name] = KeptTest(test, value, {p: frame.env.get(p) for p in paths if p is not None})
    return value


def refine(node: ast.expr, env: Env, frame: Frame, keep: Any, otherwise: Value | None = None) -> bool:
    """Keep only some alternatives of the value at a path; return False when none is left."""
    path = path_of(node)
    if path is None:
        return True
    value = known(path, node, env, frame)
    if value is None:
        return True
    left = [m for m in members(value) if keep(m)]
    if len(left) == len(members(value)):
        return True
    if not left and otherwise is None:
        return isinstance(value, UnknownValue)
    bind_path(env, path, join_all(left) if left else otherwise or UNKNOWN)
    return True


def bind_path(env: Env, path: str, value: Value) -> None:
    if "." in path:
        env["."] = UNKNOWN
    env[path] = value


def known(path: str, node: ast.expr, env: Env, frame: Frame) -> Value | None:
    if path in env:
        return env[path]
    frame.muted += 1
    try:
        return evaluate(node, frame)
    finally:
        frame.muted -= 1


def narrow_compare(node: ast.Compare, truth: bool, env: Env, frame: Frame) -> bool:
    op, left, right = node.ops[0], node.left, node.comparators[0]
    if isinstance(op, (ast.Is, ast.IsNot)) and isinstance(right, ast.Constant) and right.value is None:
        none = isinstance(op, ast.Is) is truth
        target = left.target if isinstance(left, ast.NamedExpr) else left
        if none:
            return refine(
                target,
                env,
                frame,
                lambda m: m.key == NONE.key or isinstance(m, (UnknownValue, Tensor)),
                NONE,
            ) and set_none(target, env, frame)
        return refine(target, env, frame, lambda m: m.key != NONE.key)
    length = tested_length(node)
    if length is not None:
        return narrow_length(length[0], length[1] is truth, env, frame)
    if isinstance(op, (ast.Eq, ast.NotEq, ast.In, ast.NotIn)):
        equal = isinstance(op, (ast.Eq, ast.In)) is truth
        if isinstance(left, ast.Attribute) and left.attr == "type":
            return narrow_device_type(left.value, right, equal, env, frame)
        if isinstance(left, ast.Attribute) and left.attr == "device":
            return narrow_device(left, right, equal, env, frame)
        if isinstance(left, ast.Attribute) and left.attr == "dtype" and isinstance(op, (ast.Eq, ast.NotEq)):
            return narrow_dtype(left.value, right, equal, env, frame)
        if isinstance(left, ast.Call) and isinstance(left.func, ast.Attribute) and left.func.attr == "dim" and equal:
            return narrow_ndim(left.func.value, right, env, frame)
        if isinstance(left, ast.Attribute) and left.attr == "ndim" and equal:
            return narrow_ndim(left.value, right, env, frame)
        if (
            isinstance(left, ast.Call)
            and isinstance(left.func, ast.Name)
            and left.func.id == "len"
            and equal
            and left.args
        ):
            shape = left.args[0]
            if isinstance(shape, ast.Attribute) and shape.attr == "shape":
                return narrow_ndim(shape.value, right, env, frame)
    return True


def set_none(node: ast.expr, env: Env, frame: Frame) -> bool:
    path = path_of(node)
    if path is not None:
        bind_path(env, path, NONE)
    return True


def constant_strings(node: ast.expr, frame: Frame) -> list[str]:
    value = evaluate(node, frame)
    parts = value.items or () if isinstance(value, Sequence) else (value,)
    return [p.value for p in parts if isinstance(p, Const) and isinstance(p.value, str)]


def narrow_device_type(device: ast.expr, right: ast.expr, equal: bool, env: Env, frame: Frame) -> bool:
    """`x.device.type == "cpu"` or `device.type != "cuda"`."""
    words = constant_strings(right, frame)
    if not words:
        return True
    if set(words) == {"mps"}:
        return not equal  # no tensor is there when there is a CUDA device
    cpu = all(w in ("cpu", "meta", "mps") for w in words)
    place = CPU if cpu is equal else CUDA
    if isinstance(device, ast.Attribute) and device.attr == "device":
        return narrow_place(device.value, place, env, frame) and narrow_device_value(device, place, env, frame)
    return narrow_device_value(device, place, env, frame)


def narrow_device_value(node: ast.expr, place: int, env: Env, frame: Frame) -> bool:
    path = path_of(node)
    if path is None:
        return True
    value = known(path, node, env, frame)
    if isinstance(value, Device):
        if not value.place & (place | ASSUMED):
            return False
        bind_path(env, path, Device(place, value.why))
    return True


def narrow_device(left: ast.Attribute, right: ast.expr, equal: bool, env: Env, frame: Frame) -> bool:
    """`x.device == torch.device("cpu")`."""
    value = evaluate(right, frame)
    words = [value.value] if isinstance(value, Const) and isinstance(value.value, str) else []
    place = value.place if isinstance(value, Device) else place_of_word(words[0]) if words else 0
    if place == CPU:
        return narrow_place(left.value, CPU if equal else CUDA, env, frame)
    if place == CUDA and equal:
        return narrow_place(left.value, CUDA, env, frame)
    return True


def place_of_word(word: str) -> int:
    """Return the place that a device string names."""
    head = word.partition(":")[0]
    if head == "cpu":
        return CPU
    if head == "meta":
        return META
    return CUDA if head in ACCELERATORS else ASSUMED


def narrow_place(node: ast.expr, place: int, env: Env, frame: Frame) -> bool:
    path = path_of(node)
    if path is None:
        return True
    value = known(path, node, env, frame)
    if value is None:
        return True
    if isinstance(value, UnknownValue):
        if place == CPU:
            bind_path(env, path, Tensor(CPU, why=frame.reason("it is on the CPU in this branch", node), sure=LIKELY))
        return True
    out: list[Value] = []
    for m in members(value):
        if not isinstance(m, Tensor):
            out.append(m)
        elif place == CPU:
            if m.place != CUDA:
                out.append(m.but(place=CPU))
        elif m.place & GPU:
            out.append(m.but(place=CUDA if m.place & CUDA and not m.place & ASSUMED else ASSUMED))
    if not out:
        return False
    bind_path(env, path, join_all(out))
    return True


def narrow_dtype(node: ast.expr, right: ast.expr, equal: bool, env: Env, frame: Frame) -> bool:
    dtype = evaluate(right, frame)
    path = path_of(node)
    if path is None or not isinstance(dtype, Dtype) or dtype.name is None:
        return True
    value = known(path, node, env, frame)
    for tensor in tensors(value) if value is not None else ():
        if equal:
            bind_path(env, path, tensor.but(dtype=dtype.name))
        elif tensor.dtype is None and dtype.name == "bool":
            bind_path(env, path, tensor.but(dtype="int"))
    return True


def narrow_ndim(node: ast.expr, right: ast.expr, env: Env, frame: Frame) -> bool:
    path = path_of(node)
    if path is None or not isinstance(right, ast.Constant) or not isinstance(right.value, int):
        return True
    value = known(path, node, env, frame)
    for tensor in tensors(value) if value is not None else ():
        if tensor.ndim is not None and tensor.ndim != right.value:
            return False
        bind_path(env, path, tensor.but(ndim=right.value))
    return True


def narrow_unpacked(source: ast.expr, count: int, frame: Frame) -> None:
    """`a, b = x.shape` and `a, b = x.size()` say how many dimensions x has."""
    if isinstance(source, ast.Call) and isinstance(source.func, ast.Attribute) and not (source.args or source.keywords):
        owner = source.func.value if source.func.attr == "size" else None
    else:
        owner = source.value if isinstance(source, ast.Attribute) and source.attr == "shape" else None
    path = path_of(owner) if owner is not None else None
    if owner is None or path is None:
        return
    value = known(path, owner, frame.env, frame)
    if isinstance(value, Tensor) and value.ndim is None:
        bind_path(frame.env, path, value.but(ndim=count))


def narrow_call(node: ast.Call, truth: bool, env: Env, frame: Frame) -> bool:
    """`isinstance(x, C)`, `torch.is_tensor(x)`, and project helpers that only test for None."""
    callee = evaluate(node.func, frame) if isinstance(node.func, (ast.Name, ast.Attribute)) else UNKNOWN
    if not isinstance(callee, Api) or not node.args:
        return True
    if callee.name == "torch.is_tensor":
        return narrow_instance(node.args[0], ["torch.Tensor"], [], truth, env, frame)
    if callee.name == "builtins.isinstance" and len(node.args) == 2:
        frame.muted += 1
        classes = evaluate(node.args[1], frame)
        frame.muted -= 1
        parts = list(classes.items or ()) if isinstance(classes, Sequence) else list(members(classes))
        names = [p.name for p in parts if isinstance(p, Api)]
        own = [p for p in parts if isinstance(p, Class)]
        return narrow_instance(
            node.args[0], names, own, truth, env, frame, unknown=len(names) + len(own) < len(parts) or not parts
        )
    return True


def narrow_instance(
    node: ast.expr, names: list[str], own: list[Class], truth: bool, env: Env, frame: Frame, unknown: bool = False
) -> bool:
    tensor = any(n in frame.project.model.tensor_classes for n in names)
    hosts = tuple(t for n in names for t in HOST_TYPES.get(n, ()))
    arrays = any(n.startswith("numpy.") for n in names)

    def matches(m: Value) -> bool:
        return (
            (tensor and isinstance(m, Tensor))
            or isinstance(m, hosts)
            or (arrays and isinstance(m, Array))
            or (len(own) > 0 and isinstance(m, Instance))
        )

    if unknown:
        return True
    path = path_of(node)
    value = known(path, node, env, frame) if path is not None else None
    given = frame.partial and value is not None and all(isinstance(m, HOST_VALUES) for m in members(value))
    if not truth:
        otherwise = None if given else UNKNOWN
        return refine(node, env, frame, lambda m: not (matches(m) and not isinstance(m, Instance)), otherwise)
    made: list[Value] = [HOST_CLASSES[n] for n in names if n in HOST_CLASSES]
    if tensor:
        by_name = policy.by_name(last_name(node), frame, node)
        why = frame.reason("it is a tensor in this branch (isinstance)", node)
        place = CPU if frame.host or (value is not None and on_host(value)) else ASSUMED
        made.append(tensor_in(by_name or UNKNOWN) or Tensor(place, why=why, sure=LIKELY))
    if arrays:
        made.append(Array())
    made.extend(Instance(c) for c in own)
    if path is None or value is None:
        return True
    left = [m for m in members(value) if matches(m)]
    if left:
        bind_path(env, path, join_all(left))
    elif made:
        if isinstance(value, Tensor) or given:
            return False
        bind_path(env, path, join_all(made))
    return True
