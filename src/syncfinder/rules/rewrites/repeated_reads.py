"""Rewrites of several reads into one: `tolist()` in front of a loop, a comprehension, or a statement.

One wait stays, in the place of many.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import libcst as cst

from syncfinder.rules.rewrites.late_reads import name_of
from syncfinder.rules.rewrites.operands import is_path, known, same, short, text, tight
from syncfinder.rules.rewrites.rewrite import TORCH, Change, Rewrite, before, replace, source
from syncfinder.rules.wording import Spot, last_name
from syncfinder.sites.site import Known

_CONVERSIONS = ("int", "float", "bool")
_COMPREHENSIONS = (cst.ListComp, cst.SetComp, cst.DictComp, cst.GeneratorExp)


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
    return _in_loop(spot, read, tensor) or _side_by_side(spot, tensor) or _together(spot, read)


# Loops and comprehensions over a tensor's elements.


def _in_loop(spot: Spot, read: cst.Call, tensor: cst.BaseExpression) -> Rewrite | None:
    loop = next((p for p in spot.parents if isinstance(p, (*_COMPREHENSIONS, cst.For))), None)
    if loop is None:
        return None
    if isinstance(tensor, cst.Name):
        return _over_elements(spot, loop, tensor)
    return _by_position(spot, loop, tensor) if isinstance(loop, cst.For) else None


def _over_elements(spot: Spot, loop: cst.CSTNode, variable: cst.Name) -> Rewrite | None:
    """`for t in x: … t.item() …`."""
    if isinstance(loop, cst.For):
        target, source_node = loop.target, loop.iter
    else:
        assert isinstance(loop, _COMPREHENSIONS)
        if loop.for_in.inner_for_in is not None or loop.for_in.asynchronous is not None:
            return None
        target, source_node = loop.for_in.target, loop.for_in.iter
    elements = _elements(target, source_node, variable.value)
    if elements is None:
        return None
    names = [variable.value] if elements.depth == 0 else [n.value for n in _names(target)]
    reads: list[cst.Call] = []
    for name in names:
        found = _reads_in_loop(loop, name)
        if found is None:
            return None
        reads += found
    listed = _listed(known(spot, elements.source), elements)
    if listed is None:
        return None
    code, condition = listed
    changes = [replace(elements.source, code), *_dropped(reads)]
    if isinstance(loop, cst.ListComp) and _is_plain(loop, elements, variable.value):
        changes = [replace(loop, code)]
    said = f"`{short(code)}` in front reads all elements at once: one wait, not one for each"
    if isinstance(loop, cst.GeneratorExp) and not _consumed(spot, loop):
        condition = _and(condition, "it must be consumed before the tensor changes")
    if isinstance(loop, cst.For):
        used = ", ".join(f"`{name}`" for name in names)
        condition = _and(condition, f"nothing after the loop may use {used} as a tensor")
    imports = TORCH if "torch." in code else ()
    if condition is None:
        return Rewrite(said, "safe", tuple(changes), imports)
    return Rewrite(f"{said}; unsafe: {condition}", "unsafe", tuple(changes), imports)


_CONSUMERS = ("all", "any", "dict", "frozenset", "join", "list", "max", "min", "set", "sorted", "sum", "tuple")


def _consumed(spot: Spot, loop: cst.GeneratorExp) -> bool:
    """Tell whether a generator's elements are all taken, or dropped, where it stands."""
    around = spot.parents[spot.parents.index(loop) + 1 :]
    call = around[1] if len(around) > 1 and isinstance(around[0], cst.Arg) else None
    return isinstance(call, cst.Call) and last_name(call.func) in _CONSUMERS


def _and(first: str | None, second: str) -> str:
    return f"{first}, and {second}" if first is not None else second


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


