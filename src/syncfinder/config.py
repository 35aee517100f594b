"""Settings: the defaults, what `[tool.syncfinder]` or syncfinder.toml says, and what the command line says.

`keys` declares what can be set. Each file of a run has the settings of the nearest file above it that sets some.
"""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from syncfinder.errors import UserError
from syncfinder.keys import KEYS, Wrapper, selectors, torch_version
from syncfinder.sites.site import CONFIDENCES, Confidence, Level
from syncfinder.source.display import shown

if TYPE_CHECKING:
    from syncfinder.source.patterns import FileIgnores

__all__ = ["KEYS", "ConfigError", "Configuration", "Settings", "load", "override", "selectors"]

NAMES = ("syncfinder.toml", "pyproject.toml")


# The fields that hold codes of rules, or how they begin.
SELECTORS = ("select", "extend_select", "ignore", "fixable", "unfixable")


class ConfigError(UserError):
    """A setting that cannot be used; the message names its file, or the option."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What one run is asked to do. Selectors are codes or prefixes of codes, such as `SF101` or `SF1`."""

    select: tuple[str, ...] = KEYS["select"].default
    extend_select: tuple[str, ...] = KEYS["extend-select"].default
    ignore: tuple[str, ...] = KEYS["ignore"].default
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = KEYS["per-file-ignores"].default
    severity: tuple[tuple[str, Level], ...] = KEYS["severity"].default
    fixable: tuple[str, ...] = KEYS["fixable"].default
    unfixable: tuple[str, ...] = KEYS["unfixable"].default
    unsafe_fixes: bool = KEYS["unsafe-fixes"].default
    min_confidence: Confidence = KEYS["min-confidence"].default
    show_info: bool = KEYS["show-info"].default
    exclude: tuple[str, ...] = KEYS["exclude"].default
    extend_exclude: tuple[str, ...] = KEYS["extend-exclude"].default
    force_exclude: bool = KEYS["force-exclude"].default
    respect_gitignore: bool = KEYS["respect-gitignore"].default
    assume_device: str = KEYS["assume-device"].default
    torch_version: str | None = KEYS["torch-version"].default  # None is the newest that was measured
    hot: tuple[str, ...] = KEYS["hot"].default
    extend_hot: tuple[str, ...] = KEYS["extend-hot"].default
    setup_functions: tuple[str, ...] = KEYS["setup-functions"].default
    extend_setup_functions: tuple[str, ...] = KEYS["extend-setup-functions"].default
    models: tuple[tuple[str, Wrapper], ...] = KEYS["models"].default
    baseline: str = KEYS["baseline"].default  # an absolute path; empty for none
    output_format: str = KEYS["output-format"].default
    jobs: int | None = None
    cache: bool = True
    root: Path | None = None  # the folder that patterns are relative to; None is the working directory

    def selects(self, code: str) -> bool:
        """Whether findings of `code` are wanted: the longest matching selector decides, `ignore` when equally long."""
        wanted = _longest(code, self.select + self.extend_select)
        return wanted > _longest(code, self.ignore)

    def selects_in(self, path: Path, code: str) -> bool:
        """Whether findings of `code` are wanted in the file at an absolute path."""
        return self.selects(code) and not code.startswith(self.ignored_in(path))

    def ignored_in(self, path: Path) -> tuple[str, ...]:
        """The selectors that per-file-ignores name for a file."""
        if not self.per_file_ignores:
            return ()
        return _file_ignores(self.per_file_ignores, os.path.abspath(self.root or os.curdir)).of(str(path))

    def fixes(self, code: str) -> bool:
        """Whether findings of `code` may be fixed: the longest matching selector decides, `unfixable` when equal."""
        return _longest(code, self.fixable) > _longest(code, self.unfixable)

    def keeps(self, confidence: Confidence) -> bool:
        """Whether a finding of this confidence reaches `min_confidence`."""
        return CONFIDENCES.index(confidence) >= CONFIDENCES.index(self.min_confidence)

    def level_of(self, code: str, level: Level) -> Level:
        """The level of a finding of `code`: what is info where it stands stays so."""
        if not self.severity or level == "info":
            return level
        matching = [row for row in reversed(self.severity) if code.startswith(row[0])]
        return max(matching, key=lambda row: len(row[0]))[1] if matching else level

    @property
    def inference(self) -> tuple[Any, ...]:
        """What steers the inference: files that agree in it can be analysed together."""
        hot, setup = self.hot + self.extend_hot, self.setup_functions + self.extend_setup_functions
        return self.assume_device != "cpu", self.torch_version, hot, setup, self.models


@lru_cache
def _file_ignores(rows: tuple[tuple[str, tuple[str, ...]], ...], root: str) -> FileIgnores:
    from syncfinder.source.patterns import FileIgnores

    return FileIgnores(rows, root)


def _longest(code: str, selectors: tuple[str, ...]) -> int:
    return max((len(s) for s in selectors if code.startswith(s)), default=-1)


