"""What one process does with its files: infer their sites, and word them as findings."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from syncfinder.config import Settings
from syncfinder.finding import Finding
from syncfinder.sites.site import Site
from syncfinder.source.decode import SourceError, read
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

T = TypeVar("T")
Worded = list[tuple[Finding, SourceFile, bool]]  # each finding with its file, and whether a comment suppresses it


@dataclass(slots=True)
class Observations:
    """What inference saw in one run: sites by file, and what went wrong in which file."""

    sites: dict[Path, list[Site]] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    failed: set[Path] = field(default_factory=set)


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
    from syncfinder.infer.sharing import link
    from syncfinder.source.decode import parse
    from syncfinder.source.modules import Roots
    from syncfinder.torchmodel.model import load

    project = Project(load(settings.torch_version), Roots(), settings.assume_device == "cuda", HOT_ENTRIES)
    project.checked = set(checked)
    observed = Observations()
    for path in files:
        try:
            module = project.modules.get(path)
            if module is None:
                file = source_of(path, texts)
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
    link(project)
    hot = hot_functions(project)
    for path, module in project.modules.items():
        if module is not None and module.checked and module.sites:
            observed.sites[path] = sites_of(module, hot)
    return observed


def source_of(path: Path, texts: dict[Path, str]) -> SourceFile:
    """Return a file's source: from disk, or as it was given (stdin). Raises SourceError."""
    if path not in texts:
        return read(path)
    return SourceFile(path, texts[path].replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff"))


def internal_error(path: Path, error: Exception) -> str:
    """Word a fault of this tool: which file, what, and where in the tool."""
    import traceback

    frame = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(frame.filename).name}:{frame.lineno}"
    what = f"internal error ({type(error).__name__}: {error}, at {where})"
    return f"{path}: {what}; please report it. Other files are not affected"


def word_file(path: Path, sites: list[Site], texts: dict[Path, str]) -> Worded:
    """Word one file's sites."""
    from syncfinder.rules.engine import word_sites
    from syncfinder.source.comments import suppressions

    file = source_of(path, texts)
    comments = suppressions(file)
    out = []
    for site, finding in zip(sites, word_sites(file, sites), strict=True):
        lines = range(min(site.statement[0], site.span.line), max(site.statement[1], site.span.end_line) + 1)
        out.append((finding, file, comments.covers(finding.code, lines)))
    return out
