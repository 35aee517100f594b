"""Expressions: names, attributes, operators, comparisons, displays, comprehensions."""

from __future__ import annotations

import ast
import builtins
from typing import Any

from syncfinder.infer.attributes import attribute_of
from syncfinder.infer.binding import assign
from syncfinder.infer.dispatch import E, evaluate
from syncfinder.infer.frame import Env, Frame, join_envs
from syncfinder.infer.names import path_of
from syncfinder.infer.narrow import branch, test, test_value
from syncfinder.infer.operators import compared, iterated, operate
from syncfinder.infer.pending import FLOW, Yield, act
from syncfinder.infer.project import is_import
from syncfinder.infer.reading import formattable, read
from syncfinder.infer.values import (
    BOOL,
    NONE,
    TEXT,
    UNKNOWN,
    Api,
    Bound,
    Class,
    Const,
    Device,
    Flag,
    Function,
    Instance,
    Library,
    Mapping,
    Sequence,
    Value,
    join_all,
    members,
    one_of,
)

# `reveal(x)` is a name of the device tests: it shows what the interpreter knows of x.
BUILTINS = {name: Api(f"builtins.{name}") for name in (*dir(builtins), "reveal") if not name.startswith("_")}


def constant(node: ast.Constant, frame: Frame) -> Value:
    return NONE if node.value is None else Const(node.value)


def name(node: ast.Name, frame: Frame) -> Value:
    value = frame.lookup(node.id)
    if value is None:
        return BUILTINS.get(node.id, UNKNOWN)
    if is_import(value):
        value = frame.project.settle(value, frame.module)
        if node.id in frame.env:
            frame.env[node.id] = value
    return value


def attribute(node: ast.Attribute, frame: Frame) -> Value:
    if "." in frame.env:
        path = path_of(node)
        if path is not None and path in frame.env:
            return frame.env[path]
    return attribute_of(evaluate(node.value, frame), node.attr, frame, node)


def boolean(node: ast.BoolOp, frame: Frame) -> Value:
    """`a and b`: each operand but the last is tested; an operand behind a narrowing one sees the narrowed values."""
    word = "and" if isinstance(node.op, ast.And) else "or"
    wanted = word == "and"
    saved = frame.env
    parts: list[Value] = []
    muted = frame.muted
    tested: Value = UNKNOWN
    try:
        for operand in node.values[:-1]:
            value = evaluate(operand, frame)
            test_value(value, operand, frame, word)
            kept = kept_by(value, not wanted)
            if kept is not None and frame.muted == muted:
                parts.append(kept)
            env = branch(operand, value, frame, wanted)
            if env is None or (not wanted and isinstance(value, ALWAYS_TRUE)):
                return join_all(parts)
            frame.env = env
        last = evaluate(node.values[-1], frame)
        if frame.muted == muted:
            parts.append(last)
            inner = frame.last if isinstance(node.values[-1], ast.BoolOp) else None
            tested = inner[1] if inner is not None else last
    finally:
        frame.last = (node, tested)
        for path, bound in frame.env.items():
            if path not in saved and "." not in path:
                saved[path] = bound
        carry(frame.env, saved)
        frame.env = saved
        frame.muted = muted
    return join_all(parts)


# Values without a length or __bool__ of their own.
ALWAYS_TRUE = (Function, Class, Device, Bound)


def kept_by(value: Value, truth: bool) -> Value | None:
    """Return what is left of an operand's value when `and`/`or` stops at it; None when it cannot."""
    left = [m for m in members(value) if not (isinstance(m, (Const, Flag)) and bool(m.value) is not truth)]
    if not truth:
        left = [m for m in left if not isinstance(m, (Instance, Function, Class, Library, Device, Bound))]
    return join_all(left) if left else None


def carry(inner: Env | None, outer: Env) -> None:
    """What an expression's parts have queued and waited for stays so when its own names are dropped."""
    if inner is not None and FLOW in inner:
        outer[FLOW] = inner[FLOW]


def unary(node: ast.UnaryOp, frame: Frame) -> Value:
    value = evaluate(node.operand, frame)
    if isinstance(node.op, ast.Not):
        test_value(value, node.operand, frame, "not")
        if isinstance(value, Flag):
            return Flag(not value.value)
        return Const(not value.value) if isinstance(value, Const) else BOOL
    if isinstance(value, Const) and isinstance(value.value, (int, float)) and isinstance(node.op, ast.USub):
        return Const(-value.value)
    return value


def binary(node: ast.BinOp, frame: Frame) -> Value:
    return operate(evaluate(node.left, frame), evaluate(node.right, frame), node.op, node, frame)


def compare(node: ast.Compare, frame: Frame) -> Value:
    left = evaluate(node.left, frame)
    result: Value = BOOL
    for position, (op, right_node) in enumerate(zip(node.ops, node.comparators, strict=True)):
        right = evaluate(right_node, frame)
        left_node = node.left if position == 0 else node.comparators[position - 1]
        result = compared(left, right, op, left_node, right_node, frame)
        if position < len(node.ops) - 1:
            test_value(result, node, frame, "chained comparison")
        left = right
    return result


def conditional(node: ast.IfExp, frame: Frame) -> Value:
    value = test(node.test, frame, "ternary")
    saved, muted = frame.env, frame.muted
    parts = []
    flows: list[Env] = []
    for side, truth in ((node.body, True), (node.orelse, False)):
        env = branch(node.test, value, frame, truth)
        if env is not None:
            frame.env = env
            outcome = evaluate(side, frame)
            if frame.muted == muted:
                parts.append(outcome)
                flows.append(frame.env)
        frame.env, frame.muted = saved, muted
    carry(join_envs(flows), saved)
    return join_all(parts)


