"""The dispatch tables: node type -> handler. Expressions give values; statements, whether control falls through."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from syncfinder.infer.frame import Frame
from syncfinder.infer.values import UNKNOWN, Value

E: dict[type[ast.expr], Callable[[Any, Frame], Value]] = {}
S: dict[type[ast.stmt], Callable[[Any, Frame], bool]] = {}


def evaluate(node: ast.expr, frame: Frame) -> Value:
    """Return the value of an expression in a frame; sites are published on the way."""
    handler = E.get(type(node))
    return handler(node, frame) if handler is not None else UNKNOWN


def run_block(body: list[ast.stmt], frame: Frame) -> bool:
    """Run statements in order; return whether control falls off the end."""
    for statement in body:
        frame.statement = statement
        handler = S.get(type(statement))
        if handler is not None and not handler(statement, frame):
            return False
    return True
