"""Baselines: the findings that are known, in a file that is read and merged well.

An entry survives new layout, and moves of its lines, its function and its file. Owner, reason and a date at which it
expires may be noted in it.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any

from syncfinder.errors import UserError
from syncfinder.files import write_whole
from syncfinder.finding import Finding
from syncfinder.gate.keys import FindingKey, key_of
from syncfinder.source.display import shown
from syncfinder.source.file import SourceFile

DEFAULT = "syncfinder-baseline.json"
VERSION = 1
_NOTES = ("owner", "reason", "expires")
_REQUIRED = ("path", "function", "rule", "expression")


@dataclass(frozen=True, slots=True)
class Entry:
    """`count` findings of one key are known; from the day after `expires` on they are not."""

    key: FindingKey
    count: int = 1
    owner: str | None = None
    reason: str | None = None
    expires: date | None = None

    def to_json(self) -> dict[str, Any]:
        row: dict[str, Any] = {**self.key._asdict(), "count": self.count}
        for name in ("owner", "reason"):
            if getattr(self, name) is not None:
                row[name] = getattr(self, name)
        if self.expires is not None:
            row["expires"] = self.expires.isoformat()
        return row


@dataclass(slots=True)
class Match:
    """Findings that a baseline does not know (`new`), how many it knows, and its entries that nothing matches."""

    new: list[Finding] = field(default_factory=list)
    known: int = 0
    stale: list[Entry] = field(default_factory=list)
    expired: list[Entry] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Run:
    """What a run found: findings in order of lines, their sources, the files that it checked, and for which rules."""

    findings: Sequence[Finding]
    files: Mapping[str, SourceFile]
    checked: Iterable[Path]
    selects: Callable[[Path, str], bool]


class Baseline:
    """The entries of a baseline file by key; paths are relative to the file's folder."""

    def __init__(self, path: Path, entries: Iterable[Entry] = ()) -> None:
        self.path = Path(os.path.abspath(path))
        self.entries = {entry.key: entry for entry in entries}

    @property
    def folder(self) -> str:
        return str(self.path.parent)

    def match(self, run: Run, today: date) -> Match:
        """Compare findings with the entries. Findings that are info are never held against a run.

        Of more equal findings than an entry knows, the last ones are new. Stale are entries that know more than there
        is, if the run could tell.
        """
        keys, judges = self._keys(run), self._judge(run)
        known = self._moved(set(keys.values()), judges).entries
        found = Match(expired=[e for e in known.values() if e.expires is not None and e.expires < today])
        left = {key: entry.count for key, entry in known.items()}
        for entry in found.expired:
            left[entry.key] = 0
        for position, finding in enumerate(run.findings):
            key = keys.get(position)
            if key is not None and left.get(key, 0) > 0:
                left[key] -= 1
                found.known += 1
            else:
                found.new.append(finding)
        found.stale = [known[key] for key, count in left.items() if count > 0 and judges(key)]
        return found

    def renewed(self, run: Run, *, prune: bool) -> Baseline:
        """The baseline of what there is now; with `prune`, only of what was known before.

        Notes stay with their keys, and so do the entries of which the run cannot tell.
        """
        counts, judges = Counter(self._keys(run).values()), self._judge(run)
        known = self._moved(set(counts), judges).entries
        entries = [entry for key, entry in known.items() if key not in counts and not judges(key)]
        for key, count in counts.items():
            old = known.get(key)
            if old is not None:
                entries.append(replace(old, count=min(count, old.count) if prune else count))
            elif not prune:
                entries.append(Entry(key, count))
        return Baseline(self.path, entries)

    def _keys(self, run: Run) -> dict[int, FindingKey]:
        """The keys of the findings that count, by their positions."""
        return {
            position: key_of(finding, run.files[finding.filename], self.folder)
            for position, finding in enumerate(run.findings)
            if finding.level != "info"
        }

    def _judge(self, run: Run) -> Callable[[FindingKey], bool]:
        """Whether a run says if the findings of a key are there: their file was checked for the rule, or is gone."""
        seen = {os.path.relpath(path, self.folder).replace(os.sep, "/"): path for path in run.checked}
        paths = {key.path for key in self.entries}
        gone = {path for path in paths if not os.path.exists(os.path.join(self.folder, path))}

        def judges(key: FindingKey) -> bool:
            path = seen.get(key.path)
            return key.path in gone if path is None else run.selects(path, key.rule)

        return judges

    def _moved(self, keys: set[FindingKey], judges: Callable[[FindingKey], bool]) -> Baseline:
        """The baseline with functions that are found in another file now, moved alone or with their file.

        One has moved if it has no finding left where it was, and a function of its name, in a file where the baseline
        knows none, has most of them.
        """
        units, today = _by_function(self.entries), _by_function(keys)
        free: dict[str, list[tuple[str, str]]] = {}
        for unit in sorted(today.keys() - units.keys()):
            free.setdefault(unit[1], []).append(unit)
        targets: dict[tuple[str, str], str] = {}
        for unit in sorted(units.keys() - today.keys()):
            common = {place: len(units[unit] & today[place]) for place in free.get(unit[1], ())}
            best = max(common, key=common.__getitem__, default=None)
            lost = all(judges(FindingKey(*unit, *place)) for place in units[unit])
            if best is not None and lost and 2 * common[best] > len(units[unit]):
                targets[unit] = best[0]
                free[unit[1]].remove(best)
        entries = self.entries.values()
        moved = [replace(e, key=e.key._replace(path=targets.get(e.key[:2], e.key.path))) for e in entries]
        return Baseline(self.path, moved)

    def write(self) -> None:
        """Write the file, an entry a line, sorted. Raises OSError."""
        rows = [json.dumps(self.entries[key].to_json(), ensure_ascii=False) for key in sorted(self.entries)]
        body = "".join(f"\n    {row}," for row in rows).rstrip(",")
        write_whole(self.path, f'{{\n  "version": {VERSION},\n  "entries": [{body}\n  ]\n}}\n')


