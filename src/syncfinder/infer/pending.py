"""Unfinished work: what streams still do with which buffers, and what the host has waited for.

One idea carries all asynchronous hazards. `Work` is an access to a buffer that a stream was given and that is not
known to be done. What happens to it are `Action`s: work is started, events are recorded, streams wait for each other,
the host waits, the host touches a buffer. They are applied, in order, to the `Flow`, which lies in the environment
under `FLOW`: branches join it and loops repeat it like any name. A function's actions are its log; a call replays the
log in the caller, with the arguments' buffers and streams in the place of the parameters'.

A finished copy stays finished at a join: only what no path has waited for is reported. An event or stream of which it
is not known where it comes from may be any.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from syncfinder.infer.buffers import Buffer, Origin
from syncfinder.infer.measuring import waited
from syncfinder.infer.values import Joining

if TYPE_CHECKING:
    from syncfinder.infer.frame import Frame
    from syncfinder.infer.project import Module
    from syncfinder.infer.values import Function
    from syncfinder.sites.site import Reason, Site

FLOW = "~"  # the name of the flow in an environment: no Python name
CURRENT: Origin = ("current",)  # the stream that is current where the function is entered
NOWHERE: Origin = ("path", "?")  # an event or stream that may be any
OUTSIDE: Origin = ("outside",)  # the events that code out of sight may have recorded
MAX_LOG = 48


def alike(waited: Origin, given: Origin) -> bool:
    """Return whether two events or streams may be the same. A stream that is entered is not the one before it."""
    if waited == given or waited[0] in UNCERTAIN:
        return True
    return given[0] in UNCERTAIN and waited != CURRENT


UNCERTAIN = ("path", "param", "outside")


def distinct(a: Origin, b: Origin) -> bool:
    """Return whether two streams are known to be two."""
    return a != b and (CURRENT in (a, b) or (a[0] not in UNCERTAIN and b[0] not in UNCERTAIN))


def overlap(a: Buffer, b: Buffer) -> bool:
    """Return whether two parts share memory, as far as their indices tell: a whole does, and two from the beginning."""
    if a.origin != b.origin or not a.part or not b.part or a.part == b.part:
        return a.origin == b.origin
    (start, stop), (other_start, other_stop) = bounds(a.part), bounds(b.part)
    if not start:
        return not other_start or stop != other_start
    return not other_start and start != other_stop


def bounds(part: str) -> tuple[str, str]:
    """Return an index's first and last bound as they are written; of what is no slice, the index is the first."""
    start, _, stop = part.partition(":")
    return "" if start == "0" and stop else start, stop


@dataclass(frozen=True, slots=True)
class Work:
    """An access to a buffer by a stream. `reason` says where it was queued; `host`: the buffer is host memory."""

    buffer: Buffer
    writes: bool
    stream: Origin
    reason: Reason
    sure: int
    host: bool = True


Works = frozenset[Work]
NONE_YET: Works = frozenset()


