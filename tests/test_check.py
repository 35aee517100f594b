"""The pipeline's own promises: settings that steer the inference, worker processes, budgets."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from syncfinder import check as pipeline
from syncfinder.check import check
from syncfinder.config import Settings
from syncfinder.infer import engine
from syncfinder.rules.rewrites import REWRITERS
from syncfinder.rules.rewrites.rewrite import Rewrite
from syncfinder.rules.wording import Spot

ASSUMED = """import torch

def read(x: torch.Tensor):
    y = torch.ones(3, device="cuda")
    return x.max().item(), y.max().item()
"""


def rows(paths: list[Path], settings: Settings) -> list[tuple[str, int, int, str]]:
    report = check(paths, settings)
    assert report.errors == []
    return [(Path(f.filename).name, f.span.line, f.span.column, f.code) for f in report.findings]


def test_assume_device_decides_where_the_code_does_not(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text(ASSUMED)
    both = [("model.py", 5, 12, "SF101"), ("model.py", 5, 28, "SF101")]
    assert rows([path], Settings()) == both
    assert rows([path], Settings(assume_device="cpu")) == both[1:]


def test_workers_find_what_one_process_finds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b", "c"):
        other = {"a": "b", "b": "c", "c": "a"}[name]
        (tmp_path / f"{name}.py").write_text(
            ASSUMED + f"\nimport {other}\n\ndef more(x):\n    return {other}.read(x)\n"
        )
    alone = rows([tmp_path], Settings(jobs=1))
    assert [row[:2] for row in alone] == [(f"{name}.py", 5) for name in "aabbcc"]
    monkeypatch.setattr(pipeline, "PARALLEL_BYTES", 0)
    monkeypatch.setattr(pipeline, "PARALLEL_SITES", 0)
    assert rows([tmp_path], replace(Settings(), jobs=2)) == alone


def test_an_exhausted_budget_costs_knowledge_not_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.py"
    path.write_text(ASSUMED.replace("def read", "def early") + ASSUMED.removeprefix("import torch\n"))
    assert [row[1] for row in rows([path], Settings())] == [5, 5, 9, 9]
    monkeypatch.setattr(engine, "MAX_RUNS", 1)
    assert [row[1] for row in rows([path], Settings())] == [5, 5]


def test_an_internal_error_hides_no_other_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("good", "odd"):
        (tmp_path / f"{name}.py").write_text(ASSUMED)
    infer = engine.infer

    def fragile(module: engine.Module) -> None:
        if module.name == "odd":
            raise ZeroDivisionError("odd")
        infer(module)

    monkeypatch.setattr(engine, "infer", fragile)
    report = check([tmp_path], Settings())
    assert [(Path(f.filename).name, f.span.line) for f in report.findings] == [("good.py", 5), ("good.py", 5)]
    assert report.checked == 1
    (error,) = report.errors
    assert error.startswith(f"{tmp_path / 'odd.py'}: internal error (ZeroDivisionError: odd")


def test_a_fault_of_a_rule_loses_no_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "m.py").write_text(ASSUMED)

    def odd(spot: Spot) -> Rewrite | None:
        raise ZeroDivisionError("odd")

    expected = check([tmp_path], Settings()).findings
    for kind in REWRITERS:
        monkeypatch.setitem(REWRITERS, kind, odd)
    report = check([tmp_path], Settings())
    assert [(f.code, f.span) for f in report.findings] == [(f.code, f.span) for f in expected]
    (error,) = report.errors
    assert error.startswith(f"{tmp_path / 'm.py'}: internal error (ZeroDivisionError: odd")


def test_a_dead_worker_hides_no_other_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.py").write_text(ASSUMED)
    monkeypatch.setattr(pipeline, "PARALLEL_BYTES", 0)
    infer = engine.infer

    def fragile(module: engine.Module) -> None:
        if module.name == "a":
            os._exit(9)
        infer(module)

    monkeypatch.setattr(engine, "infer", fragile)
    report = check([tmp_path], Settings(jobs=2))
    assert [Path(f.filename).name for f in report.findings] == ["b.py", "b.py"]
    a = tmp_path / "a.py"
    (error,) = report.errors
    assert error.startswith(f"{a} to {a}: 1 files were not checked: their worker process died")
