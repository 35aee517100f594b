"""SF201 to SF206: the size of a result depends on values."""

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
    atom,
    code,
    keyword,
    last_name,
    on_torch,
    positional,
    rebuilt,
    receiver,
    subject,
)

# What to put where the mask is False, so that the reduction's result stays the same.
_NEUTRAL = {"sum": "0", "any": "False", "all": "True", "prod": "1", "amax": '-float("inf")', "max": '-float("inf")'}
_NEUTRAL |= {
    "amin": 'float("inf")',
    "min": 'float("inf")',
    "count_nonzero": "0",
    "nansum": "0",
    "logsumexp": '-float("inf")',
}


def _subject(spot: Spot, names: tuple[str, ...]) -> tuple[cst.Call | None, str]:
    call = spot.call(names)
    tensor = subject(call) if call is not None else None
    return call, code(tensor) if tensor is not None else spot.text


def _nonzero(spot: Spot) -> Words:
    call, mask = _subject(spot, ("nonzero", "argwhere", "where", "flatnonzero"))
    message = f"`{mask}` {spot.place}: the host waits to know how many elements are nonzero"
    static = f"torch.nonzero_static({mask}, size=count)"
    if call is not None and (last_name(call.func) == "where" or keyword(call, "as_tuple") is not None):
        static += "[:, 0]"
    return message, f"`{static}` if the host knows a count, or keep the mask: `torch.where({mask}, a, b)`"


def _parts(subscript: cst.Subscript) -> tuple[str, str]:
    """Return the sources of the indexed tensor and of its index."""
    return atom(subscript.value), ", ".join(code(element.slice) for element in subscript.slice)


def _selected(spot: Spot) -> tuple[Spot, str, str] | None:
    """Return the spot of the selection, its tensor and its mask."""
    call = spot.call(("masked_select",))
    if call is not None:
        values = [code(v.value) for v in positional(call)]
        owner = receiver(call)
        if owner is not None:
            values.insert(0, atom(owner))
        return (spot, values[0], values[1]) if len(values) > 1 else None
    selection = spot.indexed()
    if selection is None or not isinstance(selection.node, cst.Subscript):
        return None
    return (selection, *_parts(selection.node))


def _count(spot: Spot, mask: str) -> str:
    return f"`{mask}` {spot.place}: the host waits to know how many elements it selects"


def _mask_read(spot: Spot) -> Words:
    found = _selected(spot)
    if found is None:
        return _count(
            spot, spot.text
        ), "keep the full size: `torch.where(mask, x, 0)` before a sum, or multiply by the mask"
    selection, base, mask = found
    # Where the index has several parts, the site stands on the mask.
    message = _count(spot, spot.text if spot.node is not selection.node else mask)
    if isinstance(selection.parent, cst.AugAssign) and selection.parent.target is selection.node:
        return message, _write_help(selection.parent, base, mask)
    if "," in mask or ":" in mask:
        return message, "keep the full size and mask the result with `torch.where`, instead of selecting first"
    reduced = selection.reduced_by()
    if reduced == "mean":
        return message, f"`torch.where({mask}, {base}, 0).sum() / {mask}.sum()` keeps the full size"
    if reduced in ("numel", "size"):
        return message, f"`{mask}.sum()` counts on the device"
    if reduced in _NEUTRAL:
        return message, f"`torch.where({mask}, {base}, {_NEUTRAL[reduced]}).{reduced}()` keeps the full size"
    return message, (
        f"keep the full size: `torch.where({mask}, {base}, 0)`, or `torch.nonzero_static({mask}, size=count)` and "
        "`index_select` if the host knows a count"
    )


def _mask_write(spot: Spot) -> Words:
    call = spot.call(("index_put_", "index_put"))
    if call is not None:
        return _index_put(spot, call)
    selection = spot.indexed()
    if selection is None or not isinstance(selection.node, cst.Subscript):
        return _count(spot, spot.text), "`x = torch.where(mask, value, x)`; a Python number as the value does not wait"
    base, mask = _parts(selection.node)
    message = _count(spot, spot.text if spot.node is not selection.node else mask)
    statement = spot.assignment()
    if statement is None or "," in mask or ":" in mask:
        return message, f"write the whole of `{base}` with `torch.where`; a Python number as the value does not wait"
    return message, _write_help(statement, base, mask)


