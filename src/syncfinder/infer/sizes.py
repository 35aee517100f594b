"""Sizes of host tensors, as far as they are written: what a copy from pageable memory costs depends on them.

Measured on an H200 (torch 2.11, `torchmodel/sources/measured-2.11.json`): with non_blocking=True, copies of 256 bytes
to 512 KB of pageable memory returned at once behind a stalled stream, those of 16 MB waited for it.
"""

from __future__ import annotations

from syncfinder.infer.values import Const, Sequence, Tensor, Value, is_number

LITTLE, LARGE = "little", "large"
LITTLE_BYTES, LARGE_BYTES = 512 * 1024, 16 * 1024 * 1024
WIDEST, NARROWEST = 8, 1  # bytes of an element whose dtype is not known
DEFAULTS = {"bool": 1, "int": 8, "float": 4}  # where no dtype is asked for


def of_count(count: int | None, dtype: str | None, asked: bool) -> str | None:
    """Return the size of a tensor with so many elements; `asked`: its dtype was asked for, as some int or float."""
    if count is None:
        return None
    width = DEFAULTS.get(dtype or "") if not asked else None
    least, most = (NARROWEST, WIDEST) if width is None else (width, width)
    return LITTLE if count * most <= LITTLE_BYTES else LARGE if count * least >= LARGE_BYTES else None


def count_of(size: Value | None) -> int | None:
    """Return how many elements a size has, given as a number or as a list of numbers."""
    if isinstance(size, Const) and isinstance(size.value, int):
        return size.value
    if not isinstance(size, Sequence) or size.items is None:
        return None
    count = 1
    for item in size.items:
        if not (isinstance(item, Const) and isinstance(item.value, int)):
            return None
        count *= item.value
    return count


def of_data(data: Value, dtype: str | None) -> str | None:
    """Return the size of a tensor that is made of a number, or of a list that is written out."""
    if is_number(data):
        return LITTLE
    count = 1
    while isinstance(data, Sequence) and data.items is not None:
        count *= len(data.items)
        data = data.items[0] if data.items else Const(0)
    return of_count(count, dtype, asked=True) if is_number(data) else None


def of_result(operands: list[Tensor]) -> str | None:
    """Return the size of what is computed from several tensors: little where all are."""
    return LITTLE if operands and all(t.size == LITTLE for t in operands) else None
