"""Applying the torch model: which overload a call takes, what it reads, when it waits, and what comes back."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from syncfinder.infer import sizes
from syncfinder.infer.attributes import RESULTS
from syncfinder.infer.calls import Arguments
from syncfinder.infer.frame import Frame
from syncfinder.infer.hazards import fresh_buffer, read_operand
from syncfinder.infer.measuring import CLOCKS, submitted
from syncfinder.infer.narrow import place_of_word
from syncfinder.infer.operators import combine, promoted
from syncfinder.infer.pending import FLOW, Launch, act
from syncfinder.infer.terms import BoundCall, holds
from syncfinder.infer.values import (
    ARRAY,
    ASSUMED,
    CERTAIN,
    CPU,
    CUDA,
    FLOAT,
    LIKELY,
    NONE,
    NUMBER_ORDER,
    TEXT,
    UNKNOWN,
    Const,
    Device,
    Dtype,
    Library,
    Mapping,
    Number,
    Sequence,
    Tensor,
    Text,
    UnknownValue,
    Value,
    Why,
    is_number,
    join_all,
    members,
    number_kind,
    on_host,
    tensor_in,
    tensors,
)

if TYPE_CHECKING:
    from syncfinder.torchmodel.model import Effect, Param, Row

NUMBER_TYPES = ("i", "n", "f")
# What looks at no element: views of the same memory, questions about it, and marks on it (torch/_tensor_docs.py).
VIEWS = frozenset({
    "view", "reshape", "flatten", "unflatten", "squeeze", "unsqueeze", "narrow", "select", "split", "chunk", "unbind",
    "expand", "expand_as", "view_as", "permute", "transpose", "t", "detach", "ravel", "swapaxes", "movedim", "diagonal",
    "as_strided", "tensor_split", "contiguous", "size", "dim", "numel", "nelement", "stride", "storage_offset",
    "element_size", "data_ptr", "is_pinned", "is_contiguous", "untyped_storage", "storage", "record_stream",
    "share_memory_", "requires_grad_", "detach_", "empty_like", "zeros_like", "ones_like", "full_like", "rand_like",
    "new_empty", "new_zeros", "new_ones", "new_full", "is_tensor", "is_floating_point", "register_hook", "resize_",
})  # fmt: skip
WRITTEN = "is written here"  # how a reason ends that is a device in the code


def call_row(
    row: Row, arguments: Arguments, node: ast.expr, frame: Frame, init: dict[str, Value] | None = None
) -> Value:
    """Return the result of calling a function of the torch model, publishing what the call reads and waits for."""
    bound = choose(row, arguments, init or {})
    read_numbers(bound, node, frame)
    operands = operands_of(arguments)
    apply_effects(bound, operands, node, frame)
    if (not frame.pace or CLOCKS in frame.env) and row.name.rpartition(".")[2] not in VIEWS:
        submitted(operands, node, frame)
    if row.name.rpartition(".")[2] not in VIEWS:
        for operand in operands:
            if operand.buffers is not None:
                read_operand(operand, row.name, node, frame)
        frame.made = node
        if FLOW in frame.env and any(t.waits for t in operands):
            act(frame, Launch(frame.stream), told=False)
    return result(bound, operands, arguments, node, frame)


def operands_of(arguments: Arguments) -> list[Tensor]:
    """Return all tensors among the arguments, those in lists too."""
    out: list[Tensor] = []
    for value, _ in arguments.every():
        out.extend(tensors(value))
        if isinstance(value, Sequence):
            out.extend(t for item in value.parts() for t in tensors(item))
        elif isinstance(value, Mapping):
            out.extend(tensors(value.each()))
    return out


def choose(row: Row, arguments: Arguments, init: dict[str, Value]) -> BoundCall:
    """Bind the arguments to the overload that fits best: a tensor taken as such before one that is read."""
    best: BoundCall | None = None
    best_cost = 0.0
    for position, overload in enumerate(row.overloads):
        bound = bind(row, position, overload, arguments, init)
        if bound is None:
            continue
        cost = sum(misfit(p, bound.values[p.name]) for p in overload if p.name in bound.values)
        if best is None or cost < best_cost:
            best, best_cost = bound, cost
    return best or BoundCall(
        row, 0, row.overloads[0] if row.overloads else (), dict(arguments.keywords), dict(arguments.keyword_nodes), init
    )


def bind(
    row: Row, position: int, overload: tuple[Param, ...], arguments: Arguments, init: dict[str, Value]
) -> BoundCall | None:
    """Bind arguments to one overload; None when it cannot take them."""
    values: dict[str, Value] = {}
    nodes: dict[str, ast.expr | None] = {}
    plain = [p for p in overload if not p.keyword_only]
    given = list(zip(arguments.values, arguments.nodes, strict=True))
    for at, parameter in enumerate(plain):
        if at >= len(given):
            break
        rest = given[at:]
        if "*" in parameter.type and len(rest) > 1 and takes_rest(parameter, rest, at == len(plain) - 1):
            values[parameter.name] = Sequence("tuple", tuple(v for v, _ in rest))
            nodes[parameter.name] = rest[0][1]
            given = given[:at]
            break
        values[parameter.name], nodes[parameter.name] = given[at]
    if len(given) > len(plain):
        return None
    names = {p.name for p in overload}
    for name, value in arguments.keywords.items():
        if name in names:
            values[name] = value
            nodes[name] = arguments.keyword_nodes.get(name)
        elif name not in (
            "out",
            "device",
            "dtype",
            "pin_memory",
            "requires_grad",
            "generator",
            "layout",
            "non_blocking",
        ):
            return None
        else:
            values.setdefault(name, value)
            nodes.setdefault(name, arguments.keyword_nodes.get(name))
    if not arguments.open and any(not p.optional and p.name not in values for p in overload):
        return None
    return BoundCall(row, position, overload, values, nodes, init)


def takes_rest(parameter: Param, rest: list[tuple[Value, ast.expr | None]], last: bool) -> bool:
    """Return whether a list parameter takes all remaining positional arguments: view(2, 3), permute(0, 2, 1)."""
    if any(isinstance(value, Sequence) for value, _ in rest):
        return False
    return last or parameter.type.startswith("i")


def misfit(parameter: Param, value: Value) -> float:
    """Return how badly a value fits a parameter's type."""
    kind = parameter.type.rstrip("?")
    tensor = tensor_in(value)
    if kind == "T":
        if tensor is not None or isinstance(value, UnknownValue):
            return 0.0
        return 0.0 if value is NONE and parameter.type.endswith("?") else 5.0
    if kind in NUMBER_TYPES:
        return (
            3.0
            if tensor is not None
            else 0.5
            if isinstance(value, UnknownValue)
            else 0.0
            if is_number(value) or value is NONE
            else 4.0
        )
    if kind == "i*":
        return (
            4.0 if isinstance(value, (Dtype, Device, Text)) else 2.0 if tensor is not None and tensor.ndim != 0 else 0.0
        )
    if kind == "y":
        return 0.0 if isinstance(value, (Dtype, UnknownValue)) or value is NONE else 4.0
    if kind == "b":
        return 3.0 if tensor is not None or (isinstance(value, Number) and value.kind != "bool") else 0.0
    if kind == "T*":
        return 0.0 if isinstance(value, (Sequence, UnknownValue)) else 2.0
    if kind == "s":
        return 0.0 if isinstance(value, (Text, UnknownValue, Const)) else 3.0
    return 0.0


