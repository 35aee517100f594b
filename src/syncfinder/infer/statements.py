"""Statements: definitions, imports, assignments, branches, `with` and `try`."""

from __future__ import annotations

import ast
from functools import cache
from typing import Any

from syncfinder.infer import classes, policy, streams
from syncfinder.infer.annotations import from_annotation
from syncfinder.infer.binding import assign
from syncfinder.infer.calls import Arguments, call_function
from syncfinder.infer.definitions import class_definition, function_definition
from syncfinder.infer.dispatch import S, evaluate, run_block
from syncfinder.infer.frame import Env, Frame, join_env, join_envs
from syncfinder.infer.hazards import bound, host_access, leave
from syncfinder.infer.hinting import apply_hint
from syncfinder.infer.names import last_name
from syncfinder.infer.narrow import branch, keep_test, test
from syncfinder.infer.operators import operate
from syncfinder.infer.pending import EVERYTHING, FLOW, act
from syncfinder.infer.project import ImportName
from syncfinder.infer.reading import read_any
from syncfinder.infer.scan import root_name
from syncfinder.infer.subscripts import read_subscript, write_subscript
from syncfinder.infer.values import (
    ASSUMED,
    BOOL,
    CPU,
    NONE,
    UNKNOWN,
    Api,
    Array,
    Class,
    Const,
    Device,
    Function,
    Instance,
    Mapping,
    Sequence,
    Tensor,
    UnknownValue,
    Value,
    join,
    members,
)


def function_statement(node: ast.FunctionDef | ast.AsyncFunctionDef, frame: Frame) -> bool:
    """Evaluate the defaults, as Python does where a function is defined, and bind the function."""
    for default in (*node.args.defaults, *node.args.kw_defaults):
        if default is not None and type(default) is not ast.Constant:
            evaluate(default, frame)
    function_definition(node, frame)
    if node.decorator_list:
        frame.env[node.name] = decorated(frame.env[node.name], node, frame)
    return True


def decorated(function: Value, node: ast.FunctionDef | ast.AsyncFunctionDef, frame: Frame) -> Value:
    """Apply the project's own decorators. A wrapper made with functools.wraps gives its results."""
    frame.muted += 1
    for name in reversed(node.decorator_list):
        decorator = evaluate(name, frame)
        if isinstance(decorator, Function):
            made = call_function(decorator, Arguments([function], [None]), name, frame)
            if isinstance(made, Function) and not any(d.endswith("wraps") for d in made.decorators):
                function = made
    frame.muted -= 1
    return function


def import_statement(node: ast.Import, frame: Frame) -> bool:
    for alias in node.names:
        if alias.asname:
            frame.env[alias.asname] = ImportName(alias.name, 0, None)
        else:
            head = alias.name.partition(".")[0]
            frame.env[head] = ImportName(head, 0, None)
    return True


def import_from(node: ast.ImportFrom, frame: Frame) -> bool:
    for alias in node.names:
        if alias.name == "*":
            frame.module.stars.append(ImportName(node.module or "", node.level, None))
        else:
            frame.env[alias.asname or alias.name] = ImportName(node.module or "", node.level, alias.name)
    return True


def assignment(node: ast.Assign, frame: Frame) -> bool:
    value = evaluate(node.value, frame)
    if value is BOOL and type(node.value) in TESTS and type(node.targets[0]) is ast.Name:
        value = keep_test(node.targets[0].id, node.value, frame)
    if frame.tracks and type(value) is Tensor:
        value = bound(value, node, frame)
    for target in node.targets:
        assign(target, value, frame, node.value)
    return True


# Expressions whose outcome, kept in a name, narrows where the name is tested.
TESTS = {ast.Compare, ast.Call, ast.UnaryOp, ast.Attribute}


def annotated_assignment(node: ast.AnnAssign, frame: Frame) -> bool:
    what = f"`{ast.unparse(node.target)}`"
    said = from_annotation(node.annotation, frame, what)
    if node.value is None:
        if isinstance(node.target, ast.Name) and said is not UNKNOWN:
            frame.env[node.target.id] = apply_hint(frame.module, node, node.target.id, said)
        return True
    value = evaluate(node.value, frame)
    assign(node.target, agreed(value, said), frame, node.value)
    return True


