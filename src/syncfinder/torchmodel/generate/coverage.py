"""How much of torch's public API the tables tell: `sources/coverage.json`. It needs no torch."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from syncfinder.torchmodel.generate.namespaces import NAMESPACES

# a wrapper's `*args, **kwargs` say nothing
ANYTHING = [["args:o="]]


def report(api: Mapping[str, Any], overlay: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return, per namespace, how many callables are public, how many of them are covered, and the names of the rest.

    Covered is a callable whose signature and result are known; of a class, the constructor's signature. The methods of
    a namespace's classes are counted apart, in the class that defines them.
    """
    counted: dict[str, dict[str, Any]] = {}
    for name, signature, result in sorted(_callables(api, overlay)):
        owner = max((n for n in NAMESPACES if name.startswith(n + ".")), key=len)
        short = name[len(owner) + 1 :]
        owner += " (methods of its classes)" if "." in short else ""
        entry = counted.setdefault(
            owner, {"public": 0, "covered": 0, "result_unknown": 0, "no_signature": [], "unknown": []}
        )
        entry["public"] += 1
        entry["covered"] += signature and result
        entry["result_unknown"] += not result
        if not result:
            entry["unknown"].append(short)
        elif not signature:
            entry["no_signature"].append(short)
    return dict(sorted(counted.items()))


def serialised(reports: Mapping[str, Any]) -> str:
    """Return the reports by version as JSON, one namespace a line."""
    versions = []
    for version, report_ in reports.items():
        lines = [f"  {json.dumps(n)}: {json.dumps(e, separators=(',', ':'))}" for n, e in report_.items()]
        versions.append(f"{json.dumps(version)}: {{\n" + ",\n".join(lines) + "\n}")
    return "{\n" + ",\n".join(versions) + "\n}\n"


def _callables(api: Mapping[str, Any], overlay: Mapping[str, Any]) -> Iterator[tuple[str, bool, bool]]:
    """Yield name, whether the signature is known, and whether the result is."""
    for name, row in api["rows"].items():
        merged = {**row, **overlay.get("rows", {}).get(name, {})}
        results = merged.get("ro") or [merged.get("r", "tensor")]
        yield name, merged.get("o") not in (None, ANYTHING), "unknown" not in results
    for name, entry in api["classes"].items():
        merged = {**entry, **overlay.get("classes", {}).get(name, {})}
        yield name, "o" in merged, True
        if "forward" in merged:
            yield name + ".forward", True, merged["forward"].get("r", "tensor") != "unknown"