def _listed(values: Known, elements: Elements) -> tuple[str, str | None] | None:
    """Return the code of a tensor's elements as a list, and what must hold; None where it is not known to be one."""
    code = tight(elements.source)
    if values.kind == "tensor" and values.place != "cpu":
        ndim = elements.depth + 1
        if values.ndim == ndim:
            return f"{code}.tolist()", None
        return (f"{code}.tolist()", f"`{text(elements.source)}` must be {ndim}-dim") if values.ndim is None else None
    if values.kind == "list" and elements.depth == 0 and is_path(elements.source):
        needs = f"`{text(elements.source)}` must not be empty, its tensors 0-dim and of one dtype"
        return f"torch.stack(list({text(elements.source)})).tolist()", needs
    return None


def _reads_in_loop(loop: cst.CSTNode, name: str) -> list[cst.Call] | None:
    """Return the reads of a loop variable; None where it is used otherwise.

    Where a statement of the body binds the name again, what follows speaks of another value.
    """
    if not isinstance(loop, cst.For):
        assert isinstance(loop, _COMPREHENSIONS)
        parts: list[cst.CSTNode] = [*loop.for_in.ifs]
        parts += [loop.key, loop.value] if isinstance(loop, cst.DictComp) else [loop.elt]
        return _uses(parts, name)
    if loop.orelse is not None or not isinstance(loop.body, cst.IndentedBlock):
        return None
    parts = []
    for line in loop.body.body:
        parts.append(line)
        if isinstance(line, cst.SimpleStatementLine) and any(_binds(s, name) for s in line.body):
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
        if tensor is not None and isinstance(read.func, cst.Attribute):
            yield replace(read, source(tensor))


def _is_plain(loop: cst.ListComp, elements: Elements, name: str) -> bool:
    """Tell whether a comprehension does nothing but read: `[t.item() for t in x]`."""
    tensor = tensor_of(loop.elt)
    item = isinstance(loop.elt, cst.Call) and isinstance(loop.elt.func, cst.Attribute)
    read = item and isinstance(tensor, cst.Name) and tensor.value == name
    return read and loop.for_in.iter is elements.source and not loop.for_in.ifs


def _by_position(spot: Spot, loop: cst.For, tensor: cst.BaseExpression) -> Rewrite | None:
    """`for i in range(n): … x[i].item() …`: one list in front of the loop."""
    index = _index(tensor)
    base = tensor.value if isinstance(tensor, cst.Subscript) else None
    counted = (
        isinstance(loop.iter, cst.Call) and last_name(loop.iter.func) == "range" and isinstance(loop.target, cst.Name)
    )
    if base is None or index is None or not counted or not is_path(base):
        return None
    if not isinstance(index, cst.Name) or not isinstance(loop.target, cst.Name) or index.value != loop.target.value:
        return None
    what = known(spot, base)
    if what.kind not in ("tensor", None) or what.place == "cpu" or what.ndim not in (1, None):
        return None
    found = _Indexed(base)
    loop.body.visit(found)
    if found.others:
        return None
    return _from_list(spot, base, found.reads, loop, what.ndim, f"nothing in the loop may write to `{text(base)}`")


def _index(tensor: cst.BaseExpression) -> cst.BaseExpression | None:
    """Return `i` of `x[i]`."""
    if not isinstance(tensor, cst.Subscript) or len(tensor.slice) != 1:
        return None
    part = tensor.slice[0].slice
    return part.value if isinstance(part, cst.Index) and part.star is None else None