def _write_help(statement: cst.Assign | cst.AugAssign, base: str, mask: str) -> str:
    if isinstance(statement, cst.AugAssign):
        operator = code(statement.operator)
        neutral = _AUGMENTED.get(operator)
        value = code(statement.value)
        if neutral is not None:
            return f"`{base} {operator} torch.where({mask}, {value}, {neutral})` keeps the full size"
        return f"`{base} = torch.where({mask}, {base} {operator[:-1]} {value}, {base})` keeps the full size"
    value = code(statement.value)
    # `x[m] = f(x[m])` becomes f on the whole of x.
    selected = f"{base}[{mask}]"
    if selected in value:
        return f"`{base} = torch.where({mask}, {value.replace(selected, base)}, {base})` keeps the full size"
    return (
        f"`{base} = torch.where({mask}, {value}, {base})` if `{value}` broadcasts to `{base}`; "
        f"`{base}.masked_scatter_({mask}, {value})` if it has one element per hit"
    )


_AUGMENTED = {"+=": "0", "-=": "0", "*=": "1", "/=": "1", "|=": "False", "^=": "False"}


def _index_put(spot: Spot, call: cst.Call) -> Words:
    values = positional(call)
    base = subject(call)
    text = atom(base) if base is not None else spot.text
    message = f"`{text}` {spot.place}: the host waits to know how many elements the mask selects"
    if len(values) > 1 and isinstance(values[0].value, (cst.Tuple, cst.List)) and len(values[0].value.elements) == 1:
        mask = code(values[0].value.elements[0].value)
        message = _count(spot, mask)
        return message, f"`{text} = torch.where({mask}, {code(values[1].value)}, {text})`"
    return message, f"write the whole of `{text}` with `torch.where(mask, value, {text})`"


def _unique(spot: Spot) -> Words:
    _, tensor = _subject(spot, ("unique", "unique_consecutive"))
    return f"`{tensor}` {spot.place}: the host waits to know how many distinct values there are", (
        f"for values below a known `n`, mark them: `torch.zeros(n, dtype=torch.bool, device={tensor}.device)"
        f".index_fill_(0, {tensor}.flatten(), True)`; otherwise sort and compare neighbours"
    )


def _repeat(spot: Spot) -> Words:
    call = spot.call(("repeat_interleave",))
    if call is None:
        return f"`{spot.text}` {spot.place}: the host waits for the sum of the repeats", "give `output_size=`"
    values = positional(call)
    repeats = keyword(call, "repeats")
    if repeats is None and values:
        position = 1 if on_torch(call) and len(values) > 1 else 0
        repeats = values[position].value
    text = code(repeats) if repeats is not None else spot.text
    message = f"`{text}` {spot.place}: the host waits for the sum of the repeats"
    return message, f"give the total that the host knows: `{rebuilt(call, 'output_size=total', drop=('output_size',))}`"


def _size(spot: Spot) -> Words:
    call = spot.call()
    if call is None:
        message = f"`{spot.text}` {spot.place}: {spot.site.operation} waits for a value to know its output's size"
        return message, "give the size from the host, or use a form with a static size"
    name = last_name(call.func)
    tensor = subject(call)
    text = code(tensor) if tensor is not None else spot.text
    message = f"`{text}` {spot.place}: `{code(call.func)}` waits for its values to know the output's size"
    if name == "bincount":
        size = keyword(call, "minlength")
        n = code(size) if size is not None else "n"
        zeros = f"torch.zeros({n}, dtype=torch.long, device={text}.device)"
        return message, f"`{zeros}.scatter_add_(0, {text}, torch.ones_like({text}))` counts into a known size"
    if name == "one_hot":
        return message, f"give the number of classes: `{code(call.func)}({text}, num_classes=n)`"
    given = ", ".join(arguments(call))
    return message, f"keep `{code(call.func)}({given})` out of the hot path, or use a form with a static size"


class Shapes(FamilyVisitor):
    """Words the data-dependent shapes."""

    WORDING: ClassVar[Mapping[str, Wording]] = {
        "nonzero": _nonzero,
        "mask-read": _mask_read,
        "mask-write": _mask_write,
        "unique": _unique,
        "repeat": _repeat,
        "size": _size,
    }
