"""Subscripts: indexing and slicing, reads and writes, and which of them make the host wait."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from syncfinder.infer import policy
from syncfinder.infer.annotations import from_annotation
from syncfinder.infer.buffers import Buffers
from syncfinder.infer.calls import Arguments, call_function
from syncfinder.infer.classes import find_method
from syncfinder.infer.dispatch import E, evaluate
from syncfinder.infer.frame import Frame, memory_of
from syncfinder.infer.hazards import host_access, read_operand, write_operand
from syncfinder.infer.narrow import is_still_empty
from syncfinder.infer.operators import held, is_text
from syncfinder.infer.reading import read
from syncfinder.infer.values import (
    ABSENT,
    ASSUMED,
    BOOL,
    CERTAIN,
    CPU,
    GPU,
    HOST_DATA,
    INT,
    LIKELY,
    NONE,
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
    Sequence,
    Tensor,
    Text,
    Union,
    UnknownValue,
    Value,
    innermost,
    is_number,
    join_all,
    members,
    on_host,
    tensor_in,
    tensors,
)

SLICE = Library("builtins.slice")
# The modules whose subscripted names are types.
GENERIC_TYPES = ("typing.", "typing_extensions.", "jaxtyping.", "builtins.list", "builtins.dict", "builtins.tuple")


@dataclass(slots=True)
class Index:
    """An index taken apart. Each list holds the (value, node) of one kind of part."""

    integers: int = 0
    numbers_only: bool = True
    masks: list[tuple[Tensor, ast.expr]] = field(default_factory=list)
    indices: list[tuple[Tensor, ast.expr]] = field(default_factory=list)
    hosts: list[tuple[Value, ast.expr]] = field(default_factory=list)  # lists and arrays
    zero_dim: list[tuple[Tensor, ast.expr]] = field(default_factory=list)
    constant: bool = True
    slices: int = 0
    strided: bool = False
    new_axes: int = 0
    ellipsis: bool = False
    named: bool = False  # a string is among them: what is indexed is no tensor
    unknown: int = 0

    def result_ndim(self, ndim: int | None) -> int | None:
        """Return the result's number of dimensions, where it can be told."""
        if self.unknown or self.masks or (ndim is None):
            return None
        ndim = ndim - self.integers - len(self.zero_dim) + self.new_axes
        advanced = [t.ndim for t, _ in self.indices] + [1] * len(self.hosts)
        if advanced:
            if None in advanced:
                return None
            ndim += max(advanced) - len(advanced)  # type: ignore[type-var, operator]
        return ndim if ndim >= 0 else None


def parts_of(node: ast.expr) -> list[ast.expr]:
    return list(node.elts) if isinstance(node, ast.Tuple) else [node]


def take_apart(node: ast.expr, frame: Frame) -> Index:
    """Evaluate an index and sort its parts; slice bounds that are tensors are read."""
    index = Index()
    parts = parts_of(node)
    for part in parts:
        if isinstance(part, ast.Slice):
            slice_bounds(part, frame)
            index.slices += 1
            # columns of a matrix lie apart, as a step's elements do
            bounded = bool(parts.index(part)) and not (part.lower is None and part.upper is None)
            index.strided = index.strided or part.step is not None or bounded
            index.numbers_only = False
            continue
        if isinstance(part, ast.Starred):
            evaluate(part.value, frame)
            index.unknown += 1
            index.numbers_only = False
            continue
        value = evaluate(part, frame)
        if isinstance(value, Sequence) and value.kind == "tuple" and len(parts) == 1:
            for item in value.parts():
                sort_part(item, part, index)
            if value.items is None:
                index.unknown += 1
        else:
            sort_part(value, part, index)
    return index


def slice_bounds(node: ast.Slice, frame: Frame) -> None:
    for bound in (node.lower, node.upper, node.step):
        if bound is not None:
            for tensor in tensors(evaluate(bound, frame))[:1]:
                read(tensor, "index", "slice bound", bound, frame)


