"""Rewrites of reads: the tensor in the place of its value, one read in the place of many, and the late read."""

from __future__ import annotations

from collections.abc import Mapping

import libcst as cst

from syncfinder.rules.rewrites.late_reads import late
from syncfinder.rules.rewrites.operands import known, on_gpu, plain_index, short, text, tight
from syncfinder.rules.rewrites.repeated_reads import repeated, tensor_of
from syncfinder.rules.rewrites.rewrite import TORCH, Rewrite, Rewriter, offered, replace, source
from syncfinder.rules.rewrites.truth_tests import decide, is_bool
from syncfinder.rules.wording import LOGGING, Spot, dotted, keyword, last_name, on_torch, positional, receiver


def _item(spot: Spot) -> Rewrite | None:
    read = spot.call(("item",))
    tensor = tensor_of(read) if read is not None else None
    if read is None or tensor is None or read is not spot.node:
        return None
    return (
        _tested(spot, read, tensor)
        or _uploaded(spot, read, tensor)
        or repeated(spot, read)
        or _accepted(spot, read, tensor)
        or _collected(spot, read, tensor)
        or late(spot, tensor, read, keep=True)
    )


def _number(spot: Spot) -> Rewrite | None:
    read = spot.node
    tensor = tensor_of(read)
    if not isinstance(read, cst.Call) or tensor is None:
        return None
    exact = isinstance(read.func, cst.Name) and (read.func.value == "float" or spot.site.dtype == "int")
    tested = _tested(spot, read, tensor) if exact or last_name(read.func) == "bool" else None
    accepted = _accepted(spot, read, tensor) if exact else None
    return tested or repeated(spot, read) or accepted or late(spot, tensor, read, keep=True)


def _tested(spot: Spot, read: cst.Call, tensor: cst.BaseExpression) -> Rewrite | None:
    """`if t.item():` and `if t.item() > 0:` test what the tensor tests."""
    parents = spot.parents
    depth = 1 if parents and isinstance(parents[0], cst.ComparisonTarget) else 0
    comparison = parents[depth] if len(parents) > depth else None
    if isinstance(comparison, cst.Comparison) and len(comparison.comparisons) == 1:
        if isinstance(comparison.comparisons[0].operator, (cst.In, cst.NotIn, cst.Is, cst.IsNot)):
            return None
        plain = comparison.deep_replace(read, tensor)
        return decide(spot, comparison, depth + 1, text(plain), True) if isinstance(plain, cst.Comparison) else None
    return decide(spot, read, 0, text(tensor), spot.site.dtype == "bool" or is_bool(tensor))


_INFERRED = {"int": "torch.int64", "bool": "torch.bool", "float": "torch.get_default_dtype()"}


def _uploaded(spot: Spot, read: cst.Call, tensor: cst.BaseExpression) -> Rewrite | None:
    """`torch.tensor(t.tolist(), device=d)`: what goes to the host and back may stay.

    torch.tensor copies, gives a tensor without a gradient, and infers the dtype from Python's numbers.
    """
    call = spot.argument_of()
    first = positional(call) if call is not None else []
    if call is None or len(first) != 1 or first[0].value is not read or dotted(call.func) not in _FROM_DATA:
        return None
    device, dtype = keyword(call, "device"), keyword(call, "dtype")
    if device is None or len(call.args) != 2 + (dtype is not None):
        return None
    kept = text(dtype) if dtype is not None else _INFERRED.get(spot.site.dtype or "")
    shape = ".reshape(())" if last_name(read.func) == "item" and spot.site.ndim != 0 else ""
    kind = f", dtype={kept}" if kept is not None else ""
    code = f"{tight(tensor)}.detach(){shape}.to(device={text(device)}{kind}, copy=True)"
    said = f"`{short(code)}` stays on the device"
    needs = []
    if kept is None:
        needs.append(
            "the dtype must be the one that torch gives to Python's numbers: int64, bool, or the default dtype"
        )
    if last_name(read.func) == "tolist" and spot.site.ndim not in (0, 1):
        needs.append(f"`{short(text(tensor))}` must not be empty")
    return offered(said, needs, [replace(call, code)], TORCH if "torch." in code else ())


_FROM_DATA = ("torch.tensor", "torch.as_tensor", "torch.asarray")


