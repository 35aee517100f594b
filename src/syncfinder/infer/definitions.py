"""Functions and classes bound in a body."""

from __future__ import annotations

import ast

from syncfinder.infer.classes import class_value, decorate
from syncfinder.infer.frame import Frame
from syncfinder.infer.values import Function


def bind_definitions(body: list[ast.stmt], frame: Frame) -> None:
    """Bind functions and classes before the body runs, so that uses before the definition's line find them."""
    for statement in body:
        kind = type(statement)
        if kind is ast.FunctionDef or kind is ast.AsyncFunctionDef:
            function_definition(statement, frame)  # type: ignore[arg-type]
        elif kind is ast.ClassDef:
            class_definition(statement, frame)  # type: ignore[arg-type]


def function_definition(node: ast.FunctionDef | ast.AsyncFunctionDef, frame: Frame) -> bool:
    module = frame.module
    have = module.functions.get(id(node))
    closure = frame if frame.function is not None else None
    if have is None or (closure is not None and have.closure is not frame):
        prefix = f"{frame.qualname}." if frame.qualname else ""
        made = Function(node, module, f"{prefix}{node.name}", closure, None)
        made.owner = None
        decorate(made)
        if have is None or not frame.partial:
            module.functions[id(node)] = made  # the one that is analysed for itself
        have = made
    frame.env[node.name] = have
    return True


def class_definition(node: ast.ClassDef, frame: Frame) -> bool:
    prefix = f"{frame.qualname}." if frame.qualname else ""
    frame.env[node.name] = class_value(
        node, frame.module, f"{prefix}{node.name}", frame if frame.function is not None else None
    )
    return True
