"""Files are written whole, or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from syncfinder.files import write_whole


def test_a_file_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("old")
    write_whole(path, "neu é\n")
    assert path.read_text(encoding="utf-8") == "neu é\n"
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]


def test_what_was_there_stays_when_writing_fails(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.mkdir()
    with pytest.raises(OSError):
        write_whole(path, "new")
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]
    with pytest.raises(FileNotFoundError):
        write_whole(tmp_path / "missing" / "a.json", "new")
