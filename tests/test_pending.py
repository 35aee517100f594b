"""Unfinished work: what happens to it step by step, without any code that is analysed."""

from __future__ import annotations

import pytest

from syncfinder.infer.buffers import Buffer, Origin
from syncfinder.infer.pending import (
    CURRENT,
    EMPTY,
    EVERYTHING,
    HERE,
    Flow,
    Make,
    Order,
    Record,
    Start,
    Wait,
    Work,
    alike,
    distinct,
    overlap,
)
from syncfinder.sites.site import Reason

SIDE: Origin = ("site", "a.py", 1, 0)
OTHER: Origin = ("site", "a.py", 2, 0)
NAMED: Origin = ("path", "self.stream")
DONE: Origin = ("site", "a.py", 3, 0)
HOST: Origin = ("site", "a.py", 4, 0)


def copy(stream: Origin = CURRENT, line: int = 5) -> Work:
    return Work(Buffer(HOST), True, stream, Reason("the copy", "a.py", line), 0)


def after(flow: Flow, *steps: object) -> Flow:
    for step in steps:
        flow = step.apply(flow)  # type: ignore[attr-defined]
    return flow


@pytest.mark.parametrize(
    ("steps", "finished"),
    [
        ((HERE,), True),
        ((EVERYTHING,), True),
        ((Wait(OTHER),), False),
        ((Wait(NAMED),), True),
        ((Wait(event=DONE),), False),
        ((Record(DONE, CURRENT), Wait(event=DONE)), True),
        ((Record(DONE, OTHER), Wait(event=DONE)), False),
        ((Order(OTHER, other=CURRENT), Record(DONE, OTHER), Wait(event=DONE)), True),
        ((Record(DONE, CURRENT), Order(OTHER, event=DONE), Wait(OTHER)), True),
        ((Record(OTHER, CURRENT), Wait(event=DONE)), False),
    ],
)
def test_what_finishes_a_copy_on_the_current_stream(steps: tuple[object, ...], finished: bool) -> None:
    work = copy()
    flow = after(EMPTY, Start(work), *steps)
    assert (work in flow.done, work in flow.open) == (finished, not finished)


def test_an_event_that_was_recorded_before_covers_nothing() -> None:
    work = copy()
    flow = after(EMPTY, Record(DONE, CURRENT), Start(work), Wait(event=DONE))
    assert flow.open == {work}


def test_a_wait_for_the_current_stream_leaves_a_side_stream_alone() -> None:
    work = copy(SIDE)
    assert after(EMPTY, Start(work), HERE).open == {work}
    assert after(EMPTY, Start(work), Wait(SIDE)).open == frozenset()


def test_what_one_path_has_finished_counts_as_finished() -> None:
    work, late = copy(), copy(line=6)
    started = after(EMPTY, Start(work))
    joined = after(started, HERE).joined(after(started, Start(late)))
    assert (joined.open, joined.done) == ({late}, {work})


def test_a_copy_that_starts_again_is_unfinished_again() -> None:
    work = copy()
    flow = after(EMPTY, Start(work), HERE, Start(work))
    assert (flow.open, flow.done) == ({work}, frozenset())


def test_a_buffer_that_is_made_anew_has_no_past() -> None:
    assert after(EMPTY, Start(copy()), Make(HOST)).open == frozenset()


@pytest.mark.parametrize(
    ("a", "b", "shared"),
    [
        ("", "3", True),
        (":n", "", True),
        (":n", ":m", True),
        ("0:n", ":m", True),
        (":n", "n:", False),
        ("n:", ":n", False),
        (":n", "n:m", False),
        (":n", "m:", True),
        ("i", "i", True),
        ("i", "j", False),
        ("a:b", "b:c", False),
    ],
)
def test_parts_of_a_buffer(a: str, b: str, shared: bool) -> None:
    assert overlap(Buffer(HOST, part=a), Buffer(HOST, part=b)) is shared
    assert not overlap(Buffer(HOST, part=a), Buffer(OTHER, part=b))


def test_which_streams_may_be_one_and_which_are_two() -> None:
    assert alike(SIDE, SIDE)
    assert not alike(SIDE, OTHER)
    assert alike(NAMED, CURRENT)  # a stream that is waited for may be any
    assert not alike(CURRENT, NAMED)  # one that is entered is not the one before it
    assert distinct(CURRENT, NAMED)
    assert distinct(SIDE, OTHER)
    assert not distinct(SIDE, NAMED)


def test_work_on_gpu_memory_crosses_streams_until_something_orders_them() -> None:
    made = Work(Buffer(HOST), True, SIDE, Reason("made", "a.py", 7), 0, host=False)
    flow = after(EMPTY, Start(made))
    assert flow.crossing(Buffer(HOST), False, CURRENT) == [made]
    assert flow.crossing(Buffer(HOST), False, SIDE) == []
    assert after(flow, Order(CURRENT, other=SIDE)).crossing(Buffer(HOST), False, CURRENT) == []
    assert flow.touching(Buffer(HOST), False) == []
