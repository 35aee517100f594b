"""The torch model: rows of torch's public API, library classes, and the effects that make the host wait.

Rows are built from the raw data when they are first asked for, and kept.
"""

from __future__ import annotations

import ast
import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

# the newest version that was measured on a GPU
DEFAULT_VERSION = "2.11"
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
    tensor, an array, or a list without a CUDA tensor), list (a list, tuple or array), number, mask (a boolean tensor on
    the GPU), negative (a number below zero), ndim (a tensor of `literal` dimensions), large (of at least `literal`
    elements), same-shape (a tensor of the first argument's shape), oblong (a matrix that is not square), matrix (of two
    dimensions, or `dim` names two), same (equal to the argument of parameter `literal`), is and not-is (equal to
    `literal`; a missing one has its default), not-made-with (an object whose constructor was not called with keyword
    `literal[0]` equal to `literal[1]`). With the prefix "init-" they are about the arguments that the receiver was
    constructed with. "mode" is about a module: its parameter is train or eval. "anywhere" has no parameter: the host
    waits even if no tensor among the arguments is on the GPU.
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
    `positions`: a list that it returns holds integer tensors of one dimension, the positions along each.
    `seen` counts the measured calls that made the host wait, and those that did not; (0, 0) if it was not measured.
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
    seen: tuple[int, int] = (0, 0)
    positions: bool = False


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
    """The table of one torch version, as `merge` writes it.

    `torch_version` is the version that the signatures were generated from; `evidence` says on what the waits were
    measured: gpu, driver, torch, cuda and date.
    """

    def __init__(self, table: Mapping[str, Any]) -> None:
        self.torch_version: str = table["torch"]
        self.evidence: dict[str, str] = dict(table.get("evidence", {}))
        self.distinctive: dict[str, str] = dict(table["distinctive"])
        # what a running inference program answers: there is a GPU, and nothing is being traced or captured
        self.flags: Mapping[str, bool] = table["flags"]
        # classes whose attributes are host numbers, by kind
        self.limits: Mapping[str, str] = table["limits"]
        # classes of tensors, by dtype; None is any
        self.tensor_classes: dict[str, str | None] = {k: v or None for k, v in table["tensor_classes"].items()}
        self.tensor_words = frozenset(name.rpartition(".")[2] for name in self.tensor_classes)
        # fields of named result tuples, by position
        self.result_fields: Mapping[str, int] = table["result_fields"]
        self.module_parameters = frozenset(table["module_parameters"])
        self._raw: Mapping[str, Any] = table["rows"]
        self._classes: Mapping[str, Any] = table["classes"]
        self._attributes: Mapping[str, str] = table["attributes"]
        self._dtypes: Mapping[str, str] = table["dtypes"]
        self._aliases: Mapping[str, str] = table["aliases"]
        self._numpy = frozenset(table["numpy_methods"])
        self._weak = frozenset(table["weak_methods"])
        self._effects: Mapping[str, list[Mapping[str, Any]]] = table.get("effects", {})
        self._quiet: Mapping[str, list[str]] = table.get("quiet", {})
        self._seen: Mapping[str, list[int]] = table.get("seen", {})
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

    def library_class(self, name: str) -> LibraryClass | None:
        """Return a class of torch by its canonical dotted name, or None."""
        try:
            return self._library[name]
        except KeyError:
            found = self._library[name] = self._build_class(name)
            return found

    def class_names(self) -> list[str]:
        """Return the names of all library classes, sorted."""
        return sorted(self._classes)

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
        raw = self._raw.get(name) or self._of_class(name)
        effects = self._effects.get(name)
        if raw is None and effects is not None:
            raw = self._inherited(name)
        if raw is None and effects is None:
            return None
        return _row(name, raw or {}, effects or [], self._quiet.get(name, ()), self._seen.get(name, (0, 0)))

    def _inherited(self, name: str) -> dict[str, Any] | None:
        """The raw row of a method that a class has from a base."""
        owner, _, method = name.rpartition(".")
        for base in self._classes.get(owner, {}).get("bases", ()):
            found: dict[str, Any] | None = self._raw.get(f"{base}.{method}") or self._inherited(f"{base}.{method}")
            if found is not None:
                return found
        return None

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


def _submodule_names(classes: Mapping[str, Any]) -> dict[str, list[str]]:
    """Index the classes by their last name, for names that spell out the module a class is defined in."""
    found: dict[str, list[str]] = {}
    for name in classes:
        found.setdefault(name.rpartition(".")[2], []).append(name)
    return found


def _row(name: str, raw: Mapping[str, Any], effects: list[Mapping[str, Any]], quiet: Any, seen: Any) -> Row:
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
        seen=(seen[0], seen[1]),
        positions=bool(raw.get("positions")),
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


def versions() -> list[str]:
    """Return the torch versions with a table, the oldest first."""
    data = resources.files("syncfinder.torchmodel") / "data"
    names = [f.name[len("torch-") : -len(".json")] for f in data.iterdir() if f.name.startswith("torch-")]
    return sorted(names, key=lambda v: tuple(int(part) for part in v.split(".")))


@functools.cache
def load(version: str | None = None) -> Model:
    """Return the model for a torch version such as "2.11"; the default is the newest one that was measured.

    Raises:
        FileNotFoundError: there is no table for that version.
    """
    data = resources.files("syncfinder.torchmodel") / "data"
    return Model(json.loads((data / f"torch-{version or DEFAULT_VERSION}.json").read_bytes()))
