"""The torch model: rows of torch's public API, library classes, and the effects that make the host wait.

Rows are built from the raw data when they are first asked for, and kept.
"""

from __future__ import annotations

import ast
import functools
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

DEFAULT_VERSION = "2.13"
TENSOR = "torch.Tensor."


@dataclass(frozen=True, slots=True)
class Param:
    """A parameter. `default` is `...` when there is none or it is not known.

    `type` is a letter: T tensor, i int, n number, f float, b bool, s str, y dtype, d device, l layout, o anything else;
    with * a list of them, with ? also None.
    """

    name: str
    type: str
    optional: bool = False
    default: object = ...
    keyword_only: bool = False


@dataclass(frozen=True, slots=True)
class Term:
    """One condition of an effect: `test` on `parameter`, compared with `literal` by the tests "is" and "not-is".

    Tests about the argument of a parameter: given (not None), missing, tensor, cuda (a tensor on the GPU), host (a CPU
    tensor or an array), list (a list, tuple or array), number, bool (a boolean tensor), negative (a number below zero),
    ndim (a tensor of `literal` dimensions), is and not-is (equal to `literal`; a missing one has its default),
    not-made-with (an object whose constructor was not called with keyword `literal[0]` equal to `literal[1]`).
    With the prefix "init-" they are about the arguments that the receiver was constructed with. "anywhere" has no
    parameter: the host waits even if no tensor among the arguments is on the GPU.
    """

    test: str
    parameter: str = ""
    literal: object = None


@dataclass(frozen=True, slots=True)
class Effect:
    """The host waits when every term of `when` holds.

    `kind` is a key of `sites.site.KINDS`; `words` says why, for messages; `argument` is the parameter that is read.
    """

    kind: str
    when: tuple[Term, ...] = ()
    words: str = ""
    argument: str | None = None

    @property
    def anywhere(self) -> bool:
        """Whether the host waits even if no tensor among the arguments is on the GPU."""
        return any(t.test == "anywhere" for t in self.when)


@dataclass(frozen=True, slots=True)
class Row:
    """One public callable.

    `returns` has one kind per overload (with no overloads the signature is not known, and it has one kind): tensor,
    tensors:N, list (of tensors), none, int, float, bool, number, size, str, device, dtype, self (the receiver), values
    (nested Python numbers), array (NumPy), stream, event, unknown.
    `device`: like (the tensors), device= (the device argument, else the default device), like/device=, host, cuda.
    `dtype`: same (all tensors', promoted), like (the first tensor's), bool, int, float, complex, sum (same, but int of
    bool), dtype= or dtype=/RULE (the dtype argument, else RULE), infer (from Python data), unknown; `dtypes` are
    those of the elements of a tuple.
    `ndim`: same (the largest of all tensors), like (the first tensor's), reduce (one less per dim given, else 0),
    +1, -1, 0, 1, 2, 3, size (the length of the size list), unknown; `ndims` are those of the overloads.
    `effects` are alternatives. `quiet` are parameters of number type that take a tensor without reading it.
    `measured` is true when an effect comes from a GPU measurement rather than from reading torch's source.
    """

    name: str
    overloads: tuple[tuple[Param, ...], ...] = ()
    returns: tuple[str, ...] = ("unknown",)
    device: str = "like"
    dtype: str = "same"
    dtypes: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    ndim: str = "same"
    ndims: tuple[str, ...] = ("same",)
    effects: tuple[Effect, ...] = ()
    quiet: frozenset[str] = frozenset()
    measured: bool = False


@dataclass(frozen=True, slots=True)
class LibraryClass:
    """A class of torch. `is_module` is true for nn.Module and below; `forward` is what calling an instance does."""

    name: str
    model: Model
    constructor: Row
    forward: Row | None
    bases: tuple[str, ...]
    is_module: bool

    def method(self, name: str) -> Row | None:
        """Return the row of a method, looked up in the class and then its bases."""
        row = self.model.row(f"{self.name}.{name}")
        if row is not None:
            return row
        for base in self.bases:
            above = self.model.library_class(base)
            row = above.method(name) if above is not None else None
            if row is not None:
                return row
        return None