def bound_to(row: Row, arguments: Arguments) -> dict[str, Value]:
    """Return the arguments by parameter of the overload that fits best; those that fit none by position."""
    bound = choose(row, arguments, {})
    rest = {str(i): v for i, v in enumerate(arguments.values) if not bound.parameters}
    return {**rest, **arguments.keywords, **bound.values}


def read_numbers(bound: BoundCall, node: ast.expr, frame: Frame) -> None:
    """A tensor given for a number is read by the argument parser (item); so is one inside a size list."""
    for parameter in bound.parameters:
        value = bound.values.get(parameter.name)
        if value is None or parameter.name in bound.row.quiet or parameter.name == "self":
            continue
        kind = parameter.type.rstrip("?")
        where = bound.nodes.get(parameter.name) or node
        if kind in NUMBER_TYPES or kind == "b":
            found = tensor_in(value)
            if found is not None and found.waits:
                frame.publish("index", where, bound.row.name, found, argument=parameter.name)
        elif kind in ("i*", "n*", "f*"):
            read_sizes(value, where, parameter.name, bound, frame)


def read_sizes(value: Value, where: ast.expr, name: str, bound: BoundCall, frame: Frame) -> None:
    if isinstance(value, Sequence):
        for item in value.parts():
            found = tensor_in(item)
            if found is not None and found.waits:
                frame.publish("index", where, bound.row.name, found, argument=name)
                return
    elif isinstance(value, Tensor) and value.waits and value.ndim in (0, None):
        frame.publish("index", where, bound.row.name, value, argument=name)


