"""Which files are found, and what is said of those that are not."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from syncfinder.config import Settings
from syncfinder.source.discover import discover


def make(root: Path, *names: str) -> Path:
    """Create empty files below `root`."""
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("")
    return root


def found(root: Path, exclude: Sequence[str] = (), *, given: str = "", respect_gitignore: bool = True) -> list[str]:
    settings = Settings(extend_exclude=tuple(exclude), respect_gitignore=respect_gitignore, root=root)
    result = discover([root / given], settings)
    return [str(f.relative_to(root)) for f in result.files]


def test_python_files_below_a_folder_in_order(tmp_path: Path) -> None:
    make(tmp_path, "b.py", "a/z.py", "a/b/c.py", "a/stub.pyi", "notes.txt", "a/script")
    assert found(tmp_path) == ["a/b/c.py", "a/z.py", "b.py"]


def test_overlapping_paths_give_each_file_once(tmp_path: Path) -> None:
    make(tmp_path, "a/x.py")
    result = discover([tmp_path, tmp_path / "a", tmp_path / "a/x.py", tmp_path / "a/../a/x.py"], Settings())
    assert result.files == [tmp_path / "a/x.py"]
    assert result.errors == []


def test_default_excludes_stand_below_a_given_folder_only(tmp_path: Path) -> None:
    make(tmp_path, "m.py", "build/x.py", ".venv/lib/x.py", "node_modules/x.py", "lib/site-packages/pkg/x.py")
    assert found(tmp_path) == ["m.py"]
    assert found(tmp_path, given="build") == ["build/x.py"]
    assert found(tmp_path, given="lib/site-packages") == ["lib/site-packages/pkg/x.py"]


def test_a_file_given_by_name_is_taken_whatever_it_is_called(tmp_path: Path) -> None:
    make(tmp_path, "tool", "stub.pyi", "build/x.py")
    (tmp_path / ".gitignore").write_text("*\n")
    result = discover(
        [tmp_path / "tool", tmp_path / "stub.pyi", tmp_path / "build/x.py"],
        Settings(extend_exclude=("tool",), root=tmp_path),
    )
    assert [f.name for f in result.files] == ["x.py", "stub.pyi", "tool"]


def test_exclude_patterns_are_relative_to_the_root(tmp_path: Path) -> None:
    make(tmp_path, "a/x.py", "a/gen/y.py", "b/a/x.py", "b/y_pb2.py")
    assert found(tmp_path, ["/a"]) == ["b/a/x.py", "b/y_pb2.py"]
    assert found(tmp_path, ["a/gen/", "*_pb2.py"]) == ["a/x.py", "b/a/x.py"]
    assert found(tmp_path, ["./b"]) == ["a/gen/y.py", "a/x.py"]
    assert found(tmp_path, [str(tmp_path / "b")]) == ["a/gen/y.py", "a/x.py"]


def test_a_folder_given_by_name_overrides_the_pattern_that_leaves_it_out(tmp_path: Path) -> None:
    make(tmp_path, "gen/x.py", "gen/skip.py")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("gen/\nskip.py\n")
    assert found(tmp_path, given="gen") == ["gen/x.py"]
    assert found(tmp_path, ["gen"], given="gen") == ["gen/x.py"]


def test_gitignore_cannot_bring_back_what_exclude_leaves_out(tmp_path: Path) -> None:
    make(tmp_path, "a.py", "b.py")
    (tmp_path / ".gitignore").write_text("!b.py\n")
    assert found(tmp_path, ["b.py"]) == ["a.py"]


def test_nested_gitignore_files_override_those_above(tmp_path: Path) -> None:
    make(tmp_path, "a.py", "gen_a.py", "sub/gen_b.py", "sub/gen_c.py", "sub/d.py")
    (tmp_path / ".gitignore").write_text("gen_*\n")
    (tmp_path / "sub/.gitignore").write_text("!gen_b.py\n/d.py\n")
    assert found(tmp_path) == ["a.py", "sub/gen_b.py"]
    assert found(tmp_path, respect_gitignore=False) == ["a.py", "gen_a.py", "sub/d.py", "sub/gen_b.py", "sub/gen_c.py"]


def test_gitignore_files_above_count_inside_a_repository_only(tmp_path: Path) -> None:
    make(tmp_path, "pkg/a.py", "pkg/out.py", "pkg/local.py")
    (tmp_path / ".gitignore").write_text("out.py\n")
    assert found(tmp_path, given="pkg") == ["pkg/a.py", "pkg/local.py", "pkg/out.py"]
    (tmp_path / ".git/info").mkdir(parents=True)
    (tmp_path / ".git/info/exclude").write_text("local.py\n")
    assert found(tmp_path, given="pkg") == ["pkg/a.py"]


def test_missing_path_is_an_error_that_names_it(tmp_path: Path) -> None:
    make(tmp_path, "a.py")
    result = discover([tmp_path / "nowhere", tmp_path / "a.py"], Settings())
    assert result.errors == [f"{tmp_path / 'nowhere'}: no such file or folder"]
    assert result.files == [tmp_path / "a.py"]


def test_folder_without_python_files_is_an_error(tmp_path: Path) -> None:
    make(tmp_path, "empty/readme.txt", "ignored/x.py")
    (tmp_path / "ignored/.gitignore").write_text("x.py\n")
    result = discover([tmp_path / "empty", tmp_path / "ignored"], Settings())
    assert result.errors == [
        f"{tmp_path / 'empty'}: no Python files in this folder",
        f"{tmp_path / 'ignored'}: no Python files in this folder (1 left out by exclude or .gitignore)",
    ]


def test_notebooks_are_counted_in_one_note(tmp_path: Path) -> None:
    make(tmp_path, "a.py", "n1.ipynb", "d/n2.ipynb")
    result = discover([tmp_path, tmp_path / "n1.ipynb"], Settings())
    assert result.notes == ["3 notebooks (.ipynb) left out: syncfinder reads Python files only"]
    assert result.files == [tmp_path / "a.py"]


def test_exclude_replaces_the_default_and_extend_exclude_adds_to_it(tmp_path: Path) -> None:
    make(tmp_path, "m.py", "build/x.py", "gen/x.py")
    replaced = discover([tmp_path], Settings(exclude=("gen",), root=tmp_path))
    assert [f.relative_to(tmp_path).as_posix() for f in replaced.files] == ["build/x.py", "m.py"]
    assert found(tmp_path, ["gen"]) == ["m.py"]


def test_a_later_pattern_takes_back_what_an_earlier_one_leaves_out(tmp_path: Path) -> None:
    make(tmp_path, "m.py", "build/x.py", "gen/x.py")
    assert found(tmp_path, ["gen", "!build"]) == ["build/x.py", "m.py"]


def test_names_above_the_root_leave_nothing_out(tmp_path: Path) -> None:
    make(tmp_path / "build" / "project", "m.py", "build/x.py")
    assert found(tmp_path / "build" / "project") == ["m.py"]


def test_force_exclude_stands_for_what_is_given_by_name(tmp_path: Path) -> None:
    make(tmp_path, "m.py", "gen/a/x.py", "b_pb2.py", "build/y.py")
    settings = Settings(extend_exclude=("gen/a", "*_pb2.py"), force_exclude=True, root=tmp_path)
    given = ["m.py", "gen/a/x.py", "gen/a", "b_pb2.py", "build/y.py"]
    result = discover([tmp_path / name for name in given], settings)
    assert result.files == [tmp_path / "m.py"]
    assert result.errors == []
    assert result.notes == ["4 given paths left out by exclude (force-exclude)"]


def test_a_folder_with_settings_of_its_own_leaves_out_what_they_say(tmp_path: Path) -> None:
    make(tmp_path, "gen/x.py", "raw/x.py", "inner/gen/x.py", "inner/raw/x.py", "inner/deep/raw/x.py")
    outer = Settings(extend_exclude=("gen",), root=tmp_path)
    inner = Settings(extend_exclude=("/raw",), root=tmp_path / "inner")
    result = discover([tmp_path], outer, lambda folder: inner if "inner" in Path(folder).parts else outer)
    names = [f.relative_to(tmp_path).as_posix() for f in result.files]
    assert names == ["inner/deep/raw/x.py", "inner/gen/x.py", "raw/x.py"]


def test_links_neither_loop_nor_double(tmp_path: Path) -> None:
    make(tmp_path, "a/x.py", "other/y.py")
    os.symlink(tmp_path / "a", tmp_path / "a/loop")
    os.symlink(tmp_path / "a/x.py", tmp_path / "a/same.py")
    os.symlink(tmp_path / "other/y.py", tmp_path / "a/link.py")
    os.symlink(tmp_path / "gone", tmp_path / "a/broken.py")
    assert found(tmp_path, given="a") == ["a/link.py", "a/x.py"]
    assert found(tmp_path) == ["a/x.py", "other/y.py"]


def test_a_link_to_a_folder_is_followed_when_given(tmp_path: Path) -> None:
    make(tmp_path, "a/x.py")
    os.symlink(tmp_path / "a", tmp_path / "link")
    assert found(tmp_path, given="link") == ["link/x.py"]


@pytest.mark.parametrize(
    ("pattern", "kept"),
    [
        ("*.py", []),
        ("/*.py", ["a/b.py", "c/a/b.py"]),
        ("a/b.py", ["b.py", "c/a/b.py"]),
        ("**/a/b.py", ["b.py"]),
        ("c/**/b.py", ["a/b.py", "b.py"]),
        ("c/**", ["a/b.py", "b.py"]),
        ("/a/", ["b.py", "c/a/b.py"]),
        ("b.py/", ["a/b.py", "b.py", "c/a/b.py"]),
        ("[!b].py", ["a/b.py", "b.py", "c/a/b.py"]),
        ("*\n!*/\n!/a/b.py", ["a/b.py"]),
        ("c/*\n!c/a/", ["a/b.py", "b.py", "c/a/b.py"]),
        ("# b.py\n\n/b.py  ", ["a/b.py", "c/a/b.py"]),
        ("!\na\\\n[z-b].py\n/\n/b.py", ["a/b.py", "c/a/b.py"]),
    ],
)
def test_gitignore_patterns(tmp_path: Path, pattern: str, kept: list[str]) -> None:
    make(tmp_path, "b.py", "a/b.py", "c/a/b.py")
    (tmp_path / ".gitignore").write_text(pattern)
    assert found(tmp_path) == kept


def test_outside_the_root_only_patterns_for_names_match(tmp_path: Path) -> None:
    make(tmp_path, "root/x.py", "other/x.py", "other/a/y.py", "other/gen/z.py")
    settings = Settings(extend_exclude=("/x.py", "other/a", "gen/"), root=tmp_path / "root")
    result = discover([tmp_path / "other"], settings)
    assert [f.name for f in result.files] == ["y.py", "x.py"]


def test_agrees_with_git(tmp_path: Path) -> None:
    names = ["a.py", "b.py", "gen_x.py", "[a].py"]
    make(tmp_path, *(f"{d}{n}" for d in ("", "a/", "a/b/", "foo/", "foo/bar/", "x1/y/", "foo/baz/") for n in names))
    (tmp_path / ".gitignore").write_text("foo/*\n!*.py\n/a/*/\n!a/b/\n[ab].py\n!/a.py\n**/foo/gen_*\n")
    (tmp_path / "a/.gitignore").write_text("!b.py\n\\[a\\].py\n")
    (tmp_path / "x1/.gitignore").write_text("*\n!*/\n!a.py\n")
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--others", "--exclude-standard"], cwd=tmp_path, check=True, capture_output=True
    )
    wanted = sorted(name for name in listed.stdout.decode().split("\0") if name.endswith(".py"))
    assert found(tmp_path) == wanted
