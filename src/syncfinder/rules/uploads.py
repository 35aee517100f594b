"""SF301 to SF306: data go from host memory to the GPU, and the host waits for the copy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import libcst as cst

from syncfinder.rules.wording import (
    FamilyVisitor,
    Spot,
    Wording,
    Words,
    arguments,
    assigned_subscript,
    atom,
    code,
    dotted,
    keyword,
    last_name,
    positional,
    rebuilt,
    receiver,
)

# Factories that take `device=` and need no data from the host.
_FACTORIES = frozenset(
    [
        "arange",
        "bartlett_window",
        "blackman_window",
        "empty",
        "empty_strided",
        "eye",
        "full",
        "hamming_window",
        "hann_window",
        "kaiser_window",
        "linspace",
        "logspace",
        "ones",
        "rand",
        "randint",
        "randn",
        "randperm",
        "tril_indices",
        "triu_indices",
        "zeros",
    ]
)
_FROM_DATA = frozenset(
    ("tensor", "as_tensor", "asarray", "new_tensor", "LongTensor", "FloatTensor", "IntTensor", "BoolTensor")
)
_NUMBERS = (cst.Integer, cst.Float, cst.UnaryOperation)
_KEEP = "and leave the pinned source unchanged until the copy is done"


def _is_number(node: cst.BaseExpression) -> bool:
    if isinstance(node, cst.UnaryOperation):
        return isinstance(node.expression, (cst.Integer, cst.Float))
    return isinstance(node, _NUMBERS) or (isinstance(node, cst.Name) and node.value in ("True", "False"))


def _construct(spot: Spot) -> Words:
    call = spot.call(_FROM_DATA) or spot.call()
    if call is None or not call.args:
        message = f"`{spot.text}`: the host waits until its data have been copied to the GPU"
        return (
            message,
            "build it pinned and copy: `torch.tensor(data, pin_memory=True).to(device, non_blocking=True)`",
        )
    message = f"`{code(call)}` copies host data to the GPU, and the host waits until the copy is done"
    if last_name(call.func) not in _FROM_DATA:
        return message, f"keep `{code(call)}` out of the hot path, or give it data that are on the GPU already"
    data = keyword(call, "data") or (positional(call)[0].value if positional(call) else call.args[0].value)
    if spot.site.facts.get("data") == "number" or _is_number(data):
        return message, _number(call, data)
    return message, _data(spot, call, data)


def _number(call: cst.Call, data: cst.BaseExpression) -> str:
    value, rest = code(data), arguments(call, skip=1)
    owner = receiver(call)
    if last_name(call.func) == "new_tensor" and owner is not None:
        return f"`{atom(owner)}.new_full({', '.join(['()', value, *rest])})` passes the number to the kernel"
    return (
        f"`torch.full({', '.join(['()', value, *rest])})` passes the number to the kernel (give `dtype` for integers)"
    )


def _data(spot: Spot, call: cst.Call, data: cst.BaseExpression) -> str:
    name, text = last_name(call.func), code(data)
    device = keyword(call, "device")
    owner = receiver(call)
    target = code(device) if device is not None else "device"
    rest = arguments(call, drop=("device", "pin_memory", "data"), skip=1)
    if name == "new_tensor" and owner is not None:
        rest = rest or [f"dtype={atom(owner)}.dtype"]
        target = code(device) if device is not None else f"{atom(owner)}.device"
    if name.endswith("Tensor"):
        target = '"cuda"'
    made = _ranged(data, rest, target)
    if made is not None:
        return made
    if spot.site.facts.get("data") == "array" and name in ("as_tensor", "asarray", "tensor"):
        dtype = keyword(call, "dtype")
        cast = f", {code(dtype)}" if dtype is not None else ""
        return f"`torch.from_numpy({text}).pin_memory().to({target}{cast}, non_blocking=True)`, {_KEEP}"
    if isinstance(data, (cst.List, cst.Tuple)) and data.elements and all(_is_number(e.value) for e in data.elements):
        return f"build the constant `{text}` once, outside the hot path, and keep it on the device"
    pinned = f"torch.tensor({', '.join([text, *rest, 'pin_memory=True'])})"
    return f"`{pinned}.to({target}, non_blocking=True)`, {_KEEP}"


def _ranged(data: cst.BaseExpression, rest: list[str], target: str) -> str | None:
    """Return the help for `list(range(…))` and `[value] * n`, which the device can make by itself."""
    if isinstance(data, cst.Call) and dotted(data.func) == "list" and len(data.args) == 1:
        data = data.args[0].value
    if isinstance(data, cst.Call) and dotted(data.func) == "range":
        made = ", ".join([*arguments(data), *rest, f"device={target}"])
        return f"create it there: `torch.arange({made})`"
    if (
        isinstance(data, cst.BinaryOperation)
        and isinstance(data.operator, cst.Multiply)
        and isinstance(data.left, cst.List)
    ):
        values = data.left.elements
        if len(values) == 1:
            made = ", ".join([f"({code(data.right)},)", code(values[0].value), *rest, f"device={target}"])
            return f"create it there: `torch.full({made})`"
    return None


def _transfer(spot: Spot) -> Words:
    call = spot.call(("to", "cuda", "copy_", "type", "type_as", "to_device"))
    if call is None:
        return _assigned(spot)
    name, owner = last_name(call.func), receiver(call)
    if name == "copy_" and owner is not None:
        return _copy_into(spot, call, owner)
    if owner is None:
        owner = positional(call)[0].value if positional(call) else call.func
    text = code(owner)
    copied = f"`.{name}({', '.join(arguments(call))})` has copied it to the GPU"
    message = f"`{text}` is on the host: the host waits until {copied}"
    return message, _transfer_help(spot, call, owner)


def _transfer_help(spot: Spot, call: cst.Call, owner: cst.BaseExpression) -> str:
    name = last_name(call.func)
    device = _device(call)
    if isinstance(owner, cst.Call):
        made = last_name(owner.func)
        if made in _FACTORIES and dotted(owner.func).startswith("torch."):
            return f"create it there: `{rebuilt(owner, f'device={device}', drop=('device', 'pin_memory'))}`"
        if made in ("tensor", "as_tensor") and dotted(owner.func).startswith("torch."):
            first = positional(owner)
            if first and _is_number(first[0].value):
                rest = arguments(owner, drop=("device",), skip=1)
                given = ", ".join(["()", code(first[0].value), *rest, f"device={device}"])
                return f"create it there: `torch.full({given})`"
            if made == "tensor":
                pinned = rebuilt(owner, "pin_memory=True", drop=("pin_memory", "device"))
                return f"`{pinned}{_moved(name, call)}`, {_KEEP}"
    text = atom(owner)
    if spot.site.facts.get("pinned"):
        return f"`{text}{_moved(name, call)}`, {_KEEP}"
    return f"`{text}.pin_memory(){_moved(name, call)}`, {_KEEP}"


def _device(call: cst.Call) -> str:
    """Return the source of the device that `.to(…)` or `.cuda(…)` names."""
    device = keyword(call, "device")
    if device is not None:
        return code(device)
    first = positional(call)
    if last_name(call.func) == "cuda":
        return code(first[0].value) if first else '"cuda"'
    if not first:
        return "device"
    return code(first[0].value)


def _moved(name: str, call: cst.Call) -> str:
    given = arguments(call, drop=("non_blocking",))
    method = name if name in ("to", "cuda") else "to"
    if method != name:
        given = ["device"]
    return f".{method}({', '.join([*given, 'non_blocking=True'])})"


def _copy_into(spot: Spot, call: cst.Call, owner: cst.BaseExpression) -> Words:
    first = positional(call)
    source = first[0].value if first else None
    text, target = (atom(source) if source is not None else "source"), atom(owner)
    message = f"`{text}` is on the host: the host waits until it has been copied into `{target}` on the GPU"
    if isinstance(source, cst.Call) and last_name(source.func) in ("tensor", "as_tensor") and positional(source):
        value = positional(source)[0].value
        if _is_number(value):
            return message, f"`{target}.fill_({code(value)})` passes the number to the kernel"
    pinned = text if spot.site.facts.get("pinned") else f"{text}.pin_memory()"
    return message, f"`{target}.copy_({pinned}, non_blocking=True)`, {_KEEP}"


def _assigned(spot: Spot) -> Words:
    """`gpu[a:b] = host`: the copy is an assignment."""
    statement = spot.assignment()
    target = assigned_subscript(statement) if statement is not None else None
    if statement is not None and target is not None:
        text, value = code(target), atom(statement.value)
        message = f"`{value}` is on the host: the host waits until it has been copied into `{text}` on the GPU"
        pinned = value if spot.site.facts.get("pinned") else f"{value}.pin_memory()"
        return message, f"`{text}.copy_({pinned}, non_blocking=True)`, {_KEEP}"
    message = f"`{spot.text}` copies from the host to the GPU, and the host waits until the copy is done"
    return message, f"copy from pinned memory with `non_blocking=True`, {_KEEP}, or create the data on the device"


def _host_index(spot: Spot) -> Words:
    selection = spot.indexed()
    if selection is None or not isinstance(selection.node, cst.Subscript):
        message = f"`{spot.text}`: the index lies on the host, and the host waits until it has been copied to the GPU"
        return message, "build the index on the device once and use `index_select`"
    node = selection.node
    base, index = atom(node.value), ", ".join(code(element.slice) for element in node.slice)
    own = index if spot.node is node or isinstance(spot.node, cst.Assign) else spot.text
    message = f"`{own}` lies on the host: the host waits until it has been copied to the GPU to index `{base}`"
    first = node.slice[0].slice
    if len(node.slice) == 1 and isinstance(first, cst.Index) and isinstance(first.value, cst.List):
        values = _constants(first.value)
        if values is not None and values == list(range(values[0], values[0] + len(values))) and values[0] >= 0:
            return message, f"neighbouring constants are a slice: `{base}[{values[0]}:{values[-1] + 1}]`"
    if len(node.slice) > 1:
        return message, "build the index tensors once on the device; integers and slices do not wait"
    if spot.assignment() is not None:
        return (
            message,
            f"build the index once on the device (`index`), and use `{base}[index] = ...` with a tensor there",
        )
    return message, f"build the index once on the device (`index`), and use `{base}.index_select(0, index)`"


def _constants(values: cst.List) -> list[int] | None:
    numbers = [e.value for e in values.elements if isinstance(e.value, cst.Integer)]
    if not numbers or len(numbers) != len(values.elements):
        return None
    return [n.evaluated_value for n in numbers]


def _scalar_write(spot: Spot) -> Words:
    statement = spot.assignment()
    target = assigned_subscript(statement) if statement is not None else None
    if statement is None or target is None:
        message = f"`{spot.text}`: the host waits until the number has been copied to the GPU"
        return message, "write through a slice (`t[i:i + 1] = v`) or with `index_fill_`"
    value = code(statement.value)
    message = f"`{code(target)} = {value}`: the host waits until `{value}` has been copied to the GPU"
    return message, _write_help(spot, target, atom(target.value), value)


def _write_help(spot: Spot, target: cst.Subscript, base: str, value: str) -> str:
    indices = [code(element.slice) for element in target.slice]
    on_device = f"torch.full((), {value}, dtype={base}.dtype, device={base}.device)"
    if spot.site.facts.get("index") == "index":
        if len(indices) == 1:
            return f"`{base}.index_fill_(0, {indices[0]}, {value})` passes the number to the kernel"
        return f"`{code(target)} = {on_device}` writes a number that is on the device already"
    last = target.slice[-1].slice
    if not isinstance(last, cst.Index):
        return f"`{code(target)}.fill_({value})` passes the number to the kernel"
    indices[-1] = _one_slice(last.value)
    return f"`{base}[{', '.join(indices)}] = {value}` passes the number to the kernel"


def _one_slice(index: cst.BaseExpression) -> str:
    """Return the slice that holds just the element `index`."""
    text = code(index)
    if isinstance(index, cst.Integer):
        return f"{text}:{index.evaluated_value + 1}"
    if isinstance(index, cst.UnaryOperation) and isinstance(index.operator, cst.Minus):
        number = index.expression
        if isinstance(number, cst.Integer):
            stop = number.evaluated_value - 1
            return f"{text}:{-stop if stop else ''}"
    return f"{text}:{text} + 1"


def _operand(spot: Spot) -> Words:
    node, call = spot.node, spot.argument_of()
    argument = spot.site.facts.get("argument")
    if call is None and isinstance(node, cst.Call):
        what = f"its operand `{argument}`" if argument else "an operand that is on the host"
        message = f"`{spot.text}` works on the GPU and uploads {what}: the host waits until it has been copied"
        return message, "create the operand on the device (`device=`), or pass a Python number where one is enough"
    operation = f"`{code(call.func)}`" if call is not None else spot.site.operation
    text = spot.text
    message = f"`{text}` is on the host, and {operation} works on the GPU: the host waits until it has been copied"
    if isinstance(node, cst.Call) and last_name(node.func) in ("tensor", "as_tensor") and positional(node):
        value = positional(node)[0].value
        if _is_number(value):
            return message, f"pass the number itself: `{code(value)}`"
    return message, f"create `{text}` on the device (`device=`), or pass a Python number where one is enough"


def _module(spot: Spot) -> Words:
    call = spot.call(("to", "cuda", "load_state_dict"))
    if call is None:
        message = f"`{spot.text}` copies parameters from the host to the GPU, and the host waits for each of them"
        return message, "create the module on the device, and move it before the hot path starts"
    owner = receiver(call)
    text = atom(owner) if owner is not None else spot.text
    if last_name(call.func) == "load_state_dict":
        message = f"`{code(call)}` copies parameters from the host to the GPU, and the host waits for each of them"
        return (
            message,
            "load the state onto the device first (`torch.load(..., map_location=device)`), outside the hot path",
        )
    message = f"`{text}` copies its parameters from the host to the GPU, and the host waits for each of them"
    if isinstance(owner, cst.Call) and dotted(owner.func).startswith(("nn.", "torch.nn.")):
        return message, f"create it there: `{rebuilt(owner, f'device={_device(call)}', drop=('device',))}`"
    return message, "create the module on the device (`with torch.device(...)`), or move it before the hot path starts"


class Uploads(FamilyVisitor):
    """Words the uploads."""

    WORDING: ClassVar[Mapping[str, Wording]] = {
        "construct": _construct,
        "transfer": _transfer,
        "host-index": _host_index,
        "scalar-write": _scalar_write,
        "operand": _operand,
        "module": _module,
    }