def agreed(value: Value, said: Value) -> Value:
    """Return a value with what its annotation adds: a place said there wins, the rest fills what is not known."""
    if isinstance(value, Sequence) and value.items == ():
        return Sequence(said.kind, (), said.each()) if type(said) is Sequence and said.items is None else said
    if value is UNKNOWN or (value is NONE and said is not UNKNOWN):
        return said if value is not NONE else join(said, NONE)
    if isinstance(value, Tensor) and isinstance(said, Tensor) and said.place != ASSUMED:
        return value.but(place=said.place, why=said.why, memory=said.memory or value.memory, sure=0)
    if isinstance(value, Mapping) and value.items == {} and isinstance(said, Mapping):
        return Mapping({}, said.element, empty=said.element is not None)
    return value


def augmented(node: ast.AugAssign, frame: Frame) -> bool:
    target = node.target
    right = evaluate(node.value, frame)
    if isinstance(target, ast.Subscript):
        left = read_subscript(target, frame)
        value = operate(left, right, node.op, node, frame)
        write_subscript(target, value, node.value, frame, augmented=True)
        return True
    load = ast.copy_location(
        type(target)(**{**{f: getattr(target, f) for f in target._fields}, "ctx": ast.Load()}), target
    )
    left = evaluate(load, frame)
    if isinstance(left, Tensor) and not (isinstance(right, Tensor) and left.place != right.place):
        value = left if left.ndim is not None else left.but(ndim=None)
        if left.buffers is not None and left.place == CPU:
            host_access(left.buffers, True, "augmented assignment", node, frame)
    else:
        value = operate(left, right, node.op, node, frame)
    assign(target, value, frame, None)
    return True


def expression(node: ast.Expr, frame: Frame) -> bool:
    evaluate(node.value, frame)
    return True


def returned(node: ast.Return, frame: Frame) -> bool:
    value = evaluate(node.value, frame) if node.value is not None else NONE
    if not frame.muted:
        frame.returns.append(value)
    return False


def raised(node: ast.Raise, frame: Frame) -> bool:
    saved, frame.context = frame.context, frame.context or "error-path"
    for part in (node.exc, node.cause):
        if part is not None:
            evaluate(part, frame)
    frame.context = saved
    return False


def asserted(node: ast.Assert, frame: Frame) -> bool:
    value = test(node.test, frame, "assert")
    if node.msg is not None:
        saved, frame.context = frame.context, frame.context or "error-path"
        evaluate(node.msg, frame)
        frame.context = saved
    env = branch(node.test, value, frame, True)
    if isinstance(value, Const) and not value.value:
        return False
    if env is not None:
        frame.env = env
    return True


def ends_in_raise(body: list[ast.stmt]) -> bool:
    return len(body) > 0 and isinstance(body[-1], ast.Raise)


def side_context(test_node: ast.expr, body: list[ast.stmt], frame: Frame) -> str | None:
    """Return the context of a branch: on the way to a raise, or for debugging only."""
    if frame.context is not None:
        return frame.context
    if ends_in_raise(body):
        return "error-path"
    return "debug" if speaks_of_debugging(test_node) else None


@cache
def speaks_of_debugging(test_node: ast.expr) -> bool:
    """Return whether a name in a test is that of a debugging switch."""
    return any(policy.DEBUG.search(last_name(part)) for part in ast.walk(test_node))


def conditional(node: ast.If, frame: Frame) -> bool:
    value = test(node.test, frame, "if")
    if is_type_checking(node.test):
        return run_block(node.body, frame)
    saved, context, muted = frame.env, frame.context, frame.muted
    ends: list[Env] = []
    unlikely: list[Env] = []
    for body, truth in ((node.body, True), (node.orelse, False)):
        env = branch(node.test, value, frame, truth)
        if env is not None:
            frame.env = env
            frame.context = side_context(node.test, body, frame) if truth or ends_in_raise(body) else context
            if run_block(body, frame):
                (ends if frame.muted == muted else unlikely).append(frame.env)
        frame.env, frame.context, frame.muted = saved, context, muted
    merged = join_envs(ends or unlikely)
    if merged is None:
        return False
    frame.env = merged
    if not ends or is_gpu_way(node, value):
        frame.muted += 1  # what follows is reached only from a branch that does not run
    return True


def is_gpu_way(node: ast.If, value: Value) -> bool:
    """Return whether a test for the GPU has a way of its own, so that what follows runs on the host only.

    `if x.is_cuda: ... return f(x)`. A branch that only hands the tensor back says that it is brought there next.
    """
    last = node.body[-1]
    if not isinstance(node.test, ast.Attribute) or node.test.attr != "is_cuda" or isinstance(value, Const):
        return False
    return isinstance(last, ast.Return) and not node.orelse and (len(node.body) > 1 or type(last.value) is not ast.Name)


