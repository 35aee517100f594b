"""Conditions of waits: whether they hold for a measured call, and which one tells waiting calls from silent ones.

A measured call's arguments are plain data (`runtime.describe`). The tests here mean the same as those that the
interpreter makes of its values (`infer.torchcalls.TERMS`): one says what was seen, the other what is to be expected.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from syncfinder.torchmodel.model import Param, Row, Term

NUMBER_TYPES = ("i", "n", "f", "b")
LARGEST_CONJUNCTION = 3
MOST_ALTERNATIVES = 4


@dataclass(frozen=True, slots=True)
class Call:
    """A measured call: its arguments by parameter, those of the receiver's construction, and whether the host waited.

    `mode` is "train" or "eval" where the receiver is a module, else "".
    """

    arguments: Mapping[str, Any]
    init: Mapping[str, Any]
    waits: bool
    parameters: tuple[Param, ...] = ()
    mode: str = ""
    init_parameters: tuple[Param, ...] = ()

    def argument(self, term: Term) -> Any:
        """Return what was given for the term's parameter; `...` when nothing was."""
        if term.test.startswith("init-"):
            return self.init.get(term.parameter, ...)
        return self.arguments.get(term.parameter, ...)

    def default(self, term: Term) -> object:
        """Return the parameter's default; `...` when it has none."""
        parameters = self.init_parameters if term.test.startswith("init-") else self.parameters
        return next((p.default for p in parameters if p.name == term.parameter and p.optional), ...)


def bind(row: Row | None, call: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[Param, ...]]:
    """Return a described call's arguments by parameter, and the parameters of the overload that fits best."""
    positional, named = list(call.get("a", ())), dict(call.get("k", {}))
    best: tuple[int, dict[str, Any], tuple[Param, ...]] | None = None
    for overload in row.overloads if row is not None else ():
        found = _bind(overload, positional, named)
        if found is not None:
            cost = sum(_misfit(p, found[p.name]) for p in overload if p.name in found)
            if best is None or cost < best[0]:
                best = cost, found, overload
    if best is not None:
        return best[1], best[2]
    return {**{str(i): v for i, v in enumerate(positional)}, **named}, ()


def _bind(overload: tuple[Param, ...], positional: list[Any], named: dict[str, Any]) -> dict[str, Any] | None:
    plain = [p for p in overload if not p.keyword_only]
    found: dict[str, Any] = {}
    for at, parameter in enumerate(plain[: len(positional)]):
        rest = positional[at:]
        lists = any(isinstance(v, dict) and "l" in v for v in rest)
        if "*" in parameter.type and len(rest) > 1 and at == len(plain) - 1 and not lists:
            found[parameter.name] = {"l": rest, "n": len(rest)}
            positional = positional[:at]
            break
        found[parameter.name] = positional[at]
    if len(positional) > len(plain) or any(not p.optional and p.name not in {*found, *named} for p in overload):
        return None
    return {**found, **named}


def _misfit(parameter: Param, value: Any) -> int:
    kind = parameter.type.rstrip("?")
    if value is None:
        return 0 if parameter.type.endswith("?") or parameter.optional else 1
    if kind == "T":
        return 0 if is_tensor(value) else 3 if isinstance(value, dict) and ("l" in value or "a" in value) else 5
    if kind == "i*":
        plain = isinstance(value, dict) and all(isinstance(v, int) for v in value.get("l", ()))
        return 0 if plain or isinstance(value, int) else 4
    if kind in NUMBER_TYPES:
        return 3 if is_tensor(value) else 0 if isinstance(value, (int, float)) else 4
    if kind == "y":
        return 0 if isinstance(value, dict) and str(value.get("o", "")).startswith("torch.") else 4
    return 0


def is_tensor(value: Any) -> bool:
    """Return whether a described argument is a tensor."""
    return isinstance(value, dict) and "t" in value


def elements(value: Any) -> Iterable[Any]:
    """Return an argument and, if it is a list, what is in it."""
    yield value
    if isinstance(value, dict) and "l" in value:
        for element in value["l"]:
            yield from elements(element)


def on_gpu(value: Any) -> bool:
    """Return whether an argument is a CUDA tensor, or a list with one."""
    return any(is_tensor(e) and e["t"][0].startswith("cuda") for e in elements(value))


def size_of(value: Any) -> int:
    """Return the number of elements of an argument."""
    if isinstance(value, dict):
        shape = value["t"][2] if "t" in value else value["a"][1] if "a" in value else None
        if shape is None:
            return int(value.get("n", 1))
        size = 1
        for n in shape:
            size *= n
        return size
    return 1


def _is_given(term: Term, call: Call) -> bool:
    return call.argument(term) not in (..., None)


