"""Abstract values: what an expression may be, and on which device it lives.

A value's `key` is its identity for joins, memo keys and fixpoints; provenance (`why`) stays outside of it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from syncfinder.infer.buffers import Buffers, Origin, join_buffers
from syncfinder.sites.site import Reason

if TYPE_CHECKING:
    from syncfinder.infer.frame import Frame
    from syncfinder.infer.project import Module
    from syncfinder.infer.scan import Scan

# The place lattice: a set of possible places as bits. ASSUMED: nobody says where, the project's policy decides.
CUDA, CPU, META, ASSUMED = 1, 2, 4, 8
GPU = CUDA | ASSUMED

CERTAIN, LIKELY, POSSIBLE = 0, 1, 2

MAX_ALTERNATIVES = 4
MAX_CALLABLES = 8  # of the functions in a table, each may be the one that is called
MAX_ITEMS = 16

Why = tuple[Reason, ...]


class Value:
    __slots__ = ("key",)
    key: Any

    def __repr__(self) -> str:
        from syncfinder.infer.showing import show  # for people who debug; showing knows all values

        return show(self)


class UnknownValue(Value):
    """Absorbs every attribute and call.

    `compared`: it is the outcome of a comparison of unknown operands. `host`: whatever tensors it is made of, a
    tokenizer or a data loader made them, on the host. `absent`: it is asked of a list that is still empty; what it is
    used for says nothing of it.
    """

    __slots__ = ("absent", "compared", "host")

    def __init__(self, compared: bool = False, host: bool = False, absent: bool = False) -> None:
        self.compared = compared
        self.host = host
        self.absent = absent
        self.key = ("?", compared, host, absent)


UNKNOWN = UnknownValue()
ABSENT = UnknownValue(absent=True)
HOST_DATA = UnknownValue(host=True)
UNKNOWN_COMPARISON = UnknownValue(compared=True)
HOST_COMPARISON = UnknownValue(compared=True, host=True)


class Tensor(Value):
    """`dtype` is "bool", "int", "float" or None; `memory` tells "pinned" from "pageable" host memory (None: not known),
    `size` "little" and "large" (see `sizes`) of host tensors.

    `sure` is how sure it is that the value is a tensor at all. `pending` marks the result of an asynchronous copy;
    whether that is still unfinished tells the flow of its `buffers` (see `pending`). None: they are not followed.
    """

    __slots__ = ("buffers", "dtype", "memory", "ndim", "pending", "place", "size", "sure", "why")

    def __init__(
        self,
        place: int,
        dtype: str | None = None,
        ndim: int | None = None,
        why: Why = (),
        sure: int = CERTAIN,
        memory: str | None = None,
        pending: bool = False,
        buffers: Buffers | None = None,
        size: str | None = None,
    ) -> None:
        self.place = place
        self.dtype = dtype
        self.ndim = ndim
        self.why = why
        self.sure = sure
        self.memory = memory
        self.pending = pending
        self.buffers = buffers
        self.key = ("T", place, dtype, ndim, sure, memory)
        self.size = size
        if buffers is not None or size is not None:
            self.key = (*self.key, buffers, size)

    def but(self, **changes: Any) -> Tensor:
        """Return a copy with some fields changed."""
        fields = {name: changes.get(name, getattr(self, name)) for name in TENSOR_FIELDS}
        return Tensor(**fields)

    @property
    def waits(self) -> bool:
        """Whether reading it makes the host wait: it is, or may be, on the GPU."""
        return bool(self.place & GPU)


TENSOR_FIELDS = ("place", "dtype", "ndim", "why", "sure", "memory", "pending", "buffers", "size")


class Const(Value):
    """A host constant whose value is known: None, bool, int, float, str, bytes, Ellipsis."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value
        self.key = ("c", type(value).__name__, value)


class Number(Value):
    """A host number of a kind ("int", "float", "bool", "complex") with an unknown value.

    `clock`: of a clock's reading, what `measuring` knows of it.
    """

    __slots__ = ("clock", "kind")

    def __init__(self, kind: str, clock: Any = None) -> None:
        self.kind = kind
        self.clock = clock
        self.key = ("n", kind) if clock is None else ("n", kind, clock.key)


