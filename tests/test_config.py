"""Settings from files and from options."""

from __future__ import annotations

import dataclasses
import json
import sys
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from syncfinder.config import ConfigError, Configuration, Settings, load, override
from syncfinder.keys import KEYS, Wrapper, json_schema

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


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
        '[tool.syncfinder]\nselect = ["ALL"]\nextend-select = ["sf4"]\nignore = ["SF108"]\nexclude = ["third_party/"]\n'
        'min-confidence = "possible"\nassume-device = "cpu"\n'
    )
    assert load(here / "a/b.py") == Settings(
        select=("SF",),
        extend_select=("SF4",),
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
            "syncfinder.toml: unknown key `zzz`; known keys: extend, select, extend-select, ignore, fixable, "
            "unfixable, unsafe-fixes, per-file-ignores, severity, min-confidence, show-info, exclude, extend-exclude, "
            "force-exclude, respect-gitignore, assume-device, torch-version, hot, extend-hot, setup-functions, "
            "extend-setup-functions, models, baseline, output-format",
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
        "extend_exclude": ("b", "c/d", "**/e", "/f"),
        "no_cache": True,
        "jobs": 3,
    }
    assert override(settings, options) == Settings(
        ignore=("SF101", "SF2"),
        extend_select=("SF5",),
        exclude=("a",),
        extend_exclude=("b", str(here / "c/d"), "**/e", "/f"),
        cache=False,
        jobs=3,
        root=here / "sub",
    )


def test_exclude_on_the_command_line_replaces_the_file() -> None:
    settings = Settings(exclude=("a",), extend_exclude=("b",))
    assert override(settings, {"exclude": ("c",)}) == Settings(exclude=("c",), extend_exclude=("b",))


# Every key: what its example gives, and what the declaration promises.

EXAMPLES = {
    "select": ("SF1", "SF201"),
    "extend-select": ("SF404",),
    "ignore": ("SF108",),
    "fixable": ("SF3",),
    "unfixable": ("SF203",),
    "unsafe-fixes": True,
    "per-file-ignores": (("benchmarks/", ("SF4",)), ("!src/", ("SF108",))),
    "severity": (("SF301", "info"), ("SF4", "error")),
    "min-confidence": "certain",
    "show-info": True,
    "exclude": (".venv", "third_party/"),
    "extend-exclude": ("third_party/", "*_pb2.py"),
    "force-exclude": True,
    "respect-gitignore": False,
    "assume-device": "cpu",
    "torch-version": "2.11",
    "hot": ("forward", "my_pkg.engine.Engine.tick"),
    "extend-hot": ("Scheduler.tick",),
    "setup-functions": ("__init__", "build_*"),
    "extend-setup-functions": ("build_*", "Engine.rebuild"),
    "models": (
        ("my_pkg.utils.to_list", Wrapper(reads="x")),
        ("my_pkg.device.get", Wrapper(returns="device")),
    ),
    "output-format": "concise",
}


def test_every_key_has_an_example() -> None:
    assert set(KEYS) == {*EXAMPLES, "extend", "baseline"}


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_example_of_a_key(here: Path, name: str) -> None:
    (here / "syncfinder.toml").write_text(KEYS[name].example + "\n")
    assert load(here) == replace(Settings(root=here), **{KEYS[name].field: EXAMPLES[name]})


def test_the_baseline_is_relative_to_its_file(here: Path) -> None:
    (here / "syncfinder.toml").write_text(KEYS["baseline"].example + "\n")
    assert load(here / "inner").baseline == str(here / "syncfinder-baseline.json")


def test_the_defaults_are_those_of_the_settings() -> None:
    fields = {f.name: f.default for f in dataclasses.fields(Settings)}
    assert {key.field: key.default for key in KEYS.values() if key.name != "extend"} == {
        name: value for name, value in fields.items() if name not in ("jobs", "cache", "root")
    }


def test_the_committed_schema_is_the_one_of_the_keys() -> None:
    committed = Path(__file__).parents[1] / "syncfinder.schema.json"
    assert json.loads(committed.read_text(encoding="utf-8")) == json_schema()


@pytest.mark.parametrize("name", KEYS)
def test_the_schema_takes_the_example_of_a_key(here: Path, name: str) -> None:
    jsonschema.validate(tomllib.loads(KEYS[name].example), json_schema())


@pytest.mark.parametrize(
    "text", ["selct = []", "select = ['E501']", "severity = {SF1 = 'low'}", "models = {'m.f' = {}}", "hot = 'f'"]
)
def test_the_schema_refuses_what_is_wrong(text: str) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(tomllib.loads(text), json_schema())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("severity = {SF301 = 'low'}", "`severity`: 'SF301': must be one of error, warning, info"),
        (
            "severity = {E501 = 'info'}",
            "`severity`: 'E501' is not a code or the beginning of one, such as SF101 or SF1",
        ),
        ("severity = ['SF301']", "`severity`: must be a table"),
        ("per-file-ignores = {'a.py' = 'SF1'}", "`per-file-ignores`: 'a.py': must be a list of strings"),
        ("per-file-ignores = {'a.py' = ['SF999']}", "no rule's code begins with SF999"),
        ("ignore = ['SF19']", "no rule's code begins with SF19; did you mean SF109"),
        ("hot = ['a b']", "`hot`: 'a b' is not a function's name, such as step, load_* or pkg.mod.Engine.step"),
        ("models = {'m.f' = {read = 'x'}}", "`models`: 'm.f': unknown key 'read'; known keys: reads, returns, waits"),
        ("models = {'m.f' = {}}", "`models`: 'm.f': says nothing; give it reads, returns or waits"),
        ("models = {'m.f' = {reads = 1.5}}", "`models`: 'm.f': `reads` must be a parameter's name, or its position"),
        ("models = {'m.f' = {returns = 'gpu'}}", "`models`: 'm.f': `returns` must be one of tensor, cuda tensor, "),
        ("torch-version = 2.11", "`torch-version`: must be one of "),
        ("assume-device = 'tpu'", "`assume-device`: must be one of cuda, cpu, npu, xpu, hpu, hip, musa"),
        ("extend = 3", "`extend`: must be a string"),
    ],
)
def test_wrong_values_of_single_keys(here: Path, text: str, message: str) -> None:
    (here / "syncfinder.toml").write_text(text)
    with pytest.raises(ConfigError) as caught:
        load(here)
    assert str(caught.value).startswith(f"syncfinder.toml: {message}")


