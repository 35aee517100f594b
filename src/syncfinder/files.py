"""Files: those that the package ships, and writing some whole or not at all."""

from __future__ import annotations

import os
import shutil
from pathlib import Path


def write_whole(path: Path, data: str | bytes) -> None:
    """Write a file so that nobody ever sees half of it; a file that is replaced keeps its mode, a link its target.

    Raises:
        OSError: it cannot be written; what was there before still is.
    """
    path = Path(os.path.realpath(path))
    partial = path.with_name(path.name + ".part")
    try:
        partial.write_bytes(data if isinstance(data, bytes) else data.encode("utf-8", errors="backslashreplace"))
        if path.exists():
            shutil.copymode(path, partial)
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def shipped(inside: str, beside: str) -> Path | None:
    """Return a folder of data: `inside` the installed package, else `beside` it in the source tree; None if nowhere."""
    package = Path(__file__).resolve().parent
    return next((c for c in (package / inside, package.parents[1] / beside) if c.is_dir()), None)
