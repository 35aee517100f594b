"""Names in expressions: dotted paths, and the last name of a chain."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from fnmatch import translate

# What torch calls accelerators: each is a GPU to this tool, and has what torch.cuda has.
ACCELERATORS = frozenset({"cuda", "npu", "xpu", "hpu", "hip", "musa", "privateuseone"})


class FunctionNames:
    """Patterns for functions: `step`, `load_*`, `Engine.step`, `pkg.mod.Engine.step`, each with wildcards."""

    __slots__ = ("_dotted", "_names", "_wild")

    def __init__(self, patterns: Sequence[str]) -> None:
        plain = [p for p in patterns if "." not in p]
        self._names = frozenset(p for p in plain if p.isidentifier())
        self._wild = _any_of([translate(p) for p in plain if not p.isidentifier()])
        # a dotted pattern may begin anywhere in the full name, at a dot
        self._dotted = _any_of([rf"(?:.*\.)?{translate(p)}" for p in patterns if "." in p])

    def have(self, name: str, module: str, qualname: str) -> bool:
        """Whether a function is meant, by its name, and by the dotted name that its module and its own path make."""
        if name in self._names or (self._wild is not None and self._wild.match(name)):
            return True
        return self._dotted is not None and self._dotted.match(f"{module}.{qualname}") is not None


def _any_of(expressions: list[str]) -> re.Pattern[str] | None:
    return re.compile("|".join(expressions)) if expressions else None


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
