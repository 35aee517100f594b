"""How a hazard is shown, on a device that does nothing before it is waited for."""

from __future__ import annotations

import copy
import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from syncfinder.runtime.fixture import Hazard, Seen, Verdict, compare, marks, statement_starts
from syncfinder.runtime.hazards import Bench, Outcome, Shown, show, twin_agrees

FUNCTIONS = """\
def read_early(device, seed):
    host = [0, 0]
    device.copy(host, [seed, 2])
    return list(host)  # expect: SF501


def read_early_fixed(device, seed):
    host = [0, 0]
    device.copy(host, [seed, 2])
    device.wait()
    return list(host)


def read_twice(device, seed):
    host = [0]
    device.copy(host, [seed])
    first = host[0]  # expect: SF501
    return (
        first,
        host[0],
    )  # expect: SF501


def overwritten(device, seed):
    source, targets = [0], [[0], [0]]
    for target in targets:
        source[0] += seed  # expect: SF502
        device.copy(target, source)
    device.wait()
    return [target[0] for target in targets]


def handed_on(device, seed):
    block = [seed]
    target = [0]
    device.copy(target, block)  # expect: SF503
    block[0] = 0
    return target


def unmarked(device, seed):
    host, other = [0], [0]
    device.copy(host, [seed])
    device.copy(other, [seed])
    a = host[0]
    device.started = True
    b = other[0]  # expect: SF501
    return a, b


def marked_in_vain(device, seed):
    host = [0]
    device.copy(host, [seed])
    device.wait()
    return list(host)  # expect: SF501


def raises(device, seed):
    return seed + "1"  # expect: SF603


def raises_fixed(device, seed):
    return seed + 1


def raises_elsewhere(device, seed):
    text = "1"
    return seed + text


def too_early(device, seed):
    host = []
    device.copy(host, [seed])
    return host.index(seed)  # expect: SF602


def never_the_same(device, seed):
    device.count += 1
    return device.count


def on_a_side_stream(device, seed):
    host = [0]
    device.side = True
    device.copy(host, [seed])
    return list(host)  # expect: SF503
"""


class Late:
    """Does what it is asked for when it is waited for; on a side stream, in its second schedule only."""

    schedules = ("first", "second")

    def __init__(self) -> None:
        self.queue: list[Callable[[], None]] = []
        self.schedule: str | None = None
        self.side = False
        self.count = 0

    def start(self, schedule: str) -> None:
        self.schedule, self.side = schedule, False

    def lag(self) -> None:
        if self.side and self.schedule == "first":
            self.wait()

    @property
    def used_other_streams(self) -> bool:
        return self.side

    def wait(self) -> None:
        for work in self.queue:
            work()
        self.queue = []

    def copy(self, target: list[Any], source: list[Any]) -> None:
        self.queue.append(lambda: target.__setitem__(slice(None), source))

    def keep(self, value: Any) -> Any:
        return copy.deepcopy(value)

    def same(self, a: Any, b: Any) -> bool:
        return bool(a == b)


