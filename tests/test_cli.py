"""The command line end to end: exit codes, what goes to stdout and what to stderr, and bad input."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from syncfinder import __version__
from syncfinder.cli import main

CLEAN = "def f(x):\n    return x + 1\n"
READS = 'import torch\n\n\ndef f():\n    x = torch.zeros(3, device="cuda")\n    return x.sum().item()\n'
PASSED = "All checks passed!\n"


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str


Run = Callable[..., Result]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def run(here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    def invoke(*arguments: str, stdin: bytes = b"") -> Result:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = main(arguments)
        captured = capsys.readouterr()
        return Result(code, captured.out, captured.err)

    return invoke


def places(result: Result) -> list[tuple[str, int, str]]:
    return [(Path(f["filename"]).name, f["location"]["row"], f["code"]) for f in json.loads(result.out)]


def test_clean(run: Run, here: Path) -> None:
    (here / "m.py").write_text(CLEAN)
    assert run("check", "m.py") == Result(0, PASSED, "")
    assert run("check") == Result(0, PASSED, "")


def test_findings(run: Run, here: Path) -> None:
    (here / "m.py").write_text(READS)
    result = run("check", "m.py")
    assert (result.code, result.err) == (1, "")
    assert result.out.startswith("SF101 ")
    assert "6 |     return x.sum().item()\n" in result.out
    assert result.out.endswith("Found 1 finding (1 certain) in 1 of 1 file\n")
    assert run("check", "m.py", "--exit-zero").code == 0


def test_formats(run: Run, here: Path) -> None:
    (here / "m.py").write_text(READS)
    concise = run("check", "m.py", "--output-format", "concise").out.splitlines()
    assert concise[0].startswith("m.py:6:12: SF101 ")
    assert len(concise) == 2
    result = run("check", "m.py", "--output-format=json")
    assert result.code == 1
    assert places(result) == [("m.py", 6, "SF101")]
    assert json.loads(result.out)[0]["filename"] == str(here / "m.py")


def test_output_file(run: Run, here: Path) -> None:
    (here / "m.py").write_text(READS)
    assert run("check", "m.py", "--output-format", "json", "--output-file", "out.json") == Result(1, "", "")
    assert [f["code"] for f in json.loads((here / "out.json").read_text())] == ["SF101"]
    result = run("check", "m.py", "--output-file", "no/such/folder/out.txt")
    assert result == Result(2, "", "error: no/such/folder/out.txt: cannot be written: No such file or directory\n")


def test_selection(run: Run, here: Path) -> None:
    (here / "m.py").write_text(READS)
    assert run("check", "m.py", "--ignore", "SF1").code == 0
    assert run("check", "m.py", "--ignore", "SF1", "--extend-select", "SF101").code == 1
    assert run("check", "m.py", "--select", "SF2,SF3").code == 0
    assert run("check", "m.py", "--select", "SF2", "--select", "sf101").code == 1


def test_suppression(run: Run, here: Path) -> None:
    (here / "m.py").write_text(READS.replace(".item()", ".item()  # syncfinder: ignore[SF101] once"))
    assert run("check", "m.py") == Result(0, PASSED, "")


def test_settings_file_and_isolated(run: Run, here: Path) -> None:
    (here / "m.py").write_text(READS)
    (here / "pyproject.toml").write_text('[tool.syncfinder]\nignore = ["SF101"]\n')
    assert run("check", "m.py").code == 0
    assert run("check", "m.py", "--isolated").code == 1
    (here / "pyproject.toml").write_text("[tool.syncfinder]\nignored = []\n")
    result = run("check", "m.py")
    assert result == Result(2, "", "error: pyproject.toml: unknown key `ignored`; did you mean `ignore`?\n")


def test_exclude(run: Run, here: Path) -> None:
    (here / "m.py").write_text(READS)
    (here / "ok.py").write_text(CLEAN)
    assert run("check", "--exclude", "m.py,other") == Result(0, PASSED, "")


def test_stdin(run: Run, here: Path) -> None:
    result = run("check", "-", "--stdin-filename", "pkg/m.py", "--output-format", "json", stdin=READS.encode())
    assert result.code == 1
    assert places(result) == [("m.py", 6, "SF101")]
    assert run("check", "-", stdin=CLEAN.encode()) == Result(0, PASSED, "")
    result = run("check", "-", "--stdin-filename", "m.py", stdin=b"s = '\xe9'\n")
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("error: m.py:1: is not utf-8 (byte 0xe9)")


BAD = {
    "syntax.py": (b"x = = 1\n", "error: syntax.py:1:5: syntax error: invalid syntax ("),
    "bytes.py": (b"s = '\xe9'\n", "error: bytes.py:1: is not utf-8 (byte 0xe9); "),
    "deep.py": (b"x = " + b"-" * 100_000 + b"1\n", "error: deep.py: is nested too deeply for Python's parser; "),
    "nul.py": (b"x = 1\0\n", "error: nul.py: contains NUL bytes: "),
    "cookie.py": (b"# coding: klingon\n", "error: cookie.py:1: unknown encoding: klingon; "),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_named_and_the_rest_is_checked(run: Run, here: Path, name: str) -> None:
    data, message = BAD[name]
    (here / name).write_bytes(data)
    (here / "reads.py").write_text(READS)
    result = run("check", ".", "--output-format", "json")
    assert result.code == 2
    assert places(result) == [("reads.py", 6, "SF101")]
    assert result.err.startswith(message)
    assert result.err.count("\n") == 1
    assert run("check", ".", "--exit-zero").code == 2


def test_bad_file_alone(run: Run, here: Path) -> None:
    (here / "syntax.py").write_text("x = = 1\n")
    result = run("check", "syntax.py")
    assert (result.code, result.out) == (2, "")


def test_missing_path_and_folder_without_python(run: Run, here: Path) -> None:
    (here / "reads.py").write_text(READS)
    (here / "empty").mkdir()
    result = run("check", "gone.py", "empty", "reads.py", "--output-format", "json")
    assert result.code == 2
    assert places(result) == [("reads.py", 6, "SF101")]
    assert result.err == "error: gone.py: no such file or folder\nerror: empty: no Python files in this folder\n"


def test_deep_but_parsable_files_do_not_break_the_tool(run: Run, here: Path) -> None:
    calls = "x" + ".f()" * 400
    (here / "m.py").write_text(f"def g(x):\n    return {calls}\n\n\ndef h():\n    return {' + '.join(['1'] * 500)}\n")
    assert run("check", "m.py") == Result(0, PASSED, "")


def test_empty_file(run: Run, here: Path) -> None:
    (here / "m.py").write_bytes(b"")
    assert run("check", "m.py") == Result(0, PASSED, "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("check", "--select", "E501"), "'E501' is not a code or the beginning of one, such as SF101 or SF1"),
        (("check", "--select", "SF999"), "error: no rule's code begins with SF999"),
        (("check", "--min-confidence", "sure"), "Invalid value for '--min-confidence'"),
        (("check", "--jobs", "0"), "Invalid value for '--jobs'"),
        (("check", "-", "x.py"), "`-` reads stdin and cannot be combined with paths"),
        (("check", "--stdin-filename", "x.py"), "--stdin-filename needs `-` as the path"),
        (("chekc",), "No such command 'chekc'"),
        (("rule",), "give one code, or --all"),
        (("rule", "SF101", "--all"), "give one code, or --all"),
        (("rule", "SF10"), "error: there is no rule SF10; did you mean SF1"),
        (("rule", "tensor-itme"), "error: there is no rule tensor-itme; did you mean tensor-item"),
    ],
)
def test_wrong_usage(run: Run, arguments: tuple[str, ...], message: str) -> None:
    result = run(*arguments)
    assert (result.code, result.out) == (2, "")
    assert message in result.err


def test_rule(run: Run) -> None:
    result = run("rule", "sf101")
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith("# tensor-item (SF101)\n")
    assert run("rule", "tensor-item") == result
    every = run("rule", "--all").out
    headings = [line for line in every.splitlines() if line.startswith("# ") and line.endswith(")")]
    assert headings[0] == "# unused-suppression (SF001)"
    assert headings == sorted(headings, key=lambda line: line[-6:])


def test_an_exception_is_reported_as_a_bug(run: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_arguments: object, **_options: object) -> None:
        raise ZeroDivisionError("oops")

    (here / "m.py").write_text(CLEAN)
    monkeypatch.setattr("syncfinder.check.check", broken)
    result = run("check", "m.py")
    assert result.code == 2
    assert f"error: this is a bug in syncfinder {__version__}; please report it with the lines above\n" in result.err
    assert "ZeroDivisionError: oops" in result.err


def test_version_imports_nothing_heavy(here: Path) -> None:
    code = (
        "import sys\nfrom syncfinder.cli import main\nmain(['--version'])\n"
        "print(sorted({m.split('.')[0] for m in sys.modules} & {'libcst', 'rich', 'torch', 'tomllib'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == f"syncfinder {__version__}\n[]\n"


def test_run_as_a_module(here: Path) -> None:
    (here / "m.py").write_text(READS)
    command = [sys.executable, "-m", "syncfinder", "check", "m.py", "--output-format", "concise"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("m.py:6:12: SF101 ")


def test_output_that_the_terminal_cannot_encode(here: Path) -> None:
    (here / "m.py").write_text(READS.replace("x.sum()", "x.sum('é')"), encoding="utf-8")
    command = [sys.executable, "-m", "syncfinder", "check", "m.py"]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert done.returncode == 1
    assert r"x.sum('\xe9').item()" in done.stdout
