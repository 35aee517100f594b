"""Rewrites of several reads into one: `tolist()` in front of a loop, a comprehension, or a statement.

One wait stays, in the place of many.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import libcst as cst

from syncfinder.rules.rewrites.late_reads import name_of
from syncfinder.rules.rewrites.operands import COMPREHENSIONS, inside, is_path, known, same, short, text, tight
from syncfinder.rules.rewrites.rewrite import TORCH, Change, Rewrite, before, offered, replace, source
from syncfinder.rules.wording import Spot, dotted, last_name
from syncfinder.sites.site import Known

_CONVERSIONS = ("int", "float", "bool")
_BRANCHES = (cst.IfExp, cst.BooleanOperation, cst.Lambda, *COMPREHENSIONS)


@dataclass(frozen=True, slots=True)
class Elements:
    """What a loop variable stands for: the elements of `source`, or (`depth` is 1) those of its rows."""

    source: cst.BaseExpression
    depth: int


def tensor_of(read: cst.CSTNode) -> cst.BaseExpression | None:
    """Return `t` of `t.item()`, `int(t)`, `float(t)` and `bool(t)`."""
    if not isinstance(read, cst.Call):
        return None
    if isinstance(read.func, cst.Attribute) and read.func.attr.value == "item" and not read.args:
        return read.func.value
    plain = isinstance(read.func, cst.Name) and read.func.value in _CONVERSIONS and len(read.args) == 1
    return read.args[0].value if plain and read.args[0].keyword is None and not read.args[0].star else None


def repeated(spot: Spot, read: cst.Call) -> Rewrite | None:
    """Return the rewrite of a read that stands among others of the same tensor."""
    tensor = tensor_of(read)
    if tensor is None:
        return None
    return _in_loop(spot, tensor) or _side_by_side(spot, tensor) or _together(spot, read)


# Loops and comprehensions over a tensor's elements.


@dataclass(frozen=True, slots=True)
class Loop:
    """A `for` or a comprehension; `parts` run once for each element."""

    node: cst.For | cst.ListComp | cst.SetComp | cst.DictComp | cst.GeneratorExp
    target: cst.BaseExpression
    iter: cst.BaseExpression
    parts: Sequence[cst.CSTNode]

    @property
    def calls_others(self) -> bool:
        """Whether more is called than what reads and converts numbers: it might write to a tensor."""
        return any(_called(part) - _HARMLESS for part in self.parts)


# Calls that write to no tensor.
_HARMLESS = {*_CONVERSIONS, "item", "abs", "len", "max", "min", "round", "str", "sum"}


def _called(node: cst.CSTNode) -> set[str]:
    return {last_name(call.func) for call in inside(node, cst.Call)}


def _loop(spot: Spot) -> Loop | None:
    """Return the innermost loop around a site, if it is a plain one."""
    node = next((p for p in spot.parents if isinstance(p, (*COMPREHENSIONS, cst.For))), None)
    if isinstance(node, cst.For):
        if node.orelse is not None or node.asynchronous is not None or not isinstance(node.body, cst.IndentedBlock):
            return None
        return Loop(node, node.target, node.iter, node.body.body)
    if not isinstance(node, COMPREHENSIONS):
        return None
    if node.for_in.inner_for_in is not None or node.for_in.asynchronous is not None:
        return None
    made = [node.key, node.value] if isinstance(node, cst.DictComp) else [node.elt]
    return Loop(node, node.for_in.target, node.for_in.iter, [*node.for_in.ifs, *made])


def _in_loop(spot: Spot, tensor: cst.BaseExpression) -> Rewrite | None:
    loop = _loop(spot)
    if loop is None:
        return None
    found = _over_elements(spot, loop, tensor) if isinstance(tensor, cst.Name) else _by_position(spot, loop, tensor)
    return found or _stacked(spot, loop.node, tensor)


def _stacked(spot: Spot, loop: cst.CSTNode, tensor: cst.BaseExpression) -> Rewrite | None:
    """`[f(x).item() for x in xs]`."""
    if not isinstance(loop, cst.ListComp) or loop.elt is not spot.node or spot.site.ndim or not _is_item(loop.elt):
        return None
    code = f"torch.stack({source(loop.with_changes(elt=tensor))}).tolist()"
    said = f"`{short(code)}` reads all at once: one wait for all"
    zero = "0-dim and " if spot.site.ndim is None else ""
    return offered(said, [f"there must be at least one, and all {zero}of one dtype"], [replace(loop, code)], TORCH)


def _is_item(read: cst.BaseExpression) -> bool:
    return isinstance(read, cst.Call) and isinstance(read.func, cst.Attribute)


def _over_elements(spot: Spot, loop: Loop, variable: cst.Name) -> Rewrite | None:
    """`for t in x: … t.item() …`."""
    elements = _elements(loop.target, loop.iter, variable.value)
    if elements is None:
        return None
    names = [variable.value] if elements.depth == 0 else [n.value for n in _names(loop.target)]
    reads: list[cst.Call] = []
    for name in names:
        found = _reads_in_loop(loop, name)
        if found is None:
            return None
        reads += found
    what = known(spot, elements.source)
    listed = _listed(what, elements)
    if listed is None:
        return None
    code, needs = listed
    changes = [replace(elements.source, code), *_dropped(reads)]
    node, written = loop.node, f"nothing in the loop may write to `{short(text(elements.source))}`"
    if isinstance(node, cst.ListComp) and _is_plain(node, elements, variable.value):
        changes = [replace(node, code)]
    if isinstance(node, cst.For):
        used = ", ".join(f"`{name}`" for name in names)
        needs += [written, f"nothing after it may use {used} as a tensor"]
    elif loop.calls_others or (what.kind == "tensor" and what.sure == "possible"):
        needs.append(written)
    if isinstance(node, cst.GeneratorExp) and not _consumed(spot, node):
        needs.append("it must be consumed before the tensor changes")
    said = f"`{short(code)}` in front reads all elements at once: one wait for all"
    return offered(said, needs, changes, TORCH if "torch." in code else ())


_CONSUMERS = ("all", "any", "dict", "frozenset", "join", "list", "max", "min", "set", "sorted", "sum", "tuple")


def _consumed(spot: Spot, loop: cst.GeneratorExp) -> bool:
    """Tell whether a generator's elements are all taken, or dropped, where it stands."""
    around = spot.parents[spot.parents.index(loop) + 1 :]
    call = around[1] if len(around) > 1 and isinstance(around[0], cst.Arg) else None
    return isinstance(call, cst.Call) and last_name(call.func) in _CONSUMERS


