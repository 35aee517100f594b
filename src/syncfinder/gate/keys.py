"""What a finding is known by from one version of a file to the next."""

from __future__ import annotations

import ast
import os
import textwrap
from typing import NamedTuple

from syncfinder.finding import Finding
from syncfinder.sites.site import Span
from syncfinder.source.file import SourceFile


class FindingKey(NamedTuple):
    """Which finding, without its line: several equal ones are told apart by their number only.

    `path` is relative, with slashes; `function` is empty at a module's level; `expression` is the source of the place,
    written in one way whatever its layout.
    """

    path: str
    function: str
    rule: str
    expression: str


def key_of(finding: Finding, file: SourceFile, folder: str) -> FindingKey:
    """Return the key of a finding; its path is relative to `folder`."""
    path = os.path.relpath(finding.filename, folder).replace(os.sep, "/")
    return FindingKey(path, finding.function or "", finding.code, expression(file, finding.span))


def expression(file: SourceFile, span: Span) -> str:
    """Return the source at a place in one line, the same for each layout, quoting and version of Python."""
    lines = file.lines[span.line - 1 : span.end_line]
    if not lines:
        return ""
    lines[-1] = lines[-1][: span.end_column - 1]
    lines[0] = lines[0][span.column - 1 :]
    text = "\n".join(lines)
    if not text.startswith("#"):
        for source, mode in ((f"(\n{text}\n)", "eval"), (textwrap.dedent(text), "exec")):
            try:
                tree = ast.parse(source, mode=mode)
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                continue
            return " ".join(ast.unparse(_Plain().visit(tree)).split())
    return " ".join(text.split())


class _Plain(ast.NodeTransformer):
    """f-strings as calls of `f`: how `ast.unparse` writes them differs between versions of Python."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        parts: list[ast.expr] = []
        for value in node.values:
            if isinstance(value, ast.FormattedValue):
                parts.append(self.visit(value.value))
                if value.format_spec is not None:
                    parts.append(self.visit(value.format_spec))
            elif isinstance(value, ast.Constant) and value.value:  # some versions put empty texts between values
                parts.append(value)
        return ast.Call(ast.Name("f", ast.Load()), parts, [])