class Flow(Joining):
    """What is unfinished at one point of a function.

    `before[s]`: the work that is done once stream s is; `covered[e]`: once event e has happened. `latest`: the stream
    that was given something last.
    """

    __slots__ = ("before", "covered", "done", "latest", "open")

    def __init__(
        self,
        open: Works = NONE_YET,
        done: Works = NONE_YET,
        before: dict[Origin, Works] | None = None,
        covered: dict[Origin, Works] | None = None,
        latest: Origin | None = None,
    ) -> None:
        self.open = open
        self.done = done
        self.before = before or {}
        self.covered = covered or {}
        self.latest = latest
        self.key = ("flow", open, done, frozenset(self.before.items()), frozenset(self.covered.items()), latest)

    def joined(self, other: Flow) -> Flow:
        """Return the flow after either of two paths: what one of them has finished counts as finished."""
        done = self.done | other.done
        return Flow(
            (self.open | other.open) - done,
            done,
            united(self.before, other.before),
            united(self.covered, other.covered),
            self.latest if self.latest == other.latest else None,
        )

    def but(self, **changes: Any) -> Flow:
        """Return a copy with some fields changed."""
        return Flow(**{name: changes.get(name, getattr(self, name)) for name in self.__slots__})

    def started(self, work: Work) -> Flow:
        """Return the flow after a stream was given work."""
        before = {**self.before, work.stream: self.before.get(work.stream, NONE_YET) | {work}}
        return self.but(open=self.open | {work}, done=self.done - {work}, before=before, latest=work.stream)

    def finished(self, works: Iterable[Work]) -> Flow:
        """Return the flow after the host has waited for work."""
        works = frozenset(works)
        return self.but(open=self.open - works, done=self.done | (works & self.open))

    def ordered_before(self, stream: Origin) -> Works:
        """Return the work that is done once a stream is that may be this one."""
        return NONE_YET.union(*(w for s, w in self.before.items() if alike(stream, s)))

    def covered_by(self, event: Origin) -> Works:
        """Return the work that is done once an event has happened that may be this one."""
        return NONE_YET.union(*(w for e, w in self.covered.items() if alike(event, e) or e[0] in UNCERTAIN))

    def crossing(self, buffer: Buffer, writes: bool, stream: Origin) -> list[Work]:
        """Return the open work of other streams on GPU memory that nothing orders before a stream's access to it."""
        before = self.ordered_before(stream)
        return [
            w
            for w in self.open
            if not w.host and (writes or w.writes) and overlap(w.buffer, buffer) and distinct(stream, w.stream)
            if w not in before
        ]

    def touching(self, buffer: Buffer, writes: bool) -> list[Work]:
        """Return the open work on host memory that a host access must not overtake: for a read, what writes there."""
        return [w for w in self.open if w.host and (writes or w.writes) and overlap(w.buffer, buffer)]


EMPTY = Flow()


def united(a: dict[Origin, Works], b: dict[Origin, Works]) -> dict[Origin, Works]:
    return a if a is b else {k: a.get(k, NONE_YET) | b.get(k, NONE_YET) for k in (*a, *b)}


@dataclass(frozen=True, slots=True)
class Names:
    """What a call gives for what the callee cannot know: the arguments' buffers and origins, and the stream."""

    origin: Callable[[Origin], Origin]
    buffer: Callable[[Buffer], Buffer]


@dataclass(frozen=True, slots=True)
class Action:
    """One step: it changes the flow, and can be told in a caller's names."""

    def apply(self, flow: Flow) -> Flow:
        """Return the flow after it."""
        raise NotImplementedError

    def renamed(self, names: Names) -> Action:
        """Return it as a caller sees it."""
        return self


@dataclass(frozen=True, slots=True)
class Make(Action):
    """A buffer is made anew: what was done to others from this place does not count for it."""

    origin: Origin

    def apply(self, flow: Flow) -> Flow:
        old = {w for w in flow.open | flow.done if w.buffer.origin == self.origin and not w.buffer.several}
        return flow.but(open=flow.open - old, done=flow.done - old) if old else flow

    def renamed(self, names: Names) -> Action:
        return Make(names.buffer(Buffer(self.origin)).origin)


@dataclass(frozen=True, slots=True)
class Start(Action):
    """A stream is given work."""

    work: Work

    def apply(self, flow: Flow) -> Flow:
        return flow.started(self.work)

    def renamed(self, names: Names) -> Action:
        work = self.work
        return Start(replace(work, buffer=names.buffer(work.buffer), stream=names.origin(work.stream)))


@dataclass(frozen=True, slots=True)
class Launch(Action):
    """A stream is given something that is not followed."""

    stream: Origin

    def apply(self, flow: Flow) -> Flow:
        return flow if flow.latest == self.stream else flow.but(latest=self.stream)

    def renamed(self, names: Names) -> Action:
        return Launch(names.origin(self.stream))


@dataclass(frozen=True, slots=True)
class Record(Action):
    """An event is recorded on a stream; on None, by code out of sight: on any."""

    event: Origin
    stream: Origin | None

    def apply(self, flow: Flow) -> Flow:
        works = flow.open if self.stream is None else flow.ordered_before(self.stream)
        have = flow.covered.get(self.event, NONE_YET)
        return flow.but(covered={**flow.covered, self.event: have | works})

    def renamed(self, names: Names) -> Action:
        return Record(names.origin(self.event), names.origin(self.stream) if self.stream is not None else None)


