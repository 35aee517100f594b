"""Rewrites of results whose size depends on values: the full size stays, and a mask says what counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import libcst as cst

from syncfinder.rules.rewrites.calls import by_name, expression, own, with_keyword
from syncfinder.rules.rewrites.element_writes import roles_of, surely_tensor
from syncfinder.rules.rewrites.factories import python_number
from syncfinder.rules.rewrites.operands import ELEMENTWISE, known, pure, same, short, text, tight
from syncfinder.rules.rewrites.rewrite import Rewrite, Rewriter, rewritten
from syncfinder.rules.wording import Spot, dotted, keyword, last_name, positional, receiver, subject
from syncfinder.sites.site import Known

# What stands where the mask is False, so that the reduction stays the same; exact for every dtype, or but for rounding.
_EXACT = {"any": "False", "all": "True", "count_nonzero": "0"}
_SUMS = {"sum": "0", "nansum": "0", "prod": "1"}
_LIMITS = {"max": ('float("-inf")', "min"), "amax": ('float("-inf")', "min"), "min": ('float("inf")', "max")}
_LIMITS |= {"amin": _LIMITS["min"]}
_ROUNDS = "a difference in the last bits will do: the sum runs over more elements, in another order"


@dataclass(frozen=True, slots=True)
class Selection:
    """`base[mask]`: `mask` is the code of the mask as it broadcasts to the base.

    `before` and `rest` are the numbers of the base's dimensions in front of it and behind it, `needs` is what must hold
    for all that, `shape` the part of it that the dimensions must. `single`: the mask is known to have one dimension.
    """

    base: cst.BaseExpression
    mask: str
    rest: int
    needs: tuple[str, ...]
    before: int = 0
    single: bool = False
    shape: tuple[str, ...] = ()


def selection_of(
    spot: Spot, node: cst.Subscript, base: Known | None = None, mask: Known | None = None
) -> Selection | None:
    """Take `x[mask]`, `x[:, mask]`, `x[mask, :]` or `x[..., mask]` apart; None for other indices.

    `base` and `mask` are what is known of both, where the site does not say it by these roles.
    """
    parts = [element.slice for element in node.slice]
    at = [n for n, part in enumerate(parts) if not _is_whole(part)]
    if not at:
        return None
    part, before, after = parts[at[-1]], parts[: at[-1]], parts[at[-1] + 1 :]
    if not isinstance(part, cst.Index) or isinstance(part.value, (cst.Tuple, cst.List)):
        return None
    if part.value is not spot.node and any(isinstance(p, cst.Index) and p.value is spot.node for p in parts):
        return None
    if len(at) > 1:
        return _in_a_part(spot, node, part, at, after)
    base, mask = base or roles_of(spot).get("base", Known()), mask or roles_of(spot).get("mask", Known())
    needs = [*surely_tensor(base, node.value), *_bool(mask, part.value)]
    shape: list[str] = []
    rest: int | None = None
    if any(_is_ellipsis(p) for p in before):
        rest = len(after)
    elif base.ndim is not None and mask.ndim is not None:
        rest = base.ndim - len(before) - mask.ndim
    elif not before and made_of(part.value, node.value):
        rest = 0
    if rest is None or rest < 0:
        rest = sum(not _is_ellipsis(p) for p in after)
        shape = [_dimensions(short(text(part.value)), short(text(node.value)), rest + len(before))]
    spread = _spread(part.value, rest, mask.ndim)
    return Selection(node.value, spread, rest, (*needs, *shape), len(before), mask.ndim == 1, tuple(shape))


def _in_a_part(
    spot: Spot, node: cst.Subscript, part: cst.Index, at: list[int], after: list[cst.BaseSlice]
) -> Selection | None:
    """`x[:, i, mask]`: the mask selects from the view `x[:, i]`. A number apart from it would move dimensions."""
    last, parts = at[-1], [element.slice for element in node.slice]
    if after or at != list(range(at[0], last + 1)) or any(_is_ellipsis(p) for p in parts):
        return None
    numbers = [p.value for p in parts[at[0] : last] if isinstance(p, cst.Index)]
    if len(numbers) != last - at[0] or not all(pure(n) and not _of_tensor(spot, n) for n in numbers):
        return None
    held = [e.with_changes(comma=cst.MaybeSentinel.DEFAULT) for e in node.slice[:last]]
    view = node.with_changes(slice=held, lpar=(), rpar=())
    base, mask = roles_of(spot).get("base", Known()), roles_of(spot).get("mask", Known())
    ndim = base.ndim - len(numbers) if base.ndim is not None else None
    whole = cst.Subscript(view, [cst.SubscriptElement(p) for p in (*parts[: at[0]], part)])
    found = selection_of(spot, whole, replace(base, ndim=ndim), mask)
    sure = all(python_number(n) or known(spot, n).kind == "number" for n in numbers)
    needs = [] if sure else [f"`{short(text(n))}` is a number" for n in numbers]
    return replace(found, needs=(*found.needs, *needs)) if found is not None else None


def _of_tensor(spot: Spot, node: cst.BaseExpression) -> bool:
    """Tell whether a value is a tensor or a part of one."""
    while isinstance(node, cst.Subscript):
        node = node.value
    return known(spot, node).kind == "tensor"


def _is_whole(part: cst.BaseSlice) -> bool:
    open_slice = isinstance(part, cst.Slice) and part.lower is None and part.upper is None and part.step is None
    return open_slice or _is_ellipsis(part)


def _is_ellipsis(part: cst.BaseSlice) -> bool:
    return isinstance(part, cst.Index) and isinstance(part.value, cst.Ellipsis)


def _bool(mask: Known, node: cst.BaseExpression) -> list[str]:
    return [] if mask.dtype == "bool" else [f"`{short(text(node))}` is a bool tensor"]


def _dimensions(mask: str, base: str, fewer: int) -> str:
    if fewer == 0:
        return f"`{mask}` has as many dimensions as `{base}`"
    return f"`{mask}` has {fewer} dimension{'s' if fewer > 1 else ''} fewer than `{base}`"


def made_of(mask: cst.BaseExpression, base: cst.BaseExpression) -> bool:
    """Tell whether a mask compares the base itself: it has no fewer dimensions, and no more, as it selects from it."""
    if isinstance(mask, cst.Comparison) and len(mask.comparisons) == 1:
        return same(mask.left, base) or same(mask.comparisons[0].comparator, base)
    if isinstance(mask, cst.UnaryOperation):
        return made_of(mask.expression, base)
    if isinstance(mask, cst.BinaryOperation):
        return made_of(mask.left, base) or made_of(mask.right, base)
    return False


def _repeatable(node: cst.BaseExpression) -> bool:
    """Tell whether an expression may be computed twice, and gives the same: it is pure, or a part of what is."""
    if not isinstance(node, cst.Subscript) or pure(node):
        return pure(node)
    parts = [e.slice for e in node.slice]
    values = [p.value for p in parts if isinstance(p, cst.Index)]
    bounds = [b for p in parts if isinstance(p, cst.Slice) for b in (p.lower, p.upper, p.step) if b is not None]
    return _repeatable(node.value) and all(isinstance(v, cst.Ellipsis) or pure(v) for v in (*values, *bounds))


def _spread(mask: cst.BaseExpression, rest: int, ndim: int | None) -> str:
    """Return the code of a mask with `rest` more dimensions behind its own."""
    if rest == 0:
        return text(mask)
    first = ":" if ndim == 1 else "..."
    return f"{tight(mask)}[{', '.join([first, *['None'] * rest])}]"


# SF203: written through a mask.


def _mask_write(spot: Spot) -> Rewrite | None:
    if isinstance(spot.node, cst.Call) and last_name(spot.node.func) == "index_put_":
        return _index_put(spot, spot.node)
    place, statement = spot.indexed(), spot.assignment()
    if place is None or not isinstance(place.node, cst.Subscript) or not isinstance(statement, cst.Assign):
        return None
    if len(statement.targets) != 1 or statement.targets[0].target is not place.node:
        return None
    found = selection_of(spot, place.node)
    return _written(spot, statement, found, place.node, statement.value) if found is not None else None


def _index_put(spot: Spot, call: cst.Call) -> Rewrite | None:
    given, base = by_name(call, ("indices", "values")), receiver(call)
    if given is None or base is None or given.keys() != {"indices", "values"} or not pure(base):
        return None
    indices = given["indices"].value
    if not isinstance(indices, (cst.Tuple, cst.List)) or len(indices.elements) != 1:
        return None
    # the call says the same as an assignment to this subscript
    part = cst.SubscriptElement(cst.Index(indices.elements[0].value))
    subscript = cst.Subscript(base, [part])
    mask = known(spot, indices.elements[0].value)
    found = selection_of(spot, subscript, roles_of(spot).get("self"), mask)
    return _written(spot, call, found, subscript, given["values"].value) if found is not None else None


def _written(
    spot: Spot, node: cst.CSTNode, found: Selection, subscript: cst.Subscript, value: cst.BaseExpression
) -> Rewrite | None:
    """`x[mask] = value`, where the value does not depend on how many elements the mask selects."""
    if not _repeatable(found.base):
        return None
    base, needs = text(found.base), list(found.needs)
    roles = roles_of(spot)
    given = roles.get("value", roles.get("values", Known()))
    full = _on_all(spot, value, subscript, found, needs)
    if full is None:
        if given.kind != "tensor" or given.ndim is None:
            return _either(found, value)
        if given.ndim > found.rest and found.before:
            return _either(found, value)
        if given.ndim > found.rest:
            needs.append(f"`{short(text(value))}` has one element for each that is written")
            code = f"{tight(found.base)}.masked_scatter_({found.mask}, {text(value)})"
            return rewritten("`masked_scatter_` needs no count", needs, (node, code))
        full = text(value)
    code = f"{tight(found.base)}.copy_(torch.where({found.mask}, {full}, {base}))"
    message = "`torch.where` keeps the full size, and computes the value for all elements"
    return rewritten(message, needs, (node, code), imports=True)


def _either(found: Selection, value: cst.BaseExpression) -> Rewrite:
    """What the value is decides; a person has to say it."""
    base, code = short(text(found.base)), short(text(value))
    condition = f"; only if {', and '.join(found.shape)}" if found.shape else ""
    return Rewrite(
        f"`{base}.masked_scatter_({short(found.mask)}, {code})` if `{code}` has one element for each that is written, "
        f"`{base}.copy_(torch.where({short(found.mask)}, {code}, {base}))` if it broadcasts{condition}",
        "display-only",
    )


def _on_all(
    spot: Spot, value: cst.BaseExpression, subscript: cst.Subscript, found: Selection, needs: list[str]
) -> str | None:
    """Return the code of a value made element-wise of `y[mask]`, with the whole of y; None for other values.

    Adds to `needs` what must hold.
    """
    collector = _Selections(subscript)
    replaced = value.visit(collector)
    assert isinstance(replaced, cst.BaseExpression)
    if not collector.bases or not _element_wise(spot, replaced, collector.bases):
        return None
    for base in collector.bases:
        if found.rest and not same(base, found.base):
            needs.append(f"`{short(text(base))}` has as many dimensions as `{short(text(found.base))}`")
    if not _smooth(spot, replaced):
        needs.append("no gradient flows through it")
    return text(replaced)


class _Selections(cst.CSTTransformer):
    """Replaces `y[mask]` by `y`, for the mask of a given subscript."""

    def __init__(self, subscript: cst.Subscript) -> None:
        super().__init__()
        self.index = [element.slice for element in subscript.slice]
        self.bases: list[cst.BaseExpression] = []

    def leave_Subscript(self, original_node: cst.Subscript, updated_node: cst.Subscript) -> cst.BaseExpression:
        parts = [element.slice for element in original_node.slice]
        if len(parts) == len(self.index) and all(same(a, b) for a, b in zip(parts, self.index, strict=True)):
            self.bases.append(updated_node.value)
            return updated_node.value
        return updated_node


def _element_wise(spot: Spot, node: cst.BaseExpression, bases: list[cst.BaseExpression]) -> bool:
    """Tell whether an expression computes element by element, of the bases and of numbers."""
    if any(node is base for base in bases):
        return pure(node)
    if isinstance(node, cst.BinaryOperation):
        plain = not isinstance(node.operator, cst.MatrixMultiply)
        return plain and _element_wise(spot, node.left, bases) and _element_wise(spot, node.right, bases)
    if isinstance(node, cst.UnaryOperation):
        return _element_wise(spot, node.expression, bases)
    if isinstance(node, cst.Call) and last_name(node.func) in ELEMENTWISE - {"where", "full_like"}:
        owner = receiver(node)
        values = [owner] if owner is not None else []
        values += [a.value for a in node.args if not a.star]
        return len(values) > 0 and all(_element_wise(spot, v, bases) for v in values)
    what = known(spot, node)
    return python_number(node) or what.kind == "number" or (what.kind == "tensor" and what.ndim == 0)


def _smooth(spot: Spot, node: cst.BaseExpression) -> bool:
    """Tell whether the derivative is finite for all finite elements: sums, and products with numbers."""
    if isinstance(node, cst.BinaryOperation):
        if isinstance(node.operator, (cst.Add, cst.Subtract)):
            return _smooth(spot, node.left) and _smooth(spot, node.right)
        numbers = [n for n in (node.left, node.right) if python_number(n) or known(spot, n).kind == "number"]
        exact = isinstance(node.operator, cst.Multiply) or (
            isinstance(node.operator, cst.Divide) and numbers[-1:] == [node.right]
        )
        return exact and len(numbers) > 0 and all(_smooth(spot, n) for n in (node.left, node.right))
    if isinstance(node, cst.UnaryOperation):
        return _smooth(spot, node.expression)
    return not isinstance(node, cst.Call) or python_number(node)


# SF202: read through a mask.


def _mask_read(spot: Spot) -> Rewrite | None:
    call = spot.node
    if isinstance(call, cst.Call) and last_name(call.func) == "masked_select":
        return _masked_select(spot, call)
    place = spot.indexed()
    if place is None or not isinstance(place.node, cst.Subscript):
        return None
    found = selection_of(spot, place.node)
    if found is None:
        return None
    if isinstance(place.parent, cst.AugAssign):
        same_place = place.parent.target is place.node
        return _augmented(spot, place.parent, found, place.node) if same_place else None
    return _reduced(spot, place, found) or _full_size(place, found)


def _full_size(place: Spot, found: Selection) -> Rewrite | None:
    """A selection in general: a person has to say what is done with it."""
    if place.reduced_by() is not None:
        return None
    base, mask = short(text(found.base)), short(found.mask)
    return Rewrite(
        f"keep the full size: `torch.where({mask}, {base}, 0)`, or `torch.nonzero_static({mask}, size=count)` and "
        "`index_select` if the host knows a count",
        "display-only",
    )


def _masked_select(spot: Spot, call: cst.Call) -> Rewrite | None:
    """`masked_select(x, mask)` broadcasts both, as `where` does."""
    given = by_name(call, ("mask",) if receiver(call) is not None else ("input", "mask"))
    base = receiver(call) or (given["input"].value if given and "input" in given else None)
    if given is None or base is None or "mask" not in given or "out" in given:
        return None
    roles = roles_of(spot)
    role = "self" if "self" in roles else "input"
    needs = [*surely_tensor(roles.get(role), base), *_bool(roles.get("mask", Known()), given["mask"].value)]
    return _reduced(spot, spot, Selection(base, text(given["mask"].value), 0, tuple(needs)), roles.get(role))


def _augmented(spot: Spot, statement: cst.AugAssign, found: Selection, subscript: cst.Subscript) -> Rewrite | None:
    """`x[mask] op= value`."""
    operator = text_of(statement.operator).strip().removesuffix("=")
    needs = list(found.needs)
    value, what = statement.value, known(spot, statement.value)
    fits = what.ndim is not None and what.ndim <= (0 if found.before else found.rest)
    if python_number(value) or what.kind == "number" or (what.kind == "tensor" and fits):
        full: str | None = text(value) if isinstance(value, (cst.Integer, cst.Float)) else tight(value)
        if operator not in ("+", "-", "*", "/", "|", "&", "^") or (operator == "/" and what.kind == "tensor"):
            needs.append("no gradient flows through it")
    else:
        full = _on_all(spot, value, subscript, found, needs)
        full = f"({full})" if full is not None and not full.isidentifier() else full
        if full is not None and operator not in ("+", "-") and "no gradient flows through it" not in needs:
            needs.append("no gradient flows through it")
    if full is None or operator == "@" or not _repeatable(found.base):
        return None
    base = text(found.base)
    code = f"{tight(found.base)}.copy_(torch.where({found.mask}, {tight(found.base)} {operator} {full}, {base}))"
    message = "`torch.where` keeps the full size, and computes the value for all elements"
    return rewritten(message, needs, (statement, code), imports=True)


def text_of(node: cst.CSTNode) -> str:
    """Return the code of a node that is no expression."""
    return cst.Module([]).code_for_node(node)


def _reduced(spot: Spot, place: Spot, found: Selection, base: Known | None = None) -> Rewrite | None:
    """A reduction of all that is selected: what does not count becomes the neutral element."""
    name, call = _reduction(place, found.single and not found.before)
    node, tensor = place.node, text(found.base)
    if name is None or call is None or not isinstance(node, cst.BaseExpression):
        return None
    what, needs = base or roles_of(spot).get("base", Known()), list(found.needs)
    message = "`torch.where` keeps the full size, with what does not count as the neutral element"
    if name in _LIMITS:
        number, limit = _LIMITS[name]
        needs.append("something is selected: the largest or smallest of nothing is an error")
        if what.dtype == "int":
            if not _repeatable(found.base):
                return None
            number = f"torch.iinfo({tight(found.base)}.dtype).{limit}"
        elif what.dtype != "float":
            needs.append(f"`{short(tensor)}` has a floating dtype")
    elif name in _EXACT | _SUMS:
        number = (_EXACT | _SUMS)[name]
        if name in _SUMS and what.dtype not in ("int", "bool"):
            needs.append(_ROUNDS)
    elif name == "mean" and found.rest == 0 and call.args == () and isinstance(call.func, cst.Attribute):
        mask = expression(found.mask)
        code = f"torch.where({found.mask}, {tensor}, 0).sum() / {tight(mask)}.sum()"
        whole = f"({code})" if _binds(place) and not call.lpar else code
        needs += [_ROUNDS, f"`{short(tensor)}` is not of half precision, whose sum may overflow"]
        return rewritten(message, needs, (call, whole), imports=True)
    else:
        return None
    return rewritten(message, needs, (node, f"torch.where({found.mask}, {tensor}, {number})"), imports=True)


def _reduction(place: Spot, first: bool) -> tuple[str | None, cst.Call | None]:
    """Return the name and call of what reduces all elements of a place's node, or its `first` dimension."""
    name = place.reduced_by()
    call = place.parents[1] if len(place.parents) > 1 else None
    if name is not None and isinstance(call, cst.Call):
        over_first = [text(a.value) for a in call.args] == ["0"] and name not in ("max", "min", "mean", "count_nonzero")
        keyed = {a.keyword.value for a in call.args if a.keyword is not None} <= {"dim", "axis"}
        return (name, call) if not call.args or (first and over_first and keyed) else (None, None)
    call = place.argument_of()
    if call is None or receiver(call) is not None or len(call.args) != 1 or not isinstance(call.func, cst.Attribute):
        return None, None
    return last_name(call.func), call


