"""The settings, each declared once: name, type, default, help, example.

Parsing, `syncfinder config`, the JSON schema and the documentation all come from `KEYS`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from syncfinder.report.formats import OUTPUT_FORMATS
from syncfinder.sites.site import CONFIDENCES

LEVELS = ("error", "warning", "info")
# "cuda" is the word for any accelerator; the others are what torch calls theirs.
DEVICES = ("cuda", "cpu", "npu", "xpu", "hpu", "hip", "musa")

# Folders that hold no code of the project.
# fmt: off
EXCLUDED = (
    ".bzr", ".direnv", ".eggs", ".git", ".git-rewrite", ".hg", ".ipynb_checkpoints", ".mypy_cache", ".nox",
    ".pants.d", ".pyenv", ".pytest_cache", ".pytype", ".ruff_cache", ".svn", ".syncfinder_cache", ".tox", ".venv",
    ".vscode", "__pycache__", "__pypackages__", "_build", "buck-out", "build", "dist", "node_modules",
    "site-packages", "venv",
)
# Functions that a serving, decoding or training loop runs every step: what they reach is hot.
HOT = (
    "forward", "generate", "decode", "step", "prefill", "sample", "run_batch", "event_loop_normal",
    "event_loop_overlap", "execute_model", "forward_batch_generation", "denoise", "training_step",
    "compute_logits", "propose",
)
# Functions that build, load, save or print: they run once, or seldom.
SETUP = (
    "__init__", "__new__", "__init_subclass__", "from_pretrained", "from_config", "post_init", "init_weights",
    "save_pretrained", "reset_parameters", "__setstate__", "__getstate__", "__repr__", "__str__", "extra_repr",
    "state_dict", "main", "warmup", "load_*", "_load*", "_init_*", "init_*", "register_*", "save_*", "capture_*",
    "setup_*", "_setup*", "warmup_*", "_warmup*",
)
# What a wrapper can be said to return.
RESULTS = (
    "tensor", "cuda tensor", "cpu tensor", "pinned tensor", "device", "cuda device", "cpu device", "number", "bool",
    "text", "list", "array", "nothing",
)
# fmt: on

_SELECTOR = re.compile(r"SF\d{0,3}|ALL")
_PATTERN = re.compile(r"[\w.*?\[\]!-]+")


@dataclass(frozen=True, slots=True)
class Wrapper:
    """What a call of a project's own function does, in place of its body.

    `reads`: the parameter whose value the host reads, by name or by position from 0 (without `self`).
    `returns`: one of `RESULTS`; None is something unknown. `waits`: the host waits for the device.
    """

    reads: str | int | None = None
    returns: str | None = None
    waits: bool = False


@dataclass(frozen=True, slots=True)
class Kind:
    """A type of values. `parse` takes what TOML gives and raises ValueError; `schema` is its JSON schema."""

    words: str
    parse: Callable[[object], Any]
    schema: Callable[[], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Key:
    """One setting. `default` is the parsed value; `shown` says it in TOML, or in words; `example` is a line of TOML."""

    name: str
    kind: Kind
    default: Any
    shown: str
    help: str
    example: str

    @property
    def field(self) -> str:
        """The name of the field of `Settings`."""
        return self.name.replace("-", "_")


def selectors(value: object) -> tuple[str, ...]:
    """Check a list of selectors; "ALL" becomes "SF". Raises ValueError."""
    return tuple(_selector(item) for item in _strings(value))


def _selector(text: str) -> str:
    code = text.strip().upper()
    if not _SELECTOR.fullmatch(code):
        raise ValueError(f"{text!r} is not a code or the beginning of one, such as SF101 or SF1")
    return "SF" if code == "ALL" else code


def _strings(value: object) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(item, str) for item in value):
        raise ValueError("must be a list of strings")
    return tuple(value)


def _functions(value: object) -> tuple[str, ...]:
    names = _strings(value)
    for name in names:
        if not _PATTERN.fullmatch(name):
            raise ValueError(f"{name!r} is not a function's name, such as step, load_* or pkg.mod.Engine.step")
    return names


def _boolean(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError("must be true or false")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("must be a string")
    return value


def one_of(choices: tuple[str, ...]) -> Callable[[object], str]:
    """Return the check that a value is one of `choices`; it raises ValueError."""

    def check(value: object) -> str:
        if not isinstance(value, str) or value not in choices:
            raise ValueError(f"must be one of {', '.join(choices)}")
        return value

    return check


def torch_version(value: object) -> str:
    """Check a version of torch. Raises ValueError."""
    from syncfinder.torchmodel.model import versions

    known = versions()
    if not isinstance(value, str) or value not in known:
        raise ValueError(f"must be one of {', '.join(known)} (text, not a number)")
    return value


def _table(value: object) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise ValueError("must be a table")
    return value


def _pairs(value: object, key: Callable[[str], str], item: Callable[[object], Any]) -> tuple[tuple[str, Any], ...]:
    out = []
    for name, entry in _table(value).items():
        parsed = key(name)
        try:
            out.append((parsed, item(entry)))
        except ValueError as error:
            raise ValueError(f"{name!r}: {error}") from error
    return tuple(out)


def _wrapper(value: object) -> Wrapper:
    table = dict(_table(value))
    reads, returns = table.pop("reads", None), table.pop("returns", None)
    waits = _boolean(table.pop("waits", False))
    if table:
        raise ValueError(f"unknown key {next(iter(table))!r}; known keys: reads, returns, waits")
    if isinstance(reads, bool) or not isinstance(reads, (str, int, type(None))):
        raise ValueError("`reads` must be a parameter's name, or its position from 0")
    if returns is not None and returns not in RESULTS:
        raise ValueError(f"`returns` must be one of {', '.join(RESULTS)}")
    if reads is None and returns is None and not waits:
        raise ValueError("says nothing; give it reads, returns or waits")
    return Wrapper(reads, returns, waits)


_CODE = {"type": "string", "pattern": r"^([Ss][Ff]\d{0,3}|[Aa][Ll][Ll])$"}


def _list_of(item: dict[str, Any]) -> Callable[[], dict[str, Any]]:
    return lambda: {"type": "array", "items": item}


def _map_of(item: dict[str, Any]) -> Callable[[], dict[str, Any]]:
    return lambda: {"type": "object", "additionalProperties": item}


def _versions() -> dict[str, Any]:
    from syncfinder.torchmodel.model import versions

    return {"type": "string", "enum": list(versions())}


def choice(choices: tuple[str, ...]) -> Kind:
    """Return the kind of a value that is one of some words."""
    return Kind(f"one of {', '.join(choices)}", one_of(choices), lambda: {"type": "string", "enum": list(choices)})


CODES = Kind("a list of codes, or of how they begin", selectors, _list_of(_CODE))
PATTERNS = Kind(
    "a list of gitignore patterns, relative to the file that sets them", _strings, _list_of({"type": "string"})
)
FUNCTIONS = Kind(
    "a list of functions: `step`, `load_*`, `Engine.step` or `pkg.mod.Engine.step`",
    _functions,
    _list_of({"type": "string"}),
)
FLAG = Kind("true or false", _boolean, lambda: {"type": "boolean"})
PATH = Kind("a path, relative to the file that sets it", _text, lambda: {"type": "string"})
VERSION = Kind("a version of torch, as text", torch_version, _versions)
FILE_IGNORES = Kind(
    "a table from gitignore patterns to lists of codes; `!` before a pattern means all other files",
    lambda value: _pairs(value, str, selectors),
    _map_of({"type": "array", "items": _CODE}),
)
SEVERITIES = Kind(
    "a table from codes, or how they begin, to error, warning or info",
    lambda value: _pairs(value, _selector, one_of(LEVELS)),
    _map_of({"type": "string", "enum": list(LEVELS)}),
)
WRAPPERS = Kind(
    "a table from dotted names to what a call does: `reads` (a parameter), `returns` "
    f"({', '.join(RESULTS)}), `waits` (true)",
    lambda value: _pairs(value, str, _wrapper),
    _map_of({
        "type": "object",
        "additionalProperties": False,
        "minProperties": 1,
        "properties": {
            "reads": {"type": ["string", "integer"], "description": "The parameter whose value the host reads."},
            "returns": {"type": "string", "enum": list(RESULTS), "description": "What the call gives."},
            "waits": {"type": "boolean", "description": "The host waits for the device."},
        },
    }),
)  # fmt: skip

KEYS: dict[str, Key] = {
    key.name: key
    for key in (
        Key(
            "extend", PATH, "", "none",
            "Another settings file; what this one says goes over it.",
            'extend = "../pyproject.toml"',
        ),
        Key(
            "select", CODES, ("SF",), '["SF"]',
            "The rules whose findings are reported; the longest match of select and ignore decides.",
            'select = ["SF1", "SF201"]',
        ),
        Key(
            "extend-select", CODES, (), "[]",
            "Rules that are reported besides those of select.",
            'extend-select = ["SF404"]',
        ),
        Key(
            "ignore", CODES, (), "[]",
            "Rules that are not reported.",
            'ignore = ["SF108"]',
        ),
        Key(
            "fixable", CODES, ("SF",), '["SF"]',
            "Rules that are fixed; the longest match decides, `unfixable` when equally long.",
            'fixable = ["SF3"]',
        ),
        Key(
            "unfixable", CODES, (), "[]",
            "Rules that are not fixed.",
            'unfixable = ["SF203"]',
        ),
        Key(
            "unsafe-fixes", FLAG, False, "false",
            "Apply and offer fixes under a condition that the tool cannot see, too.",
            "unsafe-fixes = true",
        ),
        Key(
            "per-file-ignores", FILE_IGNORES, (), "{}",
            "Rules that are not reported in some files.",
            'per-file-ignores = { "benchmarks/" = ["SF4"], "!src/" = ["SF108"] }',
        ),
        Key(
            "severity", SEVERITIES, (), "{}",
            "The level of a rule's findings; info never fails a run. Findings that are info where they stand stay so.",
            'severity = { SF301 = "info", SF4 = "error" }',
        ),
        Key(
            "min-confidence", choice(CONFIDENCES), "likely", '"likely"',
            "The least sure findings that are reported.",
            'min-confidence = "certain"',
        ),
        Key(
            "show-info", FLAG, False, "false",
            "Show findings in set-up code, on error paths and the like too.",
            "show-info = true",
        ),
        Key(
            "exclude", PATTERNS, EXCLUDED, f'["{EXCLUDED[0]}", "{EXCLUDED[1]}", ...]',
            "Files and folders that are left out below a given folder. Replaces the default: " + ", ".join(EXCLUDED),
            'exclude = [".venv", "third_party/"]',
        ),
        Key(
            "extend-exclude", PATTERNS, (), "[]",
            "Files and folders that are left out besides those of exclude.",
            'extend-exclude = ["third_party/", "*_pb2.py"]',
        ),
        Key(
            "force-exclude", FLAG, False, "false",
            "Leave out what is excluded even when it is given by name, as pre-commit does.",
            "force-exclude = true",
        ),
        Key(
            "respect-gitignore", FLAG, True, "true",
            "Leave out what .gitignore files leave out.",
            "respect-gitignore = false",
        ),
        Key(
            "assume-device", choice(DEVICES), "cuda", '"cuda"',
            "Where a tensor is when the code does not say. npu, xpu, hpu, hip and musa are accelerators like cuda.",
            'assume-device = "cpu"',
        ),
        Key(
            "torch-version", VERSION, None, "the newest that was measured",
            "The version of torch that the code runs with.",
            'torch-version = "2.11"',
        ),
        Key(
            "hot", FUNCTIONS, HOT, f'["{HOT[0]}", "{HOT[1]}", ...]',
            "Functions that run every step: findings in them, and in what they call, are errors. Replaces the default: "
            + ", ".join(HOT),
            'hot = ["forward", "my_pkg.engine.Engine.tick"]',
        ),
        Key(
            "extend-hot", FUNCTIONS, (), "[]",
            "Functions that run every step, besides those of hot.",
            'extend-hot = ["Scheduler.tick"]',
        ),
        Key(
            "setup-functions", FUNCTIONS, SETUP, f'["{SETUP[0]}", "{SETUP[1]}", ...]',
            "Functions that run once, or seldom: findings in them are info. Replaces the default: " + ", ".join(SETUP),
            'setup-functions = ["__init__", "build_*"]',
        ),
        Key(
            "extend-setup-functions", FUNCTIONS, (), "[]",
            "Functions that run once, besides those of setup-functions.",
            'extend-setup-functions = ["build_*", "Engine.rebuild"]',
        ),
        Key(
            "models", WRAPPERS, (), "{}",
            "What the project's own wrappers do, by dotted name: a call does this, and its body is not looked at.",
            'models = { "my_pkg.utils.to_list" = { reads = "x" }, "my_pkg.device.get" = { returns = "device" } }',
        ),
        Key(
            "baseline", PATH, "", "none",
            "A file of known findings, made by `syncfinder baseline`; they are not reported.",
            'baseline = "syncfinder-baseline.json"',
        ),
        Key(
            "output-format", choice(OUTPUT_FORMATS), "full", '"full"',
            "How findings are written.",
            'output-format = "concise"',
        ),
    )
}  # fmt: skip


def json_schema() -> dict[str, Any]:
    """Return the JSON schema of syncfinder.toml, which is that of `[tool.syncfinder]` as well."""
    properties = {
        key.name: {"description": key.help, **key.kind.schema(), **_json_default(key)} for key in KEYS.values()
    }
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "syncfinder",
        "description": "Settings of syncfinder: syncfinder.toml, or [tool.syncfinder] in pyproject.toml",
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
    }


def _json_default(key: Key) -> dict[str, Any]:
    """The default in JSON's terms; nothing where none stands for "not given"."""
    if key.shown == "none" or key.default is None:
        return {}
    if key.shown == "{}":
        return {"default": {}}
    return {"default": list(key.default) if isinstance(key.default, tuple) else key.default}
