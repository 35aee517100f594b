"""Expressions: names, attributes, operators, comparisons, displays, comprehensions, calls."""

from __future__ import annotations

import ast
import builtins
from typing import Any, cast

from syncfinder.infer import classes, policy
from syncfinder.infer.calls import Arguments, call_bound, call_function, instantiate
from syncfinder.infer.dispatch import E, evaluate
from syncfinder.infer.frame import Frame
from syncfinder.infer.project import Namespace, is_import
from syncfinder.infer.values import (
    ARRAY,
    ASSUMED,
    BOOL,
    CPU,
    CUDA,
    FLOAT,
    GPU,
    INT,
    LIKELY,
    NONE,
    SIZE,
    TEXT,
    UNKNOWN,
    UNKNOWN_COMPARISON,
    Api,
    Array,
    Bound,
    Class,
    Const,
    Device,
    Dtype,
    Flag,
    Function,
    Instance,
    Library,
    Mapping,
    Method,
    ModuleValue,
    Number,
    Partial,
    Sequence,
    Super,
    Tensor,
    Text,
    Union,
    UnknownValue,
    Value,
    is_number,
    join_all,
    members,
    tensor_in,
    tensors,
)  # fmt: skip

# `reveal(x)` is a name of the device tests: it shows what the interpreter knows of x.
BUILTINS = {name: Api(f"builtins.{name}") for name in (*dir(builtins), "reveal") if not name.startswith("_")}
ORDER = ("bool", "int", "float", "complex")


def constant(node: ast.Constant, frame: Frame) -> Value:
    return NONE if node.value is None else Const(node.value)


def name(node: ast.Name, frame: Frame) -> Value:
    value = frame.lookup(node.id)
    if value is None:
        return BUILTINS.get(node.id, UNKNOWN)
    if is_import(value):
        value = frame.project.settle(value, frame.module)
        if node.id in frame.env:
            frame.env[node.id] = value
    return value


def path_of(node: ast.expr) -> str | None:
    """Return `a.b.c` for a chain of names; None for anything else."""
    parts = []
    while type(node) is ast.Attribute:
        parts.append(node.attr)
        node = node.value
    if type(node) is not ast.Name:
        return None
    return ".".join([node.id, *reversed(parts)])


def attribute(node: ast.Attribute, frame: Frame) -> Value:
    if "." in frame.env:
        path = path_of(node)
        if path is not None and path in frame.env:
            return frame.env[path]
    return attribute_of(evaluate(node.value, frame), node.attr, frame, node)


def attribute_of(base: Value, name: str, frame: Frame, node: ast.expr) -> Value:
    """Return `base.name`."""
    getter = ATTRIBUTES.get(type(base))
    return getter(base, name, frame, node) if getter is not None else Method(base, name)


def unknown_attribute(base: Value, name: str, frame: Frame, node: ast.expr) -> Value:
    by_name = policy.by_name(name, frame, node)
    if by_name is not None:
        return by_name
    return UNKNOWN_ATTRIBUTES.get(name, UNKNOWN)


UNKNOWN_ATTRIBUTES: dict[str, Value] = {
    "shape": SIZE,
    "dtype": Dtype(None),
    "is_cuda": BOOL,
    "training": BOOL,
    "ndim": INT,
}


def tensor_attribute(base: Tensor, name: str, frame: Frame, node: ast.expr) -> Value:
    if name == "is_cuda" or name == "is_cpu":
        return BOOL if base.place not in (CPU, CUDA) else Const((base.place == CUDA) == (name == "is_cuda"))
    kind = frame.project.model.attribute(name)
    if kind is None:
        return Method(base, name) if frame.project.model.method(name) is not None else UNKNOWN
    if kind == "tensor":
        return base
    if kind == "size":
        return SIZE if base.ndim is None else Sequence("tuple", (INT,) * base.ndim)
    if kind == "device":
        return Device(base.place, base.why)
    if kind == "dtype":
        return Dtype(base.dtype)
    return RESULTS.get(kind, UNKNOWN)


RESULTS: dict[str, Value] = {
    "int": INT,
    "float": FLOAT,
    "bool": BOOL,
    "number": FLOAT,
    "str": TEXT,
    "none": NONE,
    "size": SIZE,
    "array": ARRAY,
}