def _accepted(spot: Spot, read: cst.Call, tensor: cst.BaseExpression) -> Rewrite | None:
    """The value is an operand where a tensor may stand: in arithmetic with a tensor, in `torch.where`, in `fill_`."""
    if spot.site.ndim or not _takes_tensor(spot, read):
        return None
    name = f"`{short(text(tensor))}`"
    zero = "0-dim, " if spot.site.ndim is None else ""
    said = f"{name} can stand there itself; unsafe: it must be {zero}on the same GPU, of the other operand's dtype"
    code = tight(tensor)
    return Rewrite(f"{said}, and need no gradient", "unsafe", (replace(read, code),))


def _takes_tensor(spot: Spot, read: cst.Call) -> bool:
    parents = spot.parents
    parent = parents[0] if parents else None
    if isinstance(parent, cst.BinaryOperation):
        return on_gpu(known(spot, parent.right if parent.left is read else parent.left))
    if isinstance(parent, (cst.ComparisonTarget, cst.Comparison)):
        comparison = parents[1] if isinstance(parent, cst.ComparisonTarget) else parent
        if not isinstance(comparison, cst.Comparison) or len(comparison.comparisons) != 1:
            return False
        other = comparison.left if comparison.left is not read else comparison.comparisons[0].comparator
        return on_gpu(known(spot, other))
    if isinstance(parent, cst.Assign) and len(parent.targets) == 1:
        target = parent.targets[0].target
        return isinstance(target, cst.Subscript) and plain_index(target) and on_gpu(known(spot, target.value))
    call = spot.argument_of()
    if call is None or not isinstance(parent, cst.Arg) or parent.keyword is not None:
        return False
    if last_name(call.func) == "where" and on_torch(call):
        return len(call.args) == 3 and parent is not call.args[0]
    owner = receiver(call)
    return last_name(call.func) == "fill_" and owner is not None and on_gpu(known(spot, owner))


def _collected(spot: Spot, read: cst.Call, tensor: cst.BaseExpression) -> Rewrite | None:
    """`total += t.item()`, `values.append(t.item())` in a loop: collect tensors, and read them once behind it."""
    if not spot.site.facts.get("loop") or not spot.parents:
        return None
    parent, call = spot.parent, spot.argument_of()
    name = short(text(tensor))
    if isinstance(parent, cst.AugAssign):
        total = text(parent.target)
        inside = short(source(parent.with_changes(value=cst.parse_expression(f"{tight(tensor)}.detach()"))))
        behind = f"{total} = {total}.item()"
    elif call is not None and last_name(call.func) == "append" and isinstance(call.func, cst.Attribute):
        values = text(call.func.value)
        inside, behind = f"{values}.append({name})", f"{values} = torch.stack({values}).tolist()"
    else:
        return None
    said = f"collect on the device, `{inside}` in the loop, and read once behind it, `{behind}`"
    return Rewrite(said, "display-only")


def _tolist(spot: Spot) -> Rewrite | None:
    read = spot.call(("tolist",))
    tensor = receiver(read) if read is not None else None
    if read is None or tensor is None:
        return None
    uploaded = _uploaded(spot, read, tensor) if read is spot.node else None
    return uploaded or late(spot, tensor, read)


def _copy(spot: Spot) -> Rewrite | None:
    """`t.cpu()`, `t.to("cpu")`."""
    call = spot.call(("cpu", "to"))
    tensor = receiver(call) if call is not None else None
    if call is None or tensor is None:
        return None
    values = positional(call)
    dtype = keyword(call, "dtype") or (values[1].value if len(values) > 1 else None)
    return late(spot, tensor, call, dtype=text(dtype) if dtype is not None else None)


def _numpy(spot: Spot) -> Rewrite | None:
    call = spot.call()
    tensor = receiver(call) if call is not None else None
    if call is None or tensor is None or last_name(call.func) != "numpy":
        return None
    return late(spot, tensor, call)


def _format(spot: Spot) -> Rewrite | None:
    """A text of a tensor; what is logged has a wording of its own."""
    node = spot.node
    if any(isinstance(p, cst.Call) and last_name(p.func) in LOGGING for p in spot.parents):
        return None
    if isinstance(node, cst.FormattedStringExpression):
        node = node.expression
    elif isinstance(node, cst.Call) and len(node.args) == 1 and receiver(node) is None:
        node = node.args[0].value
    return late(spot, node, node) if isinstance(node, cst.BaseExpression) else None


# A 0-dim tensor where a number is needed.