def apply_effects(bound: BoundCall, operands: list[Tensor], node: ast.expr, frame: Frame) -> None:
    """Publish the call's waits whose conditions hold."""
    for effect in bound.row.effects:
        sure = holds(effect, bound, operands)
        if sure is None:
            continue
        operand = operand_of(effect, bound, operands)
        if operand is None and not any(t.test == "anywhere" for t in effect.when):
            continue
        facts = {k: v for k, v in (("condition", effect.words), ("argument", effect.argument)) if v}
        frame.publish(effect.kind, node, bound.row.name, operand, sure, **facts, known=bound.values)
        return
    for effect in bound.row.effects:
        frame.doubt(effect.kind, node)


def operand_of(effect: Effect, bound: BoundCall, operands: list[Tensor]) -> Tensor | None:
    if effect.argument:
        value = bound.values.get(effect.argument)
        found = tensor_in(value) if value is not None else None
        if found is not None and found.waits:
            return found
    # what a receiver was made with is an operand too: a distribution's parameters
    waiting = [t for t in (*operands, *(t for v in bound.init.values() for t in tensors(v))) if t.waits]
    own = tensor_in(bound.values.get("self", UNKNOWN)) or tensor_in(bound.values.get("input", UNKNOWN))
    if own is not None and own.waits:
        return own
    return waiting[0] if waiting else None


def device_of(value: Value | None, node: ast.expr | None, frame: Frame) -> Device | None:
    """Return the device that an argument names; None when it names none (not given, None, a dtype)."""
    if value is None or value.key == NONE.key:
        return None
    if isinstance(value, Device):
        return value
    if isinstance(value, Const):
        if isinstance(value.value, str):
            return Device(
                place_of_word(value.value),
                frame.reason(f'device="{value.value}" {WRITTEN}', node or ast.Constant(None)),
            )
        return Device(CUDA) if isinstance(value.value, int) and not isinstance(value.value, bool) else None
    found = tensor_in(value)
    if found is not None:
        return Device(found.place, found.why)
    if isinstance(value, Number):
        return Device(CUDA)
    parts = [device_of(m, node, frame) for m in members(value)] if len(members(value)) > 1 else []
    known = [p for p in parts if p is not None]
    if known:
        return join_all(known)  # type: ignore[return-value]
    if isinstance(node, ast.JoinedStr) and node.values and isinstance(node.values[0], ast.Constant):
        place = place_of_word(str(node.values[0].value))
        return Device(place, frame.reason(f"the device `{ast.unparse(node)}` {WRITTEN}", node))
    if isinstance(value, (Text, UnknownValue)):
        return Device(
            ASSUMED,
            frame.reason(
                f"`{ast.unparse(node)}` is a device" if node is not None else "a device is given",
                node or ast.Constant(None),
            ),
        )
    return None


def target_place(bound: BoundCall, operands: list[Tensor], node: ast.expr, frame: Frame) -> tuple[int, Why, int]:
    """Return where the result lives, why, and how sure it is that it is a tensor there."""
    rule = bound.row.device
    if rule in ("device=", "like/device="):
        device = device_of(bound.values.get("device"), bound.nodes.get("device"), frame)
        if device is not None:
            return (
                device.place,
                device.why,
                CERTAIN if device.place & (CUDA | CPU) and not device.place & ASSUMED else LIKELY,
            )
        if rule == "device=":
            return (
                frame.default_place,
                frame.reason(f"{bound.row.name} without device= makes it on the host", node),
                CERTAIN,
            )
    if rule == "host":
        return CPU, frame.reason(f"{bound.row.name} gives a host tensor", node), CERTAIN
    if rule == "cuda":
        return CUDA, frame.reason(f"{bound.row.name} gives a GPU tensor", node), CERTAIN
    if operands:
        lead = combine(operands)
        return lead.place, lead.why, lead.sure
    if only_numbers(bound):
        return frame.default_place, frame.reason(f"{bound.row.name} of host numbers gives a host tensor", node), CERTAIN
    place = CPU if frame.host or host_arguments(bound) else ASSUMED
    return place, frame.reason(f"it is a result of {bound.row.name}", node), LIKELY


