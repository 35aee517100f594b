"""The formats for CI services and for documents: exact output of made findings, escapes, and what never gets lost."""

from __future__ import annotations

import io
import json
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest

from syncfinder import __version__
from syncfinder.check import Report
from syncfinder.finding import Finding, Suggestion
from syncfinder.report import formats, markdown
from syncfinder.report.checkout import relative, root
from syncfinder.report.fingerprint import fingerprints
from syncfinder.report.formats import Look
from syncfinder.sites.site import Hop, Reason, Span
from syncfinder.source.file import SourceFile

TEXT = "import torch\n\n\ndef f(a, b):\n    if a | b:\n        return (\n            a.item()\n        )\n"
SCHEMAS = Path(__file__).parent / "data"
CI_VARIABLES = ("GITHUB_WORKSPACE", "CI_PROJECT_DIR", "BUILD_SOURCESDIRECTORY")


@dataclass(frozen=True)
class Change:
    """An edit as suggestions carry it."""

    span: Span
    content: str


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in CI_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def findings(here: Path) -> list[Finding]:
    name = str(here / "pkg" / "a b,c.py")
    first = Finding(
        code="SF104",
        name="tensor-truth-test",
        message="`a | b` is 100% sure\nto wait: <b>",
        filename=name,
        span=Span(5, 8, 5, 13),
        level="error",
        confidence="likely",
        family="truth-test",
        context="hot",
        function="f",
        fix=Suggestion("use `torch.where(a | b, x, y)`\nor move it"),
        why=(Reason("`a` is a parameter", name, 4),),
    )
    item = replace(first, code="SF101", name="tensor-item", message="`a` waits", fix=None, why=(), context=None)
    return [
        first,
        replace(item, span=Span(6, 16, 8, 10), level="warning"),
        replace(item, filename="/lib/x.py", span=Span(9, 1, 9, 2), level="info", calls=(Hop("g", "/lib/y.py", 3),)),
    ]


def written(output_format: str, findings: list[Finding], *errors: str, **look: Any) -> str:
    stream = io.StringIO()
    files = {f.filename: SourceFile(Path(f.filename), TEXT) for f in findings if f.filename.endswith("c.py")}
    report = Report(findings=findings, errors=list(errors), files=files, checked=7)
    formats.write(report, output_format, stream, Look(**look))
    return stream.getvalue()


def test_grouped(findings: list[Finding]) -> None:
    assert written("grouped", findings) == (
        "pkg/a b,c.py:\n"
        "  5:8  SF104 `a | b` is 100% sure to wait: <b>\n"
        "  6:16 SF101 `a` waits\n"
        "\n"
        "Found 2 findings (2 likely) in 1 of 7 files; 1 more is info (--show-info)\n"
    )
    assert "/lib/x.py:\n  9:1 SF101 `a` waits\n\n" in written("grouped", findings, show_info=True)
    colored = written("grouped", findings, color=True)
    assert colored.startswith("\x1b[1mpkg/a b,c.py\x1b[0m:\n  5:8  \x1b[1;31mSF104\x1b[0m `a | b`")


def test_json_lines(findings: list[Finding]) -> None:
    lines = written("json-lines", findings).splitlines()
    assert [json.loads(line) for line in lines] == json.loads(written("json", findings))
    assert [json.loads(line)["level"] for line in lines] == ["info", "error", "warning"]
    assert written("json-lines", []) == ""


def test_github(findings: list[Finding]) -> None:
    assert written("github", findings, "a.py:1: no,\nnot: python") == (
        "::notice title=syncfinder (SF101),file=/lib/x.py,line=9,endLine=9,col=1,endColumn=2::`a` waits\n"
        "::error title=syncfinder (SF104),file=pkg/a b%2Cc.py,line=5,endLine=5,col=8,endColumn=13::"
        "`a | b` is 100%25 sure to wait: <b>%0Ahelp: use `torch.where(a | b, x, y)`%0Aor move it\n"
        "::warning title=syncfinder (SF101),file=pkg/a b%2Cc.py,line=6,endLine=8::`a` waits\n"
        "::error title=syncfinder::a.py:1: no,%0Anot: python\n"
    )