def _index(spot: Spot) -> Rewrite | None:
    node = spot.node
    if not isinstance(node, cst.BaseExpression):
        return None
    selected = spot.indexed()
    if selected is not None and isinstance(selected.node, cst.Subscript) and selected is not spot:
        if isinstance(spot.parent, cst.Slice):
            return None
        return _selected(spot, node, selected)
    if spot.argument_of() is None or last_name(spot.argument_of().func) in _WORDED:  # type: ignore[union-attr]
        return None
    return late(spot, node, node)


# Calls for which the wording has code that needs no number at all.
_WORDED = ("masked_fill", "masked_fill_", "clamp", "clip", "range", "arange", "full_like", "add", "narrow")


def _selected(spot: Spot, index: cst.BaseExpression, selected: Spot) -> Rewrite | None:
    """`x[i]` with a 0-dim index on the GPU: an index of one element is not read, and keeps the part on the device."""
    subscript = selected.node
    assert isinstance(subscript, cst.Subscript)
    places = [n for n, e in enumerate(subscript.slice) if isinstance(e.slice, cst.Index) and e.slice.value is index]
    place = places[0] if places else None
    base = spot.site.facts.get("known", {}).get("base")
    if place is None or base is None or not (on_gpu(base) and on_gpu(known(spot, index))):
        return None
    if not all(isinstance(e.slice, cst.Slice) for n, e in enumerate(subscript.slice) if n != place):
        return None
    parts = [source(e).strip().rstrip(",") for e in subscript.slice]
    parts[place] = f"{tight(index)}.reshape(1)"
    part = f"{tight(subscript.value)}[{', '.join(parts)}]"
    if isinstance(selected.parent, cst.AssignTarget):
        return _stored(spot, selected, parts[place], part)
    if isinstance(selected.parent, (cst.AugAssign, cst.Del)):
        return None
    code = f"{part}.squeeze({place})"
    said = f"`{short(code)}` selects on the device"
    needs = "it copies where an index by number is a view, and an index out of range is reported later"
    return Rewrite(f"{said}; unsafe: {needs}", "unsafe", (replace(subscript, code),))


def _stored(spot: Spot, selected: Spot, index: str, part: str) -> Rewrite | None:
    """`x[i] = v`: an index of one element takes a tensor; a number is filled in."""
    statement, subscript, written = selected.parents[1], selected.node, spot.site.facts["known"].get("value")
    if not isinstance(statement, cst.Assign) or len(statement.targets) != 1 or written is None:
        return None
    assert isinstance(subscript, cst.Subscript)
    if written.kind == "number" and len(subscript.slice) == 1:
        code = f"{tight(subscript.value)}.index_fill_(0, {index}, {text(statement.value)})"
        changes, needs = (replace(statement, code),), f"`{short(index)}` must be int64"
    elif on_gpu(written):
        code, changes = f"{part} = {text(statement.value)}", (replace(subscript, part),)
        needs = "both must be of one dtype"
    else:
        return None
    said = f"`{short(code)}` writes on the device"
    return Rewrite(f"{said}; unsafe: {needs}, and an index out of range is reported later", "unsafe", changes)


def _elements(spot: Spot) -> Rewrite | None:
    """`torch.tensor([a, b], device=d)` of tensors on the GPU."""
    call = spot.call(("tensor", "as_tensor", "asarray"))
    data = positional(call)[0].value if call is not None and positional(call) else None
    if call is None or data is None or len(positional(call)) != 1:
        return None
    device, dtype = keyword(call, "device"), keyword(call, "dtype")
    given = 1 + (device is not None) + (dtype is not None)
    listed = isinstance(data, (cst.List, cst.Tuple))
    parts = [e.value for e in data.elements] if isinstance(data, (cst.List, cst.Tuple)) else []
    tensors = all(on_gpu(known(spot, part)) for part in parts) if listed else known(spot, data).kind == "list"
    code = f"torch.stack({text(data)})" + (f".to({text(dtype)})" if dtype is not None else "")
    said = f"`{short(code)}` joins them on the device"
    if device is None or len(call.args) != given or not tensors or spot.site.ndim:
        return None
    needs = "the tensors must be 0-dim, on one GPU, of one dtype, and need no gradient"
    return Rewrite(f"{said}; unsafe: {needs}", "unsafe", (replace(call, code),), TORCH)


REWRITERS: Mapping[str, Rewriter] = {
    "item": _item,
    "number": _number,
    "tolist": _tolist,
    "copy": _copy,
    "numpy": _numpy,
    "format": _format,
    "index": _index,
    "elements": _elements,
}
