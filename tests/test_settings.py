"""Every setting end to end: what `syncfinder check` does with it, from a file and from the command line."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from syncfinder.cli import main
from syncfinder.keys import KEYS, json_schema

READS = 'import torch\n\n\ndef f():\n    x = torch.zeros(3, device="cuda")\n    return x.sum().item()\n'
ASSUMED = "import torch\n\n\ndef f(x: torch.Tensor):\n    return x.sum().item()\n"
Found = list[tuple[str, int, str, str]]


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str

    @property
    def found(self) -> Found:
        """File, line, code and level of each finding."""
        rows = json.loads(self.out)
        return [(Path(f["filename"]).name, f["location"]["row"], f["code"], f["level"]) for f in rows]


Run = Callable[..., Result]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    def invoke(*arguments: str, stdin: str = "") -> Result:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        code = main(arguments)
        captured = capsys.readouterr()
        return Result(code, captured.out, captured.err)

    return invoke


@pytest.fixture
def check(run: Run) -> Run:
    def invoke(*arguments: str) -> Result:
        return run("check", "--output-format", "json", *(arguments or (".",)))

    return invoke


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def test_each_file_has_the_settings_of_the_nearest_file_above_it(check: Run, here: Path) -> None:
    write(here, {
        "syncfinder.toml": "ignore = ['SF1']\n", "a.py": READS, "one/b.py": READS, "two/c.py": READS,
        "two/pyproject.toml": "[tool.syncfinder]\n", "two/in/d.py": READS, "two/in/pyproject.toml": "[project]\n",
    })  # fmt: skip
    assert check().found == [("c.py", 6, "SF101", "warning"), ("d.py", 6, "SF101", "warning")]
    assert check("a.py", "two/c.py").found == [("c.py", 6, "SF101", "warning")]


def test_files_that_are_inferred_differently_are_so_in_one_run(check: Run, here: Path) -> None:
    write(here, {
        "gpu/m.py": ASSUMED, "gpu/syncfinder.toml": "hot = ['f']\n",
        "host/m.py": ASSUMED, "host/syncfinder.toml": "assume-device = 'cpu'\n", "plain/m.py": ASSUMED,
    })  # fmt: skip
    assert [(f["filename"], f["level"]) for f in json.loads(check().out)] == [
        (str(here / "gpu/m.py"), "error"),
        (str(here / "plain/m.py"), "warning"),
    ]


def test_a_broken_file_further_down_is_one_clear_line(check: Run, here: Path) -> None:
    write(here, {"a.py": READS, "in/b.py": READS, "in/syncfinder.toml": "selct = []\n"})
    message = "error: in/syncfinder.toml: unknown key `selct`; did you mean `select`?\n"
    assert check() == Result(2, "", message)


def test_selection_from_a_file(check: Run, here: Path) -> None:
    write(here, {"m.py": READS, "syncfinder.toml": "select = ['SF2']\nextend-select = ['SF101']\nignore = ['SF1']\n"})
    assert check().found == [("m.py", 6, "SF101", "warning")]
    assert check(".", "--ignore", "SF101").found == []
    assert check(".", "--select", "SF2").found == []
    assert check(".", "--isolated", "--extend-select", "SF1").found == [("m.py", 6, "SF101", "warning")]


def test_per_file_ignores(check: Run, here: Path) -> None:
    write(here, {"src/m.py": READS, "bench/m.py": READS})
    write(here, {"syncfinder.toml": "[per-file-ignores]\n'bench/' = ['SF1']\n"})
    assert [f["filename"] for f in json.loads(check().out)] == [str(here / "src/m.py")]
    assert check("bench/m.py").found == []
    assert [f["filename"] for f in json.loads(check(".", "--config", "per-file-ignores={'src/m.py'=['SF']}").out)] == []


def test_severity(check: Run, here: Path) -> None:
    write(here, {"m.py": READS, "syncfinder.toml": "[severity]\nSF101 = 'info'\n"})
    result = check()
    assert (result.code, result.found) == (0, [("m.py", 6, "SF101", "info")])
    assert check(".", "--config", "severity={SF1='error'}").found == [("m.py", 6, "SF101", "info")]
    assert check(".", "--config", "severity={SF101='error'}").found == [("m.py", 6, "SF101", "error")]


def test_min_confidence_and_show_info(run: Run, here: Path) -> None:
    write(here, {"m.py": ASSUMED + "\n\ndef load_x(x: torch.Tensor):\n    return x.item()\n"})
    assert run("check", "m.py", "--output-format", "concise").out.count("SF101") == 1
    write(here, {"syncfinder.toml": "show-info = true\noutput-format = 'concise'\n"})
    assert run("check", "m.py").out.count("SF101") == 2
    write(here, {"syncfinder.toml": "min-confidence = 'certain'\n"})
    assert run("check", "m.py") == Result(0, "All checks passed!\n", "")
    assert run("check", "m.py", "--min-confidence", "likely").code == 1


def test_excludes(check: Run, here: Path) -> None:
    write(here, {"m.py": READS, "gen/a.py": READS, "build/b.py": READS, "syncfinder.toml": "extend-exclude = ['gen']"})
    assert [row[0] for row in check().found] == ["m.py"]
    assert [row[0] for row in check(".", "--exclude", "m.py").found] == ["b.py"]
    assert [row[0] for row in check(".", "--extend-exclude", "m.py,build", "--exclude", "x").found] == []
    assert [row[0] for row in check("gen/a.py", "m.py").found] == ["a.py", "m.py"]
    forced = check("gen/a.py", "m.py", "--force-exclude")
    assert [row[0] for row in forced.found] == ["m.py"]
    assert forced.err == "note: 1 given path left out by exclude (force-exclude)\n"
    write(here, {"syncfinder.toml": "exclude = ['gen']\nforce-exclude = true\n"})
    assert [row[0] for row in check("gen/a.py", "build/b.py").found] == ["b.py"]


def test_respect_gitignore(check: Run, here: Path) -> None:
    write(here, {"m.py": READS, ".gitignore": "m.py\n", "ok.py": ""})
    assert check().found == []
    assert [row[0] for row in check(".", "--config", "respect-gitignore=false").found] == ["m.py"]


@pytest.mark.parametrize("device", ["cuda", "npu", "xpu", "hpu", "hip", "musa"])
def test_any_accelerator_is_like_cuda(check: Run, here: Path, device: str) -> None:
    text = ASSUMED + (
        f"\n\ndef g(x):\n    y = x.{device}()\n    z = torch.zeros(3, device='{device}:0')\n"
        f"    torch.{device}.synchronize()\n    return y.max().item() + z.max().item()\n"
    )
    write(here, {"m.py": text, "syncfinder.toml": f"assume-device = '{device}'\n"})
    assert [(row[1], row[2]) for row in check().found] == [
        (5, "SF101"), (11, "SF401"), (12, "SF101"), (12, "SF101"),
    ]  # fmt: skip


def test_assume_device_cpu(check: Run, here: Path) -> None:
    write(here, {"m.py": ASSUMED, "syncfinder.toml": "assume-device = 'cpu'\n"})
    assert check().found == []


def test_torch_version(run: Run, here: Path) -> None:
    write(here, {"m.py": READS, "syncfinder.toml": "torch-version = '2.6'\n"})
    assert run("check", "m.py").code == 1
    result = run("check", "m.py", "--torch-version", "1.0")
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("error: --torch-version must be one of 2.6, ")


LEVELS = """import torch


