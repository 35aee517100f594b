"""Values in words, as the device tests and `explain` show them."""

from __future__ import annotations

from typing import Any

from syncfinder.infer.values import (
    ASSUMED,
    CPU,
    CUDA,
    META,
    Api,
    Array,
    Bound,
    Class,
    Const,
    Device,
    Dtype,
    Flag,
    Function,
    Instance,
    Library,
    Mapping,
    Method,
    ModuleValue,
    Number,
    Sequence,
    Tensor,
    Text,
    Union,
    UnknownValue,
    Value,
)

PLACE_NAMES = {CUDA: "cuda", CPU: "cpu", META: "meta", ASSUMED: "assumed"}


def show_place(place: int) -> str:
    """Return a place in words: "cuda", "cpu", "assumed", or several joined by "|"."""
    return "|".join(name for bit, name in PLACE_NAMES.items() if place & bit) or "nowhere"


def show(value: Value) -> str:
    """Return a value as the device tests reveal it: Tensor[cuda, bool, ndim=1], int, list[...], Unknown."""
    if isinstance(value, Tensor):
        ndim = "" if value.ndim is None else f"ndim={value.ndim}"
        parts = [show_place(value.place), value.dtype or "", ndim, "pinned" if value.memory == "pinned" else ""]
        return f"Tensor[{', '.join(p for p in parts if p)}]"
    if isinstance(value, Union):
        return " | ".join(show(m) for m in value.members)
    if isinstance(value, Sequence):
        if value.items is not None:
            return f"{value.kind}[{', '.join(show(v) for v in value.items)}]"
        return f"{value.kind}[{show(value.each())}, ...]"
    if isinstance(value, Mapping):
        return f"dict[{show(value.each())}]"
    shows = SHOW.get(type(value))
    return shows(value) if shows else type(value).__name__


SHOW: dict[type, Any] = {
    UnknownValue: lambda v: "Unknown",
    Const: lambda v: f"Literal[{v.value!r}]",
    Number: lambda v: v.kind,
    Text: lambda v: "str",
    Flag: lambda v: f"Assumed[{v.value}]",
    Array: lambda v: "ndarray",
    Device: lambda v: f"device[{show_place(v.place)}]",
    Dtype: lambda v: f"dtype[{v.name}]",
    Function: lambda v: f"function {v.qualname}",
    Bound: lambda v: f"method {v.function.qualname}",
    Class: lambda v: f"class {v.qualname}",
    Instance: lambda v: v.cls.qualname,
    ModuleValue: lambda v: f"module {v.module.name}",
    Api: lambda v: v.name,
    Library: lambda v: v.name,
    Method: lambda v: f"method {v.name}",
}
