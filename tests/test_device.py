"""The device tests: what the interpreter knows of values, and where it finds waits (see `mdtest`)."""

from __future__ import annotations

from pathlib import Path

import pytest

from mdtest import Case, cases, differences, observe

DOCUMENTS = sorted((Path(__file__).parent / "device").glob("*.md"))
CASES = [case for document in DOCUMENTS for case in cases(document)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_device(case: Case, tmp_path: Path) -> None:
    wrong = differences(case, observe(case, tmp_path))
    assert not wrong, "\n" + "\n".join(wrong)


def test_every_document_has_tests() -> None:
    assert DOCUMENTS
    assert {document.name for document in DOCUMENTS} == {case.document for case in CASES}
