"""The pipeline: discover, decode, parse, infer, word, select. Read `check` top to bottom."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from syncfinder.config import Settings
from syncfinder.finding import Finding, Suggestion
from syncfinder.sites.site import Site
from syncfinder.source.discover import discover
from syncfinder.source.file import SourceFile
from syncfinder.stages import Observations, observe_here, with_deep_stack, word_file

PARALLEL_BYTES = 400_000  # below this much source, starting workers costs more than it saves
PARALLEL_SITES = 400


@dataclass(slots=True)
class Report:
    """What a run found. `errors` each name a file and make the run incomplete; `files` holds the findings' sources."""

    findings: list[Finding] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    files: dict[str, SourceFile] = field(default_factory=dict)
    checked: int = 0
    suppressed: int = 0


def check(
    paths: list[Path], settings: Settings, *, stdin: tuple[str, str] | None = None, progress: bool = False
) -> Report:
    """Check files and folders, or the (name, text) of a file given as `stdin`, and return everything to report."""
    work = gather(paths, settings, stdin)
    return inspect(work, work.texts, settings, progress)


@dataclass(slots=True)
class Work:
    """The files to check; `texts` are those that are not as they are on disk."""

    files: list[Path]
    texts: dict[Path, str] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def gather(paths: list[Path], settings: Settings, stdin: tuple[str, str] | None = None) -> Work:
    """Find the files to check."""
    if stdin is not None:
        path = Path(os.path.abspath(stdin[0]))
        return Work([path], {path: stdin[1]})
    found = discover(paths, settings.exclude, settings.respect_gitignore, settings.root)
    return Work(found.files, errors=list(found.errors), notes=list(found.notes))


def inspect(work: Work, texts: dict[Path, str], settings: Settings, progress: bool = False) -> Report:
    """Check files, some of them with another text than on disk, and return everything to report."""
    report = Report(errors=list(work.errors), notes=list(work.notes))
    observed = observe(work.files, texts, settings, progress)
    report.errors += observed.errors
    report.checked = len(work.files) - len(observed.failed)

    wanted = {path: select(sites, settings) for path, sites in observed.sites.items()}
    for finding, file, suppressed in word(wanted, texts, settings):
        if suppressed:
            report.suppressed += 1
        else:
            report.findings.append(offered(finding, settings))
            report.files[finding.filename] = file
    report.findings.sort(key=lambda f: (f.filename, f.span.line, f.span.column, f.code))
    return report


def offered(finding: Finding, settings: Settings) -> Finding:
    """Mark a finding whose fix may be applied; a rule that must not be fixed only shows what to write."""
    fix = finding.fix
    if fix is not None and fix.edits:
        if settings.fixes(finding.code):
            finding.fixable = fix.applicability == "safe" or settings.unsafe_fixes
        else:
            finding.fix = Suggestion(fix.message)
    return finding


def observe(files: list[Path], texts: dict[Path, str], settings: Settings, progress: bool) -> Observations:
    """Infer the sites of all files, in worker processes where that pays."""
    jobs = settings.jobs or os.cpu_count() or 1
    if jobs > 1 and len(files) > 1 and hasattr(os, "fork") and bytes_of(files) > PARALLEL_BYTES:
        from syncfinder.workers import observe_parallel

        return observe_parallel(files, texts, settings, min(jobs, len(files)), progress)
    return with_deep_stack(lambda: observe_here(files, files, texts, settings))


def bytes_of(files: list[Path]) -> int:
    from syncfinder.workers import sizes

    return sum(sizes(files))


def select(sites: list[Site], settings: Settings) -> list[Site]:
    """Keep the sites that the settings ask for, before anything is worded."""
    from syncfinder.rules.catalogue import by_kind

    rules = by_kind()
    return [s for s in sites if settings.keeps(s.confidence) and settings.selects(rules[s.kind].code)]


def word(
    wanted: dict[Path, list[Site]], texts: dict[Path, str], settings: Settings
) -> Iterable[tuple[Finding, SourceFile, bool]]:
    """Turn sites into findings through the rules; yield each with its file and whether a comment suppresses it."""
    work = [(path, sites) for path, sites in sorted(wanted.items()) if sites]
    jobs = settings.jobs or os.cpu_count() or 1
    if jobs > 1 and sum(len(sites) for _, sites in work) > PARALLEL_SITES and hasattr(os, "fork"):
        from syncfinder.workers import word_parallel

        worded = word_parallel(work, texts, jobs)
    else:
        worded = [word_file(path, sites, texts) for path, sites in work]
    for rows in worded:
        yield from rows
