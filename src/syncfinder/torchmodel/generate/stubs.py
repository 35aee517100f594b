"""What torch's type stubs say where no operator schema does. Used by the generator only."""

from __future__ import annotations

import ast
import functools
import pathlib
from collections.abc import Iterator

from syncfinder.torchmodel.generate import docstrings
from syncfinder.torchmodel.generate.signatures import LONGEST_DEFAULT, Overload, python_letter, returned, taken

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
    """Return the stubs by class of torch._C ("Tensor" is TensorBase), or "torch", and name."""
    found: dict[tuple[str, str], list[ast.FunctionDef]] = {}
    compiled = _module("__init__.pyi").body
    bodies = [("torch", _module("_VariableFunctions.pyi").body), ("torch", compiled)]
    bodies += [(n.name.replace("TensorBase", "Tensor"), n.body) for n in compiled if isinstance(n, ast.ClassDef)]
    for owner, body in bodies:
        here: dict[tuple[str, str], list[ast.FunctionDef]] = {}
        for node in body:
            if isinstance(node, ast.FunctionDef):
                here.setdefault((owner, node.name), []).append(node)
        found = {**here, **found}
    return found


@functools.cache
def _module(name: str) -> ast.Module:
    import torch

    return ast.parse((pathlib.Path(torch.__file__).parent / "_C" / name).read_text(encoding="utf-8"))


def _class(name: str) -> ast.ClassDef:
    return next(n for n in _module("__init__.pyi").body if isinstance(n, ast.ClassDef) and n.name == name)


def overloads(owner: str, name: str) -> list[Overload]:
    """Return the overloads of a function ("torch"), or of a method of "Tensor" or another class, in the stubs."""
    return [of_definition(node, owner == "Tensor") for node in _functions().get((owner, name), [])]


def of_definition(node: ast.FunctionDef, method: bool) -> Overload:
    """Return the overload of a definition; a method's first parameter is the tensor."""
    params = list(_params(node.args, method))
    result = returned(ast.unparse(node.returns)) if node.returns is not None else "unknown"
    return Overload(node.name, params, "self" if node.name.endswith("_") and method else result)


def of_docstring(name: str, text: str | None, method: bool) -> list[Overload]:
    """Return the overload of a compiled function by the signature that its docstring begins with, if any."""
    node = docstrings.definition(text, name)
    if node is None:
        return []
    made = of_definition(node, method)
    told = {"input": "T", **docstrings.letters(text)}
    params = docstrings.typed(made.params, told)
    if method and params[:1] != ["self:T"]:
        params.insert(0, "self:T")
    return [Overload(made.name, params, made.returns)]


def _params(args: ast.arguments, method: bool) -> Iterator[str]:
    positional = args.posonlyargs + args.args
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(args.defaults)) + list(args.defaults)
    for i, (arg, default) in enumerate(zip(positional, defaults, strict=True)):
        yield "self:T" if method and i == 0 else _param(arg, default)
    if args.vararg is not None:
        yield f"{args.vararg.arg}:{_letter(args.vararg)}*="
    if any(a.arg not in ("out", "memory_format") for a in args.kwonlyargs):
        yield "*"
    for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        if arg.arg not in ("out", "memory_format"):
            yield _param(arg, default)


def _letter(arg: ast.arg) -> str:
    return taken(python_letter(ast.unparse(arg.annotation))) if arg.annotation is not None else "o"


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
