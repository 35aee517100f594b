"""`match` statements: patterns as tests and as bindings."""

from __future__ import annotations

import ast

from syncfinder.infer.dispatch import S, evaluate, run_block
from syncfinder.infer.frame import Env, Frame, join_envs
from syncfinder.infer.narrow import narrow, test
from syncfinder.infer.reading import read_any
from syncfinder.infer.values import UNKNOWN, Sequence, Value


def pattern_test(pattern: ast.pattern, subject: ast.expr) -> ast.expr | None:
    """Return the test that a pattern makes of its subject, where narrowing understands it."""
    made: ast.expr
    if isinstance(pattern, ast.MatchAs) and pattern.pattern is not None:
        return pattern_test(pattern.pattern, subject)
    if isinstance(pattern, ast.MatchClass):
        made = ast.Call(ast.Name("isinstance", ast.Load()), [subject, pattern.cls], [])
    elif isinstance(pattern, ast.MatchValue):
        made = ast.Compare(subject, [ast.Eq()], [pattern.value])
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
        if isinstance(case.pattern, ast.MatchValue):
            read_any(value, "truth", "case", node.subject, frame)
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


S[ast.Match] = match_block
