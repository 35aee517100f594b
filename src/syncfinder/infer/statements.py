"""Statements: bindings, branches, loops, and what leaves them."""

from __future__ import annotations

import ast
from typing import Any

from syncfinder.infer import classes, policy
from syncfinder.infer.annotations import from_annotation
from syncfinder.infer.classes import class_value, decorate
from syncfinder.infer.dispatch import S, evaluate, run_block
from syncfinder.infer.expressions import iterated, operate, path_of
from syncfinder.infer.frame import Env, Frame, Loop
from syncfinder.infer.hinting import apply_hint
from syncfinder.infer.narrow import branch, narrow, test
from syncfinder.infer.project import ImportName
from syncfinder.infer.subscripts import read_subscript, write_subscript
from syncfinder.infer.values import (
    ASSUMED,
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
    Value,
    join,
)  # fmt: skip

MAX_ROUNDS = 3


def join_env(a: Env, b: Env) -> Env:
    """Join two environments; an attribute path bound on one side only is dropped, a name is kept."""
    if a is b:
        return a
    out: Env = {}
    for name, value in a.items():
        other = b.get(name)
        if other is None:
            if "." not in name:
                out[name] = value
        else:
            out[name] = value if value is other else join(value, other)
    for name, value in b.items():
        if name not in a and "." not in name:
            out[name] = value
    return out


def join_envs(envs: list[Env]) -> Env | None:
    result: Env | None = None
    for env in envs:
        result = env if result is None else join_env(result, env)
    return result


def bind_definitions(body: list[ast.stmt], frame: Frame) -> None:
    """Bind functions and classes before the body runs, so that uses before the definition's line find them."""
    for statement in body:
        kind = type(statement)
        if kind is ast.FunctionDef or kind is ast.AsyncFunctionDef:
            function_definition(statement, frame)  # type: ignore[arg-type]
        elif kind is ast.ClassDef:
            class_definition(statement, frame)  # type: ignore[arg-type]


def function_definition(node: ast.FunctionDef | ast.AsyncFunctionDef, frame: Frame) -> bool:
    module = frame.module
    have = module.functions.get(id(node))
    closure = frame if frame.function is not None else None
    if have is None or (closure is not None and have.closure is not frame):
        prefix = f"{frame.qualname}." if frame.qualname else ""
        made = Function(node, module, f"{prefix}{node.name}", closure, None)
        made.owner = None
        decorate(made)
        if have is None or not frame.partial:
            module.functions[id(node)] = made  # the one that is analysed for itself
        have = made
    frame.env[node.name] = have
    return True


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
    """Apply the project's own decorators. A wrapper that says that it wraps the function is taken to give its results."""
    from syncfinder.infer.calls import Arguments, call_function

    frame.muted += 1
    for name in reversed(node.decorator_list):
        decorator = evaluate(name, frame)
        if isinstance(decorator, Function):
            made = call_function(decorator, Arguments([function], [None]), name, frame)
            if isinstance(made, Function) and not any(d.endswith("wraps") for d in made.decorators):
                function = made
    frame.muted -= 1
    return function


def class_definition(node: ast.ClassDef, frame: Frame) -> bool:
    prefix = f"{frame.qualname}." if frame.qualname else ""
    frame.env[node.name] = class_value(
        node, frame.module, f"{prefix}{node.name}", frame if frame.function is not None else None
    )
    return True


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
    for target in node.targets:
        assign(target, value, frame, node.value)
    return True


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
    if (
        value is UNKNOWN
        or (value is NONE and said is not UNKNOWN)
        or (isinstance(value, Sequence) and value.items == ())
    ):
        return said if value is not NONE else join(said, NONE)
    if isinstance(value, Tensor) and isinstance(said, Tensor) and said.place != ASSUMED:
        return value.but(place=said.place, why=said.why, memory=said.memory or value.memory, sure=0)
    if isinstance(value, Mapping) and value.items == {} and isinstance(said, Mapping):
        return said
    return value


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
    if isinstance(receiver, Instance) and not frame.partial:
        owner = frame.owner if frame.owner is not None and isinstance(target.value, ast.Name) else receiver.cls
        classes.record(owner, target.attr, value)


def unpack(targets: list[ast.expr], value: Value, frame: Frame, source: ast.expr | None) -> None:
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


def augmented(node: ast.AugAssign, frame: Frame) -> bool:
    target = node.target
    right = evaluate(node.value, frame)
    if isinstance(target, ast.Subscript):
        left = read_subscript(target, frame, augmented=True)
        value = operate(left, right, node.op, node, frame)
        write_subscript(target, value, node.value, frame, augmented=True)
        return True
    load = ast.copy_location(
        type(target)(**{**{f: getattr(target, f) for f in target._fields}, "ctx": ast.Load()}), target
    )
    left = evaluate(load, frame)
    if isinstance(left, Tensor) and not (isinstance(right, Tensor) and left.place != right.place):
        value = left if left.ndim is not None else left.but(ndim=None)
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
    return isinstance(body[-1], ast.Raise)