def _elements(target: cst.BaseExpression, iterated: cst.BaseExpression, name: str) -> Elements | None:
    """Return what a loop variable runs over, through `enumerate` and `zip`, and through rows: `for a, b in pairs`."""
    if isinstance(target, cst.Name):
        return Elements(iterated, 0) if target.value == name else None
    if not isinstance(target, cst.Tuple):
        return None
    call = iterated if isinstance(iterated, cst.Call) and isinstance(iterated.func, cst.Name) else None
    values = [arg.value for arg in call.args if arg.keyword is None and not arg.star] if call is not None else []
    parts = [element.value for element in target.elements]
    word = last_name(call.func) if call is not None else ""
    if word == "enumerate" and len(parts) == 2 and values:
        return _elements(parts[1], values[0], name)
    if word == "zip" and len(parts) == len(values):
        for part, value in zip(parts, values, strict=True):
            found = _elements(part, value, name)
            if found is not None:
                return found
        return None
    rows = all(isinstance(part, cst.Name) for part in parts) and is_path(iterated)
    return Elements(iterated, 1) if rows and name in [n.value for n in _names(target)] else None


def _names(target: cst.BaseExpression) -> list[cst.Name]:
    if isinstance(target, cst.Tuple):
        return [e.value for e in target.elements if isinstance(e.value, cst.Name)]
    return [target] if isinstance(target, cst.Name) else []


def _listed(values: Known, elements: Elements) -> tuple[str, list[str]] | None:
    """Return the code of a tensor's elements as a list, and what must hold; None where it is not known to be one."""
    code = tight(elements.source)
    if values.kind == "tensor" and values.place != "cpu":
        ndim = elements.depth + 1
        if values.ndim == ndim:
            return f"{code}.tolist()", []
        return (f"{code}.tolist()", [f"`{short(code)}` must be {ndim}-dim"]) if values.ndim is None else None
    if values.kind == "list" and elements.depth == 0 and is_path(elements.source):
        return f"torch.stack(list({code})).tolist()", [
            f"`{code}` must not be empty, its tensors 0-dim and of one dtype"
        ]
    return None


def _reads_in_loop(loop: Loop, name: str) -> list[cst.Call] | None:
    """Return the reads of a loop variable; None where it is used otherwise.

    Where a statement of the body binds the name again, what follows speaks of another value.
    """
    parts = []
    for part in loop.parts:
        parts.append(part)
        if isinstance(part, cst.SimpleStatementLine) and any(_binds(s, name) for s in part.body):
            break
    return _uses(parts, name)