class _Indexed(cst.CSTVisitor):
    """Collects the reads of single elements of a tensor, and whether it is used otherwise."""

    def __init__(self, base: cst.BaseExpression) -> None:
        super().__init__()
        self.base = base
        self.reads: list[cst.Call] = []
        self.others = False

    def visit_Call(self, node: cst.Call) -> bool:
        tensor = tensor_of(node)
        if isinstance(tensor, cst.Subscript) and same(tensor.value, self.base):
            index = _index(tensor)
            if index is not None and isinstance(index, (cst.Integer, cst.Name)):
                self.reads.append(node)
                return False
        return True

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
    spot: Spot,
    base: cst.BaseExpression,
    reads: Sequence[cst.Call],
    where: cst.CSTNode,
    ndim: int | None,
    needs: str | None,
) -> Rewrite:
    name = f"{last_name(base)}_list"
    changes = [before(where, [f"{name} = {text(base)}.tolist()"])]
    for read in reads:
        tensor = tensor_of(read)
        assert isinstance(tensor, cst.Subscript)
        if isinstance(read.func, cst.Attribute):
            changes.append(replace(read, source(tensor.with_changes(value=cst.Name(name)))))
        else:
            changes.append(replace(tensor.value, name))
    loop = isinstance(where, cst.For)
    place, waits = ("in front of the loop", "one for each") if loop else ("in front", str(len(reads)))
    said = f"`{name} = {text(base)}.tolist()` {place} reads all elements at once: one wait, not {waits}"
    if ndim is None:
        needs = f"`{text(base)}` must be a 1-dim tensor" + (f", and {needs}" if needs else "")
    if needs is None:
        return Rewrite(said, "safe", tuple(changes), binds=(name,))
    return Rewrite(f"{said}; unsafe: {needs}", "unsafe", tuple(changes), binds=(name,))


# Several reads in one statement.

_BRANCHES = (cst.IfExp, cst.BooleanOperation, cst.Lambda, *_COMPREHENSIONS)


def _side_by_side(spot: Spot, tensor: cst.BaseExpression) -> Rewrite | None:
    """`x[0].item(), x[1].item()`."""
    base = tensor.value if isinstance(tensor, cst.Subscript) else None
    statement = next((p for p in spot.parents if isinstance(p, cst.BaseSmallStatement)), None)
    if base is None or statement is None or not is_path(base) or not _plain_place(spot, statement):
        return None
    what = known(spot, base)
    if what.kind not in ("tensor", None) or what.place == "cpu" or what.ndim not in (1, None):
        return None
    found = _Indexed(base)
    statement.visit(found)
    if found.others or len(found.reads) < 2 or _conditional(statement):
        return None
    return _from_list(spot, base, found.reads, statement, what.ndim, None)


def _together(spot: Spot, read: cst.Call) -> Rewrite | None:
    """`int(h.item()), int(w.item())`: shown, because a stack gives its tensors one dtype."""
    statement = next((p for p in spot.parents if isinstance(p, cst.BaseSmallStatement)), None)
    if statement is None or spot.site.ndim or _conditional(statement):
        return None
    finder = _Reads()
    statement.visit(finder)
    tensors: dict[str, cst.BaseExpression] = {}
    for found in finder.reads:
        tensor = tensor_of(found)
        if tensor is not None and tensor_of(tensor) is None:
            tensors.setdefault(text(tensor), tensor)
    if read not in finder.reads or len(tensors) < 2:
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
        if isinstance(original_node.func, cst.Attribute):
            return value
        return updated_node.with_changes(args=[updated_node.args[0].with_changes(value=value)])


class _Reads(cst.CSTVisitor):
    """Collects the reads in a statement."""

    def __init__(self) -> None:
        super().__init__()
        self.reads: list[cst.Call] = []

    def visit_Call(self, node: cst.Call) -> None:
        if tensor_of(node) is not None:
            self.reads.append(node)


def _plain_place(spot: Spot, statement: cst.CSTNode) -> bool:
    within = spot.parents[: spot.parents.index(statement)]
    return not any(isinstance(p, _BRANCHES) for p in within)


def _conditional(statement: cst.CSTNode) -> bool:
    """Tell whether a part of a statement may run less or more often than once."""

    class Finder(cst.CSTVisitor):
        found = False

        def on_visit(self, node: cst.CSTNode) -> bool:
            self.found = self.found or isinstance(node, _BRANCHES)
            return not self.found

    finder = Finder()
    statement.visit(finder)
    return finder.found