class Model:
    """The tables of one torch version. `torch_version` is the version that the generated part was made from."""

    def __init__(self, api: Mapping[str, Any], overlay: Mapping[str, Any]) -> None:
        self.torch_version: str = api["torch"]
        self.distinctive: dict[str, str] = dict(overlay.get("distinctive", {}))
        self._generated: Mapping[str, Any] = api["rows"]
        self._kept: Mapping[str, Any] = overlay.get("rows", {})
        self._classes: dict[str, dict[str, Any]] = {k: dict(v) for k, v in api.get("classes", {}).items()}
        for name, entry in overlay.get("classes", {}).items():
            self._classes.setdefault(name, {}).update(entry)
        self._attributes: dict[str, str] = {**api["attributes"], **overlay.get("attributes", {})}
        self._dtypes: Mapping[str, str] = overlay.get("dtypes", {})
        self._aliases: Mapping[str, str] = overlay.get("aliases", {})
        self._numpy = frozenset(overlay.get("numpy_methods", ()))
        self._weak = frozenset(overlay.get("weak_methods", ()))
        self._effects = _by_name(overlay.get("effect", ()))
        self._quiet: dict[str, set[str]] = {}
        for entry in overlay.get("quiet", ()):
            for name in entry["on"]:
                self._quiet.setdefault(name, set()).add(entry["argument"])
        self._rows: dict[str, Row | None] = {}
        self._library: dict[str, LibraryClass | None] = {}
        self._canonical: dict[str, str] = {}
        self._below = _submodule_names(self._classes)

    def row(self, name: str) -> Row | None:
        """Return the row of a callable by its canonical dotted name, e.g. "torch.add", "torch.Tensor.add", or None."""
        try:
            return self._rows[name]
        except KeyError:
            row = self._rows[name] = self._build(name)
            return row

    def effect_names(self) -> list[str]:
        """Return the names of all callables that make the host wait under some condition, sorted."""
        return sorted(self._effects)

    def method(self, name: str) -> Row | None:
        """Return the row of a method of torch.Tensor."""
        return self.row(TENSOR + name)

    def attribute(self, name: str) -> str | None:
        """Return the kind of an attribute of torch.Tensor ("size", "device", "tensor", "int" ...), or None."""
        return self._attributes.get(name)

    def dtype_of(self, name: str) -> str | None:
        """Return "bool", "int", "float" or "complex" for a dtype's canonical name such as "torch.int64"."""
        return self._dtypes.get(name)

    def tensor_only(self, name: str) -> bool:
        """Return whether an attribute or method of this name is evidence for a tensor: nothing else common has it."""
        if name in self._numpy or name in self._weak or name.startswith("__"):
            return False
        return name in self._attributes or self.row(TENSOR + name) is not None

    def shared_with_numpy(self, name: str) -> bool:
        """Return whether NumPy arrays, pandas objects or Python containers have a tensor's method of this name too."""
        return name in self._numpy

    def library_class(self, name: str) -> LibraryClass | None:
        """Return a class of torch by its canonical dotted name, or None."""
        try:
            return self._library[name]
        except KeyError:
            found = self._library[name] = self._build_class(name)
            return found

    def canonical(self, name: str) -> str:
        """Return the one name that the tables use for a dotted name, e.g. torch.functional.norm -> torch.norm."""
        if not name.startswith("torch"):
            return name
        try:
            return self._canonical[name]
        except KeyError:
            found = self._canonical[name] = self._resolve(name)
            return found

    def _resolve(self, name: str) -> str:
        name = self._replace_prefix(name)
        if name.startswith("torch.ops.aten."):
            operator = name[len("torch.ops.aten.") :].partition(".")[0]
            for candidate in ("torch." + operator, TENSOR + operator, "torch.nn.functional." + operator):
                if self.row(candidate) is not None:
                    return candidate
        if name in self._classes or self.row(name) is not None:
            return name
        package, _, last = name.rpartition(".")
        for short in self._below.get(last, ()):
            # torch.nn.modules.linear.Linear, torch.distributions.normal.Normal, torch.optim.adam.Adam
            if package.startswith(short.rpartition(".")[0] + "."):
                return short
        return name

    def _replace_prefix(self, name: str) -> str:
        """Apply the longest alias that is a dotted prefix of the name."""
        head = name
        while head:
            target = self._aliases.get(head)
            if target is not None:
                return target + name[len(head) :]
            head = head.rpartition(".")[0]
        return name

    def _build(self, name: str) -> Row | None:
        generated = self._generated.get(name)
        kept = self._kept.get(name)
        effects = self._effects.get(name)
        if generated is None:
            generated = self._of_class(name)
        if generated is None and kept is None and effects is None:
            return None
        return _row(name, {**(generated or {}), **(kept or {})}, effects or [], self._quiet.get(name, ()))

    def _of_class(self, name: str) -> dict[str, Any] | None:
        """The raw row of a class's constructor, or of a module's forward."""
        if name in self._classes:
            return {"r": "unknown", "o": self._classes[name].get("o", ())}
        owner, _, method = name.rpartition(".")
        if method != "forward":
            return None
        forward: dict[str, Any] | None = self._classes.get(owner, {}).get("forward")
        return forward

    def _build_class(self, name: str) -> LibraryClass | None:
        entry = self._classes.get(name)
        if entry is None:
            return None
        constructor = self.row(name)
        assert constructor is not None  # a class has a constructor row
        bases = tuple(entry.get("bases", ()))
        return LibraryClass(name, self, constructor, self.row(name + ".forward"), bases, self._is_module(name, bases))

    def _is_module(self, name: str, bases: tuple[str, ...]) -> bool:
        return name == "torch.nn.Module" or any(
            self._is_module(b, tuple(self._classes.get(b, {}).get("bases", ()))) for b in bases
        )


