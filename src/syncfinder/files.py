"""Files: those that the package ships, and writing some whole or not at all."""

from __future__ import annotations

import os
import shutil
from pathlib import Path


def write_whole(path: Path, text: str | bytes) -> None:
    """Write a file so that nobody ever sees half of it; one that is replaced keeps its mode.

    Raises:
        OSError: it cannot be written; what was there before still is.
    """
    partial = path.with_name(path.name + ".part")
    try:
        partial.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", errors="backslashreplace"))
        if path.is_file():
            shutil.copymode(path, partial)
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def shipped(inside: str, beside: str) -> Path | None:
    """Return a folder of data: `inside` the installed package, else `beside` it in the source tree; None if nowhere."""
    package = Path(__file__).resolve().parent
    return next((c for c in (package / inside, package.parents[1] / beside) if c.is_dir()), None)