class Text(Value):
    """A string with an unknown value."""

    __slots__ = ()

    def __init__(self) -> None:
        self.key = "text"


class Flag(Value):
    """A host bool that the analysis assumes (a GPU is there; nothing is being traced): the other branch is muted."""

    __slots__ = ("value",)

    def __init__(self, value: bool) -> None:
        self.value = value
        self.key = ("flag", value)


class Array(Value):
    """A NumPy array or another host array. `buffers`: the tensor's memory that it shares, where that is followed."""

    __slots__ = ("buffers", "scalar")

    def __init__(self, scalar: bool = False, buffers: Buffers | None = None) -> None:
        self.scalar = scalar
        self.buffers = buffers
        self.key = ("array", scalar) if buffers is None else ("array", scalar, buffers)


class Device(Value):
    __slots__ = ("place", "why")

    def __init__(self, place: int, why: Why = ()) -> None:
        self.place = place
        self.why = why
        self.key = ("device", place)


class Dtype(Value):
    __slots__ = ("name",)

    def __init__(self, name: str | None) -> None:
        self.name = name
        self.key = ("dtype", name)


class Sequence(Value):
    """A list, tuple, set, range or iterator. `items` when each element is known by position, else `element` for all.

    Of an empty one, `element` is what an annotation says that its elements will be.
    """

    __slots__ = ("element", "items", "kind")

    def __init__(self, kind: str, items: tuple[Value, ...] | None = None, element: Value | None = None) -> None:
        if items is not None and len(items) > MAX_ITEMS:
            element, items = join_all(items), None
        self.kind = kind
        self.items = items
        self.element = element
        self.key = ("s", kind, None if items is None else tuple(v.key for v in items), element and element.key)

    def each(self) -> Value:
        """Return the join of its elements."""
        if self.items is not None:
            value = join_all(self.items or (self.element or UNKNOWN,))
            return value if len(self.items) == 1 else one_of(value)
        return one_of(self.element) if self.element is not None else UNKNOWN

    def parts(self) -> tuple[Value, ...]:
        """Return its elements where each is known, else the one value that stands for all."""
        return self.items if self.items is not None else (self.each(),)

    def grown(self, value: Value) -> Sequence:
        """Return the sequence with one more value somewhere in it."""
        if self.items == ():
            return Sequence(self.kind, element=self.kept(value))
        held = join_all([self.each(), value]) if self.items or self.element is not None else value
        return Sequence(self.kind, element=held)

    def kept(self, value: Value) -> Value:
        """Return a value as an empty sequence takes it: an unknown one is what the annotation says."""
        return self.element if value is UNKNOWN and self.items == () and self.element is not None else value


class Mapping(Value):
    """A mapping: named `items`, and one value for all others. `empty`: the latter is only what an annotation says."""

    __slots__ = ("element", "empty", "items")

    def __init__(
        self, items: dict[Any, Value] | None = None, element: Value | None = None, empty: bool = False
    ) -> None:
        if items is not None and len(items) > 2 * MAX_ITEMS:
            element, items = join_all(items.values()), None
        self.items = items
        self.element = element
        known = None if items is None else tuple((k, v.key) for k, v in items.items())
        self.empty = empty
        self.key = ("m", known, element and element.key, empty)

    def each(self) -> Value:
        """Return the join of its values."""
        if self.items:
            return one_of(join_all([*self.items.values(), *([self.element] if self.element is not None else [])]))
        return one_of(self.element) if self.element is not None else UNKNOWN


class Function(Value):
    """A function or lambda of the project. `closure` is the frame it was defined in; `owner` its class."""

    __slots__ = (
        "askers", "called", "closure", "contradicted", "decorators", "facts", "kind", "module", "name", "node", "owner",
        "qualname", "shapes",
    )  # fmt: skip

    def __init__(
        self,
        node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda,
        module: Module,
        qualname: str,
        closure: Frame | None = None,
        owner: Class | None = None,
    ) -> None:
        self.node = node
        self.module = module
        self.qualname = qualname
        self.name = qualname.rpartition(".")[2]
        self.closure = closure
        self.owner = owner
        self.kind = "function"
        self.decorators: tuple[str, ...] = ()
        self.facts: Any = None  # what `calls` derives from the definition once
        self.shapes: dict[Any, Any] = {}
        self.called: bool | None = None  # by calls in the project: True: with nothing known of an argument, too
        self.contradicted: bool | None = None  # each of these calls gives a list or a host tensor for a GPU tensor
        self.askers: set[Function] = set()  # with nothing known, but only where nothing is known of these functions
        self.key = ("f", id(node), id(closure))

    @property
    def scan(self) -> Scan:
        return self.module.scan_of(self.node)


