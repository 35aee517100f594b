"""Calls into libraries by their dotted names: torch through its model, NumPy, math, logging and others."""

from __future__ import annotations

import ast

from syncfinder.infer import fields, overlay
from syncfinder.infer.calls import Arguments
from syncfinder.infer.frame import Frame
from syncfinder.infer.hazards import buffers_of, host_access
from syncfinder.infer.invoke import call_value
from syncfinder.infer.library_objects import construct
from syncfinder.infer.measuring import CLOCK_FUNCTIONS, read_clock
from syncfinder.infer.operators import iterated
from syncfinder.infer.python_builtins import BUILTINS
from syncfinder.infer.reading import read_any
from syncfinder.infer.torchcalls import call_row
from syncfinder.infer.values import (
    ARRAY,
    ARRAY_SCALAR,
    ASSUMED,
    BOOL,
    FLOAT,
    INT,
    NONE,
    UNKNOWN,
    Api,
    Array,
    Flag,
    Library,
    Mapping,
    Partial,
    Sequence,
    Tensor,
    Value,
    join_all,
    tensor_in,
)
from syncfinder.infer.wrappers import call_wrapper


def call_api(callee: Api, arguments: Arguments, node: ast.expr, frame: Frame) -> Value:
    """Return the result of calling a library's function or class by its dotted name."""
    name = callee.name
    wrapper = frame.project.wrappers.get(name)
    if wrapper is not None:
        return call_wrapper(wrapper, name, None, arguments, node, frame)
    if name.startswith("builtins."):
        handler = BUILTINS.get(name[9:])
        return handler(arguments, node, frame) if handler is not None else UNKNOWN
    special = overlay.FUNCTIONS.get(name)
    if special is not None:
        return special(name, arguments, node, frame)
    model = frame.project.model
    flag = model.flags.get(name)
    if flag is not None:
        return Flag(flag)
    if name in model.limits:
        return Library(name)
    if name.startswith("torch.Tensor."):
        return unbound_method(name[13:], arguments, node, frame)
    cls = model.library_class(name)
    if cls is not None:
        return construct(name, arguments, node, frame)
    row = model.row(name)
    if row is not None:
        return call_row(row, arguments, node, frame)
    return other_library(name, arguments, node, frame)


def unbound_method(name: str, arguments: Arguments, node: ast.expr, frame: Frame) -> Value:
    """torch.Tensor.item(x)."""
    found = tensor_in(arguments.values[0]) if arguments.values else None
    if found is None or not isinstance(node, ast.Call):
        return UNKNOWN
    special = overlay.METHODS.get(name)
    if special is not None:
        rest = Arguments(arguments.values[1:], arguments.nodes[1:], arguments.keywords, arguments.keyword_nodes)
        return special(found, rest, node, frame)
    row = frame.project.model.method(name)
    return call_row(row, arguments, node, frame) if row is not None else UNKNOWN


def other_library(name: str, arguments: Arguments, node: ast.expr, frame: Frame) -> Value:
    head, _, rest = name.partition(".")
    if head == "numpy":
        return numpy_call(rest, arguments, node, frame)
    if head in ("math", "operator", "cmath"):
        return math_call(head, rest, arguments, node, frame)
    if name in ("functools.partial", "functools.partialmethod"):
        return (
            Partial(arguments.values[0], tuple(arguments.values[1:]), dict(arguments.keywords))
            if arguments.values
            else UNKNOWN
        )
    if name == "functools.reduce" and len(arguments.values) > 1:
        element = iterated(arguments.values[1])
        return call_value(arguments.values[0], Arguments([element, element], [None, None]), node, frame)
    if name in ("copy.copy", "copy.deepcopy", "copy.replace", "dataclasses.replace", "typing.cast"):
        return fields.without(arguments.values[-1], arguments.keywords) if arguments.values else UNKNOWN
    if name in ("logging.getLogger", "loguru.logger"):
        return UNKNOWN
    if head in ("logging", "warnings"):
        for value, where in arguments.every():
            read_any(value, "format", name, where or node, frame)
        return NONE
    if name in ("pickle.dumps", "pickle.dump"):
        for value, _ in arguments.every():
            read_any(value, "copy", name, node, frame)
    if name in CLOCK_FUNCTIONS:
        return read_clock(name, node, frame)
    if head in ("time", "random"):
        return FLOAT
    if head == "collections":
        return collection(rest, arguments)
    if head == "itertools":
        return itertools_call(rest, arguments)
    classes = frame.project.model.tensor_classes
    return Tensor(ASSUMED, classes[name]) if name in classes else UNKNOWN


def numpy_call(rest: str, arguments: Arguments, node: ast.expr, frame: Frame) -> Value:
    if rest in ("asarray", "frombuffer"):
        shared = buffers_of(arguments.first)
        return Array(buffers=shared) if shared is not None else ARRAY
    for value, where in arguments.every():
        if isinstance(value, Array) and value.buffers is not None:
            writes = rest == "copyto" and value is arguments.first
            host_access(value.buffers, writes, f"numpy.{rest}", where or node, frame)
    if rest in (
        "prod",
        "sum",
        "mean",
        "max",
        "min",
        "ceil",
        "floor",
        "sqrt",
        "log",
        "exp",
        "log2",
        "int64",
        "int32",
        "float32",
        "float64",
        "bool_",
        "isnan",
    ):
        return (
            ARRAY
            if any(isinstance(v, Array) and not v.scalar for v in arguments.values) and rest not in ("prod", "sum")
            else ARRAY_SCALAR
        )
    return ARRAY


def math_call(head: str, rest: str, arguments: Arguments, node: ast.expr, frame: Frame) -> Value:
    if head == "operator":
        return operator_call(rest, arguments, node, frame)
    if rest == "fsum" and arguments.values:
        read_any(iterated(arguments.values[0]), "number", "math.fsum", arguments.nodes[0] or node, frame)
    for value, where in arguments.every():
        read_any(value, "number", f"{head}.{rest}", where or node, frame)
    return INT if rest in ("ceil", "floor", "gcd", "comb", "factorial", "index", "trunc", "isqrt") else FLOAT


def operator_call(rest: str, arguments: Arguments, node: ast.expr, frame: Frame) -> Value:
    """The operator module's forms of index, truth and membership read a tensor as the operators do."""
    if rest in ("index", "truth", "not_"):
        for value, where in arguments.every():
            read_any(value, "number", f"operator.{rest}", where or node, frame)
        return INT if rest == "index" else BOOL
    if rest == "contains" and arguments.values:
        read_any(arguments.values[0], "builtin", "operator.contains", arguments.nodes[0] or node, frame)
        return BOOL
    return UNKNOWN


def collection(rest: str, arguments: Arguments) -> Value:
    if rest in ("defaultdict", "OrderedDict", "Counter"):
        return Mapping()
    if rest == "deque":
        return Sequence("list", element=iterated(arguments.values[0])) if arguments.values else Sequence("list", ())
    return UNKNOWN


def itertools_call(rest: str, arguments: Arguments) -> Value:
    if rest == "chain.from_iterable" and arguments.values:
        return Sequence("list", element=iterated(iterated(arguments.values[0])))
    if rest in ("chain", "cycle", "islice") and arguments.values:
        return Sequence(
            "list",
            element=join_all([iterated(v) for v in (arguments.values if rest == "chain" else arguments.values[:1])]),
        )
    return Sequence("list")