def _binds(place: Spot) -> bool:
    """Tell whether something binds to a reduction that would not bind to a quotient."""
    around = place.parents[2] if len(place.parents) > 2 else None
    return isinstance(around, (cst.BinaryOperation, cst.UnaryOperation, cst.Attribute, cst.Subscript))


# SF201: positions.


def _nonzero(spot: Spot) -> Rewrite | None:
    call = spot.node
    if not isinstance(call, cst.Call):
        return None
    mask = subject(call)
    if mask is None or last_name(call.func) not in ("nonzero", "where", "argwhere"):
        return None
    flag = keyword(call, "as_tuple")
    as_tuple = flag is not None and text(flag) == "True"
    by_dimension = as_tuple or last_name(call.func) == "where"
    return _index_only(spot, mask, by_dimension) or _bounded(spot, mask, by_dimension) or _static(mask, by_dimension)


def _static(mask: cst.BaseExpression, by_dimension: bool) -> Rewrite:
    """Positions in general: only the host can know how many there are, or that the mask is enough."""
    code, column = short(text(mask)), "[:, 0]" if by_dimension else ""
    return Rewrite(
        f"`torch.nonzero_static({code}, size=count){column}` if the host knows a count, "
        f"or keep the mask: `torch.where({code}, a, b)`",
        "display-only",
    )


