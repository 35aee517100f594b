"""SARIF 2.1.0, for code scanning: https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/"""

from __future__ import annotations

import json
import os
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO
from urllib.parse import quote

from syncfinder import __version__
from syncfinder.report.checkout import relative, root
from syncfinder.report.edits import edits
from syncfinder.report.fingerprint import fingerprints
from syncfinder.report.rule import markdown
from syncfinder.report.text import grounds, one_line, ordered, with_help
from syncfinder.sites.site import Span

if TYPE_CHECKING:
    from syncfinder.check import Report
    from syncfinder.finding import Finding
    from syncfinder.report.formats import Look
    from syncfinder.rules.catalogue import Rule

Json = dict[str, Any]

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_BASE = "%SRCROOT%"
_LEVELS = {"error": "error", "warning": "warning", "info": "note"}


def write(report: Report, stream: TextIO, look: Look) -> None:
    """Write one run: the rules that found something, the findings, and the errors of the run as notifications."""
    from syncfinder.rules.catalogue import load

    log = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [_run(report, load())]}
    stream.write(json.dumps(log, indent=2) + "\n")


def _run(report: Report, catalogue: dict[str, Rule]) -> Json:
    base = root()
    findings = ordered(report.findings)
    rules = [catalogue[code] for code in sorted({f.code for f in findings})]
    index = {rule.code: i for i, rule in enumerate(rules)}
    results = []
    for finding, name in zip(findings, fingerprints(findings, report.files, base), strict=True):
        result = _result(finding, report, base)
        results.append(result | {"ruleIndex": index[finding.code], "partialFingerprints": {"syncfinder/v1": name}})
    run: Json = {
        "tool": {"driver": {"name": "syncfinder", "version": __version__, "rules": [_descriptor(r) for r in rules]}},
        "invocations": [_invocation(report)],
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    if base is not None:
        run["originalUriBaseIds"] = {_BASE: {"uri": base.as_uri().rstrip("/") + "/"}}
    return run


def _descriptor(rule: Rule) -> Json:
    return {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": rule.what},
        "help": {"text": f"{rule.what}\n\n{rule.why}\n\n{rule.use_instead}", "markdown": markdown(rule)},
        "defaultConfiguration": {"level": "warning"},
        "properties": {"tags": ["performance", rule.family]},
    }


def _invocation(report: Report) -> Json:
    notifications = [{"level": "error", "message": {"text": error}} for error in report.errors]
    notifications += [{"level": "note", "message": {"text": note}} for note in report.notes]
    return {"executionSuccessful": not report.errors, "toolExecutionNotifications": notifications}


def _result(finding: Finding, report: Report, base: Path | None) -> Json:
    here = _location(finding.filename, _region(finding.span), base)
    file = report.files.get(finding.filename)
    if file is not None:
        here["physicalLocation"]["region"]["snippet"] = {"text": file.text_of(finding.span)}
    if finding.function:
        here["logicalLocations"] = [{"fullyQualifiedName": finding.function, "kind": "function"}]
    properties = {"confidence": finding.confidence, "context": finding.context}
    result: Json = {
        "ruleId": finding.code,
        "level": _LEVELS[finding.level],
        "message": {"text": with_help(finding)},
        "locations": [here],
        "properties": {key: value for key, value in properties.items() if value},
    }
    places = [_location(r.path, {"startLine": r.line}, base, r.text) for r in grounds(finding)]
    if places:
        result["relatedLocations"] = places
    if finding.calls:
        result["codeFlows"] = [{"threadFlows": [{"locations": _flow(finding, base)}]}]
    fixes = _fixes(finding, base)
    return result | {"fixes": fixes} if fixes else result


def _flow(finding: Finding, base: Path | None) -> list[Json]:
    """The call that the finding stands at, and every hop down to the statement that waits."""
    names = [hop.function for hop in finding.calls]
    said = [f"`{name}` calls `{callee}`" for name, callee in pairwise(names)]
    said.append(f"`{names[-1]}` makes the host wait")
    steps = [_location(finding.filename, _region(finding.span), base, f"calls `{names[0]}`")]
    steps += [
        _location(hop.path, {"startLine": max(hop.line, 1)}, base, text)
        for hop, text in zip(finding.calls, said, strict=True)
    ]
    return [{"location": step} for step in steps]


def _fixes(finding: Finding, base: Path | None) -> list[Json]:
    """A suggestion with edits as a fix; SARIF has no fix without, so a display-only one is in the message alone."""
    changes = edits(finding)
    if finding.fix is None or not changes:
        return []
    replacements = [{"deletedRegion": _region(e.span), "insertedContent": {"text": e.content}} for e in changes]
    return [
        {
            "description": {"text": one_line(finding.fix.message)},
            "artifactChanges": [
                {"artifactLocation": _artifact(finding.filename, base), "replacements": replacements},
            ],
            "properties": {"applicability": finding.fix.applicability},
        }
    ]


def _location(path: str, region: Json, base: Path | None, message: str | None = None) -> Json:
    location: Json = {"physicalLocation": {"artifactLocation": _artifact(path, base), "region": region}}
    return location if message is None else location | {"message": {"text": message}}


def _artifact(path: str, base: Path | None) -> Json:
    name = relative(path, base)
    if os.path.isabs(name):
        return {"uri": Path(name).as_uri()}
    return {"uri": quote(os.fsencode(name)), "uriBaseId": _BASE}


def _region(span: Span) -> Json:
    """SARIF counts as a `Span` does: lines and columns from 1, the end column exclusive."""
    return {
        "startLine": span.line,
        "startColumn": span.column,
        "endLine": span.end_line,
        "endColumn": span.end_column,
    }
