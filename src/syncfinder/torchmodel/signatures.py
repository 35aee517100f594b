"""Signatures in the API table's own short form, from schemas and Python functions. Used by the generator only."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

# base type of a schema -> letter of the table
LETTERS = {
    "Tensor": "T",
    "int": "i",
    "SymInt": "i",
    "Scalar": "n",
    "float": "f",
    "bool": "b",
    "SymBool": "b",
    "str": "s",
    "ScalarType": "y",
    "Device": "d",
    "DeviceIndex": "i",
    "Layout": "l",
}
RETURNS = {"i": "int", "n": "number", "f": "float", "b": "bool", "s": "str", "y": "dtype", "d": "device"}
LONGEST_DEFAULT = 12
# the options that the Python binding adds to every factory, where the schema spells them out one by one
OPTIONS = {
    "dtype": "dtype:y=None",
    "layout": "layout:l=",
    "device": "device:d=None",
    "pin_memory": "pin_memory:b=False",
}


@dataclass(frozen=True, slots=True)
class Overload:
    """One signature: the operator's name, parameters as "name:TYPE" or "name:TYPE=default", and the kind it returns."""

    name: str
    params: list[str]
    returns: str


def from_schema(text: str) -> Overload | None:
    """Return the overload that Python can reach, or None for out= forms, names as dimensions and private operators."""
    model = importlib.import_module("torchgen.model")
    schema, kinds = model.FunctionSchema.parse(text), model.SchemaKind
    name = str(schema.name.name)
    if schema.kind() in (kinds.out, kinds.mutable) or "Dimname" in text or name.endswith("_backward"):
        return None
    args = schema.arguments
    params = [_param(a.name, str(a.type), a.default) for a in args.flat_positional]
    keywords = [a for a in args.flat_kwarg_only if a.name not in ("memory_format",)]
    if keywords:
        params.append("*")
        params += [OPTIONS.get(a.name) or _param(a.name, str(a.type), a.default) for a in keywords]
    if {"dtype", "device"} <= {p.partition(":")[0] for p in params}:
        params.append("requires_grad:b=False")
    return Overload(
        name,
        params,
        "self" if name.endswith("_") and not name.startswith("_") else _returned([str(r.type) for r in schema.returns]),
    )


def _param(name: str, kind: str, default: str | None) -> str:
    return f"{name}:{letter(kind)}" + _default(default)


def _default(default: str | None) -> str:
    if default is None:
        return ""
    if len(default) > LONGEST_DEFAULT:
        return "="
    return "=" + {"none": "None", "true": "True", "false": "False"}.get(default, default)


def letter(kind: str) -> str:
    """Return the table's letter for a schema type such as "SymInt[2]?" or "Tensor?[]"."""
    inner = re.match(r"\w+", kind)
    base = LETTERS.get(inner.group() if inner else "", "o")
    if "[" in kind:
        optional_elements = "?[" in kind
        return base + ("?*" if optional_elements else "*") + ("?" if kind.endswith("?") and base != "T" else "")
    return base + ("?" if kind.endswith("?") else "")


def _returned(kinds: list[str]) -> str:
    if not kinds:
        return "none"
    if len(kinds) > 1:
        return f"tensors:{len(kinds)}" if all(k == "Tensor" for k in kinds) else "unknown"
    if kinds[0].startswith("Tensor"):
        return "list" if "[" in kinds[0] else "tensor"
    return RETURNS.get(letter(kinds[0]), "unknown")


