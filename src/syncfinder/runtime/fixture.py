"""Fixtures and what is seen of them: marks, verdicts, and the comparison of both. Needs no torch."""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from syncfinder.rules.catalogue import load

MARK = re.compile(r"# expect: (SF\d{3}(?:, SF\d{3})*)$")
# work in front of a function when its blocked time is measured, in milliseconds
QUEUED_MS = 30.0


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """Where an instruction stands in the source: 1-based lines, 1-based columns in characters, end exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(slots=True)
class Seen:
    """What one line did: where the host waited, and by which instrument it was seen."""

    line: int
    places: list[Place]
    reported: bool
    blocked: bool


@dataclass(slots=True)
class Hazard:
    """A marked line at which a function shows a hazard: its outcome changes with a wait of the host before the line or
    after it ("wait before", "wait after"), or the line raises ("error")."""

    line: int
    function: str
    shown_by: str


@dataclass(slots=True)
class Twin:
    """A function and its fixed form: whether they return the same, and the CPU milliseconds that each takes behind
    `QUEUED_MS` of queued work and behind none (medians)."""

    name: str
    equal: bool
    before_ms: float
    after_ms: float
    before_idle_ms: float
    after_idle_ms: float


@dataclass(slots=True)
class Verdict:
    """A fixture file's marks (line -> codes), what was seen, and the faults: empty when all agree.

    `slow` are the lines that hold the host while the GPU is idle, looked for where a mark says so.
    """

    path: str
    digest: str
    marks: dict[int, list[str]]
    seen: list[Seen] = field(default_factory=list)
    hazards: list[Hazard] = field(default_factory=list)
    slow: list[int] = field(default_factory=list)
    twins: list[Twin] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


def fixture_files(paths: Iterable[Path]) -> list[Path]:
    """Return the fixture modules in files and folders, sorted.

    Raises:
        FileNotFoundError: a path does not exist, or there is none.
    """
    found: list[Path] = []
    for path in paths:
        if not path.exists():
            raise FileNotFoundError(f"{path}: no such file or folder")
        found += sorted(path.rglob("*.py")) if path.is_dir() else [path]
    if not found:
        raise FileNotFoundError("no fixtures (.py files) under the given paths")
    return found


def digest(path: Path) -> str:
    """Return what identifies a fixture's content in an evidence file."""
    text = path.read_text(encoding="utf-8").replace("\r\n", "\n")
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def marks(text: str) -> dict[int, list[str]]:
    """Return the codes that a fixture's lines are marked with, by line.

    Raises:
        ValueError: a line has a mark that cannot be read.
    """
    found = {}
    for number, line in enumerate(text.split("\n"), 1):
        match = MARK.search(line)
        if match is not None:
            found[number] = match[1].split(", ")
        elif "# expect:" in line:
            raise ValueError(
                f"line {number}: not a mark: {line.strip()}; write `# expect: SF101, SF202` at the line's end"
            )
    return found


def shown_by(code: str) -> str:
    """Return what shows a rule's marks: "wait", "outcome" (a wait changes it) or "cost" (of the host)."""
    rule = load().get(code)
    return rule.shown_by if rule is not None else "wait"


def marked_lines(verdict: Verdict, what: str) -> set[int]:
    """Return the lines with a mark that this shows: "wait", "outcome" or "cost"."""
    return {line for line, codes in verdict.marks.items() if any(shown_by(code) == what for code in codes)}


def compare(verdict: Verdict, text: str) -> None:
    """Lines marked with waits must have waited, and no other line may have; other marks must show what they say."""
    statements = statement_starts(text)
    waited = {statements.get(seen.line, seen.line) for seen in verdict.seen}
    marked = {statements.get(line, line): line for line in marked_lines(verdict, "wait")}
    hazards = {statements.get(line, line) for line in marked_lines(verdict, "outcome")}
    for start in sorted(waited - set(marked)):
        verdict.faults.append(f"line {start} waited and is not marked" + " as a wait" * (start in hazards))
    for start in sorted(set(marked) - waited):
        verdict.faults.append(f"line {marked[start]} is marked and did not wait")
    for line in sorted(marked_lines(verdict, "outcome") - {hazard.line for hazard in verdict.hazards}):
        verdict.faults.append(f"line {line} is marked and shows no hazard")
    slow = {statements.get(line, line) for line in verdict.slow}
    for line in sorted(marked_lines(verdict, "cost")):
        if statements.get(line, line) not in slow:
            verdict.faults.append(f"line {line} is marked and costs the host nothing")


def statement_starts(text: str) -> dict[int, int]:
    """Line -> first line of the innermost statement on it; of a compound statement its header only."""
    starts: dict[int, int] = {}

    def visit(node: ast.AST) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.stmt, ast.ExceptHandler)):
                body = getattr(child, "body", None)
                end = max(child.lineno, body[0].lineno - 1) if isinstance(body, list) and body else child.end_lineno
                starts.update(dict.fromkeys(range(child.lineno, (end or child.lineno) + 1), child.lineno))
            visit(child)

    visit(ast.parse(text))
    return starts