def _mask_known(spot: Spot) -> Known:
    roles = roles_of(spot)
    return next((roles[r] for r in ("self", "input", "condition") if r in roles), Known())


def _index_only(spot: Spot, mask: cst.BaseExpression, by_dimension: bool) -> Rewrite | None:
    """`x[torch.where(m)] = number`: the mask itself fills without a count."""
    node, parents = spot.node, list(spot.parents)
    what = _mask_known(spot)
    if not by_dimension:
        return None
    if len(parents) > 1 and isinstance(parents[0], cst.Subscript) and parents[0].value is node:
        if what.ndim != 1 or _constant(parents[0]) != 0:
            return None
        node, parents = parents[0], parents[1:]
    place = Spot(spot.site, node, tuple(parents)).indexed()
    statement = place.parents[1] if place is not None and len(place.parents) > 1 else None
    if place is None or not isinstance(place.node, cst.Subscript) or not isinstance(statement, cst.Assign):
        return None
    if not isinstance(place.parents[0], cst.AssignTarget) or len(place.node.slice) != 1:
        return None
    value = statement.value
    if not (python_number(value) or known(spot, value).kind == "number"):
        return None
    needs = surely_tensor(known(spot, place.node.value), place.node.value)
    code = text(mask)
    if what.dtype == "int":
        code = f"{tight(mask)} != 0"
    else:
        needs += _bool(what, mask)
    return rewritten("the mask itself fills with a number, without a count", needs, (node, code))


