"""Generate `sources/api-*.json` from the installed torch: run `python -m syncfinder.torchmodel.generate`.

It needs torch, numpy, scipy, pyyaml, expecttest and packaging. Signatures come from torch's operator schemas; what
these lack, from the type stubs, from the signatures of Python functions and from docstrings. Device rules come from
the signatures; dtype and ndim rules from running torch's own sample inputs on the CPU (`sampling.py`), and from
`sources/rules.toml`.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import json
import pathlib
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from syncfinder.torchmodel.generate import coverage, libraries, namespaces, sampled_classes, sampling, stubs
from syncfinder.torchmodel.generate.namespaces import NAMESPACES, SCHEMA_MODULE
from syncfinder.torchmodel.generate.returns import returned
from syncfinder.torchmodel.generate.signatures import Overload, by_hand_rule, device_rule, from_callable, from_schema

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = pathlib.Path(__file__).parent
SOURCES = HERE.parent / "sources"
RULES = SOURCES / "rules.toml"
TAGS = ("data_dependent_output", "dynamic_output_shape")


def digest() -> str:
    """Return what identifies the generator: a hash over its own files and the rules. It needs no torch."""
    whole = hashlib.sha256()
    for part in [*sorted(HERE.glob("*.py")), RULES]:
        whole.update(part.name.encode() + b"\0" + part.read_bytes().replace(b"\r\n", b"\n") + b"\0")
    return whole.hexdigest()


def main() -> None:
    """Write the table of the installed torch version, and its part of the coverage report."""
    table = generate()
    version = table["torch"]
    text = serialised(table)
    (SOURCES / f"api-{version}.json").write_text(text, encoding="utf-8")
    covered = write_coverage(version, table)
    print(f"torch {table['torch_full']}: {len(table['rows'])} rows, {len(text) // 1000} kB")
    for namespace, entry in covered.items():
        print(f"{namespace:36} {entry['covered']:4} of {entry['public']:4}  {entry['covered'] / entry['public']:.1%}")


def serialised(table: dict[str, Any]) -> str:
    """Return a table as JSON, one row a line."""
    return json.dumps(table, separators=(",", ":")).replace('},"torch', '},\n"torch') + "\n"


def write_coverage(version: str, table: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Replace one version's part of `sources/coverage.json`, and return it."""
    path = SOURCES / "coverage.json"
    report = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    report[version] = coverage.report(table, read("overlay"))
    ordered = dict(sorted(report.items(), key=lambda item: [int(n) for n in item[0].split(".")]))
    path.write_text(coverage.serialised(ordered), encoding="utf-8")
    return dict(report[version])


def read(name: str) -> dict[str, Any]:
    """Return one of the sources that are kept by hand."""
    found: dict[str, Any] = tomllib.loads((SOURCES / f"{name}.toml").read_text(encoding="utf-8"))
    return found


@dataclass(slots=True)
class Known:
    """What the generator knows: rules by hand, schemas, pointwise operators, tags by operator, rules by samples."""

    rules: dict[str, Any]
    schemas: dict[tuple[str, str], list[Overload]] = field(default_factory=dict)
    pointwise: set[str] = field(default_factory=set)
    tags: dict[str, set[str]] = field(default_factory=dict)
    sampled: dict[str, sampling.Rule] = field(default_factory=dict)
    rows: dict[str, Any] = field(default_factory=dict)

    def result(self, name: str) -> str | None:
        """Return the kind that a callable gives, where there is one row for it and one kind."""
        row = self.rows.get(name)
        return None if row is None or "ro" in row or row.get("r") == "unknown" else row.get("r", "tensor")