def _by_function(keys: Iterable[FindingKey]) -> dict[tuple[str, str], set[tuple[str, str]]]:
    """The rules and expressions of keys, by path and function."""
    found: dict[tuple[str, str], set[tuple[str, str]]] = {}
    for key in keys:
        found.setdefault(key[:2], set()).add(key[2:])
    return found


def load(path: Path) -> Baseline:
    """Read a baseline. Raises UserError for a file that cannot be read, or is none."""
    where = shown(os.path.abspath(path))
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise UserError(f"{where}: there is no such baseline; `syncfinder baseline` makes one") from error
    except OSError as error:
        raise UserError(f"{where}: the baseline cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise UserError(f"{where}: the baseline cannot be read: it is not JSON ({error})") from error
    if not isinstance(data, dict) or not isinstance(data.get("entries"), list):
        raise UserError(f"{where}: is not a baseline; `syncfinder baseline` makes one")
    if data.get("version") != VERSION:
        said = data.get("version")
        raise UserError(
            f"{where}: the baseline has version {said!r}, and this syncfinder reads {VERSION}; make it anew"
        )
    entries = []
    for position, row in enumerate(data["entries"], 1):
        try:
            entries.append(_entry(row))
        except ValueError as error:
            raise UserError(f"{where}: entry {position} of the baseline: {error}") from error
    baseline = Baseline(path, entries)
    if len(baseline.entries) < len(entries):
        twice = next(key for key, count in Counter(e.key for e in entries).items() if count > 1)
        what = f"{twice.rule} in {twice.path}, {twice.expression}"
        raise UserError(f"{where}: two entries of the baseline are equal: {what}; make them one, with a count")
    return baseline


def _entry(row: object) -> Entry:
    """Check an entry. Raises ValueError."""
    if not isinstance(row, dict):
        raise ValueError("is not an object")
    for name in (*_REQUIRED, "owner", "reason", "expires"):
        given = row.get(name)
        if name in _REQUIRED and given is None:
            raise ValueError(f"`{name}` is missing")
        if given is not None and not isinstance(given, str):
            raise ValueError(f"`{name}` is not a string")
    unknown = row.keys() - {*_REQUIRED, "count", *_NOTES}
    if unknown:
        raise ValueError(f"unknown key `{min(unknown)}`; known keys: {', '.join((*_REQUIRED, 'count', *_NOTES))}")
    count = row.get("count", 1)
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise ValueError("`count` is not a number from 1")
    expires = row.get("expires")
    try:
        until = None if expires is None else date.fromisoformat(expires)
    except ValueError as error:
        raise ValueError(f"`expires` is not a date such as 2027-01-31: {expires!r}") from error
    key = FindingKey(*(row[name] for name in _REQUIRED))
    return Entry(key, count, row.get("owner"), row.get("reason"), until)


def notes(match: Match, path: str) -> list[str]:
    """What is to be said of a baseline beside the findings."""
    out = []
    if match.stale:
        entries = "1 entry" if len(match.stale) == 1 else f"{len(match.stale)} entries"
        verb = "knows" if len(match.stale) == 1 else "know"
        removes = "`syncfinder baseline --prune` removes what is gone"
        out.append(f"{entries} of {shown(path)} {verb} findings that are gone; {removes}")
    for entry in match.expired:
        owner = f", owner {entry.owner}" if entry.owner else ""
        what = f"{entry.key.rule} in {entry.key.path}"
        out.append(f"an entry of {shown(path)} expired on {entry.expires}: {what}{owner}")
    return out
