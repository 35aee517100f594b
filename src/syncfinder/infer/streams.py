"""The commented overlay of streams and events: what torch.cuda's calls do to the order of work.

From torch/cuda/streams.py and torch/csrc/cuda: an event takes what its stream was given before `record`; streams wait
for events and streams on the device, the host for events, streams and the device. What a call returns, and that the
host waits in it, is in the table.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from syncfinder.infer import elapsed
from syncfinder.infer.buffers import Origin
from syncfinder.infer.hazards import asked, made_at, origin_of, recorded
from syncfinder.infer.pending import CURRENT, Make, Order, Record, Wait, act, watch
from syncfinder.infer.values import NONE, UNKNOWN, Api, Library, Value

if TYPE_CHECKING:
    from syncfinder.infer.calls import Arguments
    from syncfinder.infer.frame import Frame

STREAM, EVENT, CONTEXT = "torch.cuda.Stream", "torch.cuda.Event", "torch.cuda.StreamContext"


def new_stream(name: str, arguments: Arguments, node: ast.expr, frame: Frame) -> Value:
    return Library(STREAM, origin=made_at(node, frame))


def new_event(name: str, arguments: Arguments, node: ast.expr, frame: Frame) -> Value:
    """An event; the constructor's options stay known: enable_timing, which is the first one of torch.cuda.Event."""
    options = dict(arguments.keywords)
    if arguments.open or (arguments.values and name == EVENT):
        options.setdefault("enable_timing", arguments.first)
    origin = made_at(node, frame)
    watch(frame)
    act(frame, Make(origin))
    return Library(EVENT, options, origin=origin)


def current_stream(name: str, arguments: Arguments, node: ast.expr, frame: Frame) -> Value:
    return Library(STREAM, origin=frame.stream)


def default_stream(name: str, arguments: Arguments, node: ast.expr, frame: Frame) -> Value:
    """The default stream is what a function is entered with, unless it says otherwise."""
    return Library(STREAM, origin=CURRENT)


def stream_context(name: str, arguments: Arguments, node: ast.expr, frame: Frame) -> Value:
    """torch.cuda.stream(s): a context manager; `torch.cuda.stream(None)` changes nothing."""
    given = arguments.get(0, "stream")
    if given is NONE:
        return Library(CONTEXT, origin=frame.stream)
    return Library(CONTEXT, origin=origin_of(given, arguments.node(0, "stream")))


def set_stream(name: str, arguments: Arguments, node: ast.expr, frame: Frame) -> Value:
    frame.stream = origin_of(arguments.get(0, "stream"), arguments.node(0, "stream"))
    return NONE


def device_module(name: str, arguments: Arguments, node: ast.expr, frame: Frame) -> Value:
    """torch.get_device_module(): where there is a GPU, torch.cuda."""
    return Api("torch.cuda")


FUNCTIONS: dict[str, Callable[[str, Arguments, ast.expr, Frame], Value]] = {
    "torch.cuda.Stream": new_stream, "torch.Stream": new_stream, "torch.cuda.Event": new_event,
    "torch.Event": new_event, "torch.cuda.current_stream": current_stream,
    "torch.accelerator.current_stream": current_stream, "torch.cuda.default_stream": default_stream,
    "torch.cuda.stream": stream_context, "torch.cuda.StreamContext": stream_context,
    "torch.cuda.set_stream": set_stream, "torch.accelerator.set_stream": set_stream,
    "torch.get_device_module": device_module,
}  # fmt: skip


def entered(value: Value, frame: Frame) -> None:
    """`with torch.cuda.stream(s)`, or `with s`: work is queued on that stream in the block."""
    if isinstance(value, Library) and value.name in (CONTEXT, STREAM) and value.origin is not None:
        frame.stream = value.origin


def method(base: Library, name: str, arguments: Arguments, node: ast.expr, frame: Frame) -> Value | None:
    """Apply what a method of a stream or an event does to the order of work; return its result where that is news."""
    receiver = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
    if name == "elapsed_time":
        for value, where in ((base, receiver), (arguments.first, arguments.node(0, "end_event"))):
            asked(origin_of(value, where), node, frame)
        elapsed.asked(base, receiver, arguments, node, frame)
    handler = HANDLERS.get((base.name.rpartition(".")[2], name))
    if handler is None:
        return None
    return handler(origin_of(base, receiver), arguments, node, frame)


def stream_given(position: int, arguments: Arguments, frame: Frame) -> Origin:
    """Return the stream that an argument names; without one, the current stream."""
    given = arguments.get(position, "stream")
    return frame.stream if given is None or given is NONE else origin_of(given, arguments.node(position, "stream"))


def record(event: Origin, arguments: Arguments, node: ast.expr, frame: Frame) -> Value | None:
    stream = stream_given(0, arguments, frame)
    elapsed.recorded(event, stream, node, frame)
    recorded(stream, node, frame)
    act(frame, Record(event, stream))
    return None


def event_waited(event: Origin, arguments: Arguments, node: ast.expr, frame: Frame) -> Value | None:
    asked(event, node, frame)
    act(frame, Wait(event=event))
    return None


def stream_waits(event: Origin, arguments: Arguments, node: ast.expr, frame: Frame) -> Value | None:
    """Event.wait(stream): the stream waits, not the host."""
    asked(event, node, frame)
    act(frame, Order(stream_given(0, arguments, frame), event=event))
    return None


def stream_waited(stream: Origin, arguments: Arguments, node: ast.expr, frame: Frame) -> Value | None:
    act(frame, Wait(stream))
    return None


def wait_stream(stream: Origin, arguments: Arguments, node: ast.expr, frame: Frame) -> Value | None:
    act(frame, Order(stream, other=stream_given(0, arguments, frame)))
    return None


def wait_event(stream: Origin, arguments: Arguments, node: ast.expr, frame: Frame) -> Value | None:
    event = origin_of(arguments.get(0, "event"), arguments.node(0, "event"))
    asked(event, node, frame)
    act(frame, Order(stream, event=event))
    return None


def record_event(stream: Origin, arguments: Arguments, node: ast.expr, frame: Frame) -> Value | None:
    """Stream.record_event(event=None): the event that it is given, or makes."""
    given = arguments.get(0, "event")
    if given is None or given is NONE:
        given = Library(EVENT, origin=made_at(node, frame))
    event = origin_of(given, arguments.node(0, "event"))
    elapsed.recorded(event, stream, node, frame)
    recorded(stream, node, frame)
    act(frame, Record(event, stream))
    return given if isinstance(given, Library) else UNKNOWN


HANDLERS: dict[tuple[str, str], Callable[[Origin, Arguments, ast.expr, Frame], Value | None]] = {
    ("Event", "record"): record, ("Event", "synchronize"): event_waited, ("Event", "query"): event_waited,
    ("Event", "wait"): stream_waits, ("Stream", "synchronize"): stream_waited, ("Stream", "query"): stream_waited,
    ("Stream", "wait_stream"): wait_stream, ("Stream", "wait_event"): wait_event,
    ("Stream", "record_event"): record_event,
}  # fmt: skip