def _constant(node: cst.Subscript) -> int | None:
    part = node.slice[0].slice
    value = part.value if isinstance(part, cst.Index) and len(node.slice) == 1 else None
    return value.evaluated_value if isinstance(value, cst.Integer) else None


def _bounded(spot: Spot, mask: cst.BaseExpression, by_dimension: bool) -> Rewrite | None:
    """`m.nonzero()[0]`, `m.nonzero()[:k]`: only the first ones are wanted, so that the count is known."""
    around = spot.parents[0] if spot.parents else None
    if by_dimension:
        if not isinstance(around, cst.Subscript) or _constant(around) is None or len(spot.parents) < 2:
            return None
        column, around = f", {_constant(around)}", spot.parents[1]
        inner: cst.CSTNode = spot.parents[0]
    else:
        column, inner = "", spot.node
    if not isinstance(around, cst.Subscript) or around.value is not inner or len(around.slice) != 1:
        return None
    part, first = around.slice[0].slice, _constant(around)
    bound = part.upper if isinstance(part, cst.Slice) and part.lower is None and part.step is None else None
    if first is not None:
        size, index = str(first + 1), f"[{first}{column}]"
    elif bound is not None and known(spot, bound).kind == "number":
        size, index = text(bound), f"[:{column}]" if column else ""
    else:
        return None
    needs = [f"`{short(text(mask))}` has {size} nonzero element{'s' if size != '1' else ''} at least"]
    code = f"torch.nonzero_static({text(mask)}, size={size}){index}"
    return rewritten("`nonzero_static` needs no count", needs, (around, code), imports=True)


