"""`--add-ignore`: where the comments go, and that nothing else changes."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from syncfinder.cli import main

HEAD = 'import torch\n\n\ndef f(host):\n    x = torch.zeros(3, device="cuda")\n'
Add = Callable[..., tuple[int, str, str]]


@pytest.fixture
def add(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Add:
    monkeypatch.chdir(tmp_path)

    def invoke(*arguments: str) -> tuple[int, str, str]:
        code = main(["check", "--add-ignore", "as before", *arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return invoke


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("    x.tolist()\n", "    x.tolist()  # syncfinder: ignore[SF102] as before\n"),
        ("    return x.tolist()", "    return x.tolist()  # syncfinder: ignore[SF102] as before"),
        ("    x.tolist()   # noqa: X1\n", "    x.tolist()   # noqa: X1  # syncfinder: ignore[SF102] as before\n"),
        (
            "    x.tolist(), x.max().item()\n",
            "    x.tolist(), x.max().item()  # syncfinder: ignore[SF101, SF102] as before\n",
        ),
        (
            "    x.tolist(), x.max().item()  # hm # syncfinder: ignore[SF102] once\n",
            "    x.tolist(), x.max().item()  # hm # syncfinder: ignore[SF102, SF101] once\n",
        ),
        (
            "    return (\n        x\n        .max()\n        .item()\n    )\n",
            "    return (\n        x  # syncfinder: ignore[SF101] as before\n        .max()\n        .item()\n    )\n",
        ),
        (
            '    print("""a\n    b""", x.tolist())\n',
            '    print("""a\n    b""", x.tolist())  # syncfinder: ignore[SF102] as before\n',
        ),
        (
            '    return x.max().item(), """a\n    b\n    """\n',
            '    return x.max().item(), """a\n    b\n    """  # syncfinder: ignore[SF101] as before\n',
        ),
        (
            "    y = x.max() \\\n        .item()\n    return y\n",
            "    y = x.max() \\\n        .item()  # syncfinder: ignore[SF101] as before\n    return y\n",
        ),
        (
            '    if x.any() and host("""\n    """):\n        pass\n',
            '    if x.any() and host("""\n    """):  # syncfinder: ignore[SF104] as before\n        pass\n',
        ),
        (
            '    return f"""{x.max()}\n    {host}\n    """ \\\n        "b"\n',
            '    return f"""{x.max()}\n    {host}\n    """ \\\n        "b"  # syncfinder: ignore[SF108] as before\n',
        ),
        (
            "    if host: x.tolist()\n    else: x.tolist()\n",
            "    if host: x.tolist()  # syncfinder: ignore[SF102] as before\n"
            "    else: x.tolist()  # syncfinder: ignore[SF102] as before\n",
        ),
    ],
)
def test_places(add: Add, tmp_path: Path, before: str, after: str) -> None:
    path = tmp_path / "m.py"
    path.write_text(HEAD + before)
    count = after.count("as before") or 1
    assert add("m.py") == (0, f"Added {'1 suppression' if count == 1 else f'{count} suppressions'} in 1 file.\n", "")
    assert path.read_text() == HEAD + after
    assert main(["check", "m.py", "--output-file", "out"]) == 0
    assert add("m.py") == (0, "Added 0 suppressions in 0 files.\n", "")


def test_above_the_statement_where_no_line_of_it_can_take_one(add: Add, tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    body = '    while x.any() and host("""\n    """) \\\n      : host("""\n    """)\n    return 1\n'
    path.write_text(HEAD + body)
    assert add("m.py") == (0, "Added 1 suppression in 1 file.\n", "")
    assert path.read_text() == HEAD + "    # syncfinder: ignore[SF104] as before\n" + body
    assert main(["check", "m.py"]) == 0


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_line_ends_encoding_and_mode_stay(add: Add, tmp_path: Path, end: str) -> None:
    path = tmp_path / "m.py"
    text = "# -*- coding: latin-1 -*-\n" + HEAD + "    s = 'é'\n    x.tolist()\n    return s\n"
    path.write_bytes(text.replace("\n", end).encode("latin-1"))
    path.chmod(0o750)
    assert add("m.py")[0] == 0
    wanted = text.replace("tolist()", "tolist()  # syncfinder: ignore[SF102] as before")
    assert path.read_bytes() == wanted.replace("\n", end).encode("latin-1")
    assert stat.S_IMODE(path.stat().st_mode) == 0o750


def test_a_byte_order_mark_and_a_link_stay(add: Add, tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_bytes(b"\xef\xbb\xbf" + HEAD.encode() + b"    x.tolist()\n")
    os.symlink(path, tmp_path / "link.py")
    assert add("link.py")[0] == 0
    assert (tmp_path / "link.py").is_symlink()
    assert path.read_bytes() == b"\xef\xbb\xbf" + HEAD.encode() + (
        b"    x.tolist()  # syncfinder: ignore[SF102] as before\n"
    )


def test_a_reason_that_the_encoding_lacks(add: Add, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "m.py"
    text = "# -*- coding: latin-1 -*-\n" + HEAD + "    x.tolist()\n"
    path.write_text(text)
    code = main(["check", "m.py", "--add-ignore", "weil’s so ist"])
    captured = capsys.readouterr()
    message = "the reason has characters that the file's encoding, iso-8859-1, lacks"
    assert (code, captured.err) == (2, f"error: m.py: no suppression was added: {message}\n")
    assert path.read_text() == text


def test_info_is_left_alone_unless_it_is_shown(add: Add, tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text("import torch\n\nX = torch.zeros(3, device='cuda').tolist()\n")
    assert add("m.py") == (0, "Added 0 suppressions in 0 files.\n", "")
    assert add("m.py", "--show-info") == (0, "Added 1 suppression in 1 file.\n", "")


def test_only_what_is_selected(add: Add, tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(HEAD + "    x.tolist(), x.max().item()\n")
    assert add("m.py", "--select", "SF102")[0] == 0
    line = "    x.tolist(), x.max().item()  # syncfinder: ignore[SF102] as before\n"
    assert (tmp_path / "m.py").read_text() == HEAD + line


@pytest.mark.parametrize("reason", ["", "  ", "a # b", "a\nb", "::"])
def test_a_bad_reason(add: Add, tmp_path: Path, reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", ".", "--add-ignore", reason]) == 2
    assert "--add-ignore needs a reason: one line of text without `#`" in capsys.readouterr().err


def test_stdin_cannot_be_changed(add: Add) -> None:
    code, out, err = add("-")
    assert (code, out) == (2, "")
    assert "--add-ignore changes files, and stdin is none" in err
