"""Rewrites of tests of a tensor: the choice, the check and the bound stay on the device.

`decide` is shared with the reads: `if flag.item():` tests what `if flag:` tests.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import libcst as cst

from syncfinder.rules.rewrites.operands import known, plain_index, pure, same, short, string, text, tight
from syncfinder.rules.rewrites.rewrite import TORCH, Change, Rewrite, Rewriter, replace, source
from syncfinder.rules.wording import Spot, last_name, on_torch, positional, receiver

_REDUCTIONS = ("any", "all", "isfinite", "isnan", "isinf")


@dataclass(frozen=True, slots=True)
class Condition:
    """A tensor that is tested. `holder` tests it; `host` is the test that Python makes before it (`host and tensor`).

    `tensor` is the tested tensor as a node, `code` its code without a read to the host; `boolean` tells that it is
    known to be of dtype bool. `negated`: the holder goes on where the tensor is false.
    """

    spot: Spot
    holder: cst.If | cst.IfExp | cst.Assert
    tensor: cst.BaseExpression
    code: str
    negated: bool
    boolean: bool
    host: cst.BaseExpression | None

    @property
    def mask(self) -> str:
        """The code of the condition as a bool tensor, whether it is negated or not."""
        return self.code if self.boolean else f"{self._tight} != 0"

    def outcome(self, wanted: bool) -> str:
        """Return the code of a tensor that is true where the holder's test comes out as `wanted`."""
        if self.negated is not wanted:
            return self.code
        return f"~{self._tight}" if self.boolean else f"{self._tight} == 0"

    @property
    def _tight(self) -> str:
        return tight(cst.parse_expression(self.code))


def _truth(spot: Spot) -> Rewrite | None:
    node = spot.node
    if not isinstance(node, cst.BaseExpression):
        return None
    return decide(spot, node, 0, text(node), spot.site.dtype == "bool" or is_bool(node))


def is_bool(node: cst.BaseExpression) -> bool:
    if isinstance(node, cst.Comparison):
        return True
    return isinstance(node, cst.Call) and last_name(node.func) in _REDUCTIONS


def decide(spot: Spot, tensor: cst.BaseExpression, depth: int, code: str, boolean: bool) -> Rewrite | None:
    """Return the rewrite of the test of `tensor`, which is the spot's node or its ancestor number `depth - 1`."""
    condition = _condition(spot, tensor, depth, code, boolean)
    if condition is None:
        return None
    if isinstance(condition.holder, cst.IfExp):
        return _ternary(condition, condition.holder)
    if isinstance(condition.holder, cst.Assert):
        return _assertion(condition, condition.holder)
    return _branch(condition, condition.holder)


def _condition(spot: Spot, tensor: cst.BaseExpression, depth: int, code: str, boolean: bool) -> Condition | None:
    """Climb from the tensor to what tests it, through `not` and through an `and` that the tensor ends."""
    negated, host = False, None
    child: cst.CSTNode = tensor
    for parent in spot.parents[depth:]:
        if isinstance(parent, cst.UnaryOperation) and isinstance(parent.operator, cst.Not) and host is None:
            negated = not negated
        elif isinstance(parent, cst.BooleanOperation) and isinstance(parent.operator, cst.And) and host is None:
            if parent.right is not child:
                return None
            host = parent.left
        elif isinstance(parent, (cst.If, cst.IfExp, cst.Assert)) and parent.test is child:
            return Condition(spot, parent, tensor, code, negated, boolean, host)
        else:
            return None
        child = parent
    return None


# A choice between two values.


def _ternary(condition: Condition, choice: cst.IfExp) -> Rewrite | None:
    chosen = _choice(condition, choice.body, choice.orelse)
    if chosen is None:
        return None
    code, decided = chosen
    if condition.host is not None:
        if not pure(choice.orelse):
            return None
        code = f"{code} if {source(condition.host)} else {source(choice.orelse)}"
    return _offered(condition, code, decided, (replace(choice, code),))


