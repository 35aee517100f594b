"""The pipeline: discover, decode, parse, infer, word, select. Read `check` top to bottom."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from syncfinder.config import Settings
from syncfinder.finding import Finding, Suggestion
from syncfinder.sites.site import Site
from syncfinder.source.decode import source_of
from syncfinder.source.discover import discover
from syncfinder.source.file import SourceFile
from syncfinder.stages import Observations, Worded, observe_here, with_deep_stack, word_file

if TYPE_CHECKING:
    from syncfinder.gate.baseline import Baseline
    from syncfinder.gate.changes import Change

PARALLEL_BYTES = 400_000  # below this much source, starting workers costs more than it saves
PARALLEL_SITES = 400


@dataclass(slots=True)
class Report:
    """What a run found. `errors` each name a file and make the run incomplete; `files` holds the findings' sources."""

    findings: list[Finding] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    files: dict[str, SourceFile] = field(default_factory=dict)
    paths: list[Path] = field(default_factory=list)  # the files that were checked
    checked: int = 0
    known: int = 0  # findings that the baseline knows
    fixed: int = 0  # findings that this run has fixed
    suppressed: int = 0


@dataclass(slots=True)
class Work:
    """What to check, and by which settings. `texts` are those of files that are not as they are on disk."""

    files: list[Path]
    settings: Settings
    settings_for: Callable[[Path], Settings]
    texts: dict[Path, str] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def check(
    paths: list[Path],
    settings: Settings,
    *,
    settings_of: Callable[[str], Settings] | None = None,
    stdin: tuple[str, str] | None = None,
    baseline: bool = True,
    changed_since: str | None = None,
    progress: bool = False,
) -> Report:
    """Check files and folders, or the (name, text) of a file given as `stdin`, and return everything to report.

    `settings_of` gives the settings of what is in a folder, where they are not the run's. Without `baseline`, the
    settings' baseline is left alone. With `changed_since`, a git revision, only what changes since then bring is
    reported. Raises UserError for settings, a baseline or a revision that cannot be used.
    """
    known = load_baseline(settings) if baseline else None
    change = _change(changed_since, paths) if changed_since is not None else None
    work = gather(paths, settings, settings_of=settings_of, stdin=stdin)
    report = inspect(work, known=known, progress=progress)
    if change is not None:
        _keep_changed(change, work, report, progress)
    return report


def gather(
    paths: list[Path],
    settings: Settings,
    *,
    settings_of: Callable[[str], Settings] | None = None,
    stdin: tuple[str, str] | None = None,
) -> Work:
    """Find the files to check, as `check` does. Raises UserError for settings that cannot be used."""

    def settings_for(path: Path) -> Settings:
        return settings if settings_of is None else settings_of(os.path.dirname(path))

    if stdin is not None:
        path = Path(os.path.abspath(stdin[0]))
        return Work([path], settings, settings_for, {path: stdin[1]})
    found = discover(paths, settings, settings_of)
    return Work(found.files, settings, settings_for, errors=list(found.errors), notes=list(found.notes))


def inspect(
    work: Work, texts: dict[Path, str] | None = None, *, known: Baseline | None = None, progress: bool = False
) -> Report:
    """Check files, some of them with another text (`texts`), and return what a baseline (`known`) does not know."""
    report = Report(errors=list(work.errors), notes=list(work.notes))
    analyse(work.files, work.texts | (texts or {}), work.settings, work.settings_for, report, progress)
    if known is not None:
        _leave_out(known, report, lambda path, code: work.settings_for(path).selects_in(path, code))
    return report


def analyse(
    files: list[Path],
    texts: dict[Path, str],
    settings: Settings,
    settings_for: Callable[[Path], Settings],
    report: Report,
    progress: bool,
) -> None:
    """Infer the sites of files, word those that their settings ask for, and put the findings into a report."""
    observed = Observations()
    for own, alike in grouped(files, settings_for):
        observed.add(observe(alike, files, texts, replace(own, jobs=settings.jobs), progress).only(alike))
    report.errors += observed.errors
    report.paths = [path for path in files if path not in observed.failed]
    report.checked = len(report.paths)

    wanted = {path: select(path, sites, settings_for(path)) for path, sites in observed.sites.items()}
    for worded in word(wanted, texts, settings):
        if worded.error is not None:
            report.errors.append(worded.error)
        own = settings_for(worded.file.path)
        kept = [offered(finding, own) for finding, suppressed in worded.findings if not suppressed]
        report.suppressed += len(worded.findings) - len(kept)
        report.findings += kept
        report.files |= {finding.filename: worded.file for finding in kept}
    for path in sorted(observed.commented):
        from syncfinder.gate.comments import comment_findings

        file = source_of(path, texts)
        for finding in comment_findings(file, observed.sites.get(path, []), settings_for(path)):
            report.findings.append(finding)
            report.files[finding.filename] = file
    report.findings.sort(key=lambda f: (f.filename, f.span.line, f.span.column, f.code))


