"""The fixtures that are written from the probes: they are those of the probes as they stand, and few are left out."""

from __future__ import annotations

import ast

import pytest

from forms import (
    CHANGES,
    FIXTURES,
    form_of,
    forms,
    function_of,
    left_out,
    needed,
    needs_more,
    shape,
    texts,
    together,
    written,
)
from syncfinder.runtime.fixture import marks
from syncfinder.runtime.probes import Probe


def test_the_files_are_those_of_the_probes() -> None:
    """If not: run `python tests/forms.py`, then `syncfinder verify` on a GPU."""
    expected = {path: content(text) for path, text in texts()}
    assert {path: content(path.read_text(encoding="utf-8")) for path in FIXTURES.glob("*/forms.py")} == expected


def content(text: str) -> tuple[str, dict[int, list[str]]]:
    """What a file says, whatever quotes a version of Python writes."""
    return ast.dump(ast.parse(text)), marks(text)


def kept(setup: str, judged: str) -> list[str]:
    return written(needed(ast.parse(setup).body, ast.parse(judged).body))


def test_a_form_has_the_set_up_that_it_needs() -> None:
    setup = "a = make()\nb = a + 1\nc = make()\nb.fill_(0)\nc.fill_(0)\nbegin()"
    assert kept(setup, "b.item()") == ["a = make()", "b = a + 1", "b.fill_(0)", "begin()"]
    assert kept(setup, "x.item()") == ["begin()"]


def test_what_was_freed_is_needed_where_nothing_is_named() -> None:
    setup = "a = make()\nb = make()\nb = None\nc = make()\ndel c"
    assert kept(setup, "empty_cache()") == ["b = make()", "b = None", "c = make()", "del c"]
    assert kept(setup, "a.item()") == ["a = make()"]


def probe(before: str, run: str) -> Probe:
    return Probe("made.toml", before, run)


SETUP = """\
x = torch.randn(64, 8, device=d)
y = torch.zeros(3, device=d)
host = torch.zeros(3)
ids = [1, 2]
rows = np.array([1, 2])
"""


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("x.sum(0)", "y.sum(1)", True),
        ("x.sum(0)", "host.sum(0)", False),
        ("x[ids]", "y[ids]", True),
        ("x[ids]", "x[rows]", False),
        ("x[[0, 1]]", "x[0]", False),
        ("x[[0, 1]]", "x[[2]]", False),
        ("torch.tensor([1, 2], device=d)", "torch.tensor([[3]], device=d)", True),
        ("torch.tensor([1, 2], device=d)", "torch.tensor(ids, device=d)", False),
        ("x.sum(keepdim=True)", "x.sum(keepdim=False)", False),
        ("x.sum(dim=0)", "x.sum(0)", False),
    ],
)
def test_what_makes_two_probes_one_form(one: str, other: str, same: bool) -> None:
    shapes = [shape(form_of(probe(SETUP, run), True, True, 0.0, 6.0)) for run in (one, other)]
    assert (shapes[0] == shapes[1]) is same


@pytest.mark.parametrize(
    "text", ["x.fill_(0)", "torch.add(x, x, out=y)", "F.relu(x, inplace=True)", "torch.cuda.empty_cache()"]
)
def test_what_changes_its_inputs(text: str) -> None:
    assert CHANGES.search(text)


def test_a_form_may_need_another_package() -> None:
    runs = ["x.sum()", "box(x)", "torchvision.ops.nms(x, x, 0.5)"]
    before = SETUP + "import torchvision\nfrom collections import deque as box\n"
    assert [needs_more(form_of(probe(before, run), True, True, 0.0, 6.0)) for run in runs] == [False, False, True]


def test_forms_with_the_same_inputs_share_a_function() -> None:
    runs = ["x.sum().item()", "y.item()", "x.fill_(0)", "x.tolist()", "x = x.cpu()"]
    found = [form_of(probe(SETUP, run), True, True, 0.0, 6.0) for run in runs]
    found[0].codes = {1: ["SF101"]}
    groups = together(found)
    assert [[form.probe.run for form in group] for group in groups] == [
        ["x.sum().item()", "x.tolist()"],
        ["y.item()"],
        ["x.fill_(0)"],
        ["x = x.cpu()"],
    ]
    assert function_of(groups[0]) == (
        f"def probe_{found[0].probe.key}():\n"
        "    x = torch.randn(64, 8, device='cuda')\n"
        "    x.sum().item()  # expect: SF101\n"
        "    x.tolist()"
    )


def test_what_is_left_out_is_a_probe() -> None:
    runs = {form.run for form in forms()}
    assert [run for _, run in left_out() if run not in runs] == []
