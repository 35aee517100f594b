"""Suppressions and hints in comments."""

from __future__ import annotations

from pathlib import Path

import pytest

from syncfinder.source.comments import Ignore, Problem, Suppressions, hints, suppressions
from syncfinder.source.file import SourceFile


def of(text: str) -> Suppressions:
    return suppressions(SourceFile(Path("/m.py"), text))


def hints_of(text: str) -> dict[int, dict[str, str]]:
    return hints(SourceFile(Path("/m.py"), text))


def on(line: int) -> range:
    return range(line, line + 1)


def test_one_comment_read_in_full() -> None:
    found = of("x = 1\nn = t.item()  # syncfinder: ignore[SF101, SF2] once per batch\n")
    text = "# syncfinder: ignore[SF101, SF2]"
    assert found.ignores == [Ignore(2, 15, 62, ("SF101", "SF2"), "once per batch", False, None, text)]
    assert found.problems == []


@pytest.mark.parametrize(
    ("comment", "codes"),
    [
        ("# syncfinder: ignore", ["SF101", "SF204"]),
        ("#syncfinder:ignore", ["SF101", "SF204"]),
        ("# syncfinder: ignore[SF101]", ["SF101"]),
        ("# syncfinder: ignore[sf1]", ["SF101"]),
        ("# syncfinder: ignore[SF101 SF204]", ["SF101", "SF204"]),
        ("# syncfinder: ignore [SF2] why", ["SF204"]),
        ("# gpu-sync-ok: needed by the scheduler", ["SF101", "SF204"]),
        ("# gpu-sync-ok", ["SF101", "SF204"]),
        ("# noqa: E501  # syncfinder: ignore[SF2]", ["SF204"]),
        ("# gpu-sync-okay: no", []),
        ("# syncfinder: ignored", []),
        ("# see the docs of syncfinder: ignore is a comment", []),
    ],
)
def test_codes_covered(comment: str, codes: list[str]) -> None:
    found = of(f"f(x)  {comment}\n")
    assert [code for code in ("SF101", "SF204") if found.covers(code, on(1))] == codes


def test_any_line_of_the_statement() -> None:
    found = of("f(\n    a,  # syncfinder: ignore[SF101]\n    b,\n)\ng(a)\n")
    assert found.covers("SF101", range(1, 5))
    assert not found.covers("SF101", on(5))
    assert not found.covers("SF102", range(1, 5))


def test_a_comment_on_its_own_line_covers_the_next_line_of_code() -> None:
    found = of("if x:\n    # syncfinder: ignore[SF101]\n    # another comment\n\n    f(x)\n    g(x)\n")
    assert [line for line in range(1, 7) if found.covers("SF101", on(line))] == [2, 5]


def test_file_wide() -> None:
    found = of("import torch\n# syncfinder: ignore-file[SF4] a benchmark\nf()\n")
    assert found.covers("SF401", on(900))
    assert not found.covers("SF101", on(3))
    assert found.ignores[0].whole_file
    assert found.ignores[0].reason == "a benchmark"


def test_strings_are_not_comments() -> None:
    found = of('s = "# syncfinder: ignore"\nt = """\n# gpu-sync-ok: no\n"""\n')
    assert found.ignores == []


def test_unused() -> None:
    found = of(
        "a()  # syncfinder: ignore[SF101, SF102]\nb()  # gpu-sync-ok: x\nc()  # syncfinder: ignore\n"
        "# syncfinder: ignore-file[SF5]\n"
    )
    assert found.covers("SF101", on(1))
    assert found.covers("SF101", on(3))
    assert [(ignore.line, ignore.unused_codes()) for ignore in found.unused()] == [
        (1, ("SF102",)),
        (2, ()),
        (4, ("SF5",)),
    ]


def test_a_line_comment_takes_precedence_over_one_for_the_file() -> None:
    found = of("# syncfinder: ignore-file[SF101]\na()  # syncfinder: ignore[SF101]\n")
    assert found.covers("SF101", on(2))
    assert [ignore.line for ignore in found.unused()] == [1]


