"""SF601 to SF604: the wrong moment is timed, or the host waits only to time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import libcst as cst

from syncfinder.rules.wording import FamilyVisitor, Spot, Wording, Words, atom, code


def _call(spot: Spot) -> str:
    call = spot.call()
    return code(call) if call is not None else spot.text


def _clock(spot: Spot) -> Words:
    since = f" (see line {spot.site.related[0].line})" if spot.site.related else ""
    clock = f"`{_call(spot)}` is read while the GPU still works{since}"
    return f"{clock}: the time leaves out what is only queued by then", (
        "time the work with a pair of events (`enable_timing=True`), or wait for it before the clock is read: "
        "`torch.cuda.synchronize()`"
    )


def _events(spot: Spot) -> tuple[str, str]:
    """The pair's sources: `start.elapsed_time(end)`."""
    call = spot.call(("elapsed_time",))
    if call is None or not isinstance(call.func, cst.Attribute):
        return spot.text, "end"
    return atom(call.func.value), code(call.args[0].value) if call.args else "end"


def _pending(spot: Spot) -> Words:
    start, end = _events(spot)
    message = f"`{_call(spot)}`: `{start}` and `{end}` are not known to have happened, and it raises if they have not"
    return message, f"call `{end}.synchronize()` before this line, or ask `{end}.query()` first"


def _untimed(spot: Spot) -> Words:
    message = f"`{_call(spot)}` raises: an event of the two was made without `enable_timing=True`"
    return message, "make both events with `torch.cuda.Event(enable_timing=True)`"


def _wait(spot: Spot) -> Words:
    message = f"`{_call(spot)}`: the host waits in hot code, only to take the time"
    return message, (
        "record events with `enable_timing=True` around the work and read `elapsed_time` one step later, or wait only "
        "when a profile is asked for"
    )


class Measurements(FamilyVisitor):
    """Words the wrong measurements."""

    WORDING: ClassVar[Mapping[str, Wording]] = {
        "early-clock": _clock,
        "early-elapsed": _pending,
        "untimed-event": _untimed,
        "timing-wait": _wait,
    }