def device_attribute(base: Device, name: str, frame: Frame, node: ast.expr) -> Value:
    if name == "type":
        return Const("cuda") if base.place == CUDA else Const("cpu") if base.place == CPU else TEXT
    return INT if name == "index" else UNKNOWN


def instance_attribute(base: Instance, name: str, frame: Frame, node: ast.expr) -> Value:
    return classes.instance_attribute(base, name, frame, node)


def class_attribute(base: Class, name: str, frame: Frame, node: ast.expr) -> Value:
    return TEXT if name in ("__name__", "__qualname__") else classes.class_attribute(base, name, frame, node)


def super_attribute(base: Super, name: str, frame: Frame, node: ast.expr) -> Value:
    return classes.super_attribute(base, name, frame, node)


def module_attribute(base: ModuleValue, name: str, frame: Frame, node: ast.expr) -> Value:
    value = base.module.lookup(name)
    if value is not None:
        return value
    if base.module.path.name == "__init__.py":
        found = frame.project.find(base.module, name, 1)
        if found is not None:
            return found
    return UNKNOWN


def namespace_attribute(base: Namespace, name: str, frame: Frame, node: ast.expr) -> Value:
    found = frame.project.find(frame.module, f"{base.dotted}.{name}", 0)
    return found if found is not None and not isinstance(found, Api) else UNKNOWN


def api_attribute(base: Api, name: str, frame: Frame, node: ast.expr) -> Value:
    return frame.project.api(f"{base.name}.{name}")


# torch.finfo and torch.iinfo hold host numbers.
LIMITS: dict[str, Value] = {"torch.finfo": FLOAT, "torch.iinfo": INT}
PARAMETERS = {"weight", "bias", "running_mean", "running_var", "in_proj_weight", "in_proj_bias", "num_batches_tracked"}


def library_attribute(base: Library, name: str, frame: Frame, node: ast.expr) -> Value:
    limits = LIMITS.get(base.name)
    if limits is not None:
        return limits if name != "dtype" else TEXT
    if base.name.startswith("torch.nn."):
        if name in PARAMETERS:
            return Tensor(
                ASSUMED, "float", why=frame.reason(f"`{name}` is a parameter of {base.name}", node), sure=LIKELY
            )
        if name == "out_features" or name == "in_features":
            return INT
    return Method(base, name)


# The fields of torch's named result tuples, by position (torch/return_types.pyi).
RESULT_FIELDS = {"values": 0, "indices": 1, "eigenvalues": 0, "eigenvectors": 1, "Q": 0, "R": 1, "L": 0, "inverse": 0, "result": 0, "sign": 0, "logabsdet": 1,
                 "U": 0, "S": 1, "Vh": 2, "solution": 0, "info": 1}  # fmt: skip


def sequence_attribute(base: Sequence, name: str, frame: Frame, node: ast.expr) -> Value:
    position = RESULT_FIELDS.get(name)
    if position is not None and base.items is not None and position < len(base.items) and tensors(base.items[position]):
        return base.items[position]
    return Method(base, name)


def array_attribute(base: Array, name: str, frame: Frame, node: ast.expr) -> Value:
    return (
        SIZE
        if name == "shape"
        else INT
        if name in ("size", "ndim")
        else ARRAY
        if name in ("T", "real", "imag", "flat")
        else Method(base, name)
    )


def union_attribute(base: Union, name: str, frame: Frame, node: ast.expr) -> Value:
    found = [
        attribute_of(m, name, frame, node) for m in base.members if m is not NONE and not isinstance(m, (Const, Number))
    ]
    return join_all(found)


def function_attribute(base: Value, name: str, frame: Frame, node: ast.expr) -> Value:
    return TEXT if name in ("__name__", "__qualname__", "__module__") else UNKNOWN


ATTRIBUTES: dict[type, Any] = {
    UnknownValue: unknown_attribute, Tensor: tensor_attribute, Device: device_attribute, Instance: instance_attribute, Class: class_attribute,
    Super: super_attribute, ModuleValue: module_attribute, Namespace: namespace_attribute, Api: api_attribute, Library: library_attribute,
    Sequence: sequence_attribute, Array: array_attribute, Union: union_attribute, Function: function_attribute, Bound: function_attribute,
    Dtype: function_attribute,
}  # fmt: skip


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