def is_type_checking(node: ast.expr) -> bool:
    return last_name(node) == "TYPE_CHECKING"


def with_block(node: ast.With | ast.AsyncWith, frame: Frame) -> bool:
    context, place, stream = frame.context, frame.default_place, frame.stream
    managers: list[tuple[Value, ast.expr]] = []
    for item in node.items:
        value = evaluate(item.context_expr, frame)
        if isinstance(value, Device):
            frame.default_place = value.place
        streams.entered(value, frame)
        managers.append((value, item.context_expr))
        if frame.context is None:
            frame.context = region(item.context_expr)
        if item.optional_vars is not None:
            assign(item.optional_vars, entered(value, frame, item.context_expr), frame, None)
    falls = run_block(node.body, frame)
    frame.context, frame.default_place, frame.stream = context, place, stream
    if FLOW in frame.env:
        for value, manager in reversed(managers):
            left(value, manager, frame)
    return falls


def region(node: ast.expr) -> str | None:
    """Return the context that a context manager's name declares: syncs are meant there, or let through by none."""
    name = last_name(node.func if isinstance(node, ast.Call) else node)
    if policy.DEBUG_MODE in name and isinstance(node, ast.Call):
        first = node.args[0] if node.args else None
        mode = first.value if isinstance(first, ast.Constant) else None
        return "boundary" if mode in (0, "default") else "guarded" if mode in (1, 2, "warn", "error") else None
    if policy.GUARDS.search(name):
        return "guarded"
    return "boundary" if policy.BOUNDARIES.search(name) else None


def left(value: Value, node: ast.expr, frame: Frame) -> None:
    """A block is left: what its manager waits for then is done after it."""
    leave(node, frame)
    for member in members(value):
        method = classes.find_method(member.cls, "__exit__") if isinstance(member, Instance) else None
        if method is not None:
            call_function(method, Arguments([member, NONE, NONE, NONE], [None] * 4), node, frame)
        elif isinstance(member, UnknownValue) and not (isinstance(node, ast.Call) and root_name(node.func) == "torch"):
            act(frame, EVERYTHING)


def entered(value: Value, frame: Frame, node: ast.expr) -> Value:
    if isinstance(value, Instance):
        method = classes.find_method(value.cls, "__enter__")
        return call_function(method, Arguments([value], [None]), node, frame) if method is not None else value
    if isinstance(value, Sequence) and isinstance(node, ast.Call):
        return value.each()  # a generator behind contextlib.contextmanager
    return value if not isinstance(value, (Array, Class, Api)) else UNKNOWN


def try_block(node: Any, frame: Frame) -> bool:
    muted = frame.muted
    try:
        return tried(node, frame)
    finally:
        frame.muted = muted


def tried(node: Any, frame: Frame) -> bool:
    before = frame.env
    frame.env = dict(before)
    falls = run_block(node.body, frame)
    after = frame.env
    ends: list[Env] = []
    if falls and (not node.orelse or run_block(node.orelse, frame)):
        ends.append(frame.env)
    for handler in node.handlers:
        frame.env = dict(join_env(before, after))
        context = frame.context
        frame.statement = node
        if handler.name:
            frame.env[handler.name] = UNKNOWN
        if context is None and ends_in_raise(handler.body):
            frame.context = "error-path"
        if run_block(handler.body, frame):
            ends.append(frame.env)
        frame.context = context
    merged = join_envs(ends)
    frame.env = dict(merged) if merged is not None else dict(join_env(before, after))
    if node.finalbody and not run_block(node.finalbody, frame):
        return False
    return merged is not None


def deleted(node: ast.Delete, frame: Frame) -> bool:
    for target in node.targets:
        if isinstance(target, ast.Name):
            frame.env.pop(target.id, None)
        elif isinstance(target, ast.Subscript) and isinstance(evaluate(target.value, frame), Sequence):
            read_any(evaluate(target.slice, frame), "index", "index", target.slice, frame)
    return True


S.update({
    ast.FunctionDef: function_statement, ast.AsyncFunctionDef: function_statement, ast.ClassDef: class_definition,
    ast.Import: import_statement, ast.ImportFrom: import_from, ast.Assign: assignment,
    ast.AnnAssign: annotated_assignment, ast.AugAssign: augmented, ast.Expr: expression, ast.Return: returned,
    ast.Raise: raised, ast.Assert: asserted, ast.If: conditional, ast.With: with_block, ast.AsyncWith: with_block,
    ast.Try: try_block, ast.Delete: deleted,
})  # fmt: skip
if hasattr(ast, "TryStar"):
    S[ast.TryStar] = try_block
