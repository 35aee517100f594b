"""Generate `data/api-*.json` from the installed torch: run `python -m syncfinder.torchmodel.generate`.

It needs torch, pyyaml and expecttest. Signatures come from torch's operator schemas; what these lack, from the type
stubs and from the signatures of Python functions. Device rules come from the signatures; dtype and ndim rules from
running torch's own sample inputs on the CPU (`sampling.py`), and from `data/rules.toml`.
"""

from __future__ import annotations

import importlib
import inspect
import json
import pathlib
import re
import sys
from collections.abc import Callable, Iterable
from typing import Any

from syncfinder.torchmodel import sampling, stubs
from syncfinder.torchmodel.signatures import Overload, from_callable, from_schema

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

DATA = pathlib.Path(__file__).parent / "data"
# public namespace -> prefix of its operators in the schemas
NAMESPACES = {
    "torch": "",
    "torch.Tensor": "",
    "torch.nn.functional": "",
    "torch.linalg": "linalg_",
    "torch.fft": "fft_",
    "torch.special": "special_",
    "torch.sparse": "sparse_",
    "torch.nested": "nested_",
    "torch.signal.windows": "",
    "torch.masked": "",
}
SCHEMA_MODULE = {
    "torch.nn.functional": "nn",
    "torch.linalg": "linalg",
    "torch.fft": "fft",
    "torch.special": "special",
    "torch.sparse": "sparse",
    "torch.nested": "nested",
}


def main() -> None:
    """Write the table of the installed torch version."""
    import torch

    version = ".".join(torch.__version__.split(".")[:2])
    rules = tomllib.loads((DATA / "rules.toml").read_text(encoding="utf-8"))
    schemas, pointwise = read_schemas()
    sampled = sampling.measure()
    rows: dict[str, Any] = {}
    for namespace in NAMESPACES:
        for name, function in public(namespace):
            if name.startswith(tuple(rules["skip"]["prefixes"])):
                continue
            row = build(namespace, name, function, schemas)
            rows[f"{namespace}.{name}"] = row
            apply_rules(row, namespace, name, rules, pointwise, sampled)
    table = {
        "torch": version,
        "attributes": stubs.attributes(),
        "classes": dict(module_classes(rules["modules"])),
        "rows": dict(sorted(rows.items())),
    }
    text = json.dumps(table, separators=(",", ":")).replace('},"torch', '},\n"torch')
    (DATA / f"api-{version}.json").write_text(text + "\n", encoding="utf-8")
    print(f"{len(rows)} rows, {len(text) // 1000} kB")


def public(namespace: str) -> Iterable[tuple[str, Callable[..., Any]]]:
    """Yield the public callables of a namespace that are not classes."""
    import torch

    owner: Any = torch
    for part in namespace.split(".")[1:]:
        owner = getattr(owner, part)
    for name in sorted(dir(owner)):
        if name.startswith("_") or name.endswith(("_backward", "_backward_data")):
            continue
        value = inspect.getattr_static(owner, name) if namespace == "torch.Tensor" else getattr(owner, name)
        if callable(value) and not isinstance(value, type) and not _foreign(namespace, value):
            yield name, value


def _foreign(namespace: str, value: object) -> bool:
    """Helpers that a namespace imported for its own use: typing, warnings, torch.overrides."""
    module = getattr(value, "__module__", None) or ""
    own = namespace.rpartition(".")[0] if namespace == "torch.Tensor" else namespace
    return bool(module) and not module.startswith(
        (
            "torch._C",
            own,
            "torch.functional",
            "torch._",
            "torch.signal",
            "torch.masked",
            "torch.nn.functional",
            "builtins",
        )
    )