def offered(finding: Finding, settings: Settings) -> Finding:
    """Mark a finding whose fix may be applied; a rule that must not be fixed only shows what to write."""
    fix = finding.fix
    if fix is not None and fix.edits:
        if settings.fixes(finding.code):
            finding.fixable = fix.applicability == "safe" or settings.unsafe_fixes
        else:
            finding.fix = Suggestion(fix.message)
    return finding


def load_baseline(settings: Settings) -> Baseline | None:
    """Return the baseline that the settings name. Raises UserError for one that cannot be read."""
    if not settings.baseline:
        return None
    from syncfinder.gate.baseline import load

    return load(Path(settings.baseline))


def _leave_out(known: Baseline, report: Report, selects: Callable[[Path, str], bool]) -> None:
    """Leave out the findings that a baseline knows."""
    from datetime import date

    from syncfinder.gate.baseline import Run, notes

    match = known.match(Run(report.findings, report.files, report.paths, selects), date.today())
    report.findings, report.known = match.new, match.known
    report.notes += notes(match, str(known.path))


def _change(revision: str, paths: list[Path]) -> Change:
    from syncfinder.gate.changes import Change

    return Change(revision, paths[0])


def _keep_changed(change: Change, work: Work, report: Report, progress: bool) -> None:
    """Keep the findings on changed lines, and those elsewhere that a check of the old tree does not find."""
    touched = [f for f in report.findings if change.touches(f)]
    others = [f for f in report.findings if not change.touches(f)]
    caused: list[Finding] = []
    if others and (change.any or any(change.old_name(str(path)) is None for path in work.files)):
        with change.old_tree(work.files) as today:

            def old_settings(path: Path) -> Settings:
                return replace(
                    work.settings_for(today[path]), per_file_ignores=()
                )  # their patterns are for today's paths

            before = Report()
            analyse(list(today), {}, work.settings, old_settings, before, progress)
            caused = change.caused(others, report.files, change.kept_keys(before.findings, before.files, today))
    if caused:
        count = "1 finding stands" if len(caused) == 1 else f"{len(caused)} findings stand"
        report.notes.append(f"{count} on lines that did not change: the change causes what they say")
    kept = {id(finding) for finding in (*touched, *caused)}
    report.findings = [f for f in report.findings if id(f) in kept]


def grouped(files: list[Path], settings_for: Callable[[Path], Settings]) -> Iterable[tuple[Settings, list[Path]]]:
    """The files by settings that steer the inference alike."""
    groups: dict[object, tuple[Settings, list[Path]]] = {}
    for path in files:
        own = settings_for(path)
        groups.setdefault(own.inference, (own, []))[1].append(path)
    return groups.values()


def observe(
    files: list[Path], checked: list[Path], texts: dict[Path, str], settings: Settings, progress: bool
) -> Observations:
    """Infer the sites of files, in worker processes where that pays. `checked` are all files of the run."""
    jobs = settings.jobs or os.cpu_count() or 1
    if jobs > 1 and len(files) > 1 and hasattr(os, "fork") and bytes_of(files) > PARALLEL_BYTES:
        from syncfinder.workers import observe_parallel

        return observe_parallel(files, checked, texts, settings, min(jobs, len(files)), progress)
    return with_deep_stack(lambda: observe_here(files, checked, texts, settings))


def bytes_of(files: list[Path]) -> int:
    from syncfinder.workers import sizes

    return sum(sizes(files))


def select(path: Path, sites: list[Site], settings: Settings) -> list[Site]:
    """Keep the sites of a file that its settings ask for, at the levels that they say, before anything is worded."""
    from syncfinder.rules.catalogue import by_kind

    rules = by_kind()
    out = []
    for site in sites:
        code = rules[site.kind].code
        if settings.keeps(site.confidence) and settings.selects_in(path, code):
            site.level = settings.level_of(code, site.level)
            out.append(site)
    return out


def word(wanted: dict[Path, list[Site]], texts: dict[Path, str], settings: Settings) -> list[Worded]:
    """Turn sites into findings through the rules, file by file."""
    work = [(path, sites) for path, sites in sorted(wanted.items()) if sites]
    jobs = settings.jobs or os.cpu_count() or 1
    if jobs > 1 and sum(len(sites) for _, sites in work) > PARALLEL_SITES and hasattr(os, "fork"):
        from syncfinder.workers import word_parallel

        return word_parallel(work, texts, jobs)
    return [word_file(path, sites, texts) for path, sites in work]
