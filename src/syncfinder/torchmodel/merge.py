"""Merge what `sources/` holds into `data/torch-*.json`, the tables that the interpreter loads.

Run `python -m syncfinder.torchmodel.merge` after a change of the sources. The generated API gives signatures and
results, the overlay what no generator can see, the evidence when the host waits, and `effects.toml` how a wait is
called and worded. An effect's condition must tell the measured calls that waited from those that did not.
"""

from __future__ import annotations

import json
import pathlib
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from syncfinder.torchmodel.conditions import (
    Call,
    bind,
    elements,
    holds,
    is_tensor,
    on_gpu,
    reads_number,
    separate,
    size_of,
    text,
)
from syncfinder.torchmodel.model import Model, term

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = pathlib.Path(__file__).parent
SOURCES, DATA = HERE / "sources", HERE / "data"
# how a wait is worded that only the measurement knows
UNNAMED = {"kind": "check", "words": "it was measured to wait for the GPU"}
# a condition found in fewer calls of either kind says too little
ENOUGH = 3
KEPT = (
    "attributes",
    "dtypes",
    "aliases",
    "distinctive",
    "numpy_methods",
    "weak_methods",
    "flags",
    "limits",
    "tensor_classes",
    "result_fields",
    "module_parameters",
)


@dataclass(slots=True)
class Findings:
    """What the merge found: per callable its calls, effects and disagreements."""

    seen: dict[str, list[int]] = field(default_factory=dict)
    effects: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    disagreements: dict[str, list[str]] = field(default_factory=dict)
    unseen: list[str] = field(default_factory=list)
    unexplained: list[str] = field(default_factory=list)
    found: dict[str, str] = field(default_factory=dict)
    contradictions: list[str] = field(default_factory=list)
    beyond: dict[str, str] = field(default_factory=dict)


def main() -> int:
    """Write all tables and the report."""
    tables, report = merge()
    DATA.mkdir(exist_ok=True)
    for version, table in tables.items():
        (DATA / f"torch-{version}.json").write_text(table, encoding="utf-8")
        print(f"torch {version}: {len(table) // 1000} kB")
    (SOURCES / "report.md").write_text(report, encoding="utf-8")
    return 0


def merge() -> tuple[dict[str, str], str]:
    """Return the tables by torch version, as text, and the report in Markdown."""
    overlay, stated = _toml("overlay.toml"), _toml("effects.toml")
    evidence = {v: _json(p) for p in sorted(SOURCES.glob("measured-*.json")) for v in [p.stem.split("-")[1]]}
    measured_version = max(evidence, key=_number) if evidence else None
    apis = {p.stem.partition("-")[2]: _json(p) for p in SOURCES.glob("api-*.json")}
    bare = {v: _table(api, overlay) for v, api in apis.items()}
    findings = Findings()
    measured = Model(bare[measured_version]) if measured_version is not None else None
    if measured_version is not None and measured is not None:
        findings = judge(measured, apis[measured_version], evidence[measured_version], stated)
    tables = {}
    for version in sorted(bare, key=_number):
        table = bare[version]
        model = Model(table)
        # a name without a row is kept: the interpreter's own overlay, or another package
        gone = {n for n in findings.effects if measured is not None and _lost(n, model, measured)}
        table["effects"] = {n: e for n, e in findings.effects.items() if n not in gone}
        table["quiet"] = _quiet(stated)
        if measured_version is not None:
            proof = evidence[measured_version]
            table["evidence"] = {k: proof[k] for k in ("gpu", "driver", "torch", "cuda", "date")}
            table["seen"] = {n: s for n, s in findings.seen.items() if n not in gone}
        text = json.dumps(table, separators=(",", ":"), sort_keys=True)
        tables[version] = text.replace('},"torch', '},\n"torch').replace('],"torch', '],\n"torch') + "\n"
    return tables, _report(findings, evidence.get(measured_version or "", {}))