def _choice(condition: Condition, body: cst.BaseExpression, orelse: cst.BaseExpression) -> tuple[str, bool] | None:
    """Return `torch.where(…)` for two values, and whether enough is known of them; None where they are no tensors."""
    if not (pure(body) and pure(orelse)) or _is_part(body, orelse) or _is_part(orelse, body):
        return None
    spot = condition.spot
    kinds = [known(spot, body), known(spot, orelse)]
    if any(k.kind not in ("tensor", "number", None) or k.place == "cpu" for k in kinds):
        return None
    sides = [text(body), text(orelse)]
    if condition.negated:
        sides.reverse()
    decided = any(k.kind == "tensor" for k in kinds) and all(k.kind for k in kinds) and not spot.site.ndim
    return f"torch.where({condition.mask}, {sides[0]}, {sides[1]})", decided


def _is_part(part: cst.BaseExpression, whole: cst.BaseExpression) -> bool:
    """Tell whether one value is a slice of the other, and so of another shape."""
    return isinstance(part, cst.Subscript) and same(part.value, whole)


def _offered(condition: Condition, code: str, decided: bool, changes: tuple[Change, ...]) -> Rewrite:
    said = f"`{short(code)}` chooses on the device; both sides are computed, and their gradients"
    if not decided:
        return Rewrite(f"{said}: only where both are tensors of one shape and dtype", "display-only")
    zero = "" if condition.spot.site.ndim == 0 else f"`{short(condition.code)}` must be 0-dim, and "
    needs = f"{zero}both sides need one shape and dtype"
    return Rewrite(f"{said}; unsafe: {needs}", "unsafe", changes, TORCH)


# Statements.


def _branch(condition: Condition, statement: cst.If) -> Rewrite | None:
    """Rewrite an `if` that is whole in sight and no `elif`."""
    if any(isinstance(p, cst.If) and p.orelse is statement for p in condition.spot.parents):
        return None
    body = _lines(statement.body)
    if body is None:
        return None
    if statement.orelse is None:
        return (
            _check(condition, statement, body)
            or _fills(condition, statement, body)
            or _bounded(condition, statement, body)
            or _changed(condition, statement, body)
        )
    other = _lines(statement.orelse.body) if isinstance(statement.orelse, cst.Else) else None
    return _either(condition, statement, body, other) if other is not None else None


def _lines(block: cst.BaseSuite) -> list[cst.BaseSmallStatement] | None:
    """Return a block's simple statements, one a line; None where there are others."""
    if isinstance(block, cst.SimpleStatementSuite):
        return list(block.body) if len(block.body) == 1 else None
    found = []
    for line in block.body:
        if not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1:
            return None
        found.append(line.body[0])
    return found


def _whole(condition: Condition, statement: cst.If, codes: list[str]) -> Change:
    """Put lines in the place of the `if`; its comments stay in front of them, the last line's behind it."""
    return replace(statement, "\n".join([*_comments(statement), *codes]))


def _comments(statement: cst.If) -> list[str]:
    """Return the comments inside of an `if` that would be lost, without the one at its end."""
    found: list[str] = []
    branches: list[cst.If | cst.Else] = [statement]
    if isinstance(statement.orelse, cst.Else):
        branches.append(statement.orelse)
        found += [line.comment.value for line in statement.orelse.leading_lines if line.comment is not None]
    for branch in branches:
        if not isinstance(branch.body, cst.IndentedBlock):
            continue
        if branch.body.header.comment is not None:
            found.append(branch.body.header.comment.value)
        for line in branch.body.body:
            if isinstance(line, cst.SimpleStatementLine):
                found += [empty.comment.value for empty in line.leading_lines if empty.comment is not None]
                comment = line.trailing_whitespace.comment
                last = branch is branches[-1] and line is branch.body.body[-1]
                if comment is not None and not last:
                    found.append(comment.value)
    return found