class Engine:
    def tick(self, x: torch.Tensor):
        return help_it(x)

    def forward(self, x: torch.Tensor):
        return x.item()


def help_it(x: torch.Tensor):
    return x.item()


def build_tables(x: torch.Tensor):
    return x.item()


def __init__(x: torch.Tensor):
    return x.item()
"""


@pytest.mark.parametrize(
    ("settings", "levels"),
    [
        ("", ["error", "warning", "warning", "info"]),
        ("hot = ['tick']", ["warning", "error", "warning", "info"]),
        ("extend-hot = ['Engine.tick']", ["error", "error", "warning", "info"]),
        ("extend-hot = ['m.Engine.t*']", ["error", "error", "warning", "info"]),
        ("extend-hot = ['other.Engine.tick', 'build']", ["error", "warning", "warning", "info"]),
        ("hot = []", ["warning", "warning", "warning", "info"]),
        ("extend-setup-functions = ['build_*']", ["error", "warning", "info", "info"]),
        ("setup-functions = ['m.help_it']", ["error", "info", "warning", "warning"]),
    ],
)
def test_hot_and_setup_functions(check: Run, here: Path, settings: str, levels: list[str]) -> None:
    write(here, {"m.py": LEVELS, "syncfinder.toml": settings + "\n"})
    assert [(row[1], row[3]) for row in check().found] == list(zip((9, 13, 17, 21), levels, strict=True))


WRAPPED = """import torch

