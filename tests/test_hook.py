"""The pre-commit hook, run by the real pre-commit when someone commits."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
MANIFEST = ROOT / ".pre-commit-hooks.yaml"
SHAPES = 'import torch\n\n\ndef make():\n    return torch.zeros(3, device="cuda")\n'
OLD = "from pkg.shapes import make\n\n\ndef total():\n    return make().sum().item()\n"
APP = "from pkg.shapes import make\n\n\ndef pick():\n    if make().any():\n        return 1\n"

Git = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Git:
    """Git in a scratch repository with a package, and nothing of this machine's settings."""
    monkeypatch.setenv("PRE_COMMIT_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("TRAVIS", "1")  # for pre-commit: two processes, however many cores there are
    for name in ("NAME", "EMAIL"):
        monkeypatch.setenv(f"GIT_AUTHOR_{name}", "a@b.c")
        monkeypatch.setenv(f"GIT_COMMITTER_{name}", "a@b.c")
    repository = tmp_path / "repository"
    (repository / "pkg").mkdir(parents=True)
    monkeypatch.chdir(repository)

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["git", *arguments], capture_output=True, text=True)

    run("init", "-q")
    for name, text in {"__init__": "", "shapes": SHAPES, "old": OLD}.items():
        Path("pkg", f"{name}.py").write_text(text)
    run("add", "-A")
    assert run("commit", "-qm", "start").returncode == 0
    return run


def configure(repository: dict[str, Any]) -> None:
    """Write the configuration and let git call pre-commit."""
    Path(".pre-commit-config.yaml").write_text(yaml.safe_dump({"repos": [repository]}))
    subprocess.run([sys.executable, "-m", "pre_commit", "install"], check=True, capture_output=True)


def installed() -> dict[str, Any]:
    """Return the hook as the manifest has it, run from this environment instead of one that pre-commit makes."""
    [hook] = yaml.safe_load(MANIFEST.read_text())
    return {"repo": "local", "hooks": [hook | {"language": "system"}]}


def check_a_commit(git: Git) -> None:
    """A commit with a wait is refused, with the wait mended it is made."""
    Path("pkg", "app.py").write_text(APP)
    Path("notes.txt").write_text("x.item()\n")
    git("add", "-A")
    refused = git("commit", "-m", "wait")
    assert refused.returncode == 1
    assert "- exit code: 1" in refused.stderr
    # `make` is in a file that did not change; what is old in such a file is not reported
    assert "SF104 `make().any()` is on the GPU: the host waits to know which branch to take [certain]" in refused.stderr
    assert " --> pkg/app.py:5:8\n" in refused.stderr
    assert "Found 1 finding (1 certain) in 1 of 1 file\n" in refused.stderr
    Path("pkg", "app.py").write_text(APP.replace(".any()", ".numel()"))
    git("add", "-A")
    made = git("commit", "-m", "no wait")
    assert made.returncode == 0
    assert "Passed" in made.stderr


def test_the_manifest_is_valid() -> None:
    done = subprocess.run([sys.executable, "-m", "pre_commit", "validate-manifest", str(MANIFEST)])
    assert done.returncode == 0


def test_a_commit_checks_the_changed_files_with_the_project_around_them(git: Git) -> None:
    configure(installed())
    check_a_commit(git)


def test_what_the_settings_exclude_is_not_checked_although_pre_commit_names_it(git: Git) -> None:
    configure(installed())
    Path("syncfinder.toml").write_text('extend-exclude = ["pkg/new.py"]\n')
    Path("pkg", "new.py").write_text(OLD)
    git("add", "-A")
    assert git("commit", "-m", "excluded").returncode == 0
    Path("pkg", "other.py").write_text(OLD)
    git("add", "-A")
    assert git("commit", "-m", "not excluded").returncode == 1


@pytest.mark.parametrize("serial", [True, False])
def test_all_files_are_checked_by_one_process(git: Git, serial: bool) -> None:
    repository = installed()
    if not serial:  # so that the test is known to see a second process
        repository["hooks"][0]["require_serial"] = False
    configure(repository)
    for number in range(12):
        Path("pkg", f"old{number}.py").write_text(OLD)
    git("add", "-A")
    command = [sys.executable, "-m", "pre_commit", "run", "--all-files"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stdout.count("Found ") == (1 if serial else 2)


@pytest.mark.network
def test_the_hook_is_installed_from_its_repository(git: Git, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    for name in (".pre-commit-hooks.yaml", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    for name in ("src", "rules", "fixtures/evidence"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "release"]):
        subprocess.run(["git", "-C", str(source), *arguments], check=True)
    revision = git("-C", str(source), "rev-parse", "HEAD").stdout.strip()
    configure({"repo": str(source), "rev": revision, "hooks": [{"id": "syncfinder"}]})
    check_a_commit(git)