def host_arguments(bound: BoundCall) -> bool:
    """Return whether something is given whose tensors, if it is or holds any, are on the host."""
    parts = [p for v in bound.values.values() for p in (v.parts() if isinstance(v, Sequence) else (v,))]
    return any(on_host(part) for part in parts)


def only_numbers(bound: BoundCall) -> bool:
    """Return whether everything that is given where tensors are taken is a host number or a list of them."""
    given = [bound.values[p.name] for p in bound.parameters if p.type.startswith("T") and p.name in bound.values]
    if given and is_number(given[0]):
        given = [v for v in given if not isinstance(v, UnknownValue)]  # a tensor would come first
    return (bool(given) or bound.row.device == "like/device=") and all(
        is_number(v) or (isinstance(v, Sequence) and is_number(v.each())) for v in given
    )


def result(bound: BoundCall, operands: list[Tensor], arguments: Arguments, node: ast.expr, frame: Frame) -> Value:
    """Return what the call gives."""
    row = bound.row
    returns = (
        row.returns[bound.overload]
        if bound.overload < len(row.returns)
        else row.returns[0]
        if row.returns
        else "unknown"
    )
    if returns == "self":
        own = tensor_in(bound.values.get("self", UNKNOWN)) or (operands[0] if operands else None)
        return own if own is not None else UNKNOWN
    if returns == "tensor" or returns == "list" or returns.startswith("tensors:"):
        made = result_tensor(bound, operands, node, frame)
        return containers(returns, made, bound)
    if returns in RESULTS:
        return RESULTS[returns]
    if returns == "device":
        return Device(operands[0].place, operands[0].why) if operands else Device(ASSUMED)
    if returns == "dtype":
        return Dtype(None)
    if returns == "values":
        return Sequence("list", element=FLOAT)
    if returns == "stream":
        return Library("torch.cuda.Stream")
    if returns == "event":
        return Library("torch.cuda.Event")
    return ARRAY if returns == "array" else TEXT if returns == "str" else UNKNOWN


def containers(returns: str, made: Tensor, bound: BoundCall) -> Value:
    if returns == "tensor":
        if isinstance(flag := bound.values.get("as_tuple"), Const) and flag.value:
            return Sequence("tuple", element=made.but(ndim=1))
        more = [made.but(dtype="int", ndim=None) for name in EXTRA_RESULTS if truthy(bound.values.get(name))]
        return Sequence("tuple", (made, *more)) if more else made
    if returns == "list":
        return Sequence("tuple", element=made.but(dtype="int", ndim=1) if bound.row.positions else made)
    count = int(returns.partition(":")[2])
    dtypes = bound.row.dtypes or ()
    parts = []
    for position in range(count):
        dtype = dtypes[position] if position < len(dtypes) else None
        own = made
        if position < len(bound.row.devices) and bound.row.devices[position] == "host":
            own = made.but(place=CPU, sure=CERTAIN)
        parts.append(own.but(dtype=made.dtype if dtype == "same" else None if dtype in ("unknown", None) else dtype))
    return Sequence("tuple", tuple(parts))


# Flags that add an integer tensor to the result.
EXTRA_RESULTS = ("return_inverse", "return_counts", "return_indices")


