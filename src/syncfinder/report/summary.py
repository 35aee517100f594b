"""How many findings there are: one line, in the formats for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from syncfinder.finding import Finding
from syncfinder.sites.site import CONFIDENCES

if TYPE_CHECKING:
    from syncfinder.check import Report


def of_report(report: Report, *, show_info: bool) -> str:
    """Return the summary of a run."""
    failed = bool(report.errors)
    return summary(report.findings, report.checked, failed=failed, show_info=show_info, known=report.known)


def summary(findings: Sequence[Finding], checked: int, *, failed: bool, show_info: bool, known: int = 0) -> str:
    """Say how many findings there are in how many files.

    `checked` counts the files that were checked; `failed` says that something else could not be; `known` are the
    findings that a baseline knows.
    """
    counted = [f for f in findings if f.level != "info"]
    info = len(findings) - len(counted)
    more = []
    if info:
        which = f"{info} more" if counted else _count(info, "finding")
        more.append(f"{which} {'is' if info == 1 else 'are'} info{'' if show_info else ' (--show-info)'}")
    if known:
        more.append(f"{_count(known, 'known finding')} {'is' if known == 1 else 'are'} in the baseline")
    if not counted:
        partly = f"No findings in the {_count(checked, 'file')} that could be checked"
        passed = partly if failed else "All checks passed!"
        return " ".join([passed, "; ".join(more)]).rstrip()
    by_confidence = Counter(f.confidence for f in counted)
    parts = ", ".join(f"{by_confidence[c]} {c}" for c in reversed(CONFIDENCES) if by_confidence[c])
    files = len({f.filename for f in counted})
    found = f"Found {_count(len(counted), 'finding')} ({parts}) in {files} of {_count(checked, 'file')}"
    return "; ".join([found, *more])


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
