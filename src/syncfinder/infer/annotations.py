"""Annotations as values: what a parameter, field or return is said to be."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from syncfinder.infer.dispatch import evaluate
from syncfinder.infer.names import last_name
from syncfinder.infer.values import (
    ARRAY,
    ASSUMED,
    BOOL,
    CERTAIN,
    COMPLEX,
    CPU,
    CUDA,
    FLOAT,
    HOST_DATA,
    INT,
    LIKELY,
    NONE,
    SIZE,
    TEXT,
    UNKNOWN,
    Api,
    Callback,
    Class,
    Const,
    Device,
    Dtype,
    Instance,
    Library,
    Mapping,
    Sequence,
    Tensor,
    Union,
    Value,
    join_all,
    members,
)

if TYPE_CHECKING:
    from syncfinder.infer.frame import Frame

# Iterating over them gives host tensors, nested as their data set nests them.
LOADERS = {"torch.utils.data.DataLoader"}
BATCHES = Sequence("list", element=HOST_DATA)
# jaxtyping's and torchtyping's dtype classes: Float[Tensor, "batch seq"]
SHAPED = {
    "Float": "float", "Float32": "float", "Float16": "float", "BFloat16": "float", "Int": "int", "Int64": "int",
    "Int32": "int", "Bool": "bool", "Integer": "int", "Shaped": None, "Num": None, "Inexact": "float",
    "UInt8": "int", "TensorType": None,
}  # fmt: skip
PLAIN: dict[str, Value] = {
    "int": INT, "float": FLOAT, "bool": BOOL, "complex": COMPLEX, "str": TEXT, "bytes": TEXT, "None": NONE,
    "list": Sequence("list"), "tuple": Sequence("tuple"), "set": Sequence("set"), "dict": Mapping(),
    "List": Sequence("list"), "Tuple": Sequence("tuple"), "Dict": Mapping(), "ndarray": ARRAY, "Path": TEXT,
    "Number": FLOAT,
}  # fmt: skip
SEQUENCES = {
    "list": "list", "List": "list", "Sequence": "list", "Iterable": "list", "Collection": "list",
    "Iterator": "list", "Generator": "list", "set": "set", "Set": "set", "frozenset": "set", "deque": "list",
    "Deque": "list", "MutableSequence": "list",
}  # fmt: skip
MAPPINGS = {"dict", "Dict", "Mapping", "MutableMapping", "OrderedDict", "defaultdict", "DefaultDict"}
WRAPPERS = {"Final", "ClassVar", "Required", "NotRequired", "ReadOnly", "InitVar", "Awaitable", "Coroutine"}
PLACE_WORDS = {
    "cuda": (CUDA, None),
    "gpu": (CUDA, None),
    "device": (CUDA, None),
    "cpu": (CPU, None),
    "host": (CPU, None),
    "pinned": (CPU, "pinned"),
}
HINT_ALIASES = {"CudaTensor": "cuda", "CpuTensor": "cpu", "PinnedTensor": "pinned"}


def from_annotation(node: ast.expr | None, frame: Frame, what: str, place: int = ASSUMED) -> Value:
    """Return the value that an annotation promises; Unknown if it says nothing of use. `what` words the provenance."""
    if node is None:
        return UNKNOWN
    kind = type(node)
    if kind is ast.Constant:
        return from_constant(node, frame, what, place)  # type: ignore[arg-type]
    if kind is ast.BinOp and isinstance(node.op, ast.BitOr):  # type: ignore[attr-defined]
        parts = [from_annotation(side, frame, what, place) for side in (node.left, node.right)]  # type: ignore[attr-defined]
        return either(parts)
    if kind is ast.Subscript:
        return from_subscript(node, frame, what, place)  # type: ignore[arg-type]
    if kind is ast.Name or kind is ast.Attribute:
        return from_name(node, frame, what, place)
    return UNKNOWN


def from_constant(node: ast.Constant, frame: Frame, what: str, place: int) -> Value:
    if node.value is None:
        return NONE
    if not isinstance(node.value, str):
        return UNKNOWN
    try:
        inner = ast.parse(node.value.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        return UNKNOWN
    for part in ast.walk(inner):
        if hasattr(part, "lineno"):
            ast.copy_location(part, node)
    return from_annotation(inner, frame, what, place)


def either(parts: list[Value]) -> Value:
    """Join alternatives; an unknown one does not swallow the others."""
    known = [p for p in parts if p is not UNKNOWN]
    return join_all(known) if known and any(tensor_like(p) for p in known) else join_all(parts)


def tensor_like(value: Value) -> bool:
    return any(type(m) is Tensor for m in members(value))


def tensor(
    frame: Frame, node: ast.expr, what: str, place: int, dtype: str | None = None, memory: str | None = None
) -> Tensor:
    why = frame.reason(f"{what} is annotated `{ast.unparse(node)}`", node)
    return Tensor(place, dtype, None, why, CERTAIN if place != ASSUMED else LIKELY, memory)


def from_name(node: ast.expr, frame: Frame, what: str, place: int) -> Value:
    word = last_name(node)
    if word in HINT_ALIASES:
        where, memory = PLACE_WORDS[HINT_ALIASES[word]]
        return tensor(frame, node, what, where, None, memory)
    plain = PLAIN.get(word)
    if plain is not None:
        return plain
    value = evaluate(node, frame)
    if type(value) is Class:
        return Instance(value)
    if type(value) is Api:
        return from_api(value.name, node, frame, what, place)
    if word in frame.project.model.tensor_words and value is UNKNOWN:
        return tensor(frame, node, what, place)
    if (tensor_like(value) or isinstance(value, (Sequence, Mapping))) and not isinstance(node, ast.Attribute):
        return value  # an alias such as CudaTensor = Annotated[Tensor, "cuda"]
    return UNKNOWN


# Marks a library object that was not made here: where it is, its maker knows.
GIVEN = "?"


def from_api(name: str, node: ast.expr, frame: Frame, what: str, place: int) -> Value:
    tensor_classes = frame.project.model.tensor_classes
    if name in tensor_classes:
        return tensor(frame, node, what, place, tensor_classes[name])
    if name == "torch.device":
        return Device(ASSUMED, frame.reason(f"{what} is annotated `torch.device`", node))
    if name == "torch.dtype":
        return Dtype(None)
    if name == "torch.Size":
        return SIZE
    if name in LOADERS:
        return BATCHES
    if name.startswith("numpy."):
        return ARRAY
    if frame.project.model.library_class(name) is not None:
        return Library(name, {GIVEN: BOOL})
    return UNKNOWN


def from_subscript(node: ast.Subscript, frame: Frame, what: str, place: int) -> Value:
    head = last_name(node.value)
    arguments = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    inner = arguments[0] if arguments else None

    def part(argument: ast.expr | None) -> Value:
        return from_annotation(argument, frame, what, place)

    if head == "Optional":
        return either([part(inner), NONE])
    if head == "Union":
        return either([part(a) for a in arguments])
    if head in SEQUENCES:
        element = part(inner)
        return Sequence(SEQUENCES[head], element=element)
    if head in ("tuple", "Tuple"):
        if len(arguments) == 2 and isinstance(arguments[1], ast.Constant) and arguments[1].value is Ellipsis:
            return Sequence("tuple", element=part(inner))
        return Sequence("tuple", tuple(part(a) for a in arguments))
    if head in MAPPINGS:
        return Mapping(element=part(arguments[-1]))
    if head == "Annotated":
        return annotated(arguments, frame, what, place)
    if head in SHAPED and inner is not None:
        return shaped(head, arguments, frame, what, place)
    if head == "Callable":
        made = part(arguments[-1])
        return Callback(made) if made is not UNKNOWN else UNKNOWN
    if head in ("type", "Type"):
        return class_of(part(inner))
    if head in WRAPPERS:
        return part(arguments[-1] if head == "Coroutine" else inner)
    if head == "Literal":
        values = [Const(a.value) for a in arguments if isinstance(a, ast.Constant)]
        return join_all(values) if values else UNKNOWN
    return from_name(node.value, frame, what, place)


def class_of(value: Value) -> Value:
    """Return the class object, or several, whose instances a value stands for."""
    if isinstance(value, Instance):
        return value.cls
    if isinstance(value, Union):
        return join_all([class_of(m) for m in value.members])
    return Api(value.name) if isinstance(value, Library) else UNKNOWN


def annotated(arguments: list[ast.expr], frame: Frame, what: str, place: int) -> Value:
    memory = None
    for extra in arguments[1:]:
        if isinstance(extra, ast.Constant) and isinstance(extra.value, str) and extra.value in PLACE_WORDS:
            place, memory = PLACE_WORDS[extra.value]
    value = from_annotation(arguments[0], frame, what, place)
    return value.but(memory=memory) if type(value) is Tensor and memory else value


def shaped(head: str, arguments: list[ast.expr], frame: Frame, what: str, place: int) -> Value:
    value = from_annotation(arguments[0], frame, what, place)
    if type(value) is not Tensor:
        return value
    ndim = None
    if len(arguments) > 1 and isinstance(arguments[1], ast.Constant) and isinstance(arguments[1].value, str):
        axes = arguments[1].value.split()
        ndim = None if any(a.startswith(("*", "...")) for a in axes) else len(axes)
    return value.but(dtype=SHAPED[head] or value.dtype, ndim=ndim)
