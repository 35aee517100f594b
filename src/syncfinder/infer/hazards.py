"""Asynchronous hazards: what the evaluator tells of copies and of the host's accesses, and what it found out too early.

`pending` holds the idea; here its actions are made, and the sites published that come of them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from syncfinder.infer.buffers import Buffer, Buffers, Origin
from syncfinder.infer.frame import CONFIDENCE
from syncfinder.infer.names import last_name, path_of
from syncfinder.infer.pending import (
    CURRENT,
    EVERYTHING,
    HERE,
    MAX_LOG,
    NOWHERE,
    OUTSIDE,
    Action,
    Launch,
    Make,
    Names,
    Order,
    Record,
    Start,
    Touch,
    Work,
    Yield,
    act,
    distinct,
    flow_of,
)
from syncfinder.infer.values import (
    CERTAIN,
    CPU,
    CUDA,
    LIKELY,
    Array,
    Library,
    Mapping,
    Sequence,
    Tensor,
    Union,
    UnknownValue,
    Value,
)
from syncfinder.sites.site import CONFIDENCES

if TYPE_CHECKING:
    from syncfinder.infer.calls import Arguments
    from syncfinder.infer.frame import Frame
    from syncfinder.infer.values import Function
    from syncfinder.sites.site import Site

# Unknown functions: those named so may wait; those named so keep what they are given, and read it later.
WAITING = re.compile(r"sync|wait|barrier|join|finish|flush|result|block|drain|complete|done", re.IGNORECASE)
KEEPING = re.compile(
    r"^(put|append|add|push|send|submit|enqueue|register|set|store|save|update|insert|extend|setattr|call_soon|put_nowait"
    r"|record_stream|[A-Z_])"
)


def made_at(node: ast.AST, frame: Frame) -> Origin:
    """Return the origin of what an expression makes."""
    return ("site", frame.module.filename, getattr(node, "lineno", 0), getattr(node, "col_offset", 0))


def fresh_buffer(node: ast.expr, frame: Frame) -> Buffers:
    """Return the buffer that an expression makes."""
    origin = made_at(node, frame)
    act(frame, Make(origin))
    return frozenset((Buffer(origin),))


def start_copy(source: Tensor, buffers: Buffers | None, to_host: bool, node: ast.expr, frame: Frame) -> None:
    """An asynchronous copy between a host buffer and the GPU is queued. `source`: the tensor on the GPU."""
    if buffers is None or len(buffers) != 1 or (not source.place & CUDA and not frame.project.assume_cuda):
        return
    words = "the copy to the host starts here" if to_host else "the copy to the GPU starts here"
    sure = max(source.sure, CERTAIN if source.place == CUDA else LIKELY)
    (buffer,) = buffers
    act(frame, Start(Work(buffer, to_host, frame.stream, frame.reason(words, node)[0], sure)))


def host_access(
    buffers: Buffers, writes: bool, operation: str, node: ast.expr | ast.stmt, frame: Frame, **facts: Any
) -> None:
    """The host reads or writes memory: a hazard if a stream is not known to be done with it."""
    if frame.muted:
        return
    kind = "early-write" if writes else "early-read"
    site = frame.site(kind, node, operation, None, CERTAIN, facts)
    touch(Touch(buffers, writes, site, frame.module, frame.function), frame, None)


def read_operand(tensor: Tensor, operation: str, node: ast.expr, frame: Frame) -> None:
    """A tensor whose memory is followed is read: by the host, or by the current stream."""
    if tensor.buffers is None:
        return
    if tensor.place & CPU:
        host_access(tensor.buffers, False, operation, node, frame)
    else:
        stream_access(tensor, False, operation, node, frame)


def write_operand(tensor: Tensor, operation: str, node: ast.expr | ast.stmt, frame: Frame) -> None:
    """A tensor whose memory is followed is written: by the host, or by the current stream."""
    if tensor.buffers is None:
        return
    if tensor.place == CPU:
        host_access(tensor.buffers, True, operation, node, frame)
    elif not tensor.place & CPU:
        stream_access(tensor, True, operation, node, frame)


def stream_access(tensor: Tensor, writes: bool, operation: str, node: ast.expr | ast.stmt, frame: Frame) -> None:
    """The current stream is to read or write GPU memory: a hazard if nothing orders it after another's work there."""
    flow = flow_of(frame)
    buffers = tensor.buffers or frozenset()
    if frame.muted or not frame.tracks or len(flow.open) > MAX_WORK or len(buffers) != 1:
        return
    (buffer,) = buffers
    crossed = flow.crossing(buffer, writes, frame.stream) if not buffer.several else []
    if crossed:
        work = crossed[0]
        sure = max(work.sure, tensor.sure)
        site = frame.site("cross-stream", node, operation, None, sure, {"use": "write" if writes else "read"})
        publish(replace(site, why=(work.reason,), related=(work.reason,)), frame)
        act(frame, Order(frame.stream, other=work.stream), told=False)
    give(tensor, buffer, writes, node, frame)


