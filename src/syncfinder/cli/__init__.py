"""The command line: arguments in, exit code out. One module per group of commands.

Exit codes: 0 clean, 1 findings, 2 the tool could not do its whole work. Everything but click is imported where used,
so that `--version` and usage errors are instant.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TextIO

import click

from syncfinder import __version__
from syncfinder.cli.baseline import baseline
from syncfinder.cli.check import check
from syncfinder.cli.config import config
from syncfinder.cli.explain import explain, rule
from syncfinder.cli.gpu import bench, measure, verify
from syncfinder.cli.shared import CLEAN, FAILED
from syncfinder.errors import UserError

_INTERRUPTED = 130


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
    except UserError as error:
        click.echo(f"error: {error}", err=True)
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


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", prog_name="syncfinder", message="%(prog)s %(version)s")
def cli() -> None:
    """Find hidden GPU synchronisation points in PyTorch code."""


for _command in (check, rule, explain, config, baseline, verify, measure, bench):
    cli.add_command(_command)
