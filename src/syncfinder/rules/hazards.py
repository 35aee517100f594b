"""SF501 to SF507: work overtakes other work that nobody has waited for, or waits although it says that it does not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import libcst as cst

from syncfinder.rules.wording import FamilyVisitor, Spot, Wording, Words, atom, code, last_name, receiver


def _owner(spot: Spot) -> str:
    """Return the source of what is read or written: the receiver of a method call, the array of a subscript."""
    node = spot.node
    if isinstance(node, cst.Call):
        owner = receiver(node)
        if owner is not None:
            return code(owner)
    return spot.text


def _related(spot: Spot) -> str:
    return f"the copy in line {spot.site.related[0].line}" if spot.site.related else "its copy"


def _read(spot: Spot) -> Words:
    what, copy = _owner(spot), _related(spot)
    if spot.site.facts.get("call"):
        call = spot.argument_of()
        taker = f"`{code(call.func)}`" if call is not None else "an unknown function"
        message = f"`{spot.text}` is given to {taker}, which may read it before {copy} is known to be done"
    else:
        message = f"the host reads `{what}` before {copy} is known to be done: the values may be old"
    return message, (
        "record an event on the copy's stream right after the copy, and call `event.synchronize()` before this line"
    )


def _write(spot: Spot) -> Words:
    what, copy = _owner(spot), _related(spot)
    if spot.site.facts.get("copy") == "to-host":
        message = f"`{what}` is written on the host while {copy} may still write it"
    else:
        message = f"`{what}` is written on the host while {copy} may still read it: the GPU may get the new values"
    return message, (
        "record an event right after the copy and call `event.synchronize()` before this line, or write to another "
        "pinned buffer in turns, each with an event of its own"
    )


def _cross(spot: Spot) -> Words:
    use, where = spot.site.facts.get("use"), _related(spot)
    if use == "freed":
        message = f"`{spot.text}`: the last reference to the source is dropped while another stream still copies it"
        return message, (
            "call `record_stream()` on the source with the copy's stream first, or keep the source under another name "
            "until the copy's event has happened"
        )
    if use == "own stream":
        call = spot.call(("record_stream",))
        owner = code(call.func.value) if call is not None and isinstance(call.func, cst.Attribute) else spot.text
        message = f"`{owner}` is recorded on the very stream that it was made on, which has no effect"
        return message, "take the consumer's stream before the `with torch.cuda.stream(…)` block, and record that one"
    verb = "written" if use == "write" else "used"
    message = f"`{spot.text}` is {verb} on this stream, and nothing orders it after the work of another ({where})"
    return message, (
        "`stream.wait_stream(other)` or `stream.wait_event(event)` before this line orders the two without the host"
    )


def _slow(spot: Spot) -> Words:
    call = spot.call()
    text = code(call) if call is not None else spot.text
    if spot.site.facts.get("way") == "to-host":
        message = f"`{text}`: the host waits in spite of `non_blocking=True`: the destination is pageable or strided"
        return message, (
            "copy into dense pinned memory (`torch.empty(…, pin_memory=True)`), record an event, read after the event"
        )
    message = f"`{text}` may make the host wait in spite of `non_blocking=True`: the source is pageable"
    owner = receiver(call) if call is not None and last_name(call.func) != "copy_" else None
    source = atom(owner) if owner is not None else "source"
    return message, (
        f"pin the source, `{source}.pin_memory()` or `pin_memory=True` where it is made, and leave it unchanged until "
        "the copy is done"
    )


def _pin(spot: Spot) -> Words:
    message = f"`{spot.text}` copies into freshly pinned memory each time"
    return message, "keep one pinned buffer (two in turns, with an event each) and write into it"


def _unrecorded(spot: Spot) -> Words:
    call = spot.call()
    owner = receiver(call) if call is not None else None
    event = code(owner) if owner is not None else spot.text
    message = f"`{event}` was never recorded: waiting for it, or asking it, says nothing"
    return message, f"`{event}.record()` on the stream of the work that matters, after that work was queued"


def _recorded(spot: Spot) -> Words:
    message = f"`{spot.text}` records on a stream that was given nothing: {_related(spot)} is on another one"
    return message, "pass the stream, `event.record(stream)`, or record inside its `with torch.cuda.stream(…)` block"


class Hazards(FamilyVisitor):
    """Words the asynchronous hazards."""

    WORDING: ClassVar[Mapping[str, Wording]] = {
        "early-read": _read,
        "early-write": _write,
        "cross-stream": _cross,
        "slow-copy": _slow,
        "pin": _pin,
        "unrecorded-event": _unrecorded,
        "wrong-stream-record": _recorded,
    }