@dataclass(frozen=True, slots=True)
class Order(Action):
    """A stream waits for another stream, or for an event."""

    stream: Origin
    other: Origin | None = None
    event: Origin | None = None

    def apply(self, flow: Flow) -> Flow:
        works = flow.ordered_before(self.other) if self.other is not None else NONE_YET
        if self.event is not None:
            works |= flow.covered_by(self.event)
        return flow.but(before={**flow.before, self.stream: flow.before.get(self.stream, NONE_YET) | works})

    def renamed(self, names: Names) -> Action:
        other = names.origin(self.other) if self.other is not None else None
        return Order(names.origin(self.stream), other, names.origin(self.event) if self.event is not None else None)


@dataclass(frozen=True, slots=True)
class Wait(Action):
    """The host waits for a stream or an event; for neither: for everything."""

    stream: Origin | None = None
    event: Origin | None = None

    def apply(self, flow: Flow) -> Flow:
        if self.stream is not None:
            return flow.finished(flow.ordered_before(self.stream))
        return flow.finished(flow.covered_by(self.event) if self.event is not None else flow.open)

    def renamed(self, names: Names) -> Action:
        if self.stream is not None:
            return self if self is HERE and names.origin(CURRENT) == CURRENT else Wait(names.origin(self.stream))
        return Wait(event=names.origin(self.event)) if self.event is not None else self


HERE = Wait(CURRENT)
EVERYTHING = Wait()


@dataclass(frozen=True, slots=True)
class Touch(Action):
    """The host reads a buffer, or writes it. `site`: what is found in `module`, should work on it be unfinished."""

    buffers: frozenset[Buffer]
    writes: bool
    site: Site
    module: Module
    function: Function | None

    def apply(self, flow: Flow) -> Flow:
        works = [w for buffer in self.buffers for w in flow.touching(buffer, self.writes)]
        return flow.but(open=flow.open - set(works), done=flow.done | set(works)) if works else flow

    def renamed(self, names: Names) -> Action:
        return replace(self, buffers=frozenset(map(names.buffer, self.buffers)))

    def overtaken(self, flow: Flow) -> list[Work]:
        """Return the unfinished work that makes it a hazard: on every buffer that it may be.

        Of several buffers made at one place, the one that is written may be another than the one in use.
        """
        if self.writes and any(b.several for b in self.buffers):
            return []
        found = [flow.touching(buffer, self.writes) for buffer in self.buffers]
        return [works[0] for works in found] if all(found) else []


@dataclass(frozen=True, slots=True)
class Yield(Action):
    """A context manager hands over to the block of its `with`."""

    def apply(self, flow: Flow) -> Flow:
        return flow


def act(frame: Frame, action: Action, told: bool = True) -> None:
    """Apply an action to a frame's flow, and keep it for the callers if it is to be `told`."""
    if frame.muted:
        return
    if isinstance(action, Wait):
        waited(frame)
    flow = frame.env.get(FLOW)
    if flow is not None or type(action) is Start:  # nothing else changes a flow without work
        frame.env[FLOW] = action.apply(flow if isinstance(flow, Flow) else EMPTY)
    if not told:
        return
    log = frame.log
    if len(log) < MAX_LOG:
        if not log or log[-1] is not action:
            log.append(action)
    elif log[-1] is not EVERYTHING:
        log.append(EVERYTHING)  # too much for a caller to follow: it may have waited for everything


def watch(frame: Frame) -> None:
    """Have a frame note from here on what code out of sight may do."""
    frame.env.setdefault(FLOW, EMPTY)


def flow_of(frame: Frame) -> Flow:
    """Return what is unfinished at this point of a frame."""
    flow = frame.env.get(FLOW)
    return flow if isinstance(flow, Flow) else EMPTY


def copied_to_host(frame: Frame) -> bool:
    """Return whether this function has started a copy to the host, so that a wait may be for its result."""
    flow = flow_of(frame)
    return any(w.host and w.writes and w.buffer.origin[0] != "event" for w in flow.open | flow.done)