# Of several sources, these add up; in any other setting the nearest one wins.
_ADDED = frozenset(
    key.field for key in KEYS.values() if key.name.startswith("extend-") or isinstance(key.default, tuple)
) - {"select", "fixable", "exclude", "hot", "setup_functions"}


def over(settings: Settings, values: Mapping[str, Any]) -> Settings:
    """The settings with parsed values over them.

    `select` replaces what was selected and ignored, `fixable` what was fixable and unfixable; lists add up.
    """
    changes = dict(values)
    if "select" in changes:
        settings = replace(settings, extend_select=(), ignore=())
    if "fixable" in changes:
        settings = replace(settings, unfixable=())
    for name in _ADDED & changes.keys():
        changes[name] = getattr(settings, name) + changes[name]
    return replace(settings, **changes)


def parsed(table: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The values of a table by the fields of `Settings`; `where` is named in errors. Raises ConfigError."""
    values: dict[str, Any] = {}
    for name, value in table.items():
        key = KEYS.get(name)
        if key is None:
            near = difflib.get_close_matches(name.replace("_", "-"), KEYS, n=1)
            hint = f"; did you mean `{near[0]}`?" if near else f"; known keys: {', '.join(KEYS)}"
            raise ConfigError(f"{where}: unknown key `{name}`{hint}")
        try:
            values[key.field] = key.kind.parse(value)
        except ValueError as error:
            raise ConfigError(f"{where}: `{name}`: {error}") from error
    return values


class Configuration:
    """The settings of every file of a run.

    `options` are those of the command line: `isolated`, `config` (settings files, or `KEY=VALUE`), and what `override`
    takes. Raises ConfigError, here or when a file is first asked for: for a file that cannot be read, an unknown key or
    a wrong value.
    """

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._options = options
        self._folders: dict[str, Settings] = {}
        self._inline, file = _given(options.get("config") or ())
        self._all: Settings | None = None
        if file is not None:
            self._all = self._finished(_read(file, ()))
        elif options.get("isolated"):
            self._all = self._finished(Settings())

    def of(self, path: Path) -> Settings:
        """The settings of a file, or of a folder."""
        if self._all is not None:
            return self._all
        text = os.path.abspath(path)
        return self.of_folder(text if os.path.isdir(text) else os.path.dirname(text))

    def of_folder(self, folder: str) -> Settings:
        """The settings of what is in a folder, given by its absolute path."""
        if self._all is not None:
            return self._all
        found = self._folders.get(folder)
        if found is None:
            parent = os.path.dirname(folder)
            own = _own(folder)
            if own is not None:
                found = self._finished(own)
            elif parent != folder:
                found = self.of_folder(parent)
            else:
                found = self._finished(Settings())
            self._folders[folder] = found
        return found

    def _finished(self, settings: Settings) -> Settings:
        return override(over(settings, self._inline), self._options)


def load(start: Path, *, isolated: bool = False) -> Settings:
    """The settings for what is at or above `start`: from the nearest file that has some, else the defaults.

    Raises ConfigError for a file that cannot be read, an unknown key or a wrong value.
    """
    return Configuration({"isolated": isolated}).of(start)


def override(settings: Settings, options: Mapping[str, Any]) -> Settings:
    """The settings with the command line's options over them; an option that was not given is None, empty or False.

    `select` and `exclude` replace what the file says; the other lists are added to the file's.
    """
    values: dict[str, Any] = {}
    for name in SELECTORS:
        if options.get(name):
            values[name] = tuple(options[name])
    for name in ("exclude", "extend_exclude"):
        if options.get(name):
            values[name] = tuple(_from_here(pattern) for pattern in options[name])
    for name in ("min_confidence", "output_format", "jobs", "show_info", "force_exclude"):
        if options.get(name):
            values[name] = options[name]
    if options.get("unsafe_fixes") is not None:
        values["unsafe_fixes"] = options["unsafe_fixes"]
    if options.get("baseline") is not None:
        values["baseline"] = options["baseline"] and os.path.abspath(options["baseline"])
    if options.get("torch_version"):
        try:
            values["torch_version"] = torch_version(options["torch_version"])
        except ValueError as error:
            raise ConfigError(f"--torch-version {error}") from error
    if options.get("no_cache"):
        values["cache"] = False
    return over(settings, values)


def _from_here(pattern: str) -> str:
    """A pattern of the command line: a path in it is relative to the working directory, not to the file's folder."""
    return pattern if pattern.startswith("/") else _anchored(pattern, os.getcwd())


def _anchored(pattern: str, folder: str) -> str:
    """A pattern as it reads elsewhere: what is a path in it, relative to `folder`, is absolute."""
    if pattern.startswith("!"):
        return "!" + _anchored(pattern[1:], folder)
    if pattern.startswith("**") or "/" not in pattern.rstrip("/") or pattern.startswith(folder + "/"):
        return pattern
    return os.path.join(folder, pattern.removeprefix("./").lstrip("/"))


def _rooted(values: dict[str, Any], folder: str) -> dict[str, Any]:
    """Values with their patterns and paths as they read outside of `folder`."""
    out = dict(values)
    for name in ("exclude", "extend_exclude"):
        if name in out:
            out[name] = tuple(_anchored(pattern, folder) for pattern in out[name])
    if "per_file_ignores" in out:
        out["per_file_ignores"] = tuple((_anchored(p, folder), codes) for p, codes in out["per_file_ignores"])
    return out


def _given(config: tuple[str, ...] | list[str]) -> tuple[dict[str, Any], Path | None]:
    """What `--config` options say: values by field, and the settings file among them."""
    values: dict[str, Any] = {}
    file: Path | None = None
    for text in config:
        if "=" not in text or os.path.isfile(text):
            if file is not None:
                raise ConfigError("--config: only one settings file can be given")
            file = Path(text)
            continue
        try:
            table = _toml().loads(text)
        except ValueError as error:
            raise ConfigError(f"--config: {text!r} is neither a file nor a setting in TOML: {error}") from error
        if "extend" in table:
            raise ConfigError("--config: `extend` is for files; give the file itself: --config FILE")
        new = parsed(table, "--config")
        _check_codes(new, "--config")
        if new.get("baseline"):
            new["baseline"] = os.path.abspath(new["baseline"])
        values.update(_rooted(new, os.getcwd()))
    return values, file


def _own(folder: str) -> Settings | None:
    """The settings that a folder has a file for; None without one."""
    for name in NAMES:
        path = Path(folder, name)
        if path.is_file():
            table = _table(path)
            if table is not None:
                return _settings(table, path, ())
    return None


def _read(path: Path, seen: tuple[str, ...]) -> Settings:
    """The settings of one file that must have some. `seen` are the files that extend it."""
    path = Path(os.path.abspath(path))
    if str(path) in seen:
        raise ConfigError(f"{shown(path)}: `extend` leads back to this file")
    if not path.is_file():
        raise ConfigError(f"{shown(path)}: there is no such file")
    table = _table(path)
    if table is None:
        raise ConfigError(f"{shown(path)}: has no table `tool.syncfinder`")
    return _settings(table, path, seen)


def _settings(table: Mapping[str, Any], path: Path, seen: tuple[str, ...]) -> Settings:
    """The settings of a parsed file, over those of the file that it extends."""
    folder = os.path.dirname(path)
    values = parsed(table, shown(path))
    base = values.pop("extend", "")
    settings = Settings()
    if base:
        extended = _read(Path(folder, base), (*seen, str(path)))
        own = {name: getattr(extended, name) for name in ("exclude", "extend_exclude", "per_file_ignores")}
        settings = replace(extended, **_rooted(own, str(extended.root)))
    if values.get("baseline"):
        values["baseline"] = os.path.normpath(os.path.join(folder, values["baseline"]))
    _check_codes(values, shown(path))
    return replace(over(settings, values), root=Path(folder))


def _check_codes(values: Mapping[str, Any], where: str) -> None:
    """Raise ConfigError for a code, or the beginning of one, that no rule has."""
    asked = [code for name in SELECTORS for code in values.get(name, ())]
    asked += [code for _, codes in values.get("per_file_ignores", ()) for code in codes]
    asked += [code for code, _ in values.get("severity", ())]
    found = unknown_code(asked)
    if found is not None:
        raise ConfigError(f"{where}: {found}")


def unknown_code(asked: list[str]) -> str | None:
    """Say of the first selector that fits no rule what may have been meant; None when all fit one."""
    if not set(asked) - {"SF"}:
        return None
    from syncfinder.rules.catalogue import load as catalogue

    codes = catalogue()
    for selector in sorted(set(asked)):
        if not any(code.startswith(selector) for code in codes):
            near = difflib.get_close_matches(selector, codes, n=3, cutoff=0.6)
            return f"no rule's code begins with {selector}" + (f"; did you mean {' or '.join(near)}?" if near else "")
    return None


def _toml() -> Any:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    return tomllib


def _table(path: Path) -> Mapping[str, Any] | None:
    """The settings table of a file; None when a pyproject.toml has none."""
    try:
        text = path.read_text(encoding="utf-8")
        # most projects' pyproject.toml has no table of ours: parsing it would cost every run
        if path.name == "pyproject.toml" and "syncfinder" not in text:
            return None
        data: dict[str, Any] = _toml().loads(text)
    except (OSError, ValueError) as error:
        raise ConfigError(f"{shown(path)}: cannot be read: {error}") from error
    if path.name != "pyproject.toml":
        return data
    tool = data.get("tool", {})
    table = tool.get("syncfinder") if isinstance(tool, dict) else None
    if table is not None and not isinstance(table, dict):
        raise ConfigError(f"{shown(path)}: `tool.syncfinder` must be a table")
    return table