class Bound(Value):
    """A method with its receiver."""

    __slots__ = ("function", "receiver")

    def __init__(self, function: Function, receiver: Value) -> None:
        self.function = function
        self.receiver = receiver
        self.key = ("b", function.key, receiver.key)


class Partial(Value):
    __slots__ = ("arguments", "function", "keywords")

    def __init__(self, function: Value, arguments: tuple[Value, ...], keywords: dict[str, Value]) -> None:
        self.function = function
        self.arguments = arguments
        self.keywords = keywords
        self.key = ("p", function.key, tuple(a.key for a in arguments), tuple((k, v.key) for k, v in keywords.items()))


class Callback(Value):
    """Something callable of which only the result is known, from an annotation."""

    __slots__ = ("result",)

    def __init__(self, result: Value) -> None:
        self.result = result
        self.key = ("cb", result.key)


class Class(Value):
    """A class of the project; its members and attributes are looked up in `classes`."""

    __slots__ = (
        "ancestors", "attributes", "bases", "closure", "given", "given_places", "heirs", "holders", "kept", "members",
        "module", "moved", "name", "node", "qualname", "running", "stores",
    )  # fmt: skip

    def __init__(self, node: ast.ClassDef, module: Module, qualname: str, closure: Frame | None) -> None:
        self.node = node
        self.module = module
        self.qualname = qualname
        self.name = node.name
        self.closure = closure
        self.bases: tuple[Value, ...] | None = None
        self.ancestors: set[object] | None = None
        self.members: dict[str, list[ast.stmt]] | None = None
        self.stores: dict[str, list[Any]] | None = None
        self.given: list[tuple[str, str]] | None = None
        self.kept: list[tuple[str, str]] | None = None
        # Where constructor calls' tensors are: is one on the host, and why others are not; None: nothing holds.
        self.given_places: dict[str, tuple[bool, set[Reason]] | None] = {}
        self.moved: set[str] = set()  # the attributes that are assigned something else than host values from outside
        self.heirs: list[Class] | None = None
        self.holders: dict[str, list[Class]] = {}
        self.attributes: dict[str, Value] = {}
        self.running: set[str] = set()
        self.key = ("C", id(node))


class Instance(Value):
    """An object of a class of the project. `fields`: the host values that this one's constructor was given."""

    __slots__ = ("cls", "fields")

    def __init__(self, cls: Class, fields: dict[str, Value] | None = None) -> None:
        self.cls = cls
        self.fields = fields or {}
        self.key = ("i", cls.key, tuple((n, v.key) for n, v in fields.items())) if fields else ("i", cls.key)


class ModuleValue(Value):
    """A module of the project."""

    __slots__ = ("module",)

    def __init__(self, module: Module) -> None:
        self.module = module
        self.key = ("M", id(module))