def judge(model: Model, api: Mapping[str, Any], evidence: Mapping[str, Any], stated: Mapping[str, Any]) -> Findings:
    """Compare the stated effects with the measured calls, and find conditions for what nobody stated."""
    findings = Findings(beyond={n: e["why"] for e in stated.get("beyond", ()) for n in e["on"]})
    effects: dict[str, list[dict[str, Any]]] = {}
    for entry in stated["effect"]:
        kept = {k: v for k, v in entry.items() if k != "on"}
        for name in entry["on"]:
            for inherited in (name, *_overriding(model, name)):
                effects.setdefault(inherited, []).append(kept)
    quiet = _quiet(stated)
    calls = measured_calls(model, evidence, effects)
    for name in sorted({*calls, *effects}):
        mine = [c for c in calls.get(name, ()) if c.waits or not (_empty(c) or _elsewhere(c))]
        waits = sum(c.waits for c in mine)
        if mine:
            findings.seen[name] = [waits, len(mine) - waits]
        if name in effects:
            findings.effects[name] = effects[name]
            if not waits and name not in findings.beyond and not all(e.get("read_only") for e in effects[name]):
                findings.unseen.append(name)
            _compare(name, mine, effects[name], quiet.get(name, ()), findings)
        elif waits and name.startswith("torch.") and name not in (*stated["by_interpreter"], *findings.beyond):
            _explain(name, [c for c in mine if not reads_number(c, quiet.get(name, ()))], findings)
    _contradict(api, findings)
    return findings


def _overriding(model: Model, name: str) -> Iterable[str]:
    """The methods of derived classes that override a class's method: what it checks, they check."""
    owner, _, method = name.rpartition(".")
    if model.library_class(owner) is None or method == "forward":
        return
    for cls in model.class_names():
        if cls != owner and model.row(f"{cls}.{method}") is not None and owner in _ancestors(model, cls):
            yield f"{cls}.{method}"


def _ancestors(model: Model, cls: str) -> set[str]:
    found = model.library_class(cls)
    return {a for base in (found.bases if found else ()) for a in (base, *_ancestors(model, base))}


def measured_calls(model: Model, evidence: Mapping[str, Any], stated: Iterable[str] = ()) -> dict[str, list[Call]]:
    """Return the measured calls by the tables' names, with their arguments bound to parameters.

    An inherited method counts for the class that defines it, unless it is `stated` for itself.
    """
    found: dict[str, list[Call]] = {}
    for written, entries in evidence["calls"].items():
        name = _canonical(model, written)
        owner, _, method = name.rpartition(".")
        library = model.library_class(owner) or model.library_class(name)
        if library is not None and name not in stated and model.row(name) is None:
            inherited = library.method(method)
            name = inherited.name if inherited is not None else name
        for arguments, init, waits, *_ in entries:
            bound, parameters = bind(model.row(name), arguments)
            made, made_parameters = bind(library.constructor if library else None, init or {})
            mode = str((init or {}).get("mode", ""))
            found.setdefault(name, []).append(Call(bound, made, waits, parameters, mode, made_parameters))
    return found


def _canonical(model: Model, written: str) -> str:
    """A method's class may be written with the file it is defined in."""
    name = model.canonical(written)
    if name == written and model.row(name) is None:
        owner, _, method = written.rpartition(".")
        name = f"{model.canonical(owner)}.{method}"
    return name


def _empty(call: Call) -> bool:
    """A call on tensors without elements has nothing to wait for."""
    return any(on_gpu(v) and size_of(v) == 0 for v in call.arguments.values())


def _elsewhere(call: Call) -> bool:
    """A call on tensors of the host alone says nothing about the GPU, unless it names a device."""
    given = [*call.arguments.values(), *call.init.values()]
    tensors = [e for v in given for e in elements(v) if is_tensor(e)]
    return bool(tensors) and not any(on_gpu(t) for t in tensors) and "device" not in call.arguments


def _compare(
    name: str, calls: Iterable[Call], effects: list[dict[str, Any]], quiet: Iterable[str], findings: Findings
) -> None:
    conditions = [tuple(term(t) for t in e.get("when", ())) for e in effects]
    for call in calls if name not in findings.beyond else ():
        expected = any(holds(c, call) for c in conditions) or reads_number(call, quiet)
        if expected != call.waits:
            what = "waited, and no condition holds" if call.waits else "did not wait, and a condition holds"
            findings.disagreements.setdefault(f"`{name}` {what}", []).append(_shown(call))


def _explain(name: str, calls: list[Call], findings: Findings) -> None:
    """Find the condition of a wait that nobody stated."""
    if not any(c.waits for c in calls):
        return
    found = separate(calls)
    few = min(sum(c.waits for c in calls), sum(not c.waits for c in calls)) < ENOUGH
    if found is None or (found != [()] and few):
        findings.unexplained.append(f"`{name}`: {sum(c.waits for c in calls)} of {len(calls)} calls waited")
        return
    findings.effects[name] = [{**UNNAMED, **({"when": [text(t) for t in c]} if c else {})} for c in found]
    findings.found[name] = " or ".join(" and ".join(text(t) for t in c) or "always" for c in found)