def call(node: ast.Call, frame: Frame) -> Value:
    func = node.func
    if type(func) is ast.Attribute:
        base = evaluate_base(func, frame)
        arguments = arguments_of(node, frame)
        if type(base) is Path:
            return call_value(base.value, arguments, node, frame)
        return call_method(base, func.attr, arguments, node, frame)
    callee = evaluate(func, frame)
    if type(callee) is Api and callee.name == "builtins.super":
        return super_value(node, frame)
    return call_value(callee, arguments_of(node, frame), node, frame)


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


def super_value(node: ast.Call, frame: Frame) -> Value:
    scope: Frame | None = frame
    while scope is not None and scope.function is None:
        scope = scope.parent
    if frame.owner is None or frame.function is None:
        return UNKNOWN
    args = frame.function.node.args
    first = args.args[0].arg if args.args else "self"
    receiver = frame.lookup(first)
    return Super(frame.owner, receiver if receiver is not None else UNKNOWN)


def call_method(base: Value, name: str, arguments: Arguments, node: ast.Call, frame: Frame) -> Value:
    """Return `base.name(arguments)`."""
    from syncfinder.infer.libraries import library_method
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
    from syncfinder.infer.libraries import call_api, call_library, library_method
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
    if isinstance(callee, Union):
        return join_all([call_value(m, arguments, node, frame) for m in callee.members if m is not NONE])
    return UNKNOWN


def call_instance(callee: Instance, arguments: Arguments, node: ast.expr, frame: Frame) -> Value:
    for method_name in ("__call__", "forward"):
        method = classes.find_method(callee.cls, method_name)
        if method is not None:
            return call_function(method, arguments.before(callee), node, frame)
    return UNKNOWN


def boolean(node: ast.BoolOp, frame: Frame) -> Value:
    """`a and b`: each operand but the last is tested; an operand behind a narrowing one sees the narrowed values."""
    from syncfinder.infer.narrow import branch, test_value

    word = "and" if isinstance(node.op, ast.And) else "or"
    wanted = word == "and"
    saved = frame.env
    parts: list[Value] = []
    muted = frame.muted
    try:
        for operand in node.values[:-1]:
            value = evaluate(operand, frame)
            test_value(value, operand, frame, word)
            kept = kept_by(value, not wanted)
            if kept is not None and frame.muted == muted:
                parts.append(kept)
            env = branch(operand, value, frame, wanted)
            if env is None:
                return join_all(parts)
            frame.env = env
        last = evaluate(node.values[-1], frame)
        if frame.muted == muted:
            parts.append(last)
    finally:
        for path, bound in frame.env.items():
            if path not in saved and "." not in path:
                saved[path] = bound
        frame.env = saved
        frame.muted = muted
    return join_all(parts)


def kept_by(value: Value, truth: bool) -> Value | None:
    """Return what is left of an operand's value when `and`/`or` stops at it; None when it cannot."""
    left = [m for m in members(value) if not (isinstance(m, (Const, Flag)) and bool(m.value) is not truth)]
    if not truth:
        left = [m for m in left if not isinstance(m, (Instance, Function, Class, Library, Device, Bound))]
    return join_all(left) if left else None


def unary(node: ast.UnaryOp, frame: Frame) -> Value:
    from syncfinder.infer.narrow import test_value

    value = evaluate(node.operand, frame)
    if isinstance(node.op, ast.Not):
        test_value(value, node.operand, frame, "not")
        if isinstance(value, Flag):
            return Flag(not value.value)
        return Const(not value.value) if isinstance(value, Const) else BOOL
    if isinstance(value, Const) and isinstance(value.value, (int, float)) and isinstance(node.op, ast.USub):
        return Const(-value.value)
    return value


