"""Binding targets: names, attributes, items, and sequences of them."""

from __future__ import annotations

import ast

from syncfinder.infer import classes, policy
from syncfinder.infer.dispatch import evaluate
from syncfinder.infer.fields import CONSTRUCTORS, is_host
from syncfinder.infer.frame import Frame
from syncfinder.infer.hinting import apply_hint
from syncfinder.infer.names import path_of
from syncfinder.infer.narrow import narrow_unpacked
from syncfinder.infer.operators import iterated
from syncfinder.infer.project import ImportName
from syncfinder.infer.subscripts import write_subscript
from syncfinder.infer.values import UNKNOWN, Instance, Sequence, Value, join


def assign(target: ast.expr, value: Value, frame: Frame, source: ast.expr | None) -> None:
    """Bind a target to a value."""
    kind = type(target)
    if kind is ast.Name:
        name = target.id  # type: ignore[attr-defined]
        value = policy.named(name, value, frame, target)
        if frame.module.hints:
            value = apply_hint(frame.module, frame.statement or target, name, value)
        if frame.function is not None and name in frame.function.scan.outer:
            assign_outer(name, value, frame)
            return
        if "." in frame.env:
            forget(name, frame)
        frame.env[name] = value
    elif kind is ast.Attribute:
        assign_attribute(target, value, frame)  # type: ignore[arg-type]
    elif kind is ast.Tuple or kind is ast.List:
        unpack(target.elts, value, frame, source)  # type: ignore[attr-defined]
    elif kind is ast.Subscript:
        write_subscript(target, value, source, frame)  # type: ignore[arg-type]
    elif kind is ast.Starred:
        assign(target.value, value, frame, source)  # type: ignore[attr-defined]


def assign_outer(name: str, value: Value, frame: Frame) -> None:
    scope = frame.parent
    while scope is not None and name not in scope.env:
        scope = scope.parent
    env = scope.env if scope is not None else frame.module.frame.env
    have = env.get(name)
    env[name] = value if have is None or type(have) is ImportName else join(have, value)


def forget(prefix: str, frame: Frame) -> None:
    """Drop what is known of attributes below a name that is bound anew."""
    head = prefix + "."
    for path in [p for p in frame.env if p.startswith(head)]:
        del frame.env[path]


def assign_attribute(target: ast.Attribute, value: Value, frame: Frame) -> None:
    receiver = evaluate(target.value, frame)
    value = policy.named(target.attr, value, frame, target)
    path = path_of(target)
    if path is not None:
        if frame.module.hints:
            value = apply_hint(frame.module, frame.statement or target, path, value)
        forget(path, frame)
        frame.env["."] = UNKNOWN
        frame.env[path] = value
    if isinstance(receiver, Instance) and not is_host(value) and not is_constructed(frame):
        receiver.cls.moved.add(target.attr)
    if isinstance(receiver, Instance) and not frame.partial:
        owner = frame.owner if frame.owner is not None and isinstance(target.value, ast.Name) else receiver.cls
        classes.record(owner, target.attr, value)


def is_constructed(frame: Frame) -> bool:
    """Return whether an object's constructor is being evaluated."""
    return frame.function is not None and frame.function.name in CONSTRUCTORS


def unpack(targets: list[ast.expr], value: Value, frame: Frame, source: ast.expr | None) -> None:
    if source is not None and not any(isinstance(t, ast.Starred) for t in targets):
        narrow_unpacked(source, len(targets), frame)
    items = value.items if isinstance(value, Sequence) else None
    if items is not None and len(items) == len(targets) and not any(isinstance(t, ast.Starred) for t in targets):
        nodes = (
            source.elts
            if isinstance(source, (ast.Tuple, ast.List)) and len(source.elts) == len(targets)
            else [None] * len(targets)
        )
        for target, item, node in zip(targets, items, nodes, strict=True):
            assign(target, item, frame, node)
        return
    star = next((i for i, t in enumerate(targets) if isinstance(t, ast.Starred)), None)
    if items is not None and star is not None and len(items) >= len(targets) - 1:
        end = len(items) - (len(targets) - star - 1)
        parts = [*items[:star], Sequence("list", items[star:end]), *items[end:]]
        for target, item in zip(targets, parts, strict=True):
            assign(target, item, frame, None)
        return
    element = iterated(value)
    for target in targets:
        if isinstance(target, ast.Starred):
            assign(target.value, Sequence("list", element=element), frame, None)
        else:
            assign(target, element, frame, None)


def rebind(node: ast.expr | None, value: Value, frame: Frame) -> None:
    """Bind the name or attribute that holds a container to the container as it is now; anything else is left alone."""
    if isinstance(node, (ast.Name, ast.Attribute)):
        if isinstance(node, ast.Name) and node.id not in frame.env:
            return
        assign(node, value, frame, None)
