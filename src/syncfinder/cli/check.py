"""`syncfinder check`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from syncfinder.cli.shared import CLEAN, FAILED, FINDINGS, codes, save, settings_for, split, wants_color

if TYPE_CHECKING:
    from syncfinder.check import Report
    from syncfinder.config import Settings


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATHS|-]")
@click.option("--select", multiple=True, callback=codes, metavar="CODES", help="Report only these codes or prefixes.")
@click.option("--extend-select", multiple=True, callback=codes, metavar="CODES", help="Report these codes as well.")
@click.option("--ignore", multiple=True, callback=codes, metavar="CODES", help="Do not report these codes.")
@click.option(
    "--min-confidence", type=click.Choice(["certain", "likely", "possible"]), help="Leave out what is less sure."
)
@click.option("--output-format", type=click.Choice(["full", "concise", "json"]), help="How findings are written.")
@click.option("--output-file", "-o", type=click.Path(dir_okay=False), help="Write findings here, not to stdout.")
@click.option(
    "--exclude", multiple=True, callback=split, metavar="PATTERNS", help="Leave out what matches (gitignore)."
)
@click.option("--torch-version", metavar="VERSION", help="The torch that the code runs with, such as 2.11.")
@click.option("--fix", is_flag=True, help="Apply the fixes that are safe.")
@click.option("--unsafe-fixes/--no-unsafe-fixes", default=None, help="Apply or offer those under a condition, too.")
@click.option("--diff", is_flag=True, help="Write no file; show what --fix would change.")
@click.option("--fix-only", is_flag=True, help="Fix, and neither report nor fail for what remains.")
@click.option("--show-fixes", is_flag=True, help="List what was fixed.")
@click.option("--exit-non-zero-on-fix", is_flag=True, help="Exit with 1 when something was fixed.")
@click.option("--fixable", multiple=True, callback=codes, metavar="CODES", help="Fix only these codes or prefixes.")
@click.option("--unfixable", multiple=True, callback=codes, metavar="CODES", help="Do not fix these codes.")
@click.option("--show-info", is_flag=True, help="Show findings in set-up code, error paths and the like too.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 when there are findings.")
@click.option("--jobs", "-j", type=click.IntRange(min=1), help="How many processes to use.")
@click.option("--no-cache", is_flag=True, help="Neither read nor write the cache.")
@click.option("--isolated", is_flag=True, help="Ignore all configuration files.")
@click.option("--stdin-filename", metavar="NAME", help="The name of the file that is read from stdin.")
def check(paths: tuple[str, ...], **options: Any) -> int:
    """Check files and folders (default: the working directory), or the source on stdin when the path is `-`."""
    if "-" in paths and len(paths) > 1:
        raise click.UsageError("`-` reads stdin and cannot be combined with paths")
    if options["stdin_filename"] is not None and paths != ("-",):
        raise click.UsageError("--stdin-filename needs `-` as the path")
    places = [Path(path) for path in paths or (".",)]
    name = options["stdin_filename"] or "<stdin>"
    from_stdin = paths == ("-",)
    settings = settings_for(Path(name) if from_stdin else places[0], options)
    data = sys.stdin.buffer.read() if from_stdin else None
    stdin = (name, _text(name, data)) if data is not None else None
    progress = settings.output_format != "json" and sys.stderr.isatty() and not from_stdin
    if options["fix"] or options["diff"] or options["fix_only"]:
        from syncfinder.cli.fixing import run_fixes

        return run_fixes(places, settings, options, stdin, data, progress)

    from syncfinder.check import check as run

    report = run([] if from_stdin else places, settings, stdin=stdin, progress=progress)
    tell(report.notes, report.errors)
    write_report(report, settings, options["output_file"])
    return outcome(report, options)


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


def _text(name: str, data: bytes) -> str:
    from syncfinder.source.decode import SourceError, decode

    try:
        return decode(Path(name), data)
    except SourceError as error:
        raise click.ClickException(str(error)) from error


def write_report(
    report: Report, settings: Settings, output_file: str | None, fixed: int = 0, stream: TextIO | None = None
) -> None:
    """Write the findings to a file, else to `stream` (stdout)."""
    if output_file is None:
        stream = stream or sys.stdout
        _write(report, settings, stream, wants_color() and stream is sys.stdout, fixed)
        return
    from io import StringIO

    from syncfinder.files import write_whole

    text = StringIO()
    _write(report, settings, text, False, fixed)
    save(lambda: write_whole(Path(output_file), text.getvalue()), output_file)


def _write(report: Report, settings: Settings, stream: TextIO, color: bool, fixed: int) -> None:
    """Write the findings and, in the formats for people, the summary."""
    import shutil
    from importlib import import_module

    from syncfinder.report.summary import summary

    show_info = settings.show_info
    width = shutil.get_terminal_size().columns if stream.isatty() else None
    writer = import_module(f"syncfinder.report.{settings.output_format}").write
    writer(report.findings, report.files, stream, color=color, width=width, show_info=show_info)
    failed = bool(report.errors)
    if settings.output_format != "json" and (report.checked or not failed):
        text = summary(report.findings, report.checked, failed=failed, show_info=show_info, fixed=fixed)
        stream.write(text + "\n")
