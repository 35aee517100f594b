"""What one process does with its files: infer their sites, and word them as findings."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from syncfinder.config import Settings
from syncfinder.finding import Finding, Suggestion
from syncfinder.sites.site import Doubt, Site
from syncfinder.source.decode import SourceError, source_of
from syncfinder.source.file import SourceFile

# A file's worth of inference in Python frames; the stack of the thread that runs it must hold them.
RECURSION_LIMIT = 30_000
STACK_BYTES = 512 * 1024 * 1024

T = TypeVar("T")


@dataclass(slots=True)
class Observations:
    """What inference saw in one run: sites by file, and what went wrong in which file.

    `doubts`: where evaluations saw other values than those that the sites tell of.
    """

    sites: dict[Path, list[Site]] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    failed: set[Path] = field(default_factory=set)
    commented: set[Path] = field(default_factory=set)  # the files that may hold suppressions
    doubts: dict[Path, set[Doubt]] = field(default_factory=dict)

    def add(self, other: Observations) -> None:
        """Take in what was seen of other files."""
        self.sites.update(other.sites)
        self.errors += other.errors
        self.failed |= other.failed
        self.commented |= other.commented

    def only(self, files: list[Path]) -> Observations:
        """Return what was seen in some files, with all that went wrong."""
        kept = set(files)
        sites = {path: s for path, s in self.sites.items() if path in kept}
        return Observations(sites, self.errors, self.failed, self.commented, self.doubts)

    def settle(self) -> None:
        """Let doubted sites tell nothing of their values."""
        for path, doubts in self.doubts.items():
            for site in self.sites.get(path, ()):
                if (site.kind, site.span.line, site.span.column) in doubts:
                    site.forget()


@dataclass(slots=True)
class Worded:
    """One file's findings, each with whether a comment suppresses it, and what went wrong in wording them."""

    file: SourceFile
    findings: list[tuple[Finding, bool]] = field(default_factory=list)
    error: str | None = None


@contextmanager
def no_collection() -> Iterator[None]:
    """Collect no garbage for a while: what is made in it is not cyclic, and to look for some costs seconds."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def with_deep_stack(work: Callable[[], T]) -> T:
    """Run `work` in a thread whose stack holds deeply nested source, without collecting garbage."""
    outcome: list[T] = []
    failure: list[BaseException] = []

    def body() -> None:
        try:
            outcome.append(work())
        except BaseException as error:
            failure.append(error)

    limit, size = sys.getrecursionlimit(), threading.stack_size(STACK_BYTES)
    sys.setrecursionlimit(RECURSION_LIMIT)
    try:
        with no_collection():
            thread = threading.Thread(target=body)
            thread.start()
            thread.join()
    finally:
        sys.setrecursionlimit(limit)
        threading.stack_size(size)
    if failure:
        raise failure[0]
    return outcome[0]


def observe_here(
    files: list[Path],
    checked: list[Path],
    texts: dict[Path, str],
    settings: Settings,
    done: Callable[[], None] | None = None,
) -> Observations:
    """Infer the sites of `files` in this process.

    An internal error in one file is reported and hides no other's findings.
    `checked` are all files of the run: in other workers' files, too, a wait stands where it is, not at its callers.
    """
    from syncfinder.infer.engine import hot_functions, infer, sites_of
    from syncfinder.infer.project import Project
    from syncfinder.infer.sharing import link
    from syncfinder.source.comments import speaks
    from syncfinder.source.decode import parse
    from syncfinder.source.modules import Roots
    from syncfinder.torchmodel.model import load

    project = Project(load(settings.torch_version), Roots(), settings)
    project.checked, project.texts = set(checked), texts
    observed = Observations()
    for path in files:
        try:
            module = project.modules.get(path)
            if module is None:
                file = source_of(path, texts)
                module = project.add(path, file, parse(file), checked=True)
            infer(module)
            if speaks(module.file.text):
                observed.commented.add(path)
        except SourceError as error:
            observed.errors.append(str(error))
            observed.failed.add(path)
        except RecursionError:
            observed.errors.append(f"{path}: is nested too deeply to be analysed; leave it out with --exclude")
            observed.failed.add(path)
        except Exception as error:
            observed.errors.append(internal_error(path, error))
            observed.failed.add(path)
        if done is not None:
            done()
    link(project)
    hot = hot_functions(project)
    for path, module in project.modules.items():
        if module is not None and module.checked and module.sites:
            observed.sites[path] = sites_of(module, hot)
        if module is not None and module.doubts:
            observed.doubts[path] = module.doubted()
    observed.settle()
    return observed


def internal_error(path: Path, error: Exception) -> str:
    """Word a fault of this tool: which file, what, and where in the tool."""
    import traceback

    frame = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(frame.filename).name}:{frame.lineno}"
    what = f"internal error ({type(error).__name__}: {error}, at {where})"
    return f"{path}: {what}; please report it. Other files are not affected"


def with_imports(file: SourceFile, fix: Suggestion, line: int) -> Suggestion:
    """Return a suggestion whose edits add the imports that they need and the file lacks."""
    from syncfinder.fixes.imports import adding

    edit = adding(file, fix.imports, line)
    return replace(fix, edits=(edit, *fix.edits)) if edit is not None else fix


def word_file(path: Path, sites: list[Site], texts: dict[Path, str]) -> Worded:
    """Word one file's sites. A fault of a rule costs its file's findings their wording, no more."""
    from syncfinder.gate.comments import lines_of
    from syncfinder.rules.engine import word_plainly, word_sites
    from syncfinder.source.comments import suppressions

    file = source_of(path, texts)
    comments = suppressions(file)
    out = Worded(file)
    try:
        findings = word_sites(file, sites)
    except Exception as error:
        findings, out.error = word_plainly(file, sites), internal_error(path, error)
    for site, finding in zip(sites, findings, strict=True):
        if finding.fix is not None and finding.fix.imports:
            finding.fix = with_imports(file, finding.fix, finding.span.line)
        out.findings.append((finding, comments.covers(finding.code, lines_of(site))))
    return out