def _binds(statement: cst.BaseSmallStatement, name: str) -> bool:
    targets = [t.target for t in statement.targets] if isinstance(statement, cst.Assign) else []
    return any(n.value == name for target in targets for n in _names(target))


class _Uses(cst.CSTVisitor):
    """Collects the reads of a name, and whether it is used otherwise."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name
        self.reads: list[cst.Call] = []
        self.others = False

    def visit_Call(self, node: cst.Call) -> bool:
        tensor = tensor_of(node)
        if isinstance(tensor, cst.Name) and tensor.value == self.name:
            self.reads.append(node)
            return False
        return True

    def visit_Attribute(self, node: cst.Attribute) -> bool:
        node.value.visit(self)
        return False

    def visit_AssignTarget(self, node: cst.AssignTarget) -> bool:
        return self.name not in [n.value for n in _names(node.target)]

    def visit_Name(self, node: cst.Name) -> None:
        if node.value == self.name:
            self.others = True

    def visit_Arg(self, node: cst.Arg) -> bool:
        node.value.visit(self)
        return False


def _uses(parts: Sequence[cst.CSTNode], name: str) -> list[cst.Call] | None:
    visitor = _Uses(name)
    for part in parts:
        part.visit(visitor)
    return None if visitor.others else visitor.reads


def _dropped(reads: Sequence[cst.Call]) -> Iterator[Change]:
    """Drop `.item()`; `int(t)` of a number stays."""
    for read in reads:
        tensor = tensor_of(read)
        if tensor is not None and _is_item(read):
            yield replace(read, source(tensor))


def _is_plain(loop: cst.ListComp, elements: Elements, name: str) -> bool:
    """Tell whether a comprehension does nothing but read: `[t.item() for t in x]`."""
    tensor = tensor_of(loop.elt)
    read = _is_item(loop.elt) and isinstance(tensor, cst.Name) and tensor.value == name
    return read and loop.for_in.iter is elements.source and not loop.for_in.ifs


def _by_position(spot: Spot, loop: Loop, tensor: cst.BaseExpression) -> Rewrite | None:
    """`for i in range(n): … x[i].item() …`: one list in front of the loop."""
    index, target = _index(tensor), loop.target
    base = tensor.value if isinstance(tensor, cst.Subscript) else None
    if base is None or not is_path(base) or not isinstance(index, cst.Name) or not isinstance(target, cst.Name):
        return None
    counted = isinstance(loop.iter, cst.Call) and last_name(loop.iter.func) == "range"
    where = loop.node if isinstance(loop.node, cst.For) else _statement(spot, loop.node)
    if not counted or index.value != target.value or where is None:
        return None
    what = known(spot, base)
    if what.kind not in ("tensor", None) or what.place == "cpu" or what.ndim not in (1, None):
        return None
    found = _Indexed(spot, base, target.value)
    for part in loop.parts:
        part.visit(found)
    if found.others:
        return None
    needs = [f"nothing in the loop may write to `{text(base)}`"]
    return _from_list(base, found.reads, where, what, needs if where is loop.node or loop.calls_others else [])


def _statement(spot: Spot, node: cst.CSTNode) -> cst.BaseSmallStatement | None:
    """Return the simple statement around one of the spot's nodes, if that runs whenever the statement does."""
    around = (spot.node, *spot.parents)
    for parent in around[around.index(node) + 1 :]:
        if isinstance(parent, _BRANCHES):
            return None
        if isinstance(parent, cst.BaseSmallStatement):
            return parent
    return None


def _index(tensor: cst.BaseExpression) -> cst.BaseExpression | None:
    """Return `i` of `x[i]`."""
    if not isinstance(tensor, cst.Subscript) or len(tensor.slice) != 1:
        return None
    part = tensor.slice[0].slice
    return part.value if isinstance(part, cst.Index) and part.star is None else None


class _Indexed(cst.CSTVisitor):
    """Collects the reads of single elements of a tensor, and whether it is used otherwise."""

    def __init__(self, spot: Spot, base: cst.BaseExpression, counter: str | None = None) -> None:
        super().__init__()
        self.spot, self.base, self.counter = spot, base, counter
        self.reads: list[cst.Call] = []
        self.others = False

    def visit_Call(self, node: cst.Call) -> bool:
        tensor = tensor_of(node)
        index = _index(tensor) if isinstance(tensor, cst.Subscript) and same(tensor.value, self.base) else None
        if index is None or not self._is_number(index):
            return True
        self.reads.append(node)
        return False

    def visit_Arg(self, node: cst.Arg) -> bool:
        node.value.visit(self)
        return False

    def _is_number(self, index: cst.BaseExpression) -> bool:
        return dotted(index) == self.counter or known(self.spot, index).kind == "number"

    def visit_Name(self, node: cst.Name) -> None:
        self._seen(node)

    def visit_Attribute(self, node: cst.Attribute) -> bool:
        self._seen(node)
        node.value.visit(self)
        return False

    def _seen(self, node: cst.CSTNode) -> None:
        if same(node, self.base):
            self.others = True