def side_context(test_node: ast.expr, body: list[ast.stmt], frame: Frame) -> str | None:
    """Return the context of a branch: on the way to a raise, or for debugging only."""
    if frame.context is not None:
        return frame.context
    if body and ends_in_raise(body):
        return "error-path"
    for part in ast.walk(test_node):
        name = part.id if isinstance(part, ast.Name) else part.attr if isinstance(part, ast.Attribute) else ""
        if name and policy.DEBUG.search(name):
            return "debug"
    return None


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
            frame.context = side_context(node.test, body, frame) if truth or ends_with_error(body) else context
            if run_block(body, frame):
                (ends if frame.muted == muted else unlikely).append(frame.env)
        frame.env, frame.context, frame.muted = saved, context, muted
    merged = join_envs(ends or unlikely)
    if merged is None:
        return False
    frame.env = merged
    return True


def ends_with_error(body: list[ast.stmt]) -> bool:
    return bool(body) and ends_in_raise(body)


def is_type_checking(node: ast.expr) -> bool:
    return (isinstance(node, ast.Name) and node.id == "TYPE_CHECKING") or (
        isinstance(node, ast.Attribute) and node.attr == "TYPE_CHECKING"
    )


def settle(frame: Frame, once: Any) -> list[Env]:
    """Run a loop's body until the environment at its head no longer changes; return the environments that leave it."""
    loop = Loop()
    frame.loops.append(loop)
    frame.repeats += 1
    head = frame.env
    try:
        for _ in range(MAX_ROUNDS):
            frame.env = dict(head)
            falls = once()
            ends = [*loop.continues, *([frame.env] if falls else [])]
            merged = join_envs([head, *ends])
            assert merged is not None
            settled = unchanged(head, merged)
            head = merged
            if settled:
                break
    finally:
        frame.loops.pop()
        frame.repeats -= 1
    return [head, *loop.breaks]


def unchanged(before: Env, after: Env) -> bool:
    """Return whether the names bound before a loop's body still have their values; names that only the body binds do not count:
    Python would not find them at the start of the first round either."""
    for name, value in before.items():
        other = after.get(name)
        if other is not value and (other is None or other.key != value.key) and not (other is None and "." in name):
            return False
    return True


def for_loop(node: ast.For | ast.AsyncFor, frame: Frame) -> bool:
    source = evaluate(node.iter, frame)

    def once() -> bool:
        frame.statement = node
        assign(node.target, iterated(source), frame, None)
        return run_block(node.body, frame)

    return leave_loop(settle(frame, once), node.orelse, frame)


def while_loop(node: ast.While, frame: Frame) -> bool:
    exits: list[Env] = []
    endless = isinstance(node.test, ast.Constant) and bool(node.test.value)
    muted = frame.muted

    def once() -> bool:
        frame.statement = node
        value = test(node.test, frame, "while")
        out = branch(node.test, value, frame, False)
        frame.muted = muted
        if out is not None:
            exits.append(out)
        env = branch(node.test, value, frame, True)
        if env is None:
            frame.muted = muted
            return False
        frame.env = env
        falls = run_block(node.body, frame)
        frame.muted = muted
        return falls

    ends = settle(frame, once)
    if endless:
        ends = ends[1:] or []
        if not ends:
            return False
    return leave_loop([*ends, *exits[-1:]], node.orelse, frame)


def leave_loop(ends: list[Env], orelse: list[ast.stmt], frame: Frame) -> bool:
    merged = join_envs(ends)
    if merged is None:
        return False
    frame.env = dict(merged)
    return run_block(orelse, frame) if orelse else True


def broken(node: ast.Break, frame: Frame) -> bool:
    if frame.loops:
        frame.loops[-1].breaks.append(frame.env)
    return False


def continued(node: ast.Continue, frame: Frame) -> bool:
    if frame.loops:
        frame.loops[-1].continues.append(frame.env)
    return False


def with_block(node: ast.With | ast.AsyncWith, frame: Frame) -> bool:
    context, place = frame.context, frame.default_place
    for item in node.items:
        value = evaluate(item.context_expr, frame)
        if isinstance(value, Device):
            frame.default_place = value.place
        if frame.context is None and is_boundary(item.context_expr):
            frame.context = "boundary"
        if item.optional_vars is not None:
            assign(item.optional_vars, entered(value, frame, item.context_expr), frame, None)
    falls = run_block(node.body, frame)
    frame.context, frame.default_place = context, place
    return falls


def is_boundary(node: ast.expr) -> bool:
    """Return whether a context manager is named as a region in which syncs are meant."""
    callee = node.func if isinstance(node, ast.Call) else node
    name = callee.attr if isinstance(callee, ast.Attribute) else callee.id if isinstance(callee, ast.Name) else ""
    return policy.BOUNDARIES.search(name) is not None


