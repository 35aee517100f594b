"""`--statistics`: counts by rule."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from syncfinder.cli import main
from syncfinder.finding import Finding, Suggestion
from syncfinder.report.statistics import write
from syncfinder.sites.site import Span

TEXT = (
    "import torch\n\nX = torch.zeros(3, device='cuda').tolist()\n\n\ndef f():\n    x = torch.zeros(3, device='cuda')\n"
    "    x.cpu()\n    x.tolist()\n    x.min().item()\n    x.max().item()\n"
)
TABLE = "2\tSF101\ttensor-item\n1\tSF102\ttensor-tolist\n1\tSF103\tcopy-to-host\n"
FOUND = "Found 4 findings (4 certain) in 1 of 1 file; 1 more is info (--show-info)\n"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.py").write_text(TEXT)
    return tmp_path


def test_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "m.py", "--statistics"]) == 1
    assert capsys.readouterr() == (TABLE + FOUND, "")
    assert main(["check", "m.py", "--statistics", "--exit-zero", "--show-info"]) == 0
    assert capsys.readouterr().out.startswith("2\tSF101\ttensor-item\n2\tSF102\ttensor-tolist\n")


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "m.py", "--statistics", "--output-format", "json"]) == 1
    assert json.loads(capsys.readouterr().out)[0] == {
        "code": "SF101", "name": "tensor-item", "count": 2, "fixable": False,
    }  # fmt: skip


def test_a_file(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "m.py", "--statistics", "-o", "out.txt"]) == 1
    assert capsys.readouterr() == ("", "")
    assert (here / "out.txt").read_text() == TABLE + FOUND


def test_clean(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "m.py").write_text("")
    assert main(["check", "m.py", "--statistics"]) == 0
    assert capsys.readouterr().out == "All checks passed!\n"


def finding(code: str, name: str, edits: tuple[Any, ...]) -> Finding:
    fix = Suggestion("x", "safe", edits)
    return Finding(code, name, "m", "/m.py", Span(1, 1, 1, 2), "warning", "likely", "f", fix=fix)


def test_fixable() -> None:
    edit = {"content": "y"}
    findings = [
        *[finding("SF101", "a", (edit,))] * 9,
        *[finding("SF102", "b", (edit,)), finding("SF102", "b", ())] * 5,
        finding("SF103", "c", ()),
    ]
    stream = io.StringIO()
    write(findings, stream, as_json=False)
    assert stream.getvalue() == "10\tSF102\t[-] b\n 9\tSF101\t[*] a\n 1\tSF103\t[ ] c\n"
