"""`syncfinder check --fix`, `--diff` and `--fix-only`."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from syncfinder.cli.output import outcome, tell, write_report
from syncfinder.cli.shared import CLEAN, FAILED, FINDINGS
from syncfinder.report.fixes import write_counts, write_diff
from syncfinder.report.formats import MACHINES
from syncfinder.source.decode import SourceError

if TYPE_CHECKING:
    from syncfinder.check import Work
    from syncfinder.fixes.passes import Fixed


def run_fixes(work: Work, options: dict[str, Any], data: bytes | None, progress: bool) -> int:
    """Fix the files of `work`, or the source that came on stdin as `data`, and report what remains."""
    from syncfinder.check import inspect, load_baseline
    from syncfinder.fixes.passes import fix

    settings = work.settings
    known = load_baseline(settings)
    report, fixed = fix(lambda texts: inspect(work, texts, known=known, progress=progress), settings.show_info)
    report.errors += fixed.errors
    changed = bool(fixed.texts)
    if options["diff"]:
        write_diff(fixed, sys.stdout)
        tell(report.notes, report.errors)
        click.echo(_would(fixed), err=True)
        return FAILED if report.errors else FINDINGS if changed and not options["exit_zero"] else CLEAN

    if data is not None:
        _to_stdout(fixed, work.files[0], data, report.errors)
    else:
        _to_disk(fixed, report.errors)
    tell(report.notes, report.errors)
    stream = sys.stderr if data is not None else sys.stdout
    if options["show_fixes"]:
        write_counts(fixed, stream if settings.output_format not in MACHINES else sys.stderr)
    if options["fix_only"]:
        report = replace(report, findings=[])
    else:
        report.fixed = fixed.total
        write_report(report, settings, options, stream)
    return outcome(report, options, changed and options["exit_non_zero_on_fix"])


def _would(fixed: Fixed) -> str:
    return f"Would fix {fixed.total} finding{'s' if fixed.total != 1 else ''}" if fixed.total else "No fixes available"


def _to_disk(fixed: Fixed, errors: list[str]) -> None:
    """Write each changed file; one that cannot be written is an error, and no fix of it counts."""
    from syncfinder.fixes.write import write_fixed
    from syncfinder.source.display import shown

    for path, (old, new) in sorted(fixed.texts.items()):
        try:
            write_fixed(path, old, new)
        except SourceError as error:
            errors.append(str(error))
        except OSError as error:
            errors.append(f"{shown(path)}: cannot be written: {error.strerror or error}")
        else:
            continue
        fixed.forget(path)


def _to_stdout(fixed: Fixed, path: Path, data: bytes, errors: list[str]) -> None:
    """Write the source that came on stdin, fixed or as it was."""
    from syncfinder.fixes.write import encoded

    if path in fixed.texts:
        try:
            data = encoded(path, data, fixed.texts[path][1])
        except SourceError as error:
            errors.append(str(error))
            fixed.forget(path)
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
