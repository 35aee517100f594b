"""What `--fix` has done: the rules that were fixed in each file, and the difference that fixes make."""

from __future__ import annotations

import difflib
from typing import TextIO

from syncfinder.fixes.passes import Fixed
from syncfinder.source.display import shown


def write_counts(fixed: Fixed, stream: TextIO) -> None:
    """Write how often which rule was fixed in which file."""
    if not fixed.total:
        return
    stream.write(f"Fixed {fixed.total} finding{'s' if fixed.total != 1 else ''}:\n")
    for path, counts in sorted(fixed.counts.items()):
        stream.write(f"- {shown(path)}:\n")
        for (code, name), count in sorted(counts.items()):
            stream.write(f"    {count} × {code} ({name})\n")
    stream.write("\n")


def write_diff(fixed: Fixed, stream: TextIO) -> None:
    """Write a unified diff of each file that the fixes would change."""
    for path, (old, new) in sorted(fixed.texts.items()):
        name = shown(path)
        for line in difflib.unified_diff(
            old.splitlines(keepends=True), new.splitlines(keepends=True), fromfile=name, tofile=name
        ):
            stream.write(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n")