def binary(node: ast.BinOp, frame: Frame) -> Value:
    return operate(evaluate(node.left, frame), evaluate(node.right, frame), node.op, node, frame)


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
        return ARRAY
    if isinstance(left, Sequence) and isinstance(right, Sequence) and isinstance(op, ast.Add):
        return concatenated(left, right)
    if isinstance(left, Sequence) and isinstance(op, ast.Mult):
        return Sequence(left.kind, element=left.each()) if left.items or left.element is not None else left
    if isinstance(right, Sequence) and isinstance(op, ast.Mult):
        return Sequence(right.kind, element=right.each())
    if is_number(left) and is_number(right):
        return number_operation(left, right, op)
    if isinstance(left, (Mapping, Text, Device)) and isinstance(op, (ast.Add, ast.BitOr)):
        return left
    return (
        UNKNOWN_COMPARISON
        if UNKNOWN_COMPARISON in (left, right) and isinstance(op, (ast.BitAnd, ast.BitOr))
        else UNKNOWN
    )


def number_operation(left: Value, right: Value, op: ast.operator) -> Value:
    from syncfinder.infer.values import number_kind, wider

    kind = wider(number_kind(left), number_kind(right))
    if isinstance(op, ast.Div):
        return FLOAT
    return Number("int" if kind == "bool" else kind)


def concatenated(left: Sequence, right: Sequence) -> Value:
    if left.items is not None and right.items is not None:
        return Sequence(left.kind, left.items + right.items)
    parts = [s.each() for s in (left, right) if s.items != ()]
    return Sequence(left.kind, element=join_all(parts))


def formatted(value: Value, node: ast.expr, frame: Frame) -> Value:
    from syncfinder.infer.reading import read

    for part in value.items or () if isinstance(value, Sequence) else members(value):
        for tensor in tensors(part):
            read(tensor, "format", "%", node.right if isinstance(node, ast.BinOp) else node, frame)
    return TEXT


def tensor_operation(
    left: Value, right: Value, a: Tensor | None, b: Tensor | None, op: ast.operator, node: Any, frame: Frame
) -> Value:
    from syncfinder.infer.reading import read

    if isinstance(op, ast.Mod) and (
        isinstance(left, Text) or (isinstance(left, Const) and isinstance(left.value, str))
    ):
        return formatted(right, node, frame)
    if isinstance(op, ast.Mult) and b is not None and isinstance(left, Sequence):
        read(b, "index", "repetition", node.right, frame)
        return left
    operands = [t for t in (a, b) if t is not None]
    made = combine(operands)
    other = right if b is None else left
    dtype = made.dtype if len(operands) == 2 else promoted(operands[0].dtype, other)
    if isinstance(op, ast.Div):
        dtype = "float"
    ndim = broadcast(operands) if len(operands) == 2 or is_number(other) else None
    if isinstance(op, ast.MatMult) and ndim is not None:
        ndim = 0 if ndim == 1 else ndim - any(t.ndim == 1 for t in operands)
    return made.but(dtype=dtype, ndim=ndim, memory=None, pending=False)


def promoted(dtype: str | None, other: Value) -> str | None:
    from syncfinder.infer.values import number_kind

    if not is_number(other):
        return dtype if dtype == "float" else None
    kind = number_kind(other)
    return dtype if dtype is None or kind not in ORDER else max(dtype, kind, key=ORDER.index)


def broadcast(operands: list[Tensor]) -> int | None:
    dims = [t.ndim for t in operands]
    return None if None in dims else max(dims)  # type: ignore[type-var]


def combine(operands: list[Tensor]) -> Tensor:
    """Return the tensor that an operation over several gives: on the device of those that are not 0-dim host tensors."""
    strong = [t for t in operands if not (t.place == CPU and t.ndim == 0)] or operands
    on_gpu = [t for t in strong if t.place & GPU and not t.place & CPU] or [t for t in strong if t.place & GPU]
    lead = next((t for t in on_gpu if t.place == CUDA), on_gpu[0] if on_gpu else strong[0])
    dtypes = {t.dtype for t in operands}
    if None in dtypes:
        dtype = "float" if "float" in dtypes else None
    else:
        dtype = max(dtypes, key=ORDER.index)
    return Tensor(lead.place, dtype, broadcast(operands), lead.why, lead.sure)


IDENTITY = (ast.Is, ast.IsNot)
MEMBERSHIP = (ast.In, ast.NotIn)


