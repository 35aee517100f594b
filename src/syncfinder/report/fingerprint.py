"""A name for each finding that stays the same while the code around it moves or is laid out anew."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path

from syncfinder.finding import Finding
from syncfinder.gate.keys import FindingKey, expression
from syncfinder.report.checkout import relative
from syncfinder.source.file import SourceFile


def fingerprints(findings: Sequence[Finding], files: Mapping[str, SourceFile], base: Path | None) -> list[str]:
    """Return 64 hexadecimal digits for each finding, unique in this list.

    They are made from what a baseline knows a finding by, and count the equal ones in their order.
    """
    seen: Counter[FindingKey] = Counter()
    found = []
    for finding in findings:
        file = files.get(finding.filename)
        what = finding.message if file is None else expression(file, finding.span)
        key = FindingKey(relative(finding.filename, base), finding.function or "", finding.code, what)
        found.append(sha256("\0".join((*key, str(seen[key]))).encode(errors="surrogatepass")).hexdigest())
        seen[key] += 1
    return found