def joined_string(node: ast.JoinedStr, frame: Frame) -> Value:
    for part in node.values:
        if isinstance(part, ast.FormattedValue):
            value = evaluate(part.value, frame)
            for tensor in formattable(value):
                read(tensor, "format", "f-string", part.value, frame)
            if part.format_spec is not None:
                evaluate(part.format_spec, frame)
    return TEXT


def display(node: Any, frame: Frame) -> Value:
    kind = KINDS[type(node)]
    items: list[Value] = []
    known = True
    for element in node.elts:
        if type(element) is ast.Starred:
            value = evaluate(element.value, frame)
            if isinstance(value, Sequence) and value.items is not None:
                items.extend(value.items)
            else:
                known = False
                items.append(iterated(value))
        else:
            items.append(evaluate(element, frame))
    return Sequence(kind, tuple(items)) if known else Sequence(kind, element=join_all(items))


KINDS: dict[type, str] = {ast.List: "list", ast.Tuple: "tuple", ast.Set: "set"}


def dictionary(node: ast.Dict, frame: Frame) -> Value:
    items: dict[Any, Value] = {}
    extra: list[Value] = []
    for key, value_node in zip(node.keys, node.values, strict=True):
        value = evaluate(value_node, frame)
        if key is None:
            if isinstance(value, Mapping):
                items.update(value.items or {})
                if value.items is None or value.element is not None:
                    extra.append(value.each())
            else:
                extra.append(UNKNOWN)
            continue
        known = evaluate(key, frame)
        if isinstance(known, Const) and isinstance(known.value, (str, int)):
            items[known.value] = value
        else:
            extra.append(value)
    return Mapping(items, join_all(extra) if extra else None)


def comprehension(node: Any, frame: Frame) -> Value:
    saved = frame.env
    frame.env = dict(saved)
    muted = frame.muted
    single = len(node.generators) == 1 and not node.generators[0].ifs
    source: Value = UNKNOWN
    try:
        for position, generator in enumerate(node.generators):
            source = evaluate(generator.iter, frame)
            assign(generator.target, iterated(source), frame, generator.iter)
            if position == 0:
                frame.repeats += 1
            for condition in generator.ifs:
                value = test(condition, frame, "comprehension filter")
                env = branch(condition, value, frame, True)
                if env is not None:
                    frame.env = env
        if isinstance(node, ast.DictComp):
            evaluate(node.key, frame)
            return Mapping(element=evaluate(node.value, frame))
        flow = frame.env.get(FLOW)
        element = evaluate(node.elt, frame)
        if frame.env.get(FLOW) is not flow:
            evaluate(node.elt, frame)  # what one round leaves unfinished the next one meets
        return produced(node, source if single else UNKNOWN, one_of(element))
    finally:
        frame.repeats -= 1
        carry(frame.env, saved)
        frame.env = saved
        frame.muted = muted


def produced(node: Any, source: Value, element: Value) -> Value:
    kind = "set" if isinstance(node, ast.SetComp) else "list"
    if isinstance(source, Sequence) and source.items is not None and len(source.items) <= 4:
        return Sequence(kind, (element,) * len(source.items))
    return Sequence(kind, element=element)


def lambda_value(node: ast.Lambda, frame: Frame) -> Value:
    module = frame.module
    have = module.functions.get(id(node))
    prefix = f"{frame.qualname}." if frame.qualname else ""
    fresh = Function(node, module, f"{prefix}<lambda>", frame)
    if have is None or not frame.partial:
        module.functions[id(node)] = fresh  # the one that is analysed for itself
    return fresh


def named(node: ast.NamedExpr, frame: Frame) -> Value:
    value = evaluate(node.value, frame)
    assign(node.target, value, frame, node.value)
    return value


def awaited(node: ast.Await, frame: Frame) -> Value:
    return evaluate(node.value, frame)


def yielded(node: ast.Yield, frame: Frame) -> Value:
    frame.yields.append(evaluate(node.value, frame) if node.value is not None else NONE)
    act(frame, Yield())
    return UNKNOWN


def yielded_from(node: ast.YieldFrom, frame: Frame) -> Value:
    frame.yields.append(iterated(evaluate(node.value, frame)))
    return UNKNOWN


def starred(node: ast.Starred, frame: Frame) -> Value:
    return evaluate(node.value, frame)


def slice_value(node: ast.Slice, frame: Frame) -> Value:
    for bound in (node.lower, node.upper, node.step):
        if bound is not None:
            evaluate(bound, frame)
    return UNKNOWN


E.update({
    ast.Constant: constant, ast.Name: name, ast.Attribute: attribute, ast.BoolOp: boolean, ast.UnaryOp: unary,
    ast.BinOp: binary, ast.Compare: compare, ast.IfExp: conditional, ast.JoinedStr: joined_string,
    ast.List: display, ast.Tuple: display, ast.Set: display, ast.Dict: dictionary, ast.ListComp: comprehension,
    ast.SetComp: comprehension, ast.GeneratorExp: comprehension, ast.DictComp: comprehension,
    ast.Lambda: lambda_value, ast.NamedExpr: named, ast.Await: awaited, ast.Yield: yielded,
    ast.YieldFrom: yielded_from, ast.Starred: starred, ast.Slice: slice_value,
})  # fmt: skip
