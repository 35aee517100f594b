"""The last line of the formats for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from syncfinder.finding import Finding
from syncfinder.sites.site import CONFIDENCES


def summary(findings: Sequence[Finding], checked: int, *, failed: bool, show_info: bool, fixed: int = 0) -> str:
    """Say how many findings there are in how many files, and how many of them can be fixed.

    `checked` counts the files that were checked; `failed` says that something else could not be; `fixed` counts the
    fixes that this run has made.
    """
    found = _found(findings, checked, failed, show_info, fixed)
    shown = [f for f in findings if show_info or f.level != "info"]
    fixable = sum(f.fixable for f in shown)
    hidden = sum(f.fix is not None and bool(f.fix.edits) and not f.fixable for f in shown)
    more = f"({_count(hidden, 'hidden fix', 'hidden fixes')} can be enabled with the --unsafe-fixes option)"
    if fixable:
        return f"{found}\n[*] {fixable} fixable with the --fix option" + (f" {more}" if hidden else "")
    return f"{found}\nNo fixes available {more}" if hidden else found


def _found(findings: Sequence[Finding], checked: int, failed: bool, show_info: bool, fixed: int) -> str:
    counted = [f for f in findings if f.level != "info"]
    info = len(findings) - len(counted)
    hint = "" if show_info else " (--show-info)"
    if fixed:
        total = _count(fixed + len(counted), "finding")
        return f"Found {total} ({fixed} fixed, {len(counted)} remaining)"
    if counted:
        by_confidence = Counter(f.confidence for f in counted)
        parts = ", ".join(f"{by_confidence[c]} {c}" for c in reversed(CONFIDENCES) if by_confidence[c])
        files = len({f.filename for f in counted})
        found = f"Found {_count(len(counted), 'finding')} ({parts}) in {files} of {_count(checked, 'file')}"
        return found + (f"; {info} more {'is' if info == 1 else 'are'} info{hint}" if info else "")
    passed = (
        "All checks passed!" if not failed else f"No findings in the {_count(checked, 'file')} that could be checked"
    )
    return passed + (f" {_count(info, 'finding')} {'is' if info == 1 else 'are'} info{hint}" if info else "")


def _count(number: int, what: str, several: str | None = None) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {several or f'{what}s'}"
