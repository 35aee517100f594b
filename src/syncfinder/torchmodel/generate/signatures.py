"""Signatures in the API table's own short form, from schemas and Python functions. Used by the generator only."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from syncfinder.torchmodel.generate import docstrings

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
# parameters whose names tell their type; torch.masked annotates a dtype as a number
NAMED = {"dtype": "y", "device": "d"}
# letter of an annotation -> kind of result
RESULTS = {
    **{"T": "tensor", "T*": "list", "none": "none", "i*": "size", "stream": "stream", "event": "event"},
    **RETURNS,
}
LONGEST_DEFAULT = 12
# which arguments and results of a schema share memory: "Tensor(a!) self"
ALIAS = re.compile(r"\([a-z][\w|!]*(?: -> \*)?\)")
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
    """Return the overload of an operator's schema, or None for out= forms, names as dimensions and backward passes."""
    head, _, results = text.rpartition(" -> ")
    qualified, _, inside = head.rpartition(")")[0].partition("(")
    name = qualified.partition(".")[0]
    writes = [a for a in _parts(inside, ",") if "!" in a and a.split()[-1] != "self"]  # out= and the like
    if (writes and not name.endswith("_")) or "Dimname" in text or name.endswith("_backward"):
        return None
    params: list[str] = []
    for written in _parts(ALIAS.sub("", inside), ","):
        kind, _, rest = written.partition(" ")
        parameter, equals, default = rest.partition("=")
        if not rest:
            params += [written] if written else []  # the star
        elif parameter != "memory_format" or "*" not in params:
            option = OPTIONS.get(parameter) if "*" in params else None
            params.append(option or f"{parameter}:{letter(kind)}" + _default(default if equals else None))
    if params[-1:] == ["*"]:
        params.pop()
    if {"dtype", "device"} <= {p.partition(":")[0] for p in params}:
        params.append("requires_grad:b=False")
    kinds = [k.split()[0] for k in _parts(ALIAS.sub("", results).strip().strip("()"), ",") if k]
    return Overload(name, params, "self" if name.endswith("_") and not name.startswith("_") else _returned(kinds))


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
    told = docstrings.letters(inspect.getdoc(function))
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
        kind = "T" if method and i == 0 else taken(_annotated(p.annotation))
        if kind == "o" and p.annotation is p.empty:
            kind = told.get(p.name, kind)
        if kind.rstrip("?") in ("o", "i") and p.name in NAMED:
            kind = NAMED[p.name] + ("?" if p.default is None else "")
        if kind == "o" and (not method and i == 0 and p.name in ("input", "self", "tensor")):
            kind = "T"
        params.append(f"{p.name}:{kind}" + _python_default(p.default))
    return Overload(name, params, returned(signature.return_annotation))


def taken(letter_: str) -> str:
    """Return the letter for a parameter: that of anything else for what is only a kind of result.

    torch's BroadcastingList annotations are None at run time.
    """
    return "o" if letter_.rstrip("?") in ("none", "stream", "event") else letter_


def returned(annotation: object) -> str:
    """Return the kind of result that a function's return annotation tells."""
    if annotation is inspect.Signature.empty:
        return "unknown"
    return _tuple_of_tensors(annotation) or RESULTS.get(_annotated(annotation), "unknown")


def _python_default(default: object) -> str:
    if default is inspect.Parameter.empty:
        return ""
    text = repr(default)
    if text == "torch.Size([])":
        return "=()"
    return "=" if len(text) > LONGEST_DEFAULT or "<" in text or "torch" in text else "=" + text


def _annotated(annotation: object) -> str:
    """Return the letter for an annotation, given as a type, a typing form or a string."""
    text = (
        annotation
        if isinstance(annotation, str)
        else getattr(annotation, "__name__", "")
        if isinstance(annotation, type) and not getattr(annotation, "__args__", None)
        else str(annotation)
    )
    return python_letter(text)


