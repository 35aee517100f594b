"""Conditions of waits: what holds for a measured call, and what tells waiting calls from silent ones."""

from __future__ import annotations

from typing import Any

import pytest

from syncfinder.infer.terms import TERMS
from syncfinder.torchmodel.conditions import TESTS, Call, bind, holds, reads_number, separate, text
from syncfinder.torchmodel.model import Param, Row, term


def tensor(place: str = "cuda", dtype: str = "float32", *shape: int) -> dict[str, Any]:
    return {"t": [place, dtype, list(shape)]}


CLASSES = (Param("input", "T"), Param("num_classes", "i", True, -1))


def one_hot(waits: bool, **given: object) -> Call:
    return Call({"input": tensor("cuda", "int64", 9), **given}, {}, waits, CLASSES)


def test_the_interpreter_and_the_evidence_know_the_same_tests() -> None:
    assert set(TERMS) == set(TESTS)


@pytest.mark.parametrize(
    ("condition", "arguments", "expected"),
    [
        ("given(p)", {"p": 1}, True),
        ("given(p)", {"p": None}, False),
        ("missing(p)", {}, True),
        ("tensor(p)", {"p": tensor()}, True),
        ("cuda(p)", {"p": tensor("cpu")}, False),
        ("cuda(p)", {"p": {"l": [1, tensor()], "n": 2}}, True),
        ("host(p)", {"p": tensor("pinned")}, True),
        ("host(p)", {"p": {"a": ["float64", [3]]}}, True),
        ("list(p)", {"p": {"l": [], "n": 0}}, True),
        ("number(p)", {"p": True}, False),
        ("number(p)", {"p": 2.5}, True),
        ("negative(p)", {"p": -1}, True),
        ("mask(p)", {"p": {"l": [tensor("cuda", "bool", 3)], "n": 1}}, True),
        ("mask(p)", {"p": {"l": [tensor("cpu", "bool", 3)], "n": 1}}, False),
        ("ndim(p, 2)", {"p": tensor("cuda", "int64", 3, 4)}, True),
        ("large(p, 12)", {"p": tensor("cuda", "int64", 3, 4)}, True),
        ("large(p, 13)", {"p": tensor("cuda", "int64", 3, 4)}, False),
        ("is(p, 'cuda')", {"p": {"d": "cuda"}}, True),
        ("is(p, 'cuda')", {"p": "cuda:0"}, True),
        ("is(p, True)", {"p": 1}, False),
        ("not-is(p, False)", {}, True),
        ("same-shape(q)", {"p": tensor("cuda", "bool", 3), "q": tensor("cuda", "bool", 3)}, True),
        ("same-shape(q)", {"p": tensor("cuda", "bool", 3), "q": tensor("cuda", "bool")}, False),
        ("not-made-with(p, ('fused', True))", {"p": {"o": "SGD", "init": {"k": {"fused": True}}}}, False),
        ("not-made-with(p, ('fused', True))", {"p": {"o": "SGD", "init": {"k": {}}}}, True),
    ],
)
def test_a_term_holds(condition: str, arguments: dict[str, Any], expected: bool) -> None:
    parsed = term(condition)
    assert holds((parsed, term("anywhere")), Call(arguments, {}, True)) is expected
    assert text(parsed) == condition


def test_without_anywhere_a_tensor_must_be_on_the_gpu() -> None:
    assert not holds((), Call({"input": tensor("cpu")}, {}, True))
    assert holds((), Call({"input": tensor("cuda")}, {}, True))


def test_terms_about_the_construction_look_there() -> None:
    call = Call({"p": tensor()}, {"p": None}, True, (), "eval", (Param("p", "f", True, 0.1),))
    assert holds((term("init-is(p, None)"),), call)
    assert holds((term("init-missing(p)"),), call)
    assert holds((term("mode(eval)"),), call)
    assert not holds((term("mode(train)"),), call)


def test_a_default_tells_what_a_missing_argument_is() -> None:
    calls = [
        one_hot(True),
        one_hot(True, num_classes=-1),
        one_hot(False, num_classes=9),
        one_hot(False, num_classes=12),
    ]
    assert separate(calls) == [(term("is(num_classes, -1)"),)]


def test_all_waiting_needs_no_condition() -> None:
    assert separate([one_hot(True), one_hot(True, num_classes=3)]) == [()]


def test_two_terms_where_one_is_not_enough() -> None:
    def histc(waits: bool, low: int, high: int) -> Call:
        return Call({"input": tensor(), "min": low, "max": high}, {}, waits)

    calls = [histc(True, 0, 0), histc(False, 0, 10), histc(False, -10, 0), histc(False, -10, 10)]
    assert separate(calls) == [(term("is(max, 0)"), term("is(min, 0)"))]


def test_alternatives_where_no_conjunction_covers_all() -> None:
    def norm(waits: bool, order: object) -> Call:
        return Call({"A": tensor("cuda", "float32", 3, 3), "ord": order}, {}, waits)

    calls = [norm(True, "nuc"), norm(True, 2), norm(False, "fro"), norm(False, 1), norm(False, None)]
    assert separate(calls) == [(term("is(ord, 'nuc')"),), (term("is(ord, 2)"),)]


def test_equal_calls_with_different_verdicts_have_no_condition() -> None:
    assert separate([one_hot(True), one_hot(False)]) is None


ADD = Row("torch.add", ((Param("input", "T"), Param("other", "T"), Param("alpha", "n", True, 1, True)),), ("tensor",))


def test_binding_takes_positions_and_names() -> None:
    found, parameters = bind(ADD, {"a": [tensor(), 1], "k": {"alpha": tensor()}})
    assert found == {"input": tensor(), "other": 1, "alpha": tensor()}
    assert parameters == ADD.overloads[0]


def test_a_tensor_for_a_number_is_read_by_the_argument_parser() -> None:
    found, parameters = bind(ADD, {"a": [tensor(), tensor()], "k": {"alpha": tensor()}})
    call = Call(found, {}, True, parameters)
    assert reads_number(call)
    assert not reads_number(call, quiet=["alpha"])
    assert not reads_number(Call({**found, "alpha": tensor("cpu")}, {}, True, parameters))


def test_without_a_row_arguments_keep_their_positions() -> None:
    assert bind(None, {"a": [1], "k": {"b": 2}}) == ({"0": 1, "b": 2}, ())