def entered(value: Value, frame: Frame, node: ast.expr) -> Value:
    from syncfinder.infer.calls import Arguments, call_function

    if isinstance(value, Instance):
        method = classes.find_method(value.cls, "__enter__")
        return call_function(method, Arguments([value], [None]), node, frame) if method is not None else value
    if isinstance(value, Sequence) and isinstance(node, ast.Call):
        return value.each()  # a generator behind contextlib.contextmanager
    return value if not isinstance(value, (Array, Class, Api)) else UNKNOWN


def try_block(node: Any, frame: Frame) -> bool:
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
        if context is None and handler.body and ends_in_raise(handler.body):
            frame.context = "error-path"
        if run_block(handler.body, frame):
            ends.append(frame.env)
        frame.context = context
    merged = join_envs(ends)
    frame.env = dict(merged) if merged is not None else dict(join_env(before, after))
    if node.finalbody and not run_block(node.finalbody, frame):
        return False
    return merged is not None


def pattern_test(pattern: ast.pattern, subject: ast.expr) -> ast.expr | None:
    """Return the test that a pattern makes of its subject, where narrowing understands it."""
    made: ast.expr
    if isinstance(pattern, ast.MatchAs) and pattern.pattern is not None:
        return pattern_test(pattern.pattern, subject)
    if isinstance(pattern, ast.MatchClass):
        made = ast.Call(ast.Name("isinstance", ast.Load()), [subject, pattern.cls], [])
    elif isinstance(pattern, ast.MatchSingleton):
        made = ast.Compare(subject, [ast.Is()], [ast.Constant(pattern.value)])
    else:
        return None
    return ast.fix_missing_locations(ast.copy_location(made, pattern))


def bind_pattern(pattern: ast.pattern, value: Value, frame: Frame) -> None:
    """Bind a pattern's names: a capture is the subject, a sequence's captures are its items."""
    if isinstance(pattern, ast.MatchAs):
        if pattern.pattern is not None:
            bind_pattern(pattern.pattern, value, frame)
        if pattern.name is not None:
            frame.env[pattern.name] = value
        return
    items = value.items if isinstance(value, Sequence) else None
    if isinstance(pattern, ast.MatchSequence) and items is not None and len(items) == len(pattern.patterns):
        for part, item in zip(pattern.patterns, items, strict=True):
            bind_pattern(part, item, frame)
        return
    for inner in ast.walk(pattern):
        name = getattr(inner, "name", None) or getattr(inner, "rest", None)
        if name and isinstance(inner, (ast.MatchAs, ast.MatchStar, ast.MatchMapping)):
            frame.env[name] = UNKNOWN


def match_block(node: ast.Match, frame: Frame) -> bool:
    """Each case sees the subject as its pattern says it is; what is left when all cases were tried falls through."""
    evaluate(node.subject, frame)
    rest = dict(frame.env)
    ends: list[Env] = []
    left = True  # whether a subject may get past the cases so far
    for case in node.cases:
        if not left:
            break
        frame.env = dict(rest)
        check = pattern_test(case.pattern, node.subject)
        if check is not None and not narrow(check, True, frame.env, frame):
            continue
        frame.muted += 1
        value = evaluate(node.subject, frame)
        frame.muted -= 1
        bind_pattern(case.pattern, value, frame)
        if case.guard is not None:
            test(case.guard, frame, "case guard")
        if run_block(case.body, frame):
            ends.append(frame.env)
        if case.guard is None:
            whole = isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None
            parts = isinstance(case.pattern, ast.MatchClass) and (case.pattern.patterns or case.pattern.kwd_patterns)
            left = not whole and (check is None or bool(parts) or narrow(check, False, rest, frame))
    merged = join_envs([rest, *ends] if left else ends)
    frame.env = dict(merged) if merged is not None else rest
    return merged is not None


def deleted(node: ast.Delete, frame: Frame) -> bool:
    for target in node.targets:
        if isinstance(target, ast.Name):
            frame.env.pop(target.id, None)
    return True


S.update({
    ast.FunctionDef: function_statement, ast.AsyncFunctionDef: function_statement, ast.ClassDef: class_definition, ast.Import: import_statement,
    ast.ImportFrom: import_from, ast.Assign: assignment, ast.AnnAssign: annotated_assignment, ast.AugAssign: augmented, ast.Expr: expression,
    ast.Return: returned, ast.Raise: raised, ast.Assert: asserted, ast.If: conditional, ast.For: for_loop, ast.AsyncFor: for_loop,
    ast.While: while_loop, ast.Break: broken, ast.Continue: continued, ast.With: with_block, ast.AsyncWith: with_block, ast.Try: try_block,
    ast.Match: match_block, ast.Delete: deleted,
})  # fmt: skip
if hasattr(ast, "TryStar"):
    S[ast.TryStar] = try_block
