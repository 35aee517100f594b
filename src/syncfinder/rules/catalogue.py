"""The rule catalogue: one TOML file per rule, beside the source tree or inside the wheel."""

from __future__ import annotations

import sys
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

from syncfinder.files import shipped

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


class CatalogueError(Exception):
    """The catalogue is missing or one of its files does not say what a rule needs."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule, as its file says it.

    `message` and `help` are the wording for sites of which only the source text is known; `{text}` is the source of the
    site, `{place}` "is on the GPU" or a weaker form, `{operation}` the API or construct. `shown_by` is what a fixture's
    mark must show on a GPU: a "wait", an "outcome" that is wrong until the host waits there, or a "cost" of the host's
    own. It may be left out: it is the outcome for hazards and measurements.
    """

    code: str
    name: str
    family: str
    kinds: tuple[str, ...]
    summary: str
    message: str
    help: str
    what: str
    why: str
    use_instead: str
    example_bad: str
    example_good: str
    fix_safety: str
    confirmed: str
    references: tuple[str, ...]
    shown_by: str

    @property
    def url(self) -> str | None:
        """The first reference that is an address."""
        return next((r for r in self.references if r.startswith("https://")), None)


def folder() -> Path:
    """Return the folder of the rule files: inside an installed wheel, else the one of the source tree."""
    found = shipped("_rules", "rules")
    if found is None:
        raise CatalogueError("the rule catalogue is missing from the installed package; reinstall syncfinder")
    return found


def _rule(path: Path) -> Rule:
    try:
        data: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise CatalogueError(f"{path}: {error}") from error
    data.setdefault("shown_by", "outcome" if data.get("family") in ("hazard", "measurement") else "wait")
    names = {f.name for f in fields(Rule)}
    if data.keys() != names:
        raise CatalogueError(f"{path}: missing {sorted(names - data.keys())}, unknown {sorted(data.keys() - names)}")
    # Multi-line strings end in the newline before their closing quotes.
    values: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value.strip("\n") for key, value in data.items()
    }
    return Rule(**values)


@lru_cache(maxsize=1)
def load() -> dict[str, Rule]:
    """Return the rules by code, in the order of the codes. Raises CatalogueError for a broken catalogue."""
    rules = [_rule(path) for path in sorted(folder().glob("SF*.toml"))]
    return {rule.code: rule for rule in rules}


@lru_cache(maxsize=1)
def by_kind() -> dict[str, Rule]:
    """Return the rule that covers each kind of site."""
    return {kind: rule for rule in load().values() for kind in rule.kinds}