def sort_part(value: Value, node: ast.expr, index: Index) -> None:
    """Put one part of an index where it belongs."""
    tensor = tensor_in(value)
    if tensor is not None:
        sort_tensor(tensor, node, index)
    elif isinstance(value, UnknownValue):
        sort_unknown(value, node, index)
    elif is_text(value):
        index.named = True
        index.unknown += 1
        index.numbers_only = False
    elif isinstance(value, Const) and value.value is None:
        index.new_axes += 1
        index.numbers_only = False
    elif isinstance(value, Const) and value.value is Ellipsis:
        index.ellipsis = True
    elif isinstance(value, (Const, Number, Flag)):
        index.integers += 1
        index.constant = index.constant and isinstance(value, Const)
    elif isinstance(value, Sequence) and value.items == ():
        index.unknown += 1
        index.numbers_only = False
    elif isinstance(value, Sequence):
        index.hosts.append((value, node))
        index.numbers_only = False
    elif isinstance(value, Array) and value.scalar:
        index.integers += 1
        index.constant = False
    elif isinstance(value, Array):
        index.hosts.append((value, node))
        index.numbers_only = False
    elif isinstance(value, Union):
        rest = [m for m in value.members if m is not NONE]
        sort_part(rest[0] if len(rest) == 1 else UNKNOWN, node, index)
    else:
        index.unknown += 1
        index.numbers_only = False


def sort_tensor(tensor: Tensor, node: ast.expr, index: Index) -> None:
    index.constant = False
    index.numbers_only = False
    if tensor.dtype == "bool" or (tensor.dtype is None and policy.mask_like(node)):
        index.masks.append((tensor, node))
    elif tensor.ndim == 0:
        index.zero_dim.append((tensor, node))
    else:
        index.indices.append((tensor, node))


def sort_unknown(value: UnknownValue, node: ast.expr, index: Index) -> None:
    index.constant = False
    if value.compared:
        index.masks.append((Tensor(CPU if value.host else ASSUMED, "bool", sure=LIKELY), node))
        index.numbers_only = False
    else:
        index.unknown += 1


def array_evidence(index: Index, frame: Frame) -> bool:
    """Return whether an index proves an unknown base to be a tensor: a mask, an index tensor, a list among slices."""
    if any(t.waits for t, _ in index.indices):
        return True
    if frame.speaks_of_arrays or frame.host:
        return False
    return bool(index.masks) or (bool(index.hosts) and bool(index.slices or index.ellipsis))


def read_subscript(node: ast.Subscript, frame: Frame) -> Value:
    """Return `base[index]`."""
    return read_item(evaluate(node.value, frame), node, frame)


def read_item(base: Value, node: ast.Subscript, frame: Frame) -> Value:
    kind = type(base)
    if kind is Union:
        rest = [m for m in base.members if m is not NONE and not is_number(m)]  # type: ignore[attr-defined]
        return join_all([read_item(m, node, frame) for m in rest])
    if kind is Tensor:
        return read_tensor(base, take_apart(node.slice, frame), node, frame)  # type: ignore[arg-type]
    if kind is Sequence:
        return read_sequence(base, node, frame)  # type: ignore[arg-type]
    if kind is Mapping:
        return read_mapping(base, evaluate(node.slice, frame))  # type: ignore[arg-type]
    if kind is Text or is_text(base):
        read_host_index(take_apart(node.slice, frame), frame)
        return TEXT
    if kind is Array:
        return read_array(base, take_apart(node.slice, frame), node, frame)  # type: ignore[arg-type]
    if kind is Instance:
        return read_instance(base, node, frame)  # type: ignore[arg-type]
    if kind is Api and base.name.startswith(GENERIC_TYPES):  # type: ignore[attr-defined]
        return from_annotation(node, frame, "it")  # an alias of a type: Lengths = Annotated[Tensor, "cpu"]
    index = take_apart(node.slice, frame)
    doubt_parts(node, Index(), frame)
    if on_host(base):
        return HOST_DATA
    if base is ABSENT:
        return ABSENT
    if kind is UnknownValue:
        if array_evidence(index, frame):
            why = frame.reason(f"`{ast.unparse(node.value)}` is indexed as a tensor", node)
            return read_tensor(Tensor(ASSUMED, why=why, sure=LIKELY), index, node, frame)
        for tensor, part in index.zero_dim:
            read(tensor, "index", "index", part, frame)
    return UNKNOWN


