"""Describing a call's arguments as plain data, so that calls can be compared later, without torch.

A tensor becomes {"t": [place, dtype, shape]} (place: cuda, cpu, pinned, with "/layout" if not strided), an array
{"a": [dtype, shape]}, a list, a tuple or a dict's values {"l": first elements, "n": length}, a device {"d": type};
None, booleans, numbers and text stay what they are, and anything else is {"o": its class}.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy
import torch

LONGEST_LIST = 6
LONGEST_TEXT = 40


def describe(value: object) -> Any:
    """Return the JSON form of one argument."""
    if isinstance(value, torch.Tensor):
        return {"t": [_place(value), str(value.dtype).removeprefix("torch."), list(_shape(value))]}
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if abs(value) < 1 << 53 else {"o": "int"}
    if isinstance(value, float):
        return value if math.isfinite(value) else {"o": "float"}
    if isinstance(value, str):
        return value if len(value) <= LONGEST_TEXT else {"o": "str"}
    if isinstance(value, (torch.dtype, torch.layout, torch.memory_format)):
        return {"o": str(value)}
    if isinstance(value, torch.device):
        return {"d": value.type}
    if isinstance(value, numpy.ndarray):
        return {"a": [str(value.dtype), list(value.shape)]}
    if isinstance(value, (list, tuple)):
        return {"l": [describe(v) for v in value[:LONGEST_LIST]], "n": len(value)}
    if isinstance(value, dict):
        return {"l": [describe(v) for v in list(value.values())[:LONGEST_LIST]], "n": len(value)}
    return {"o": qualified(type(value))}


def _place(tensor: torch.Tensor) -> str:
    layout = str(tensor.layout).removeprefix("torch.")
    if tensor.is_nested:
        layout = "nested"
    pinned = tensor.device.type == "cpu" and layout == "strided" and tensor.is_pinned()
    place = "pinned" if pinned else tensor.device.type
    return place if layout == "strided" else f"{place}/{layout}"


def _shape(tensor: torch.Tensor) -> Sequence[int]:
    return () if tensor.is_nested else tuple(int(n) for n in tensor.shape)


def qualified(cls: type) -> str:
    """Return a class's dotted name."""
    return f"{cls.__module__}.{cls.__qualname__}"


def describe_call(args: Sequence[object], kwargs: Mapping[str, object]) -> dict[str, Any]:
    """Return a call's arguments as {"a": positional, "k": by keyword}, without what is empty."""
    found: dict[str, Any] = {}
    if args:
        found["a"] = [describe(a) for a in args]
    if kwargs:
        found["k"] = {k: describe(v) for k, v in sorted(kwargs.items())}
    return found
