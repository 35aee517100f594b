"""The pipeline: discover, decode, parse, infer, word, select. Read `check` top to bottom."""

from __future__ import annotations

import gc
import os
import sys
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from syncfinder.config import Settings
from syncfinder.finding import Finding
from syncfinder.sites.site import CONFIDENCES, Site
from syncfinder.source.decode import SourceError, decode, read
from syncfinder.source.discover import discover
from syncfinder.source.file import SourceFile

# Functions that a serving or decoding loop runs every step: what they reach is hot.
HOT_ENTRIES = frozenset({
    "forward", "generate", "decode", "step", "prefill", "sample", "run_batch", "event_loop_normal",
    "event_loop_overlap", "execute_model", "forward_batch_generation", "denoise", "training_step",
    "compute_logits", "propose",
})  # fmt: skip
# A file's worth of inference in Python frames; the stack of the thread that runs it must hold them.
RECURSION_LIMIT = 30_000
STACK_BYTES = 512 * 1024 * 1024
PARALLEL_BYTES = 400_000  # below this much source, starting workers costs more than it saves

T = TypeVar("T")


@dataclass(slots=True)
class Report:
    """What a run found. `errors` each name a file and make the run incomplete; `files` holds the findings' sources."""

    findings: list[Finding] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    files: dict[str, SourceFile] = field(default_factory=dict)
    checked: int = 0
    suppressed: int = 0


@dataclass(slots=True)
class Observations:
    """What inference saw in one run: sites by file, and what went wrong in which file."""

    sites: dict[Path, list[Site]] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    failed: set[Path] = field(default_factory=set)


def check(
    paths: list[Path], settings: Settings, *, stdin: tuple[str, str] | None = None, progress: bool = False
) -> Report:
    """Check files and folders, or the (name, text) of a file given as `stdin`, and return everything to report."""
    report = Report()
    if stdin is not None:
        files = [Path(os.path.abspath(stdin[0]))]
        texts = {files[0]: stdin[1]}
    else:
        found = discover(paths, settings.exclude, settings.respect_gitignore, settings.root)
        files, texts = found.files, {}
        report.notes, report.errors = list(found.notes), list(found.errors)

    observed = observe(files, texts, settings, progress)
    report.errors += observed.errors
    report.checked = len(files) - len(observed.failed)

    wanted = {path: select(sites, settings) for path, sites in observed.sites.items()}
    for finding, file, suppressed in word(wanted, texts, settings):
        if suppressed:
            report.suppressed += 1
        else:
            report.findings.append(finding)
            report.files[finding.filename] = file
    report.findings.sort(key=lambda f: (f.filename, f.span.line, f.span.column, f.code))
    return report


def observe(files: list[Path], texts: dict[Path, str], settings: Settings, progress: bool) -> Observations:
    """Infer the sites of all files, in worker processes where that pays."""
    jobs = settings.jobs or os.cpu_count() or 1
    if jobs > 1 and len(files) > 1 and hasattr(os, "fork") and sum(sizes(files)) > PARALLEL_BYTES:
        from syncfinder.workers import observe_parallel

        return observe_parallel(files, texts, settings, min(jobs, len(files)), progress)
    return with_deep_stack(lambda: observe_here(files, files, texts, settings))


def sizes(files: list[Path]) -> Iterable[int]:
    for path in files:
        try:
            yield path.stat().st_size
        except OSError:
            yield 0


def with_deep_stack(work: Callable[[], T]) -> T:
    """Run `work` in a thread whose stack holds deeply nested source.

    Without garbage collection: nothing here is cyclic garbage.
    """
    outcome: list[T] = []
    failure: list[BaseException] = []

    def body() -> None:
        try:
            outcome.append(work())
        except BaseException as error:
            failure.append(error)

    limit, size, collecting = sys.getrecursionlimit(), threading.stack_size(STACK_BYTES), gc.isenabled()
    sys.setrecursionlimit(RECURSION_LIMIT)
    gc.disable()
    try:
        thread = threading.Thread(target=body)
        thread.start()
        thread.join()
    finally:
        sys.setrecursionlimit(limit)
        threading.stack_size(size)
        if collecting:
            gc.enable()
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
    from syncfinder.source.decode import parse
    from syncfinder.source.modules import Roots
    from syncfinder.torchmodel.model import load

    project = Project(load(), Roots(), settings.assume_device == "cuda", HOT_ENTRIES)
    project.checked = set(checked)
    observed = Observations()
    for path in files:
        try:
            module = project.modules.get(path)
            if module is None:
                file = SourceFile(path, decode(path, texts[path].encode())) if path in texts else read(path)
                module = project.add(path, file, parse(file), checked=True)
            infer(module)
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
    hot = hot_functions(project)
    for path, module in project.modules.items():
        if module is not None and module.checked and module.sites:
            observed.sites[path] = sites_of(module, hot)
    return observed


def internal_error(path: Path, error: Exception) -> str:
    """Word a fault of this tool: which file, what, and where in the tool."""
    import traceback

    frame = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(frame.filename).name}:{frame.lineno}"
    what = f"internal error ({type(error).__name__}: {error}, at {where})"
    return f"{path}: {what}; please report it. Other files are not affected"


def select(sites: list[Site], settings: Settings) -> list[Site]:
    """Keep the sites that the settings ask for, before anything is worded."""
    from syncfinder.rules.catalogue import by_kind

    rules = by_kind()
    least = CONFIDENCES.index(settings.min_confidence)
    show_info = settings.show_info or settings.output_format == "json"
    return [
        s
        for s in sites
        if CONFIDENCES.index(s.confidence) >= least
        and settings.selects(rules[s.kind].code)
        and (show_info or s.level != "info" or keeps_count(settings))
    ]


def keeps_count(settings: Settings) -> bool:
    """The summary of the formats for people counts the hidden info findings."""
    return settings.output_format in ("full", "concise")


def word(
    wanted: dict[Path, list[Site]], texts: dict[Path, str], settings: Settings
) -> Iterable[tuple[Finding, SourceFile, bool]]:
    """Turn sites into findings through the rules; yield each with its file and whether a comment suppresses it."""
    work = [(path, sites) for path, sites in sorted(wanted.items()) if sites]
    jobs = settings.jobs or os.cpu_count() or 1
    if jobs > 1 and sum(len(sites) for _, sites in work) > 400 and hasattr(os, "fork"):
        from syncfinder.workers import word_parallel

        worded = word_parallel(work, texts, jobs)
    else:
        worded = [word_file(path, sites, texts) for path, sites in work]
    for rows in worded:
        yield from rows


def word_file(path: Path, sites: list[Site], texts: dict[Path, str]) -> list[tuple[Finding, SourceFile, bool]]:
    """Word one file's sites."""
    from syncfinder.rules.engine import word_sites
    from syncfinder.source.comments import suppressions

    file = SourceFile(path, decode(path, texts[path].encode())) if path in texts else read(path)
    comments = suppressions(file)
    out = []
    for site, finding in zip(sites, word_sites(file, sites), strict=True):
        lines = range(min(site.statement[0], site.span.line), max(site.statement[1], site.span.end_line) + 1)
        out.append((finding, file, comments.covers(finding.code, lines)))
    return out
