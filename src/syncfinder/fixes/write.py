"""Writing a fixed file: its encoding, byte order mark, line ends, mode and links stay, and it is replaced whole."""

from __future__ import annotations

import codecs
import difflib
import os
import re
from pathlib import Path

from syncfinder.files import write_whole
from syncfinder.source.decode import SourceError, decode, encoding_of

_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n|$)")


def write_fixed(path: Path, old: str, new: str) -> None:
    """Replace the file whose text was `old`.

    Raises:
        SourceError: it cannot be read or encoded any more, or it has changed since it was read.
        OSError: it cannot be written; what was there before still is.
    """
    data = path.read_bytes()
    if decode(path, data) != old:
        raise SourceError(path, "changed while it was being checked, and was not fixed; run again")
    target = Path(os.path.realpath(path))
    if not os.access(target, os.W_OK):
        raise PermissionError(13, "Permission denied", str(path))
    write_whole(target, encoded(path, data, new))


def encoded(path: Path, data: bytes, new: str) -> bytes:
    """Return new text as bytes in the form of the file's `data`: encoding, byte order mark, line ends.

    Raises:
        SourceError: the file's encoding cannot hold the text.
    """
    encoding = encoding_of(path, data)
    try:
        body = new.encode(encoding.removesuffix("-sig"))
    except UnicodeEncodeError as error:
        message = f"cannot be fixed: its encoding, {encoding}, has no {error.object[error.start]!r}"
        raise SourceError(path, message) from error
    mark = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
    return mark + _with_ends(data.removeprefix(mark), body)


def _with_ends(data: bytes, body: bytes) -> bytes:
    r"""Return `body`, whose lines end in `\n`, with the line ends of `data`; a new line has that of the line before."""
    if b"\r" not in data:
        return body
    rows = _LINE.findall(data)
    ends = [row[len(row.rstrip(b"\r\n")) :] for row in rows if row]
    if len(set(filter(None, ends))) == 1:
        return body.replace(b"\n", ends[0])
    old = [row.rstrip(b"\r\n") for row in rows if row]
    new = body.split(b"\n")
    out: list[bytes] = []
    for tag, a, _, b, end in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        for offset, row in enumerate(new[b:end]):
            near = ends[a + offset] if tag == "equal" else ends[max(0, min(a + offset, len(ends) - 1))]
            out.append(row + (near or ends[0]))
    return b"".join(out[:-1]) + new[-1]
