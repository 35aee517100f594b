"""Fixtures whose fixed twins are the output of the fixer: `fixtures/<rule>/fixes.py`.

`python tests/fixture_twins.py FILE...` writes the twins anew: each `name_fixed` is what `--fix --unsafe-fixes` makes of
`name`, which is fixed alone, behind the file's imports.
"""

from __future__ import annotations

import ast
import re
import sys
import tempfile
from pathlib import Path

from syncfinder.check import gather, inspect
from syncfinder.config import Settings
from syncfinder.fixes.passes import fix
from syncfinder.runtime.fixture import MARK

SETTINGS = Settings(unsafe_fixes=True)


def fixed(text: str) -> str:
    """Return a module's text after all fixes. Raises ValueError when the tool could not do it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fixture.py"
        path.write_text(text, encoding="utf-8")
        work = gather([path], SETTINGS)
        report, made = fix(lambda texts: inspect(work, texts), show_info=False)
        if report.errors or made.errors:
            raise ValueError("\n".join([*report.errors, *made.errors]))
        return made.texts[path][1] if path in made.texts else text


def regenerated(text: str) -> str:
    """Return a fixture's text with each function followed by its twin, if fixes change it."""
    tree = ast.parse(text)
    lines = text.split("\n")
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    head = "\n".join(lines[: functions[0].lineno - 1]).rstrip("\n")
    out = [head]
    for node in functions:
        if node.name.endswith("_fixed"):
            continue
        source = "\n".join(lines[node.lineno - 1 : node.end_lineno])
        bare = "\n".join(MARK.sub("", line).rstrip() for line in source.split("\n"))
        twin = fixed(f"{head}\n\n\n{bare}\n").removeprefix(f"{head}\n\n\n").rstrip("\n")
        out.append(source)
        if twin != bare:
            out.append(re.sub(rf"\bdef {node.name}\(", f"def {node.name}_fixed(", twin, count=1))
    return "\n\n\n".join(out) + "\n"


if __name__ == "__main__":
    for name in sys.argv[1:]:
        target = Path(name)
        target.write_text(regenerated(target.read_text(encoding="utf-8")), encoding="utf-8")