def test_azure(findings: list[Finding]) -> None:
    odd = replace(findings[1], filename=findings[1].filename.replace(",c", ";]%c"))
    assert written("azure", [findings[0], odd, findings[2]], "a.py: 5%") == (
        "##vso[task.logissue type=error;sourcepath=pkg/a b,c.py;linenumber=5;columnnumber=8;code=SF104;]"
        "`a | b` is 100%AZP25 sure to wait: <b>%0Ahelp: use `torch.where(a | b, x, y)`%0Aor move it\n"
        "##vso[task.logissue type=warning;sourcepath=pkg/a b%3B%5D%AZP25c.py;linenumber=6;columnnumber=16;code=SF101;]"
        "`a` waits\n"
        "##vso[task.logissue type=error;]a.py: 5%AZP25\n"
    )
    shown = written("azure", findings, show_info=True).splitlines()[0]
    assert shown.startswith("##vso[task.logissue type=warning;sourcepath=/lib/x.py;")


def test_gitlab(findings: list[Finding]) -> None:
    issues = json.loads(written("gitlab", findings))
    schema = json.loads((SCHEMAS / "gitlab-codequality.json").read_text())
    for issue in issues:
        jsonschema.validate(issue, schema)
    assert len({issue.pop("fingerprint") for issue in issues}) == 3
    assert issues == [
        {
            "description": f"{code}: {message}",
            "check_name": name,
            "severity": severity,
            "location": {
                "path": path,
                "positions": {"begin": {"line": a, "column": b}, "end": {"line": c, "column": d}},
            },
        }
        for code, name, message, severity, path, a, b, c, d in (
            ("SF101", "tensor-item", "`a` waits", "info", "/lib/x.py", 9, 1, 9, 2),
            ("SF104", "tensor-truth-test", "`a | b` is 100% sure to wait: <b>", "major", "pkg/a b,c.py", 5, 8, 5, 13),
            ("SF101", "tensor-item", "`a` waits", "minor", "pkg/a b,c.py", 6, 16, 8, 10),
        )
    ]


def test_fingerprints_outlive_moves_and_layout_and_tell_equal_findings_apart(here: Path) -> None:
    def made(text: str, *spans: Span, function: str = "f") -> list[str]:
        name = str(here / "m.py")
        found = [Finding("SF101", "n", "m", name, span, "error", "likely", "x", function=function) for span in spans]
        return fingerprints(found, {name: SourceFile(Path(name), text)}, here)

    [one] = made("g(x, y).item()\n", Span(1, 1, 1, 15))
    assert made("\n\n    g(\n    x,\n    y,\n  ).item()\n", Span(3, 5, 6, 11)) == [one]
    assert made("g(x, y).item()\n", Span(1, 1, 1, 15), function="h") != [one]
    assert made("g(x, z).item()\n", Span(1, 1, 1, 15)) != [one]
    twice = made("g(x, y).item()\ng(x, y).item()\n", Span(1, 1, 1, 15), Span(2, 1, 2, 15))
    assert twice[0] == one != twice[1]


