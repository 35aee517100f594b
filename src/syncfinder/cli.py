"""The command line: arguments in, exit code out.

Exit codes: 0 clean, 1 findings, 2 the tool could not do its whole work. Everything but click is imported where used,
so that `--version` and usage errors are instant.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from syncfinder import __version__

if TYPE_CHECKING:
    from syncfinder.check import Report
    from syncfinder.config import Settings
    from syncfinder.runtime.fixture import Verdict
    from syncfinder.torchmodel.model import Model

CLEAN, FINDINGS, FAILED = 0, 1, 2
_INTERRUPTED = 130
_NEEDS_TORCH = "{error}: this command runs on a GPU and needs torch and numpy: pip install 'syncfinder[gpu]'"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    _make_printable(sys.stdout)
    _make_printable(sys.stderr)
    try:
        code = cli.main(arguments, prog_name="syncfinder", standalone_mode=False)
        sys.stdout.flush()
    except click.UsageError as error:
        error.show()
        return FAILED
    except click.ClickException as error:
        click.echo(f"error: {error.format_message()}", err=True)
        return FAILED
    except click.Abort:
        click.echo("interrupted", err=True)
        return _INTERRUPTED
    except SystemExit:  # click's answer to a reader that has gone
        return FAILED
    except BrokenPipeError:
        # the reader has gone: keep the interpreter's own flush at exit from failing again
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except Exception:
        # exit code 1 would say "findings"
        import traceback

        traceback.print_exc()
        click.echo(f"error: this is a bug in syncfinder {__version__}; please report it with the lines above", err=True)
        return FAILED
    return code if isinstance(code, int) else CLEAN


def _make_printable(stream: TextIO) -> None:
    """Names and source may hold characters that the terminal's encoding lacks; printing them must not fail."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")


