"""GitLab's code quality report: https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TextIO

from syncfinder.report.checkout import relative, root
from syncfinder.report.fingerprint import fingerprints
from syncfinder.report.text import one_line, ordered

if TYPE_CHECKING:
    from syncfinder.check import Report
    from syncfinder.finding import Finding
    from syncfinder.report.formats import Look

_SEVERITIES = {"error": "major", "warning": "minor", "info": "info"}


def write(report: Report, stream: TextIO, look: Look) -> None:
    """Write one list of issues. GitLab takes those of two branches for the same when their fingerprints are equal."""
    base = root()
    findings = ordered(report.findings)
    names = fingerprints(findings, report.files, base)
    issues = [_issue(f, relative(f.filename, base), name) for f, name in zip(findings, names, strict=True)]
    stream.write(json.dumps(issues, indent=2) + "\n")


def _issue(finding: Finding, path: str, fingerprint: str) -> dict[str, Any]:
    span = finding.span
    return {
        "description": f"{finding.code}: {one_line(finding.message)}",
        "check_name": finding.name,
        "fingerprint": fingerprint,
        "severity": _SEVERITIES[finding.level],
        "location": {
            "path": path,
            "positions": {
                "begin": {"line": span.line, "column": span.column},
                "end": {"line": span.end_line, "column": span.end_column},
            },
        },
    }