# SF204 to SF206.


def _unique(spot: Spot) -> Rewrite | None:
    """`v in torch.unique(x)`: to be among the distinct values is to be among the values."""
    call, target = spot.node, spot.parent
    if not isinstance(call, cst.Call) or last_name(call.func) not in ("unique", "unique_consecutive"):
        return None
    tensor = subject(call)
    if tensor is None:
        return None
    if isinstance(target, cst.ComparisonTarget) and isinstance(target.operator, (cst.In, cst.NotIn)):
        flags = {a.keyword.value for a in call.args if a.keyword is not None}
        if flags & {"return_inverse", "return_counts"} or len(positional(call)) > 1:
            return None
        return rewritten("what is among the values is among the distinct ones", [], (call, text(tensor)))
    return _counted(spot, call, tensor)


def _counted(spot: Spot, call: cst.Call, tensor: cst.BaseExpression) -> Rewrite | None:
    """`len(torch.unique(x))`, `.numel()`: neighbours that differ can be counted on the device."""
    counts = spot.reduced_by() in ("numel", "size")
    around = spot.argument_of()
    length = around is not None and last_name(around.func) == "len"
    if not (counts or length) or len(call.args) > 1:
        return None
    flat = f"{tight(tensor)}.flatten()"
    if last_name(call.func) == "unique":
        flat = f"{flat}.sort().values"
    return Rewrite(
        f"count on the device, and keep the count there: `{short(flat)}.diff().ne(0).sum() + 1` (1 for an empty one)",
        "display-only",
    )


