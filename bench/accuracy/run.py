"""Accuracy on recorded and marked data, in one command: prints the table that the README shows.

    python bench/accuracy/run.py SHARED PACKAGES [PACKAGE ...]

SHARED holds `truth/`, `cases/` and `measured/` with their scoring scripts; PACKAGES the unpacked sources of the
package that the truth speaks of. Further packages in PACKAGES are only counted: findings per 1,000 lines, by level and
confidence.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

CONFIDENCES = ("certain", "likely", "possible")
LEVELS = ("error", "warning", "info")


def main() -> int:
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    shared, packages = Path(sys.argv[1]), Path(sys.argv[2])
    truth_file = next((shared / "truth").glob("*.json"))
    package = truth_file.stem.partition("-")[0]
    findings = check(packages / package)
    rows = truth(shared, truth_file, packages, findings)
    rows += [last_lines(shared / "cases" / "score_cases.py"), last_lines(shared / "measured" / "score_snippets.py")]
    print("\n".join(rows))
    print()
    print(density(packages, {package: findings, **{name: check(packages / name) for name in sys.argv[3:]}}))
    return 0


def check(folder: Path) -> list[dict[str, Any]]:
    """Return the findings of `syncfinder check` on a folder, with default settings."""
    with tempfile.TemporaryDirectory() as folder_for_output:
        output = Path(folder_for_output) / "findings.json"
        options = ["--isolated", "--no-cache", "--exit-zero", "--output-format", "json", "--output-file", str(output)]
        subprocess.run(["syncfinder", "check", *options, str(folder)], check=True)
        found: list[dict[str, Any]] = json.loads(output.read_text(encoding="utf-8"))
    return found


def truth(shared: Path, file: Path, packages: Path, findings: list[dict[str, Any]]) -> list[str]:
    """Recall and precision against what a GPU saw, over all and by confidence."""
    spec = importlib.util.spec_from_file_location("score", shared / "truth" / "score.py")
    assert spec is not None and spec.loader is not None
    score = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(score)
    data = json.loads(file.read_text(encoding="utf-8"))
    result = score.score(data, str(packages), findings)
    recall, precision = ratio(result["found"], result["sites"]), ratio(result["true"], result["judged"])
    rows = [f"{file.stem}: recall {recall}, precision {precision}"]
    for confidence in CONFIDENCES:
        mine = score.score(data, str(packages), [f for f in findings if f["confidence"] == confidence])
        rows.append(f"  of confidence {confidence}: precision {ratio(mine['true'], mine['judged'])}")
    return rows


def ratio(part: int, whole: int) -> str:
    """Return e.g. "197/218 = 0.904"; "none" where there is nothing to divide by."""
    return f"{part}/{whole} = {part / whole:.3f}" if whole else "none"


def last_lines(script: Path) -> str:
    """Return what a scoring script says in its last two lines."""
    run = subprocess.run([sys.executable, str(script), "-q"], capture_output=True, text=True, check=True)
    return "\n".join(run.stdout.strip().splitlines()[-2:])


def density(packages: Path, found: dict[str, list[dict[str, Any]]]) -> str:
    """Return a Markdown table: findings per 1,000 lines of each package, by level, and how many of each confidence."""
    lines = [f"| package | lines | {' | '.join(f'{level} per 1,000' for level in LEVELS)} | certain | likely |"]
    lines.append("|---" * (4 + len(LEVELS)) + "|")
    for name, findings in found.items():
        size = sum(p.read_bytes().count(b"\n") for p in (packages / name).rglob("*.py"))
        levels = Counter(f["level"] for f in findings)
        sure = Counter(f["confidence"] for f in findings if f["level"] != "info")
        per = " | ".join(f"{1000 * levels[level] / size:.2f}" for level in LEVELS)
        lines.append(f"| {name} | {size:,} | {per} | {sure['certain']} | {sure['likely']} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