def _contradict(api: Mapping[str, Any], findings: Findings) -> None:
    """Where a schema's tags say data-dependent and no measured call waited, or the other way round."""
    tagged = {n: row["tags"] for n, row in api["rows"].items() if "tags" in row}
    for name, tags in sorted(tagged.items()):
        waits, silent = findings.seen.get(name, (0, 0))
        if silent and not waits:
            findings.contradictions.append(f"`{name}` is tagged {', '.join(tags)}; none of {silent} calls waited")
    for name in sorted(findings.effects):
        waits, _ = findings.seen.get(name, (0, 0))
        if waits and name in api["rows"] and name not in tagged:
            findings.contradictions.append(f"`{name}` has no such tag; {waits} calls waited")


def _shown(call: Call) -> str:
    parts = [f"{k}={_short(v)}" for k, v in call.arguments.items()] + [
        f"init {k}={_short(v)}" for k, v in call.init.items()
    ]
    return ", ".join(parts) + (f" ({call.mode})" if call.mode else "")


def _short(value: Any) -> str:
    if isinstance(value, dict) and "t" in value:
        place, dtype, shape = value["t"]
        return f"{place} {dtype}{shape}"
    if isinstance(value, dict) and "l" in value:
        return "[" + ", ".join(_short(v) for v in value["l"][:3]) + "]"
    return json.dumps(value)


def _table(api: Mapping[str, Any], overlay: Mapping[str, Any]) -> dict[str, Any]:
    """Lay the overlay over the generated rows and classes."""
    table: dict[str, Any] = {"torch": api["torch"]}
    for key in KEPT:
        kept = overlay.get(key, {})
        table[key] = {**api.get(key, {}), **kept} if isinstance(kept, dict) else list(kept)
    table["classes"] = {k: dict(v) for k, v in api["classes"].items()}
    for name, entry in overlay.get("classes", {}).items():
        table["classes"].setdefault(name, {}).update(entry)
    rows = {n: {k: v for k, v in row.items() if k != "tags"} for n, row in api["rows"].items()}
    for name, kept in overlay.get("rows", {}).items():
        rows[name] = {**(rows.get(name) or _of_class(table["classes"], name) or {}), **kept}
    table["rows"] = rows
    return table


def _of_class(classes: Mapping[str, Any], name: str) -> dict[str, Any] | None:
    return {"r": "unknown", "o": classes[name].get("o", ())} if name in classes else None


def _lost(name: str, model: Model, measured: Model) -> bool:
    return model.row(name) is None and measured.row(name) is not None


def _quiet(stated: Mapping[str, Any]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for entry in stated.get("quiet", ()):
        for name in entry["on"]:
            found.setdefault(name, []).append(entry["argument"])
    return found


def _report(findings: Findings, evidence: Mapping[str, Any]) -> str:
    """What a reader of the tables should know: gaps, disagreements, and where tags and measurement differ."""
    on = (
        f"{evidence.get('gpu')}, driver {evidence.get('driver')}, torch {evidence.get('torch')}, {evidence.get('date')}"
    )
    waits = sum(1 for w, _ in findings.seen.values() if w)
    lines = [
        "# The torch model: evidence and contradictions",
        "",
        "Written by `python -m syncfinder.torchmodel.merge`.",
        "",
    ]
    lines += [f"Measured on {on}: {len(findings.seen)} callables, of which {waits} made the host wait.", ""]
    sections = (
        ("Waits that no measured call showed", [f"`{n}`" for n in findings.unseen]),
        (
            "Measured calls that the stated condition does not explain",
            [f"{what}, {len(calls)} times, such as: {calls[0]}" for what, calls in findings.disagreements.items()],
        ),
        ("Waits that only a run can tell", [f"`{n}`: {why}" for n, why in sorted(findings.beyond.items())]),
        ("Conditions found by the comparison of measured calls", [f"`{n}`: {c}" for n, c in findings.found.items()]),
        ("Waits without a condition that few terms can tell", findings.unexplained),
        ("Schema tags and measurement differ", findings.contradictions),
    )
    for title, entries in sections:
        lines += [f"## {title} ({len(entries)})", "", *(f"- {e}" for e in entries), *([""] if entries else [])]
    passes = [
        f"`{n}`: {c['waits']} of {c['waits'] + c['free']}"
        for n, c in evidence.get("backward", {}).items()
        if c["waits"]
    ]
    lines += [f"## Backward passes that waited ({len(passes)})", "", *(f"- {p}" for p in passes)]
    return "\n".join(lines).rstrip() + "\n"


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def _toml(name: str) -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((SOURCES / name).read_text(encoding="utf-8"))
    return found


def _json(path: pathlib.Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_bytes())
    return found


if __name__ == "__main__":
    sys.exit(main())