def read_array(base: Array, index: Index, node: ast.Subscript, frame: Frame) -> Value:
    """Indexing an array: a slice is a view of the same memory, anything else reads it."""
    read_host_index(index, frame)
    if base.buffers is None:
        return base
    if index.slices or index.ellipsis or index.new_axes:
        return Array(base.scalar, part_of(base.buffers, node.slice, frame))
    host_access(part_of(base.buffers, node.slice, frame), False, "index", node, frame)
    return Array(base.scalar)


def read_host_index(index: Index, frame: Frame) -> None:
    """A tensor that indexes text or an array is asked for its number."""
    for tensor, part in (*index.zero_dim, *index.indices):
        read(tensor, "index", "index", part, frame)


def read_tensor(base: Tensor, index: Index, node: ast.Subscript, frame: Frame) -> Value:
    """Indexing a tensor: masks wait for their count, 0-dim indices are read, host indices are uploaded."""
    if index.named:
        return UNKNOWN
    doubt_parts(node, index, frame)
    for mask, part in index.masks:
        if mask.waits and base.waits:
            frame.publish("mask-read", part, "index", better(mask, base), known={"base": base, "mask": mask})
    read_indices(base, index, frame)
    if base.waits:
        for host, part in index.hosts:
            publish_host_index(base, host, part, "index", frame)
    dims = index.result_ndim(base.ndim)
    buffers = base.buffers
    if buffers is not None:
        if index.masks or index.indices or index.hosts:
            read_operand(base, "index", node, frame)
            buffers = None
        else:
            buffers = part_of(buffers, node.slice, frame)
    # A basic index of pinned memory is still pinned; a gathered copy is not, and a strided one is copied through one.
    loose = index.masks or index.indices or index.hosts or index.strided
    memory = "pageable" if loose and base.memory else base.memory
    return base.but(ndim=dims, memory=memory, buffers=buffers)


def part_of(buffers: Buffers, index: ast.expr, frame: Frame) -> Buffers:
    """Return the part of some memory that a basic index takes, told by its first dimension's index.

    In a loop an index with names in it takes another part each time.
    """
    first = index.elts[0] if isinstance(index, ast.Tuple) and index.elts else index
    whole = isinstance(first, ast.Slice) and first.lower is None and first.upper is None
    if whole or (isinstance(first, ast.Constant) and first.value in (None, Ellipsis)):
        return buffers
    start = first.lower if isinstance(first, ast.Slice) else first
    varies = frame.repeats > 0 and start is not None and not isinstance(start, ast.Constant)
    text = ast.unparse(first)
    return frozenset(b if b.part else b._replace(part=text, several=b.several or varies) for b in buffers)


def doubt_parts(node: ast.Subscript, index: Index, frame: Frame) -> None:
    """Doubt that a part is a mask, or on the host, where this evaluation sees something else."""
    masks = {id(part) for _, part in index.masks}
    hosts = {id(part) for _, part in (*index.hosts, *index.indices)}
    for part in parts_of(node.slice):
        if isinstance(part, (ast.Slice, ast.Constant)):
            continue
        if id(part) not in masks:
            frame.doubt("mask-read", part)
            frame.doubt("mask-write", part)
        if id(part) not in hosts:
            frame.doubt("host-index", part)


