"""Calls into libraries: Python's builtins, torch through its model, NumPy, math and logging."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from syncfinder.infer import overlay, policy
from syncfinder.infer.annotations import GIVEN, TENSOR_CLASSES
from syncfinder.infer.attributes import LIMITS, attribute_of
from syncfinder.infer.calls import Arguments
from syncfinder.infer.frame import Frame
from syncfinder.infer.invoke import call_value
from syncfinder.infer.operators import iterated
from syncfinder.infer.reading import formattable, read, read_any
from syncfinder.infer.terms import BoundCall
from syncfinder.infer.torchcalls import apply_effects, bound_to, call_row, device_of, operands_of, truthy
from syncfinder.infer.values import (
    ARRAY,
    ARRAY_SCALAR,
    ASSUMED,
    BOOL,
    CERTAIN,
    COMPLEX,
    CPU,
    CUDA,
    FLOAT,
    GPU,
    INT,
    LIKELY,
    NONE,
    NUMBERS,
    TEXT,
    UNKNOWN,
    Api,
    Array,
    Const,
    Device,
    Flag,
    Instance,
    Library,
    Mapping,
    Number,
    Partial,
    Sequence,
    Tensor,
    Value,
    is_number,
    join,
    join_all,
    number_kind,
    tensor_in,
    tensors,
)


def call_api(callee: Api, arguments: Arguments, node: ast.expr, frame: Frame) -> Value:
    """Return the result of calling a library's function or class by its dotted name."""
    name = callee.name
    if name.startswith("builtins."):
        handler = BUILTINS.get(name[9:])
        return handler(arguments, node, frame) if handler is not None else UNKNOWN
    special = overlay.FUNCTIONS.get(name)
    if special is not None:
        return special(name, arguments, node, frame)
    flag = FLAGS.get(name)
    if flag is not None:
        return Flag(flag)
    if name in LIMITS:
        return Library(name)
    model = frame.project.model
    if name.startswith("torch.Tensor."):
        return unbound_method(name[13:], arguments, node, frame)
    cls = model.library_class(name)
    if cls is not None:
        return construct(name, arguments, node, frame)
    row = model.row(name)
    if row is not None:
        return call_row(row, arguments, node, frame)
    return other_library(name, arguments, node, frame)


# What a running inference program answers: there is a GPU, and nothing is being traced or captured.
FLAGS = {
    "torch.cuda.is_available": True, "torch.accelerator.is_available": True, "torch.compiler.is_compiling": False,
    "torch.jit.is_tracing": False, "torch.jit.is_scripting": False, "torch._dynamo.is_compiling": False,
    "torch.compiler.is_dynamo_compiling": False, "torch.cuda.is_current_stream_capturing": False,
    "torch.onnx.is_in_onnx_export": False, "torch._C._get_tracing_state": False, "torch.compiler.is_exporting": False,
    "torch.fx._symbolic_trace.is_fx_tracing": False, "torch._C._is_torch_function_mode_enabled": False,
}  # fmt: skip


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


# Marks a library object whose constructor got more than constants and numbers.
MORE = "*"


def construct(name: str, arguments: Arguments, node: ast.expr, frame: Frame) -> Value:
    """An instance of a library class; its constructor may wait (distributions validate their arguments)."""
    if name in CONTAINERS:
        return CONTAINERS[name](arguments)
    model = frame.project.model
    row = model.row(name)
    init = dict(arguments.keywords)
    if row is not None:
        call_row(row, arguments, node, frame)
        init = bound_to(row, arguments)
    small: dict[str, Value] = {k: v for k, v in init.items() if is_number(v) or isinstance(v, (Const, Tensor))}
    if len(small) < len(init):
        small[MORE] = UNKNOWN
    if any(t.waits for t in operands_of(arguments)):
        operand = next(t for t in operands_of(arguments) if t.waits)
        return Library(name, {**small, "": operand})
    device = device_of(arguments.keywords.get("device"), arguments.keyword_nodes.get("device"), frame)
    if device is None:
        # a module is where the modules are that it holds
        held = [v.init.get("device") for v in arguments.values if isinstance(v, Library)]
        device = next((d for d in held if isinstance(d, Device)), None)
    if device is not None:
        small["device"] = device
    return Library(name, small)


def module_list(arguments: Arguments) -> Value:
    value = arguments.values[0] if arguments.values else Sequence("list")
    return Sequence("list", value.items, value.element) if isinstance(value, Sequence) else Sequence("list")


def module_dict(arguments: Arguments) -> Value:
    value = arguments.values[0] if arguments.values else Mapping()
    return value if isinstance(value, Mapping) else Mapping()


CONTAINERS: dict[str, Callable[[Arguments], Value]] = {
    "torch.nn.ModuleList": module_list, "torch.nn.ParameterList": module_list, "torch.nn.ModuleDict": module_dict,
    "torch.nn.ParameterDict": module_dict, "torch.Size": lambda a: NUMBERS,
}  # fmt: skip


def call_library(callee: Library, arguments: Arguments, node: ast.expr, frame: Frame) -> Value:
    """Calling a library object: a module's forward."""
    return library_method(callee, "forward", arguments, node, frame)