def generate() -> dict[str, Any]:
    """Return the table of the installed torch version."""
    import torch

    known = Known(read("rules"))
    read_schemas(known)
    known.sampled = sampling.measure()
    for namespace in NAMESPACES:
        for name, function in namespaces.functions(namespace):
            known.rows[f"{namespace}.{name}"] = _row(namespace, name, function, known)
        for name, kind in namespaces.typed_tensors(namespace):
            known.rows[f"{namespace}.{name}"] = _typed_row(kind)
    known.rows = {n: r for n, r in known.rows.items() if n not in known.rules["skip"]["functions"]}
    classes = libraries.public_classes(known.rules)
    methods = libraries.methods(classes, known.rules, known.result)
    _add_dtypes(methods, classes)
    entries = libraries.entries(classes, known.rules)
    methods = libraries.without_repeats(methods, entries)
    return {
        "torch": ".".join(torch.__version__.split(".")[:2]),
        "torch_full": str(torch.__version__),
        "generator": digest(),
        "attributes": stubs.attributes(),
        "classes": entries,
        "rows": dict(sorted({**known.rows, **methods}.items())),
    }


def _row(namespace: str, name: str, function: Callable[..., Any], known: Known) -> dict[str, Any]:
    row, overloads = build(namespace, name, function, known)
    apply_rules(row, namespace, name, known)
    tags = sorted(set().union(*(known.tags.get(o.name, ()) for o in overloads)))
    if tags:
        row["tags"] = tags
    return row


def _typed_row(kind: Any) -> dict[str, Any]:
    """The row of a type of tensors: torch.FloatTensor(data), torch.cuda.FloatTensor(data)."""
    import torch

    word = "bool" if kind.dtype is torch.bool else "float" if kind.dtype.is_floating_point else "int"
    return {"o": [["data:o="]], "dev": "cuda" if kind.is_cuda else "host", "dt": word, "nd": "unknown"}


def _add_dtypes(methods: dict[str, Any], classes: dict[type, str]) -> None:
    """Give the methods of distributions the dtypes that were seen."""
    by_name = {n: c for c, n in classes.items()}
    for name, kind in sampled_classes.dtypes(classes).items():
        owner, _, method = name.rpartition(".")
        above = next(
            (r for c in by_name[owner].__mro__ if c in classes and (r := methods.get(f"{classes[c]}.{method}"))), None
        )
        if above is not None and above.get("r", "tensor") == "tensor":
            methods[name] = {**above, "dt": kind}


