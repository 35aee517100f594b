"""`check --output-format` end to end, for every format: a project with all levels, a chain of calls and a bad file."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest

from syncfinder.cli import main
from syncfinder.report.formats import DOCUMENTS, MACHINES, OUTPUT_FORMATS, TEXT

SCHEMAS = Path(__file__).parent / "data"
APP = """\
import torch
from library import first

LIMIT = int(torch.ones(1, device="cuda"))


def forward(x: torch.Tensor):
    if (x > 0).any() | (x < 1).any():
        return first(x)


def report():
    return torch.zeros(3, device="cuda").tolist()
"""
LIBRARY = "def first(x):\n    return second(x + 1)\n\n\ndef second(x):\n    return x.softmax(-1).tolist()\n"
PLACES = [(4, "SF106", "info"), (8, "SF104", "error"), (9, "SF102", "error"), (13, "SF102", "warning")]

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR", "GITHUB_WORKSPACE", "CI_PROJECT_DIR", "BUILD_SOURCESDIRECTORY"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "app.py").write_text(APP)
    (tmp_path / "bad.py").write_text("x = = 1\n")
    (tmp_path / "library").mkdir()
    (tmp_path / "library" / "__init__.py").write_text(LIBRARY)

    def invoke(output_format: str, *arguments: str) -> tuple[int, str, str]:
        code = main(["check", *(arguments or ("app.py",)), "--output-format", output_format])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return invoke


@pytest.mark.parametrize("output_format", OUTPUT_FORMATS)
def test_an_incomplete_run_writes_what_it_found(run: Run, output_format: str) -> None:
    code, out, err = run(output_format, "app.py", "bad.py")
    assert code == 2
    assert err.startswith("error: bad.py:1:5: syntax error")
    assert "SF104" in out
    if output_format in ("github", "azure", "junit", "sarif", "markdown", "html"):
        assert "bad.py:1:5: syntax error" in out


@pytest.mark.parametrize("output_format", OUTPUT_FORMATS)
def test_a_report_in_a_file_is_the_one_on_stdout_without_colour(
    run: Run, output_format: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, plain, err = run(output_format)
    assert (code, err) == (1, "")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert run(output_format, "app.py", "--output-file", "report") == (1, "", "")
    assert Path("report").read_text() == plain


@pytest.mark.parametrize("output_format", OUTPUT_FORMATS)
def test_colour(run: Run, output_format: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = run(output_format)[1]
    assert "\x1b" not in plain
    monkeypatch.setenv("FORCE_COLOR", "1")
    colored = run(output_format)[1]
    assert ("\x1b[1;31mSF104\x1b[0m" in colored) == (output_format in TEXT)
    assert re.sub(r"\x1b\[[\d;]*m", "", colored) == plain
    monkeypatch.setenv("NO_COLOR", "1")
    assert run(output_format)[1] == plain


@pytest.mark.parametrize("output_format", (*TEXT, *DOCUMENTS))
def test_formats_for_people_show_info_only_when_asked(run: Run, output_format: str) -> None:
    assert "SF106" not in run(output_format)[1]
    assert "SF106" in run(output_format, "app.py", "--show-info")[1]


@pytest.mark.parametrize("output_format", [name for name in MACHINES if name != "azure"])
def test_formats_for_machines_always_carry_info(run: Run, output_format: str) -> None:
    out = run(output_format)[1]
    assert "SF106" in out
    assert run(output_format, "app.py", "--show-info")[1] == out


def test_grouped(run: Run) -> None:
    lines = run("grouped", "app.py", "library")[1].splitlines()
    assert [line.split()[:2] for line in lines if line.startswith("  ")] == [
        ["8:8", "SF104"],
        ["13:12", "SF102"],
        ["6:12", "SF102"],
    ]
    assert [line for line in lines if line.endswith(":")] == ["app.py:", "library/__init__.py:"]
    assert lines[-1].startswith("Found 3 findings (")


def test_json_lines(run: Run) -> None:
    rows = [json.loads(line) for line in run("json-lines")[1].splitlines()]
    assert [(row["location"]["row"], row["code"], row["level"]) for row in rows] == PLACES


def test_sarif(run: Run, tmp_path: Path) -> None:
    log = json.loads(run("sarif", "app.py", "bad.py")[1])
    jsonschema.validate(log, json.loads((SCHEMAS / "sarif-schema-2.1.0.json").read_text()))
    results = log["runs"][0]["results"]
    regions = [r["locations"][0]["physicalLocation"]["region"] for r in results]
    levels = {"note": "info"}
    assert [
        (region["startLine"], r["ruleId"], levels.get(r["level"], r["level"]))
        for region, r in zip(regions, results, strict=True)
    ] == PLACES
    assert regions[1]["snippet"] == {"text": "(x > 0).any() | (x < 1).any()"}
    [flow] = results[2]["codeFlows"]
    steps = [step["location"]["physicalLocation"] for step in flow["threadFlows"][0]["locations"]]
    assert [(s["artifactLocation"]["uri"], s["region"]["startLine"]) for s in steps] == [
        ("app.py", 9),
        ("library/__init__.py", 2),
        ("library/__init__.py", 6),
    ]
    assert [i["executionSuccessful"] for i in (log["runs"][0]["invocations"])] == [False]


def test_github(run: Run) -> None:
    lines = run("github")[1].splitlines()
    commands = [re.match(r"::(\w+) title=syncfinder \((\w+)\),file=app\.py,line=(\d+),", line) for line in lines]
    levels = {"notice": "info"}
    assert [(int(m[3]), m[2], levels.get(m[1], m[1])) for m in commands if m] == PLACES
    assert len(lines) == len(PLACES)


def test_azure(run: Run) -> None:
    lines = run("azure")[1].splitlines()
    pattern = r"##vso\[task\.logissue type=(\w+);sourcepath=app\.py;linenumber=(\d+);columnnumber=\d+;code=(\w+);\]`"
    issues = [re.match(pattern, line) for line in lines]
    assert [(int(m[2]), m[3], m[1]) for m in issues if m] == PLACES[1:]
    assert len(run("azure", "app.py", "--show-info")[1].splitlines()) == len(PLACES)


def test_gitlab_fingerprints_outlive_a_move(run: Run) -> None:
    def issues() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(run("gitlab")[1])
        return found

    schema = json.loads((SCHEMAS / "gitlab-codequality.json").read_text())
    before = issues()
    for issue in before:
        jsonschema.validate(issue, schema)
    assert [i["location"]["positions"]["begin"]["line"] for i in before] == [line for line, _, _ in PLACES]
    assert {i["location"]["path"] for i in before} == {"app.py"}
    assert [i["severity"] for i in before] == ["info", "major", "major", "minor"]
    Path("app.py").write_text("# a line more\n" + APP)
    assert [i["fingerprint"] for i in issues()] == [i["fingerprint"] for i in before]
    assert len({i["fingerprint"] for i in before}) == len(before)


def test_junit(run: Run) -> None:
    tree = ElementTree.fromstring(run("junit", "app.py", "bad.py")[1])
    outcomes = [(case.attrib["name"].split()[0], case[0].tag) for case in tree.iter("testcase")]
    assert outcomes == [
        ("SF106", "skipped"),
        ("SF104", "failure"),
        ("SF102", "failure"),
        ("SF102", "failure"),
        ("bad.py:1:5:", "error"),
    ]


def test_markdown(run: Run) -> None:
    lines = run("markdown")[1].splitlines()
    assert lines[:6] == [
        "### syncfinder",
        "",
        "Found 3 findings (1 certain, 2 likely) in 1 of 1 file; 1 more is info (--show-info)",
        "",
        "#### `app.py`",
        "",
    ]
    assert [line.split(" | ")[0] for line in lines[8:]] == ["| 8:8", "| 9:16", "| 13:12"]
    cells = [re.split(r"(?<!\\)\|", line) for line in lines[6:]]
    assert {len(row) for row in cells} == {5}, "a pipe in code must not make a column"


class Tags(HTMLParser):
    """Asserts that tags close in order, and counts them."""

    VOID = ("meta", "br")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_html(run: Run) -> None:
    page = run("html", "app.py", "library", "bad.py", "--show-info")[1]
    tags = Tags()
    tags.feed(page)
    tags.close()
    assert tags.open == []
    assert tags.seen.count("article") == 4
    assert not {"script", "link", "img"} & set(tags.seen)
    assert "<mark>(x &gt; 0).any() | (x &lt; 1).any()</mark>" in page


def test_an_unknown_format_is_refused(run: Run) -> None:
    code, out, err = run("xml")
    assert (code, out) == (2, "")
    assert "'xml' is not one of 'full', 'concise', 'grouped', 'json'" in err


def test_the_settings_file_chooses_a_format(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("syncfinder.toml").write_text('output-format = "json-lines"\n')
    assert main(["check", "app.py"]) == 1
    assert len(capsys.readouterr().out.splitlines()) == len(PLACES)


def on_a_terminal(*arguments: str, **environment: str) -> str:
    """What `check` prints on a terminal of 60 columns."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "syncfinder", "check", *arguments]
    env = os.environ | {"TERM": "xterm", "COLUMNS": "60"} | environment
    with subprocess.Popen(command, stdout=theirs, stderr=theirs, env=env):
        os.close(theirs)
        printed = b""
        while chunk := _read(ours):
            printed += chunk
    os.close(ours)
    return printed.decode().replace("\r\n", "\n")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # how Linux says that the other side is closed
        return b""


def test_colour_and_width_follow_the_terminal(run: Run) -> None:
    line = f"    if (x > 0).any() | (x < {'1' * 80}).any():"
    Path("app.py").write_text(APP.replace("    if (x > 0).any() | (x < 1).any():", line))
    assert f"8 | {line}\n" in run("full")[1]
    printed = on_a_terminal("app.py")
    assert "\x1b[1;31mSF104\x1b[0m" in printed
    plain = re.sub(r"\x1b\[[\d;]*m", "", printed)
    assert f"8 | {line[:52]}...\n" in plain
    assert "\x1b" not in on_a_terminal("app.py", NO_COLOR="1")
    assert "\x1b" not in on_a_terminal("app.py", TERM="dumb")