def test_junit(findings: list[Finding]) -> None:
    odd = replace(findings[1], message="a \x1b\x00 sign \ufffe of <é>")
    tree = ElementTree.fromstring(written("junit", [findings[0], odd, findings[2]], "bad.py: \x07 no"))
    assert tree.attrib == {"name": "syncfinder", "tests": "4", "failures": "2", "errors": "1", "skipped": "1"}
    assert [(s.attrib["name"], s.attrib["tests"]) for s in tree] == [
        ("/lib/x.py", "1"),
        ("pkg/a b,c.py", "2"),
        ("syncfinder", "1"),
    ]
    cases = [case.attrib for case in tree.iter("testcase")]
    assert cases[1] == {
        "name": "SF104 tensor-truth-test 5:8",
        "classname": "pkg/a b,c.py",
        "file": "pkg/a b,c.py",
        "line": "5",
    }
    outcomes = [(case[0].tag, case[0].attrib, case[0].text) for case in tree.iter("testcase")]
    assert outcomes == [
        ("skipped", {"message": "`a` waits", "type": "info"}, "/lib/x.py:9:1: SF101 `a` waits"),
        (
            "failure",
            {"message": "`a | b` is 100% sure to wait: <b>", "type": "error"},
            "pkg/a b,c.py:5:8: SF104 `a | b` is 100% sure to wait: <b>\n"
            "help: use `torch.where(a | b, x, y)`\nor move it",
        ),
        (
            "failure",
            {"message": "a \ufffd\ufffd sign \ufffd of <é>", "type": "warning"},
            "pkg/a b,c.py:6:16: SF101 a \ufffd\ufffd sign \ufffd of <é>",
        ),
        ("error", {"message": "bad.py: \ufffd no", "type": "error"}, None),
    ]


def test_junit_of_nothing_has_a_test_that_passed() -> None:
    assert written("junit", []) == (
        "<?xml version='1.0' encoding='us-ascii'?>\n"
        '<testsuites name="syncfinder" tests="1" failures="0" errors="0" skipped="0">\n'
        '  <testsuite name="syncfinder" tests="1" failures="0" errors="0" skipped="0">\n'
        '    <testcase name="check" classname="syncfinder" />\n'
        "  </testsuite>\n"
        "</testsuites>\n"
    )


def sarif(findings: list[Finding], *errors: str) -> dict[str, Any]:
    log: dict[str, Any] = json.loads(written("sarif", findings, *errors))
    jsonschema.validate(log, json.loads((SCHEMAS / "sarif-schema-2.1.0.json").read_text()))
    [run] = log["runs"]
    return run


def test_sarif(findings: list[Finding], here: Path) -> None:
    run = sarif(findings, "bad.py: no")
    driver = run["tool"]["driver"]
    assert (driver["name"], driver["version"]) == ("syncfinder", __version__)
    assert [(r["id"], r["name"]) for r in driver["rules"]] == [("SF101", "tensor-item"), ("SF104", "tensor-truth-test")]
    assert driver["rules"][0]["help"]["markdown"].startswith("# tensor-item (SF101)\n")
    assert run["originalUriBaseIds"] == {"%SRCROOT%": {"uri": f"{here.as_uri()}/"}}
    assert run["invocations"] == [
        {
            "executionSuccessful": False,
            "toolExecutionNotifications": [{"level": "error", "message": {"text": "bad.py: no"}}],
        }
    ]
    results = run["results"]
    assert [(r["ruleId"], r["ruleIndex"], r["level"]) for r in results] == [
        ("SF101", 0, "note"),
        ("SF104", 1, "error"),
        ("SF101", 0, "warning"),
    ]
    assert len({r["partialFingerprints"]["syncfinder/v1"] for r in results}) == 3
    artifact = {"uri": "pkg/a%20b%2Cc.py", "uriBaseId": "%SRCROOT%"}
    del results[1]["partialFingerprints"]
    assert results[1] == {
        "ruleId": "SF104",
        "ruleIndex": 1,
        "level": "error",
        "message": {"text": "`a | b` is 100% sure to wait: <b>\nhelp: use `torch.where(a | b, x, y)`\nor move it"},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": artifact,
                    "region": {
                        "startLine": 5,
                        "startColumn": 8,
                        "endLine": 5,
                        "endColumn": 13,
                        "snippet": {"text": "a | b"},
                    },
                },
                "logicalLocations": [{"fullyQualifiedName": "f", "kind": "function"}],
            }
        ],
        "properties": {"confidence": "likely", "context": "hot"},
        "relatedLocations": [
            {
                "physicalLocation": {"artifactLocation": artifact, "region": {"startLine": 4}},
                "message": {"text": "`a` is a parameter"},
            }
        ],
    }
    snippet = results[2]["locations"][0]["physicalLocation"]["region"]["snippet"]["text"]
    assert snippet == "(\n            a.item()\n        )"