def give(tensor: Tensor, buffer: Buffer, writes: bool, node: ast.AST, frame: Frame) -> None:
    """The current stream is given an access to GPU memory."""
    reason = frame.reason("another stream writes it here" if writes else "another stream reads it here", node)[0]
    sure = CERTAIN if tensor.place == CUDA else LIKELY
    act(frame, Start(Work(buffer, writes, frame.stream, reason, sure, host=False)), told=False)


def speaks_of_streams(function: Function) -> bool:
    """Return whether a function's source speaks of streams."""
    node = function.node
    lines = function.module.file.lines[node.lineno - 1 : node.end_lineno or node.lineno]
    return any("stream" in line.lower() for line in lines)


MAX_WORK = 96  # what a function leaves open; past that, GPU memory is not followed


def publish(site: Site, frame: Frame) -> None:
    if frame.module.checked:
        frame.module.add_site(site, frame.function, called=True)


def bound(value: Tensor, node: ast.Assign, frame: Frame) -> Tensor:
    """Follow the GPU memory of a tensor that torch has just made, where it gets a name."""
    source = node.value
    if frame.stream != CURRENT and type(source) is ast.Call:
        drops_source(node, source, frame)
    new = frame.made is source or type(source) is ast.BinOp
    if not new or value.buffers is not None or value.place & CPU or not value.waits or frame.muted:
        return value
    buffers = fresh_buffer(source, frame)
    (buffer,) = buffers
    if not is_bare(source):
        give(value, buffer, True, source, frame)
    return value.but(buffers=buffers)


def is_bare(source: ast.expr) -> bool:
    """Return whether memory is only allocated (torch.empty, x.new_empty): nothing is written there."""
    return isinstance(source, ast.Call) and "empty" in last_name(source.func)


def launch_copy(node: ast.expr, frame: Frame) -> None:
    """A copy on a side stream of which it is not known between which memory."""
    reason = frame.reason("the copy starts here", node)[0]
    buffer = Buffer(("copy", *made_at(node, frame)))
    act(frame, Start(Work(buffer, True, frame.stream, reason, LIKELY, host=False)), told=False)


@dataclass(frozen=True, slots=True)
class Suspect:
    """What is a hazard unless the rest of the function mends it. `subject`: the event, or the source's path."""

    site: Site
    subject: Any
    works: tuple[Work, ...] = ()


def drops_source(node: ast.Assign, source: ast.Call, frame: Frame) -> None:
    """`self.x = self.x.to("cpu", non_blocking=True)` on a side stream drops what the copy reads."""
    target, func = node.targets[0], source.func
    if not (isinstance(target, ast.Attribute) and isinstance(func, ast.Attribute) and func.attr == "to"):
        return
    path = path_of(target)
    works = [w for w in flow_of(frame).open if w.host and w.writes and w.reason.line == source.lineno]
    if path is None or path != path_of(func.value) or frame.muted or not works:
        return
    site = frame.site("cross-stream", source, "Tensor.to", None, LIKELY, {"use": "freed"})
    frame.suspects.append(Suspect(site, path, tuple(works)))


def kept_for(tensor: Tensor, stream: Origin, receiver: ast.expr, node: ast.expr, frame: Frame) -> None:
    """record_stream: the memory is kept for a stream, unless it is the one that made it."""
    path = path_of(receiver)
    frame.kept.add(path)
    if frame.muted or stream != frame.stream or stream == CURRENT or tensor.buffers is None:
        return
    made = [w for w in flow_of(frame).open if w.writes and w.buffer in tensor.buffers]
    if made and all(w.stream == stream for w in made):
        site = frame.site("cross-stream", node, "Tensor.record_stream", None, LIKELY, {"use": "own stream"})
        publish(replace(site, why=(made[0].reason,), related=(made[0].reason,)), frame)


def asked(event: Origin, node: ast.expr, frame: Frame) -> None:
    """An event is waited for, asked or timed: a hazard if nothing in the function that makes it records it."""
    if event[0] == "site" and not frame.muted and Make(event) in frame.log:
        site = frame.site("unrecorded-event", node, "torch.cuda.Event", None, CERTAIN, {})
        frame.suspects.append(Suspect(site, event))


def recorded(stream: Origin, node: ast.expr, frame: Frame) -> None:
    """An event is recorded: on the wrong stream, if the last copy went to another and nothing else covers it."""
    flow = flow_of(frame)
    latest = flow.latest
    if frame.muted or latest is None or latest == CURRENT or not distinct(stream, latest):
        return
    works = [w for w in flow.open if w.stream == latest and w not in flow.ordered_before(stream)]
    copies = [w for w in works if w.buffer.origin[0] == "copy" or (w.host and w.buffer.origin[0] != "event")]
    if copies and not any(w in covered for w in copies for covered in flow.covered.values()):
        site = frame.site("wrong-stream-record", node, "torch.cuda.Event.record", None, LIKELY, {})
        frame.suspects.append(Suspect(site, latest, tuple(copies)))


