"""Imports that edits need: which of them a file lacks, and the edit that adds them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from syncfinder.finding import Edit
from syncfinder.sites.site import Span
from syncfinder.source.file import SourceFile


def adding(file: SourceFile, imports: Iterable[str], line: int) -> Edit | None:
    """Return the edit that adds those import statements that bind nothing for the code at `line`; None for none.

    They go in front of the first import of the file, but after its docstring and `from __future__`.

    Raises:
        SyntaxError: the file cannot be parsed.
    """
    wanted = [text for text in imports if not re.search(rf"^{re.escape(text)}[ \t]*(#|$)", file.text, re.MULTILINE)]
    if not wanted:
        return None
    tree = ast.parse(file.text)
    missing = [text for text in wanted if not _names(text) <= _bound(tree, line)]
    if not missing:
        return None
    at, alone = _place(tree, file)
    text = "".join(f"{row}\n" for row in missing) + ("\n" if alone else "")
    return Edit(Span(at, 1, at, 1), text)


def _names(text: str) -> set[tuple[str, str]]:
    statement = ast.parse(text).body[0]
    return set(_binds(statement)) if isinstance(statement, (ast.Import, ast.ImportFrom)) else set()


def _binds(node: ast.Import | ast.ImportFrom) -> Iterable[tuple[str, str]]:
    """Yield each name that an import binds, with what it is bound to."""
    for alias in node.names:
        if isinstance(node, ast.ImportFrom):
            yield alias.asname or alias.name, f"{node.module}.{alias.name}"
        elif alias.asname:
            yield alias.asname, alias.name
        else:
            head = alias.name.partition(".")[0]
            yield head, head


def _bound(tree: ast.Module, line: int) -> set[tuple[str, str]]:
    """Return the imported names that code at `line` sees: the module's, and those of the functions around it."""
    found: set[tuple[str, str]] = set()
    blocks: list[ast.AST] = [tree]
    while blocks:
        for node in ast.iter_child_nodes(blocks.pop()):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                found.update(_binds(node))
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                if node.lineno <= line <= (node.end_lineno or node.lineno):
                    blocks.append(node)
            elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
                blocks += node.orelse
            elif isinstance(node, (ast.stmt, ast.ExceptHandler)):
                blocks.append(node)
    return found


def _place(tree: ast.Module, file: SourceFile) -> tuple[int, bool]:
    """Return the line to insert imports at, and whether what follows is no import."""
    after, following = 1, None
    for position, node in enumerate(tree.body):
        text = position == 0 and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        docstring = text and isinstance(node.value.value, str)  # type: ignore[attr-defined]
        if docstring or (isinstance(node, ast.ImportFrom) and node.module == "__future__"):
            after = (node.end_lineno or node.lineno) + 1
            continue
        following = node
        break
    if isinstance(following, (ast.Import, ast.ImportFrom)):
        return following.lineno, False
    lines = file.lines
    while after < len(lines) and (not lines[after - 1].strip() or lines[after - 1].startswith("#")):
        after += 1
    return after, True