def _is_missing(term: Term, call: Call) -> bool:
    return not _is_given(term, call)


def _is_host(term: Term, call: Call) -> bool:
    value = call.argument(term)
    if isinstance(value, dict) and "l" in value:
        return not on_gpu(value)
    return isinstance(value, dict) and ("a" in value or ("t" in value and value["t"][0] in ("cpu", "pinned")))


def _is_oblong(term: Term, call: Call) -> bool:
    value: Any = call.argument(term)
    return is_tensor(value) and len(value["t"][2]) > 1 and bool(value["t"][2][-1] != value["t"][2][-2])


def _is_matrix(term: Term, call: Call) -> bool:
    """The norm is over two dimensions: those of a matrix, or two that are named."""
    value: Any = call.argument(term)
    dim: Any = call.arguments.get("dim")
    if dim is not None:
        return isinstance(dim, dict) and dim.get("n") == 2
    return is_tensor(value) and len(value["t"][2]) == 2


def _same(term: Term, call: Call) -> bool:
    """Two arguments are equal, given or by default."""
    other = Term("is", str(term.literal))
    first, second = (v if v is not ... else call.default(t) for t in (term, other) for v in [call.argument(t)])
    return first is not ... and not isinstance(first, dict) and bool(first == second)


def _is_list(term: Term, call: Call) -> bool:
    value = call.argument(term)
    return isinstance(value, dict) and ("l" in value or "a" in value)


def _is_number(term: Term, call: Call) -> bool:
    value = call.argument(term)
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_mask(term: Term, call: Call) -> bool:
    return any(on_gpu(e) and is_tensor(e) and e["t"][1] in ("bool", "uint8") for e in elements(call.argument(term)))


def _has_own_shape(term: Term, call: Call) -> bool:
    """The argument has the shape of the first one."""
    value: Any = call.argument(term)
    first: Any = next(iter(call.arguments.values()), None)
    return is_tensor(value) and is_tensor(first) and bool(value["t"][2] == first["t"][2])


def _is_negative(term: Term, call: Call) -> bool:
    value = call.argument(term)
    return isinstance(value, (int, float)) and value < 0


def _has_ndim(term: Term, call: Call) -> bool:
    value = call.argument(term)
    return is_tensor(value) and bool(len(value["t"][2]) == term.literal)


def _is_large(term: Term, call: Call) -> bool:
    value = call.argument(term)
    return value is not ... and isinstance(term.literal, int) and size_of(value) >= term.literal


def _equals(term: Term, call: Call) -> bool:
    value = call.argument(term)
    if value is ...:
        value = call.default(term)
    if isinstance(value, dict):
        value = value.get("d", value.get("o", ...))
    if isinstance(value, str) and isinstance(term.literal, str) and term.literal == "cuda":
        value = value.partition(":")[0]
    return value is not ... and type(value) is type(term.literal) and value == term.literal


def _differs(term: Term, call: Call) -> bool:
    return not _equals(term, call)


def _not_made_with(term: Term, call: Call) -> bool:
    value = call.argument(term)
    if not isinstance(value, dict) or not isinstance(term.literal, tuple):
        return False
    made: object = value.get("init", {}).get("k", {}).get(term.literal[0], ...)
    return bool(made != term.literal[1])


TESTS: dict[str, Callable[[Term, Call], bool]] = {
    "given": _is_given,
    "missing": _is_missing,
    "tensor": lambda term, call: is_tensor(call.argument(term)),
    "cuda": lambda term, call: on_gpu(call.argument(term)),
    "host": _is_host,
    "list": _is_list,
    "number": _is_number,
    "negative": _is_negative,
    "is": _equals,
    "not-is": _differs,
    "mask": _is_mask,
    "ndim": _has_ndim,
    "large": _is_large,
    "oblong": _is_oblong,
    "matrix": _is_matrix,
    "same": _same,
    "same-shape": _has_own_shape,
    "not-made-with": _not_made_with,
    "init-is": _equals,
    "init-not-is": _differs,
    "init-cuda": lambda term, call: on_gpu(call.argument(term)),
    "init-given": _is_given,
    "init-missing": _is_missing,
    "mode": lambda term, call: call.mode in ("", term.parameter),
    "anywhere": lambda term, call: True,
}


def holds(terms: Sequence[Term], call: Call) -> bool:
    """Return whether all terms hold. Without "anywhere" a CUDA tensor is among what was given."""
    anywhere = any(t.test == "anywhere" for t in terms)
    given = [*call.arguments.values(), *call.init.values()]
    return (anywhere or any(on_gpu(v) for v in given)) and all(TESTS[t.test](t, call) for t in terms)