def conclude(frame: Frame) -> None:
    """Publish what the rest of the function has not mended."""
    flow = flow_of(frame)
    records = [a for a in frame.log if isinstance(a, Record)]
    vague = len(frame.log) > MAX_LOG or any(r.stream is None or r.event[0] != "site" for r in records)
    events = {r.event for r in records}
    mended = flow.ordered_before(CURRENT).union(*flow.covered.values()) | (flow.done - frame.overtaken)
    for suspect in frame.suspects:
        site = suspect.site
        if site.kind == "unrecorded-event":
            if not vague and suspect.subject not in events:
                frame.module.sites.pop(("event-wait", site.span), None)  # it does not wait
                publish(site, frame)
        elif suspect.subject not in frame.kept and not mended.intersection(suspect.works):
            reason = suspect.works[0].reason
            publish(replace(site, why=(reason,), related=(reason,)), frame)


def touch(action: Touch, frame: Frame, call: ast.expr | None) -> None:
    """Apply the host's access, and publish it where a stream is not done; `call`: the call in which it happens."""
    works = action.overtaken(flow_of(frame))
    if works:
        work = works[0]
        frame.overtaken.update(works)
        site = found(action, work)
        if action.module.checked:
            action.module.add_site(site, action.function, called=True)
        elif call is not None and action.module.library and frame.module.checked:
            frame.module.add_site(replace(site, **place_of(call, frame)), frame.function, called=True)
    act(frame, action)


def place_of(node: ast.expr, frame: Frame) -> dict[str, Any]:
    return {
        "span": frame.module.span(node),
        "statement": frame.module.header(frame.statement, node),
        "function": frame.qualname,
    }


def found(action: Touch, work: Work) -> Any:
    """Return the site of a hazard: with the copy that it comes too early for."""
    site = action.site
    sure = min(site.confidence, CONFIDENCE[work.sure], key=CONFIDENCES.index)
    facts = {**site.facts, "copy": "to-host" if work.writes else "to-device"}
    return replace(site, confidence=sure, why=(work.reason,), related=(work.reason,), facts=facts)


def replay(
    value: Value, log: tuple[Action, ...], function: Function, arguments: Arguments, node: ast.expr, frame: Frame
) -> Value:
    """Apply a callee's actions in the caller; return its result in the caller's names."""
    if len(log) == 1 and log[0] is HERE and frame.stream == CURRENT:
        act(frame, HERE)
        return value
    names = names_of(value, log, function, arguments, node, frame)
    manager = any(d.rpartition(".")[2] in MANAGERS for d in function.decorators)
    for position, action in enumerate(log):
        if manager and isinstance(action, Yield):
            frame.exits[id(node)] = tuple(a.renamed(names) for a in log[position + 1 :])
            break
        apply(action.renamed(names), node, frame)
    return returned(value, names)


MANAGERS = {"contextmanager", "asynccontextmanager"}


def apply(action: Action, node: ast.expr, frame: Frame) -> None:
    if isinstance(action, Touch):
        touch(action, frame, node)
    else:
        act(frame, action)


def leave(node: ast.expr, frame: Frame) -> None:
    """Apply what a context manager does when its block is left."""
    for action in frame.exits.pop(id(node), ()):
        apply(action, node, frame)


def names_of(
    value: Value, log: tuple[Action, ...], function: Function, arguments: Arguments, node: ast.expr, frame: Frame
) -> Names:
    """Return what the callee's names are to the caller."""
    args = function.node.args
    plain = [a.arg for a in (*args.posonlyargs, *args.args)]
    values: dict[str, Value] = dict(zip(plain, arguments.values, strict=False))
    values.update(arguments.keywords)
    nodes: dict[str, ast.expr | None] = dict(zip(plain, arguments.nodes, strict=False))
    nodes.update(arguments.keyword_nodes)
    if plain and nodes.get(plain[0]) is None and isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        nodes[plain[0]] = node.func.value

    made = {a.origin for a in log if isinstance(a, Make)}
    fresh = {b.origin for b in held_in(value) if b.origin in made} if made else set()

    def origin(given: Origin) -> Origin:
        if given == CURRENT:
            return frame.stream
        if given[0] == "param":
            return origin_of(values.get(given[1]), nodes.get(given[1]))
        if given[0] == "path":
            head, dot, rest = given[1].partition(".")
            if head in values:
                where = nodes.get(head)
                path = path_of(where) if where is not None else None
                return ("path", path + dot + rest) if path is not None else NOWHERE
        return given

    def buffer(given: Buffer) -> Buffer:
        if given.origin in fresh:  # each call makes its own
            return given._replace(origin=("call", *made_at(node, frame), given.origin))
        if given.origin[0] == "event":
            return given._replace(origin=("event", *origin(given.origin[1:])))
        if given.origin[0] != "param":
            return given
        held = buffers_of(values.get(given.origin[1]))
        if held is None or len(held) != 1:
            return Buffer(("lost", id(node), *given.origin))
        (own,) = held
        return Buffer(own.origin, own.several or given.several, own.part or given.part)

    return Names(origin, buffer)


