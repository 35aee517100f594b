"""One walk over a function's body that collects what later questions need: names, uses of names, attribute stores."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

FUNCTIONS = frozenset({ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda})
COMPREHENSIONS = frozenset({ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp})
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
    shared: set[str] | None = None  # see `shared_names`; made when first asked for

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


def shared_names(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> set[str]:
    """Return the names whose lists others may fill: passed on, stored, given another name, used in a nested function.

    What is left fills its list in sight: by append and the like, by an assignment to an item, by being bound anew.
    """
    own: set[int] = set()  # uses that pass nothing on
    nested: set[str] = set()
    names: list[ast.Name] = []
    for node in ast.walk(function):
        kind = type(node)
        if kind is ast.Name:
            names.append(node)  # type: ignore[arg-type]
        elif kind in FUNCTIONS and node is not function:
            nested.update(n.id for n in ast.walk(node) if type(n) is ast.Name)
        elif kind in COMPREHENSIONS:  # what its calls put in is not followed
            nested.update(root_name(n.func) for n in ast.walk(node) if type(n) is ast.Call)
        else:
            own.update(id(n) for n in kept_uses(node))
    return nested.union(n.id for n in names if type(n.ctx) is ast.Load and id(n) not in own)


def kept_uses(node: ast.AST) -> Iterator[ast.expr | None]:
    """Yield the operands that a node uses without passing them on."""
    if isinstance(node, ast.Call):
        func = node.func
        if type(func) is ast.Attribute and func.attr in LIST_METHODS:
            yield func.value
        if (type(func) is ast.Name and func.id in LOOKING) or root_name(func) == "torch":
            yield from node.args
    elif isinstance(node, ast.Subscript):
        if type(node.ctx) is ast.Load or type(node.slice) is not ast.Slice:
            yield node.value
    elif isinstance(node, (ast.If, ast.While, ast.IfExp, ast.Assert)):
        yield node.test
    elif isinstance(node, ast.BoolOp):
        yield from node.values
    elif isinstance(node, ast.UnaryOp):
        yield node.operand
    elif isinstance(node, ast.BinOp):
        yield from (node.left, node.right)
    elif isinstance(node, ast.Compare):
        yield from (node.left, *node.comparators)
    elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
        yield node.iter
    elif isinstance(node, (ast.Return, ast.Starred, ast.FormattedValue)):
        yield node.value


def root_name(node: ast.expr) -> str:
    """Return the name that a dotted path starts with; "" for anything else."""
    while type(node) is ast.Attribute:
        node = node.value
    return node.id if type(node) is ast.Name else ""


# Methods of lists that the interpreter follows, and builtins that only look at one.
LIST_METHODS = {
    "append", "extend", "insert", "appendleft", "add", "update", "index", "count", "copy", "sort", "reverse", "pop",
    "popleft", "clear",
}  # fmt: skip
LOOKING = {
    "len", "max", "min", "sum", "any", "all", "sorted", "list", "tuple", "set", "enumerate", "zip", "reversed", "range",
    "print", "str", "repr", "isinstance", "bool", "iter",
}  # fmt: skip


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
