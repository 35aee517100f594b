"""JUnit's XML: a test suite for each file, a failed test for each finding."""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING, TextIO
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from syncfinder.report.checkout import relative, root
from syncfinder.report.text import one_line, ordered, with_help

if TYPE_CHECKING:
    from syncfinder.check import Report
    from syncfinder.finding import Finding
    from syncfinder.report.formats import Look

_NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write(report: Report, stream: TextIO, look: Look) -> None:
    """Write the suites. A finding of level info is a skipped test, since it fails no run; an error of the run an error.

    Without findings and errors one test has passed: many readers take an empty report for a broken one.
    """
    base = root()
    suites = Element("testsuites", name="syncfinder")
    for filename, group in groupby(ordered(report.findings), key=lambda f: f.filename):
        suite = SubElement(suites, "testsuite", name=_text(relative(filename, base)))
        for finding in group:
            _case(suite, finding, relative(filename, base))
    if report.errors or not report.findings:
        suite = SubElement(suites, "testsuite", name="syncfinder")
        for error in report.errors:
            case = SubElement(suite, "testcase", name=_text(error), classname="syncfinder")
            SubElement(case, "error", message=_text(error), type="error")
        if not report.errors:
            SubElement(suite, "testcase", name="check", classname="syncfinder")
    for element in (*suites, suites):
        _count(element)
    ElementTree.indent(suites)
    xml = ElementTree.tostring(suites, encoding="us-ascii", xml_declaration=True).decode("ascii")
    stream.write(xml + "\n")


def _case(suite: Element, finding: Finding, path: str) -> None:
    span = finding.span
    name = f"{finding.code} {finding.name} {span.line}:{span.column}"
    case = SubElement(suite, "testcase", name=name, classname=_text(path), file=_text(path), line=str(span.line))
    kind = "skipped" if finding.level == "info" else "failure"
    outcome = SubElement(case, kind, message=_text(one_line(finding.message)), type=finding.level)
    outcome.text = _text(f"{path}:{span.line}:{span.column}: {finding.code} {with_help(finding)}")


def _count(element: Element) -> None:
    tags = {"tests": "testcase", "failures": "failure", "errors": "error", "skipped": "skipped"}
    for attribute, tag in tags.items():
        element.set(attribute, str(sum(1 for _ in element.iter(tag))))


def _text(text: str) -> str:
    """The text without the characters that XML 1.0 cannot hold."""
    return _NOT_IN_XML.sub("\N{REPLACEMENT CHARACTER}", text)
