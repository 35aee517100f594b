"""The harness that runs fixtures on a GPU: what it compares, what it saw, and that it can fail.

Its results are committed: CI has no GPU, and asks that they are of the fixtures as they stand.
"""

from __future__ import annotations

import ast
import io
import json
import re
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from syncfinder.check import check
from syncfinder.cli import main
from syncfinder.config import Settings
from syncfinder.report.verify import table
from syncfinder.rules.evidence import confirmed
from syncfinder.runtime.fixture import Hazard, Place, Seen, Twin, Verdict, compare, digest, fixture_files, marks

ROOT = Path(__file__).parents[1]
FIXTURES = sorted((ROOT / "fixtures").rglob("*.py"))
WRONG = sorted((ROOT / "tests" / "wrong_fixtures").glob("*.py"))


def evidence(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def of_fixtures() -> dict[str, Any]:
    return evidence(ROOT / "fixtures" / "evidence" / "h200-torch-2.11.json")


def test_the_evidence_names_its_machine() -> None:
    found = of_fixtures()
    assert found["gpu"] == "NVIDIA H200"
    assert found["torch"].startswith("2.11.")
    assert set(found["fixtures"]) == {p.relative_to(ROOT).as_posix() for p in FIXTURES}


@pytest.mark.parametrize("path", FIXTURES, ids=lambda p: f"{p.parent.name[:5]}-{p.stem}")
def test_a_fixture_agrees_with_what_the_gpu_saw(path: Path) -> None:
    found = of_fixtures()["fixtures"][path.relative_to(ROOT).as_posix()]
    assert found["digest"] == digest(path), "the fixture changed: run `syncfinder verify` again"
    assert found["faults"] == []
    assert all(twin["equal"] for twin in found["twins"])
    assert {int(line) for line in found["marks"]} == set(marks(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("path", FIXTURES, ids=lambda p: f"{p.parent.name[:5]}-{p.stem}")
def test_findings_stand_where_the_gpu_saw_the_host_wait(path: Path) -> None:
    found = of_fixtures()["fixtures"][path.relative_to(ROOT).as_posix()]
    spans = [
        ((f.span.line, f.span.column), (f.span.end_line, f.span.end_column)) for f in check([path], Settings()).findings
    ]
    apart = []
    subjects = subjects_of_patterns(path)
    for seen in found["seen"]:
        for place in seen["places"]:
            start, end = (place["line"], place["column"]), (place["end_line"], place["end_column"])
            if start == end:  # an instruction of the interpreter's own, without an expression
                start, end = (place["line"], 1), (place["line"] + 1, 1)
            start, end = subjects.get(start, (start, end))
            if not any(a < end and start < b for a, b in spans):
                apart.append((start, end))
    assert apart == []


Position = tuple[int, int]  # line and column, both from 1


def subjects_of_patterns(path: Path) -> dict[Position, tuple[Position, Position]]:
    """Where a pattern of a `match` starts -> its subject's span: the pattern reads, the finding names what is read."""
    found = {}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Match):
            subject = node.subject
            assert subject.end_lineno is not None and subject.end_col_offset is not None
            span = (subject.lineno, subject.col_offset + 1), (subject.end_lineno, subject.end_col_offset + 1)
            for case in node.cases:
                for pattern in ast.walk(case.pattern):
                    if isinstance(pattern, ast.pattern):
                        found[pattern.lineno, pattern.col_offset + 1] = span
    return found


WRONG_FAULTS = {
    "unmarked_wait.py": ["line 10 waited and is not marked", "line 15 waited and is not marked"],
    "marked_without_wait.py": ["line 10 is marked and did not wait"],
    "twin_differs.py": ["scaled_fixed returns something else than scaled"],
    "raises.py": ["shapes_do_not_fit raised RuntimeError"],
    "hazard_without_a_race.py": ["line 13 is marked and shows no hazard"],
    "hazard_that_waits.py": [
        "line 10 waited and is not marked as a wait",
        "line 10 is marked and shows no hazard",
    ],
    "hazard_without_a_mark.py": ["reads_twice has a hazard that is not marked"],
    "hazard_twin_races.py": [
        "reads_early_fixed has a hazard that is not marked",
        "reads_early_fixed returns something else than reads_early",
    ],
}


@pytest.mark.parametrize("path", WRONG, ids=lambda p: p.stem)
def test_fixtures_made_wrong_on_purpose_failed_on_the_gpu(path: Path) -> None:
    found = evidence(ROOT / "tests" / "wrong_fixtures" / "evidence.json")["fixtures"]
    mine = found[path.relative_to(ROOT).as_posix()]
    assert mine["digest"] == digest(path)
    assert [f.partition(":")[0] for f in mine["faults"]] == WRONG_FAULTS[path.name]


TEXT = """\
def f():
    x = make()
    if x.any(
    ):  # expect: SF104
        y = x.item()  # expect: SF101
    return y
"""


def verdict(*lines: int) -> Verdict:
    seen = [Seen(line, [Place(line, 1, line, 2)], True, True) for line in lines]
    found = Verdict("f.py", "", marks(TEXT), seen)
    compare(found, TEXT)
    return found


def test_marks() -> None:
    assert marks(TEXT) == {4: ["SF104"], 5: ["SF101"]}
    assert marks("x = 1  # expect: SF101, SF202\n") == {1: ["SF101", "SF202"]}


@pytest.mark.parametrize("line", ["x = 1  # expect: SF10", "x = 1  # expect:", "x = 1  # expect: SF101 SF202"])
def test_a_mark_that_cannot_be_read_is_an_error(line: str) -> None:
    with pytest.raises(ValueError, match="line 2: not a mark: x = 1"):
        marks(f"y = 2\n{line}\n")


def test_lines_are_compared_by_statement() -> None:
    assert verdict(3, 5).faults == []


def test_an_unmarked_wait_and_a_mark_that_does_not_wait_are_faults() -> None:
    assert verdict(2, 3, 5).faults == ["line 2 waited and is not marked"]
    assert verdict(3).faults == ["line 5 is marked and did not wait"]


def test_files_of_folders(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x.py").write_text("")
    (tmp_path / "b.py").write_text("")
    assert fixture_files([tmp_path / "b.py", tmp_path / "a"]) == [tmp_path / "b.py", tmp_path / "a" / "x.py"]
    with pytest.raises(FileNotFoundError, match="no fixtures"):
        fixture_files([tmp_path / "a", tmp_path / "a"][:0])
    with pytest.raises(FileNotFoundError, match="missing: no such file or folder"):
        fixture_files([tmp_path / "missing"])


@pytest.mark.parametrize("command", [["verify"], ["measure", "-o", "out.json"], ["bench", "-o", "out.json"]])
def test_without_torch_the_commands_say_what_they_need(
    command: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "torch", None)
    for name in [n for n in sys.modules if n.startswith("syncfinder.runtime.")]:
        monkeypatch.delitem(sys.modules, name)
    assert main(command) == 2
    assert not Path("out.json").exists()
    assert "this command runs on a GPU and needs torch and numpy: pip install" in capfd.readouterr().err


@pytest.mark.parametrize("command", [["verify", str(ROOT / "fixtures")], ["bench", "-o", "out.json"]])
def test_without_a_gpu_the_commands_say_that_they_need_one(
    command: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    torch = types.ModuleType("torch")
    torch.cuda = types.SimpleNamespace(is_available=lambda: False)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch", torch)
    for name in [n for n in sys.modules if n.startswith("syncfinder.runtime.")]:
        monkeypatch.delitem(sys.modules, name)
    assert main(command) == 2
    assert not Path("out.json").exists()
    shown = capfd.readouterr()
    assert shown.out == ""
    assert (
        shown.err == f"error: no GPU: {command[0]} needs one that torch can use (torch.cuda.is_available() is false)\n"
    )


def test_the_rule_page_shows_the_evidence() -> None:
    sentence, *others = confirmed("SF101")
    assert others == []
    assert re.fullmatch(
        r"Confirmed on NVIDIA H200, torch 2\.11\.0\+cu130, \d{4}-\d\d-\d\d: (\d+) of \1 places; "
        r"blocked \d+\.\d ms -> \d+\.\d\d ms behind 30 ms of work \(\d+ fixes\)\.",
        sentence,
    )
    assert list(confirmed("SF999")) == []


def test_the_page_of_a_hazard_tells_of_wrong_outcomes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    twin = {"name": "f", "equal": True, "before_ms": 0.1, "after_ms": 30.0}
    right = {"marks": {"4": ["SF501"], "9": ["SF501", "SF403"]}, "twins": [twin], "faults": []}
    wrong = {"marks": {"4": ["SF501"]}, "twins": [], "faults": ["line 4 is marked and shows no hazard"]}
    fixtures = {"fixtures/SF501-x/a.py": right, "fixtures/SF501-x/b.py": wrong}
    found = {"gpu": "G", "torch": "2.11", "date": "2026-01-01", "queued_ms": 30.0, "fixtures": fixtures}
    (tmp_path / "e.json").write_text(json.dumps(found), encoding="utf-8")
    monkeypatch.setattr("syncfinder.rules.evidence.folder", lambda: tmp_path)
    assert list(confirmed("SF501")) == [
        "Confirmed on G, torch 2.11, 2026-01-01: 2 of 3 places: "
        "what comes out is wrong until the host waits there, and right with a fix (1 fixes)."
    ]


def test_the_table_counts_lines_that_waited_and_lines_that_showed_a_hazard() -> None:
    found = Verdict("f.py", "", marks(TEXT), [Seen(3, [], True, False)])
    found.hazards = [Hazard(5, "f", "wait before"), Hazard(5, "g", "wait after")]
    found.twins = [Twin("f", True, 30.0, 0.5, 0.1, 0.1)]
    stream = io.StringIO()
    table([found], stream, color=False)
    row = next(line for line in stream.getvalue().split("\n") if "f.py" in line)
    assert [cell.strip() for cell in row.split("│")[1:-1]] == [
        "f.py",
        "2",
        "1",
        "1",
        "1 of 1",
        "30.00 ms",
        "0.50 ms",
        "agrees",
    ]
