"""The twins in `fixtures/*/fixes.py` are the output of the fixer, character for character."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fixture_twins import regenerated

FIXTURES = sorted((Path(__file__).parents[1] / "fixtures").glob("*/fixes.py"))


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.parent.name)
def test_twins_are_the_output_of_the_fixer(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert regenerated(text) == text


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.parent.name)
def test_each_file_has_a_twin_of_its_rule(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    twins = re.findall(r"^def (\w+)_fixed\(", text, re.MULTILINE)
    assert twins and all(f"def {name}(" in text for name in twins)
    assert f"# expect: {path.parent.name[:5]}" in text
