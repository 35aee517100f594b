"""What the tests of rewriters share: the source before, the source after, and what the finding says."""

from __future__ import annotations

import textwrap
from pathlib import Path

from syncfinder.check import check
from syncfinder.config import Settings
from syncfinder.finding import Finding, Suggestion
from syncfinder.fixes.apply import apply


def findings(path: Path, body: str, head: str = "import torch") -> tuple[str, list[Finding]]:
    """Return the text of a file that has `body` in a function, and its findings, in order."""
    text = f"{head}\n\n\ndef f(self, device):\n{textwrap.indent(textwrap.dedent(body).strip(chr(10)), '    ')}\n"
    path.write_text(text)
    report = check([path], Settings())
    assert report.errors == []
    return text, report.findings


def suggested(path: Path, body: str, code: str, head: str = "import torch") -> tuple[Suggestion, str]:
    """Return the first suggestion of a rule for a function's body, and the body with its edits."""
    text, found = findings(path, body, head)
    fix = next(f.fix for f in found if f.code == code)
    assert fix is not None
    after = apply(text, fix.edits)
    return fix, textwrap.dedent(after.partition("def f(self, device):\n")[2]).strip("\n")
