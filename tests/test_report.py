"""The formats, character for character."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from syncfinder.check import Report
from syncfinder.finding import Finding, Suggestion
from syncfinder.report import concise, full
from syncfinder.report import json as json_format
from syncfinder.report.formats import Look
from syncfinder.report.frame import frame
from syncfinder.report.rule import markdown, write
from syncfinder.report.summary import summary
from syncfinder.report.text import Styler
from syncfinder.rules.catalogue import load
from syncfinder.sites.site import Hop, Reason, Span
from syncfinder.source.file import SourceFile

TEXT = "import torch\n\n\ndef f(mask):\n    x = 1\n    if mask.any():\n        return x\n"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def finding(here: Path) -> Finding:
    name = str(here / "m.py")
    return Finding(
        code="SF104",
        name="tensor-truth-test",
        message="`mask.any()` makes the host wait",
        filename=name,
        span=Span(6, 8, 6, 18),
        level="warning",
        confidence="likely",
        family="truth-test",
        function="f",
        fix=Suggestion("use torch.where(mask, a, b)\nor move the test"),
        why=(Reason("`mask` is a parameter of `f`", name, 4), Reason("it is compared", "/lib/x.py", 9)),
    )


def written(writer: Callable[..., None], *findings: Finding, **look: Any) -> str:
    stream = io.StringIO()
    files = {f.filename: SourceFile(Path(f.filename), TEXT) for f in findings if f.filename.endswith("m.py")}
    writer(Report(findings=list(findings), files=files), stream, Look(**look))
    return stream.getvalue()


def test_full(finding: Finding) -> None:
    assert written(full.write, finding) == (
        "SF104 `mask.any()` makes the host wait [likely]\n"
        " --> m.py:6:8\n"
        "  |\n"
        "4 | def f(mask):\n"
        "5 |     x = 1\n"
        "6 |     if mask.any():\n"
        "  |        ^^^^^^^^^^\n"
        "  |\n"
        "help: use torch.where(mask, a, b)\n"
        "      or move the test\n"
        "why: `mask` is a parameter of `f` (m.py:4)\n"
        "     it is compared (/lib/x.py:9)\n"
        "\n"
    )


def test_full_of_a_bare_finding_in_an_unread_file(finding: Finding) -> None:
    calls = (Hop("helper", "/lib/x.py", 33), Hop("inner", "/lib/x.py", 40))
    bare = replace(finding, filename="/lib/x.py", fix=None, why=(), calls=calls, level="info", context="setup")
    assert written(full.write, bare) == ""
    assert written(full.write, bare, show_info=True) == (
        "SF104 `mask.any()` makes the host wait [info, likely, setup]\n"
        " --> /lib/x.py:6:8\n"
        "via: helper (/lib/x.py:33) -> inner (/lib/x.py:40)\n"
        "\n"
    )


def test_colour_adds_styles_only(finding: Finding) -> None:
    colored = written(full.write, finding, color=True)
    assert colored.startswith("\x1b[1;33mSF104\x1b[0m \x1b[1m`mask.any()` makes the host wait\x1b[0m \x1b[2m[likely]")
    assert "\x1b[1;34m-->\x1b[0m m.py:6:8\n" in colored
    assert re.sub(r"\x1b\[[\d;]*m", "", colored) == written(full.write, finding)


def lines_of(text: str, span: Span, width: int | None = None) -> list[str]:
    return frame(SourceFile(Path("/m.py"), text), span, Styler(False), width)


def test_frame_of_several_lines() -> None:
    text = "x = f(\n    a,\n    b,\n)\n"
    assert lines_of(text, Span(1, 5, 4, 2)) == [
        "  |",
        "1 | x = f(",
        "  |     ^^",
        "2 |     a,",
        "  |     ^^",
        "3 |     b,",
        "  |     ^^",
        "4 | )",
        "  | ^",
        "  |",
    ]


def test_frame_of_many_lines_is_cut() -> None:
    text = "x = [\n" + "    1,\n" * 20 + "]\n"
    shown = lines_of(text, Span(1, 5, 22, 2))
    assert shown[:3] == ["   |", " 1 | x = [", "   |     ^"]
    assert shown[-4:] == [" 4 |     1,", "   |     ^^", "...", "   |"]


def test_frame_drops_blank_lines_before() -> None:
    assert lines_of("\n\nf(x)\n", Span(3, 3, 3, 4)) == ["  |", "3 | f(x)", "  |   ^", "  |"]


def test_frame_with_tabs_wide_and_control_characters() -> None:
    assert lines_of("\tf('漢', x)\n", Span(1, 9, 1, 10)) == ["  |", "1 |     f('漢', x)", "  |             ^", "  |"]
    assert lines_of("f('\x1b[31m', x)\n", Span(1, 12, 1, 13))[1:3] == ["1 | f('\ufffd[31m', x)", "  |            ^"]


def test_frame_cuts_long_lines_around_the_operand() -> None:
    text = "a" * 200 + "(x.item())" + "b" * 200 + "\n"
    shown = lines_of(text, Span(1, 202, 1, 210), width=44)
    assert shown[1] == "1 | ...aaaaaaa(x.item())bbbbbbbbbbbbbbbb..."
    assert shown[2] == "  |            ^^^^^^^^"


def test_frame_outside_the_file_is_empty() -> None:
    assert lines_of("x\n", Span(9, 1, 9, 2)) == []


def test_concise(finding: Finding) -> None:
    info = replace(finding, level="info", span=Span(7, 1, 7, 2))
    assert written(concise.write, finding, info) == "m.py:6:8: SF104 `mask.any()` makes the host wait\n"
    assert written(concise.write, finding, info, show_info=True).splitlines()[1] == (
        "m.py:7:1: SF104 `mask.any()` makes the host wait"
    )


def test_json_is_sorted_and_has_info(finding: Finding) -> None:
    others = [
        replace(finding, span=Span(7, 1, 7, 2), level="info"),
        replace(finding, filename="/a.py"),
        replace(finding, code="SF101"),
    ]
    rows = json.loads(written(json_format.write, finding, *others))
    assert [(Path(r["filename"]).name, r["location"]["row"], r["code"]) for r in rows] == [
        ("a.py", 6, "SF104"),
        ("m.py", 6, "SF101"),
        ("m.py", 6, "SF104"),
        ("m.py", 7, "SF104"),
    ]
    assert rows[2] == finding.to_json() | {
        "why": [{"text": w.text, "path": w.path, "line": w.line} for w in finding.why]
    }
    assert written(json_format.write) == "[]\n"


def test_summary(finding: Finding) -> None:
    info = replace(finding, level="info")
    sure = replace(finding, confidence="certain", filename="/b.py")
    options = {"failed": False, "show_info": False}
    assert summary([], 3, **options) == "All checks passed!"
    assert summary([], 3, failed=True, show_info=False) == "No findings in the 3 files that could be checked"
    assert summary([info], 3, **options) == "All checks passed! 1 finding is info (--show-info)"
    assert summary([finding], 1, **options) == "Found 1 finding (1 likely) in 1 of 1 file"
    assert summary([finding, sure, sure, info, info], 40, **options) == (
        "Found 3 findings (2 certain, 1 likely) in 2 of 40 files; 2 more are info (--show-info)"
    )
    assert summary([finding, info], 40, failed=True, show_info=True) == (
        "Found 1 finding (1 likely) in 1 of 40 files; 1 more is info"
    )


def test_rule_page() -> None:
    rule = load()["SF101"]
    page = markdown(rule)
    assert page.startswith(
        f"# {rule.name} (SF101)\n\nFamily: {rule.family}\n\n{rule.summary.strip()}\n\n## What it does\n\n"
    )
    assert f"## Example\n\n```python\n{rule.example_bad.strip()}\n```\n\n## Use instead\n\n```python\n" in page
    stream = io.StringIO()
    write([rule], stream, terminal=False)
    assert stream.getvalue() == page


def test_rule_page_on_a_terminal_is_laid_out() -> None:
    stream = io.StringIO()
    write([load()["SF101"]], stream, terminal=True)
    assert "What it does" in stream.getvalue()
    assert "## What it does" not in stream.getvalue()
    assert "```" not in stream.getvalue()