def _check(condition: Condition, statement: cst.If, body: list[cst.BaseSmallStatement]) -> Rewrite | None:
    """`if bad.any(): raise ValueError("…")`."""
    if len(body) != 1 or not isinstance(body[0], cst.Raise) or not isinstance(body[0].exc, cst.Call):
        return None
    first = positional(body[0].exc)
    checked = _asserted(condition.outcome(False), first[0].value if first else None)
    if condition.host is None:
        return _offered_check(checked, (_whole(condition, statement, [checked]),))
    changes = (replace(statement.test, source(condition.host)), replace(body[0], checked))
    return _offered_check(checked, changes)


def _assertion(condition: Condition, statement: cst.Assert) -> Rewrite | None:
    checked = _asserted(condition.outcome(True), statement.msg)
    if condition.host is not None:
        return None
    return _offered_check(checked, (replace(statement, checked),))


def _asserted(code: str, message: cst.BaseExpression | None) -> str:
    said = string(message)
    return f"torch._assert_async({code}, {said})" if said is not None else f"torch._assert_async({code})"


def _offered_check(checked: str, changes: tuple[Change, ...]) -> Rewrite:
    return Rewrite(
        f"`{short(checked)}` checks on the device; unsafe: the error comes later, as a device-side assertion that "
        "breaks the CUDA context, and the function is private",
        "unsafe",
        changes,
        TORCH,
    )


def _fills(condition: Condition, statement: cst.If, body: list[cst.BaseSmallStatement]) -> Rewrite | None:
    """`if mask.any(): x[mask] = 0`: a mask without a true element fills nothing."""
    mask = _any_of(condition.tensor)
    if mask is None or condition.negated:
        return None
    fills = [_filled(condition.spot, line, mask) for line in body]
    if not all(fills):
        return None
    spot = condition.spot
    certain = known(spot, mask).dtype == "bool" and all(
        known(spot, target).kind == "tensor" and known(spot, target).place != "cpu" for target in fills if target
    )
    codes = [source(line) for line in body]
    changes: tuple[Change, ...]
    if condition.host is not None:
        changes = (replace(statement.test, source(condition.host)),)
    else:
        changes = (_whole(condition, statement, codes),)
    said = f"`{short(codes[0])}` does nothing where `{short(text(mask))}` has no true element: leave out the test"
    if certain:
        return Rewrite(said, "safe", changes)
    return Rewrite(f"{said}; unsafe: `{short(text(mask))}` must be a bool tensor on the GPU", "unsafe", changes)


def _any_of(node: cst.BaseExpression) -> cst.BaseExpression | None:
    """Return the mask of `mask.any()`, `torch.any(mask)`, `mask.sum() > 0`, if it is a name."""
    if isinstance(node, cst.Comparison) and len(node.comparisons) == 1:
        target = node.comparisons[0]
        zero = isinstance(target.comparator, cst.Integer) and target.comparator.evaluated_value == 0
        found = _reduced(node.left, "sum")
        return found if zero and isinstance(target.operator, (cst.GreaterThan, cst.NotEqual)) else None
    return _reduced(node, "any")


def _reduced(node: cst.BaseExpression, name: str) -> cst.BaseExpression | None:
    if not isinstance(node, cst.Call) or last_name(node.func) != name:
        return None
    owner = receiver(node)
    if owner is None:
        owner = node.args[0].value if on_torch(node) and len(node.args) == 1 else None
    elif node.args:
        return None
    return owner if isinstance(owner, (cst.Name, cst.Attribute)) and pure(owner) else None


def _filled(spot: Spot, line: cst.BaseSmallStatement, mask: cst.BaseExpression) -> cst.BaseExpression | None:
    """Return what a statement fills with a number where the mask is true: `x[mask] = 0`, `x.masked_fill_(mask, 0)`."""
    if isinstance(line, cst.Expr) and isinstance(line.value, cst.Call):
        owner, values = receiver(line.value), positional(line.value)
        if last_name(line.value.func) != "masked_fill_" or owner is None or len(values) != len(line.value.args) != 2:
            return None
        target, index, number = owner, values[0].value, values[1].value
    elif isinstance(line, cst.Assign) and len(line.targets) == 1 and isinstance(line.targets[0].target, cst.Subscript):
        subscript = line.targets[0].target
        part = subscript.slice[0].slice
        if len(subscript.slice) != 1 or not isinstance(part, cst.Index):
            return None
        target, index, number = subscript.value, part.value, line.value
    else:
        return None
    plain = pure(target) and same(index, mask) and not same(target, mask) and _is_number(spot, number)
    return target if plain else None


