"""The git commands that a review needs: where the repository is, what changed, and the files of a revision."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from syncfinder.errors import UserError

# What a user's own settings could change in a diff.
_PLAIN = ("-c", "core.quotePath=false", "-c", "diff.renameLimit=0", "-c", "diff.noprefix=false")
# Git sets them for its hooks; they would hold for its own working directory only.
_HOOK_VARIABLES = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX")
_REGULAR = ("100644", "100755")


@dataclass(slots=True)
class FileChange:
    """How a file changed: its old and new path (None: there is none), and the lines that each side has alone."""

    old: str | None
    new: str | None
    removed: list[range] = field(default_factory=list)
    added: list[range] = field(default_factory=list)


class Repository:
    """The git repository that holds a folder. Paths are relative to its top, with slashes."""

    def __init__(self, folder: str) -> None:
        self.top = folder
        done = self._run("rev-parse", "--show-toplevel")
        if done.returncode:
            raise UserError(f"{folder}: --changed-since needs a git repository: {_first_line(done.stderr)}")
        self.top = os.path.realpath(os.fsdecode(done.stdout.rstrip(b"\n")))

    def base(self, revision: str) -> str:
        """The commit that changes are counted from: where the work at hand left the revision's history.

        Where no common history is known, as in a shallow clone, that is the revision itself. Raises UserError.
        """
        done = self._run("rev-parse", "--verify", "--quiet", "--end-of-options", revision + "^{commit}")
        if done.returncode:
            raise UserError(f"--changed-since: git knows no revision {revision!r} in {self.top}")
        commit = done.stdout.decode().strip()
        common = self._run("merge-base", commit, "HEAD")
        return common.stdout.decode().split("\n")[0] if common.returncode == 0 else commit

    def changes(self, base: str) -> list[FileChange]:
        """The Python files that differ between a commit and the work tree, staged changes included."""
        arguments = ("diff", "--no-color", "--no-ext-diff", "--no-textconv", "--no-relative", "--unified=0", "-M")
        prefixes = ("--src-prefix=a/", "--dst-prefix=b/", "--ignore-submodules")
        return list(parsed_diff(self._output(*arguments, *prefixes, base, "--", "*.py")))

    def names(self, base: str) -> dict[str, str]:
        """The regular files of a commit: their blobs by path."""
        found = {}
        for row in self._output("ls-tree", "-r", "-z", "--full-tree", base).split(b"\0"):
            head, _, name = row.partition(b"\t")
            if name and head.split()[0].decode() in _REGULAR:
                found[os.fsdecode(name)] = head.split()[2].decode()
        return found

    def contents(self, blobs: Sequence[str]) -> Iterator[bytes]:
        """The contents of blobs, in their order."""
        data = self._output("cat-file", "--batch", stdin="".join(f"{blob}\n" for blob in blobs).encode())
        at = 0
        for blob in blobs:
            end = data.index(b"\n", at)
            words = data[at:end].split()
            if len(words) != 3:  # "<blob> missing", in a partial clone without network
                raise UserError(f"{self.top}: git cannot give the contents of {blob}: {data[at:end].decode()}")
            start, size = end + 1, int(words[2])
            yield data[start : start + size]
            at = start + size + 1

    def _run(self, *arguments: str, stdin: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
        command = ["git", "-C", self.top, *_PLAIN, *arguments]
        environment = {name: value for name, value in os.environ.items() if name not in _HOOK_VARIABLES}
        try:
            return subprocess.run(command, capture_output=True, input=stdin, check=False, env=environment)
        except FileNotFoundError as error:
            raise UserError("--changed-since needs git, and there is no such command") from error

    def _output(self, *arguments: str, stdin: bytes | None = None) -> bytes:
        done = self._run(*arguments, stdin=stdin)
        if done.returncode:
            raise UserError(f"git {arguments[0]} failed in {self.top}: {_first_line(done.stderr)}")
        return done.stdout


def _first_line(text: bytes) -> str:
    return text.decode(errors="replace").strip().split("\n")[0].removeprefix("fatal: ")


def parsed_diff(data: bytes) -> Iterator[FileChange]:
    """Read the output of `git diff --unified=0`."""
    current: FileChange | None = None
    skip = 0  # lines of a hunk that are still to come: they may look like headers
    for line in data.split(b"\n"):
        if skip:
            skip -= not line.startswith(b"\\")
        elif line.startswith(b"diff --git "):
            if current is not None:
                yield current
            current = FileChange(None, None)
        elif current is None:
            continue
        elif line.startswith((b"rename from ", b"copy from ")):
            current.old = _path(line.split(b" from ", 1)[1])
        elif line.startswith((b"rename to ", b"copy to ")):
            current.new = _path(line.split(b" to ", 1)[1])
        elif line.startswith(b"--- "):
            current.old = _side(line[4:])
        elif line.startswith(b"+++ "):
            current.new = _side(line[4:])
        elif line.startswith(b"@@ "):
            old, new = (_lines(part) for part in line.split(b" ")[1:3])
            current.removed.append(old)
            current.added.append(new)
            skip = len(old) + len(new)
    if current is not None:
        yield current


def _lines(part: bytes) -> range:
    """The lines of one side of a hunk's header: -12,3 or +12."""
    start, _, count = part[1:].partition(b",")
    first = int(start)
    return range(first, first + int(count or 1))


def _side(text: bytes) -> str | None:
    """A path of a `---` or `+++` line; None for /dev/null. Git ends paths with spaces in them with a tab."""
    path = _path(text.removesuffix(b"\t"))
    return None if path == "/dev/null" else path[2:]


def _path(text: bytes) -> str:
    r"""A path, unquoted: git quotes those with quotes, backslashes or control characters as C does."""
    if text.startswith(b'"') and text.endswith(b'"'):
        text = text[1:-1].decode("latin-1").encode("latin-1").decode("unicode_escape").encode("latin-1")
    return os.fsdecode(text)