def _by_name(entries: Any) -> dict[str, list[Mapping[str, Any]]]:
    found: dict[str, list[Mapping[str, Any]]] = {}
    for entry in entries:
        for name in entry["on"]:
            found.setdefault(name, []).append(entry)
    return found


def _submodule_names(classes: Mapping[str, Any]) -> dict[str, list[str]]:
    """Index the classes by their last name, for names that spell out the module a class is defined in."""
    found: dict[str, list[str]] = {}
    for name in classes:
        found.setdefault(name.rpartition(".")[2], []).append(name)
    return found


def _row(name: str, raw: Mapping[str, Any], effects: list[Mapping[str, Any]], quiet: Any) -> Row:
    overloads = tuple(_params(tuple(o)) for o in raw.get("o", ()))
    returns = (
        tuple(raw["ro"]) if "ro" in raw else (raw.get("r", "tensor" if raw else "unknown"),) * max(1, len(overloads))
    )
    ndim = raw.get("nd", "same")
    return Row(
        name=name,
        overloads=overloads,
        returns=returns,
        device=raw.get("dev", "like"),
        dtype=raw.get("dt", "same"),
        dtypes=tuple(raw.get("dts", ())),
        devices=tuple(raw.get("devs", ())),
        ndim=ndim,
        ndims=tuple(raw["ndo"]) if "ndo" in raw else (ndim,) * len(returns),
        effects=tuple(_effect(e) for e in effects),
        quiet=frozenset(quiet),
        measured=any(not e.get("read_only", False) for e in effects),
    )


def _effect(entry: Mapping[str, Any]) -> Effect:
    return Effect(
        entry["kind"], tuple(term(t) for t in entry.get("when", ())), entry.get("words", ""), entry.get("argument")
    )


@functools.cache
def term(text: str) -> Term:
    """Parse a term such as "given(p)" or "is(p, None)".

    Raises:
        ValueError: the text is not a term.
    """
    if text == "anywhere":
        return Term("anywhere")
    test, bracket, rest = text.partition("(")
    if not bracket or not rest.endswith(")"):
        raise ValueError(f"not a term: {text!r}")
    parameter, comma, literal = rest[:-1].partition(",")
    return Term(test, parameter.strip(), ast.literal_eval(literal.strip()) if comma else None)


@functools.cache
def _params(texts: tuple[str, ...]) -> tuple[Param, ...]:
    params: list[Param] = []
    keyword_only = False
    for text in texts:
        if text == "*":
            keyword_only = True
            continue
        name, _, rest = text.partition(":")
        kind, equals, default = rest.partition("=")
        params.append(Param(name, kind, bool(equals), _literal(default) if equals else ..., keyword_only))
    return tuple(params)


def _literal(text: str) -> object:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return ...


@functools.cache
def load(version: str | None = None) -> Model:
    """Return the model for a torch version such as "2.13"; the default is the newest one with a table.

    Raises:
        FileNotFoundError: there is no table for that version.
    """
    data = resources.files("syncfinder.torchmodel") / "data"
    api = json.loads((data / f"api-{version or DEFAULT_VERSION}.json").read_text(encoding="utf-8"))
    overlay = tomllib.loads((data / "overlay.toml").read_text(encoding="utf-8"))
    return Model(api, overlay)
