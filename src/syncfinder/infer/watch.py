"""Watching a line: noting what every expression on it was evaluated to."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from syncfinder.infer import engine  # noqa: F401  (its import fills the tables)
from syncfinder.infer.dispatch import E
from syncfinder.infer.frame import Frame
from syncfinder.infer.values import Value


@dataclass(slots=True)
class Watched:
    """One expression of the line, and the different values it had."""

    node: ast.expr
    values: list[Value] = field(default_factory=list)


@contextlib.contextmanager
def watching(path: Path, line: int) -> Iterator[dict[int, Watched]]:
    """Note the values of the expressions on a line while the block runs; yields them by node.

    The dispatch table's handlers are wrapped only for that time, so that watching costs an ordinary run nothing.
    """
    seen: dict[int, Watched] = {}
    filename = str(path)

    def wrapped(handler: Callable[[Any, Frame], Value]) -> Callable[[Any, Frame], Value]:
        def watch(node: Any, frame: Frame) -> Value:
            value = handler(node, frame)
            if node.lineno <= line <= node.end_lineno and frame.module.filename == filename:
                values = seen.setdefault(id(node), Watched(node)).values
                if all(value.key != known.key for known in values):
                    values.append(value)
            return value

        return watch

    handlers = dict(E)
    E.update({kind: wrapped(handler) for kind, handler in handlers.items()})
    try:
        yield seen
    finally:
        E.update(handlers)
