"""Rewrites of waits for completion: none where the next line waits anyway, a narrower one, or events that measure."""

from __future__ import annotations

from collections.abc import Mapping

import libcst as cst

from syncfinder.rules.rewrites.operands import inside, short, text
from syncfinder.rules.rewrites.rewrite import TORCH, Rewrite, Rewriter, remove, replace, source
from syncfinder.rules.wording import Spot, dotted, last_name

_TIMERS = ("perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns", "time", "time_ns")
_READS = ("item", "tolist", "cpu")


def _device(spot: Spot) -> Rewrite | None:
    """`torch.cuda.synchronize()`, a statement of its own."""
    call, statement = spot.node, spot.parent
    if not isinstance(call, cst.Call) or not isinstance(statement, cst.Expr):
        return None
    previous, following = _neighbours(spot, statement)
    measured = _measured(following)
    if measured is not None:
        return Rewrite(measured, "display-only")
    for line in (following, previous):
        read = _first_call(line, _READS)
        if read is not None:
            said = f"`{short(source(read))}` waits for the current stream itself: leave out the wait beside it"
            return Rewrite(f"{said}; unsafe: no other stream's work may be needed", "unsafe", (remove(statement),))
    ended = _first_call(following, ("elapsed_time",))
    if ended is not None and len(ended.args) == 1:
        code = f"{text(ended.args[0].value)}.synchronize()"
        needs = "the first event must be recorded before it, on the same stream"
        return Rewrite(f"`{code}` waits for that event only; unsafe: {needs}", "unsafe", (replace(call, code),))
    return _narrowed(call)


def _narrowed(call: cst.Call) -> Rewrite | None:
    module = {"torch.cuda.synchronize": "torch.cuda", "torch.accelerator.synchronize": "torch.accelerator"}
    owner = module.get(dotted(call.func))
    if owner is None or len(call.args) > 1:
        return None
    code = f"{owner}.current_stream({', '.join(text(arg.value) for arg in call.args)}).synchronize()"
    said = f"`{code}` waits for one stream only"
    return Rewrite(f"{said}; unsafe: no other stream's work may be needed", "unsafe", (replace(call, code),), TORCH)


def _neighbours(spot: Spot, statement: cst.Expr) -> tuple[cst.CSTNode | None, cst.CSTNode | None]:
    """Return the statements in front of and behind one, in the same block."""
    holder = next((p for p in spot.parents if isinstance(p, cst.BaseCompoundStatement)), None)
    block = getattr(holder, "body", None)
    if not isinstance(block, cst.IndentedBlock):
        return None, None
    lines = list(block.body)
    at = next(
        (n for n, line in enumerate(lines) if isinstance(line, cst.SimpleStatementLine) and statement in line.body),
        None,
    )
    if at is None:
        return None, None
    return lines[at - 1] if at > 0 else None, lines[at + 1] if at + 1 < len(lines) else None


def _first_call(line: cst.CSTNode | None, names: tuple[str, ...]) -> cst.Call | None:
    """Return the first call of one of these functions or methods in a simple statement."""
    if not isinstance(line, cst.SimpleStatementLine):
        return None
    return next((call for call in inside(line, cst.Call) if last_name(call.func) in names), None)


def _measured(following: cst.CSTNode | None) -> str | None:
    """Return the code that measures with events, where a timer is read behind the wait."""
    timer = _first_call(following, _TIMERS)
    if timer is None or timer.args or not isinstance(following, cst.SimpleStatementLine):
        return None
    statement = following.body[0]
    value = statement.value if isinstance(statement, (cst.Assign, cst.Return)) else None
    target = last_name(statement.targets[0].target) if isinstance(statement, cst.Assign) else ""
    if value is timer and target:
        lines = [f"{target}_event = torch.cuda.Event(enable_timing=True)", f"{target}_event.record()"]
        return "measure with events, which wait for nothing where they are recorded:\n" + "\n".join(lines)
    if not isinstance(value, cst.BinaryOperation) or not isinstance(value.operator, cst.Subtract):
        return None
    start = last_name(value.right)
    if value.left is not timer or not start:
        return None
    lines = [
        f"{start}_event, end_event = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)",
        f"{start}_event.record()  # in the place of `{start} = {short(source(timer))}`",
        "...  # the work that is measured",
        "end_event.record()",
        "end_event.synchronize()",
        source(statement.with_changes(value=cst.parse_expression(f"{start}_event.elapsed_time(end_event) / 1000"))),
    ]
    return "measure with events, and read them once, after the work:\n" + "\n".join(lines)


def _stream(spot: Spot) -> Rewrite | None:
    """`torch.cuda.current_stream().synchronize()`: what the host reads is behind an event."""
    call = spot.node
    owner = call.func.value if isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute) else None
    if not isinstance(owner, cst.Call) or last_name(owner.func) not in ("current_stream", "default_stream"):
        return None
    lines = [
        "done = torch.cuda.Event()",
        f"done.record({text(owner)})  # right behind the copy that the host reads",
        "...  # queue other work here",
        "done.synchronize()  # where the copy is read",
    ]
    return Rewrite("wait for the one copy that the host reads, later:\n" + "\n".join(lines), "display-only")


REWRITERS: Mapping[str, Rewriter] = {"device-wait": _device, "stream-wait": _stream}