def test_related_places_come_behind_the_reasons_and_none_twice(findings: list[Finding]) -> None:
    reason = findings[0].why[0]
    related = (
        {"message": reason.text, "filename": reason.path, "location": {"row": reason.line, "column": 1}},
        {"message": "`copy` starts", "filename": "/lib/x.py", "location": {"row": 9, "column": 5}},
    )
    hazard = replace(findings[0], related=related)
    [result] = sarif([hazard])["results"]
    places = [(p["message"]["text"], p["physicalLocation"]["region"]) for p in result["relatedLocations"]]
    assert places == [("`a` is a parameter", {"startLine": 4}), ("`copy` starts", {"startLine": 9})]
    why = [line for line in written("html", [hazard]).splitlines() if 'class="why"' in line]
    assert why == [
        '<p class="why">Why: <code>a</code> is a parameter (pkg/a b,c.py:4)</p>',
        '<p class="why">Why: <code>copy</code> starts (/lib/x.py:9)</p>',
    ]


def test_sarif_of_nothing() -> None:
    run = sarif([])
    assert run["results"] == []
    assert run["invocations"] == [{"executionSuccessful": True, "toolExecutionNotifications": []}]


def test_sarif_shows_a_chain_of_calls_as_a_code_flow(findings: list[Finding]) -> None:
    calls = (Hop("outer", "/lib/x.py", 3), Hop("inner", "/lib/y.py", 8))
    [result] = sarif([replace(findings[0], calls=calls)])["results"]
    [flow] = result["codeFlows"]
    steps = [step["location"] for step in flow["threadFlows"][0]["locations"]]
    assert [step["message"]["text"] for step in steps] == [
        "calls `outer`",
        "`outer` calls `inner`",
        "`inner` makes the host wait",
    ]
    places = [step["physicalLocation"] for step in steps]
    assert places[0]["region"]["startColumn"] == 8
    assert [(p["artifactLocation"]["uri"], p["region"]["startLine"]) for p in places[1:]] == [
        ("file:///lib/x.py", 3),
        ("file:///lib/y.py", 8),
    ]


def test_sarif_has_the_edits_of_a_suggestion_as_a_fix(findings: list[Finding]) -> None:
    changes: Any = (Change(Span(5, 8, 5, 13), "torch.bitwise_or(a, b)"), Change(Span(1, 1, 1, 1), "import os\n"))
    fixable = replace(findings[0], fix=Suggestion("write this", "unsafe", changes))
    [result] = sarif([fixable])["results"]
    assert result["fixes"] == [
        {
            "description": {"text": "write this"},
            "artifactChanges": [
                {
                    "artifactLocation": {"uri": "pkg/a%20b%2Cc.py", "uriBaseId": "%SRCROOT%"},
                    "replacements": [
                        {
                            "deletedRegion": {"startLine": 5, "startColumn": 8, "endLine": 5, "endColumn": 13},
                            "insertedContent": {"text": "torch.bitwise_or(a, b)"},
                        },
                        {
                            "deletedRegion": {"startLine": 1, "startColumn": 1, "endLine": 1, "endColumn": 1},
                            "insertedContent": {"text": "import os\n"},
                        },
                    ],
                }
            ],
            "properties": {"applicability": "unsafe"},
        }
    ]


