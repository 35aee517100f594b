"""Rewrites of numbers written into elements, and of indices that lie on the host."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import libcst as cst

from syncfinder.rules.rewrites.factories import created_on
from syncfinder.rules.rewrites.operands import is_path, short, text, tight
from syncfinder.rules.rewrites.rewrite import Rewrite, rewritten, source
from syncfinder.rules.wording import Spot, assigned_subscript, dotted, last_name
from syncfinder.sites.site import Known

_NOTHING: Mapping[str, Known] = {}


def roles_of(spot: Spot) -> Mapping[str, Known]:
    """Return what is known of the site's values, by role."""
    found: Mapping[str, Known] = spot.site.facts.get("known", _NOTHING)
    return found


def surely_tensor(what: Known | None, node: cst.BaseExpression) -> list[str]:
    """Return the condition that a value is a tensor where the tool only takes it for one."""
    sure = what is not None and what.kind == "tensor" and what.sure == "certain"
    return [] if sure else [f"`{short(text(node))}` is a tensor"]


# SF304: numbers.


def scalar_write(spot: Spot) -> Rewrite | None:
    """`x[i] = number` and `x[index] = number`."""
    statement = spot.assignment()
    if not isinstance(statement, cst.Assign) or len(statement.targets) != 1:
        return None
    target = assigned_subscript(statement)
    if target is None:
        return None
    value = text(statement.value)
    needs = surely_tensor(roles_of(spot).get("base"), target.value)
    if any(_is_positions(element.slice) for element in target.slice):
        return None  # the mask that they are made of is better
    if spot.site.facts.get("index") == "integer":
        return _element(spot, statement, target, value, needs)
    return _by_index(spot, statement, target, value, needs)


def _element(spot: Spot, statement: cst.Assign, target: cst.Subscript, value: str, needs: list[str]) -> Rewrite:
    """One element: `fill_` of the view of it takes the number. An index that is a tensor would make a copy."""
    if roles_of(spot).get("index", Known()).kind != "number":
        needs = [*needs, f"`{short(', '.join(_parts(target)))}` is a number"]
    return rewritten("`fill_` passes the number to the kernel", needs, (statement, f"{text(target)}.fill_({value})"))


def _parts(target: cst.Subscript) -> list[str]:
    return [_code(element.slice) for element in target.slice]


def _code(part: cst.BaseSlice) -> str:
    return text(part.value) if isinstance(part, cst.Index) else ""


def _is_positions(part: cst.BaseSlice) -> bool:
    """Tell whether an index is made by `torch.where(mask)` or `mask.nonzero()`."""
    node = part.value if isinstance(part, cst.Index) else None
    if isinstance(node, cst.Subscript):
        node = node.value
    return isinstance(node, cst.Call) and last_name(node.func) in ("where", "nonzero", "argwhere")


def _by_index(spot: Spot, statement: cst.Assign, target: cst.Subscript, value: str, needs: list[str]) -> Rewrite | None:
    """Elements by an index: `index_fill_` takes the number, or the number is made on the device."""
    index = roles_of(spot).get("index", Known())
    first = target.slice[0].slice
    if index.dtype == "bool" and len(target.slice) == 1 and isinstance(first, cst.Index):
        if not is_path(target.value):
            return None
        mask = f"{tight(first.value)}.pin_memory().to({text(target.value)}.device, non_blocking=True)"
        needs = [*needs, f"`{short(text(first.value))}` is in host memory, and `{text(target.value)}` on a GPU"]
        code = f"{text(target.value)}.masked_fill_({mask}, {value})"
        return rewritten("`masked_fill_` passes the number to the kernel", needs, (statement, code))
    if (
        needs
        and len(target.slice) == 1
        and isinstance(first, cst.Index)
        and not isinstance(first.value, cst.Tuple)
        and index.ndim in (1, None)
    ):
        where = text(first.value)
        needs = [*needs, f"`{short(where)}` is a 1-dim int64 tensor"]
        code = f"{tight(target.value)}.index_fill_(0, {where}, {value})"
        return rewritten("`index_fill_` passes the number to the kernel", needs, (statement, code))
    if not is_path(target.value):
        return None
    base = text(target.value)
    code = f"torch.full((), {value}, dtype={base}.dtype, device={base}.device)"
    message = "`torch.full` makes the number on the device"
    return rewritten(message, needs, (statement.value, code), imports=True)


# SF303: an index on the host.


def host_index(spot: Spot) -> Rewrite | None:
    """`x[[0, 1]]`, `x[rows]`: constants may be a slice; what varies goes through pinned memory."""
    selection = spot.indexed()
    if selection is None or not isinstance(selection.node, cst.Subscript):
        return None
    subscript = selection.node
    part = _own_part(spot, subscript)
    if part is None:
        return None
    written = _is_written(selection)
    return (
        _sliced(spot, subscript, part, written) or _hoisted(spot, subscript, part) or _uploaded(spot, subscript, part)
    )


def _own_part(spot: Spot, subscript: cst.Subscript) -> cst.Index | None:
    """Return the part of the index that the site stands on."""
    for element in subscript.slice:
        part = element.slice
        if isinstance(part, cst.Index) and (part.value is spot.node or len(subscript.slice) == 1):
            return part if not isinstance(part.value, cst.Tuple) else None
    return None


