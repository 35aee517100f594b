"""Module names of files, and files of module names."""

from __future__ import annotations

from pathlib import Path

import pytest

from syncfinder.source.modules import Roots


@pytest.fixture
def project(tmp_path: Path) -> Path:
    files = """
        pyproject.toml setup/tool.py app/__init__.py app/core.py app/sub/__init__.py app/sub/deep.py app/sub/core.py
        src/lib/__init__.py src/lib/util.py space/one/mod.py space/one/types.py space/two.py tests/test_app.py
        tests/helper.py both/__init__.py both.py bare/x.py bare.py torch/nn.py json/tool.py numpy.py
    """
    for name in files.split():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    return tmp_path


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("app/core.py", "app.core"),
        ("app/__init__.py", "app"),
        ("app/sub/deep.py", "app.sub.deep"),
        ("app/sub/__init__.py", "app.sub"),
        ("src/lib/util.py", "lib.util"),
        ("tests/test_app.py", "test_app"),
        ("space/one/mod.py", "mod"),
    ],
)
def test_module_name(project: Path, path: str, name: str) -> None:
    assert Roots().module_name(project / path) == name


@pytest.mark.parametrize(
    ("importer", "dotted", "level", "found"),
    [
        ("app/sub/deep.py", "core", 1, "app/sub/core.py"),
        ("app/sub/deep.py", "core", 2, "app/core.py"),
        ("app/sub/deep.py", "", 1, "app/sub/__init__.py"),
        ("app/sub/__init__.py", "deep", 1, "app/sub/deep.py"),
        ("app/sub/deep.py", "nothing", 1, None),
        ("space/one/mod.py", "", 1, "space/one"),
        ("space/one/mod.py", "two", 2, "space/two.py"),
        ("app/sub/deep.py", "app.core", 0, "app/core.py"),
        ("app/sub/deep.py", "app", 0, "app/__init__.py"),
        ("app/sub/deep.py", "app.sub", 0, "app/sub/__init__.py"),
        ("app/sub/deep.py", "deep", 0, None),
        ("app/core.py", "lib.util", 0, "src/lib/util.py"),
        ("tests/test_app.py", "lib.util", 0, "src/lib/util.py"),
        ("tests/test_app.py", "helper", 0, "tests/helper.py"),
        ("tests/test_app.py", "app.sub.deep", 0, "app/sub/deep.py"),
        ("tests/test_app.py", "app.core.name", 0, None),
        ("tests/test_app.py", "space.one", 0, "space/one"),
        ("tests/test_app.py", "space.one.mod", 0, "space/one/mod.py"),
        ("tests/test_app.py", "both", 0, "both/__init__.py"),
        ("tests/test_app.py", "bare", 0, "bare.py"),
        ("tests/test_app.py", "bare.x", 0, "bare/x.py"),
        ("tests/test_app.py", "torch.nn", 0, None),
        ("tests/test_app.py", "numpy", 0, None),
        ("tests/test_app.py", "json.tool", 0, None),
        ("space/one/mod.py", "types", 0, None),
        ("tests/test_app.py", "", 0, None),
    ],
)
def test_find_module(project: Path, importer: str, dotted: str, level: int, found: str | None) -> None:
    wanted = None if found is None else project / found
    roots = Roots()
    assert roots.find_module(project / importer, dotted, level) == wanted
    assert roots.find_module(project / importer, dotted, level) == wanted


def test_without_a_project_two_folders_above_the_package(tmp_path: Path) -> None:
    for name in ("a/b/pkg/__init__.py", "a/b/pkg/m.py", "a/b/near.py", "a/far.py", "too_far.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    roots = Roots()
    importer = tmp_path / "a/b/pkg/m.py"
    assert roots.find_module(importer, "near", 0) == tmp_path / "a/b/near.py"
    assert roots.find_module(importer, "far", 0) == tmp_path / "a/far.py"
    assert roots.find_module(importer, "too_far", 0) is None
    assert Roots([tmp_path]).find_module(importer, "too_far", 0) == tmp_path / "too_far.py"


def test_namespace_packages_without_a_project_find_their_own_root(tmp_path: Path) -> None:
    for name in ("top/a/b/c/d/m.py", "top/util.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    assert Roots().find_module(tmp_path / "top/a/b/c/d/m.py", "top.util", 0) == tmp_path / "top/util.py"
