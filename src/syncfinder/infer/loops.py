"""Loops: a body runs until the environment at its head no longer changes."""

from __future__ import annotations

import ast
from collections.abc import Callable

from syncfinder.infer.binding import assign
from syncfinder.infer.dispatch import S, evaluate, run_block
from syncfinder.infer.frame import Env, Frame, Loop, join_envs
from syncfinder.infer.narrow import branch, test
from syncfinder.infer.operators import iterated
from syncfinder.infer.pending import FLOW

MAX_ROUNDS = 3
MAX_NESTED = 3  # loops nested deeper than this run once: their rounds multiply


def settle(node: ast.stmt, frame: Frame, once: Callable[[], bool]) -> list[Env]:
    """Run a loop's body until the environment at its head no longer changes; return the environments that leave it."""
    loop = Loop(node)
    frame.loops.append(loop)
    frame.repeats += 1
    head = frame.env
    try:
        for _ in range(MAX_ROUNDS if len(frame.loops) <= MAX_NESTED else 1):
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
    """Return whether the names bound before a loop's body still have their values.

    Names that only the body binds do not count: Python would not find them at the start of the first round either. What
    it leaves unfinished does.
    """
    if FLOW in after and FLOW not in before:
        return False
    for name, value in before.items():
        other = after.get(name)
        if other is not value and (other is None or other.key != value.key) and not (other is None and "." in name):
            return False
    return True


def for_loop(node: ast.For | ast.AsyncFor, frame: Frame) -> bool:
    source = evaluate(node.iter, frame)
    muted = frame.muted

    def once() -> bool:
        frame.statement = node
        assign(node.target, iterated(source), frame, None)
        falls = run_block(node.body, frame)
        frame.muted = muted
        return falls

    return leave_loop(settle(node, frame, once), node.orelse, frame)


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

    ends = settle(node, frame, once)
    if endless:
        ends = ends[1:]
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


S.update({
    ast.For: for_loop, ast.AsyncFor: for_loop, ast.While: while_loop, ast.Break: broken, ast.Continue: continued,
})  # fmt: skip