def test_extend(here: Path) -> None:
    inner = here / "inner"
    inner.mkdir()
    (here / "pyproject.toml").write_text(
        "[tool.syncfinder]\nselect = ['SF1']\nextend-exclude = ['inner/gen/', 'x_*']\nmin-confidence = 'certain'\n"
        "severity = {SF1 = 'info'}\nper-file-ignores = {'inner/a.py' = ['SF1']}\n"
    )
    (inner / "syncfinder.toml").write_text(
        "extend = '../pyproject.toml'\nextend-select = ['SF2']\nextend-exclude = ['y']\nmin-confidence = 'likely'\n"
        "severity = {SF1 = 'error'}\n"
    )
    settings = load(inner)
    assert settings == Settings(
        select=("SF1",),
        extend_select=("SF2",),
        extend_exclude=(f"{inner}/gen/", "x_*", "y"),
        severity=(("SF1", "info"), ("SF1", "error")),
        per_file_ignores=((f"{inner}/a.py", ("SF1",)),),
        root=inner,
    )
    assert settings.level_of("SF101", "warning") == "error"
    assert settings.ignored_in(inner / "a.py") == ("SF1",)
    assert settings.ignored_in(inner / "b.py") == ()


def test_extend_a_missing_file(here: Path) -> None:
    (here / "syncfinder.toml").write_text("extend = 'gone.toml'\n")
    with pytest.raises(ConfigError, match=r"^gone\.toml: there is no such file$"):
        load(here)


def test_extend_in_a_circle(here: Path) -> None:
    (here / "syncfinder.toml").write_text("extend = 'other.toml'\n")
    (here / "other.toml").write_text("extend = 'syncfinder.toml'\n")
    with pytest.raises(ConfigError, match=r"^syncfinder\.toml: `extend` leads back to this file$"):
        load(here)


def test_level_of_the_longest_selector() -> None:
    settings = Settings(severity=(("SF1", "info"), ("SF104", "error")))
    assert [settings.level_of(code, "warning") for code in ("SF101", "SF104", "SF201")] == ["info", "error", "warning"]
    assert settings.level_of("SF104", "info") == "info"


def test_per_file_ignores_take_gitignore_patterns(here: Path) -> None:
    rows = (("bench/", ("SF4",)), ("*_test.py", ("SF1", "SF2")), ("!src/", ("SF3",)))
    settings = Settings(per_file_ignores=rows, root=here)
    assert settings.ignored_in(here / "src/m.py") == ()
    assert settings.ignored_in(here / "src/bench/m_test.py") == ("SF4", "SF1", "SF2")
    assert settings.ignored_in(here / "tool.py") == ("SF3",)
    assert [settings.selects_in(here / "src/bench/m.py", code) for code in ("SF101", "SF401")] == [True, False]


def test_config_options(here: Path) -> None:
    (here / "syncfinder.toml").write_text("min-confidence = 'certain'\nignore = ['SF1']\n")
    (here / "other.toml").write_text("show-info = true\n")
    inline = Configuration({"config": ("min-confidence = 'possible'", "ignore=['SF2']", "extend-exclude=['a/b']")})
    assert inline.of(here) == Settings(
        min_confidence="possible", ignore=("SF1", "SF2"), extend_exclude=(str(here / "a/b"),), root=here
    )
    assert Configuration({"config": ("other.toml",)}).of(here / "x/y.py") == Settings(show_info=True, root=here)
    assert Configuration({"config": ("show-info=true",), "isolated": True}).of(here) == Settings(show_info=True)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (("min-confidence=likely",), "--config: 'min-confidence=likely' is neither a file nor a setting in TOML: "),
        (("min-confidenc='likely'",), "--config: unknown key `min-confidenc`; did you mean `min-confidence`?"),
        (("gone.toml",), "gone.toml: there is no such file"),
        (("ignore=['SF19']",), "--config: no rule's code begins with SF19; did you mean SF109"),
        (("extend='x'",), "--config: `extend` is for files; give the file itself: --config FILE"),
        (("a.toml", "b.toml"), "--config: only one settings file can be given"),
        (("pyproject.toml",), "pyproject.toml: has no table `tool.syncfinder`"),
    ],
)
def test_wrong_config_options(here: Path, config: tuple[str, ...], message: str) -> None:
    (here / "pyproject.toml").write_text("[project]\n")
    with pytest.raises(ConfigError) as caught:
        Configuration({"config": config})
    assert str(caught.value).startswith(message)
