"""What torch's type stubs say where no operator schema does. Used by the generator only."""

from __future__ import annotations

import ast
import functools
import pathlib
from collections.abc import Iterator

from syncfinder.torchmodel.signatures import LONGEST_DEFAULT, RETURNS, Overload, _tuple_of_tensors, python_letter

ATTRIBUTE_KINDS = {
    "Tensor": "tensor",
    "_bool": "bool",
    "_int": "int",
    "Size": "size",
    "_device": "device",
    "_dtype": "dtype",
    "_layout": "layout",
    "str": "str",
    "float": "float",
}


@functools.cache
def _functions() -> dict[tuple[str, str], list[ast.FunctionDef]]:
    found: dict[tuple[str, str], list[ast.FunctionDef]] = {}
    for owner, body in (("Tensor", _class("TensorBase").body), ("torch", _module("_VariableFunctions.pyi").body)):
        for node in body:
            if isinstance(node, ast.FunctionDef):
                found.setdefault((owner, node.name), []).append(node)
    return found


def _module(name: str) -> ast.Module:
    import torch

    return ast.parse((pathlib.Path(torch.__file__).parent / "_C" / name).read_text(encoding="utf-8"))


def _class(name: str) -> ast.ClassDef:
    return next(n for n in _module("__init__.pyi").body if isinstance(n, ast.ClassDef) and n.name == name)


def overloads(owner: str, name: str) -> list[Overload]:
    """Return the overloads of a function ("torch") or method ("Tensor") in the stubs."""
    return [_overload(node, owner == "Tensor") for node in _functions().get((owner, name), [])]


def _overload(node: ast.FunctionDef, method: bool) -> Overload:
    params = list(_params(node.args, method))
    returned = ast.unparse(node.returns) if node.returns is not None else ""
    kinds = {"T": "tensor", "T*": "list", "none": "none", "i*": "size", **RETURNS}
    returns = _tuple_of_tensors(returned) or kinds.get(python_letter(returned), "unknown")
    return Overload(node.name, params, "self" if node.name.endswith("_") and method else returns)


def _params(args: ast.arguments, method: bool) -> Iterator[str]:
    positional = args.posonlyargs + args.args
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(args.defaults)) + list(args.defaults)
    for i, (arg, default) in enumerate(zip(positional, defaults, strict=True)):
        yield "self:T" if method and i == 0 else _param(arg, default)
    if args.vararg is not None:
        yield f"{args.vararg.arg}:{_letter(args.vararg)}*="
    elif args.kwonlyargs:
        yield "*"
    for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        if arg.arg not in ("out", "memory_format"):
            yield _param(arg, default)


def _letter(arg: ast.arg) -> str:
    return python_letter(ast.unparse(arg.annotation)) if arg.annotation is not None else "o"


def _param(arg: ast.arg, default: ast.expr | None) -> str:
    if default is None:
        return f"{arg.arg}:{_letter(arg)}"
    text = ast.unparse(default)
    return f"{arg.arg}:{_letter(arg)}=" + (text if len(text) <= LONGEST_DEFAULT and text != "..." else "")


def attributes() -> dict[str, str]:
    """Return the kinds of the properties of torch.Tensor."""
    import torch

    found: dict[str, str] = {}
    for node in _class("TensorBase").body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and not node.target.id.startswith("_"):
            kind = ast.unparse(node.annotation).replace(" | None", "")
            found.setdefault(node.target.id, ATTRIBUTE_KINDS.get(kind, "unknown"))
    return {k: v for k, v in sorted(found.items()) if hasattr(torch.Tensor, k)}