def _repeat(spot: Spot) -> Rewrite | None:
    """`repeat_interleave(x, torch.tensor(counts))`: the host has the counts, and so their sum."""
    call = spot.node
    if not isinstance(call, cst.Call) or last_name(call.func) != "repeat_interleave":
        return None
    given = by_name(call, ("repeats", "dim") if receiver(call) is not None else ("input", "repeats", "dim"))
    if given is None or "output_size" in given:
        return None
    repeats = given.get("repeats", given.get("input") if receiver(call) is None else None)
    made = repeats.value if repeats is not None else None
    if not isinstance(made, cst.Call) or dotted(made.func) not in ("torch.tensor", "torch.as_tensor"):
        return None
    counts = positional(made)[:1]
    if not counts or not pure(counts[0].value):
        return None
    data = counts[0].value
    needs = [] if known(spot, data).kind == "list" else [f"`{short(text(data))}` is a list of numbers"]
    total = expression(f"sum({text(data)})")
    new = with_keyword(call, "output_size", total)
    return rewritten("the host knows the sum of the repeats", needs, (call, own(new)))


def _size(spot: Spot) -> Rewrite | None:
    """`torch.bincount(x, minlength=n)`: where n bounds the values, they are counted into n places."""
    call = spot.node
    if not isinstance(call, cst.Call) or last_name(call.func) != "bincount":
        return None
    given = by_name(call, ("weights", "minlength") if receiver(call) is not None else ("input", "weights", "minlength"))
    tensor = subject(call)
    if given is None or tensor is None or "minlength" not in given or "weights" in given or not pure(tensor):
        return None
    n = text(given["minlength"].value)
    size = f"torch.zeros({n}, dtype=torch.long, device={tight(tensor)}.device)"
    code = f"{size}.index_add_(0, {text(tensor)}, torch.ones_like({text(tensor)}, dtype=torch.long))"
    needs = [f"no value of `{short(text(tensor))}` reaches `{short(n)}`"]
    return rewritten("`index_add_` counts into a known size", needs, (call, code), imports=True)


REWRITERS: Mapping[str, Rewriter] = {
    "nonzero": _nonzero,
    "mask-read": _mask_read,
    "mask-write": _mask_write,
    "unique": _unique,
    "repeat": _repeat,
    "size": _size,
}
