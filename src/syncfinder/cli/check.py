"""`syncfinder check`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from syncfinder.cli.output import outcome, tell, write_report
from syncfinder.cli.shared import CLEAN, FAILED, codes, configuration_for, configured, split
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
@click.option("--fix", is_flag=True, help="Apply the fixes that are safe.")
@click.option("--unsafe-fixes/--no-unsafe-fixes", default=None, help="Apply or offer those under a condition, too.")
@click.option("--diff", is_flag=True, help="Write no file; show what --fix would change.")
@click.option("--fix-only", is_flag=True, help="Fix, and neither report nor fail for what remains.")
@click.option("--show-fixes", is_flag=True, help="List what was fixed.")
@click.option("--exit-non-zero-on-fix", is_flag=True, help="Exit with 1 when something was fixed.")
@click.option("--fixable", multiple=True, callback=codes, metavar="CODES", help="Fix only these codes or prefixes.")
@click.option("--unfixable", multiple=True, callback=codes, metavar="CODES", help="Do not fix these codes.")
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
    data = sys.stdin.buffer.read() if from_stdin else None
    stdin = (name, _text(name, data)) if data is not None else None
    settings_of = None if from_stdin else configuration.of_folder
    progress = settings.output_format not in MACHINES and sys.stderr.isatty() and not from_stdin
    if _fixing(options):
        from syncfinder.check import gather
        from syncfinder.cli.fixing import run_fixes

        return run_fixes(gather(places, settings, settings_of=settings_of, stdin=stdin), options, data, progress)

    from syncfinder.check import check as run

    changed_since = options["changed_since"]
    report = run(places, settings, settings_of=settings_of, stdin=stdin, changed_since=changed_since, progress=progress)
    tell(report.notes, report.errors)
    if options["add_ignore"] is not None:
        return _add_ignores(report, settings, options["add_ignore"])
    write_report(report, settings, options)
    return outcome(report, options)


def _fixing(options: dict[str, Any]) -> bool:
    """Whether files are to be fixed, or fixes to be shown. Raises UsageError for what does not go with it."""
    if not (options["fix"] or options["diff"] or options["fix_only"]):
        return False
    for name in ("add_ignore", "changed_since"):
        if options[name] is not None:
            raise click.UsageError(f"--{name.replace('_', '-')} and fixing cannot be combined")
    return True


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
    tell([], added.errors)
    comments = "1 suppression" if added.comments == 1 else f"{added.comments} suppressions"
    click.echo(f"Added {comments} in {'1 file' if added.files == 1 else f'{added.files} files'}.")
    return FAILED if added.errors or report.errors else CLEAN


def _text(name: str, data: bytes) -> str:
    from syncfinder.source.decode import SourceError, decode

    try:
        return decode(Path(name), data)
    except SourceError as error:
        raise click.ClickException(str(error)) from error
