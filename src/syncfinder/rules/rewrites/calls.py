"""Rebuilding calls: arguments replaced, added and dropped, with the layout of those that stay."""

from __future__ import annotations

from collections.abc import Container

import libcst as cst

from syncfinder.rules.rewrites.rewrite import source

_BETWEEN = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
_TIGHT = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))


def own(node: cst.BaseExpression) -> str:
    """Return an expression's code without the parentheses around it, which a replacement leaves where they are."""
    return source(node.with_changes(lpar=(), rpar=()))


def expression(code: str) -> cst.BaseExpression:
    """Parse code that a rewriter has put together."""
    return cst.parse_expression(code)


def named(name: str, value: cst.BaseExpression, like: cst.Arg | None = None) -> cst.Arg:
    """Return a keyword argument, in the layout of another one."""
    arg = cst.Arg(value, keyword=cst.Name(name), equal=_TIGHT)
    return arg if like is None else arg.with_changes(comma=like.comma, whitespace_after_arg=like.whitespace_after_arg)


def by_name(call: cst.Call, parameters: tuple[str, ...]) -> dict[str, cst.Arg] | None:
    """Return the arguments by parameter, in order; None where some are starred or have no name in `parameters`."""
    found: dict[str, cst.Arg] = {}
    for position, arg in enumerate(call.args):
        if arg.star:
            return None
        if arg.keyword is not None:
            found[arg.keyword.value] = arg
        elif position < len(parameters):
            found[parameters[position]] = arg
        else:
            return None
    return found


def with_arguments(call: cst.Call, func: cst.BaseExpression, args: list[cst.Arg]) -> cst.Call:
    """Return the call of another function with other arguments, laid out as the call was."""
    if not args or not call.args:
        return call.with_changes(func=func, args=args)
    last, separator = call.args[-1], _separator(call)
    inner = [a if a is not last and isinstance(a.comma, cst.Comma) else _followed(a, separator) for a in args[:-1]]
    end = args[-1].with_changes(comma=last.comma, whitespace_after_arg=last.whitespace_after_arg)
    return call.with_changes(func=func, args=[*inner, end])


def _separator(call: cst.Call) -> cst.Comma:
    """Return what stands between two arguments of a call, without comments."""
    if len(call.args) < 2 or not isinstance(call.args[0].comma, cst.Comma):
        return _BETWEEN
    comma = call.args[0].comma
    space = comma.whitespace_after
    if isinstance(space, cst.ParenthesizedWhitespace):
        space = space.with_changes(first_line=cst.TrailingWhitespace(), empty_lines=())
    return comma.with_changes(whitespace_after=space)


def _followed(arg: cst.Arg, separator: cst.Comma) -> cst.Arg:
    return arg.with_changes(comma=separator, whitespace_after_arg=cst.SimpleWhitespace(""))


def with_keyword(call: cst.Call, name: str, value: cst.BaseExpression, drop: Container[str] = ()) -> cst.Call:
    """Return the call with a keyword argument set, where it stood or at the end, and without some others."""
    kept = [a for a in call.args if a.keyword is None or a.keyword.value not in drop]
    at = next((n for n, a in enumerate(kept) if a.keyword is not None and a.keyword.value == name), None)
    if at is None:
        kept.append(named(name, value))
    else:
        kept[at] = named(name, value, kept[at])
    return with_arguments(call, call.func, kept)