def test_markdown(findings: list[Finding]) -> None:
    assert written("markdown", findings, "bad.py: a_b") == (
        "### syncfinder\n"
        "\n"
        "Found 2 findings (2 likely) in 1 of 7 files; 1 more is info (--show-info)\n"
        "\n"
        "- error: bad.py: a\\_b\n"
        "\n"
        "#### `pkg/a b,c.py`\n"
        "\n"
        "| place | finding | instead |\n"
        "|---:|---|---|\n"
        "| 5:8 | **SF104** `a \\| b` is 100% sure to wait: \\<b\\> (error, likely, hot) "
        "| use `torch.where(a \\| b, x, y)`<br>or move it |\n"
        "| 6:16 | **SF101** `a` waits (warning, likely) |  |\n"
    )
    assert "| 9:1 | **SF101** `a` waits (info, likely) |  |\n" in written("markdown", findings, show_info=True)
    lone = replace(findings[1], message="a ` and *b*")
    assert "**SF101** a \\` and \\*b\\* (" in written("markdown", [lone])


def test_markdown_is_cut_to_what_a_comment_holds(findings: list[Finding]) -> None:
    many = [replace(findings[1], span=Span(n, 1, n, 2)) for n in range(1, 2001)]
    text = written("markdown", many)
    rows = sum(line.startswith("| ") for line in text.splitlines()) - 1
    assert 65_536 - 2_000 < len(text) < 65_536
    assert text.endswith(f"\n{2000 - rows} more: a comment holds no more than this.\n")
    huge = replace(findings[1], message="x" * markdown.MOST_CHARACTERS)
    assert written("markdown", [huge]).endswith("in 1 of 7 files\n\n1 more: a comment holds no more than this.\n")


def test_html(findings: list[Finding]) -> None:
    html = written("html", findings, "bad.py: <no>")
    assert html.isascii()
    assert html.startswith("<!DOCTYPE html>\n")
    assert "<p>Found 2 findings (2 likely) in 1 of 7 files; 1 more is info (--show-info)</p>\n" in html
    assert "<li>error: bad.py: &lt;no&gt;</li>\n" in html
    assert "<h2>pkg/a b,c.py</h2>\n" in html
    assert "<strong><code>a | b</code> is 100% sure\nto wait: &lt;b&gt;</strong>" in html
    assert '<span class="number">    5  </span>    if <mark>a | b</mark>:\n' in html
    assert (
        '<span class="number">    6  </span>        return <mark>(</mark>\n'
        '<span class="number">    7  </span>            <mark>a.item()</mark>\n'
        '<span class="number">    8  </span>        <mark>)</mark>\n'
    ) in html
    assert "<p>Instead: use <code>torch.where(a | b, x, y)</code><br>or move it</p>\n" in html
    assert '<p class="why">Why: <code>a</code> is a parameter (pkg/a b,c.py:4)</p>\n' in html
    assert html.count("<article") == 2
    assert '<details id="SF101">' in html
    shown = written("html", findings, show_info=True)
    assert '<p class="why">Via: <code>g</code> (/lib/y.py:3)</p>' in shown
    assert "://" not in html, "one file of its own loads nothing"


def test_html_of_nothing() -> None:
    html = written("html", [])
    assert "<p>All checks passed!</p>" in html
    assert "<article" not in html


def test_paths_are_relative_to_the_checkout(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside = here / "repo" / "src"
    inside.mkdir(parents=True)
    monkeypatch.chdir(inside)
    assert relative(str(inside / "m.py"), root()) == "m.py"
    for name in CI_VARIABLES:
        monkeypatch.setenv(name, str(here / "repo"))
        assert root() == here / "repo"
        assert relative(str(inside / "m.py"), root()) == "src/m.py"
        monkeypatch.setenv(name, str(here / "elsewhere"))
        assert root() == inside
    assert relative("/lib/x.py", root()) == "/lib/x.py"


def test_without_a_working_directory_paths_are_absolute(findings: list[Finding], here: Path) -> None:
    gone = here / "gone"
    gone.mkdir()
    os.chdir(gone)
    gone.rmdir()
    try:
        assert root() is None
        run = sarif(findings[:1])
    finally:
        os.chdir(here)
    assert "originalUriBaseIds" not in run
    [place] = run["results"][0]["locations"]
    assert place["physicalLocation"]["artifactLocation"] == {"uri": Path(findings[0].filename).as_uri()}
