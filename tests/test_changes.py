"""`--changed-since` end to end, on real git repositories."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from syncfinder.cli import main
from syncfinder.gate.git import FileChange, parsed_diff

HEAD = 'import torch\n\n\ndef f(host):\n    x = torch.zeros(3, device="cuda")\n'


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str

    @property
    def found(self) -> list[tuple[str, int, str]]:
        return [(Path(f["filename"]).name, f["location"]["row"], f["code"]) for f in json.loads(self.out)]


Run = Callable[..., Result]
Git = Callable[..., str]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [n for n in os.environ if n.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    folder = tmp_path / "repo"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def git(here: Path) -> Git:
    def invoke(*arguments: str) -> str:
        names = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        return subprocess.run(["git", *names, *arguments], check=True, capture_output=True, text=True).stdout

    invoke("init", "-q", "-b", "main")
    return invoke


@pytest.fixture
def commit(git: Git) -> Callable[[], None]:
    def invoke() -> None:
        git("add", "-A")
        git("commit", "-q", "-m", "x")

    return invoke


@pytest.fixture
def check(here: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    def invoke(*arguments: str, since: str = "HEAD") -> Result:
        code = main(["check", "--output-format", "json", "--changed-since", since, *arguments])
        captured = capsys.readouterr()
        return Result(code, captured.out, captured.err)

    return invoke


def test_nothing_changed(here: Path, commit: Callable[[], None], check: Run) -> None:
    (here / "m.py").write_text(HEAD + "    x.tolist()\n")
    commit()
    assert check() == Result(0, "[]\n", "")


def test_changed_lines(here: Path, commit: Callable[[], None], check: Run) -> None:
    (here / "m.py").write_text(HEAD + "    x.tolist()\n    y = 1\n    x.cpu()\n    x.min().item()\n")
    commit()
    (here / "m.py").write_text(HEAD + "\n    x.tolist()\n    y = x.cpu()\n    x.cpu()\n    x.max().item()\n")
    result = check()
    assert (result.code, result.found, result.err) == (1, [("m.py", 8, "SF103"), ("m.py", 10, "SF101")], "")


def test_staged_work_tree_and_untracked(here: Path, git: Git, commit: Callable[[], None], check: Run) -> None:
    for name in ("staged.py", "tree.py", "same.py"):
        (here / name).write_text(HEAD + "    x.tolist()\n")
    commit()
    (here / "staged.py").write_text(HEAD + "    x.tolist()\n    x.cpu()\n")
    git("add", "staged.py")
    (here / "tree.py").write_text(HEAD + "    x.tolist()\n    x.cpu()\n")
    (here / "new.py").write_text(HEAD + "    x.tolist()\n")
    assert check().found == [("new.py", 6, "SF102"), ("staged.py", 7, "SF103"), ("tree.py", 7, "SF103")]


def test_a_renamed_file(here: Path, git: Git, commit: Callable[[], None], check: Run) -> None:
    (here / "old name.py").write_text(HEAD + "    x.tolist()\n    y = 3\n    x.cpu()\n" + "    # filler\n" * 20)
    commit()
    (here / "sub").mkdir()
    git("mv", "old name.py", "sub/new 'näme'.py")
    assert check().found == []
    text = (here / "sub/new 'näme'.py").read_text()
    (here / "sub/new 'näme'.py").write_text(text.replace("    y = 3\n", "    y = x.max().item()\n"))
    git("add", "-A")
    assert check().found == [("new 'näme'.py", 7, "SF101")]


HELPER = "def read(x):\n    return x.{}\n"
CALLER = (
    'import torch\nfrom pkg.helper import read\n\n\ndef f():\n    return range(read(torch.zeros(3, device="cuda")))\n'
)


def test_findings_that_a_change_causes_elsewhere(here: Path, commit: Callable[[], None], check: Run) -> None:
    (here / "pkg").mkdir()
    (here / "pkg/__init__.py").write_text("")
    (here / "pkg/helper.py").write_text(HELPER.format("shape[0]"))
    (here / "pkg/caller.py").write_text(
        CALLER + "\n\ndef g(host):\n    x = torch.zeros(3, device='cuda')\n    x.cpu()\n"
    )
    commit()
    (here / "pkg/helper.py").write_text(HELPER.format("sum()"))
    result = check()
    assert (result.code, result.found) == (1, [("caller.py", 6, "SF107")])
    assert result.err == "note: 1 finding stands on lines that did not change: the change causes what they say\n"
    assert check("pkg/caller.py").found == [("caller.py", 6, "SF107")]
    assert check("pkg/helper.py").found == []


def test_a_removed_suppression_is_a_change(here: Path, commit: Callable[[], None], check: Run) -> None:
    (here / "m.py").write_text(HEAD + "    # gpu-sync-ok: once\n    x.tolist()\n    x.cpu()\n")
    commit()
    (here / "m.py").write_text(HEAD + "    x.tolist()\n    x.cpu()\n")
    assert check().found == [("m.py", 6, "SF102")]


def test_an_equal_finding_whose_line_is_gone_hides_nothing(here: Path, commit: Callable[[], None], check: Run) -> None:
    (here / "m.py").write_text(HEAD + "    x.tolist()\n    # gpu-sync-ok: once\n    x.tolist()\n")
    commit()
    (here / "m.py").write_text(HEAD + "    x.tolist()\n")
    assert check().found == []
    (here / "m.py").write_text(HEAD + "    host()\n    host()\n    x.tolist()\n")
    assert check().found == [("m.py", 8, "SF102")]


def test_the_base_is_where_the_branch_began(here: Path, git: Git, commit: Callable[[], None], check: Run) -> None:
    (here / "m.py").write_text(HEAD + "    x.tolist()\n    x.cpu()\n")
    commit()
    git("checkout", "-q", "-b", "topic")
    (here / "n.py").write_text(HEAD + "    x.cpu()\n")
    commit()
    git("checkout", "-q", "main")
    (here / "m.py").write_text(HEAD + "    x.cpu()\n")
    commit()
    git("checkout", "-q", "topic")
    assert check(since="main").found == [("n.py", 6, "SF103")]
    git("checkout", "-q", "main")
    assert check(since="HEAD~1").found == []


def test_from_a_folder_below_and_with_settings_of_the_user(
    here: Path, git: Git, commit: Callable[[], None], check: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "sub").mkdir()
    (here / "sub/m.py").write_text(HEAD + "    x.tolist()\n")
    commit()
    for name, value in (("diff.noprefix", "true"), ("diff.mnemonicPrefix", "true"), ("diff.relative", "true")):
        git("config", name, value)
    git("config", "color.ui", "always")
    (here / "sub/m.py").write_text(HEAD + "    x.tolist()\n    x.cpu()\n")
    monkeypatch.chdir(here / "sub")
    assert check("m.py").found == [("m.py", 7, "SF103")]


def test_within_a_hook(
    here: Path, git: Git, commit: Callable[[], None], check: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "sub").mkdir()
    (here / "sub/m.py").write_text(HEAD + "    x.tolist()\n")
    commit()
    (here / "sub/m.py").write_text(HEAD + "    x.tolist()\n    x.cpu()\n")
    monkeypatch.setenv("GIT_DIR", ".git")
    monkeypatch.setenv("GIT_INDEX_FILE", ".git/index")
    assert check("sub/m.py").found == [("m.py", 7, "SF103")]


def test_a_history_that_is_cut_off(
    here: Path, git: Git, commit: Callable[[], None], check: Run, tmp_path: Path
) -> None:
    (here / "m.py").write_text(HEAD + "    x.tolist()\n")
    commit()
    git("checkout", "-q", "--orphan", "other")
    (here / "m.py").write_text(HEAD + "    x.tolist()\n    x.cpu()\n")
    commit()
    assert check(since="main").found == [("m.py", 7, "SF103")]


def test_a_file_that_did_not_parse_before(here: Path, commit: Callable[[], None], check: Run) -> None:
    (here / "m.py").write_text(HEAD + "    x.tolist(\n")
    (here / "n.py").write_text(HEAD + "    x.tolist()\n")
    commit()
    (here / "m.py").write_text(HEAD + "    x.tolist()\n")
    assert check() == Result(1, check().out, "")
    assert check().found == [("m.py", 6, "SF102")]


def test_with_a_baseline_and_settings(here: Path, commit: Callable[[], None], check: Run) -> None:
    (here / "m.py").write_text(HEAD + "    x.tolist()\n")
    commit()
    (here / "m.py").write_text(HEAD + "    x.tolist()\n    x.tolist()\n    x.cpu()\n")
    assert main(["baseline", "-o", "b.json", "--config", "select=['SF102']"]) == 0
    assert check("--baseline", "b.json").out.startswith("Noted 2 findings in b.json.\n[")
    assert check("--baseline", "b.json").found == [("m.py", 8, "SF103")]
    assert check("--config", "per-file-ignores={'/m.py'=['SF103']}").found == [("m.py", 7, "SF102")]


def test_a_missing_revision(here: Path, commit: Callable[[], None], check: Run) -> None:
    (here / "m.py").write_text(HEAD)
    commit()
    for revision in ("nowhere", "--help", "HEAD:m.py"):
        message = f"error: --changed-since: git knows no revision {revision!r} in {here}\n"
        assert check(since=revision) == Result(2, "", message)


def test_no_repository(here: Path, check: Run) -> None:
    (here / "m.py").write_text(HEAD)
    result = check()
    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
    assert result.err.startswith(f"error: {here}: --changed-since needs a git repository: not a git repository")


def test_a_file_outside_of_the_repository(here: Path, commit: Callable[[], None], check: Run, tmp_path: Path) -> None:
    (here / "m.py").write_text(HEAD)
    commit()
    (tmp_path / "out.py").write_text(HEAD + "    x.tolist()\n")
    message = f"error: {tmp_path / 'out.py'}: is not in the git repository {here}\n"
    assert check("m.py", "../out.py") == Result(2, "", message)


def test_no_git(here: Path, check: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "m.py").write_text(HEAD)
    monkeypatch.setenv("PATH", str(here))
    assert check() == Result(2, "", "error: --changed-since needs git, and there is no such command\n")


def test_stdin_has_no_history(check: Run) -> None:
    result = check("-")
    assert (result.code, result.out) == (2, "")
    assert "--changed-since needs files, and stdin is none" in result.err


def test_diff() -> None:
    data = b"""\
diff --git a/a.py b/a.py
index 1..2 100644
--- a/a.py
+++ b/a.py
@@ -2,2 +2 @@ def f():
--- x
-y
+++ z
\\ No newline at end of file
@@ -9,0 +9,3 @@
+1
+2
+3
diff --git "a/t\\303\\244\\"b.py" b/c d.py
similarity index 90%
rename from "t\\303\\244\\"b.py"
rename to c d.py
--- "a/t\\303\\244\\"b.py"
+++ b/c d.py\t
@@ -1 +0,0 @@
-x
diff --git a/gone.py b/gone.py
deleted file mode 100644
--- a/gone.py
+++ /dev/null
@@ -1 +0,0 @@
-x
"""
    assert list(parsed_diff(data)) == [
        FileChange("a.py", "a.py", [range(2, 4), range(9, 9)], [range(2, 3), range(9, 12)]),
        FileChange('tä"b.py', "c d.py", [range(1, 2)], [range(0, 0)]),
        FileChange("gone.py", None, [range(1, 2)], [range(0, 0)]),
    ]
