"""The measurement's torch-free parts: probes taken apart, evidence written and read, and the printed table."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from syncfinder.cli import main
from syncfinder.report.functions import SAID, markdown, rows, said
from syncfinder.rules.catalogue import load as catalogue
from syncfinder.runtime.measure import _merged, write
from syncfinder.runtime.probes import Probe, load
from syncfinder.torchmodel.conditions import TESTS
from syncfinder.torchmodel.model import load as model
from syncfinder.torchmodel.model import term


def test_probes_are_many_and_each_is_there_once() -> None:
    probes = load()
    assert len(probes) >= 3400
    assert len({(p.file, p.key) for p in probes}) == len(probes)


def test_a_call_is_judged_alone() -> None:
    probe = Probe("p.toml", "x = 1\n", "nn.BatchNorm1d(8, momentum=None)(x[:2])")
    assert probe.isolated() == Probe(
        "p.toml",
        "x = 1\nhoisted0 = nn.BatchNorm1d(8, momentum=None)\nhoisted1 = x[:2]\n",
        "hoisted0(hoisted1)",
    )


@pytest.mark.parametrize(
    "run", ["x.item()", "f(x, 3, key='a')", "x[m] = 0.0", "if x:\n    pass", "f(*args)", "y = 1\nx + y"]
)
def test_what_has_nothing_to_evaluate_first_stays_as_it_is(run: str) -> None:
    probe = Probe("p.toml", "x = 1\n", run)
    assert probe.isolated() is probe


def test_a_receiver_is_evaluated_before() -> None:
    probe = Probe("p.toml", "", "y = (a + b).sum(dim=len(c))").isolated()
    assert (probe.before, probe.run) == ("hoisted0 = a + b\nhoisted1 = len(c)\n", "y = hoisted0.sum(dim=hoisted1)")


def test_a_changed_probe_has_another_key() -> None:
    keys = {Probe("a.toml", before, run).key for before in ("", "x = 1\n") for run in ("f()", "g()")}
    assert len(keys) == 4


def test_equal_calls_are_kept_once_and_silent_ones_without_times() -> None:
    call = {"a": [1]}
    assert _merged(
        [
            [call, None, True, True, 29.9, 30.0],
            [call, None, True, True, 30.1, 30.0],
            [call, None, False, False, 0.1, 6.0],
        ]
    ) == [
        [call, None, True, True, 29.9, 30.0],
        [call, None, False],
    ]


def test_evidence_is_written_as_json(tmp_path: Path) -> None:
    evidence = {"gpu": "X", "calls": {"torch.add": [[{"a": [1]}, None, False]]}, "errors": {}}
    write(evidence, tmp_path / "e.json")
    assert json.loads((tmp_path / "e.json").read_text()) == evidence
    assert [p.name for p in tmp_path.iterdir()] == ["e.json"]


def test_every_condition_can_be_said() -> None:
    assert set(SAID) | {"anywhere"} == set(TESTS)
    assert said([term("is(min, 0)"), term("init-not-is(enabled, False)"), term("anywhere")]) == (
        "min is 0 and it was not made with enabled=False"
    )


def test_the_table_of_a_rule() -> None:
    rule = catalogue()["SF206"]
    found = {name: (when, evidence) for name, when, evidence in rows(rule, model())}
    when, evidence = found["torch.nn.functional.one_hot"]
    assert when == "num_classes is -1"
    assert evidence.endswith(" calls waited")
    page = markdown(rule, model())
    assert page.startswith("# data-dependent-size (SF206): functions of torch 2.11\n\nMeasured on NVIDIA H200, driver ")
    assert f"| `torch.nn.functional.one_hot` | num_classes is -1 | {evidence} |\n" in page


def test_a_rule_about_the_language_has_no_table() -> None:
    assert list(rows(catalogue()["SF101"], model())) == []
    assert markdown(catalogue()["SF101"], model()).endswith("not about single functions.\n")


def test_the_command_prints_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rule", "SF110", "--all-functions", "--torch-version", "2.6"]) == 0
    out = capsys.readouterr().out
    assert "| `torch.linalg.inv` | always |" in out
    assert out.startswith("# library-reads-value (SF110): functions of torch 2.6\n")


def test_a_version_without_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rule", "SF110", "--all-functions", "--torch-version", "1.0"]) == 2
    assert capsys.readouterr().err == "error: --torch-version must be one of 2.6, 2.11, 2.15\n"
    assert main(["check", "--isolated", "--torch-version", "1.0", "tests"]) == 2
    assert capsys.readouterr().err == "error: --torch-version must be one of 2.6, 2.11, 2.15 (text, not a number)\n"


def test_another_version_is_used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """torch.nn.functional.grouped_mm came after 2.6: there it is no function that returns a tensor."""
    file = tmp_path / "m.py"
    file.write_text(
        "import torch\nimport torch.nn.functional as F\n\n\ndef f():\n"
        '    x = torch.ones(3, 4, device="cuda")\n    return 1 if F.grouped_mm(x, x) else 2\n'
    )
    for version, codes in (("2.6", []), ("2.11", ["SF104"]), ("2.15", ["SF104"])):
        main(["check", "--isolated", "--torch-version", version, "--output-format", "json", str(file)])
        assert [f["code"] for f in json.loads(capsys.readouterr().out)] == codes


def test_the_setting(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "syncfinder.toml").write_text("torch-version = 2.6\n")
    (tmp_path / "m.py").write_text("x = 1\n")
    assert main(["check", str(tmp_path)]) == 2
    assert "`torch-version`: must be one of 2.6, 2.11, 2.15 (text, not a number)" in capsys.readouterr().err
    (tmp_path / "syncfinder.toml").write_text('torch-version = "2.6"\n')
    assert main(["check", str(tmp_path)]) == 0
    assert capsys.readouterr().err == ""
