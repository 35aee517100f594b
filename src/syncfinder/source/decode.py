"""From bytes on disk to text, and from text to a tree. What goes wrong is a `SourceError` that names the file."""

from __future__ import annotations

import ast
import codecs
import io
import os
import re
import sys
import tokenize
import warnings
from collections.abc import Mapping
from pathlib import Path

from syncfinder.source.display import shown
from syncfinder.source.file import SourceFile

_COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=]", re.ASCII)


class SourceError(Exception):
    """A file that cannot be checked. `str()` gives `path:line:column: message`; line and column count from 1."""

    def __init__(self, path: Path, message: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(path, message, line, column)
        self.path = path
        self.message = message
        self.line = line
        self.column = column

    def __str__(self) -> str:
        place = "".join(f":{n}" for n in (self.line, self.column) if n is not None)
        return f"{shown(self.path)}{place}: {self.message}"


def read(path: Path) -> SourceFile:
    """Read a Python file. Raises SourceError when it cannot be read or decoded."""
    path = Path(os.path.abspath(path))
    try:
        data = path.read_bytes()
    except OSError as error:
        raise SourceError(path, f"cannot be read: {error.strerror or error}") from error
    return SourceFile(path, decode(path, data))


def source_of(path: Path, texts: Mapping[Path, str]) -> SourceFile:
    """Return a file's source: as it was given (stdin, a fixed text), else from disk. Raises SourceError."""
    if path not in texts:
        return read(path)
    return SourceFile(path, texts[path].replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff"))


def decode(path: Path, data: bytes) -> str:
    r"""Decode a file's bytes by PEP 263, with `\n` line ends and no byte order mark. Raises SourceError."""
    if b"\0" in data:
        wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        kind = "is UTF-16" if wide else "contains NUL bytes: it is binary, or UTF-16"
        raise SourceError(path, f"{kind}; save it as UTF-8, or leave it out with --exclude")
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    encoding = encoding_of(path, data)
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = (
            f"is not {encoding.removesuffix('-sig')} (byte 0x{data[error.start]:02x}); "
            "save it as UTF-8, or declare its encoding in the first line: # -*- coding: latin-1 -*-"
        )
        raise SourceError(path, message, line) from error
    except LookupError as error:
        raise SourceError(path, f"declares {encoding!r}, which is not a text encoding", 1) from error
    return text.removeprefix("\ufeff")


def encoding_of(path: Path, data: bytes) -> str:
    """Return the encoding that the mark or cookie in the first two lines declares; UTF-8 without either.

    Raises SourceError for one that Python does not know.
    """
    head = data.split(b"\n", 2)[:2]
    if not any(_COOKIE.match(line.removeprefix(codecs.BOM_UTF8)) for line in head):
        return "utf-8"
    try:
        return tokenize.detect_encoding(io.BytesIO(data).readline)[0]
    except SyntaxError as error:
        message = f"{error.msg}; declare an encoding that Python knows, or save it as UTF-8"
        raise SourceError(path, message, 1) from error


def parse(file: SourceFile) -> ast.Module:
    """Parse a file without printing its SyntaxWarnings. Raises SourceError."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(file.text, filename=str(file.path))
    except SyntaxError as error:
        raise _syntax_error(file, error) from error
    except (RecursionError, MemoryError) as error:
        raise SourceError(file.path, "is nested too deeply for Python's parser; leave it out with --exclude") from error
    except ValueError as error:
        raise SourceError(file.path, f"cannot be parsed: {error}") from error


def _syntax_error(file: SourceFile, error: SyntaxError) -> SourceError:
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    hint = (
        f"read as Python {version}; run syncfinder on a newer Python for newer syntax, or leave it out with --exclude"
    )
    column = error.offset if error.offset and error.offset > 0 else None
    return SourceError(file.path, f"syntax error: {error.msg} ({hint})", error.lineno, column)
