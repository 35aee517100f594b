"""Names in expressions: dotted paths, and the last name of a chain."""

from __future__ import annotations

import ast


def path_of(node: ast.expr) -> str | None:
    """Return `a.b.c` for a chain of names; None for anything else."""
    parts = []
    while type(node) is ast.Attribute:
        parts.append(node.attr)
        node = node.value
    if type(node) is not ast.Name:
        return None
    return ".".join([node.id, *reversed(parts)])


def paths_in(node: ast.AST) -> tuple[str, ...]:
    """Return the names, and the chains of names, in a piece of code."""
    found: dict[str, None] = {}
    for part in ast.walk(node):
        if isinstance(part, (ast.Name, ast.Attribute)):
            path = path_of(part)
            if path is not None:
                found[path] = None
    return tuple(found)


def last_name(node: ast.AST) -> str:
    """Return the name that an expression ends in: Tensor for torch.Tensor; empty for anything else."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def is_test(name: str) -> bool:
    """Return whether a module is one of tests, by its dotted name."""
    return any(
        part in ("test", "tests", "testing", "conftest") or part.startswith("test_") or part.endswith("_test")
        for part in name.split(".")
    )
