"""What `check` says in the end: notes and errors, the report, the exit code."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from syncfinder.cli.shared import CLEAN, FAILED, FINDINGS, save, wants_color

if TYPE_CHECKING:
    from syncfinder.check import Report
    from syncfinder.config import Settings


def outcome(report: Report, options: dict[str, Any], changed: bool = False) -> int:
    """The exit code for what is reported; `changed`: something was fixed, and the caller asks to fail for that."""
    if report.errors:
        return FAILED
    failing = changed or any(finding.level != "info" for finding in report.findings)
    return FINDINGS if failing and not options["exit_zero"] else CLEAN


def tell(notes: list[str], errors: list[str]) -> None:
    for note in notes:
        click.echo(f"note: {note}", err=True)
    for error in errors:
        click.echo(f"error: {error}", err=True)


def write_report(report: Report, settings: Settings, options: dict[str, Any], stream: TextIO | None = None) -> None:
    """Write the findings, or with `--statistics` their numbers, to `--output-file`, else to `stream` (stdout)."""
    write = _write_statistics if options["statistics"] else _write
    output_file = options["output_file"]
    if output_file is None:
        stream = stream or sys.stdout
        write(report, settings, stream, wants_color() and stream is sys.stdout)
        return
    from io import StringIO

    from syncfinder.files import write_whole

    text = StringIO()
    write(report, settings, text, False)
    save(lambda: write_whole(Path(output_file), text.getvalue()), output_file)


def _write_statistics(report: Report, settings: Settings, stream: TextIO, color: bool) -> None:
    """Count the findings that would be listed."""
    from syncfinder.report.statistics import write
    from syncfinder.report.text import visible

    as_json = settings.output_format == "json"
    write(visible(report.findings, settings.show_info or as_json), stream, as_json=as_json)
    if not as_json:
        from syncfinder.report.formats import write_summary

        write_summary(report, stream, show_info=settings.show_info)


def _write(report: Report, settings: Settings, stream: TextIO, color: bool) -> None:
    import shutil

    from syncfinder.report.formats import Look, write

    width = shutil.get_terminal_size().columns if stream.isatty() else None
    write(report, settings.output_format, stream, Look(color, width, settings.show_info))
