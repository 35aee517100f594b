"""The fixtures are checked statically: every marked line has its finding, and no other line has one."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from syncfinder.check import check
from syncfinder.config import Settings
from syncfinder.rules.catalogue import load
from syncfinder.runtime.fixture import marks as marked_lines

FIXTURES = Path(__file__).parents[1] / "fixtures"
FILES = sorted(FIXTURES.rglob("*.py"))


def marks(path: Path) -> set[tuple[int, str]]:
    """Return the (line, code) pairs that a fixture's marks ask for."""
    lines = marked_lines(path.read_text(encoding="utf-8"))
    return {(line, code) for line, codes in lines.items() for code in codes}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.parent.name[:5] + "-" + path.stem)
def test_fixture(path: Path) -> None:
    report = check([path], Settings())
    assert report.errors == []
    found = {(finding.span.line, finding.code) for finding in report.findings if finding.level != "info"}
    assert found == marks(path)


def test_each_rule_has_a_fixture_folder() -> None:
    expected = {f"{rule.code}-{rule.name}" for rule in load().values() if rule.kinds}
    assert {path.name for path in FIXTURES.iterdir() if path.is_dir()} == {*expected, "evidence"}


def by_hand(code: str) -> list[Path]:
    """A rule's fixtures, without those that are written from the probes."""
    return [path for path in next(FIXTURES.glob(f"{code}-*")).glob("*.py") if path.name != "forms.py"]


@pytest.mark.parametrize("code", [rule.code for rule in load().values() if rule.kinds])
def test_fixtures_mark_their_own_rule(code: str) -> None:
    own = [mark for path in by_hand(code) for mark in marks(path) if mark[1] == code]
    assert len(own) >= 8


@pytest.mark.parametrize("code", [rule.code for rule in load().values() if rule.kinds])
def test_fixtures_have_code_that_must_be_silent(code: str) -> None:
    """It must not wait; right code for a rule that an outcome shows may have to."""
    waits = load()[code].shown_by == "wait"
    silent = [
        statement
        for path in by_hand(code)
        for statement in outside_of(path, {line for line, mark in marks(path) if waits or mark == code})
    ]
    assert len(silent) >= 8


def outside_of(path: Path, lines: set[int]) -> list[ast.stmt]:
    """The simple statements of the functions that hold none of the lines, docstrings left out."""
    return [
        statement
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(function, ast.FunctionDef) and lines.isdisjoint(range(function.lineno, function.end_lineno + 1))
        for statement in ast.walk(function)
        if isinstance(statement, (ast.Expr, ast.Assign, ast.AugAssign, ast.Return, ast.Assert))
        and not isinstance(getattr(statement, "value", None), ast.Constant)
    ]