def read_schemas() -> tuple[dict[tuple[str, str], list[Overload]], set[str]]:
    """Return the overloads by (python module or "torch" or "Tensor", operator name), and the pointwise operators."""
    torchgen, yaml = importlib.import_module("torchgen"), importlib.import_module("yaml")

    path = pathlib.Path(str(torchgen.__file__)).parent / "packaged" / "ATen" / "native" / "native_functions.yaml"
    entries = yaml.load(path.read_text(encoding="utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    found: dict[tuple[str, str], list[Overload]] = {}
    pointwise: set[str] = set()
    for entry in entries:
        overload = from_schema(entry["func"])
        if overload is None:
            continue
        tags = entry.get("tags", [])
        if "pointwise" in tags:
            pointwise.add(overload.name)
        if "python_module" in entry:
            found.setdefault((entry["python_module"], overload.name), []).append(overload)
        variants = entry.get("variants", "function")
        for variant, owner in (("function", "torch"), ("method", "Tensor")):
            if variant in variants and ("python_module" not in entry or variant == "method"):
                found.setdefault((owner, overload.name), []).append(overload)
    return found, pointwise


def build(
    namespace: str, name: str, function: Callable[..., Any], schemas: dict[tuple[str, str], list[Overload]]
) -> dict[str, Any]:
    """Return a row with overloads and returns from the best source there is."""
    overloads: list[Overload] = []
    if not inspect.isfunction(function):
        module = {"torch": "torch", "torch.Tensor": "Tensor"}.get(namespace) or SCHEMA_MODULE.get(namespace, "")
        overloads = schemas.get((module, NAMESPACES[namespace] + name), [])
        if not overloads and namespace != "torch.Tensor":
            overloads = schemas.get(("torch", name), []) or schemas.get(("nn", name), [])
        if not overloads:
            overloads = stubs.overloads("Tensor" if namespace == "torch.Tensor" else "torch", name)
    if not overloads and inspect.isfunction(function):
        overloads = stubs.overloads("Tensor", name) if namespace == "torch.Tensor" else []
        overload = from_callable(name, function, method=namespace == "torch.Tensor")
        overloads = overloads or ([overload] if overload is not None else [])
    if not overloads:
        return {"r": "unknown", "nd": "unknown", "dt": "unknown"}
    rename = namespace != "torch.Tensor"  # the Python binding calls a function's self `input`
    row: dict[str, Any] = {"o": [[re.sub("^self:", "input:", p) if rename else p for p in o.params] for o in overloads]}
    returns = [o.returns for o in overloads]
    if len(set(returns)) > 1:
        row["ro"] = returns
    elif returns[0] != "tensor":
        row["r"] = returns[0]
    device = device_rule(overloads)
    if device != "like" and any(r.startswith(("tensor", "list")) for r in returns):
        row["dev"] = device
    return row


def device_rule(overloads: list[Overload]) -> str:
    """Return where the result lives: a `device` parameter decides, else the inputs."""
    params = [p for o in overloads for p in o.params]
    takes_device = any(p.startswith("device:d") for p in params)
    takes_tensor = any(p.partition(":")[2].startswith("T") for p in params)
    if takes_device:
        return "like/device=" if takes_tensor else "device="
    return "like"


def apply_rules(
    row: dict[str, Any],
    namespace: str,
    name: str,
    rules: dict[str, Any],
    pointwise: set[str],
    sampled: dict[str, sampling.Rule],
) -> None:
    """Add the dtype and ndim rules: kept by hand, else seen on the samples, else from the schema's tags."""
    qualified = f"{namespace}.{name}"
    operator = NAMESPACES[namespace] + name
    base = operator[:-1] if operator.endswith("_") and namespace == "torch.Tensor" else operator
    rule = (
        sampled.get(qualified)
        or (sampled.get("torch." + base) if namespace == "torch.Tensor" else None)
        or sampling.Rule()
    )
    dtype, ndim = rule.dtype, rule.ndim
    if operator in pointwise or base in pointwise or base + "_" in pointwise:
        ndim = "same" if ndim is None else ndim
    in_place = row.get("r") == "self"
    if in_place:
        dtype, ndim = "like", "like"
    if row.get("dev", "").endswith("device=") and dtype is None:
        dtype = "dtype=" if row["dev"] == "device=" else "dtype=/same"
    dtype = (None if in_place else _by_hand(rules["dtype"], qualified, base)) or dtype or "unknown"
    ndim = _by_hand(rules["ndim"], qualified, base) or ndim or "unknown"
    if dtype != "same":
        row["dt"] = dtype
    if ndim != "same":
        row["nd"] = ndim
    by_parameter = rules["overloads"].get(base)
    if by_parameter and "ro" in row:
        row["ndo"] = [
            next((by_parameter[q] for p in o[1:2] if (q := p.partition(":")[0]) in by_parameter), ndim)
            for o in row["o"]
        ]
    elements = rules["elements"].get(base) or rule.dtypes
    if elements:
        row["dts"] = list(elements)


def _by_hand(table: dict[str, list[str]], qualified: str, base: str) -> str | None:
    return next((rule for rule, names in table.items() if qualified in names or base in names), None)


def module_classes(rules: dict[str, list[str]]) -> Iterable[tuple[str, dict[str, Any]]]:
    """Yield torch's public classes that the interpreter may construct: constructor, bases and, for modules, forward."""
    import torch

    owners = (torch.nn, torch.distributions, torch.optim, torch.optim.lr_scheduler)
    known: dict[type, str] = {}
    for owner in owners:
        for name, value in vars(owner).items():
            if (
                isinstance(value, type)
                and not name.startswith("_")
                and value.__module__.startswith(owner.__name__.rpartition(".lr_")[0] or owner.__name__)
            ):
                known.setdefault(value, f"{owner.__name__}.{name}")
    for cls, name in sorted(known.items(), key=lambda item: item[1]):
        entry: dict[str, Any] = {}
        bases = [known[b] for b in cls.__mro__[1:] if b in known][:1]
        if bases:
            entry["bases"] = bases
        constructor = from_callable(cls.__name__, inspect.getattr_static(cls, "__init__"), method=True)
        if constructor is not None:
            entry["o"] = [constructor.params[1:]]
        forward = getattr(cls, "forward", None)
        if issubclass(cls, torch.nn.Module) and forward is not None and forward is not torch.nn.Module.forward:
            overload = from_callable("forward", forward, method=True)
            if overload is not None:
                returns = overload.returns if overload.returns != "unknown" else "tensor"
                file = cls.__module__.rpartition(".")[2]
                ndim = "like" if file in rules["like"] else "unknown"
                entry["forward"] = {
                    "o": [overload.params[1:]],
                    "r": returns,
                    "dt": "same" if file in rules["same_dtype"] else "float",
                    "nd": ndim,
                }
        yield name, entry


if __name__ == "__main__":
    main()
