"""One walk over a function's body that collects what later questions need: names, uses of names, attribute stores."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any

FUNCTIONS = frozenset({ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda})
ARRAY_MODULES = {"np", "numpy", "pd", "pandas"}


@dataclass(slots=True)
class Uses:
    """How a name is used in a function: evidence for what it is."""

    methods: set[str] = field(default_factory=set)
    attributes: set[str] = field(default_factory=set)
    subscripts: set[str] = field(default_factory=set)  # "several": x[:, 0]; "mask": x[x > 0]
    passed: list[tuple[ast.expr, int | str]] = field(default_factory=list)  # (callee, position or keyword)


@dataclass(slots=True)
class Scan:
    """`elements[x]` is the name that x iterates over: what is known of x is known of that name's elements."""

    uses: dict[str, Uses] = field(default_factory=dict)
    elements: dict[str, str] = field(default_factory=dict)
    stores: dict[str, list[ast.stmt | ast.expr]] = field(
        default_factory=dict
    )  # self.NAME = ..., register_buffer("NAME", ...)
    remade: dict[str, ast.expr] = field(default_factory=dict)  # x = f(x, ...): f
    indices: set[str] = field(default_factory=set)  # names that something is indexed by
    yields: bool = False
    arrays: bool = False  # it speaks of NumPy or pandas
    outer: set[str] = field(default_factory=set)  # global and nonlocal names

    def use(self, name: str) -> Uses:
        found = self.uses.get(name)
        if found is None:
            found = self.uses[name] = Uses()
        return found


def scan(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> Scan:
    """Scan a function's body; nested functions count for uses and stores, not for yields."""
    out = Scan()
    receiver = function.args.args[0].arg if function.args.args else ""
    body = [function.body] if isinstance(function, ast.Lambda) else function.body
    outer: list[ast.AST] = list(body)
    inner: list[ast.AST] = []
    for stack, nested in ((outer, False), (inner, True)):
        while stack:
            node = stack.pop()
            kind = type(node)
            visit = VISIT.get(kind)
            if visit is not None:
                visit(node, out, receiver, nested)
            below = inner if kind in FUNCTIONS else stack
            for name in CHILDREN[kind]:
                child = getattr(node, name)
                if type(child) is list:
                    below.extend(child)
                elif child is not None:
                    below.append(child)
    return out


def node_fields() -> dict[type, tuple[str, ...]]:
    """Return, for each node class, the fields that may hold nodes."""
    classes = [c for c in vars(ast).values() if isinstance(c, type) and issubclass(c, ast.AST)]
    return {c: tuple(f for f in c._fields if f not in PLAIN_FIELDS and c is not ast.Constant) for c in classes}


# Fields without nodes: names, contexts, operators, and strings.
PLAIN_FIELDS = {
    "id", "attr", "arg", "ctx", "op", "ops", "name", "names", "asname", "module", "level", "conversion", "kind",
    "type_comment", "simple", "is_async", "type_ignores", "rest", "kwd_attrs", "cls", "tag", "lineno", "col_offset",
    "type_params",
}  # fmt: skip


def visit_call(node: ast.Call, out: Scan, receiver: str, nested: bool) -> None:
    func = node.func
    if type(func) is ast.Attribute and type(func.value) is ast.Name:
        out.use(func.value.id).methods.add(func.attr)
        if func.value.id == receiver and func.attr in ("register_buffer", "register_parameter") and node.args:
            first = node.args[0]
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                out.stores.setdefault(first.value, []).append(node)
    for position, argument in enumerate(node.args):
        if type(argument) is ast.Name:
            out.use(argument.id).passed.append((func, position))
    for keyword in node.keywords:
        if type(keyword.value) is ast.Name and keyword.arg:
            out.use(keyword.value.id).passed.append((func, keyword.arg))


def visit_attribute(node: ast.Attribute, out: Scan, receiver: str, nested: bool) -> None:
    if type(node.value) is ast.Name:
        if type(node.ctx) is ast.Load:
            out.use(node.value.id).attributes.add(node.attr)
        elif node.value.id == receiver and type(node.ctx) is ast.Store:
            out.stores.setdefault(node.attr, []).append(node)


def visit_subscript(node: ast.Subscript, out: Scan, receiver: str, nested: bool) -> None:
    index = node.slice
    for part in index.elts if type(index) is ast.Tuple else (index,):
        if type(part) is ast.Name:
            out.indices.add(part.id)
    if type(node.value) is not ast.Name:
        return
    if type(index) is ast.Compare:
        out.use(node.value.id).subscripts.add("mask")
    elif type(index) is ast.Tuple and any(is_axis(part) for part in index.elts):
        out.use(node.value.id).subscripts.add("several")


def is_axis(part: ast.expr) -> bool:
    return type(part) is ast.Slice or (type(part) is ast.Constant and part.value in (None, Ellipsis))


def visit_for(node: ast.For | ast.comprehension, out: Scan, receiver: str, nested: bool) -> None:
    if type(node.target) is ast.Name and type(node.iter) is ast.Name:
        out.elements[node.target.id] = node.iter.id


def visit_name(node: ast.Name, out: Scan, receiver: str, nested: bool) -> None:
    if node.id in ARRAY_MODULES:
        out.arrays = True


def visit_assign(node: ast.Assign, out: Scan, receiver: str, nested: bool) -> None:
    value, target = node.value, node.targets[0]
    if type(value) is ast.Call and type(target) is ast.Name and value.args:
        first = value.args[0]
        if type(first) is ast.Name and first.id == target.id:
            out.remade[target.id] = value.func


def visit_outer(node: ast.Global | ast.Nonlocal, out: Scan, receiver: str, nested: bool) -> None:
    if not nested:
        out.outer.update(node.names)


def visit_yield(node: ast.AST, out: Scan, receiver: str, nested: bool) -> None:
    if not nested:
        out.yields = True


VISIT: dict[type, Any] = {
    ast.Call: visit_call,
    ast.Attribute: visit_attribute,
    ast.Assign: visit_assign,
    ast.Subscript: visit_subscript,
    ast.For: visit_for,
    ast.comprehension: visit_for,
    ast.Name: visit_name,
    ast.Global: visit_outer,
    ast.Nonlocal: visit_outer,
    ast.Yield: visit_yield,
    ast.YieldFrom: visit_yield,
}
# Lists such as Dict.keys hold None where a mapping is spread; `case True` holds the value itself.
CHILDREN: dict[type, tuple[str, ...]] = {**node_fields(), type(None): (), str: (), bool: ()}
