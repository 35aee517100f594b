"""The code of a read that does not wait where it stands: copy early into pinned memory, read after an event.

`.to("cpu", non_blocking=True)` followed by a read is never suggested: nothing tells when that copy has arrived.
"""

from __future__ import annotations

import re

import libcst as cst

from syncfinder.rules.rewrites.operands import COMPREHENSIONS, inside, is_path, short, text
from syncfinder.rules.rewrites.rewrite import Rewrite, source
from syncfinder.rules.wording import Spot, last_name

_HOST_ENDING = re.compile(r"_(cpu|host|list|np|numpy|value)$")
_MAX_STATEMENT = 160


def late(
    spot: Spot, tensor: cst.BaseExpression, read: cst.BaseExpression, *, dtype: str | None = None, keep: bool = False
) -> Rewrite | None:
    """Return the complete code, with the user's names, that reads `tensor` late. `read` is the expression that waits.

    Shown only: a person has to find the place where the value is needed. `keep`: a tensor may do there as well.
    """
    if _is_local(spot, tensor):
        return None
    name = name_of(tensor) or _target_name(spot) or "value"
    host, event = f"{name}_host", f"{name}_copied"
    lines = []
    code = text(tensor)
    if not is_path(tensor):
        lines.append(f"{name}_device = {code}")
        code = f"{name}_device"
    like = f"{code}, dtype={dtype}" if dtype is not None else code
    lines += [
        f'{host} = torch.empty_like({like}, device="cpu", pin_memory=True)',
        f"{host}.copy_({code}, non_blocking=True)",
        f"{event} = torch.cuda.Event()",
        f"{event}.record()",
        "...  # queue other work here",
        f"{event}.synchronize()",
        _use(spot, tensor, read, host),
    ]
    said = "queue the copy early, and wait for its event where the value is used:"
    if keep:
        said = f"keep `{short(text(tensor))}` on the device where a tensor will do, or {said}"
    return Rewrite("\n".join([said, *lines]), "display-only")


def _is_local(spot: Spot, tensor: cst.BaseExpression) -> bool:
    """Tell whether a tensor speaks of names that only a comprehension or a lambda around it binds."""
    scopes = [p for p in spot.parents if isinstance(p, (cst.Lambda, *COMPREHENSIONS))]
    if not scopes:
        return False
    headers = [p.params if isinstance(p, cst.Lambda) else p.for_in for p in scopes]
    bound = {name.value for header in headers for name in inside(header, cst.Name)}
    used = {name.value for name in inside(tensor, cst.Name)}
    return not bound.isdisjoint(used)


def _use(spot: Spot, tensor: cst.BaseExpression, read: cst.BaseExpression, host: str) -> str:
    """Return the statement that reads the host's copy; the read alone where the statement is long."""
    used = _swapped(read, tensor, host) if _reads_host_form(read) else host
    kinds = (cst.Assign, cst.AnnAssign, cst.Return, cst.Expr)
    statement = next((p for p in spot.parents if isinstance(p, kinds)), None)
    code = _swapped(statement, read, used) if statement is not None else used
    return code if "\n" not in code and len(code) <= _MAX_STATEMENT else used


def _swapped(whole: cst.CSTNode, part: cst.CSTNode, code: str) -> str:
    """Return the code of a node with other code in the place of a part."""
    outer, inner = source(whole), source(part)
    if outer.count(inner) == 1:
        return outer.replace(inner, code)
    return source(whole.deep_replace(part, cst.parse_expression(code)))


def _reads_host_form(read: cst.BaseExpression) -> bool:
    """Tell a read that the host's copy needs too, `t.item()`, from the copy itself, `t.cpu()`."""
    return not (isinstance(read, cst.Call) and last_name(read.func) in ("cpu", "to"))


def name_of(tensor: cst.BaseExpression) -> str:
    """Return a name for what is made of a tensor: the last name in it."""
    node: cst.CSTNode = tensor
    while True:
        if isinstance(node, cst.Call):
            first = node.args[0].value if node.args else None
            owner = node.func.value if isinstance(node.func, cst.Attribute) else None
            node = first if first is not None and _is_library(owner) else owner if owner is not None else node.func
        elif isinstance(node, cst.Subscript):
            node = node.value
        elif isinstance(node, (cst.BinaryOperation, cst.Comparison)):
            node = node.left
        elif isinstance(node, cst.UnaryOperation):
            node = node.expression
        else:
            name = last_name(node)
            return name if name not in ("self", "cls") else ""


def _is_library(node: cst.CSTNode | None) -> bool:
    return isinstance(node, cst.Name) and node.value in ("torch", "F")


def _target_name(spot: Spot) -> str:
    statement = next((p for p in spot.parents if isinstance(p, cst.Assign)), None)
    if statement is None:
        return ""
    return _HOST_ENDING.sub("", last_name(statement.targets[0].target))