def _from_list(
    base: cst.BaseExpression, reads: Sequence[cst.Call], where: cst.CSTNode, what: Known, needs: list[str]
) -> Rewrite:
    name = f"{last_name(base)}_list"
    changes = [before(where, [f"{name} = {text(base)}.tolist()"])]
    for read in reads:
        tensor = tensor_of(read)
        assert isinstance(tensor, cst.Subscript)
        if _is_item(read):
            changes.append(replace(read, source(tensor.with_changes(value=cst.Name(name)))))
        else:
            changes.append(replace(tensor.value, name))
    place = "in front of the loop" if isinstance(where, cst.For) else "in front"
    said = f"`{name} = {text(base)}.tolist()` {place} reads all elements at once: one wait for all"
    if what.ndim is None or what.sure == "possible":
        needs = [f"`{text(base)}` must be a 1-dim tensor", *needs]
    return offered(said, needs, changes, binds=(name,))


# Several reads in one statement.


def _side_by_side(spot: Spot, tensor: cst.BaseExpression) -> Rewrite | None:
    """`x[0].item(), x[1].item()`."""
    base = tensor.value if isinstance(tensor, cst.Subscript) else None
    statement = _statement(spot, spot.node)
    if base is None or statement is None or not is_path(base):
        return None
    what = known(spot, base)
    if what.kind not in ("tensor", None) or what.place == "cpu" or what.ndim not in (1, None):
        return None
    found = _Indexed(spot, base)
    statement.visit(found)
    if found.others or len(found.reads) < 2 or _conditional(statement):
        return None
    needs = [f"nothing in the statement may write to `{text(base)}`"] if _calls_first(statement, found.reads) else []
    return _from_list(base, found.reads, statement, what, needs)


def _calls_first(statement: cst.CSTNode, reads: Sequence[cst.Call]) -> bool:
    """Tell whether something is called before the last read that might write to a tensor."""
    return any(
        last_name(call.func) not in _HARMLESS and not all(read in inside(call, cst.Call) for read in reads)
        for call in inside(statement, cst.Call)
    )


def _together(spot: Spot, read: cst.Call) -> Rewrite | None:
    """`int(h.item()), int(w.item())`: shown, because a stack gives its tensors one dtype."""
    statement = next((p for p in spot.parents if isinstance(p, cst.BaseSmallStatement)), None)
    if statement is None or spot.site.ndim or _conditional(statement):
        return None
    reads = [call for call in inside(statement, cst.Call) if tensor_of(call) is not None]
    tensors: dict[str, cst.BaseExpression] = {}
    for found in reads:
        tensor = tensor_of(found)
        if tensor is not None and tensor_of(tensor) is None:
            tensors.setdefault(text(tensor), tensor)
    if read not in reads or len(tensors) < 2:
        return None
    names: dict[str, str] = {}
    for code, tensor in tensors.items():
        name = f"{name_of(tensor) or 'tensor'}_value"
        names[code] = f"{name}_{len(names)}" if name in names.values() else name
    lines = [
        f"{', '.join(names.values())} = torch.stack([{', '.join(tensors)}]).tolist()",
        source(cast(cst.CSTNode, statement.visit(_Named(names)))),
    ]
    said = "read them together, if they are 0-dim and of one dtype: one wait for all"
    return Rewrite(f"{said}\n" + "\n".join(lines), "display-only")


class _Named(cst.CSTTransformer):
    """Puts names in the place of read tensors: for `t.item()` as a whole, for the `t` of `int(t)`."""

    def __init__(self, names: Mapping[str, str]) -> None:
        super().__init__()
        self.names = names

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        tensor = tensor_of(original_node)
        if tensor is None or text(tensor) not in self.names:
            return updated_node
        value = cst.Name(self.names[text(tensor)])
        if _is_item(original_node):
            return value
        return updated_node.with_changes(args=[updated_node.args[0].with_changes(value=value)])


def _conditional(statement: cst.CSTNode) -> bool:
    """Tell whether a part of a statement may run less or more often than once."""
    return bool(inside(statement, *_BRANCHES))
