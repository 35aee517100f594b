"""GitHub Actions' workflow commands, which its runner shows as annotations.

The escapes are those that the runner undoes: https://github.com/actions/toolkit/blob/main/packages/core/src/command.ts
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from syncfinder.report.checkout import relative, root
from syncfinder.report.text import ordered, with_help

if TYPE_CHECKING:
    from syncfinder.check import Report
    from syncfinder.report.formats import Look

_COMMANDS = {"error": "error", "warning": "warning", "info": "notice"}


def write(report: Report, stream: TextIO, look: Look) -> None:
    """Write an annotation for each finding, and one without a place for each error of the run."""
    base = root()
    for f in ordered(report.findings):
        place = {"file": relative(f.filename, base), "line": f.span.line, "endLine": f.span.end_line}
        if f.span.line == f.span.end_line:  # columns of an annotation that spans lines are refused
            place |= {"col": f.span.column, "endColumn": f.span.end_column}
        stream.write(_command(_COMMANDS[f.level], with_help(f), title=f"syncfinder ({f.code})", **place))
    for error in report.errors:
        stream.write(_command("error", error, title="syncfinder"))


def _command(name: str, message: str, **properties: object) -> str:
    given = ",".join(f"{key}={_property(str(value))}" for key, value in properties.items())
    return f"::{name} {given}::{_data(message)}\n"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
