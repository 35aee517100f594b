"""SF401 to SF405: the host waits for completion itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import libcst as cst

from syncfinder.rules.wording import FamilyVisitor, Spot, Wording, Words, atom, code, last_name


def _owner(spot: Spot, name: str) -> str:
    """Return the source of the stream or event that is waited for."""
    call = spot.call((name,))
    if call is not None and isinstance(call.func, cst.Attribute):
        return atom(call.func.value)
    return spot.text


def _what(spot: Spot) -> str:
    call = spot.call()
    return code(call) if call is not None else spot.text


def _device(spot: Spot) -> Words:
    message = f"`{_what(spot)}`: the host waits until all streams of the device are done"
    return message, (
        "order the work on the device (`stream.wait_event(event)`), or wait for one event: `event.record()` after the "
        "work "
        "that matters, `event.synchronize()` just before its result is read"
    )


def _stream(spot: Spot) -> Words:
    stream = _owner(spot, "synchronize")
    message = f"`{stream}`: the host waits until all work on this stream is done"
    return message, (
        f"if the next user is on the GPU, `torch.cuda.current_stream().wait_stream({stream})` orders without the host; "
        "if the host reads a copy, wait for an event recorded right after the copy"
    )


def _event(spot: Spot) -> Words:
    event = _owner(spot, "synchronize")
    message = f"`{event}`: the host waits until this event has happened"
    return message, (
        f"if the next user is on the GPU, `torch.cuda.current_stream().wait_event({event})` orders without the host; "
        "if the host reads a copy, queue the next step's work before this line"
    )


def _cache(spot: Spot) -> Words:
    message = f"`{_what(spot)}`: the host waits for the device before cached memory is released"
    return message, "leave the memory to the caching allocator; release it only between phases, outside the hot path"


# Object collectives and the tensor collectives that carry the same data without the host.
_TENSOR_FORMS = {
    "all_gather_object": "all_gather_into_tensor",
    "broadcast_object_list": "broadcast",
    "gather_object": "gather",
    "scatter_object_list": "scatter",
}


def _collective(spot: Spot) -> Words:
    call = spot.call()
    name = last_name(call.func) if call is not None else ""
    message = f"`{_what(spot)}`: the host waits for the other ranks"
    if name in _TENSOR_FORMS and call is not None:
        form = code(call.func).removesuffix(name) + _TENSOR_FORMS[name]
        return (
            message,
            f"`{form}` on tensors only queues work; Python objects can go over a CPU group, outside the hot path",
        )
    if name in ("barrier", "monitored_barrier"):
        return message, "tensor collectives order the ranks by themselves; keep barriers outside the hot path"
    return message, "use tensor collectives, which only queue work on the stream"


class Waits(FamilyVisitor):
    """Words the waits for completion."""

    WORDING: ClassVar[Mapping[str, Wording]] = {
        "device-wait": _device,
        "stream-wait": _stream,
        "event-wait": _event,
        "cache-wait": _cache,
        "collective": _collective,
    }
