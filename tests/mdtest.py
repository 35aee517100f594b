"""Device tests: Markdown files whose headings are tests and whose Python blocks are the code to analyse.

    reveal(x)  # revealed: Tensor[cuda, bool]     the value that the interpreter holds
    x.item()  # expect: SF101                      exactly these findings on this line
    x.item()  # expect: SF101 info [certain]       with level info (others need not be written), with a confidence
    x.item()  # todo: expect: SF101                a gap: it is wrong today; the test fails once it is right
    n = len(x)  # todo: silent                     a gap: a finding where none should be
    reveal(x)  # todo: revealed: int               a gap in what is known

A line without a mark has no finding. A block that starts with `# file: pkg/mod.py` is that file, others are `main.py`;
`# file: lib/mod.py (not checked)` is a file that is imported but was not asked for. `revealed: Never` is for code that
is not reached.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from syncfinder.finding import Finding
from syncfinder.infer.engine import hot_functions, infer, sites_of
from syncfinder.infer.project import Project
from syncfinder.infer.sharing import link
from syncfinder.infer.showing import show
from syncfinder.sites.site import CONFIDENCES
from syncfinder.source.decode import parse, read
from syncfinder.source.modules import Roots
from syncfinder.stages import with_deep_stack, word_file
from syncfinder.torchmodel.model import load

HEADING = re.compile(r"#{1,6}\s+(.+)")
FILE = re.compile(r"# file: (\S+?)( \(not checked\))?$")
MARK = re.compile(r"#\s*(todo:\s*)?(revealed:|expect:|silent\b)\s*(.*)$")
WANTED = re.compile(r"(SF\d{3})(?: (info|warning|error))?(?: \[(certain|likely)\])?$")


@dataclass(slots=True)
class File:
    """One file of a test. `places` holds each line's line in the Markdown file."""

    name: str
    checked: bool
    lines: list[str] = field(default_factory=list)
    places: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Case:
    """One heading with its blocks."""

    document: str
    heading: str
    files: dict[str, File] = field(default_factory=dict)

    @property
    def id(self) -> str:
        return f"{self.document}::{self.heading}"


@dataclass(slots=True)
class Observed:
    """What the tool made of one file: findings and revealed values by line."""

    findings: dict[int, list[Finding]]
    revealed: dict[int, str]


def cases(path: Path) -> list[Case]:
    """Read a Markdown file's tests. Raises ValueError where one heading is used twice or has no name."""
    found: list[Case] = []
    current: Case | None = None
    block: list[tuple[int, str]] | None = None
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
        if block is not None:
            if line.startswith("```"):
                if current is None:
                    raise ValueError(f"{path.name}:{number}: a block without a heading")
                add_block(current, block)
                block = None
            else:
                block.append((number, line))
        elif line.startswith("```python"):
            block = []
        elif heading := HEADING.match(line):
            current = Case(path.name, heading[1].strip())
            found.append(current)
    found = [case for case in found if case.files]
    twice = [name for name, count in Counter(case.heading for case in found).items() if count > 1]
    if twice:
        raise ValueError(f"{path.name}: several tests are named {twice[0]!r}")
    return found


def add_block(case: Case, block: list[tuple[int, str]]) -> None:
    """Put a block into the file that its first line names; several blocks of one file follow each other."""
    named = FILE.match(block[0][1]) if block else None
    name = named[1] if named else "main.py"
    file = case.files.setdefault(name, File(name, checked=not (named and named[2])))
    file.lines += [line for _, line in block]
    file.places += [number for number, _ in block]


def observe(case: Case, root: Path) -> dict[str, Observed]:
    """Write a test's files under `root` and analyse the checked ones together."""
    for file in case.files.values():
        path = root / file.name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(file.lines) + "\n", encoding="utf-8")
    return with_deep_stack(lambda: analyse([f.name for f in case.files.values() if f.checked], root))


def analyse(names: list[str], root: Path) -> dict[str, Observed]:
    project = Project(load(), Roots())
    paths = {name: root / name for name in names}
    project.checked = set(paths.values())
    for path in paths.values():
        module = project.modules.get(path)
        if module is None:
            file = read(path)
            module = project.add(path, file, parse(file), checked=True)
        infer(module)
    link(project)
    hot = hot_functions(project)
    out = {}
    for name, path in paths.items():
        module = project.modules[path]
        assert module is not None
        sites = [s for s in sites_of(module, hot) if CONFIDENCES.index(s.confidence) >= CONFIDENCES.index("likely")]
        by_line: dict[int, list[Finding]] = {}
        worded = word_file(path, sites, {})
        assert worded.error is None, worded.error
        for finding, suppressed in worded.findings:
            if not suppressed:
                by_line.setdefault(finding.span.line, []).append(finding)
        out[name] = Observed(by_line, {line: show(value) for line, value in module.revealed.items()})
    return out


def differences(case: Case, observed: dict[str, Observed]) -> list[str]:
    """Compare a test's marks with what was observed; return one line of text per difference."""
    out = []
    for file in case.files.values():
        if not file.checked:
            continue
        seen = observed[file.name]
        for number, (line, place) in enumerate(zip(file.lines, file.places, strict=True), 1):
            mark = MARK.search(line)
            wrong = judge(mark, seen.findings.get(number, []), seen.revealed.get(number))
            if wrong is not None:
                out.append(f"{case.document}:{place}: {wrong}\n    {line.strip()}")
    return out


def judge(mark: re.Match[str] | None, findings: list[Finding], revealed: str | None) -> str | None:
    """Return what is wrong with a line, in words; None if it is as its mark says."""
    kind = mark[2] if mark is not None else "silent"
    gap = mark is not None and mark[1] is not None
    if kind == "revealed:":
        assert mark is not None
        right = (revealed or "Never") == mark[3].strip() and not findings
        shown = f"revealed: {revealed or 'Never'}" + (f", found: {said(findings)}" if findings else "")
    else:
        wanted = wants(mark[3]) if mark is not None and kind == "expect:" else []
        right = matches(wanted, findings)
        shown = f"found: {said(findings)}"
    if gap:
        return f"a gap is closed, drop its `todo:`; {shown}" if right else None
    return None if right else shown


def wants(text: str) -> list[tuple[str, str | None, str | None]]:
    """Read the findings of an `expect:` mark: code, level (None: any but info), confidence (None: any)."""
    found = []
    for part in text.split(","):
        match = WANTED.match(part.strip())
        if match is None:
            raise ValueError(f"a mark that cannot be read: {text}")
        found.append((match[1], match[2], match[3]))
    return found


def matches(wanted: list[tuple[str, str | None, str | None]], findings: list[Finding]) -> bool:
    left = list(findings)
    for code, level, confidence in wanted:
        for finding in left:
            as_level = finding.level == level if level is not None else finding.level != "info"
            if finding.code == code and as_level and confidence in (None, finding.confidence):
                left.remove(finding)
                break
        else:
            return False
    return not left


def said(findings: list[Finding]) -> str:
    words = [f"{f.code} {f.level} [{f.confidence}]" for f in findings]
    return ", ".join(words) or "nothing"
