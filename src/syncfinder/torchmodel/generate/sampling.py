"""How an operator's result relates to its inputs, seen on torch's own sample inputs on the CPU.

Used by the generator only.

A rule is kept only if every sample obeys it, and if the samples can tell it from its rivals.
"""

from __future__ import annotations

import importlib
import itertools
import random
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

SAMPLES = 40  # per dtype; more samples rarely change a rule
KINDS = ("bool", "int", "float", "complex")


@dataclass(slots=True)
class Rule:
    """What all samples agree on; None where they do not."""

    dtype: str | None = None
    ndim: str | None = None
    dtypes: tuple[str, ...] = ()


@dataclass(slots=True)
class Seen:
    """One run: the tensors that went in (kind, ndim), the arguments after the first, and the tensors that came out."""

    inputs: list[tuple[str, int]]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    outputs: list[tuple[str, int]]
    several: bool
    first: tuple[str, int] | None = field(default=None)


def measure() -> dict[str, Rule]:
    """Return rules by qualified name, e.g. "torch.linalg.inv", for every operator that torch has samples of."""
    from torch.testing._internal.common_methods_invocations import op_db

    runs: dict[str, list[Seen]] = {}
    floats_only: dict[str, bool] = {}
    for op in op_db:
        if op.name.startswith(("_", "ops.", "jiterator")):
            continue
        seed()
        seen = list(_runs(op))
        for name in (op.name, *(a.name for a in op.aliases)):
            runs.setdefault("torch." + name, []).extend(seen)
            floats_only["torch." + name] = not _supports_integers(op)
    return {name: _rule(seen, floats_only[name]) for name, seen in runs.items() if seen}


def seed() -> None:
    """Make what is random the same in every run."""
    import torch

    torch.manual_seed(0)
    random.seed(0)
    importlib.import_module("numpy").random.seed(0)


def _supports_integers(op: Any) -> bool:
    import torch

    return bool({torch.int64, torch.bool, torch.int32} & set(op.supported_dtypes("cpu")))


def _runs(op: Any) -> Iterable[Seen]:
    import torch

    for dtype in (torch.float32, torch.int64, torch.bool, torch.complex64):
        if dtype not in op.supported_dtypes("cpu"):
            continue
        try:
            samples = list(itertools.islice(op.sample_inputs("cpu", dtype, requires_grad=False), SAMPLES))
        except Exception:  # a sample generator that wants something this machine lacks
            continue
        for sample in samples:
            seen = _run(op, sample)
            if seen is not None:
                yield seen


def _run(op: Any, sample: Any) -> Seen | None:
    import torch

    inputs = [_shape(t) for t in _tensors((sample.input, *sample.args, *sample.kwargs.values()))]
    first = _shape(sample.input) if isinstance(sample.input, torch.Tensor) else inputs[0] if inputs else None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = op(sample.input, *sample.args, **sample.kwargs)
    except Exception:  # the operator is not built for this machine
        return None
    outputs = [_shape(t) for t in _tensors((result,))]
    return (
        Seen(inputs, sample.args, sample.kwargs, outputs, isinstance(result, (tuple, list)), first) if outputs else None
    )


def _tensors(values: Iterable[Any]) -> Iterable[Any]:
    import torch

    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _tensors(value)


def _shape(tensor: Any) -> tuple[str, int]:
    return kind_of(tensor), tensor.ndim


def kind_of(tensor: Any) -> str:
    """Return "bool", "int", "float" or "complex" for a tensor."""
    return (
        "complex"
        if tensor.is_complex()
        else "float"
        if tensor.is_floating_point()
        else "bool"
        if str(tensor.dtype) == "torch.bool"
        else "int"
    )


def _rule(seen: list[Seen], floats_only: bool) -> Rule:
    rule = Rule(ndim=_ndim(seen))
    counts = {len(s.outputs) for s in seen if s.several}
    if counts and len(counts) == 1 and all(s.several for s in seen) and counts.pop() > 1:
        rule.dtypes = tuple(_dtype(seen, floats_only, i) or "unknown" for i in range(len(seen[0].outputs)))
    rule.dtype = _dtype(seen, floats_only, 0)
    return rule


def _dtype(seen: list[Seen], floats_only: bool, element: int) -> str | None:
    kinds = {s.outputs[element][0] for s in seen if len(s.outputs) > element}
    entered = {k for s in seen for k, _ in s.inputs}
    if len(kinds) == 1:
        kind = next(iter(kinds))
        if kind in ("bool", "int") and (entered - {kind} or len(entered) == 0):
            return kind
        if kind == "float" and (floats_only or entered - {"float", "complex"}):
            return kind
    candidates: list[tuple[str, Callable[[Seen], str]]] = [
        ("same", lambda s: max((k for k, _ in s.inputs), key=KINDS.index)),
        ("like", lambda s: s.first[0] if s.first else ""),
        ("sum", lambda s: {"bool": "int"}.get(s.first[0], s.first[0]) if s.first else ""),
        ("float", lambda s: "complex" if any(k == "complex" for k, _ in s.inputs) else "float"),
    ]
    usable = [s for s in seen if s.inputs and len(s.outputs) > element]
    for name, expected in candidates:
        if usable and len(usable) == len(seen) and all(expected(s) == s.outputs[element][0] for s in usable):
            if name == "same" and floats_only and kinds <= {"float", "complex"}:
                return "float" if kinds == {"float"} else "same"
            return name
    return None


def _ndim(seen: list[Seen]) -> str | None:
    usable = [s for s in seen if s.first is not None]
    if not usable or len(usable) != len(seen):
        return None
    ranks = {s.first[1] for s in usable if s.first}
    results = {n for s in usable for _, n in s.outputs}
    if len(results) == 1 and len(ranks) > 1:
        return str(results.pop())
    candidates: list[tuple[str, Callable[[Seen], int | None]]] = [
        ("same", lambda s: max(n for _, n in s.inputs)),
        ("like", lambda s: s.first[1] if s.first else None),
        ("+1", lambda s: s.first[1] + 1 if s.first else None),
        ("-1", lambda s: s.first[1] - 1 if s.first else None),
        ("reduce", _reduced),
    ]
    if len(ranks) < 2:
        return None
    for name, expected in candidates:
        if all(expected(s) == n for s in usable for _, n in s.outputs):
            return name
    return None


def _reduced(seen: Seen) -> int | None:
    """The rank after a reduction: 0 without a dim, one less per dim with one, unchanged with keepdim."""
    if seen.first is None:
        return None
    rank = seen.first[1]
    positional = [a for a in seen.args if isinstance(a, (int, tuple, list)) and not isinstance(a, bool)]
    flags = [a for a in seen.args if isinstance(a, bool)]
    dim = seen.kwargs.get("dim", positional[0] if positional else None)
    keep = seen.kwargs.get("keepdim", flags[0] if flags else False)
    if keep:
        return rank
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return 0
    return max(0, rank - (len(dim) if isinstance(dim, (tuple, list)) else 1))
