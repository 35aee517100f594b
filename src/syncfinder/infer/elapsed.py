"""Pairs of events: `start.elapsed_time(end)` needs both made with timing, and both known to have happened.

What `record` queues is work on the event itself; asking for the time is a read of the host that must not overtake it.
torch/csrc/cuda/Event.cpp raises ValueError for the first, RuntimeError for the second.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from syncfinder.infer.buffers import Buffer, Origin
from syncfinder.infer.hazards import origin_of, touch
from syncfinder.infer.pending import Start, Touch, Work, act
from syncfinder.infer.torchcalls import truthy
from syncfinder.infer.values import CERTAIN, Library, Value

if TYPE_CHECKING:
    from syncfinder.infer.calls import Arguments
    from syncfinder.infer.frame import Frame

OPERATION = "Event.elapsed_time"


def recorded(event: Origin, stream: Origin, node: ast.expr, frame: Frame) -> None:
    """An event is recorded, in a module that asks events for times."""
    if "elapsed_time" in frame.module.file.text:
        reason = frame.reason("the event is recorded here", node)[0]
        act(frame, Start(Work(moment(event), True, stream, reason, CERTAIN)))


def moment(event: Origin) -> Buffer:
    """Return what stands for the time at which an event happens."""
    return Buffer(("event", *event))


def asked(start: Library, receiver: ast.expr | None, arguments: Arguments, node: ast.expr, frame: Frame) -> None:
    """`start.elapsed_time(end)`."""
    end, where = arguments.get(0, "end_event"), arguments.node(0, "end_event")
    if untimed(start) or untimed(end):
        frame.publish("untimed-event", node, OPERATION, None)
        return
    if frame.muted:
        return
    site = frame.site("early-elapsed", node, OPERATION, None, CERTAIN, {})
    for value, place in ((end, where), (start, receiver)):
        buffers = frozenset((moment(origin_of(value, place)),))
        touch(Touch(buffers, False, site, frame.module, frame.function), frame, None)


def untimed(event: Value | None) -> bool:
    """Return whether an event is known to be made without timing: its constructor was seen."""
    made = isinstance(event, Library) and event.name.endswith(".Event") and event.origin is not None
    return made and not truthy(event.init.get("enable_timing"))  # type: ignore[union-attr]