def publish_host_index(base: Tensor, host: Value, part: ast.expr, operation: str, frame: Frame) -> None:
    """A list or an array that indexes a GPU tensor is uploaded."""
    known = {"base": base, "index": host, "element": innermost(host)}
    what = "list" if isinstance(host, Sequence) else "array"
    frame.publish("host-index", part, operation, base, index=what, known=known)


def better(mask: Tensor, base: Tensor) -> Tensor:
    return (
        mask
        if mask.why and mask.sure <= base.sure
        else mask.but(why=base.why, sure=max(mask.sure, base.sure) if base.place == ASSUMED else mask.sure)
    )


def read_indices(base: Tensor, index: Index, frame: Frame) -> None:
    for tensor, part in index.zero_dim:
        if tensor.dtype == "bool":
            continue
        read(tensor, "index", "index", part, frame, known={"base": base})
    for tensor, part in index.indices:
        if base.place == CPU and tensor.waits and base.sure == 0:
            frame.publish("index", part, "index of a host tensor", tensor)
        elif tensor.place == CPU and base.waits and tensor.ndim != 0:
            known = {"base": base, "index": tensor}
            sure = LIKELY if tensor.sure else CERTAIN
            frame.publish("host-index", part, "index", base, sure, index="host tensor", known=known)


def read_sequence(base: Sequence, node: ast.Subscript, frame: Frame) -> Value:
    part = node.slice
    if isinstance(part, ast.Slice):
        slice_bounds(part, frame)
        return sliced(base, part)
    value = evaluate(part, frame)
    for tensor in tensors(value)[:1]:
        read(tensor, "index", "index", part, frame)
    if (
        isinstance(value, Const)
        and isinstance(value.value, int)
        and base.items is not None
        and -len(base.items) <= value.value < len(base.items)
    ):
        return held(base.items[value.value])
    if is_still_empty(base, node.value, frame):
        return ABSENT
    return held(base.each())


def sliced(base: Sequence, part: ast.Slice) -> Value:
    bounds = []
    for bound in (part.lower, part.upper, part.step):
        try:
            bounds.append(None if bound is None else ast.literal_eval(bound))
        except ValueError:
            return Sequence(base.kind, element=base.each()) if base.items != () else base
    if base.items is None or not all(b is None or isinstance(b, int) for b in bounds):
        return base
    return Sequence(base.kind, base.items[slice(*bounds)])


def read_mapping(base: Mapping, key: Value) -> Value:
    if isinstance(key, Const) and base.items is not None and key.value in base.items:
        return held(base.items[key.value])
    if isinstance(key, Const) and isinstance(key.value, str) and policy.is_flag(key.value):
        return BOOL
    if base.items and isinstance(key, Const):
        return UNKNOWN  # a mapping with named entries of all kinds: another name's value is not known
    return held(base.each())


def read_instance(base: Instance, node: ast.Subscript, frame: Frame) -> Value:
    value: Value = SLICE
    if isinstance(node.slice, ast.Slice):
        slice_bounds(node.slice, frame)
    else:
        value = evaluate(node.slice, frame)
    method = find_method(base.cls, "__getitem__")
    if method is None:
        return UNKNOWN
    return call_function(method, Arguments([base, value], [None, node.slice]), node, frame)


def write_subscript(
    target: ast.Subscript, value: Value, source: ast.expr | None, frame: Frame, augmented: bool = False
) -> None:
    """`base[index] = value`."""
    base = evaluate(target.value, frame)
    for member in members(base):
        write_item(member, base, target, value, source, frame, augmented)