def read_schemas(known: Known) -> None:
    """Read the operators: overloads by (python module or "torch" or "Tensor", name), pointwise ones, and tags."""
    torchgen, yaml = importlib.import_module("torchgen"), importlib.import_module("yaml")

    path = pathlib.Path(str(torchgen.__file__)).parent / "packaged" / "ATen" / "native" / "native_functions.yaml"
    entries = yaml.load(path.read_text(encoding="utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    for entry in entries:
        overload = from_schema(entry["func"])
        if overload is None:
            continue
        tags = entry.get("tags", [])
        tags = [tags] if isinstance(tags, str) else tags
        if "pointwise" in tags:
            known.pointwise.add(overload.name)
        known.tags.setdefault(overload.name, set()).update(t for t in tags if t in TAGS)
        if "python_module" in entry:
            known.schemas.setdefault((entry["python_module"], overload.name), []).append(overload)
        variants = entry.get("variants", "function")
        for variant, owner in (("function", "torch"), ("method", "Tensor")):
            if variant in variants and ("python_module" not in entry or variant == "method"):
                own = receiver_first(overload) if owner == "Tensor" else overload
                known.schemas.setdefault((owner, overload.name), []).append(own)


def receiver_first(overload: Overload) -> Overload:
    """Return a method's overload as Python calls it: `self` comes first, also where the schema has it later (where)."""
    receiver = [p for p in overload.params if p.startswith("self:")]
    return replace(overload, params=receiver + [p for p in overload.params if not p.startswith("self:")])


def build(
    namespace: str, name: str, function: Callable[..., Any], known: Known
) -> tuple[dict[str, Any], list[Overload]]:
    """Return a row with overloads and returns from the best source there is, and these overloads."""
    overloads = _overloads(namespace, name, function, known.schemas)
    by_hand = by_hand_rule(known.rules["returns"], f"{namespace}.{name}")
    if not overloads:
        return {"r": by_hand or "unknown"}, []
    rename = namespace != "torch.Tensor"  # the Python binding calls a function's self `input`
    params = [[re.sub("^self:", "input:", p) if rename else p for p in o.params] for o in overloads]
    if namespace in known.rules["tensors"]:
        params = [[_named_tensor(p, known.rules["tensors"][namespace]) for p in o] for o in params]
    row: dict[str, Any] = {"o": params}
    returns = [by_hand or o.returns for o in overloads]
    if returns == ["unknown"] and inspect.isfunction(inspect.unwrap(function)):
        returns = [returned(function, known.result) or "unknown"]
    if namespace == "torch.nn.init" and name.endswith("_"):
        returns = ["self"]
    if len(set(returns)) > 1:
        row["ro"] = returns
    elif returns[0] != "tensor":
        row["r"] = returns[0]
    device = device_rule(overloads)
    if device != "like" and any(r.startswith(("tensor", "list")) for r in returns):
        row["dev"] = device
    return row, overloads


def _overloads(
    namespace: str, name: str, function: Callable[..., Any], schemas: dict[tuple[str, str], list[Overload]]
) -> list[Overload]:
    method = namespace == "torch.Tensor"
    if inspect.isfunction(function):
        overload = from_callable(name, function, method=method)
        found = stubs.overloads("Tensor", name) if method else []
        return found or ([overload] if overload is not None else [])
    found = schemas.get((SCHEMA_MODULE.get(namespace, ""), NAMESPACES[namespace] + name), [])
    if not found and namespace in SCHEMA_MODULE and not method:
        found = schemas.get(("torch", name), []) or schemas.get(("nn", name), [])
    found = found or stubs.overloads("Tensor" if method else "torch", name)
    if not found:
        found = stubs.of_docstring(name, getattr(function, "__doc__", None), method)
    overload = from_callable(name, function, method=method) if not found else None
    return [overload] if overload is not None else found


def _named_tensor(param: str, names: dict[str, str]) -> str:
    """Return a parameter whose name tells its type, where no annotation does."""
    name, _, rest = param.partition(":")
    return f"{name}:{names[name]}{rest[1:]}" if name in names and rest[:2] in ("o", "o=") else param


def apply_rules(row: dict[str, Any], namespace: str, name: str, known: Known) -> None:
    """Add the dtype and ndim rules: kept by hand, else seen on the samples, else from the schema's tags."""
    if not any(r.startswith(("tensor", "list", "self")) for r in row.get("ro", [row.get("r", "tensor")])):
        return
    qualified = f"{namespace}.{name}"
    operator = NAMESPACES[namespace] + name
    method = namespace == "torch.Tensor"
    base = operator[:-1] if operator.endswith("_") and method else operator
    rule = known.sampled.get(qualified) or (known.sampled.get("torch." + base) if method else None) or sampling.Rule()
    dtype, ndim = rule.dtype, rule.ndim
    of_schema = namespace in SCHEMA_MODULE
    if of_schema and {operator, base, base + "_"} & known.pointwise:
        ndim = "same" if ndim is None else ndim
    in_place = row.get("r") == "self"
    if in_place:
        dtype, ndim = "like", "like"
    if row.get("dev", "").endswith("device=") and dtype is None:
        dtype = "dtype=" if row["dev"] == "device=" else "dtype=/same"
    rules = known.rules
    short = base if of_schema else qualified
    dtype = (None if in_place else by_hand_rule(rules["dtype"], qualified, short)) or dtype or "unknown"
    ndim = by_hand_rule(rules["ndim"], qualified, short) or ndim or "unknown"
    device = by_hand_rule(rules["device"], qualified)
    if device is not None:
        row["dev"] = device
    if dtype != "same":
        row["dt"] = dtype
    if ndim != "same":
        row["nd"] = ndim
    by_parameter = rules["overloads"].get(base) if of_schema else None
    if by_parameter and "ro" in row:
        row["ndo"] = [
            next((by_parameter[q] for p in o[1:2] if (q := p.partition(":")[0]) in by_parameter), ndim)
            for o in row["o"]
        ]
    elements = (rules["elements"].get(base) if of_schema else None) or rule.dtypes
    if elements and any(r.startswith("tensors:") for r in row.get("ro", [row.get("r", "")])):
        row["dts"] = list(elements)
