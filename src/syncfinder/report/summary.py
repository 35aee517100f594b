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
    return summary(
        report.findings,
        report.checked,
        failed=bool(report.errors),
        show_info=show_info,
        known=report.known,
        fixed=report.fixed,
    )


def summary(
    findings: Sequence[Finding], checked: int, *, failed: bool, show_info: bool, known: int = 0, fixed: int = 0
) -> str:
    """Say how many findings there are in how many files, and how many of them can be fixed.

    `checked` counts the files that were checked; `failed` says that something else could not be; `known` are the
    findings that a baseline knows; `fixed` counts the fixes that this run has made.
    """
    found = _found(findings, checked, failed, fixed)
    left_out = "; ".join(_left_out(findings, show_info, known))
    if left_out:
        found += f"; {left_out}" if fixed or any(f.level != "info" for f in findings) else f" {left_out}"
    shown = [f for f in findings if show_info or f.level != "info"]
    fixable = sum(f.fixable for f in shown)
    hidden = sum(f.fix is not None and bool(f.fix.edits) and not f.fixable for f in shown)
    more = f"({_count(hidden, 'hidden fix', 'hidden fixes')} can be enabled with the --unsafe-fixes option)"
    if fixable:
        return f"{found}\n[*] {fixable} fixable with the --fix option" + (f" {more}" if hidden else "")
    return f"{found}\nNo fixes available {more}" if hidden else found


def _found(findings: Sequence[Finding], checked: int, failed: bool, fixed: int) -> str:
    counted = [f for f in findings if f.level != "info"]
    if fixed:
        return f"Found {_count(fixed + len(counted), 'finding')} ({fixed} fixed, {len(counted)} remaining)"
    if not counted:
        partly = f"No findings in the {_count(checked, 'file')} that could be checked"
        return partly if failed else "All checks passed!"
    by_confidence = Counter(f.confidence for f in counted)
    parts = ", ".join(f"{by_confidence[c]} {c}" for c in reversed(CONFIDENCES) if by_confidence[c])
    files = len({f.filename for f in counted})
    return f"Found {_count(len(counted), 'finding')} ({parts}) in {files} of {_count(checked, 'file')}"


def _left_out(findings: Sequence[Finding], show_info: bool, known: int) -> list[str]:
    """What the number of findings does not count."""
    info = sum(f.level == "info" for f in findings)
    more = []
    if info:
        which = f"{info} more" if info < len(findings) else _count(info, "finding")
        more.append(f"{which} {'is' if info == 1 else 'are'} info{'' if show_info else ' (--show-info)'}")
    if known:
        more.append(f"{_count(known, 'known finding')} {'is' if known == 1 else 'are'} in the baseline")
    return more


def _count(number: int, what: str, several: str | None = None) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {several or f'{what}s'}"