def write_item(
    base: Value,
    whole: Value,
    target: ast.Subscript,
    value: Value,
    source: ast.expr | None,
    frame: Frame,
    augmented: bool,
) -> None:
    if isinstance(base, Tensor):
        index = take_apart(target.slice, frame)
        if index.masks and isinstance(value, UnknownValue) and source is not None:
            value = made_from_tensors(source, frame) or value
        write_tensor(base, index, target, value, frame, augmented)
    elif isinstance(base, UnknownValue):
        index = take_apart(target.slice, frame)
        if not base.host and array_evidence(index, frame):
            why = frame.reason(f"`{ast.unparse(target.value)}` is indexed as a tensor", target)
            write_tensor(Tensor(ASSUMED, why=why, sure=LIKELY), index, target, value, frame, augmented)
        else:
            doubt_parts(target, Index(), frame)
            frame.doubt("scalar-write", target)
    elif isinstance(base, (Sequence, Mapping)):
        key = evaluate(target.slice, frame) if not isinstance(target.slice, ast.Slice) else UNKNOWN
        if isinstance(base, Sequence):
            for tensor in tensors(key)[:1]:
                read(tensor, "index", "index", target.slice, frame)
        if whole is base:
            from syncfinder.infer.binding import rebind  # binding a target writes subscripts

            rebind(target.value, changed(base, key, value), frame)
    else:
        take_apart(target.slice, frame)
        if isinstance(base, Array) and base.buffers is not None:
            host_access(part_of(base.buffers, target.slice, frame), True, "assignment", target, frame)


def changed(base: Sequence | Mapping, key: Value, value: Value) -> Value:
    """Return a container after an item was assigned."""
    if isinstance(base, Mapping):
        items = dict(base.items or {})
        if base.empty:
            value = base.element if value is UNKNOWN and base.element is not None else value
            base = Mapping()
        if isinstance(key, Const) and isinstance(key.value, (str, int)):
            items[key.value] = value
            return Mapping(items, base.element)
        return Mapping(items, value if base.element is None else join_all([base.element, value]))
    return base.grown(value)


def write_tensor(
    base: Tensor, index: Index, target: ast.Subscript, value: Value, frame: Frame, augmented: bool
) -> None:
    """Writing into a tensor by an index: what waits depends on the index and on where the value lives."""
    if index.named:
        return
    doubt_parts(target, index, frame)
    written = tensor_in(value)
    if not is_number(value):
        frame.doubt("scalar-write", target)
    if base.place == CPU:
        if base.buffers is not None:
            host_access(part_of(base.buffers, target.slice, frame), True, "assignment", target, frame)
        if written is not None and written.place == CPU:
            read_operand(written, "assignment", target, frame)
        if written is not None and written.waits and not augmented and not written.place & CPU:
            frame.publish("copy", target, "assignment into a host tensor", written)
        else:
            read_indices(base, index, frame)
        return
    if not base.waits:
        return
    if base.buffers is not None:
        write_operand(base, "assignment", target, frame)
    if written is not None and written.buffers is not None:
        read_operand(written, "assignment", target, frame)
    masked = [(m, part) for m, part in index.masks if m.waits]
    if masked:
        write_mask(base, masked[0], value, written, index, frame, augmented)
        return
    if augmented:
        return
    if index.masks and is_number(value):
        known = {"base": base, "index": index.masks[0][0], "value": value}
        frame.publish("scalar-write", target, "assignment", base, index="index", value="number", known=known)
        return
    if index.hosts:
        host, part = index.hosts[0]
        publish_host_index(base, host, part, "assignment", frame)
        return
    on_device = next((pair for pair in index.zero_dim if pair[0].place & GPU), None)
    if on_device is not None:
        read(on_device[0], "index", "index", on_device[1], frame, known={"base": base, "value": value})
        return
    index.integers += len(index.zero_dim)
    index.numbers_only = index.numbers_only or only_numbers(index)
    if written is not None:
        if written.place == CPU and not filled(base, index, written):
            operand = written.but(place=base.place, why=base.why)
            known = {"base": base, "host": written}
            frame.publish("transfer", target, "assignment", operand, **memory_of(written), known=known)
        uploaded = next(((t, part) for t, part in index.indices if t.place == CPU and t.ndim != 0), None)
        if uploaded is not None:
            known = {"base": base, "index": uploaded[0]}
            frame.publish("host-index", uploaded[1], "assignment", base, index="host tensor", known=known)
        return
    write_number(base, index, target, value, frame)