class Api(Value):
    """A name of a library by its dotted path: a module, a function or a class that the torch model may know."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name
        self.key = ("a", name)


class Method(Value):
    """A library method taken from a receiver but not called yet."""

    __slots__ = ("name", "receiver")

    def __init__(self, receiver: Value, name: str) -> None:
        self.receiver = receiver
        self.name = name
        self.key = ("meth", receiver.key, name)


class Library(Value):
    """An instance of a library class (torch.nn.Linear, torch.cuda.Event) with its constructor's arguments.

    `origin` tells streams and events apart.
    """

    __slots__ = ("init", "name", "origin", "why")

    def __init__(
        self, name: str, init: dict[str, Value] | None = None, why: Why = (), origin: Origin | None = None
    ) -> None:
        self.name = name
        self.init = init or {}
        self.why = why
        self.origin = origin
        self.key = ("L", name, tuple((k, v.key) for k, v in self.init.items()))
        if origin is not None:
            self.key = (*self.key, origin)


class Super(Value):
    __slots__ = ("owner", "receiver")

    def __init__(self, owner: Class, receiver: Value) -> None:
        self.owner = owner
        self.receiver = receiver
        self.key = ("super", owner.key, receiver.key)


class Joining(Value):
    """A value that knows how to join another of its kind."""

    __slots__ = ()

    def joined(self, other: Any) -> Value:
        """Return the value that stands for both."""
        raise NotImplementedError


class Union(Value):
    __slots__ = ("members",)

    def __init__(self, members: tuple[Value, ...]) -> None:
        self.members = members
        self.key = ("u", tuple(m.key for m in members))


NONE = Const(None)
INT, FLOAT, BOOL, COMPLEX = Number("int"), Number("float"), Number("bool"), Number("complex")
TEXT = Text()
ARRAY, ARRAY_SCALAR = Array(), Array(scalar=True)
NUMBERS = Sequence("list", element=INT)
SIZE = Sequence("tuple", element=INT)


def one_of(value: Value) -> Value:
    """Return what stands for each of several values: which of the buffers that one place makes it is, is not known."""
    if type(value) is Tensor and value.buffers is not None:
        return value.but(buffers=frozenset(b._replace(several=True) for b in value.buffers))
    return value


def members(value: Value) -> tuple[Value, ...]:
    """Return the alternatives of a union, or the value alone."""
    return value.members if type(value) is Union else (value,)


def tensors(value: Value) -> list[Tensor]:
    """Return the tensors among a value's alternatives."""
    if type(value) is Tensor:
        return [value]
    if type(value) is Union:
        return [m for m in value.members if type(m) is Tensor]
    return []


def tensor_in(value: Value) -> Tensor | None:
    """Return the tensor that a value is or may be."""
    if type(value) is Tensor:
        return value
    found = tensors(value)
    return found[0] if found else None


def on_host(value: Value) -> bool:
    """Return whether nothing is known of a value but that its tensors are on the host."""
    return type(value) is UnknownValue and value.host


def is_number(value: Value) -> bool:
    """Return whether a value is a host number or bool."""
    kind = type(value)
    return kind is Number or kind is Flag or (kind is Const and isinstance(value.value, (int, float, complex)))  # type: ignore[attr-defined]


def innermost(data: Value) -> Value:
    """Return what the lists in lists hold in the end."""
    while isinstance(data, Sequence):
        data = data.each()
    return data


def join_tensors(a: Tensor, b: Tensor) -> Tensor:
    """Return the tensor that stands for both: places unite, what differs is not known."""
    return Tensor(
        a.place | b.place,
        a.dtype if a.dtype == b.dtype else None,
        a.ndim if a.ndim == b.ndim else None,
        a.why if a.place & GPU or not b.place & GPU else b.why,
        max(a.sure, b.sure),
        a.memory if a.memory == b.memory else None,
        a.pending or b.pending,
        joined_buffers(a, b),
        a.size if a.size == b.size else None,
    )


def joined_buffers(a: Tensor, b: Tensor) -> Buffers | None:
    """Return the buffers of what stands for both: of a GPU tensor and its host copy, those of the copy."""
    if a.buffers is b.buffers:
        return a.buffers
    if a.place == CPU and not b.place & CPU:
        return a.buffers
    if b.place == CPU and not a.place & CPU:
        return b.buffers
    return join_buffers(a.buffers, b.buffers)


def join_sequences(a: Sequence, b: Sequence) -> Sequence:
    kind = a.kind if a.kind == b.kind else "list"
    if a.items is not None and b.items is not None and len(a.items) == len(b.items):
        items = tuple(join(x, y) for x, y in zip(a.items, b.items, strict=True))
        return Sequence(kind, items, None if items else a.element or b.element)
    parts = [s.each() for s in (a, b) if not (s.items == () or (s.items is None and s.element is None))]
    return Sequence(kind, element=join_all(parts) if parts else None)


def join_mappings(a: Mapping, b: Mapping) -> Mapping:
    if a.empty is not b.empty:
        full = b if a.empty else a
        return full if full.items or full.element is not None else a if a.empty else b
    if a.items is None or b.items is None:
        return Mapping(element=join_all([m.each() for m in (a, b) if m.items or m.element is not None]))
    both = {
        k: join(a.items[k], b.items[k]) if k in a.items and k in b.items else v
        for k, v in {**a.items, **b.items}.items()
    }
    extra = [m.element for m in (a, b) if m.element is not None]
    return Mapping(both, join_all(extra) if extra else None)


