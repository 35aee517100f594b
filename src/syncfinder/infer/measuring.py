"""Wrong measurements: clocks of the host that are read while the GPU still works, and events that are timed too early.

A reading of a clock is a number with a `Reading`. The environment holds, under `CLOCKS`, the readings of this function
and, for each, the work that was queued since and that the host has not waited for. A difference of two readings times
the queueing, not the work, if there was such work when the later one was taken. Any wait of the host counts, and so
does a call of which it is not known what it does.

Events: what `record` queues is done when the event has happened; `elapsed_time` must not overtake it (see `pending`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from syncfinder.infer.names import last_name, path_of
from syncfinder.infer.values import CERTAIN, CUDA, LIKELY, Joining, Number, Tensor, Value, tensors

if TYPE_CHECKING:
    from syncfinder.infer.calls import Arguments
    from syncfinder.infer.frame import Frame
    from syncfinder.infer.values import Function
    from syncfinder.sites.site import Reason, Site

CLOCKS = "~clocks"  # the readings' name in an environment: no Python name
CLOCK_FUNCTIONS = frozenset({
    "time.time", "time.perf_counter", "time.monotonic", "time.time_ns", "time.perf_counter_ns", "time.monotonic_ns",
})  # fmt: skip
# What a call does, as its callers see it. Who waits at any point of it counts as waiting.
NOTHING, SUBMITS, WAITS = 0, 1, 2
# What a measurement is named where it is meant to time the host alone.
OF_THE_HOST = re.compile(r"launch|submi|dispatch|overhead|cpu|host|wall|queue|schedul|timeout|deadline", re.IGNORECASE)

Id = tuple[str, int, int]
Queued = tuple["Reason", int]  # the work that was queued, and how sure it is that it is on the GPU
NEW, WAITED = "new", "waited"
Since = Queued | str


@dataclass(frozen=True, slots=True)
class Reading:
    """A clock's reading. `late`: the earlier ones since which there was unfinished work when it was taken; `site`: what
    is wrong then."""

    ids: frozenset[Id]
    late: frozenset[Id] = frozenset()
    site: Site | None = None

    @property
    def key(self) -> Any:
        return self.ids, self.late

    def joined(self, other: Reading) -> Reading:
        """Return the reading that stands for both: late only where both are."""
        return Reading(self.ids | other.ids, self.late & other.late, self.site or other.site)


class Clocks(Joining):
    """The readings that a function has taken, each with the first work that was queued since and is not waited for.

    Without such work it is `NEW`, or `WAITED`: the host has waited since.
    """

    __slots__ = ("queued",)

    def __init__(self, queued: dict[Id, Since]) -> None:
        self.queued = queued
        self.key = ("clocks", frozenset((i, q if isinstance(q, str) else "queued") for i, q in queued.items()))

    def joined(self, other: Clocks) -> Clocks:
        """Return what holds on either path: work is unfinished only where no path has waited for it."""
        both = {**self.queued, **other.queued}
        for i in self.queued.keys() & other.queued.keys():
            a, b = self.queued[i], other.queued[i]
            both[i] = WAITED if WAITED in (a, b) else b if a == NEW else a
        return Clocks(both)


def read_clock(name: str, node: ast.expr, frame: Frame) -> Value:
    """Return what a clock gives: a number that knows when it was taken."""
    kind = "int" if name.endswith("_ns") else "float"
    if frame.muted or frame.function is None:
        return Number(kind)
    own = (frame.module.filename, node.lineno, node.col_offset)
    have = frame.env.get(CLOCKS)
    before = have.queued if isinstance(have, Clocks) else {}
    late = {i: q for i, q in before.items() if not isinstance(q, str)}
    frame.env[CLOCKS] = Clocks({**before, own: NEW})
    return Number(kind, Reading(frozenset((own,)), frozenset(late), site_of(late, name, node, frame) if late else None))


def site_of(late: dict[Id, Queued], name: str, node: ast.expr, frame: Frame) -> Site:
    queued = next(iter(late.values()))
    site = frame.site("early-clock", node, name, None, max(q[1] for q in late.values()), {})
    site.why = site.related = (queued[0],)
    return site


def measured(left: Value, right: Value, frame: Frame) -> None:
    """A difference of two readings is taken: publish it if there was unfinished work between them."""
    later = left.clock if isinstance(left, Number) else None
    earlier = right.clock if isinstance(right, Number) else None
    if later is None or earlier is None or later.site is None or frame.muted or not earlier.ids <= later.late:
        return
    statement = frame.statement
    if isinstance(statement, (ast.If, ast.While)) or (statement and OF_THE_HOST.search(ast.unparse(statement))):
        return  # it is compared with an interval, or the host's time is what is asked for
    if frame.module.checked:
        frame.module.add_site(later.site, frame.function, frame.partial)


def submitted(operands: list[Tensor], node: ast.AST, frame: Frame) -> None:
    """An operation on tensors: if one is on the GPU, work is queued there."""
    found = next((t for t in operands if t.waits), None)
    if found is not None and not frame.on_assumed_host(found):
        queue(
            max(found.sure, CERTAIN if found.place == CUDA else LIKELY), "work is queued on the GPU here", node, frame
        )


def queue(sure: int, words: str, node: ast.AST, frame: Frame) -> None:
    if frame.muted:
        return
    frame.pace = frame.pace or SUBMITS
    have = frame.env.get(CLOCKS)
    if isinstance(have, Clocks) and any(isinstance(q, str) for q in have.queued.values()):
        work = (frame.reason(words, node)[0], sure)
        frame.env[CLOCKS] = Clocks({i: work if isinstance(q, str) else q for i, q in have.queued.items()})


def waited(frame: Frame) -> None:
    """The host waits, or may: no work is unfinished any more."""
    frame.pace = WAITS
    have = frame.env.get(CLOCKS)
    if isinstance(have, Clocks) and any(q != WAITED for q in have.queued.values()):
        frame.env[CLOCKS] = Clocks(dict.fromkeys(have.queued, WAITED))


def called(pace: int, function: Function, node: ast.AST, frame: Frame) -> None:
    """A function of the project was called: it queues work, or waits."""
    if pace == WAITS and not frame.muted:
        waited(frame)
    elif pace == SUBMITS:
        queue(LIKELY, f"`{function.name}` queues work on the GPU", node, frame)


def unknown_called(func: ast.expr, arguments: Arguments, node: ast.AST, frame: Frame) -> None:
    """Something unknown was called: a module of a name that modules have queues work; anything else may wait."""
    given = [t for value, _ in arguments.every() for t in tensors(value) if t.waits]
    if given and named_like_network(func):
        submitted([t.but(sure=max(t.sure, LIKELY)) for t in given], node, frame)
    elif last_name(func) not in HARMLESS:
        waited(frame)


NETWORKS = re.compile(r"(^|_)(model|net|network|module|layer|block|encoder|decoder|unet|transformer|backbone)$")
# Methods of loggers and containers, whatever they belong to.
HARMLESS = frozenset({"append", "add", "debug", "info", "warning", "get", "setdefault", "extend", "update", "format"})


def named_like_network(func: ast.expr) -> bool:
    return NETWORKS.search(last_name(func)) is not None


def for_timing(frame: Frame) -> bool:
    """Return whether the statement that waits stands right before one that reads a clock or a pair of events.

    A function with a copy that does not wait may wait for that.
    """
    body = frame.function.node.body if frame.function is not None else None
    if not isinstance(body, list) or frame.statement is None:
        return False
    for block in blocks(body):
        if frame.statement in block:
            following = block[block.index(frame.statement) + 1 :][:1]
            simple = [s for s in following if not hasattr(s, "body")]
            if any(isinstance(part, ast.Call) and reads_time(part) for s in simple for part in ast.walk(s)):
                return not any(
                    isinstance(k, ast.keyword) and k.arg == "non_blocking" for s in body for k in ast.walk(s)
                )
    return False


def blocks(body: list[ast.stmt]) -> Iterator[list[ast.stmt]]:
    """Yield a block of statements and those inside of it."""
    yield body
    for statement in body:
        for name in ("body", "orelse", "finalbody"):
            inner = getattr(statement, name, None)
            if isinstance(inner, list) and inner and isinstance(inner[0], ast.stmt):
                yield from blocks(inner)
        for handler in getattr(statement, "handlers", ()):
            yield from blocks(handler.body)


def reads_time(call: ast.Call) -> bool:
    path = path_of(call.func) or last_name(call.func)
    return path in CLOCK_FUNCTIONS or f"time.{path}" in CLOCK_FUNCTIONS or last_name(call.func) == "elapsed_time"
