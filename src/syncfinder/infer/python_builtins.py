"""Python's builtins: what they give back, and which of them ask a tensor for its value."""

from __future__ import annotations

import ast
from collections.abc import Callable

from syncfinder.infer import policy
from syncfinder.infer.attributes import attribute_of
from syncfinder.infer.calls import Arguments
from syncfinder.infer.frame import Frame
from syncfinder.infer.invoke import call_value
from syncfinder.infer.operators import iterated
from syncfinder.infer.reading import formattable, read, read_any
from syncfinder.infer.values import (
    BOOL,
    COMPLEX,
    FLOAT,
    INT,
    NONE,
    TEXT,
    UNKNOWN,
    Const,
    Instance,
    Mapping,
    Number,
    Sequence,
    Tensor,
    Value,
    is_number,
    join,
    join_all,
    number_kind,
    tensor_in,
)


def convert(kind: str, result: Value) -> Callable[[Arguments, ast.expr, Frame], Value]:
    def handler(arguments: Arguments, node: ast.expr, frame: Frame) -> Value:
        if arguments.values:
            read_any(arguments.values[0], "number", kind, node, frame)
            if isinstance(arguments.values[0], Const) and kind != "bool":
                return arguments.values[0] if is_number(arguments.values[0]) else result
        return result

    return handler


def range_call(arguments: Arguments, node: ast.expr, frame: Frame) -> Value:
    for value, where in arguments.every():
        read_any(value, "index", "range", where or node, frame)
    return Sequence("range", element=INT)


def spelled(name: str) -> Callable[[Arguments, ast.expr, Frame], Value]:
    """chr, bin, oct, hex: a number's text."""

    def handler(arguments: Arguments, node: ast.expr, frame: Frame) -> Value:
        for value, where in arguments.every():
            read_any(value, "index", name, where or node, frame)
        return TEXT

    return handler


def extreme(name: str) -> Callable[[Arguments, ast.expr, Frame], Value]:
    """max and min: elements are compared pairwise, and each comparison is tested."""

    def handler(arguments: Arguments, node: ast.expr, frame: Frame) -> Value:
        if "key" in arguments.keywords:
            return keyed(name, arguments, node, frame)
        values = arguments.values
        parts: list[Value] = []
        if len(values) == 1:
            source = values[0]
            parts = (
                list(source.items) if isinstance(source, Sequence) and source.items is not None else [iterated(source)]
            )
        else:
            parts = values
        for part in parts:
            found = tensor_in(part)
            if found is not None and found.waits:
                read(found, "builtin", name, node, frame)
                break
        return join_all(parts)

    return handler


def keyed(name: str, arguments: Arguments, node: ast.expr, frame: Frame) -> Value:
    element = iterated(arguments.first)
    value = call_value(arguments.keywords["key"], Arguments([element], [None]), node, frame)
    read_any(value, "builtin", name, node, frame)
    return element


def sorted_call(arguments: Arguments, node: ast.expr, frame: Frame) -> Value:
    source = arguments.first
    element = iterated(source)
    if "key" in arguments.keywords:
        keyed("sorted", arguments, node, frame)
    else:
        read_any(element, "builtin", "sorted", node, frame)
    return Sequence("list", element=element)


def tested(name: str) -> Callable[[Arguments, ast.expr, Frame], Value]:
    """any and all: each element is tested."""

    def handler(arguments: Arguments, node: ast.expr, frame: Frame) -> Value:
        if arguments.values:
            source = arguments.values[0]
            parts = source.items if isinstance(source, Sequence) and source.items is not None else (iterated(source),)
            for part in parts:
                if read_any(part, "builtin", name, node, frame):
                    break
        return BOOL

    return handler


def sum_call(arguments: Arguments, node: ast.expr, frame: Frame) -> Value:
    element = iterated(arguments.first)
    start = arguments.get(1, "start")
    if isinstance(start, Tensor) and not isinstance(element, Tensor):
        return start
    return element


def sequence_of(kind: str) -> Callable[[Arguments, ast.expr, Frame], Value]:
    def handler(arguments: Arguments, node: ast.expr, frame: Frame) -> Value:
        if not arguments.values:
            return Sequence(kind, ())
        source = arguments.values[0]
        if isinstance(source, Sequence):
            return Sequence(kind, source.items, source.element)
        return Sequence(kind, element=iterated(source))

    return handler


def dict_call(arguments: Arguments, node: ast.expr, frame: Frame) -> Value:
    base = arguments.values[0] if arguments.values else None
    items = dict(base.items or {}) if isinstance(base, Mapping) else {}
    return Mapping(
        {**items, **arguments.keywords},
        UNKNOWN if base is not None and not isinstance(base, Mapping) else getattr(base, "element", None),
    )


def enumerate_call(arguments: Arguments, node: ast.expr, frame: Frame) -> Value:
    element = iterated(arguments.first)
    return Sequence("list", element=Sequence("tuple", (INT, element)))


