"""Baselines end to end: what they know, what makes a finding new, and what becomes of their entries."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from syncfinder.cli import main
from syncfinder.gate.keys import expression
from syncfinder.sites.site import Span
from syncfinder.source.file import SourceFile

HEAD = 'import torch\n\n\ndef f(host):\n    x = torch.zeros(3, device="cuda")\n'
NAME = "syncfinder-baseline.json"


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str

    @property
    def found(self) -> list[tuple[int, str]]:
        return [(f["location"]["row"], f["code"]) for f in json.loads(self.out)]


Run = Callable[..., Result]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(here: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    def invoke(*arguments: str) -> Result:
        code = main(arguments)
        captured = capsys.readouterr()
        return Result(code, captured.out, captured.err)

    return invoke


@pytest.fixture
def check(run: Run) -> Run:
    return lambda *arguments: run("check", "--baseline", NAME, "--output-format", "json", *(arguments or (".",)))


def entries(path: Path) -> list[dict[str, Any]]:
    data = json.loads(path.read_text())
    assert data["version"] == 1
    return data["entries"]


def test_the_file(run: Run, here: Path) -> None:
    (here / "b.py").write_text(HEAD + "    x.max().item()\n    x.tolist()\n    x . tolist()\n")
    (here / "a.py").write_text(HEAD + "    return x.tolist()\n\n\nX = torch.zeros(3, device='cuda').tolist()\n")
    assert run("baseline") == Result(0, f"Noted 4 findings in {NAME}.\n", "")
    assert (here / NAME).read_text() == (
        '{\n  "version": 1,\n  "entries": [\n'
        '    {"path": "a.py", "function": "f", "rule": "SF102", "expression": "x.tolist()", "count": 1},\n'
        '    {"path": "b.py", "function": "f", "rule": "SF101", "expression": "x.max().item()", "count": 1},\n'
        '    {"path": "b.py", "function": "f", "rule": "SF102", "expression": "x.tolist()", "count": 2}\n'
        "  ]\n}\n"
    )
    assert run("check", "--baseline", NAME) == Result(
        0, "All checks passed! 1 finding is info (--show-info); 4 known findings are in the baseline\n", ""
    )
    assert run("check", "--baseline", "").code == 1
    assert run("check").code == 1


def test_lines_and_layout_may_change(run: Run, check: Run, here: Path) -> None:
    (here / "m.py").write_text(HEAD + "    return host(x.max().item(), f'{x.sum()} a', x[x > 1])\n")
    run("baseline")
    (here / "m.py").write_text(
        "import os\n"
        + HEAD
        + "    y = 3\n    return host(\n        (\n            x\n            .max( )  # high\n            .item()\n"
        + '        ),\n        f"{x.sum()} a",\n        x[ x>1 ],\n    )\n'
    )
    assert check() == Result(0, "[]\n", "")


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("    x.tolist()\n    x.min().item()\n", [(7, "SF101")]),
        ("    x.tolist()\n    host(x.tolist())\n", [(7, "SF102")]),
        ("    x.tolist()\n\n\ndef g():\n    x = torch.zeros(3, device='cuda')\n    x.tolist()\n", [(11, "SF102")]),
        ("    x.cpu()\n    x.tolist()\n", [(6, "SF103")]),
    ],
)
def test_what_is_new(run: Run, check: Run, here: Path, body: str, found: list[tuple[int, str]]) -> None:
    (here / "m.py").write_text(HEAD + "    x.tolist()\n")
    run("baseline")
    (here / "m.py").write_text(HEAD + body)
    result = check()
    assert (result.code, result.found) == (1, found)


def test_another_file_is_new(run: Run, check: Run, here: Path) -> None:
    (here / "m.py").write_text(HEAD + "    x.tolist()\n")
    run("baseline")
    (here / "n.py").write_text(HEAD + "    x.tolist()\n")
    assert [f["filename"] for f in json.loads(check().out)] == [str(here / "n.py")]


def test_stale_entries_are_reported_and_pruned(run: Run, check: Run, here: Path) -> None:
    for name in ("a.py", "b.py", "c.py"):
        (here / name).write_text(HEAD + "    x.tolist()\n    x.tolist()\n    x.cpu()\n")
    run("baseline")
    (here / "a.py").write_text(HEAD + "    x.tolist()\n    x.min().item()\n    x.cpu()\n")
    (here / "b.py").unlink()
    note = (
        f"note: 3 entries of {NAME} know findings that are gone; `syncfinder baseline --prune` removes what is gone\n"
    )
    result = check()
    assert (result.code, result.found, result.err) == (1, [(7, "SF101")], note)
    assert check("c.py").err == note.replace("3", "2")  # of files that are gone, any run can tell
    assert run("baseline", "--prune") == Result(0, f"Removed 4 of 9 known findings from {NAME}.\n", "")
    assert [(e["path"], e["rule"], e["count"]) for e in entries(here / NAME)] == [
        ("a.py", "SF102", 1), ("a.py", "SF103", 1), ("c.py", "SF102", 2), ("c.py", "SF103", 1),
    ]  # fmt: skip
    result = check()
    assert (result.found, result.err) == ([(7, "SF101")], "")


def test_a_moved_file_keeps_its_entries(run: Run, check: Run, here: Path) -> None:
    (here / "old.py").write_text(HEAD + "    x.tolist()\n    x.cpu()\n    x.max().item()\n")
    (here / "same.py").write_text(HEAD + "    x.tolist()\n    x.cpu()\n")
    run("baseline")
    data = json.loads((here / NAME).read_text())
    data["entries"][0]["owner"] = "ann"
    (here / NAME).write_text(json.dumps(data))
    (here / "old.py").unlink()
    (here / "pkg").mkdir()
    (here / "pkg/new.py").write_text(HEAD + "    x.tolist()\n    x.min().item()\n    x.max().item()\n")
    result = check()
    assert (result.found, result.err.count("1 entry of")) == ([(7, "SF101")], 1)
    run("baseline", "--prune")
    assert [(e["path"], e["rule"], e.get("owner")) for e in entries(here / NAME)] == [
        ("pkg/new.py", "SF101", "ann"), ("pkg/new.py", "SF102", None), ("same.py", "SF102", None),
        ("same.py", "SF103", None),
    ]  # fmt: skip


def test_a_function_that_moves_to_another_file_keeps_its_entries(run: Run, check: Run, here: Path) -> None:
    moved = HEAD.replace("def f(", "def g(").removeprefix("import torch\n") + "    x.tolist()\n    x.cpu()\n"
    (here / "a.py").write_text(HEAD + "    x.tolist()\n" + moved)
    (here / "b.py").write_text(HEAD + "    x.tolist()\n")
    run("baseline")
    (here / "a.py").write_text(HEAD + "    x.tolist()\n")
    (here / "b.py").write_text(HEAD + "    x.tolist()\n" + moved)
    assert check() == Result(0, "[]\n", "")
    (here / "a.py").write_text(HEAD + "    x.tolist()\n" + moved)
    assert [f["code"] for f in json.loads(check().out)] == ["SF102", "SF103"]  # a copy is new


def test_a_file_that_has_few_of_the_findings_is_another_one(run: Run, check: Run, here: Path) -> None:
    (here / "old.py").write_text(HEAD + "    x.tolist()\n    x.cpu()\n")
    run("baseline")
    (here / "old.py").rename(here / "new.py")
    (here / "new.py").write_text(HEAD + "    x.tolist()\n    x.max().item()\n")
    assert check().found == [(6, "SF102"), (7, "SF101")]


def test_entries_of_rules_that_are_not_selected_are_neither_stale_nor_pruned(run: Run, check: Run, here: Path) -> None:
    (here / "m.py").write_text(HEAD + "    x.tolist()\n    x.cpu()\n")
    run("baseline")
    (here / "m.py").write_text(HEAD)
    assert "2 entries" in check().err
    assert "1 entry" in check("--select", "SF102").err
    run("baseline", "--prune", "--config", "ignore=['SF103']")
    assert [e["rule"] for e in entries(here / NAME)] == ["SF103"]


def test_jobs(run: Run, here: Path) -> None:
    (here / "m.py").write_text(HEAD + "    x.tolist()\n")
    assert run("baseline", "-j", "2") == Result(0, f"Noted 1 finding in {NAME}.\n", "")
    assert run("baseline", "-j", "0").code == 2


def test_notes_survive_and_expire(run: Run, check: Run, here: Path) -> None:
    (here / "m.py").write_text(HEAD + "    x.tolist()\n    x.cpu()\n")
    run("baseline")
    data = json.loads((here / NAME).read_text())
    data["entries"][0] |= {"owner": "ann", "reason": "see #12", "expires": "2999-12-31"}
    data["entries"][1] |= {"expires": "2020-01-31", "owner": "bob"}
    (here / NAME).write_text(json.dumps(data))
    result = check()
    assert (result.code, result.found) == (1, [(7, "SF103")])
    assert result.err == f"note: an entry of {NAME} expired on 2020-01-31: SF103 in m.py, owner bob\n"
    (here / "m.py").write_text(HEAD + "    x.tolist()\n    x.cpu()\n    x.tolist()\n")
    assert run("baseline").code == 0
    assert entries(here / NAME) == [
        {
            "path": "m.py", "function": "f", "rule": "SF102", "expression": "x.tolist()", "count": 2, "owner": "ann",
            "reason": "see #12", "expires": "2999-12-31",
        },
        {
            "path": "m.py", "function": "f", "rule": "SF103", "expression": "x.cpu()", "count": 1, "owner": "bob",
            "expires": "2020-01-31",
        },
    ]  # fmt: skip


def test_a_part_of_the_project_keeps_the_rest(run: Run, check: Run, here: Path) -> None:
    for name in ("a.py", "b.py"):
        (here / name).write_text(HEAD + "    x.tolist()\n")
    run("baseline")
    (here / "a.py").write_text(HEAD + "    x.cpu()\n")
    run("baseline", "a.py")
    assert [(e["path"], e["rule"]) for e in entries(here / NAME)] == [("a.py", "SF103"), ("b.py", "SF102")]


def test_the_settings_name_it(run: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "sub").mkdir()
    (here / "sub/m.py").write_text(HEAD + "    x.tolist()\n")
    (here / "syncfinder.toml").write_text("baseline = 'known.json'\n")
    monkeypatch.chdir(here / "sub")
    assert run("baseline").code == 0
    assert [e["path"] for e in entries(here / "known.json")] == ["sub/m.py"]
    assert run("check").code == 0
    assert run("check", "--isolated").code == 1
    assert run("check", "--config", "baseline=''").code == 1
    assert run("baseline", "-o", "own.json").code == 0
    assert [e["path"] for e in entries(here / "sub/own.json")] == ["m.py"]


def test_suppressions_and_their_findings(run: Run, check: Run, here: Path) -> None:
    (here / "m.py").write_text(HEAD + "    x.tolist()  # syncfinder: ignore[SF102]\n    host  # gpu-sync-ok: x\n")
    run("baseline")
    assert [(e["rule"], e["expression"]) for e in entries(here / NAME)] == [
        ("SF001", "# gpu-sync-ok: x"), ("SF002", "# syncfinder: ignore[SF102]"),
    ]  # fmt: skip
    assert check().found == []


def test_the_order_of_a_baseline_is_stable(run: Run, here: Path) -> None:
    for name in ("b.py", "a.py"):
        (here / name).write_text(HEAD + "    x.tolist()\n    x.cpu()\n")
    run("baseline", "a.py", "b.py")
    first = (here / NAME).read_bytes()
    run("baseline", "b.py", "a.py")
    assert (here / NAME).read_bytes() == first


ENTRY = {"path": "m.py", "function": "f", "rule": "SF101", "expression": "x.item()", "count": 1}
WRONG = [
    ("{", f"error: {NAME}: the baseline cannot be read: it is not JSON ("),
    ("[]", f"error: {NAME}: is not a baseline; `syncfinder baseline` makes one\n"),
    ('{"entries": []}', f"error: {NAME}: the baseline has version None, and this syncfinder reads 1; make it anew\n"),
    ({**ENTRY, "count": 0}, f"error: {NAME}: entry 2 of the baseline: `count` is not a number from 1\n"),
    ({**ENTRY, "rule": 3}, f"error: {NAME}: entry 2 of the baseline: `rule` is not a string\n"),
    ({"path": "m.py"}, f"error: {NAME}: entry 2 of the baseline: `function` is missing\n"),
    (3, f"error: {NAME}: entry 2 of the baseline: is not an object\n"),
    (
        {**ENTRY, "until": "x"},
        f"error: {NAME}: entry 2 of the baseline: unknown key `until`; known keys: path, function, rule, expression, "
        "count, owner, reason, expires\n",
    ),
    (
        {**ENTRY, "expires": "soon"},
        f"error: {NAME}: entry 2 of the baseline: `expires` is not a date such as 2027-01-31: 'soon'\n",
    ),
    (
        ENTRY,
        f"error: {NAME}: two entries of the baseline are equal: SF101 in m.py, x.item(); make them one, with a count\n",
    ),
]


@pytest.mark.parametrize(("second", "message"), WRONG)
@pytest.mark.parametrize("command", [("check", "--baseline", NAME), ("baseline",), ("baseline", "--prune")])
def test_a_baseline_that_cannot_be_used(
    run: Run, here: Path, second: object, message: str, command: tuple[str, ...]
) -> None:
    (here / "m.py").write_text(HEAD + "    x.tolist()\n")
    text = second if isinstance(second, str) else json.dumps({"version": 1, "entries": [ENTRY, second]})
    (here / NAME).write_text(text)
    result = run(*command)
    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
    assert result.err.startswith(message)
    assert (here / NAME).read_text() == text


def test_a_missing_baseline(run: Run, here: Path) -> None:
    (here / "m.py").write_text(HEAD)
    message = f"error: {NAME}: there is no such baseline; `syncfinder baseline` makes one\n"
    assert run("check", "--baseline", NAME) == Result(2, "", message)
    assert run("baseline", "--prune") == Result(2, "", message)
    assert [p.name for p in here.iterdir()] == ["m.py"]


def test_nothing_is_written_when_nothing_was_checked(run: Run, here: Path) -> None:
    assert run("baseline", "gone") == Result(2, "", "error: gone: no such file or folder\n")
    assert list(here.iterdir()) == []


def test_a_file_that_cannot_be_checked_keeps_its_entries(run: Run, here: Path) -> None:
    for name in ("a.py", "b.py"):
        (here / name).write_text(HEAD + "    x.tolist()\n")
    run("baseline")
    (here / "a.py").write_text("x = = 1\n")
    result = run("baseline")
    assert (result.code, result.out) == (2, f"Noted 2 findings in {NAME}.\n")
    assert [e["path"] for e in entries(here / NAME)] == ["a.py", "b.py"]


def test_a_folder_that_cannot_be_written(run: Run, here: Path) -> None:
    (here / "m.py").write_text(HEAD)
    message = "error: no/such/b.json: cannot be written: No such file or directory\n"
    assert run("baseline", "-o", "no/such/b.json") == Result(2, "", message)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("x [ a:b ,0 ]", "x[a:b, 0]"),
        ("a : b", "a: b"),
        ("f(\n  x,\n  'a',\n)", "f(x, 'a')"),
        ("f\"{x!r:>{w}} {'a'}\"", "f(x, f('>', w), ' ', 'a')"),
        ("x[i] = 3", "x[i] = 3"),
        ("# gpu-sync-ok:   x", "# gpu-sync-ok: x"),
        ("{x}", "{x}"),
    ],
)
def test_expressions(text: str, written: str) -> None:
    rows = text.split("\n")
    file = SourceFile(Path("/m.py"), text + "\n")
    assert expression(file, Span(1, 1, len(rows), len(rows[-1]) + 1)) == written