def _is_number(spot: Spot, node: cst.BaseExpression) -> bool:
    if isinstance(node, cst.UnaryOperation):
        return _is_number(spot, node.expression)
    if isinstance(node, cst.Call):
        infinite = isinstance(node.func, cst.Name) and node.func.value == "float" and len(node.args) == 1
        return infinite and isinstance(node.args[0].value, cst.SimpleString)
    return known(spot, node).kind == "number" or source(node) in ("torch.inf", "torch.nan", "math.inf", "math.nan")


# `if clip > 1: x = clip * x`: with the factor bounded at 1, where a product changes nothing, no test is needed.
_NEUTRAL: dict[type[cst.CSTNode], int] = {
    cst.Multiply: 1, cst.Divide: 1, cst.Add: 0, cst.Subtract: 0,
    cst.MultiplyAssign: 1, cst.DivideAssign: 1, cst.AddAssign: 0, cst.SubtractAssign: 0,
}  # fmt: skip
_ONE_SIDED = (cst.Divide, cst.Subtract)
_ABOVE = (cst.GreaterThan, cst.GreaterThanEqual)
_BELOW = (cst.LessThan, cst.LessThanEqual)


@dataclass(frozen=True, slots=True)
class _Bound:
    """`tensor > limit` (`above`), or `tensor < limit`; the limit is a number of the host."""

    tensor: cst.BaseExpression
    limit: cst.BaseExpression
    above: bool

    def clamp(self, keyword: str) -> str:
        return f"{text(self.tensor)}.clamp({keyword}={text(self.limit)})"


def _bounded(condition: Condition, statement: cst.If, body: list[cst.BaseSmallStatement]) -> Rewrite | None:
    """`if f > 1: x = f * x`, `if x > k: x = k`."""
    if len(body) != 1 or condition.negated:
        return None
    bound = _compared(condition.spot, condition.tensor)
    if bound is None:
        return None
    code = _capped(body[0], bound)
    needs = f"`{short(text(bound.tensor))}` must not be NaN"
    if code is None:
        code = _scaled(body[0], bound)
        needs += ", and must not change the result's dtype"
    if code is None:
        return None
    changes: tuple[Change, ...]
    if condition.host is not None:
        changes = (replace(statement.test, source(condition.host)), replace(body[0], code))
    else:
        changes = (_whole(condition, statement, [code]),)
    return Rewrite(f"`{short(code)}` needs no test; unsafe: {needs}", "unsafe", changes)


def _compared(spot: Spot, test: cst.BaseExpression) -> _Bound | None:
    if not isinstance(test, cst.Comparison) or len(test.comparisons) != 1:
        return None
    operator = test.comparisons[0].operator
    if not isinstance(operator, (*_ABOVE, *_BELOW)):
        return None
    left, right, above = _unread(test.left), _unread(test.comparisons[0].comparator), isinstance(operator, _ABOVE)
    if known(spot, left).kind == "number":
        left, right, above = right, left, not above
    if known(spot, right).kind != "number" or not isinstance(left, (cst.Name, cst.Attribute)) or not pure(left):
        return None
    return _Bound(left, right, above)


def _unread(node: cst.BaseExpression) -> cst.BaseExpression:
    """Return `t` of `t.item()`."""
    if isinstance(node, cst.Call) and last_name(node.func) == "item" and not node.args:
        return receiver(node) or node
    return node


def _capped(line: cst.BaseSmallStatement, bound: _Bound) -> str | None:
    """`x = k` behind `if x > k`."""
    if not isinstance(line, cst.Assign) or len(line.targets) != 1 or not same(line.value, bound.limit):
        return None
    target = line.targets[0].target
    return f"{source(target)} = {bound.clamp('max' if bound.above else 'min')}" if same(target, bound.tensor) else None


