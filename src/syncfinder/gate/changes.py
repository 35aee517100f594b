"""`--changed-since`: findings on lines that a change wrote, and findings elsewhere that the change causes."""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from syncfinder.errors import UserError
from syncfinder.finding import Finding
from syncfinder.gate.git import Repository
from syncfinder.gate.keys import FindingKey, key_of
from syncfinder.source.file import SourceFile

# Files that are laid out for a check of the old tree: the modules, and what tells where a project begins.
_MARKS = ("pyproject.toml", "setup.py")


class Change:
    """What differs between a revision and the work tree. Raises UserError where git cannot tell."""

    def __init__(self, revision: str, place: Path) -> None:
        folder = os.path.realpath(place if place.is_dir() else place.parent)
        self.repository = Repository(folder)
        self.commit = self.repository.base(revision)
        self.blobs = self.repository.names(self.commit)
        changes = self.repository.changes(self.commit)
        self.files = {change.new: change for change in changes if change.new is not None}
        self.was = {change.new: change.old for change in changes if change.new is not None}
        self.removed = {change.old: change.removed for change in changes if change.old is not None}
        self.any = bool(changes)
        self._names: dict[str, str] = {}

    def name(self, path: str) -> str:
        """A file's path in the repository. Raises UserError for one outside of it."""
        found = self._names.get(path)
        if found is None:
            folder, base = os.path.split(os.path.abspath(path))
            found = os.path.relpath(os.path.join(os.path.realpath(folder), base), self.repository.top)
            if found.startswith(".." + os.sep):
                raise UserError(f"{path}: is not in the git repository {self.repository.top}")
            self._names[path] = found = found.replace(os.sep, "/")
        return found

    def old_name(self, path: str) -> str | None:
        """The path that a file had in the old tree; None for a new file."""
        name = self.name(path)
        old = self.was.get(name, name)
        return old if old in self.blobs else None

    def touches(self, finding: Finding) -> bool:
        """Whether a finding stands on a line that the change wrote."""
        if self.old_name(finding.filename) is None:
            return True
        change = self.files.get(self.name(finding.filename))
        if change is None:
            return False
        span = finding.span
        return any(lines.start <= span.end_line and span.line < lines.stop for lines in change.added if lines)

    @contextmanager
    def old_tree(self, files: Sequence[Path]) -> Iterator[dict[Path, Path]]:
        """Lay out the old tree for a while; give the old path of each file that was there, with the path of today."""
        with tempfile.TemporaryDirectory(prefix="syncfinder-") as folder:
            # named as the repository's folder is: it may be a package
            top = os.path.join(folder, os.path.basename(self.repository.top))
            os.makedirs(os.path.join(top, ".git"))
            names = [n for n in self.blobs if n.endswith(".py") or os.path.basename(n) in _MARKS]
            old = {name: path for path in files if (name := self.old_name(str(path))) is not None}
            names += [name for name in old if not name.endswith(".py")]
            contents = self.repository.contents([self.blobs[name] for name in names])
            for name, data in zip(names, contents, strict=True):
                path = os.path.join(top, name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "wb") as stream:
                    stream.write(data)
            yield {Path(top, name): path for name, path in sorted(old.items())}

    def kept_keys(
        self, findings: Sequence[Finding], files: Mapping[str, SourceFile], today: Mapping[Path, Path]
    ) -> Counter[FindingKey]:
        """The keys of findings of the old tree, under their paths of today, but for those on lines that are gone."""
        found: Counter[FindingKey] = Counter()
        for finding in findings:
            path = str(today[Path(finding.filename)])
            removed = self.removed.get(self.old_name(path) or "", [])
            if not any(finding.span.line in lines for lines in removed):
                key = key_of(finding, files[finding.filename], "/")
                found[key._replace(path=self.name(path))] += 1
        return found

    def caused(
        self, findings: Sequence[Finding], files: Mapping[str, SourceFile], before: Counter[FindingKey]
    ) -> list[Finding]:
        """Those of today's findings on lines that did not change which were not there before."""
        left = Counter(before)
        out = []
        for finding in findings:
            key = key_of(finding, files[finding.filename], "/")._replace(path=self.name(finding.filename))
            if left[key] > 0:
                left[key] -= 1
            else:
                out.append(finding)
        return out
