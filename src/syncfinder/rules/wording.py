"""What the families' visitors share: the spot a site stands at, source text, and the call around it."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from typing import ClassVar

import libcst as cst

from syncfinder.rules.catalogue import by_kind
from syncfinder.rules.provider import DeviceProvider
from syncfinder.sites.site import Site, Span

WIDTH = 60
Words = tuple[str, str]  # message, help

_PLACES = {
    "cuda": "is on the GPU",
    "assumed": "is taken to be on the GPU",
    "mixed": "may be on the GPU",
}
_EMPTY = cst.Module([])
_BINARY = (
    cst.BinaryOperation,
    cst.BooleanOperation,
    cst.Comparison,
    cst.UnaryOperation,
    cst.IfExp,
    cst.Lambda,
    cst.Await,
)

LOGGING = frozenset(["debug", "info", "warning", "error", "critical", "exception", "log", "warn"])

# What multi-line source has and one line has not: comments, and the breaks inside brackets.
_COMMENT = re.compile(r"[ \t]*#[^\n]*(?=\n)")
_OPENED = re.compile(r"(?<=[(\[{])\s*\n\s*")
_CLOSED = re.compile(r",?\s*\n\s*(?=[)\]}])")


def place(site: Site) -> str:
    """Return the words for where the operand is believed to be."""
    return _PLACES.get(site.device, "may be on the GPU")


def shorten(text: str, width: int = WIDTH) -> str:
    """Return the text on one line, without comments, cut to `width` characters."""
    if "\n" in text:
        text = _CLOSED.sub("", _OPENED.sub("", _COMMENT.sub("", text)))
    text = " ".join(text.split())
    return text if len(text) <= width else text[: width - 1].rstrip() + "…"


def source_text(lines: list[str], span: Span) -> str:
    """Return the source of a span, on one line and shortened; empty when the span is outside the file."""
    if not 1 <= span.line <= span.end_line <= len(lines):
        return ""
    rows = lines[span.line - 1 : span.end_line]
    rows[-1] = rows[-1][: span.end_column - 1]
    rows[0] = rows[0][span.column - 1 :]
    return shorten("\n".join(rows))


def generic(site: Site, text: str) -> Words:
    """Return the catalogue's wording, for a site of which only the source text is known."""
    rule = by_kind()[site.kind]
    names = {"text": text or site.operation, "place": place(site), "operation": site.operation}
    return _because(site, rule.message.format(**names)), rule.help.format(**names)


def _because(site: Site, message: str) -> str:
    condition = site.facts.get("condition")
    if condition and site.family not in ("wait", "measurement"):
        message += f" (waits because {condition})"
    return message


@dataclass(frozen=True, slots=True)
class Spot:
    """A site with the node it stands on and the node's ancestors, innermost first."""

    site: Site
    node: cst.CSTNode
    parents: tuple[cst.CSTNode, ...]

    @property
    def place(self) -> str:
        return place(self.site)

    @property
    def parent(self) -> cst.CSTNode | None:
        return self.parents[0] if self.parents else None

    @property
    def text(self) -> str:
        """The node's source, without parentheses around it that are not its own."""
        node = self.node
        if isinstance(node, cst.BaseExpression) and node.lpar and not isinstance(node, (cst.Tuple, cst.GeneratorExp)):
            node = node.with_changes(lpar=(), rpar=())
        return code(node)

    def call(self, names: Container[str] | None = None) -> cst.Call | None:
        """Return the call that waits: the node itself, the method call on it, or the call it is an argument of.

        With `names`, only a call of a function or method with one of these names.
        """
        found = self._nearest_call(names)
        return found if found is not None and (names is None or last_name(found.func) in names) else None

    def _nearest_call(self, names: Container[str] | None) -> cst.Call | None:
        node, parents = self.node, self.parents
        if isinstance(node, cst.Call) and (names is None or last_name(node.func) in names):
            return node
        if len(parents) > 1 and isinstance(parents[1], cst.Call):
            if isinstance(parents[0], cst.Arg):
                return parents[1]
            if parents[1].func is parents[0] and isinstance(parents[0], cst.Attribute) and parents[0].value is node:
                return parents[1]
        return None

    def argument_of(self) -> cst.Call | None:
        """Return the call that the node is an argument of."""
        if len(self.parents) > 1 and isinstance(self.parents[0], cst.Arg) and isinstance(self.parents[1], cst.Call):
            return self.parents[1]
        return None

    def indexed(self) -> Spot | None:
        """Return the spot of `x[…]`: whose index the node is, else the node itself or what a statement assigns."""
        for depth, parent in enumerate(self.parents[:5]):
            if isinstance(parent, cst.Subscript):
                child = self.parents[depth - 1] if depth else self.node
                if child is parent.value:
                    break
                return Spot(self.site, parent, self.parents[depth + 1 :])
            if not isinstance(parent, (cst.Index, cst.Slice, cst.SubscriptElement, cst.BaseElement, cst.Tuple)):
                break
        if isinstance(self.node, cst.Subscript):
            return self
        statement = self.node if isinstance(self.node, (cst.Assign, cst.AugAssign)) else None
        target = assigned_subscript(statement) if statement is not None else None
        return Spot(self.site, target, (self.node, *self.parents)) if target is not None else None

    def assignment(self) -> cst.Assign | cst.AugAssign | None:
        """Return the assignment whose target the node is or stands in."""
        statement = self.node
        if not isinstance(statement, (cst.Assign, cst.AugAssign)):
            found = self.ancestor(cst.Assign, cst.AugAssign)
            if not isinstance(found, (cst.Assign, cst.AugAssign)) or found.value in (self.node, *self.parents):
                return None
            statement = found
        return statement

    def ancestor(self, *kinds: type[cst.CSTNode]) -> cst.CSTNode | None:
        """Return the innermost ancestor of one of these types."""
        return next((p for p in self.parents if isinstance(p, kinds)), None)

    def parent_comparison(self) -> cst.Comparison | None:
        """Return the comparison that the node is one side of, as in `t in ts`."""
        return next((p for p in self.parents[:2] if isinstance(p, cst.Comparison)), None)

    def reduced_by(self) -> str | None:
        """Return the name of the method that is called on the node, as `sum` in `x[m].sum()`."""
        attribute, call = self.parents[:2] if len(self.parents) > 1 else (None, None)
        if isinstance(attribute, cst.Attribute) and attribute.value is self.node:
            return attribute.attr.value if isinstance(call, cst.Call) and call.func is attribute else None
        return None