def zip_call(arguments: Arguments, node: ast.expr, frame: Frame) -> Value:
    if arguments.open:
        return Sequence("list", element=Sequence("tuple"))
    return Sequence("list", element=Sequence("tuple", tuple(iterated(v) for v in arguments.values)))


def map_call(arguments: Arguments, node: ast.expr, frame: Frame) -> Value:
    if len(arguments.values) < 2:
        return UNKNOWN
    elements = [iterated(v) for v in arguments.values[1:]]
    return Sequence(
        "list", element=call_value(arguments.values[0], Arguments(elements, list(arguments.nodes[1:])), node, frame)
    )


def filter_call(arguments: Arguments, node: ast.expr, frame: Frame) -> Value:
    element = iterated(arguments.values[1]) if len(arguments.values) > 1 else UNKNOWN
    if arguments.values and not (isinstance(arguments.values[0], Const)):
        read_any(
            call_value(arguments.values[0], Arguments([element], [None]), node, frame), "truth", "filter", node, frame
        )
    return Sequence("list", element=element)


def same_elements(arguments: Arguments, node: ast.expr, frame: Frame) -> Value:
    return Sequence("list", element=iterated(arguments.values[0])) if arguments.values else UNKNOWN


def next_call(arguments: Arguments, node: ast.expr, frame: Frame) -> Value:
    element = iterated(arguments.first)
    return join(element, arguments.values[1]) if len(arguments.values) > 1 else element


def texted(name: str) -> Callable[[Arguments, ast.expr, Frame], Value]:
    """str, repr, format, print: a tensor's text shows its values."""

    def handler(arguments: Arguments, node: ast.expr, frame: Frame) -> Value:
        for value, where in zip(arguments.values, arguments.nodes, strict=True):
            for tensor in formattable(value)[:1]:
                read(tensor, "format", name, where or node, frame)
        return NONE if name == "print" else TEXT

    return handler


def getattr_call(arguments: Arguments, node: ast.expr, frame: Frame) -> Value:
    if (
        len(arguments.values) < 2
        or not isinstance(arguments.values[1], Const)
        or not isinstance(arguments.values[1].value, str)
    ):
        return UNKNOWN
    name = arguments.values[1].value
    found = attribute_of(arguments.values[0], name, frame, node)
    if len(arguments.values) > 2:
        default = arguments.values[2]
        return join(found, default) if found is not UNKNOWN else policy.by_name(name, frame, node) or UNKNOWN
    return found


def type_call(arguments: Arguments, node: ast.expr, frame: Frame) -> Value:
    value = arguments.first
    return value.cls if isinstance(value, Instance) else UNKNOWN


def absolute(arguments: Arguments, node: ast.expr, frame: Frame) -> Value:
    value = arguments.first
    return Number(number_kind(value)) if is_number(value) else value


def divided(arguments: Arguments, node: ast.expr, frame: Frame) -> Value:
    """divmod gives two values of the dividend's kind."""
    return Sequence("tuple", (absolute(arguments, node, frame),) * 2)


def rounded(arguments: Arguments, node: ast.expr, frame: Frame) -> Value:
    value = arguments.first
    return value if isinstance(value, Tensor) else INT if len(arguments.values) < 2 else FLOAT


def reveal(arguments: Arguments, node: ast.expr, frame: Frame) -> Value:
    """reveal(x): note the value for the device tests; of several evaluations the last one counts."""
    value = arguments.first
    frame.module.revealed[node.lineno] = value
    return value


def constant(value: Value) -> Callable[[Arguments, ast.expr, Frame], Value]:
    return lambda arguments, node, frame: value


BUILTINS: dict[str, Callable[[Arguments, ast.expr, Frame], Value]] = {
    "reveal": reveal, "int": convert("int", INT), "float": convert("float", FLOAT),
    "complex": convert("complex", COMPLEX), "bool": convert("bool", BOOL), "len": constant(INT),
    "range": range_call, "max": extreme("max"), "min": extreme("min"), "sorted": sorted_call, "any": tested("any"),
    "all": tested("all"), "sum": sum_call, "list": sequence_of("list"), "tuple": sequence_of("tuple"),
    "set": sequence_of("set"), "frozenset": sequence_of("set"), "dict": dict_call, "enumerate": enumerate_call,
    "zip": zip_call, "map": map_call, "filter": filter_call, "reversed": same_elements, "iter": same_elements,
    "next": next_call, "str": texted("str"), "repr": texted("repr"), "format": texted("format"),
    "print": texted("print"), "getattr": getattr_call, "type": type_call, "abs": absolute, "round": rounded,
    "isinstance": constant(BOOL), "issubclass": constant(BOOL), "hasattr": constant(BOOL),
    "callable": constant(BOOL), "id": constant(INT), "hash": constant(INT), "ord": constant(INT),
    "setattr": constant(NONE), "divmod": divided, "pow": absolute, "vars": constant(Mapping()),
    "input": constant(TEXT), "hex": spelled("hex"), "oct": spelled("oct"), "bin": spelled("bin"), "chr": spelled("chr"),
}  # fmt: skip
