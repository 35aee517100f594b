"""Bytes to text to tree, and what is said when that fails."""

from __future__ import annotations

import ast
import pickle
import warnings
from pathlib import Path

import pytest

from syncfinder.source.decode import SourceError, parse, read
from syncfinder.source.file import SourceFile


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path / "m.py"


def error_of(path: Path, data: bytes) -> str:
    path.write_bytes(data)
    with pytest.raises(SourceError) as caught:
        parse(read(path))
    assert caught.value.path == path
    return str(caught.value)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"x = 1\r\ny = 2\r\n", "x = 1\ny = 2\n"),
        (b"x = 1\ry = 2\r", "x = 1\ny = 2\n"),
        (b"\xef\xbb\xbfx = 1\n", "x = 1\n"),
        (b"\xef\xbb\xbf# coding: utf-8\nx = 1\n", "# coding: utf-8\nx = 1\n"),
        (b"# -*- coding: latin-1 -*-\ns = '\xe9'\n", "# -*- coding: latin-1 -*-\ns = 'é'\n"),
        (
            b"#!/bin/sh\n# vim: set fileencoding=cp1252 :\ns = '\x80'\n",
            "#!/bin/sh\n# vim: set fileencoding=cp1252 :\ns = '€'\n",
        ),
        ("s = 'é漢'\n".encode(), "s = 'é漢'\n"),
        (b"", ""),
    ],
)
def test_text(path: Path, data: bytes, text: str) -> None:
    path.write_bytes(data)
    assert read(path).text == text


def test_path_is_absolute(path: Path) -> None:
    path.write_text("")
    assert read(Path("m.py")).path == path


def test_only_line_feeds_end_lines(path: Path) -> None:
    path.write_bytes("a = 1\x0c\nb = '\x0b\x1c\u2028'\nc = 3\n".encode())
    file = read(path)
    assert len(file.lines) == 4
    names = {node.id: node.lineno for node in ast.walk(parse(file)) if isinstance(node, ast.Name)}
    assert {name: file.lines[line - 1][0] for name, line in names.items()} == {"a": "a", "b": "b", "c": "c"}


def test_not_the_declared_encoding(path: Path) -> None:
    assert error_of(path, b"x = 1\ns = '\xe9'\n") == (
        "m.py:2: is not utf-8 (byte 0xe9); save it as UTF-8, "
        "or declare its encoding in the first line: # -*- coding: latin-1 -*-"
    )


def test_unknown_encoding(path: Path) -> None:
    assert error_of(path, b"# coding: klingon\n") == (
        "m.py:1: unknown encoding: klingon; declare an encoding that Python knows, or save it as UTF-8"
    )


def test_codec_that_gives_no_text(path: Path) -> None:
    assert error_of(path, b"# coding: rot13\n") == "m.py:1: declares 'rot13', which is not a text encoding"


@pytest.mark.parametrize(
    ("data", "kind"),
    [("x = 1\n".encode("utf-16"), "is UTF-16"), (b"x = 1\0\n", "contains NUL bytes: it is binary, or UTF-16")],
)
def test_binary(path: Path, data: bytes, kind: str) -> None:
    assert error_of(path, data) == f"m.py: {kind}; save it as UTF-8, or leave it out with --exclude"


def test_missing_file_and_folder(path: Path) -> None:
    with pytest.raises(SourceError, match=r"^m\.py: cannot be read: No such file or directory$"):
        read(path)
    path.mkdir()
    with pytest.raises(SourceError, match=r"^m\.py: cannot be read: Is a directory$"):
        read(path)


def test_syntax_error_has_a_place_and_a_hint(path: Path) -> None:
    message = error_of(path, b"x = 1\ny = = 2\n")
    assert message.startswith("m.py:2:5: syntax error: invalid syntax (read as Python 3.")
    assert message.endswith("run syncfinder on a newer Python for newer syntax, or leave it out with --exclude)")


def test_nested_too_deeply(path: Path) -> None:
    assert error_of(path, b"x = " + b"-" * 100_000 + b"1\n") == (
        "m.py: is nested too deeply for Python's parser; leave it out with --exclude"
    )


def test_warnings_of_the_file_are_not_shown(path: Path) -> None:
    path.write_text("x = '\\d'\nassert (1, 'm')\ny = 1 is 1\n")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        parse(read(path))
    assert caught == []


def test_error_crosses_processes() -> None:
    error = pickle.loads(pickle.dumps(SourceError(Path("/a/m.py"), "broken", 3, 4)))
    assert str(error) == "/a/m.py:3:4: broken"


def test_columns_count_characters() -> None:
    file = SourceFile(Path("/m.py"), "é = f(x)\n")
    call = parse(file).body[0].value  # type: ignore[attr-defined]
    assert file.column(1, call.col_offset) == 5