def _is_written(selection: Spot) -> bool:
    parent = selection.parent
    if isinstance(parent, cst.Assign):
        return any(t.target is selection.node for t in parent.targets)
    return isinstance(parent, cst.AssignTarget) or (
        isinstance(parent, cst.AugAssign) and parent.target is selection.node
    )


def _sliced(spot: Spot, subscript: cst.Subscript, part: cst.Index, written: bool) -> Rewrite | None:
    """Constants at equal distances are a slice: of one element, of neighbours, or with a step."""
    values = constants(part.value)
    others = [e.slice for e in subscript.slice if e.slice is not part]
    whole = all(isinstance(o, cst.Slice) or _is_open(o) for o in others)
    code = slice_of(values) if values is not None and whole else None
    if code is None:
        return None
    needs = surely_tensor(roles_of(spot).get("base"), subscript.value)
    if not written:
        needs.append("a view will do: the result is not written to, and needs no memory of its own")
    return rewritten(f"the constants are the slice `{code}`", needs, (part, code))


def _is_open(part: cst.BaseSlice) -> bool:
    value = part.value if isinstance(part, cst.Index) else None
    return isinstance(value, cst.Ellipsis) or (isinstance(value, cst.Name) and value.value == "None")


def constants(node: cst.BaseExpression) -> list[int] | None:
    """Return the whole numbers of a list of them; None for anything else."""
    if not isinstance(node, (cst.List, cst.Tuple)) or not node.elements:
        return None
    found = []
    for element in node.elements:
        value, sign = element.value, 1
        if isinstance(value, cst.UnaryOperation) and isinstance(value.operator, cst.Minus):
            value, sign = value.expression, -1
        if not isinstance(value, cst.Integer):
            return None
        found.append(sign * value.evaluated_value)
    return found


def slice_of(values: list[int]) -> str | None:
    """Return the slice that selects just these elements, in order, of anything that has them; None if there is none.

    >>> slice_of([0, 2, 4]), slice_of([-1]), slice_of([3, 2]), slice_of([-1, 0])
    ('0:5:2', '-1:', None, None)
    """
    first, last = values[0], values[-1]
    step = values[1] - first if len(values) > 1 else 1
    steady = all(b - a == step for a, b in pairwise(values))
    if step < 1 or not steady or (first < 0 <= last):
        return None
    end = "" if last == -1 else str(last + 1)
    return f"{first}:{end}" + (f":{step}" if step > 1 else "")


def _hoisted(spot: Spot, subscript: cst.Subscript, part: cst.Index) -> Rewrite | None:
    """Other constants in a method: a buffer holds them on the device. A person has to find its place."""
    method = spot.site.function is not None and "." in spot.site.function
    if constants(part.value) is None or not method:
        return None
    code = text(part.value)
    used = short(text(subscript)).replace(short(code), "self.index", 1)
    return Rewrite(
        f'keep the constant index on the device: `self.register_buffer("index", torch.tensor({short(code)}), '
        f"persistent=False)` in `__init__`, and `{used}` here",
        "display-only",
    )


def _uploaded(spot: Spot, subscript: cst.Subscript, part: cst.Index) -> Rewrite | None:
    """Any other index goes through pinned memory, and its copy is queued."""
    if not is_path(subscript.value):
        return None
    roles, base, code = roles_of(spot), text(subscript.value), text(part.value)
    place, what = roles.get("base", Known()), spot.site.facts.get("index")
    if isinstance(part.value, cst.Call) and dotted(part.value.func) == "range":
        arguments = ", ".join(text(a.value) for a in part.value.args)
        counted = f"torch.arange({arguments}, device={base}.device)"
        return rewritten(
            "`torch.arange` counts on the device",
            surely_tensor(roles_of(spot).get("base"), subscript.value),
            (part, counted),
            imports=True,
        )
    created = created_on(spot, part.value, f"{base}.device")
    if created is not None:
        there, needs = created
        needs = [*surely_tensor(roles_of(spot).get("base"), subscript.value), *needs]
        return rewritten("the device creates the index by itself", needs, (part, source(there)))
    needs = [] if place.place == "cuda" and place.sure == "certain" else [f"`{base}` is a tensor on a GPU"]
    if what == "list":
        made = f"torch.tensor({code}, pin_memory=True)"
        if roles.get("element", Known()).dtype == "int":
            if constants(part.value) is None:  # it may be empty, which says nothing of the dtype
                made = f"torch.tensor({code}, dtype=torch.long, pin_memory=True)"
        else:
            needs.append(f"`{short(code)}` holds whole numbers, and is not empty")
    elif what == "array":
        made = f"torch.as_tensor({code}).pin_memory()"
        needs.append(f"`{short(code)}` holds whole numbers")
    else:
        made = f"{tight(part.value)}.pin_memory()"
        needs.append(f"`{short(code)}` is in host memory")
    moved = f"{made}.to({base}.device, non_blocking=True)"
    message = "copy the index from pinned memory, which does not wait; better, build it once on the device"
    return rewritten(message, needs, (part, moved), imports=what != "host tensor")