def compare(node: ast.Compare, frame: Frame) -> Value:
    from syncfinder.infer.narrow import test_value

    left = evaluate(node.left, frame)
    result: Value = BOOL
    for position, (op, right_node) in enumerate(zip(node.ops, node.comparators, strict=True)):
        right = evaluate(right_node, frame)
        left_node = node.left if position == 0 else node.comparators[position - 1]
        result = compared(left, right, op, left_node, right_node, frame)
        if position < len(node.ops) - 1:
            test_value(result, node, frame, "chained comparison")
        left = right
    return result


def compared(
    left: Value, right: Value, op: ast.cmpop, left_node: ast.expr, right_node: ast.expr, frame: Frame
) -> Value:
    if isinstance(op, IDENTITY):
        return identity(left, right, op)
    if isinstance(op, MEMBERSHIP):
        return membership(left, right, left_node, right_node, frame)
    a, b = tensor_in(left), tensor_in(right)
    if a is not None or b is not None:
        if isinstance(op, (ast.Eq, ast.NotEq)) and (right is NONE or isinstance(right, (Text, Sequence, Mapping))):
            return BOOL
        operands = [t for t in (a, b) if t is not None]
        other = right if b is None else left
        ndim = broadcast(operands) if len(operands) == 2 or is_number(other) else None
        return combine(operands).but(dtype="bool", ndim=ndim)
    if isinstance(left, Const) and isinstance(right, Const) and isinstance(op, (ast.Eq, ast.NotEq)):
        return Const((left.value == right.value) is isinstance(op, ast.Eq))
    if isinstance(left, Array) or isinstance(right, Array):
        return ARRAY
    unknown = isinstance(left, UnknownValue) or isinstance(right, UnknownValue)
    return (
        UNKNOWN_COMPARISON
        if unknown and not isinstance(left, (Text, Device, Dtype)) and not isinstance(right, (Text, Device, Dtype))
        else BOOL
    )


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
    from syncfinder.infer.reading import read

    container = tensor_in(right)
    if container is not None:
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


def conditional(node: ast.IfExp, frame: Frame) -> Value:
    from syncfinder.infer.narrow import branch, test

    value = test(node.test, frame, "ternary")
    saved, muted = frame.env, frame.muted
    parts = []
    for side, truth in ((node.body, True), (node.orelse, False)):
        env = branch(node.test, value, frame, truth)
        if env is not None:
            frame.env = env
            outcome = evaluate(side, frame)
            if frame.muted == muted:
                parts.append(outcome)
        frame.env, frame.muted = saved, muted
    return join_all(parts)


def joined_string(node: ast.JoinedStr, frame: Frame) -> Value:
    from syncfinder.infer.reading import read

    for part in node.values:
        if isinstance(part, ast.FormattedValue):
            value = evaluate(part.value, frame)
            for tensor in formattable(value):
                read(tensor, "format", "f-string", part.value, frame)
            if part.format_spec is not None:
                evaluate(part.format_spec, frame)
    return TEXT


def formattable(value: Value) -> list[Tensor]:
    """Return the tensors whose values a value's text shows: itself, or a container's elements."""
    if isinstance(value, Sequence):
        return [t for v in value.items or (value.each(),) for t in tensors(v)][:1]
    if isinstance(value, Mapping):
        return tensors(value.each())[:1]
    return tensors(value)


def display(node: Any, frame: Frame) -> Value:
    kind = KINDS[type(node)]
    items: list[Value] = []
    known = True
    for element in node.elts:
        if type(element) is ast.Starred:
            value = evaluate(element.value, frame)
            if isinstance(value, Sequence) and value.items is not None:
                items.extend(value.items)
            else:
                known = False
                items.append(iterated(value))
        else:
            items.append(evaluate(element, frame))
    return Sequence(kind, tuple(items)) if known else Sequence(kind, element=join_all(items))


KINDS: dict[type, str] = {ast.List: "list", ast.Tuple: "tuple", ast.Set: "set"}


def dictionary(node: ast.Dict, frame: Frame) -> Value:
    items: dict[Any, Value] = {}
    extra: list[Value] = []
    for key, value_node in zip(node.keys, node.values, strict=True):
        value = evaluate(value_node, frame)
        if key is None:
            if isinstance(value, Mapping):
                items.update(value.items or {})
                if value.items is None or value.element is not None:
                    extra.append(value.each())
            else:
                extra.append(UNKNOWN)
            continue
        known = evaluate(key, frame)
        if isinstance(known, Const) and isinstance(known.value, (str, int)):
            items[known.value] = value
        else:
            extra.append(value)
    return Mapping(items, join_all(extra) if extra else None)