from my_pkg import utils
from my_pkg.device import get, put
from other.package import fetch
from my_pkg.engine import Engine


def f(x: torch.Tensor, engine: Engine):
    rows = utils.to_list(x)
    y = torch.zeros(3, device=get())
    z = put(rows)
    fetch(z)
    engine.stop()
    engine.read(1, y)
    return z.max().item()
"""
PACKAGE = {
    "my_pkg/__init__.py": "",
    "my_pkg/utils.py": "def to_list(x):\n    return helper(x)\n",
    "my_pkg/device.py": "def get():\n    return registry()\n\n\ndef put(rows):\n    return rows\n",
    "my_pkg/engine.py": "class Engine:\n    def stop(self):\n        pass\n\n    def read(self, n, x):\n        pass\n",
}


def test_models_of_own_wrappers(check: Run, here: Path) -> None:
    write(here, {"m.py": WRAPPED, **PACKAGE})
    assert [(row[1], row[2]) for row in check("m.py").found] == [(16, "SF101")]
    models = """[models]
"my_pkg.utils.to_list" = { reads = "x", returns = "list" }
"my_pkg.device.get" = { returns = "cuda device" }
"my_pkg.device.put" = { returns = "cuda tensor" }
"other.package.fetch" = { reads = "tensor" }
"my_pkg.engine.Engine.stop" = { waits = true }
"my_pkg.engine.Engine.read" = { reads = 1 }
"""
    write(here, {"syncfinder.toml": models})
    assert [(row[1], row[2]) for row in check("m.py").found] == [
        (10, "SF110"), (13, "SF110"), (14, "SF401"), (15, "SF110"), (16, "SF101"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("returns", "codes"),
    [
        ("tensor", ["SF101"]),
        ("cuda tensor", ["SF101"]),
        ("cpu tensor", []),
        ("pinned tensor", []),
        ("number", []),
        ("array", []),
        ("nothing", []),
    ],
)
def test_what_a_wrapper_returns(check: Run, here: Path, returns: str, codes: list[str]) -> None:
    text = "import torch\nfrom my_pkg import get\n\n\ndef f():\n    y = get()\n    return y.item()\n"
    write(here, {"m.py": text, "syncfinder.toml": f"[models]\n'my_pkg.get' = {{ returns = '{returns}' }}\n"})
    assert [row[2] for row in check("m.py").found] == codes


def test_config_file_and_isolated(check: Run, here: Path) -> None:
    write(here, {"m.py": READS, "syncfinder.toml": "ignore = ['SF1']\n", "ci.toml": "severity = {SF1 = 'error'}\n"})
    assert check().found == []
    assert check(".", "--config", "ci.toml").found == [("m.py", 6, "SF101", "error")]
    assert check(".", "--isolated").found == [("m.py", 6, "SF101", "warning")]
    assert check(".", "--isolated", "--config", "ignore=['SF101']").found == []
    assert check(".", "--config", "gone.toml") == Result(2, "", "error: gone.toml: there is no such file\n")


def test_explain_takes_the_settings_of_the_file(run: Run, here: Path) -> None:
    write(here, {"in/m.py": READS, "in/syncfinder.toml": "per-file-ignores = {'m.py' = ['SF101']}\n"})
    assert "not reported, ignored in this file by per-file-ignores" in run("explain", "in/m.py:6").out
    assert "not reported" not in run("explain", "in/m.py:6", "--isolated").out


# `syncfinder config`.


def test_config_lists_every_key(run: Run) -> None:
    result = run("config")
    assert (result.code, result.err) == (0, "")
    assert [line.split()[0] for line in result.out.splitlines()] == list(KEYS)


def test_config_explains_a_key(run: Run) -> None:
    assert run("config", "min-confidence") == Result(
        0,
        "min-confidence\n\nThe least sure findings that are reported.\n\nType: one of possible, likely, certain\n"
        'Default: "likely"\nExample:\n\n    [tool.syncfinder]\n    min-confidence = "certain"\n',
        "",
    )


def test_config_of_an_unknown_key(run: Run) -> None:
    message = "error: there is no setting exclud; did you mean exclude or force-exclude or extend-exclude?\n"
    assert run("config", "exclud") == Result(2, "", message)


def test_config_json_schema(run: Run) -> None:
    assert json.loads(run("config", "--json-schema").out) == json_schema()
    assert run("config", "select", "--json-schema").code == 2
