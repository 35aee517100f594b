"""SF101 to SF111 without truth tests: the host wants a tensor's value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import libcst as cst

from syncfinder.rules.wording import (
    LOGGING,
    FamilyVisitor,
    Spot,
    Wording,
    Words,
    arguments,
    assigned_subscript,
    atom,
    bare,
    code,
    dotted,
    keyword,
    last_name,
    positional,
    rebuilt,
    receiver,
    subject,
)

# Functions of `math` that torch has under the same name for tensors.
_MATH = frozenset(
    [
        "acos",
        "acosh",
        "asin",
        "asinh",
        "atan",
        "atan2",
        "atanh",
        "ceil",
        "copysign",
        "cos",
        "cosh",
        "erf",
        "erfc",
        "exp",
        "exp2",
        "expm1",
        "floor",
        "fmod",
        "hypot",
        "isfinite",
        "isinf",
        "isnan",
        "lgamma",
        "log",
        "log10",
        "log1p",
        "log2",
        "pow",
        "sin",
        "sinh",
        "sqrt",
        "tan",
        "tanh",
        "trunc",
    ]
)
_CONVERSIONS = {
    "int": "{0}.long()",
    "float": "{0}.float()",
    "complex": "{0}.to(torch.complex64)",
    "bool": "{0}.bool()",
    "round": "{0}.round()",
    "abs": "{0}.abs()",
}
# The `_ex` forms that were measured not to wait.
_EX = {"inv": "inv_ex", "cholesky": "cholesky_ex", "solve": "solve_ex"}


def _operand(spot: Spot, names: tuple[str, ...]) -> str:
    """Return the source of the tensor that a method like `.item()` reads, wherever on the call the site stands."""
    call = spot.call(names)
    tensor = subject(call) if call is not None else None
    return bare(atom(tensor)) if tensor is not None else spot.text


def _later(tensor: str, read: str) -> str:
    return (
        f"copy it early, `host.copy_({bare(tensor)}, non_blocking=True)` with `host` pinned, record an event, "
        f"and {read} one step later, after the event"
    )


def _item(spot: Spot) -> Words:
    tensor = _operand(spot, ("item",))
    message = f"`{tensor}` {spot.place}: `.item()` makes the host wait for its value"
    if spot.site.facts.get("loop"):
        message += ", once per iteration"
        return message, "collect the tensors in the loop and read them once after it: `torch.stack(values).tolist()`"
    keep = f"keep `{tensor}` on the device and pass the tensor on"
    return message, f"{keep}, or {_later(tensor, 'read `host`')}"


def _tolist(spot: Spot) -> Words:
    tensor = _operand(spot, ("tolist",))
    message = f"`{tensor}` {spot.place}: `.tolist()` makes the host wait for all of its values"
    return message, _later(tensor, "call `host.tolist()`")


def _copy(spot: Spot) -> Words:
    call = spot.call()
    if call is None:
        return _copy_assigned(spot)
    name = last_name(call.func)
    if name == "copy_":
        return _copy_into(spot, call)
    tensor = receiver(call)
    if tensor is None:
        return f"`{spot.text}` copies from the GPU, and the host waits for it", _later("t", "read `host`")
    text = atom(tensor)
    message = f"`{text}` {spot.place}: the host waits until `.{name}({', '.join(arguments(call))})` has copied it"
    return message, _later(text, "read `host`")


def _copy_assigned(spot: Spot) -> Words:
    """`host[i] = t`: the copy is an assignment."""
    statement = spot.assignment()
    target = assigned_subscript(statement) if statement is not None else None
    if statement is None or target is None:
        return f"`{spot.text}` {spot.place}: the host waits for the copy", _later(spot.text, "read `host`")
    host, source = code(target), code(statement.value)
    message = f"`{source}` {spot.place}: the host waits until it has been copied into `{host}`"
    return message, (
        f"`{host}.copy_({source}, non_blocking=True)` with `{atom(target.value)}` pinned; record an event after it, "
        "and read after the event"
    )


def _copy_into(spot: Spot, call: cst.Call) -> Words:
    first = positional(call)
    source = code(first[0].value) if first else spot.text
    target = receiver(call)
    host = atom(target) if target is not None else "host"
    message = f"`{source}` {spot.place}: the host waits until it has been copied into `{host}`"
    after = "record an event after it, and read after the event"
    if spot.site.facts.get("pinned"):
        return message, f"`{host}.copy_({source}, non_blocking=True)`; {after}"
    return message, f"make `{host}` pinned (`pin_memory=True`, contiguous) and copy with `non_blocking=True`; {after}"


def _numpy(spot: Spot) -> Words:
    call = spot.call()
    tensor = subject(call) if call is not None else None
    text = bare(atom(tensor)) if tensor is not None else spot.text
    message = f"`{text}` {spot.place}: the host waits for the copy behind the NumPy array"
    return message, f"stay in torch, or {_later(text, 'take `host.numpy()`')}"


def _number(spot: Spot) -> Words:
    call = spot.call()
    # `int(t)`: the operand is the argument; only `t.__int__()` and its like have a receiver.
    first = positional(call) if call is not None else []
    if call is None or not first:
        text = spot.text
        return (
            f"`{text}` {spot.place}: the host waits for its value as a Python number",
            f"keep `{text}` a tensor, or {_later(text, 'read `host`')}",
        )
    name, tensor = dotted(call.func), atom(first[0].value)
    message = f"`{bare(tensor)}` {spot.place}: `{name or code(call.func)}()` makes the host wait for its value"
    return message, f"{_on_device(name, call, tensor)}, or {_later(tensor, 'read `host`')}"


def _on_device(name: str, call: cst.Call, tensor: str) -> str:
    last = name.rsplit(".", 1)[-1]
    if (last in _MATH and name != last) or last in _MATH - {"pow"}:
        return f"`torch.{last}({', '.join(arguments(call))})` stays on the device"
    if name in _CONVERSIONS:
        return f"keep it a tensor, `{_CONVERSIONS[name].format(tensor)}`"
    return f"keep `{tensor}` a tensor"


def _index(spot: Spot) -> Words:
    site, text = spot.site, spot.text
    selection = spot.indexed()
    if selection is not None and selection is not spot and isinstance(selection.node, cst.Subscript):
        bound = isinstance(spot.parent, cst.Slice)
        return _slice_bound(spot, selection.node) if bound else _index_of(spot, selection.node)
    call = spot.argument_of()
    if call is None and isinstance(spot.node, cst.Call) and last_name(spot.node.func) == site.operation.split(".")[-1]:
        call = spot.node
    argument = site.facts.get("argument")
    name = f"`{code(call.func)}`" if call is not None else site.operation
    as_what = f"`{argument}` of {name}" if argument else name
    message = f"`{text}` {spot.place}, and {as_what} needs a number: the host waits for it"
    return message, _number_argument(call, text)


def _slice_bound(spot: Spot, subscript: cst.Subscript) -> Words:
    base, text = atom(subscript.value), spot.text
    message = f"`{text}` {spot.place}, and a slice of `{base}` needs a number: the host waits for it"
    dim = next((i for i, element in enumerate(subscript.slice) if element.slice is spot.parent), 0)
    below = isinstance(spot.parent, cst.Slice) and spot.parent.lower is spot.node
    mask = f"torch.arange({base}.shape[{dim}], device={atom(spot.node)}.device) {'>=' if below else '<'} {text}"
    return message, f"keep `{text}` on the host from the start, or mask instead of cutting: `{mask}`"


def _index_of(spot: Spot, subscript: cst.Subscript) -> Words:
    base, text = atom(subscript.value), spot.text
    message = f"`{text}` {spot.place}, and indexing `{base}` needs a number: the host waits for it"
    return message, (
        f"if `{base}` is a tensor on the GPU, `{base}.index_select(0, {text}.view(1))` (keeps the dimension, copies); "
        f"otherwise keep `{text}` on the host from the start"
    )


def _number_argument(call: cst.Call | None, text: str) -> str:
    name = last_name(call.func) if call is not None else ""
    tensor = subject(call) if call is not None else None
    base = code(tensor) if tensor is not None else "x"
    first = positional(call) if call is not None else []
    mask = code(first[0].value) if first and call is not None and receiver(call) is not None else "mask"
    known = {
        "masked_fill": f"`torch.where({mask}, {text}, {base})` takes a tensor",
        "masked_fill_": f"`{base}.copy_(torch.where({mask}, {text}, {base}))` takes a tensor",
        "clamp": f"give both bounds as tensors, or `torch.minimum` and `torch.maximum` with `{text}`",
        "clip": f"give both bounds as tensors, or `torch.minimum` and `torch.maximum` with `{text}`",
        "range": f"loop up to a bound that the host knows and mask with `step < {text}`, or keep `{text}` on the host",
        "arange": f"`torch.arange(limit, device={text}.device) < {text}` with a limit that the host knows",
        "full": f"`{text}.expand(size).clone()` fills on the device",
        "full_like": f"`{text}.expand_as({base}).clone()` fills on the device",
        "add": f"multiply on the device: `{base} + {text} * other`",
        "narrow": f"`{base}.index_select(dim, start + torch.arange(length, device={text}.device))`",
    }
    return known.get(name, f"keep `{text}` on the host from the start, where the sizes are decided")


def _format(spot: Spot) -> Words:
    text, operation = _formatted(spot), spot.site.operation
    by = "an f-string" if operation == "f-string" else f"`{operation}`"
    message = f"`{text}` {spot.place}: {by} makes the host wait for its value to format it"
    logged = next((p for p in spot.parents if isinstance(p, cst.Call) and last_name(p.func) in LOGGING), None)
    if logged is not None:
        logger = dotted(logged.func).rpartition(".")[0] or "log"
        level = last_name(logged.func).upper()
        return message, (
            f'pass it as an argument (`{logger}.{last_name(logged.func)}("%s", {text})`) so that a level that is off '
            f"costs nothing, and guard it with `{logger}.isEnabledFor(logging.{level})`, or log `{text}.shape`"
        )
    return message, f"print `{text}.shape` and `{text}.dtype`, or {_later(text, 'format `host`')}"


def _formatted(spot: Spot) -> str:
    """Return the operand, where the site stands on the `print(…)` or on the braces around it."""
    node = spot.node
    if isinstance(node, cst.FormattedStringExpression):
        return atom(node.expression)
    if isinstance(node, cst.Call) and len(node.args) == 1 and receiver(node) is None:
        return atom(node.args[0].value)
    return atom(node)


def _builtin(spot: Spot) -> Words:
    if spot.site.operation == "list comparison":
        message = f"`{spot.text}` {spot.place}: lists are compared element by element, and the host waits for this one"
        return message, f"read the value once, before: `{spot.text}.item()`, or compare on the device"
    call, node = spot.call(("max", "min", "sorted", "any", "all", "index", "count")), spot.node
    comparison = node if isinstance(node, cst.Comparison) else spot.parent_comparison()
    if call is None and isinstance(comparison, cst.Comparison):
        return _membership(spot, comparison)
    if call is None:
        message = (
            f"`{spot.text}` {spot.place}: {spot.site.operation} compares tensors in Python, and the host waits for each"
        )
        return message, "stack the tensors and reduce on the device: `torch.stack(list(ts)).amax()`"
    name, values = last_name(call.func), positional(call)
    message = f"`{code(call)}` compares tensors that live on the GPU in Python, and the host waits for each comparison"
    if name in ("index", "count"):
        sought = code(values[0].value) if values else "t"
        found = "int().argmax()" if name == "index" else "sum()"
        held = atom(call.func.value) if isinstance(call.func, cst.Attribute) else "ts"
        return message, f"compare on the device: `(torch.stack({held}) == {sought}).{found}`"
    if len(values) > 1:
        return message, _pairwise(name, [code(v.value) for v in values])
    return message, _reduced(name, atom(values[0].value) if values else "ts", spot.site.ndim)


def _pairwise(name: str, values: list[str]) -> str:
    if name in ("max", "min") and len(values) == 2:
        tensors = [v for v in values if not _is_number(v)]
        if len(tensors) == 1:
            number = next(v for v in values if _is_number(v))
            bound = "min" if name == "max" else "max"
            return f"`{tensors[0]}.clamp({bound}={number})` stays on the device"
        return f"`torch.{'maximum' if name == 'max' else 'minimum'}({', '.join(values)})` stays on the device"
    return f"`{_reduction(name).format('torch.stack([' + ', '.join(values) + '])')}` stays on the device"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _reduction(name: str) -> str:
    return {"max": "{0}.amax()", "min": "{0}.amin()", "sorted": "{0}.sort().values"}.get(name, f"{{0}}.{name}()")


def _reduced(name: str, values: str, ndim: int | None) -> str:
    """`ndim` is the operand's: with a dimension it is one tensor, else a collection of tensors."""
    if ndim:
        return f"`{_reduction(name).format(values)}` reduces on the device"
    return f"`{_reduction(name).format(f'torch.stack(list({values}))')}` reduces on the device"