def buffers_of(value: Value | None) -> Buffers | None:
    return value.buffers if isinstance(value, (Tensor, Array)) else None


def origin_of(value: Value | None, node: ast.expr | None) -> Origin:
    """Return where a stream or an event comes from: what made it, else the path that names it here."""
    if isinstance(value, Library) and value.origin is not None:
        return value.origin
    path = path_of(node) if node is not None else None
    return ("path", path) if path is not None else NOWHERE


def as_parameter(value: Value, name: str) -> Value:
    """Return an argument as the callee knows it: its buffer or its event is the parameter's."""
    if isinstance(value, (Tensor, Array)):
        if value.buffers is None:
            return value
        named = frozenset((Buffer(("param", name)),))
        if isinstance(value, Array):
            return Array(value.scalar, named)
        return value.but(buffers=named if value.place & CPU else None)
    if isinstance(value, Library) and value.origin is not None:
        return Library(value.name, value.init, value.why, ("param", name))
    return value


def held_in(value: Value) -> Iterator[Buffer]:
    """Yield the buffers of all tensors that a value is made of."""
    if isinstance(value, (Tensor, Array)):
        yield from value.buffers or ()
    elif isinstance(value, (Sequence, Mapping, Union)):
        parts: Iterable[Value] = value.members if isinstance(value, Union) else value.items or ()
        for part in value.items.values() if isinstance(value, Mapping) and value.items else parts:
            yield from held_in(part)
        if not isinstance(value, Union) and value.element is not None:
            yield from held_in(value.element)


def returned(value: Value, names: Names) -> Value:
    """Return a callee's result in the caller's names: a parameter's buffer is the argument's."""
    if isinstance(value, Library) and value.origin is not None:
        return Library(value.name, value.init, value.why, names.origin(value.origin))
    if next(held_in(value), None) is None:
        return value
    if isinstance(value, (Tensor, Array)):
        own = frozenset(map(names.buffer, value.buffers or ()))
        return Array(value.scalar, own) if isinstance(value, Array) else value.but(buffers=own)
    if isinstance(value, Sequence):
        items = None if value.items is None else tuple(returned(v, names) for v in value.items)
        return Sequence(value.kind, items, None if value.element is None else returned(value.element, names))
    if isinstance(value, Mapping):
        named = None if value.items is None else {k: returned(v, names) for k, v in value.items.items()}
        element = None if value.element is None else returned(value.element, names)
        return Mapping(named, element, value.empty)
    return Union(tuple(returned(v, names) for v in value.members)) if isinstance(value, Union) else value


def handed(func: ast.expr, arguments: Arguments, node: ast.expr, frame: Frame) -> None:
    """An unknown function is called: it may record events, and read what it is given."""
    if frame.muted:
        return
    name = last_name(func)
    if WAITING.search(name):
        act(frame, EVERYTHING)
        return
    flow = flow_of(frame)
    act(frame, Record(OUTSIDE, None))
    act(frame, Launch(frame.stream), told=False)
    for value, where in arguments.every():
        if isinstance(value, Library) and value.name.endswith("Event"):
            act(frame, Record(origin_of(value, where), None))
    keeps = KEEPING.match(name) or any(speaks_of_order(v, n) for v, n in arguments.every())
    for value, where in arguments.every():
        held = buffers_of(value)
        if held is None or (isinstance(value, Tensor) and value.place != CPU):
            continue
        site = frame.site("early-read", where or node, ast.unparse(func), None, LIKELY, {"call": True})
        action = Touch(held, False, site, frame.module, frame.function)
        works = action.overtaken(flow)
        covered = any(work in c for work in works for c in flow.covered.values())
        if works and not keeps and not covered:
            touch(action, frame, None)
        else:
            act(frame, action)


def speaks_of_order(value: Value, node: ast.expr | None) -> bool:
    """Return whether an argument may order the work: an event, a stream, something that is called back."""
    if isinstance(value, Library):
        return True
    return isinstance(value, UnknownValue) and node is not None and bool(ORDERING.search(last_name(node)))


ORDERING = re.compile(r"event|stream|done|ready|sync|handle|callback|future", re.IGNORECASE)
