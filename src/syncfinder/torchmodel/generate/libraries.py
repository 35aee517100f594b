"""Torch's public classes: constructors, bases, methods, and what calling a module does. Used by the generator only."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

from syncfinder.torchmodel.generate import docstrings, namespaces, stubs
from syncfinder.torchmodel.generate.returns import returned
from syncfinder.torchmodel.generate.signatures import Overload, by_hand_rule, device_rule, from_callable

# the first namespace that shows a class names it; torch shows these of torch.amp, too
FIRST = ("torch.amp",)


def public_classes(rules: dict[str, Any]) -> dict[type, str]:
    """Return the public classes with their names, sorted by name."""
    found: dict[type, str] = {}
    for namespace in (*FIRST, *namespaces.NAMESPACES):
        for name, cls in namespaces.classes(namespace):
            found.setdefault(cls, f"{namespace}.{name}")
    return {c: n for c, n in sorted(found.items(), key=lambda item: item[1]) if n not in rules["skip"]["classes"]}


def entries(known: dict[type, str], rules: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the classes' own rows: `bases`, `o` (the constructor's parameters) and, for modules, `forward`."""
    found: dict[str, dict[str, Any]] = {}
    for cls, name in known.items():
        entry: dict[str, Any] = {}
        bases = bases_of(cls, known, rules)
        if bases:
            entry["bases"] = bases
        constructors = _constructors(cls)
        if constructors:
            entry["o"] = [c.params for c in constructors]
        forward = _forward(cls, name, rules["modules"])
        if forward:
            entry["forward"] = forward
        found[name] = entry
    return found


def bases_of(cls: type, known: dict[type, str], rules: dict[str, Any]) -> list[str]:
    """Return the nearest public base, as a list of one or none; `rules` may say otherwise."""
    by_hand: list[str] | None = rules["bases"].get(known[cls])
    return by_hand if by_hand is not None else [known[b] for b in cls.__mro__[1:] if b in known][:1]


def _constructors(cls: type) -> list[Overload]:
    told = docstrings.letters(inspect.getdoc(cls))
    for method in ("__init__", "__new__"):
        owner = next((c for c in cls.__mro__ if method in vars(c)), object)
        if not owner.__module__.startswith("torch"):
            continue
        if owner.__module__.startswith("torch._C") or not inspect.isfunction(inspect.unwrap(vars(owner)[method])):
            found = stubs.overloads(owner.__name__, method)
        else:
            overload = from_callable(cls.__name__, getattr(owner, method), method=True)
            found = [overload] if overload is not None else []
        if found:
            return [Overload(o.name, docstrings.typed(o.params[1:], told), o.returns) for o in found]
    own = [m for m in ("__init__", "__new__") if any(m in vars(c) for c in cls.__mro__[:-1])]
    return [] if own or issubclass(cls, (tuple, dict, list)) else [Overload(cls.__name__, [], "self")]


def _forward(cls: type, name: str, rules: dict[str, list[str]]) -> dict[str, Any] | None:
    """What calling a module does. Modules of torch.nn give a tensor where nothing else is said."""
    import torch

    forward = getattr(cls, "forward", None)
    if not issubclass(cls, torch.nn.Module) or forward is None or forward is torch.nn.Module.forward:
        return None
    overload = from_callable("forward", forward, method=True)
    if overload is None:
        return None
    given = "tensor" if name.count(".") == 2 and name.startswith("torch.nn.") else "unknown"
    returns = overload.returns if overload.returns != "unknown" else given
    row: dict[str, Any] = {"o": [overload.params[1:]], "r": returns}
    if returns != "unknown":
        file = cls.__module__.rpartition(".")[2]
        row["dt"] = "same" if file in rules["same_dtype"] else "float"
        row["nd"] = "like" if file in rules["like"] else "unknown"
    return row


def methods(known: dict[type, str], rules: dict[str, Any], result: Callable[[str], str | None]) -> dict[str, Any]:
    """Return the rows of the classes' methods, `without_repeats` of what they inherit to be called on them."""
    rows: dict[str, dict[str, Any]] = {}
    bases = {name: bases_of(cls, known, rules) for cls, name in known.items()}
    # bases first; those that only `rules` know are no deeper than what they are the base of
    for cls, name in sorted(known.items(), key=lambda i: (bool(rules["bases"].get(i[1])), len(i[0].__mro__), i[1])):
        for method, value in _own_methods(cls, known):
            above = _inherited(bases[name], method, bases, rows)
            if above is not None and name in rules["bases"]:
                continue
            rows[f"{name}.{method}"] = _method_row(cls, f"{name}.{method}", value, above, rules, result)
    return rows


