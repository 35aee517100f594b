"""Settings: the defaults, what `[tool.syncfinder]` or syncfinder.toml says, and what the command line says."""

from __future__ import annotations

import difflib
import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from syncfinder.sites.site import CONFIDENCES, Confidence
from syncfinder.source.display import shown

OUTPUT_FORMATS = ("full", "concise", "json")
DEVICES = ("cuda", "cpu")
_SELECTOR = re.compile(r"SF\d{0,3}|ALL")


class ConfigError(Exception):
    """A setting that cannot be used; the message names its file, or the option."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What one run is asked to do. Selectors are codes or prefixes of codes, such as `SF101` or `SF1`."""

    select: tuple[str, ...] = ("SF",)
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    fixable: tuple[str, ...] = ("SF",)
    unfixable: tuple[str, ...] = ()
    unsafe_fixes: bool = False
    min_confidence: Confidence = "likely"
    assume_device: str = "cuda"
    torch_version: str | None = None  # None is the newest that was measured
    show_info: bool = False
    exclude: tuple[str, ...] = ()
    respect_gitignore: bool = True
    output_format: str = "full"
    jobs: int | None = None
    cache: bool = True
    root: Path | None = None  # the folder that `exclude` is relative to; None is the working directory

    def selects(self, code: str) -> bool:
        """Whether findings of `code` are wanted: the longest matching selector decides, `ignore` when equally long."""
        wanted = _longest(code, self.select + self.extend_select)
        return wanted > _longest(code, self.ignore)

    def fixes(self, code: str) -> bool:
        """Whether findings of `code` may be fixed: the longest matching selector decides, `unfixable` when equal."""
        return _longest(code, self.fixable) > _longest(code, self.unfixable)

    def keeps(self, confidence: Confidence) -> bool:
        """Whether a finding of this confidence reaches `min_confidence`."""
        return CONFIDENCES.index(confidence) >= CONFIDENCES.index(self.min_confidence)


def _longest(code: str, selectors: tuple[str, ...]) -> int:
    return max((len(s) for s in selectors if code.startswith(s)), default=-1)


def selectors(value: object) -> tuple[str, ...]:
    """Check a list of selectors; "ALL" becomes "SF". Raises ValueError."""
    found = []
    for item in _strings(value):
        code = item.strip().upper()
        if not _SELECTOR.fullmatch(code):
            raise ValueError(f"{item!r} is not a code or the beginning of one, such as SF101 or SF1")
        found.append("SF" if code == "ALL" else code)
    return tuple(found)


def _strings(value: object) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(item, str) for item in value):
        raise ValueError("must be a list of strings")
    return tuple(value)


def _boolean(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError("must be true or false")
    return value


def _one_of(choices: tuple[str, ...]) -> Callable[[object], str]:
    def check(value: object) -> str:
        if not isinstance(value, str) or value not in choices:
            raise ValueError(f"must be one of {', '.join(choices)}")
        return value

    return check


def _torch_version(value: object) -> str:
    from syncfinder.torchmodel.model import versions

    known = versions()
    if not isinstance(value, str) or value not in known:
        raise ValueError(f"must be one of {', '.join(known)} (text, not a number)")
    return value


_KEYS: dict[str, Callable[[object], Any]] = {
    "select": selectors,
    "extend-select": selectors,
    "ignore": selectors,
    "fixable": selectors,
    "unfixable": selectors,
    "unsafe-fixes": _boolean,
    "exclude": _strings,
    "min-confidence": _one_of(CONFIDENCES),
    "assume-device": _one_of(DEVICES),
    "torch-version": _torch_version,
    "show-info": _boolean,
    "respect-gitignore": _boolean,
    "output-format": _one_of(OUTPUT_FORMATS),
}


def load(start: Path, *, isolated: bool = False) -> Settings:
    """The settings for what is at or above `start`: from the nearest file that has some, else the defaults.

    Raises ConfigError for a file that cannot be read, an unknown key or a wrong value.
    """
    if isolated:
        return Settings()
    folder = os.path.abspath(start)
    if not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    while True:
        for name in ("syncfinder.toml", "pyproject.toml"):
            path = Path(folder, name)
            if path.is_file():
                table = _table(path)
                if table is not None:
                    return replace(from_table(table, shown(path)), root=Path(folder))
        parent = os.path.dirname(folder)
        if parent == folder:
            return Settings()
        folder = parent


def from_table(table: Mapping[str, Any], where: str) -> Settings:
    """Settings from a parsed table; `where` is named in errors. Raises ConfigError."""
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key not in _KEYS:
            near = difflib.get_close_matches(key.replace("_", "-"), _KEYS, n=1)
            hint = f"; did you mean `{near[0]}`?" if near else f"; known keys: {', '.join(_KEYS)}"
            raise ConfigError(f"{where}: unknown key `{key}`{hint}")
        try:
            values[key.replace("-", "_")] = _KEYS[key](value)
        except ValueError as error:
            raise ConfigError(f"{where}: `{key}`: {error}") from error
    return Settings(**values)


def override(settings: Settings, options: Mapping[str, Any]) -> Settings:
    """The settings with the command line's options over them; an option that was not given is None, empty or False.

    `select` replaces what the file selects and ignores; the other lists are added to the file's.
    """
    changes: dict[str, Any] = {}
    if options.get("select"):
        changes = {"select": tuple(options["select"]), "extend_select": (), "ignore": ()}
    for key in ("extend_select", "ignore"):
        changes[key] = changes.get(key, getattr(settings, key)) + tuple(options.get(key) or ())
    changes["exclude"] = settings.exclude + tuple(_from_here(p) for p in options.get("exclude") or ())
    if options.get("fixable"):
        changes |= {"fixable": tuple(options["fixable"]), "unfixable": ()}
    changes["unfixable"] = changes.get("unfixable", settings.unfixable) + tuple(options.get("unfixable") or ())
    if options.get("unsafe_fixes") is not None:
        changes["unsafe_fixes"] = options["unsafe_fixes"]
    for key in ("min_confidence", "output_format", "jobs", "show_info"):
        if options.get(key):
            changes[key] = options[key]
    if options.get("torch_version"):
        try:
            changes["torch_version"] = _torch_version(options["torch_version"])
        except ValueError as error:
            raise ConfigError(f"--torch-version {error}") from error
    if options.get("no_cache"):
        changes["cache"] = False
    return replace(settings, **changes)


def _from_here(pattern: str) -> str:
    """A pattern of the command line: a path in it is relative to the working directory, not to the file's folder."""
    if pattern.startswith(("/", "**", "!")) or "/" not in pattern.rstrip("/"):
        return pattern
    return os.path.join(os.getcwd(), pattern.removeprefix("./"))


def _table(path: Path) -> Mapping[str, Any] | None:
    """The settings table of a file; None when a pyproject.toml has none."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        text = path.read_text(encoding="utf-8")
        # most projects' pyproject.toml has no table of ours: parsing it would cost every run
        if path.name == "pyproject.toml" and "syncfinder" not in text:
            return None
        data: dict[str, Any] = tomllib.loads(text)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{shown(path)}: cannot be read: {error}") from error
    if path.name == "syncfinder.toml":
        return data
    tool = data.get("tool", {})
    table = tool.get("syncfinder") if isinstance(tool, dict) else None
    if table is not None and not isinstance(table, dict):
        raise ConfigError(f"{shown(path)}: `tool.syncfinder` must be a table")
    return table