def _membership(spot: Spot, comparison: cst.Comparison) -> Words:
    left, right = code(comparison.left), code(comparison.comparisons[0].comparator)
    message = f"`{code(comparison)}` compares with tensors that live on the GPU, and the host waits for the answer"
    if spot.site.ndim:
        return message, f"`({right} == {left}).any()` keeps the answer on the device"
    return message, f"`(torch.stack(list({right})) == {left}).any()` keeps the answer on the device"


def _check(spot: Spot) -> Words:
    call = spot.call()
    if call is None:
        message = f"`{spot.text}` {spot.place}: {spot.site.operation} reads a value, and the host waits for it"
        return message, "use a form that keeps its answer or its error code on the device"
    name = last_name(call.func)
    message = f"`{code(call)}` reads a value from the GPU, and the host waits for it"
    return message, _check_help(call, name, spot.site.operation)


def _check_help(call: cst.Call, name: str, operation: str) -> str:
    values = [code(v.value) for v in positional(call)]
    owner = receiver(call)
    if owner is not None:
        values.insert(0, code(owner))
    if name == "equal" and len(values) == 2:
        return f"`({values[0]} == {values[1]}).all()` keeps the answer on the device"
    if name == "allclose" and len(values) >= 2:
        return f"`torch.isclose({', '.join(values)}).all()` keeps the answer on the device"
    if name in _EX and "linalg" in (dotted(call.func) + operation):
        return f"`torch.linalg.{_EX[name]}({', '.join(values)})` does not check its error code; look at `info` later"
    if "distributions" in operation or keyword(call, "validate_args") is not None:
        return f"`{rebuilt(call, 'validate_args=False', drop=('validate_args',))}` skips the check"
    if name.startswith("clip_grad_norm"):
        return f"`{rebuilt(call, 'error_if_nonfinite=False', drop=('error_if_nonfinite',))}` does not read the norm"
    if name == "normal":
        return "`mean + std * torch.randn_like(std)` draws without checking `std`"
    if name == "step" and "optim" in operation:
        return "create the optimizer with `capturable=True` or `fused=True`, where it has them"
    return "use a form that keeps its answer or its error code on the device, or call it outside the hot path"


def _elements(spot: Spot) -> Words:
    call = spot.call(("tensor", "as_tensor", "asarray", "new_tensor"))
    if call is None or not positional(call):
        message = f"`{spot.text}` {spot.place}: the constructor reads every element back to the host"
        return message, "`torch.stack([...])` joins tensors on the device"
    data = code(positional(call)[0].value)
    message = f"`{code(call)}` reads the tensors on the GPU one by one, and the host waits for each"
    dtype = keyword(call, "dtype")
    cast = f".to({code(dtype)})" if dtype is not None else ""
    return message, f"`torch.stack({data}){cast}` joins them on the device"


class ValueReads(FamilyVisitor):
    """Words the reads of values."""

    WORDING: ClassVar[Mapping[str, Wording]] = {
        "item": _item,
        "tolist": _tolist,
        "copy": _copy,
        "numpy": _numpy,
        "number": _number,
        "index": _index,
        "format": _format,
        "builtin": _builtin,
        "check": _check,
        "elements": _elements,
    }
