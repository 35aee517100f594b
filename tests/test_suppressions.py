"""Suppressions end to end: what they cover, and the findings about unused, reasonless and malformed ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from syncfinder.cli import main

HEAD = 'import torch\n\n\ndef f(host):\n    x = torch.zeros(3, device="cuda")\n'
Check = Callable[..., list[tuple[int, str]]]


@pytest.fixture
def check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Check:
    monkeypatch.chdir(tmp_path)

    def invoke(body: str, *arguments: str, head: str = HEAD) -> list[tuple[int, str]]:
        (tmp_path / "m.py").write_text(head + body)
        code = main(["check", "m.py", "--output-format", "json", *arguments])
        captured = capsys.readouterr()
        assert captured.err == ""
        found = json.loads(captured.out)
        assert code == int(any(f["level"] != "info" for f in found))
        return [(f["location"]["row"], f["code"]) for f in found]

    return invoke


def test_line_and_own_line(check: Check) -> None:
    assert check("    x.tolist()  # syncfinder: ignore[SF102] once\n") == []
    assert check("    # syncfinder: ignore[SF102] once\n    return (\n        x.tolist()\n    )\n") == []
    assert check("    x.tolist()\n    # syncfinder: ignore[SF102] once\n    x.tolist()\n") == [(6, "SF102")]


def test_block(check: Check) -> None:
    body = (
        "    # syncfinder: disable[SF1] a dump\n    x.tolist()\n    x.max().item()\n    # syncfinder: enable[SF1]\n"
        "    x.tolist()\n"
    )
    assert check(body) == [(10, "SF102")]
    body = "    if host:\n        # syncfinder: disable a dump\n        x.tolist()\n    x.tolist()\n"
    assert check(body) == [(9, "SF102")]


def test_a_whole_file(check: Check) -> None:
    assert check("    x.tolist()\n", head="# syncfinder: ignore-file[SF102] a benchmark\n" + HEAD) == []


@pytest.mark.parametrize(
    ("comment", "codes"),
    [
        ("# syncfinder: ignore[SF101] once", ["SF102", "SF001"]),
        ("# syncfinder: ignore[SF101, SF102] once", ["SF001"]),
        ("# syncfinder: ignore[SF102]", ["SF002"]),
        ("# syncfinder: ignore", ["SF002"]),
        ("# gpu-sync-ok", ["SF002"]),
        ("# gpu-sync-ok: once", []),
        ("# syncfinder: ignore[SF102, SF002]", []),
        ("# syncfinder: ignore[E501] once", ["SF102", "SF003"]),
        ("# syncfinder: ignore[SF102 once", ["SF102", "SF003"]),
        ("# syncfinder: ignroe[SF102] once", ["SF102", "SF003"]),
        ("# syncfinder: host is cpu", ["SF102"]),
    ],
)
def test_comments(check: Check, comment: str, codes: list[str]) -> None:
    assert check(f"    x.tolist()  {comment}\n") == [(6, code) for code in codes]


def test_an_unused_one_of_each_kind(check: Check) -> None:
    assert check("    host.tolist  # syncfinder: ignore once\n") == [(6, "SF001")]
    assert check("    host.tolist  # gpu-sync-ok: once\n") == [(6, "SF001")]
    assert check("    return host\n", head="# syncfinder: ignore-file[SF4] bench\n" + HEAD) == [(1, "SF001")]
    assert check("    # syncfinder: disable[SF4] bench\n    return host\n") == [(6, "SF001")]


def test_what_is_not_shown_still_uses_a_suppression(check: Check) -> None:
    head = "import torch\n\n\ndef load_it(x: torch.Tensor):\n    pass\n"
    assert check("    x.tolist()  # syncfinder: ignore[SF102] once\n", head=head) == []
    assert check("    x.tolist()  # syncfinder: ignore[SF102] once\n", "--min-confidence", "certain", head=head) == []


def test_codes_of_rules_that_are_not_selected_are_not_judged(check: Check) -> None:
    body = "    host.tolist  # syncfinder: ignore[SF102] once\n"
    assert check(body) == [(6, "SF001")]
    assert check(body, "--ignore", "SF102") == []
    assert check(body, "--select", "SF0,SF101") == []
    assert check(body, "--select", "SF0,SF1") == [(6, "SF001")]
    assert check(body, "--ignore", "SF0") == []


def test_levels_and_other_settings(check: Check) -> None:
    body = "    host.tolist  # syncfinder: ignore[SF102] once\n"
    assert check(body, "--config", "per-file-ignores={'m.py'=['SF001']}") == []
    assert check(body, "--config", "severity={SF001='info'}") == [(6, "SF001")]
    assert check(body, head="# syncfinder: ignore-file[SF001] generated\n" + HEAD) == []


def test_messages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    body = "    host.tolist  # syncfinder: ignore[SF102, SF2] once\n"
    body += "    x.tolist()  # noqa # syncfinder: ignore[SF1, SF2]\n"
    (tmp_path / "m.py").write_text(HEAD + body)
    assert main(["check", "m.py", "--output-format", "concise"]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "m.py:6:18: SF001 `# syncfinder: ignore[SF102, SF2]` suppresses nothing",
        "m.py:7:24: SF001 `SF2` in `# syncfinder: ignore[SF1, SF2]` suppresses nothing",
        "m.py:7:24: SF002 `# syncfinder: ignore[SF1, SF2]` does not say why the wait is meant",
        "Found 3 findings (3 certain) in 1 of 1 file",
    ]


def test_a_file_that_cannot_be_parsed_has_no_such_findings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.py").write_text("x = 1  # syncfinder: ignore\ny = = 1\n")
    assert main(["check", "m.py", "--output-format", "json"]) == 2
    assert json.loads(capsys.readouterr().out) == []