PYTHON = {
    **{"Tensor": "T", "str": "s", "Number": "n", "_Number": "n", "complex": "n", "_complex": "n"},
    **{"None": "none", "NoneType": "none", "NoReturn": "none", "Parameter": "T", "FloatLikeType": "f"},
    **{"int": "i", "_int": "i", "SymInt": "i", "IntLikeType": "i", "float": "f", "_float": "f", "SymFloat": "f"},
    **{"bool": "b", "_bool": "b", "SymBool": "b", "BoolLikeType": "b", "py_sym_types": "n"},
    **{"dtype": "y", "_dtype": "y", "device": "d", "_device": "d", "DeviceLikeType": "d", "_device_t": "d"},
    **{"Device": "d", "layout": "l", "_layout": "l", "_size": "i*", "Size": "i*", "_shape_t": "i*"},
    **{"_tensor_or_tensors": "T*", "_TensorOrTensors": "T*", "TensorOrTensors": "T*"},
    **{"Stream": "stream", "Event": "event", "_size_1_t": "i*", "_size_2_t": "i*", "_size_3_t": "i*"},
}
LISTS = re.compile(r"(?:List|list|Sequence|Tuple|tuple|Iterable)\[(.*)\]")


def python_letter(text: str) -> str:
    """Return the table's letter for an annotation's text such as "Optional[List[int]]" or "Tensor | None"."""
    text = re.sub(r"\b(?:[a-z_]\w*|_C|_VF)\.", "", text.strip()).replace("'", "").replace('"', "")
    optional = False
    match = re.fullmatch(r"Optional\[(.*)\]", text)
    if match:
        optional, text = True, match.group(1)
    match = re.fullmatch(r"Union\[(.*)\]", text)
    alternatives = _parts(match.group(1), ",") if match else _parts(text, "|")
    if any(a in ("None", "NoneType") for a in alternatives) and len(alternatives) > 1:
        optional = True
        alternatives = [a for a in alternatives if a not in ("None", "NoneType")]
    letters = {_one_python_letter(a) for a in alternatives}
    kind = letters.pop() if len(letters) == 1 else _joined(letters)
    return kind + "?" if optional and kind not in ("o", "none") and not kind.endswith("?") else kind


def _parts(text: str, separator: str) -> list[str]:
    """Split at a separator outside of brackets."""
    found, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c == "[") - (c == "]")
        if c == separator and not depth:
            found.append(text[start:i].strip())
            start = i + 1
    return [*found, text[start:].strip()]


def _joined(letters: set[str]) -> str:
    if "T*" in letters:
        return "T*"
    if "T" in letters:
        return "T"
    if letters <= {"i", "f", "n", "b"}:
        return "n"
    if "d" in letters and letters <= {"d", "i", "s"}:
        return "d"
    return "i*" if letters == {"i", "i*"} else "o"


def _one_python_letter(text: str) -> str:
    if text.startswith(("Optional[", "Union[")):
        return python_letter(text)
    match = LISTS.fullmatch(text)
    if match:
        inner = {python_letter(p) for p in _parts(match.group(1), ",") if p not in ("...", "")}
        kind = inner.pop() if len(inner) == 1 else "o"
        return kind + "*" if kind in ("T", "T?", "i", "f") else "o"
    match = re.match(r"BroadcastingList\d\[(\w+)", text)
    if match:
        return PYTHON.get(match.group(1), "o") + "*"
    return PYTHON.get(text, "o")


def _tuple_of_tensors(annotation: object) -> str | None:
    text = annotation if isinstance(annotation, str) else str(annotation)
    match = re.fullmatch(r"(?:typing\.)?[tT]uple\[(.*)\]", text.strip())
    if match is None:
        return None
    parts = _parts(match.group(1), ",")
    kinds = [python_letter(p) for p in parts]
    if kinds[0] == "T" and set(kinds) <= {"T", "T?"} and parts[-1] != "...":
        return f"tensors:{len(parts)}"
    return "list" if kinds[0] == "T" and parts[1:] == ["..."] else None


def device_rule(overloads: list[Overload]) -> str:
    """Return where the result lives: a `device` parameter decides, else the inputs."""
    params = [p for o in overloads for p in o.params]
    takes_device = any(p.startswith("device:d") for p in params)
    takes_tensor = any(p.partition(":")[2].startswith("T") for p in params)
    if takes_device:
        return "like/device=" if takes_tensor else "device="
    return "like"


def by_hand_rule(table: dict[str, list[str]], *names: str) -> str | None:
    """Return the rule that a table kept by hand has for one of the names, or None."""
    return next((rule for rule, listed in table.items() if any(n in listed for n in names)), None)