def from_callable(name: str, function: Callable[..., Any], method: bool = False) -> Overload | None:
    """Return the overload of a Python function by its annotations, or None if it has no signature."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return None
    params: list[str] = []
    starred = False
    for i, p in enumerate(signature.parameters.values()):
        if p.kind is p.VAR_KEYWORD or p.name in ("out", "memory_format"):
            continue
        if p.kind is p.VAR_POSITIONAL:
            params.append(f"{p.name}:{'T*' if _annotated(p.annotation) == 'T' else 'o'}=")
            continue
        if p.kind is p.KEYWORD_ONLY and not starred:
            params.append("*")
            starred = True
        kind = "T" if method and i == 0 else _annotated(p.annotation)
        if kind == "o" and (not method and i == 0 and p.name in ("input", "self", "tensor")):
            kind = "T"
        params.append(f"{p.name}:{kind}" + _python_default(p.default))
    returned = _annotated(signature.return_annotation)
    returns = {"T": "tensor", "T*": "list", "o": "unknown", **RETURNS}.get(returned, "unknown")
    return Overload(name, params, _tuple_of_tensors(signature.return_annotation) or returns)


def _python_default(default: object) -> str:
    if default is inspect.Parameter.empty:
        return ""
    text = repr(default)
    return "=" if len(text) > LONGEST_DEFAULT or text.startswith("<") or "torch" in text else "=" + text


def _annotated(annotation: object) -> str:
    """Return the letter for an annotation, given as a type, a typing form or a string."""
    text = (
        annotation
        if isinstance(annotation, str)
        else getattr(annotation, "__name__", "")
        if isinstance(annotation, type)
        else str(annotation)
    )
    return python_letter(text)


PYTHON = {
    **{"Tensor": "T", "str": "s", "Number": "n", "complex": "n", "_complex": "n", "None": "none"},
    **{"int": "i", "_int": "i", "SymInt": "i", "float": "f", "_float": "f", "bool": "b", "_bool": "b"},
    **{"dtype": "y", "_dtype": "y", "device": "d", "_device": "d", "DeviceLikeType": "d"},
    **{"layout": "l", "_layout": "l", "_size": "i*", "Size": "i*"},
}


def python_letter(text: str) -> str:
    """Return the table's letter for an annotation's text such as "Optional[List[int]]" or "Tensor | None"."""
    text = re.sub(r"\b(?:typing|torch|collections\.abc|types|builtins|nn|torch\.types)\.", "", text.strip()).replace(
        "torch.", ""
    )
    optional = False
    match = re.fullmatch(r"Optional\[(.*)\]", text)
    if match:
        optional, text = True, match.group(1)
    match = re.fullmatch(r"Union\[(.*)\]", text)
    alternatives = (
        [a.strip() for a in re.split(r"[|,]", match.group(1) if match else text)]
        if match or ("|" in text and "[" not in text.replace("BroadcastingList", ""))
        else [text]
    )
    if any(a in ("None", "NoneType") for a in alternatives) and len(alternatives) > 1:
        optional = True
        alternatives = [a for a in alternatives if a not in ("None", "NoneType")]
    letters = {_one_python_letter(a) for a in alternatives}
    kind = letters.pop() if len(letters) == 1 else _joined(letters)
    return kind + "?" if optional and kind not in ("o", "none") else kind


def _joined(letters: set[str]) -> str:
    if "T" in letters:
        return "T"
    if letters <= {"i", "f", "n", "b"}:
        return "n"
    return "i*" if letters == {"i", "i*"} else "o"


def _one_python_letter(text: str) -> str:
    match = re.fullmatch(r"(?:List|list|Sequence|Tuple|tuple|Iterable)\[(\w+).*\]", text)
    if match:
        inner = PYTHON.get(match.group(1), "o")
        return inner + "*" if inner in ("T", "i", "f") else "o"
    match = re.match(r"BroadcastingList\d\[(\w+)", text)
    if match:
        return PYTHON.get(match.group(1), "o") + "*"
    return PYTHON.get(text, "o")


def _tuple_of_tensors(annotation: object) -> str | None:
    text = annotation if isinstance(annotation, str) else str(annotation)
    match = re.fullmatch(r"(?:typing\.)?[tT]uple\[(.*)\]", text.strip())
    if match is None:
        return None
    parts = [p.strip().replace("torch.", "") for p in re.split(r",(?![^\[]*\])", match.group(1))]
    if all(p == "Tensor" for p in parts):
        return f"tensors:{len(parts)}"
    return "list" if parts == ["Tensor", "..."] else None