@pytest.mark.parametrize(
    ("comment", "message"),
    [
        ("ignore[SF101", "the bracket of `syncfinder: ignore[` is not closed: nothing is suppressed"),
        ("ignore[E501]", "`E501` is not a code such as SF101: nothing is suppressed"),
        ("ignore[]", "`[]` names no code: nothing is suppressed"),
        ("ignor[SF101]", "`ignor` is unknown; did you mean `ignore`?"),
        ("ignored", "`ignored` is unknown; did you mean `ignore`?"),
        ("ignore-fil", "`ignore-fil` is unknown; did you mean `ignore-file`?"),
        ("disable[SF101] x", "`syncfinder: disable` must stand on a line of its own"),
        ("enable", "`syncfinder: enable` must stand on a line of its own"),
    ],
)
def test_problems(comment: str, message: str) -> None:
    found = of(f"f(x)  # syncfinder: {comment}\n")
    assert found.problems == [Problem(1, 7, len(f"f(x)  # syncfinder: {comment}") + 1, message)]
    assert not found.covers("SF101", on(1))


BLOCKS = """\
def f(x):
    if x:
        # syncfinder: disable[SF1] a dump
        a(
            x
        )
        b(x)
    c(x)
    # syncfinder: disable[SF101, SF2] first
    # syncfinder: disable second
    d(x)
    # syncfinder: enable[SF2, SF101]
    e(x)
    # syncfinder: enable
    g(x)


# syncfinder: disable[SF4] to the end
h(x)
"""


def test_blocks() -> None:
    found = of(BLOCKS)
    assert [i.block for i in found.ignores] == [range(3, 8), range(9, 13), range(10, 15), range(18, 1_000_000_000)]
    assert [line for line in range(1, 20) if found.covers("SF101", on(line))] == [*range(3, 8), *range(9, 15)]
    assert [line for line in range(1, 20) if found.covers("SF401", on(line))] == [*range(10, 15), 18, 19]
    assert found.covers("SF101", range(1, 4))


def test_a_statement_in_the_block_uses_the_innermost_block() -> None:
    found = of(BLOCKS)
    assert found.covers("SF201", on(11))
    assert [ignore.line for ignore in found.unused()] == [3, 9, 18]


def test_an_end_without_a_beginning() -> None:
    found = of("# syncfinder: disable[SF1] x\na()\n# syncfinder: enable[SF2]\n")
    assert [(p.line, p.message) for p in found.problems] == [(3, "there is no `syncfinder: disable` that this ends")]
    assert found.covers("SF101", on(9))


def test_names_needs_the_code_to_be_written() -> None:
    found = of("# syncfinder: ignore-file[SF0] generated\na()  # syncfinder: ignore\n")
    assert found.names("SF002", 2)
    assert not found.names("SF101", 2)


def test_text_that_cannot_be_tokenized_keeps_what_was_read() -> None:
    found = of("f(x)  # syncfinder: ignore[SF101]\ny = (\n")
    assert found.covers("SF101", on(1))


def test_hints() -> None:
    assert hints_of(
        "x = f()  # syncfinder: x is cpu\n"
        "# syncfinder: self.y is cuda, z is pinned\n"
        "self.y, z = g()\n"
        "w = h()  # syncfinder: w is gpu\n"
        "s = '# syncfinder: s is cpu'\n"
        "v = 1  # syncfinder: v is purple\n"
    ) == {
        1: {"x": "cpu"},
        2: {"self.y": "cuda", "z": "pinned"},
        3: {"self.y": "cuda", "z": "pinned"},
        4: {"w": "cuda"},
    }


def test_ignore_and_hints_do_not_mix() -> None:
    text = "x = f()  # syncfinder: ignore[SF101] x is cpu\n"
    assert hints_of(text) == {}
    assert of(text).ignores[0].reason == "x is cpu"