def only_numbers(index: Index) -> bool:
    """Whether an index has 0-dim tensors of the host besides its numbers, and nothing else."""
    return not (index.masks or index.indices or index.hosts or index.slices or index.new_axes or index.unknown)


def filled(base: Tensor, index: Index, written: Tensor) -> bool:
    """Whether a 0-dim host tensor fills several elements, as a number does; a single element is copied to."""
    if written.ndim != 0 or index.masks or index.indices:
        return False
    return bool(index.slices) or (base.ndim is not None and base.ndim > index.integers)


def made_from_tensors(source: ast.expr, frame: Frame) -> Tensor | None:
    """Return the tensor that an unknown call likely gives: it is given one, or moves what it is called on."""
    if not isinstance(source, ast.Call):
        return None
    frame.muted += 1
    given = [evaluate(a.value if isinstance(a, ast.Starred) else a, frame) for a in source.args]
    frame.muted -= 1
    operand = next((t for value in given for t in tensors(value)), None)
    if operand is None and isinstance(source.func, ast.Attribute) and source.func.attr == "to":
        operand = next((Tensor(value.place, why=value.why) for value in given if isinstance(value, Device)), None)
    return Tensor(operand.place, why=operand.why, sure=LIKELY) if operand is not None else None


def write_mask(
    base: Tensor,
    mask: tuple[Tensor, ast.expr],
    value: Value,
    written: Tensor | None,
    index: Index,
    frame: Frame,
    augmented: bool,
) -> None:
    """A number through a mask is masked_fill, which does not wait; a tensor needs the positions."""
    tensor, part = mask
    known = {"base": base, "mask": tensor, "value": value}
    if augmented:
        return  # the read through the same mask has been reported
    if written is not None:
        if not (written.place == CPU and written.ndim == 0):
            frame.publish("mask-write", part, "assignment", better(tensor, base), value="tensor", known=known)
    elif isinstance(value, (Sequence, Array)):
        frame.publish("mask-write", part, "assignment", better(tensor, base), value="host tensor", known=known)
    elif index.zero_dim and index.zero_dim[0][0].place & GPU:
        read(index.zero_dim[0][0], "index", "index", index.zero_dim[0][1], frame)
    elif index.indices:
        # beside an index tensor the mask is turned into positions, for a number too
        frame.publish("mask-write", part, "assignment", better(tensor, base), value="number", known=known)


def write_number(base: Tensor, index: Index, target: ast.Subscript, value: Value, frame: Frame) -> None:
    """A number written by an index tensor, or into a 0-dim destination, is uploaded."""
    number = is_number(value) or (isinstance(value, UnknownValue) and not index.indices)
    if index.indices and (is_number(value) or isinstance(value, (Array, Sequence))):
        known = {"base": base, "index": index.indices[0][0], "value": value}
        frame.publish("scalar-write", target, "assignment", base, index="index", value="number", known=known)
        return
    if not number or isinstance(value, (Text, Device)) or not index.numbers_only or index.new_axes:
        return
    count = index.integers + index.unknown
    known = {"base": base, "index": UNKNOWN if index.unknown else INT, "value": value}
    if base.ndim is not None:
        if base.ndim == count and is_number(value):
            frame.publish("scalar-write", target, "assignment", base, index="integer", value="number", known=known)
    elif (
        is_number(value)
        and not (isinstance(value, Const) or index.constant or index.ellipsis or index.zero_dim)
        and count == 1
    ):
        # A varying number at a varying position fills one element, not a row.
        frame.publish("scalar-write", target, "assignment", base, LIKELY, index="integer", value="number", known=known)


E[ast.Subscript] = read_subscript