Wording = Callable[[Spot], Words]
Take = Callable[[Spot, Words], None]


class FamilyVisitor(cst.CSTVisitor):
    """Base of the families: words each site of the family's kinds that stands on a node."""

    METADATA_DEPENDENCIES = (DeviceProvider,)
    WORDING: ClassVar[Mapping[str, Wording]] = {}

    def __init__(self, take: Take) -> None:
        super().__init__()
        self._take = take

    def on_visit(self, node: cst.CSTNode) -> bool:
        """Word the node's sites that belong to this family; any kind of expression can be an operand."""
        for mark in self.get_metadata(DeviceProvider, node, ()):
            wording = self.WORDING.get(mark.site.kind)
            if wording is not None:
                spot = Spot(mark.site, node, mark.parents)
                self._take(spot, _words(spot, wording))
        return True


def _words(spot: Spot, wording: Wording) -> Words:
    site = spot.site
    if site.calls:
        return hidden(spot)
    message, help_text = wording(spot)
    return _because(site, message), help_text


def hidden(spot: Spot) -> Words:
    """Return the wording for a wait inside a callee that is not checked."""
    rule = by_kind()[spot.site.kind]
    inside = spot.site.calls[-1].function
    return (
        _because(spot.site, f"`{spot.text}` makes the host wait inside `{inside}`: {rule.summary}"),
        f"look for a form of `{inside}` that does not need the value on the host, or call it outside the hot path",
    )


def assigned_subscript(statement: cst.Assign | cst.AugAssign) -> cst.Subscript | None:
    """Return the first target that is a subscript."""
    targets = [statement.target] if isinstance(statement, cst.AugAssign) else [t.target for t in statement.targets]
    return next((t for t in targets if isinstance(t, cst.Subscript)), None)


# Source text and small readings of nodes.


def code(node: cst.CSTNode, width: int = WIDTH) -> str:
    """Return the node's own source on one line, shortened."""
    return shorten(_EMPTY.code_for_node(node), width)


def atom(node: cst.CSTNode) -> str:
    """Return the node's source so that an attribute or a subscript can follow it."""
    text = code(node)
    return f"({text})" if isinstance(node, _BINARY) and not text.startswith("(") else text


def enclosed(text: str) -> bool:
    """Tell whether the text's first character is a parenthesis that its last one closes."""
    depth = 0
    for position, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return position > 0 and position == len(text) - 1
    return False


def bare(text: str) -> str:
    """Return the text without parentheses around it."""
    return text[1:-1] if enclosed(text) else text


def last_name(node: cst.CSTNode) -> str:
    """Return `c` of `a.b.c` and `a` of `a`; empty for anything else."""
    if isinstance(node, cst.Attribute):
        return node.attr.value
    return node.value if isinstance(node, cst.Name) else ""


def dotted(node: cst.CSTNode) -> str:
    """Return `a.b.c` of a chain of names; empty for anything else."""
    if isinstance(node, cst.Name):
        return node.value
    if isinstance(node, cst.Attribute):
        left = dotted(node.value)
        return f"{left}.{node.attr.value}" if left else ""
    return ""


def on_torch(call: cst.Call) -> bool:
    """Tell a function of a library module (`torch.where(m)`) from a method of a value (`m.where()`)."""
    return dotted(call.func).split(".")[0] in ("torch", "F", "np", "numpy", "dist", "math", "nn", "ops", "torchvision")


def receiver(call: cst.Call) -> cst.BaseExpression | None:
    """Return `x` of `x.f(…)`, or None for a function of a library module."""
    return call.func.value if isinstance(call.func, cst.Attribute) and not on_torch(call) else None


def positional(call: cst.Call) -> list[cst.Arg]:
    """Return the positional arguments."""
    return [arg for arg in call.args if arg.keyword is None and not arg.star]


def keyword(call: cst.Call, name: str) -> cst.BaseExpression | None:
    """Return the value of a keyword argument."""
    return next((a.value for a in call.args if a.keyword is not None and a.keyword.value == name), None)


def subject(call: cst.Call) -> cst.BaseExpression | None:
    """Return the receiver of a method call, else the first positional argument."""
    first = positional(call)
    return receiver(call) or (first[0].value if first else None)


def arguments(call: cst.Call, *, drop: Container[str] = (), skip: int = 0) -> list[str]:
    """Return the sources of the arguments, without the first `skip` positional and the dropped keyword ones."""
    kept = []
    for arg in call.args:
        if arg.keyword is None and not arg.star and skip > 0:
            skip -= 1
        elif arg.keyword is None:
            kept.append(arg.star + code(arg.value))
        elif arg.keyword.value not in drop:
            kept.append(f"{arg.keyword.value}={code(arg.value)}")
    return kept


def rebuilt(call: cst.Call, *added: str, drop: Container[str] = ()) -> str:
    """Return the call's source with some keyword arguments replaced by others."""
    return f"{code(call.func)}({', '.join([*arguments(call, drop=drop), *added])})"
