"""Several small uploads of one function as one: a suggestion with code, which a person has to put in place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import libcst as cst

from syncfinder.rules.rewrites.calls import by_name
from syncfinder.rules.rewrites.operands import is_path, short, text
from syncfinder.rules.wording import Spot, dotted

FEWEST = 3


def packed(spots: Iterable[Spot]) -> Iterator[tuple[Spot, str]]:
    """Yield, for the first of several lists that one function uploads alike, how to upload them together.

    Alike are lists that are uploaded once, to one device with one dtype, and bound to names.
    """
    groups: dict[tuple[str | None, str, str], list[tuple[Spot, str, str]]] = {}
    for spot in sorted(spots, key=lambda s: (s.site.span.line, s.site.span.column)):
        parts = _parts(spot)
        if parts is not None:
            target, data, device, dtype = parts
            groups.setdefault((spot.site.function, device, dtype), []).append((spot, target, data))
    for (function, device, dtype), group in groups.items():
        if len(group) >= FEWEST:
            yield group[0][0], _code(function, group, device, dtype)


def _parts(spot: Spot) -> tuple[str, str, str, str] | None:
    """Return the code of the target, the data, the device and the dtype of `target = torch.tensor(data, ...)`."""
    call, statement, facts = spot.node, spot.parent, spot.site.facts
    if not isinstance(call, cst.Call) or not isinstance(statement, cst.Assign) or len(statement.targets) != 1:
        return None
    if dotted(call.func) != "torch.tensor" or facts.get("data") != "list" or facts.get("loop"):
        return None
    given, target = by_name(call, ("data",)), statement.targets[0].target
    if given is None or given.keys() - {"data", "device", "dtype"} or not {"data", "device"} <= given.keys():
        return None
    data = given["data"].value
    made = facts.get("known", {}).get("made")
    if not is_path(target) or not is_path(data) or made is None or made.ndim not in (1, None):
        return None
    dtype = text(given["dtype"].value) if "dtype" in given else ""
    return text(target), text(data), text(given["device"].value), dtype


def _code(function: str | None, group: list[tuple[Spot, str, str]], device: str, dtype: str) -> str:
    targets = ", ".join(target for _, target, _ in group)
    data = ", ".join(f"*{data}" for _, _, data in group)
    sizes = ", ".join(f"len({data})" for _, _, data in group)
    options = ", ".join([*([f"dtype={dtype}"] if dtype else []), "pin_memory=True"])
    needs = "flat lists" if dtype else "flat lists of one dtype"
    name = (function or "<module>").rpartition(".")[2]
    return (
        f"or upload the {len(group)} lists of `{name}` at once, if they are {needs}:\n"
        f"packed = torch.tensor([{data}], {options}).to({short(device)}, non_blocking=True)\n"
        f"{targets} = packed.split([{sizes}])"
    )