def _split(_context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(part.strip() for value in values for part in value.split(",") if part.strip())


def _codes(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    parts = _split(context, parameter, values)
    if not parts:
        return ()
    from syncfinder.config import selectors

    try:
        return selectors(parts)
    except ValueError as error:
        raise click.BadParameter(str(error), context, parameter) from error


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", prog_name="syncfinder", message="%(prog)s %(version)s")
def cli() -> None:
    """Find hidden GPU synchronisation points in PyTorch code."""


@cli.command()
@click.argument("paths", nargs=-1, metavar="[PATHS|-]")
@click.option("--select", multiple=True, callback=_codes, metavar="CODES", help="Report only these codes or prefixes.")
@click.option("--extend-select", multiple=True, callback=_codes, metavar="CODES", help="Report these codes as well.")
@click.option("--ignore", multiple=True, callback=_codes, metavar="CODES", help="Do not report these codes.")
@click.option(
    "--min-confidence", type=click.Choice(["certain", "likely", "possible"]), help="Leave out what is less sure."
)
@click.option("--output-format", type=click.Choice(["full", "concise", "json"]), help="How findings are written.")
@click.option("--output-file", "-o", type=click.Path(dir_okay=False), help="Write findings here, not to stdout.")
@click.option(
    "--exclude", multiple=True, callback=_split, metavar="PATTERNS", help="Leave out what matches (gitignore)."
)
@click.option("--torch-version", metavar="VERSION", help="The torch that the code runs with, such as 2.11.")
@click.option("--show-info", is_flag=True, help="Show findings in set-up code, error paths and the like too.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 when there are findings.")
@click.option("--jobs", "-j", type=click.IntRange(min=1), help="How many processes to use.")
@click.option("--no-cache", is_flag=True, help="Neither read nor write the cache.")
@click.option("--isolated", is_flag=True, help="Ignore all configuration files.")
@click.option("--stdin-filename", metavar="NAME", help="The name of the file that is read from stdin.")
def check(paths: tuple[str, ...], **options: Any) -> int:
    """Check files and folders (default: the working directory), or the source on stdin when the path is `-`."""
    from syncfinder.check import check as run

    if "-" in paths and len(paths) > 1:
        raise click.UsageError("`-` reads stdin and cannot be combined with paths")
    if options["stdin_filename"] is not None and paths != ("-",):
        raise click.UsageError("--stdin-filename needs `-` as the path")
    places = [Path(path) for path in paths or (".",)]
    name = options["stdin_filename"] or "<stdin>"
    from_stdin = paths == ("-",)
    settings = _settings(Path(name) if from_stdin else places[0], options)
    progress = settings.output_format != "json" and sys.stderr.isatty()
    if from_stdin:
        report = run([], settings, stdin=(name, _stdin_text(name)), progress=False)
    else:
        report = run(places, settings, stdin=None, progress=progress)
    for note in report.notes:
        click.echo(f"note: {note}", err=True)
    for error in report.errors:
        click.echo(f"error: {error}", err=True)
    _write_report(report, settings, options["output_file"])
    if report.errors:
        return FAILED
    failing = any(finding.level != "info" for finding in report.findings)
    return FINDINGS if failing and not options["exit_zero"] else CLEAN


def _settings(start: Path, options: dict[str, Any]) -> Settings:
    """The settings for `start` with the command line's options over them."""
    from syncfinder.config import ConfigError, load, override

    try:
        settings = override(load(start, isolated=options["isolated"]), options)
    except ConfigError as error:
        raise click.ClickException(str(error)) from error
    asked = {*settings.select, *settings.extend_select, *settings.ignore} - {"SF"}
    if asked:
        from syncfinder.rules.catalogue import load as catalogue

        codes = catalogue()
        for selector in sorted(asked):
            if not any(code.startswith(selector) for code in codes):
                raise click.ClickException(f"no rule's code begins with {selector}{_near(selector, codes)}")
    return settings


def _stdin_text(name: str) -> str:
    from syncfinder.source.decode import SourceError, decode

    try:
        return decode(Path(name), sys.stdin.buffer.read())
    except SourceError as error:
        raise click.ClickException(str(error)) from error


def _write_report(report: Report, settings: Settings, output_file: str | None) -> None:
    if output_file is None:
        _write(report, settings, sys.stdout, _wants_color())
        return
    from io import StringIO

    from syncfinder.files import write_whole

    stream = StringIO()
    _write(report, settings, stream, False)
    _save(lambda: write_whole(Path(output_file), stream.getvalue()), output_file)


def _write(report: Report, settings: Settings, stream: TextIO, color: bool) -> None:
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
        stream.write(summary(report.findings, report.checked, failed=failed, show_info=show_info) + "\n")


def _wants_color() -> bool:
    """Colour on a terminal, unless NO_COLOR is set; elsewhere only with FORCE_COLOR."""
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (sys.stdout.isatty() and os.environ.get("TERM") != "dumb")


@cli.command()
@click.argument("code", required=False)
@click.option("--all", "every", is_flag=True, help="All rules, in order of their codes.")
@click.option(
    "--all-functions", is_flag=True, help="Only the functions of torch that the rule knows, and when they wait."
)
@click.option("--torch-version", metavar="VERSION", help="The torch that --all-functions speaks of, such as 2.11.")
def rule(code: str | None, every: bool, all_functions: bool, torch_version: str | None) -> int:
    """Explain a rule, given its code (SF101) or its name (tensor-item)."""
    from syncfinder.report.rule import write
    from syncfinder.rules.catalogue import load

    if (code is None) != every:
        raise click.UsageError("give one code, or --all")
    rules = load()
    if code is None:
        wanted = [rules[key] for key in sorted(rules)]
    else:
        wanted = [r for r in rules.values() if code.upper() == r.code or code.lower() == r.name]
        if not wanted:
            names = [*rules, *(r.name for r in rules.values())]
            raise click.ClickException(f"there is no rule {code}{_near(code, names)}")
    if all_functions:
        from syncfinder.report.functions import write as write_functions

        write_functions(wanted, _torch_model(torch_version), sys.stdout, terminal=sys.stdout.isatty())
    else:
        write(wanted, sys.stdout, terminal=sys.stdout.isatty())
    return CLEAN


def _torch_model(version: str | None) -> Model:
    from syncfinder.torchmodel.model import load, versions

    try:
        return load(version)
    except FileNotFoundError as error:
        raise click.ClickException(f"--torch-version must be one of {', '.join(versions())}") from error


@cli.command()
@click.argument("place", metavar="FILE:LINE")
@click.option("--isolated", is_flag=True, help="Ignore all configuration files.")
def explain(place: str, isolated: bool) -> int:
    """Say what is believed about every value on a line, why, and which findings stand there."""
    from syncfinder.explain import explain as run
    from syncfinder.report.explain import write
    from syncfinder.source.decode import SourceError

    name, colon, line = place.rpartition(":")
    if not colon or not line.isdecimal():
        raise click.UsageError(f"{place!r} is not FILE:LINE, such as model.py:120")
    settings = _settings(Path(name), {"isolated": isolated})
    try:
        explanation = run(Path(name), int(line), settings)
    except (SourceError, ValueError) as error:
        raise click.ClickException(str(error)) from error
    write(explanation, sys.stdout, color=_wants_color(), width=None)
    return CLEAN


def _save(write: Callable[[], None], name: str) -> None:
    try:
        write()
    except OSError as error:
        raise click.ClickException(f"{name}: cannot be written: {error.strerror}") from error


def _say_verdict(verdict: Verdict) -> None:
    click.echo(f"{verdict.path}: {'; '.join(verdict.faults) or 'agrees'}", err=True)


@cli.command()
@click.argument("fixtures", nargs=-1, type=click.Path(path_type=Path))
@click.option("--json", "json_file", type=click.Path(dir_okay=False, path_type=Path), help="Write the evidence here.")
def verify(fixtures: tuple[Path, ...], json_file: Path | None) -> int:
    """Run fixtures on this machine's GPU (needs torch) and compare what waits with their marks. Runs their code."""
    try:
        from syncfinder.report.verify import table
        from syncfinder.runtime import verify as harness

        verdicts = harness.verify(fixtures or (Path("fixtures"),), Path.cwd(), _say_verdict)
    except ImportError as error:
        raise click.ClickException(_NEEDS_TORCH.format(error=error)) from error
    except (RuntimeError, FileNotFoundError) as error:
        raise click.ClickException(str(error)) from error
    if json_file is not None:
        _save(lambda: harness.write(verdicts, json_file), str(json_file))
    table(verdicts, sys.stdout, color=_wants_color())
    return FINDINGS if any(v.faults for v in verdicts) else CLEAN


@cli.command()
@click.option("--output-file", "-o", type=click.Path(dir_okay=False), required=True, help="Write the evidence here.")
@click.option("--only", multiple=True, callback=_split, metavar="WORDS", help="Only what has one of these words in it.")
def measure(output_file: str, only: tuple[str, ...]) -> int:
    """Measure when torch makes the host wait, on this machine's GPU (needs torch). Runs torch's code and the probes."""
    try:
        from syncfinder.runtime.measure import measure as run
        from syncfinder.runtime.measure import write as write_evidence

        evidence = run(lambda line: click.echo(line, err=True), only)
    except ImportError as error:
        raise click.ClickException(_NEEDS_TORCH.format(error=error)) from error
    except RuntimeError as error:
        raise click.ClickException(str(error)) from error
    _save(lambda: write_evidence(evidence, Path(output_file)), output_file)
    return CLEAN


def _near(given: str, known: Sequence[str] | dict[str, Any]) -> str:
    """ "; did you mean A or B?", or nothing when nothing is near."""
    from difflib import get_close_matches

    by_upper = {name.upper(): name for name in known}
    near = [by_upper[match] for match in get_close_matches(given.upper(), by_upper, n=3, cutoff=0.6)]
    return f"; did you mean {' or '.join(near)}?" if near else ""