def library_method(
    base: Library, name: str, arguments: Arguments, node: ast.expr, frame: Frame, sure: int = CERTAIN
) -> Value:
    """Return the result of a library object's method."""
    cls = frame.project.model.library_class(base.name)
    if cls is None:
        return UNKNOWN
    row = cls.forward if name in ("forward", "__call__") else cls.method(name)
    if row is not None and not (cls.is_module and name in MOVES):
        owned = base.init.get("")
        if sure == CERTAIN:
            value = call_row(row, arguments, node, frame, base.init)
        else:
            value = unsure(row, arguments, node, frame, sure)
        if isinstance(value, Tensor) and not operands_of(arguments) and isinstance(owned, Tensor):
            return value.but(place=owned.place, why=owned.why)
        made_of = [t for v in base.init.values() for t in tensors(v)]
        if (
            isinstance(value, Tensor)
            and not operands_of(arguments)
            and made_of
            and all(t.place == CPU for t in made_of)
        ):
            return value.but(place=CPU, why=made_of[0].why)
        if isinstance(value, Tensor) and base.name.startswith("torch.distributions.") and only_numbers(base):
            why = frame.reason(f"{base.name} was made of host numbers", node)
            return value.but(place=CPU, why=why, sure=CERTAIN)
        return value
    if base.name.startswith("torch.nn."):
        return nn_method(base, name, arguments, node, frame)
    return UNKNOWN


def only_numbers(base: Library) -> bool:
    """Return whether a library object was made of host numbers only."""
    return bool(base.init) and all(is_number(v) for v in base.init.values())


def unsure(row: Any, arguments: Arguments, node: ast.expr, frame: Frame, sure: int) -> Value:
    """A method by which the receiver's class was guessed: its waits are only likely."""
    bound = BoundCall(row, 0, (), {}, {}, {})
    for effect in row.effects:
        if any(t.test == "anywhere" for t in effect.when):
            frame.publish(effect.kind, node, row.name, None, sure)
            return UNKNOWN
    apply_effects(bound, operands_of(arguments), node, frame)
    return UNKNOWN


# methods of nn.Module whose meaning no row tells: they move the module, or give what it holds
MOVES = {
    "to", "cuda", "cpu", "eval", "train", "half", "float", "bfloat16", "requires_grad_", "apply", "parameters",
    "buffers", "state_dict", "load_state_dict",
}  # fmt: skip
HOME = {"cuda": Device(CUDA), "cpu": Device(CPU)}


def holds_tensors(base: Library, frame: Frame) -> bool:
    """Return whether a library module may have parameters or buffers: one made of plain options only has none."""
    cls = frame.project.model.library_class(base.name)
    if cls is None or not cls.constructor.overloads:
        return True
    options = [p for overload in cls.constructor.overloads for p in overload]
    return any(p.name == "device" or p.type[0] in "oT" for p in options) or not options


def nn_method(base: Library, name: str, arguments: Arguments, node: ast.expr, frame: Frame) -> Value:
    """What torch.nn.Module gives to library modules: moves, casts, and their parameters."""
    here = base.init.get("device")
    place = (
        here.place
        if isinstance(here, Device)
        else CPU
        if frame.function is not None and not {"", GIVEN} & base.init.keys()
        else ASSUMED
    )
    if name in ("to", "cuda", "cpu"):
        waits = not truthy(arguments.keywords.get("non_blocking"))
        target = HOME.get(name) or overlay.target_of(arguments, frame)[0]
        if target is None:
            return base
        if not holds_tensors(base, frame):
            return base
        if target.place == CPU and place == CUDA:
            operand = Tensor(CUDA, why=here.why if isinstance(here, Device) else ())
            frame.publish("copy", node, f"torch.nn.Module.{name}", operand)
        elif target.place & GPU and (here is None or place == CPU) and waits:
            operand = Tensor(target.place, why=frame.reason("a module's parameters are made on the host", node))
            frame.publish("module", node, f"torch.nn.Module.{name}", operand)
        return Library(base.name, {**base.init, "device": target}, base.why)
    if name in ("eval", "train", "half", "float", "bfloat16", "requires_grad_", "apply"):
        return base
    held = Tensor(place, "float", why=frame.reason("a module's parameters are where the module is", node), sure=LIKELY)
    if name in ("parameters", "buffers"):
        return Sequence("list", element=held)
    if name == "state_dict":
        return Mapping(element=held)
    if name == "load_state_dict" and place == CUDA and arguments.values:
        given = arguments.values[0]
        found = tensor_in(given.each()) if isinstance(given, Mapping) else None
        if found is not None and found.place == CPU:
            operand = Tensor(CUDA, why=(*found.why[:1], *getattr(here, "why", ())[:1]))
            frame.publish("module", node, "torch.nn.Module.load_state_dict", operand)
    return UNKNOWN


def other_library(name: str, arguments: Arguments, node: ast.expr, frame: Frame) -> Value:
    head, _, rest = name.partition(".")
    if head == "numpy":
        return numpy_call(rest, arguments)
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
        return arguments.values[-1] if arguments.values else UNKNOWN
    if name in ("logging.getLogger", "loguru.logger"):
        return UNKNOWN
    if head in ("logging", "warnings"):
        for value, where in arguments.every():
            read_any(value, "format", name, where or node, frame)
        return NONE
    if name in ("pickle.dumps", "pickle.dump"):
        for value, _ in arguments.every():
            read_any(value, "copy", name, node, frame)
    if head in ("time", "random"):
        return FLOAT
    if head == "collections":
        return collection(rest, arguments)
    if head == "itertools":
        return itertools_call(rest, arguments)
    return Tensor(ASSUMED, TENSOR_CLASSES[name]) if name in TENSOR_CLASSES else UNKNOWN


def numpy_call(rest: str, arguments: Arguments) -> Value:
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
