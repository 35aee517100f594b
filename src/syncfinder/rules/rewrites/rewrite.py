"""What a rewriter returns: a message, when it may be applied, and the changes to the syntax tree's nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import libcst as cst

from syncfinder.finding import Applicability
from syncfinder.rules.wording import Spot

TORCH = ("import torch",)  # what rewrites import whose code speaks of torch by name
_EMPTY = cst.Module([])


@dataclass(frozen=True, slots=True)
class Change:
    """One change: `source` in the place of a node, or lines in front of the statement that holds it."""

    kind: Literal["replace", "before", "remove"]
    node: cst.CSTNode
    source: str = ""


@dataclass(frozen=True, slots=True)
class Rewrite:
    """What to write instead of a wait.

    `message` is one sentence and, for "unsafe", the condition that must hold. Without `changes` a person has to decide
    ("display-only"), and the message has the complete code. `imports` are statements that the changes need; `binds` are
    the names that they bind, none of which the function may know already.
    """

    message: str
    applicability: Applicability
    changes: tuple[Change, ...] = ()
    imports: tuple[str, ...] = ()
    binds: tuple[str, ...] = ()


Rewriter = Callable[[Spot], Rewrite | None]


def offered(
    said: str,
    needs: Sequence[str],
    changes: Sequence[Change],
    imports: tuple[str, ...] = (),
    binds: tuple[str, ...] = (),
) -> Rewrite:
    """Return a rewrite that is safe where nothing has to hold besides what is known, and unsafe with its conditions."""
    if not needs:
        return Rewrite(said, "safe", tuple(changes), imports, binds)
    listed = ", ".join(needs[:-1]) + (", and " if len(needs) > 1 else "") + needs[-1]
    return Rewrite(f"{said}; unsafe: {listed}", "unsafe", tuple(changes), imports, binds)


def replace(node: cst.CSTNode, source: str) -> Change:
    """Put `source` in the place of a node. Parentheses around an expression stay; an operand may need its own."""
    return Change("replace", node, source)


def before(statement: cst.CSTNode, lines: Sequence[str]) -> Change:
    """Insert whole lines in front of the statement, at its indentation. `statement` may be a node inside of it."""
    return Change("before", statement, "\n".join(lines))


def remove(statement: cst.CSTNode) -> Change:
    """Remove a simple statement; where it is the only one of its block, `pass` takes its place."""
    return Change("remove", statement)


def rewritten(
    message: str, conditions: Iterable[str], *changes: tuple[cst.CSTNode, str], imports: bool = False
) -> Rewrite:
    """Return a rewrite that replaces nodes: safe without conditions, unsafe with some.

    `imports`: the changes speak of torch by name, which the code that they replace does not.
    """
    needs = list(conditions)
    said = f"{message}; only if {', and '.join(needs)}" if needs else message
    made = tuple(replace(node, code) for node, code in changes)
    return Rewrite(said, "unsafe" if needs else "safe", made, TORCH if imports else ())


def source(node: cst.CSTNode) -> str:
    """Return a node's whole code as it is written, with its parentheses, comments and line breaks."""
    return _EMPTY.code_for_node(node)
