"""The output formats of `check`, and the one contract that they share.

Each is a module of this package, named like the format with `_` for `-`, with one function::

    write(report: Report, stream: TextIO, look: Look) -> None

Formats for machines carry every finding, those of level info too, and order them by file, row, column and code. Formats
for people show info only when asked to.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from syncfinder.check import Report

TEXT = ("full", "concise", "grouped")  # for a terminal: they end with the summary
DOCUMENTS = ("markdown", "html")  # for people, too, but files of their own
MACHINES = ("json", "json-lines", "sarif", "github", "gitlab", "junit", "azure")
OUTPUT_FORMATS = (*TEXT, *MACHINES, *DOCUMENTS)


@dataclass(frozen=True, slots=True)
class Look:
    """How a format for people looks. `width` is the terminal's, in columns; None never cuts a line."""

    color: bool = False
    width: int | None = None
    show_info: bool = False


def write(report: Report, output_format: str, stream: TextIO, look: Look) -> None:
    """Write a report in one of `OUTPUT_FORMATS`."""
    import_module(f"syncfinder.report.{output_format.replace('-', '_')}").write(report, stream, look)
    if output_format in TEXT:
        write_summary(report, stream, show_info=look.show_info)


def write_summary(report: Report, stream: TextIO, *, show_info: bool) -> None:
    """Write the line that ends a report on a terminal; none if nothing could be checked."""
    from syncfinder.report.summary import of_report

    if report.checked or not report.errors:
        stream.write(of_report(report, show_info=show_info) + "\n")