def _scaled(line: cst.BaseSmallStatement, bound: _Bound) -> str | None:
    """`x = f * x` and `x *= f` behind `if f > 1`."""
    factor, clamped = bound.tensor, bound.clamp("min" if bound.above else "max")
    if not isinstance(bound.limit, (cst.Integer, cst.Float)):
        return None
    limit = bound.limit.evaluated_value
    if isinstance(line, cst.AugAssign):
        if _NEUTRAL.get(type(line.operator)) != limit or not same(line.value, factor) or same(line.target, factor):
            return None
        return f"{source(line.target)}{source(line.operator)}{clamped}"
    if not isinstance(line, cst.Assign) or len(line.targets) != 1 or not isinstance(line.value, cst.BinaryOperation):
        return None
    operation, target = line.value, line.targets[0].target
    if _NEUTRAL.get(type(operation.operator)) != limit or same(target, factor):
        return None
    operator = source(operation.operator)
    if same(operation.right, factor) and same(operation.left, target):
        return f"{source(target)} = {source(operation.left)}{operator}{clamped}"
    swapped = same(operation.left, factor) and same(operation.right, target)
    if not swapped or isinstance(operation.operator, _ONE_SIDED):
        return None
    return f"{source(target)} = {clamped}{operator}{source(operation.right)}"


def _changed(condition: Condition, statement: cst.If, body: list[cst.BaseSmallStatement]) -> Rewrite | None:
    """`if c: y = f(y)`: the last line changes one value, lines before it only name numbers."""
    *names, last = body
    for line in names:
        if not isinstance(line, cst.Assign) or len(line.targets) != 1 or not _names_a_number(condition, line):
            return None
    assigned = _assigned(last)
    if assigned is None:
        return None
    target, value = assigned
    chosen = _choice(condition, value, target)
    if chosen is None:
        return None
    code = f"{source(target)} = {chosen[0]}"
    changes: tuple[Change, ...]
    if condition.host is not None:
        changes = (replace(statement.test, source(condition.host)), replace(last, code))
    else:
        changes = (_whole(condition, statement, [*(source(line) for line in names), code]),)
    return _offered(condition, code, chosen[1], changes)


def _names_a_number(condition: Condition, line: cst.Assign) -> bool:
    """Tell whether a line binds a name that is not bound in front of the `if`, to a number."""
    target = line.targets[0].target
    if (
        not isinstance(target, cst.Name)
        or not pure(line.value)
        or target.value in condition.spot.site.facts.get("names", {})
    ):
        return False
    return known(condition.spot, line.value).kind == "number"


def _assigned(line: cst.BaseSmallStatement) -> tuple[cst.BaseExpression, cst.BaseExpression] | None:
    """Return (target, value) of an assignment to one place that may be read as well: a name, or a tensor's slice."""
    if not isinstance(line, cst.Assign) or len(line.targets) != 1:
        return None
    target = line.targets[0].target
    if isinstance(target, (cst.Name, cst.Attribute)) or (isinstance(target, cst.Subscript) and plain_index(target)):
        return target, line.value
    return None


def _either(
    condition: Condition, statement: cst.If, body: list[cst.BaseSmallStatement], other: list[cst.BaseSmallStatement]
) -> Rewrite | None:
    """`if c: y = a` `else: y = b`, and the same with `return`."""
    if len(body) != 1 or len(other) != 1 or condition.host is not None:
        return None
    if isinstance(body[0], cst.Return) and isinstance(other[0], cst.Return):
        if body[0].value is None or other[0].value is None:
            return None
        start, values = "return ", (body[0].value, other[0].value)
    else:
        first, second = _assigned(body[0]), _assigned(other[0])
        if first is None or second is None or not same(first[0], second[0]):
            return None
        start, values = f"{source(first[0])} = ", (first[1], second[1])
    chosen = _choice(condition, *values)
    if chosen is None:
        return None
    code = start + chosen[0]
    return _offered(condition, code, chosen[1], (_whole(condition, statement, [code]),))


REWRITERS: Mapping[str, Rewriter] = {"truth": _truth}