def without_repeats(rows: dict[str, Any], classes_: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Leave out the rows of methods that are as inherited: what is said of a base's method then holds for them, too."""
    bases = {name: entry.get("bases", []) for name, entry in classes_.items()}
    kept = {}
    for name, row in rows.items():
        owner, _, method = name.rpartition(".")
        if _inherited(bases[owner], method, bases, rows) != row:
            kept[name] = row
    return kept


def _inherited(
    names: list[str], method: str, bases: dict[str, list[str]], rows: dict[str, dict[str, Any]]
) -> dict[str, Any] | None:
    for name in names:
        row = rows.get(f"{name}.{method}") or _inherited(bases.get(name, []), method, bases, rows)
        if row is not None:
            return row
    return None


def _own_methods(cls: type, known: dict[type, str]) -> Iterator[tuple[str, Any]]:
    """Yield the public methods that a class defines, or gets from a base that is not public."""
    import torch

    found: dict[str, Any] = {}
    for owner in cls.__mro__:
        if owner is not cls and (owner in known or owner is torch.Tensor):
            break
        if not owner.__module__.startswith("torch"):
            continue
        for name, value in vars(owner).items():
            called = (inspect.isroutine(value) and callable(value)) or isinstance(value, (staticmethod, classmethod))
            if called and not name.startswith("_") and name != "forward":  # that is in the class's own row
                found.setdefault(name, value)
    yield from sorted(found.items())


def _method_row(
    cls: type,
    name: str,
    value: Any,
    above: dict[str, Any] | None,
    rules: dict[str, Any],
    result: Callable[[str], str | None],
) -> dict[str, Any]:
    short = name.rpartition(".")[2]
    overloads = _overloads(cls, short, value)
    if not overloads:
        return dict(above) if above is not None else {"r": "unknown"}
    returns = [o.returns for o in overloads]
    function = getattr(value, "__func__", value)
    if returns == ["unknown"] and inspect.isfunction(function):
        returns = [returned(function, result) or _compiled_result(cls, short) or "unknown"]
    by_hand = by_hand_rule(rules["returns"], name)
    returns = [by_hand] * len(returns) if by_hand is not None else returns
    row: dict[str, Any] = {"o": [o.params for o in overloads]}
    if above is not None and len(overloads) == 1:
        row["o"] = [_learned(row["o"][0], above["o"][0])] if len(above.get("o", ())) == 1 else row["o"]
        if returns == ["unknown"] and "ro" not in above:
            returns = [above.get("r", "tensor")]
    if len(set(returns)) > 1:
        row["ro"] = returns
    elif returns[0] != "tensor":
        row["r"] = returns[0]
    if any(r.startswith(("tensor", "list")) for r in returns):
        device = by_hand_rule(rules["device"], name) or device_rule(overloads)
        if device != "like":
            row["dev"] = device
        inherited = above.get("dt", "same") if above is not None and row["o"] == above.get("o") else "unknown"
        row["dt"] = by_hand_rule(rules["dtype"], name) or inherited
        row["nd"] = by_hand_rule(rules["ndim"], name) or "unknown"
        row = {k: v for k, v in row.items() if (k, v) != ("dt", "same")}
    return row


def _compiled_result(cls: type, name: str) -> str | None:
    """Return the kind that the compiled method gives which a Python method overrides."""
    kinds = {
        o.returns for c in cls.__mro__ if c.__module__.startswith("torch._C") for o in stubs.overloads(c.__name__, name)
    }
    return kinds.pop() if len(kinds) == 1 else None


def _learned(params: list[str], above: list[str]) -> list[str]:
    """Return parameters with the types that they have in the method which this one overrides.

    One of another name at the same place is the same one: nearly all calls are positional, and what is said of the
    base's parameter then holds here, too.
    """
    names, names_above = ([p.partition(":")[0] for p in ps] for ps in (params, above))
    found = []
    for place, param in enumerate(params):
        name, _, rest = param.partition(":")
        untyped = rest[:1] == "o" and rest[1:2] in ("", "=")
        renamed = len(params) == len(above) and name not in names_above and names_above[place] not in names
        at = names_above.index(name) if name in names_above else place if renamed else None
        if at is None or not untyped:
            found.append(param)
        else:
            kind = above[at].partition(":")[2].partition("=")[0]
            found.append(f"{names_above[at]}:{kind}{rest[1:]}")
    return found


def _overloads(cls: type, name: str, value: Any) -> list[Overload]:
    """Return a method's overloads without the receiver."""
    receiver = 0 if isinstance(value, staticmethod) else 1
    function = getattr(value, "__func__", value)
    owner = next(c for c in cls.__mro__ if name in vars(c))
    found = stubs.overloads(owner.__name__, name) if not inspect.isfunction(inspect.unwrap(function)) else []
    if found:
        return [Overload(o.name, o.params[receiver:], o.returns) for o in found]
    overload = from_callable(name, function, method=bool(receiver))
    if overload is None or not inspect.isroutine(function) or not inspect.isfunction(inspect.unwrap(function)):
        told = stubs.of_docstring(name, getattr(function, "__doc__", None), False)
        overload = told[0] if told else overload
    return [Overload(name, overload.params[receiver:], overload.returns)] if overload is not None else []
