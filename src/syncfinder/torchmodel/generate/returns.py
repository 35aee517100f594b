"""What a Python function returns, read off its source. Used by the generator only."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

# the call that hands over to a tensor subclass: it says nothing about the function's own result
DISPATCH = ("handle_torch_function", "overrides.handle_torch_function", "torch.overrides.handle_torch_function")
BUILTINS = {
    **{"isinstance": "bool", "issubclass": "bool", "hasattr": "bool", "callable": "bool", "bool": "bool"},
    **{"len": "int", "int": "int", "float": "float", "str": "str", "repr": "str"},
}
# decorators that hand the result on
TRANSPARENT = (
    "staticmethod",
    "classmethod",
    "deprecated",
    "no_grad",
    "_disable_dynamo",
    "_exception_logger",
    "_time_logger",
)
INTERNAL = {"_VF.": "torch.", "torch._VF.": "torch.", "torch._C._nn.": "torch.nn.functional."}


def returned(function: Callable[..., Any], known: Callable[[str], str | None]) -> str | None:
    """Return the kind that every `return` of a function gives, or None; `known` tells results by dotted name."""
    try:
        source = textwrap.dedent(inspect.getsource(inspect.unwrap(function)))
        node = ast.parse(source).body[0]
    except (OSError, TypeError, SyntaxError, IndexError):
        return None
    if not isinstance(node, ast.FunctionDef) or _wrapped(node) or _abstract(node):
        return None
    inner = list(_own_nodes(node.body))
    if any(isinstance(n, (ast.Yield, ast.YieldFrom)) for n in inner):
        return None
    values = [n.value for n in inner if isinstance(n, ast.Return) and n.value is not None]
    values = [v for v in values if not (isinstance(v, ast.Call) and ast.unparse(v.func) in DISPATCH)]
    first = node.args.args[0].arg if node.args.args else ""
    kinds = {_kind(v, first, known) for v in values} if values else {"none"}
    kind = kinds.pop() if len(kinds) == 1 else None
    if kind is not None and kind != "none" and not _ends(node.body[-1]):
        return None
    return kind


def _wrapped(node: ast.FunctionDef) -> bool:
    """Return whether a decorator may change the result."""
    names = [ast.unparse(d.func if isinstance(d, ast.Call) else d).rpartition(".")[2] for d in node.decorator_list]
    return any(n not in TRANSPARENT for n in names)


def _abstract(node: ast.FunctionDef) -> bool:
    body = [s for s in node.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    return not body or any(isinstance(s, (ast.Raise, ast.Pass)) for s in body)


def _own_nodes(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """Walk statements, but not into functions and classes that they define."""
    todo: list[ast.AST] = list(body)
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            todo.extend(ast.iter_child_nodes(node))


def _ends(statement: ast.stmt) -> bool:
    """Return whether control cannot fall off the end, where the result would be None."""
    if isinstance(statement, (ast.Return, ast.Raise)):
        return True
    if isinstance(statement, ast.If):
        return bool(statement.orelse) and _ends(statement.body[-1]) and _ends(statement.orelse[-1])
    if isinstance(statement, ast.With):
        return _ends(statement.body[-1])
    if isinstance(statement, ast.Try):
        bodies = [statement.body, *(h.body for h in statement.handlers)]
        return all(_ends(b[-1]) for b in bodies)
    return False


def _kind(value: ast.expr, first: str, known: Callable[[str], str | None]) -> str | None:
    if isinstance(value, ast.Constant):
        return {bool: "bool", int: "int", float: "float", str: "str", type(None): "none"}.get(type(value.value))
    if isinstance(value, ast.JoinedStr):
        return "str"
    if isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not):
        return "bool"
    if isinstance(value, ast.Compare):
        membership = (ast.Is, ast.IsNot, ast.In, ast.NotIn)
        return "bool" if all(isinstance(o, membership) for o in value.ops) else None
    if isinstance(value, ast.BoolOp):
        kinds = {_kind(v, first, known) for v in value.values}
        return "bool" if kinds == {"bool"} else None
    if isinstance(value, ast.Name):
        return "self" if value.id == first == "self" else None
    if isinstance(value, ast.Call):
        return _called(ast.unparse(value.func), known)
    return None


def _called(name: str, known: Callable[[str], str | None]) -> str | None:
    if name in BUILTINS:
        return BUILTINS[name]
    for prefix, public in INTERNAL.items():
        if name.startswith(prefix):
            name = public + name[len(prefix) :]
    kind = known(name) if name.startswith("torch.") else None
    # an in-place function gives its own first argument, which need not be that of the function that calls it
    return "tensor" if kind == "self" else kind
