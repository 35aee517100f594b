"""A name for each finding that stays the same while the code around it moves or is laid out anew."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path

from syncfinder.finding import Finding
from syncfinder.report.checkout import relative
from syncfinder.source.file import SourceFile


def fingerprints(findings: Sequence[Finding], files: Mapping[str, SourceFile], base: Path | None) -> list[str]:
    """Return 64 hexadecimal digits for each finding, unique in this list.

    They are made from the file's path below `base`, the function, the code and the expression that waits, and count the
    equal ones in their order.
    """
    seen: Counter[tuple[str, ...]] = Counter()
    found = []
    for finding in findings:
        key = (relative(finding.filename, base), finding.function or "", finding.code, _expression(finding, files))
        found.append(sha256("\0".join((*key, str(seen[key]))).encode(errors="surrogatepass")).hexdigest())
        seen[key] += 1
    return found


def _expression(finding: Finding, files: Mapping[str, SourceFile]) -> str:
    """The expression's source without what a formatter changes: white space, and commas before a closing bracket."""
    file = files.get(finding.filename)
    if file is None:
        return finding.message
    text = "".join(file.text_of(finding.span).split())
    for bracket in ")]}":
        text = text.replace("," + bracket, bracket)
    return text