def join_instances(a: Instance, b: Instance) -> Instance:
    """Return the instance that stands for two of one class: of the fields it knows what both know."""
    both = [(n, v, b.fields[n]) for n, v in a.fields.items() if n in b.fields]
    return Instance(a.cls, {n: join(v, w) for n, v, w in both if v.key == w.key or type(v) is type(w) is Tensor})


def join(a: Value, b: Value) -> Value:
    """Return the least value that stands for both."""
    if a is b or a.key == b.key:
        return a
    kind, other = type(a), type(b)
    if kind is other:
        if kind is Tensor:
            return join_tensors(a, b)  # type: ignore[arg-type]
        if kind is Sequence:
            return join_sequences(a, b)  # type: ignore[arg-type]
        if kind is Mapping:
            return join_mappings(a, b)  # type: ignore[arg-type]
        if kind is Device:
            return Device(a.place | b.place, a.why or b.why)  # type: ignore[attr-defined]
        if kind is Dtype:
            return Dtype(None)
        if kind is Instance and a.cls is b.cls:  # type: ignore[attr-defined]
            return join_instances(a, b)  # type: ignore[arg-type]
        if kind is Flag:
            return BOOL
        if kind is Array and a.scalar is b.scalar:  # type: ignore[attr-defined]
            return Array(a.scalar, join_buffers(a.buffers, b.buffers))  # type: ignore[attr-defined]
        if kind is Library and a.origin is not b.origin and a.name == b.name:  # type: ignore[attr-defined]
            return Library(a.name, a.init, a.why)  # type: ignore[attr-defined]
        if isinstance(a, Joining):
            return a.joined(b)
    if is_number(a) and is_number(b):
        clocks = kind is other is Number and a.clock is not None and b.clock is not None  # type: ignore[attr-defined]
        return Number(
            wider(number_kind(a), number_kind(b)),
            a.clock.joined(b.clock) if clocks else None,  # type: ignore[attr-defined]
        )
    if kind is UnknownValue or other is UnknownValue:
        return join_unknown(b if kind is UnknownValue else a)
    return unite(members(a) + members(b))


def join_unknown(value: Value) -> Value:
    """A tensor on one of two paths is still likely a tensor; anything else is not known."""
    found = tensor_in(value)
    return found.but(sure=max(found.sure, LIKELY)) if found is not None else UNKNOWN


def unite(parts: Iterable[Value]) -> Value:
    """Build a union: mergeable alternatives are merged, too many give Unknown (the tensor among them is kept)."""
    out: list[Value] = []
    for part in parts:
        for i, have in enumerate(out):
            if have.key == part.key:
                break
            mergeable = type(have) is type(part) and type(part) in (Tensor, Sequence, Mapping, Device, Dtype)
            if isinstance(have, Instance) and isinstance(part, Instance):
                mergeable = have.cls is part.cls
            elif isinstance(have, Library) and isinstance(part, Library):
                mergeable = have.name == part.name and have.origin is not part.origin
            if mergeable or (is_number(have) and is_number(part)):
                out[i] = join(have, part)
                break
        else:
            out.append(part)
    if len(out) == 1:
        return out[0]
    if len(out) > (MAX_CALLABLES if all(isinstance(v, (Function, Bound)) for v in out) else MAX_ALTERNATIVES):
        return join_unknown(Union(tuple(out)))
    return Union(tuple(out))


def join_all(parts: Iterable[Value]) -> Value:
    """Join any number of values; none gives Unknown."""
    result: Value | None = None
    for part in parts:
        result = part if result is None else join(result, part)
    return UNKNOWN if result is None else result


NUMBER_ORDER = ("bool", "int", "float", "complex")


def number_kind(value: Value) -> str:
    if type(value) is Number:
        return value.kind
    return type(value.value).__name__ if type(value) is Const else "bool"


def wider(a: str, b: str) -> str:
    return max(a, b, key=NUMBER_ORDER.index)