def result_tensor(bound: BoundCall, operands: list[Tensor], node: ast.expr, frame: Frame) -> Tensor:
    place, why, sure = target_place(bound, operands, node, frame)
    made = place == CPU and bound.row.device == "device="
    memory = "pinned" if truthy(bound.values.get("pin_memory")) else "pageable" if made else None
    dtype = result_dtype(bound, operands)
    if place != CPU:
        return Tensor(place, dtype, result_ndim(bound, operands), why, sure, memory)
    own = fresh_buffer(node, frame) if memory == "pinned" else None
    if not made and memory is None and any(t.memory for t in operands) and name_of(bound) not in VIEWS:
        memory = "pageable"  # what is computed on the host lies in ordinary memory
    size = sizes.of_count(factory_count(bound), dtype, "dtype" in bound.values) if made else sizes.of_result(operands)
    return Tensor(place, dtype, result_ndim(bound, operands), why, sure, memory, buffers=own, size=size)


def name_of(bound: BoundCall) -> str:
    return bound.row.name.rpartition(".")[2]


def factory_count(bound: BoundCall) -> int | None:
    """Return how many elements a factory makes, where that is written."""
    for name in SIZES:
        if name in bound.values:
            return sizes.count_of(bound.values[name])
    return sizes.count_of(bound.values.get("end")) if name_of(bound) == "arange" else None


def truthy(value: Value | None) -> bool:
    """Return whether a flag argument is set, or may be (True, or a variable)."""
    return value is not None and not (isinstance(value, Const) and not value.value)


def result_dtype(bound: BoundCall, operands: list[Tensor]) -> str | None:
    rule = bound.row.dtype
    asked = bound.values.get("dtype")
    if rule.startswith("dtype="):
        if isinstance(asked, Dtype):
            return asked.name
        rule = rule.partition("/")[2] or "infer"
    if rule == "infer":
        return numbers_dtype(bound)
    if rule == "like":
        return operands[0].dtype if operands else None
    if rule in ("same", "sum"):
        if not operands:
            return None
        known = {t.dtype for t in operands}
        if None in known:
            return operands[0].dtype if len(operands) == 1 else None
        dtype = max(known, key=NUMBER_ORDER.index)
        for value in scalars(bound)[:1]:
            dtype = promoted(dtype, value) if is_number(value) else dtype
        return "int" if rule == "sum" and dtype == "bool" else dtype
    return rule if rule in NUMBER_ORDER else None


def scalars(bound: BoundCall) -> list[Value]:
    """Return what is given where torch takes a number that counts for the dtype; a size or a dimension does not."""
    return [bound.values[p.name] for p in bound.parameters if p.type.startswith("n") and p.name in bound.values]


def numbers_dtype(bound: BoundCall) -> str | None:
    """Return the dtype that a factory infers from its numbers: arange(3) is int, full(size, 1.0) is float."""
    given = scalars(bound)
    if not given or not all(is_number(v) for v in given):
        return None
    return max((number_kind(v) for v in given), key=NUMBER_ORDER.index)


def result_ndim(bound: BoundCall, operands: list[Tensor]) -> int | None:
    row = bound.row
    rule = row.ndims[bound.overload] if bound.overload < len(row.ndims) else row.ndim
    own = operands[0].ndim if operands else None
    if rule == "like":
        return own
    if rule == "same":
        dims = [t.ndim for t in operands]
        return None if not dims or None in dims else max(dims)  # type: ignore[type-var]
    if rule == "reduce":
        return reduced(bound, own)
    if rule in ("+1", "-1"):
        return None if own is None else max(0, own + int(rule))
    if rule == "size":
        return size_ndim(bound)
    return int(rule) if rule.isdigit() else None


def reduced(bound: BoundCall, own: int | None) -> int | None:
    dim = next((bound.values[n] for n in ("dim", "axis") if n in bound.values), None)
    if dim is None or dim.key == NONE.key:
        return 0
    if truthy(bound.values.get("keepdim")):
        return own
    count = len(dim.items) if isinstance(dim, Sequence) and dim.items is not None else 1 if is_number(dim) else None
    return None if own is None or count is None else max(0, own - count)


SIZES = ("size", "shape", "sizes", "repeats")  # the parameters that tell a result's size


def size_ndim(bound: BoundCall) -> int | None:
    for name in SIZES:
        value = bound.values.get(name)
        if isinstance(value, Sequence):
            return len(value.items) if value.items is not None else None
        if value is not None:
            return 1 if is_number(value) else None
    return None
