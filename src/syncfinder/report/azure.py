"""Azure Pipelines' logging commands, which its agent shows as issues of the run.

The escapes are those of
https://learn.microsoft.com/azure/devops/pipelines/scripts/logging-commands#formatting-commands
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from syncfinder.report.checkout import relative, root
from syncfinder.report.text import ordered, visible, with_help

if TYPE_CHECKING:
    from syncfinder.check import Report
    from syncfinder.report.formats import Look

_ESCAPES = {"%": "%AZP25", "\r": "%0D", "\n": "%0A", ";": "%3B", "]": "%5D"}
_IN_MESSAGES = str.maketrans({c: _ESCAPES[c] for c in "%\r\n"})
_IN_PROPERTIES = str.maketrans(_ESCAPES)


def write(report: Report, stream: TextIO, look: Look) -> None:
    """Write an issue for each finding, and one without a place for each error of the run.

    Azure knows no level below warning, so findings of level info are written only with `--show-info`, as warnings.
    """
    base = root()
    for f in ordered(visible(report.findings, look.show_info)):
        stream.write(
            _issue(
                "error" if f.level == "error" else "warning",
                with_help(f),
                sourcepath=relative(f.filename, base),
                linenumber=f.span.line,
                columnnumber=f.span.column,
                code=f.code,
            )
        )
    for error in report.errors:
        stream.write(_issue("error", error))


def _issue(kind: str, message: str, **properties: object) -> str:
    given = "".join(f";{key}={str(value).translate(_IN_PROPERTIES)}" for key, value in properties.items())
    return f"##vso[task.logissue type={kind}{given};]{message.translate(_IN_MESSAGES)}\n"