def iterated(value: Value) -> Value:
    """Return what iterating over a value yields."""
    if isinstance(value, Tensor):
        return value.but(ndim=value.ndim - 1 if value.ndim else None)
    if isinstance(value, Sequence):
        return value.each()
    if isinstance(value, Mapping):
        return TEXT if value.items and all(isinstance(k, str) for k in value.items) else UNKNOWN
    if isinstance(value, Array):
        return ARRAY
    if isinstance(value, Text):
        return TEXT
    if isinstance(value, Union):
        return join_all([iterated(m) for m in value.members if m is not NONE])
    return UNKNOWN


def comprehension(node: Any, frame: Frame) -> Value:
    from syncfinder.infer.narrow import branch, test
    from syncfinder.infer.statements import assign

    saved = frame.env
    frame.env = dict(saved)
    muted = frame.muted
    single = len(node.generators) == 1 and not node.generators[0].ifs
    source: Value = UNKNOWN
    try:
        for position, generator in enumerate(node.generators):
            source = evaluate(generator.iter, frame)
            assign(generator.target, iterated(source), frame, generator.iter)
            if position == 0:
                frame.repeats += 1
            for condition in generator.ifs:
                value = test(condition, frame, "comprehension filter")
                env = branch(condition, value, frame, True)
                if env is not None:
                    frame.env = env
        if isinstance(node, ast.DictComp):
            evaluate(node.key, frame)
            return Mapping(element=evaluate(node.value, frame))
        return produced(node, source if single else UNKNOWN, evaluate(node.elt, frame))
    finally:
        frame.repeats -= 1
        frame.env = saved
        frame.muted = muted


def produced(node: Any, source: Value, element: Value) -> Value:
    kind = "set" if isinstance(node, ast.SetComp) else "list"
    if isinstance(source, Sequence) and source.items is not None and len(source.items) <= 4:
        return Sequence(kind, (element,) * len(source.items))
    return Sequence(kind, element=element)


def lambda_value(node: ast.Lambda, frame: Frame) -> Value:
    module = frame.module
    have = module.functions.get(id(node))
    prefix = f"{frame.qualname}." if frame.qualname else ""
    fresh = Function(node, module, f"{prefix}<lambda>", frame)
    if have is None or not frame.partial:
        module.functions[id(node)] = fresh  # the one that is analysed for itself
    return fresh


def named(node: ast.NamedExpr, frame: Frame) -> Value:
    from syncfinder.infer.statements import assign

    value = evaluate(node.value, frame)
    assign(node.target, value, frame, node.value)
    return value


def awaited(node: ast.Await, frame: Frame) -> Value:
    return evaluate(node.value, frame)


def yielded(node: ast.Yield, frame: Frame) -> Value:
    frame.yields.append(evaluate(node.value, frame) if node.value is not None else NONE)
    return UNKNOWN


def yielded_from(node: ast.YieldFrom, frame: Frame) -> Value:
    frame.yields.append(iterated(evaluate(node.value, frame)))
    return UNKNOWN


def starred(node: ast.Starred, frame: Frame) -> Value:
    return evaluate(node.value, frame)


def slice_value(node: ast.Slice, frame: Frame) -> Value:
    for bound in (node.lower, node.upper, node.step):
        if bound is not None:
            evaluate(bound, frame)
    return UNKNOWN


E.update({
    ast.Constant: constant, ast.Name: name, ast.Attribute: attribute, ast.Call: call, ast.BoolOp: boolean, ast.UnaryOp: unary,
    ast.BinOp: binary, ast.Compare: compare, ast.IfExp: conditional, ast.JoinedStr: joined_string, ast.List: display, ast.Tuple: display,
    ast.Set: display, ast.Dict: dictionary, ast.ListComp: comprehension, ast.SetComp: comprehension, ast.GeneratorExp: comprehension,
    ast.DictComp: comprehension, ast.Lambda: lambda_value, ast.NamedExpr: named, ast.Await: awaited, ast.Yield: yielded,
    ast.YieldFrom: yielded_from, ast.Starred: starred, ast.Slice: slice_value,
})  # fmt: skip
