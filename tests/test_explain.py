"""`syncfinder explain FILE:LINE`."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from syncfinder.cli import cli
from syncfinder.config import Settings
from syncfinder.explain import explain

SOURCE = """\
import torch


def step(logits: torch.Tensor, table):
    é = logits.cuda() > 0.5
    if é.any():
        return table[0]
    host = torch.ones(3)
    n = é.sum().item()  # syncfinder: ignore[SF101] once
    return n


if torch.cuda.is_available():
    assert torch.ones(3, device="cuda").all()
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "model.py"
    path.write_text(SOURCE, encoding="utf-8")
    return path


def test_values_with_their_reasons(file: Path) -> None:
    found = explain(file, 6, Settings())
    assert [(b.text, b.column, b.value, b.confidence) for b in found.beliefs] == [
        ("é.any()", 8, "Tensor[cuda, bool, ndim=0]", "likely"),
        ("é", 8, "Tensor[cuda, bool]", "likely"),
    ]
    assert [(r.text, r.line) for r in found.beliefs[0].why] == [(".cuda() is written here", 5)]
    assert [(f.code, f.span.line) for f in found.reported] == [("SF104", 6)]


def test_host_values_and_unknown_ones(file: Path) -> None:
    assert [(b.text, b.value) for b in explain(file, 8, Settings()).beliefs] == [
        ("torch.ones(3)", "Tensor[cpu, float, ndim=1]")
    ]
    assert [(b.text, b.value) for b in explain(file, 7, Settings()).beliefs] == [
        ("table[0]", "Unknown"),
        ("table", "Unknown"),
    ]


def test_what_is_not_shown_says_why(file: Path) -> None:
    hidden = explain(file, 9, Settings()).hidden
    assert [(f.code, reason) for f, reason in hidden] == [("SF101", "suppressed by a comment")]
    hidden = explain(file, 14, Settings()).hidden
    assert [reason for _, reason in hidden] == ["info (setup), shown with --show-info"]
    hidden = explain(file, 6, Settings(ignore=("SF1",))).hidden
    assert [reason for _, reason in hidden] == ["its rule is not selected"]


def test_a_second_run_notes_nothing_of_the_first(file: Path) -> None:
    assert explain(file, 6, Settings()).beliefs == explain(file, 6, Settings()).beliefs


def test_the_command(file: Path) -> None:
    result = CliRunner().invoke(cli, ["explain", "--isolated", f"{file}:8"])
    assert result.exit_code == 0
    assert "torch.ones(3): Tensor[cpu, float, ndim=1] [certain]" in result.output
    assert "torch.ones without device= makes it on the host" in result.output
    assert result.output.endswith("No wait was found on this line.\n")


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("model.py", "'model.py' is not FILE:LINE, such as model.py:120"),
        ("model.py:x", "'model.py:x' is not FILE:LINE"),
        ("missing.py:1", "missing.py: cannot be read"),
        ("{file}:99", "has 14 lines"),
        ("{file}:0", "has 14 lines"),
    ],
)
def test_bad_places(file: Path, place: str, message: str) -> None:
    result = CliRunner().invoke(cli, ["explain", place.format(file=file)])
    assert result.exit_code != 0
    assert message in result.output