def reads_number(call: Call, quiet: Iterable[str] = ()) -> bool:
    """Return whether a CUDA tensor was given for a number: the argument parser reads it."""
    for parameter in call.parameters:
        kind = parameter.type.rstrip("?")
        if parameter.name in quiet or parameter.name not in call.arguments:
            continue
        value = call.arguments[parameter.name]
        if kind in NUMBER_TYPES and is_tensor(value) and on_gpu(value):
            return True
        if kind in ("i*", "n*", "f*") and on_gpu(value) and (not is_tensor(value) or not value["t"][2]):
            return True
    return False


def separate(calls: Sequence[Call]) -> list[tuple[Term, ...]] | None:
    """Return the simplest alternatives of which one holds for every waiting call and none for a silent one.

    [()] means that all wait; None that no few terms tell them apart.
    """
    waiting = [c for c in calls if c.waits]
    silent = [c for c in calls if not c.waits]
    if not silent:
        return [()]
    terms = _candidates(calls)
    good = [frozenset(i for i, c in enumerate(waiting) if TESTS[t.test](t, c)) for t in terms]
    bad = [frozenset(i for i, c in enumerate(silent) if TESTS[t.test](t, c)) for t in terms]
    left = frozenset(range(len(waiting)))
    found: list[tuple[Term, ...]] = []
    while left:
        best = _best(terms, good, bad, left)
        if best is None or len(found) == MOST_ALTERNATIVES:
            return None
        found.append(tuple(terms[i] for i in best))
        left -= frozenset.intersection(*(good[i] for i in best))
    return found


def _best(
    terms: list[Term], good: list[frozenset[int]], bad: list[frozenset[int]], left: frozenset[int]
) -> tuple[int, ...] | None:
    """The conjunction without a silent call that covers most of what is left; the simplest of equals."""
    best: tuple[int, tuple[int, ...]] | None = None
    useful = [i for i in range(len(terms)) if good[i] & left]
    for size in range(1, LARGEST_CONJUNCTION + 1):
        for chosen in itertools.combinations(useful, size):
            covered = frozenset.intersection(left, *(good[i] for i in chosen))
            if len(covered) > (best[0] if best else 0) and not frozenset.intersection(*(bad[i] for i in chosen)):
                best = len(covered), chosen
        if best is not None and best[0] == len(left):
            break
    return best[1] if best else None


def _candidates(calls: Sequence[Call]) -> list[Term]:
    """Terms about any parameter, the simplest first; those that hold alike for all calls tell nothing."""
    found: dict[Term, None] = {}
    for prefix, names in (
        ("", sorted({n for c in calls for n in c.arguments} | {p.name for c in calls for p in c.parameters})),
        ("init-", sorted({n for c in calls for n in c.init})),
    ):
        for name in names:
            found.update(dict.fromkeys(_about(prefix, name, calls)))
    if any(c.mode for c in calls):
        found.update(dict.fromkeys((Term("mode", "train"), Term("mode", "eval"))))
    useful = [t for t in found if len({TESTS[t.test](t, c) for c in calls}) == 2]
    order = list(TESTS)
    return sorted(useful, key=lambda t: (order.index(t.test), t.parameter, repr(t.literal)))


def _about(prefix: str, name: str, calls: Sequence[Call]) -> Iterable[Term]:
    probe = Term(prefix + "is", name)
    values = [v for c in calls if (v := c.argument(probe)) is not ...] + [c.default(probe) for c in calls]
    yield Term(prefix + "given", name)
    yield Term(prefix + "missing", name)
    literals = {repr(v): v for v in values if v is None or isinstance(v, (bool, int, float, str))}
    for value in literals.values():
        yield Term(prefix + "is", name, value)
    if prefix:
        return
    # that something is not one of many values would explain anything
    usual = {repr(c.default(probe)) for c in calls} | {"True", "False"}
    for value in (v for r, v in literals.items() if r in usual):
        yield Term("not-is", name, value)
    for test in ("tensor", "cuda", "host", "list", "number", "negative", "mask", "same-shape"):
        yield Term(test, name)
    for ndim in sorted({len(v["t"][2]) for v in values if is_tensor(v)}):
        yield Term("ndim", name, ndim)
    sizes = sorted({size_of(v) for v in values if isinstance(v, dict) and ("t" in v or "a" in v)})
    for size in sizes[1:]:
        yield Term("large", name, size)


def text(term: Term) -> str:
    """Return a term as it is written in the tables, e.g. "is(p, None)"."""
    if term.test == "anywhere":
        return "anywhere"
    if term.test in ("is", "not-is", "init-is", "init-not-is", "ndim", "large", "same", "not-made-with"):
        return f"{term.test}({term.parameter}, {term.literal!r})"
    return f"{term.test}({term.parameter})"
