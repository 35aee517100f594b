"""`syncfinder check`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from syncfinder.cli.shared import (
    CLEAN,
    FAILED,
    FINDINGS,
    codes,
    configuration_for,
    configured,
    save,
    split,
    wants_color,
)
from syncfinder.report.formats import MACHINES, OUTPUT_FORMATS

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
@click.option("--output-format", type=click.Choice(OUTPUT_FORMATS), help="How findings are written.")
@click.option("--output-file", "-o", type=click.Path(dir_okay=False), help="Write findings here, not to stdout.")
@click.option(
    "--exclude", multiple=True, callback=split, metavar="PATTERNS", help="Leave out what matches, not the default."
)
@click.option(
    "--extend-exclude", multiple=True, callback=split, metavar="PATTERNS", help="Leave out what matches as well."
)
@click.option("--force-exclude", is_flag=True, help="Leave it out even when it is given by name.")
@click.option("--torch-version", metavar="VERSION", help="The torch that the code runs with, such as 2.11.")
@click.option("--statistics", is_flag=True, help="Count findings by rule instead of listing them.")
@click.option("--show-info", is_flag=True, help="Show findings in set-up code, error paths and the like too.")
@click.option("--baseline", type=click.Path(dir_okay=False), help="Report only what this file does not know.")
@click.option("--changed-since", metavar="REV", help="Report only what changes since this git revision bring.")
@click.option("--add-ignore", metavar="REASON", help="Write a suppression with this reason for each finding.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 when there are findings.")
@click.option("--jobs", "-j", type=click.IntRange(min=1), help="How many processes to use.")
@click.option("--no-cache", is_flag=True, help="Neither read nor write the cache.")
@configured
@click.option("--stdin-filename", metavar="NAME", help="The name of the file that is read from stdin.")
def check(paths: tuple[str, ...], **options: Any) -> int:
    """Check files and folders (default: the working directory), or the source on stdin when the path is `-`."""
    from syncfinder.check import check as run

    if "-" in paths and len(paths) > 1:
        raise click.UsageError("`-` reads stdin and cannot be combined with paths")
    if options["stdin_filename"] is not None and paths != ("-",):
        raise click.UsageError("--stdin-filename needs `-` as the path")
    if options["changed_since"] is not None and paths == ("-",):
        raise click.UsageError("--changed-since needs files, and stdin is none")
    if options["add_ignore"] is not None:
        _check_reason(options["add_ignore"], paths)
    places = [Path(path) for path in paths or (".",)]
    name = options["stdin_filename"] or "<stdin>"
    from_stdin = paths == ("-",)
    configuration = configuration_for(options)
    settings = configuration.of(Path(name) if from_stdin else places[0])
    progress = settings.output_format not in MACHINES and sys.stderr.isatty()
    if from_stdin:
        report = run([], settings, stdin=(name, _stdin_text(name)))
    else:
        report = run(
            places,
            settings,
            settings_of=configuration.of_folder,
            changed_since=options["changed_since"],
            progress=progress,
        )
    for note in report.notes:
        click.echo(f"note: {note}", err=True)
    for error in report.errors:
        click.echo(f"error: {error}", err=True)
    if options["add_ignore"] is not None:
        return _add_ignores(report, settings, options["add_ignore"])
    _write_report(report, settings, options["output_file"], statistics=options["statistics"])
    if report.errors:
        return FAILED
    failing = any(finding.level != "info" for finding in report.findings)
    return FINDINGS if failing and not options["exit_zero"] else CLEAN


def _check_reason(reason: str, paths: tuple[str, ...]) -> None:
    if paths == ("-",):
        raise click.UsageError("--add-ignore changes files, and stdin is none")
    if not reason.strip(" \t:-") or not reason.isprintable() or "#" in reason:
        raise click.UsageError("--add-ignore needs a reason: one line of text without `#`")


def _add_ignores(report: Report, settings: Settings, reason: str) -> int:
    """Write suppressions for what would be reported; findings about suppressions themselves stay."""
    from syncfinder.gate.add_ignore import add_ignores

    wanted = [f for f in report.findings if (f.level != "info" or settings.show_info) and f.family != "suppression"]
    added = add_ignores(wanted, reason.strip())
    for error in added.errors:
        click.echo(f"error: {error}", err=True)
    comments = "1 suppression" if added.comments == 1 else f"{added.comments} suppressions"
    click.echo(f"Added {comments} in {'1 file' if added.files == 1 else f'{added.files} files'}.")
    return FAILED if added.errors or report.errors else CLEAN


def _stdin_text(name: str) -> str:
    from syncfinder.source.decode import SourceError, decode

    try:
        return decode(Path(name), sys.stdin.buffer.read())
    except SourceError as error:
        raise click.ClickException(str(error)) from error


def _write_report(report: Report, settings: Settings, output_file: str | None, *, statistics: bool) -> None:
    write = _write_statistics if statistics else _write
    if output_file is None:
        write(report, settings, sys.stdout, wants_color())
        return
    from io import StringIO

    from syncfinder.files import write_whole

    stream = StringIO()
    write(report, settings, stream, False)
    save(lambda: write_whole(Path(output_file), stream.getvalue()), output_file)


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