@pytest.fixture
def bench(tmp_path: Path) -> Callable[[str], Bench]:
    path = tmp_path / "functions.py"
    path.write_text(FUNCTIONS, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("functions", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    def make(name: str) -> Bench:
        device = Late()
        function = getattr(module, name)
        return Bench(name, lambda seed: function(device, seed), str(path), statement_starts(FUNCTIONS), device, 7)

    return make


def line(text: str, after: str) -> int:
    """Return the number of the first line with a text after the one that has another."""
    lines = FUNCTIONS.split("\n")
    start = next(n for n, row in enumerate(lines) if after in row)
    return next(n for n, row in enumerate(lines[start:], start + 1) if text in row)


def shown(bench: Bench) -> Shown:
    starts = statement_starts(FUNCTIONS)
    return show(bench, {starts[number]: number for number in marks(FUNCTIONS)})


def test_a_premature_read_shows_with_a_wait_before_it(bench: Callable[[str], Bench]) -> None:
    found = shown(bench("read_early"))
    assert found.hazards == [Hazard(4, "read_early", "wait before")]
    assert found.faults == []
    assert found.right.value == [7, 2]


def test_each_mark_is_shown_for_itself(bench: Callable[[str], Bench]) -> None:
    found = shown(bench("read_twice"))
    assert [(h.line, h.shown_by) for h in found.hazards] == [
        (line("first = host[0]", "def read_twice"), "wait before"),
        (line(")  # expect", "def read_twice"), "wait before"),
    ]
    assert found.faults == []


def test_an_overwritten_source_shows_in_the_second_round(bench: Callable[[str], Bench]) -> None:
    found = shown(bench("overwritten"))
    assert [(h.line, h.shown_by) for h in found.hazards] == [(line("source[0] +=", "def overwritten"), "wait before")]
    assert (found.faults, found.right.value) == ([], [7, 14])


def test_parts_of_an_outcome() -> None:
    value = {"a": (1, [2, 3]), "b": [(4, "x"), [5]], "c": []}
    assert Outcome(value).parts() == {
        ("a", 0): 1,
        ("a", 1): [2, 3],
        ("b", 0, 0): 4,
        ("b", 0, 1): "x",
        ("b", 1): [5],
    }
    failed = Outcome(error="ValueError", line=3)
    assert failed.parts() == {(): failed}


def test_what_is_handed_on_too_early_shows_with_a_wait_after_it(bench: Callable[[str], Bench]) -> None:
    found = shown(bench("handed_on"))
    assert [(h.line, h.shown_by) for h in found.hazards] == [(line("device.copy", "def handed_on"), "wait after")]
    assert found.faults == []


def test_a_hazard_without_a_mark_is_a_fault(bench: Callable[[str], Bench]) -> None:
    found = shown(bench("unmarked"))
    assert [h.line for h in found.hazards] == [line("b = other[0]", "def unmarked")]
    assert found.faults == ["unmarked has a hazard that is not marked: more waits change what it returns"]


def test_a_mark_where_a_wait_changes_nothing_is_not_shown(bench: Callable[[str], Bench]) -> None:
    assert shown(bench("marked_in_vain")).hazards == []


def test_a_marked_line_that_raises_in_any_case_shows_by_that(bench: Callable[[str], Bench]) -> None:
    found = shown(bench("raises"))
    assert [(h.line, h.shown_by) for h in found.hazards] == [(line("seed +", "def raises"), "error")]
    assert found.faults == []
    assert shown(bench("raises_elsewhere")).faults == ["raises_elsewhere raised TypeError"]


def test_a_line_that_raises_because_it_is_early_shows_by_the_outcome(bench: Callable[[str], Bench]) -> None:
    found = shown(bench("too_early"))
    assert [h.shown_by for h in found.hazards] == ["wait before"]
    assert (found.faults, found.right.value) == ([], 0)


def test_what_differs_from_run_to_run_is_not_right(bench: Callable[[str], Bench]) -> None:
    assert shown(bench("never_the_same")).faults == [
        "never_the_same has a hazard that is not marked: more waits change what it returns",
    ]


def test_other_streams_are_late_in_a_schedule_of_their_own(bench: Callable[[str], Bench]) -> None:
    found = shown(bench("on_a_side_stream"))
    assert [h.shown_by for h in found.hazards] == ["wait before"]
    assert found.faults == []


def test_a_twin_gives_what_is_right(bench: Callable[[str], Bench]) -> None:
    right = shown(bench("read_early")).right
    assert twin_agrees(bench("read_early_fixed"), right)
    assert not twin_agrees(bench("read_early"), right)
    assert twin_agrees(bench("raises_fixed"), shown(bench("raises")).right)
    assert not twin_agrees(bench("raises_elsewhere"), shown(bench("raises")).right)


TEXT = """\
def f():
    done.synchronize()  # expect: SF403
    return host.tolist()  # expect: SF501
"""


def compared(waited: list[int], hazards: list[int]) -> list[str]:
    found = Verdict("f.py", "", marks(TEXT), [Seen(n, [], True, True) for n in waited])
    found.hazards = [Hazard(n, "f", "wait before") for n in hazards]
    compare(found, TEXT)
    return found.faults


def test_marks_are_compared_by_what_must_show_them() -> None:
    assert compared([2], [3]) == []
    assert compared([2, 3], [3]) == ["line 3 waited and is not marked as a wait"]
    assert compared([2], []) == ["line 3 is marked and shows no hazard"]
    assert compared([], [3]) == ["line 2 is marked and did not wait"]


@pytest.mark.parametrize(("slow", "faults"), [([2], []), ([1], ["line 2 is marked and costs the host nothing"])])
def test_a_cost_is_compared_with_slow_lines(slow: list[int], faults: list[str]) -> None:
    text = "def f():\n    x = rows.pin_memory()  # expect: SF505\n    return x\n"
    found = Verdict("f.py", "", marks(text), slow=slow)
    compare(found, text)
    assert found.faults == faults
