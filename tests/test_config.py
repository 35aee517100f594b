"""Settings from files and from options."""

from __future__ import annotations

from pathlib import Path

import pytest

from syncfinder.config import ConfigError, Settings, load, override


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("settings", "selected"),
    [
        (Settings(), ["SF101", "SF102", "SF201"]),
        (Settings(select=("SF1",)), ["SF101", "SF102"]),
        (Settings(ignore=("SF1",)), ["SF201"]),
        (Settings(ignore=("SF1",), extend_select=("SF102",)), ["SF102", "SF201"]),
        (Settings(select=("SF101",), ignore=("SF1",)), ["SF101"]),
        (Settings(select=("SF1",), ignore=("SF101",)), ["SF102"]),
        (Settings(select=("SF101",), ignore=("SF101",)), []),
        (Settings(select=()), []),
    ],
)
def test_the_longest_selector_decides(settings: Settings, selected: list[str]) -> None:
    assert [code for code in ("SF101", "SF102", "SF201") if settings.selects(code)] == selected


def test_keeps() -> None:
    assert [c for c in ("possible", "likely", "certain") if Settings().keeps(c)] == ["likely", "certain"]


def test_pyproject(here: Path) -> None:
    (here / "pyproject.toml").write_text(
        '[tool.syncfinder]\nselect = ["ALL"]\nextend-select = ["sf5"]\nignore = ["SF108"]\nexclude = ["third_party/"]\n'
        'min-confidence = "possible"\nassume-device = "cpu"\n'
    )
    assert load(here / "a/b.py") == Settings(
        select=("SF",),
        extend_select=("SF5",),
        ignore=("SF108",),
        exclude=("third_party/",),
        min_confidence="possible",
        assume_device="cpu",
        root=here,
    )
    assert load(here, isolated=True) == Settings()


def test_the_nearest_file_with_a_table_counts(here: Path) -> None:
    (here / "syncfinder.toml").write_text('ignore = ["SF1"]\n')
    inner = here / "inner"
    inner.mkdir()
    (inner / "pyproject.toml").write_text('[project]\nname = "syncfinder-user"\n')
    assert load(inner) == Settings(ignore=("SF1",), root=here)
    (inner / "pyproject.toml").write_text("[tool.syncfinder]\n")
    assert load(inner) == Settings(root=inner)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("selct = []", "syncfinder.toml: unknown key `selct`; did you mean `select`?"),
        ("min_confidence = 'likely'", "syncfinder.toml: unknown key `min_confidence`; did you mean `min-confidence`?"),
        (
            "zzz = 1",
            "syncfinder.toml: unknown key `zzz`; known keys: select, extend-select, ignore, fixable, unfixable, "
            "unsafe-fixes, exclude, min-confidence, assume-device, torch-version, show-info, respect-gitignore, "
            "output-format",
        ),
        ("select = 'SF1'", "syncfinder.toml: `select`: must be a list of strings"),
        (
            "ignore = ['E501']",
            "syncfinder.toml: `ignore`: 'E501' is not a code or the beginning of one, such as SF101 or SF1",
        ),
        ("min-confidence = 'sure'", "syncfinder.toml: `min-confidence`: must be one of possible, likely, certain"),
        ("show-info = 1", "syncfinder.toml: `show-info`: must be true or false"),
    ],
)
def test_wrong_settings(here: Path, text: str, message: str) -> None:
    (here / "syncfinder.toml").write_text(text)
    with pytest.raises(ConfigError) as caught:
        load(here)
    assert str(caught.value) == message


def test_broken_toml_names_the_file(here: Path) -> None:
    (here / "syncfinder.toml").write_text("select = [")
    with pytest.raises(ConfigError, match=r"^syncfinder\.toml: cannot be read: "):
        load(here)


def test_table_that_is_none(here: Path) -> None:
    (here / "pyproject.toml").write_text("[tool]\nsyncfinder = 3\n")
    with pytest.raises(ConfigError, match=r"^pyproject\.toml: `tool\.syncfinder` must be a table$"):
        load(here)


def test_select_on_the_command_line_replaces_the_file() -> None:
    settings = Settings(select=("SF2",), extend_select=("SF3",), ignore=("SF101",))
    assert override(settings, {"select": ("SF1",), "ignore": ("SF102",)}) == Settings(
        select=("SF1",), ignore=("SF102",)
    )


def test_other_lists_are_added(here: Path) -> None:
    settings = Settings(ignore=("SF101",), exclude=("a",), root=here / "sub")
    options = {
        "ignore": ("SF2",),
        "extend_select": ("SF5",),
        "exclude": ("b", "c/d", "**/e"),
        "no_cache": True,
        "jobs": 3,
    }
    assert override(settings, options) == Settings(
        ignore=("SF101", "SF2"),
        extend_select=("SF5",),
        exclude=("a", "b", str(here / "c/d"), "**/e"),
        cache=False,
        jobs=3,
        root=here / "sub",
    )
