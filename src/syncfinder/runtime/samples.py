"""torch's own sample inputs: its operators (OpInfo) and modules (ModuleInfo), with arguments on the GPU."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

from syncfinder.runtime.describe import describe_call

# per dtype; beyond these, samples differ in sizes only
SAMPLES = 60
# of one callable, in all
MOST = 16
# from this many elements on, a size is another kind of argument
LARGE = 1000


@dataclass(frozen=True, slots=True)
class Sample:
    """One call: `prepare` makes the arguments anew, and returns the function to judge.

    `arguments` and `init` (a module's constructor, and whether it is in "train" or "eval" mode) are described as in
    `describe`.
    """

    name: str
    arguments: dict[str, Any]
    init: dict[str, Any] | None
    prepare: Callable[[], Callable[[], Any]] = field(compare=False)


def operators() -> list[str]:
    """Return the names of the operators and modules with samples, in a fixed order."""
    from torch.testing._internal.common_methods_invocations import op_db
    from torch.testing._internal.common_modules import module_db

    names = [f"op:{i}:{op.full_name}" for i, op in enumerate(op_db) if not op.name.startswith(("_", "ops.", "jit"))]
    return names + [f"module:{i}:{m.name}" for i, m in enumerate(module_db)]


def samples_of(entry: str) -> Iterator[Sample]:
    """Yield the samples of one of `operators()`, as different from each other as they come."""
    from torch.testing._internal.common_methods_invocations import op_db
    from torch.testing._internal.common_modules import module_db

    kind, index, _ = entry.split(":", 2)
    found = _operator(op_db[int(index)]) if kind == "op" else _module(module_db[int(index)])
    seen: dict[str, set[str]] = {}
    for sample in found:
        kinds = _kinds(sample.arguments) + _kinds(sample.init)
        mine = seen.setdefault(sample.name, set())
        if kinds not in mine and len(mine) < MOST:
            mine.add(kinds)
            yield sample


def _kinds(description: object) -> str:
    """The description without sizes."""
    if isinstance(description, dict):
        if "t" in description:
            place, dtype, shape = description["t"]
            return f"{place}{dtype}{len(shape)}" + ("large" if math.prod(shape) >= LARGE else "")
        return "{" + ",".join(f"{k}:{_kinds(v)}" for k, v in description.items() if k != "n") + "}"
    if isinstance(description, list):
        return "[" + ",".join(dict.fromkeys(_kinds(v) for v in description)) + "]"
    if isinstance(description, (int, float)) and not isinstance(description, bool):
        return "-" if description < 0 else "0" if description == 0 else "+"
    return repr(description)


def _operator(op: Any) -> Iterator[Sample]:
    supported = op.supported_dtypes("cuda")
    function = _public("torch." + op.name)
    if op.variant_test_name and op.op is not function:
        return  # a wrapper that takes its arguments in another order
    failed: list[str] = []
    dtypes = [t for t in (torch.float32, torch.int64, torch.bool) if t in supported] or [torch.complex64]
    for dtype in dtypes:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                samples = list(itertools.islice(op.sample_inputs("cuda", dtype, requires_grad=False), SAMPLES))
            except Exception as error:  # a sample generator that wants something this machine lacks
                failed.append(f"{dtype}: {type(error).__name__}: {error}")
                continue
        for sample in samples:
            args = (sample.input, *sample.args)
            for name, function, own in _variants(op):
                description = describe_call(args, sample.kwargs)
                yield Sample(name, description, None, _prepared(function, args, sample.kwargs, own))
    if failed:
        raise RuntimeError("no samples for " + "; ".join(failed))


def _variants(op: Any) -> Iterator[tuple[str, Callable[..., Any], bool]]:
    """The public names of an operator: function, method, in-place method (which needs its own input)."""
    if _public("torch." + op.name) is not None:
        yield "torch." + op.name, op.op, False
    variants: tuple[tuple[Any, bool], ...] = ((op.method_variant, False), (op.inplace_variant, True))
    for variant, in_place in variants:
        name = getattr(variant, "__name__", "")
        public = None if name.startswith("_") else getattr(torch.Tensor, name, None)
        if public is not None and public is variant:
            yield "torch.Tensor." + name, variant, in_place


def _public(dotted: str) -> Any:
    value: Any = torch
    for part in dotted.split(".")[1:]:
        value = getattr(value, part, None)
    return value


def _prepared(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], own: bool
) -> Callable[[], Callable[[], Any]]:
    def prepare() -> Callable[[], Any]:
        mine = (args[0].clone(), *args[1:]) if own and isinstance(args[0], torch.Tensor) else args
        return lambda: function(*mine, **kwargs)

    return prepare


def _module(info: Any) -> Iterator[Sample]:
    name = f"{info.module_cls.__module__}.{info.module_cls.__qualname__}.forward"
    for training in (False, True):
        try:
            inputs = info.module_inputs_func(info, "cuda", torch.float32, False, training)
            inputs = list(itertools.islice(inputs, SAMPLES))
        except Exception:  # as above
            continue
        for sample in inputs:
            made, given = sample.constructor_input, sample.forward_input
            if given is None:
                continue
            try:
                module = info.module_cls(*made.args, **made.kwargs).to("cuda").train(training)
            except Exception:  # as above
                continue
            yield Sample(
                name,
                describe_call(given.args, given.kwargs),
                {**describe_call(made.args, made.kwargs), "mode": "train" if training else "eval"},
                _prepared(module, given.args, given.kwargs, False),
            )


def backward(entry: str) -> Iterator[tuple[str, Callable[[], Callable[[], Any]]]]:
    """Yield an operator's name and what prepares its backward pass, for a few samples that need gradients."""
    from torch.testing._internal.common_methods_invocations import op_db

    kind, index, _ = entry.split(":", 2)
    op = op_db[int(index)]
    if kind != "op" or not op.supports_autograd or torch.float32 not in op.supported_dtypes("cuda"):
        return
    try:
        samples = list(itertools.islice(op.sample_inputs("cuda", torch.float32, requires_grad=True), 6))
    except Exception:  # as above
        return
    for sample in samples:
        yield "torch." + op.name, _backward_of(op, sample)


def _backward_of(op: Any, sample: Any) -> Callable[[], Callable[[], Any]]:
    def prepare() -> Callable[[], Any]:
        result = op.op(sample.input, *sample.args, **sample.kwargs)
        leaves = [t for t in torch.utils._pytree.tree_leaves(result) if isinstance(t, torch.Tensor) and t.requires_grad]
        if not leaves:
            raise ValueError("nothing to differentiate")
        total = sum(t.abs().sum() for t in leaves)
        return lambda: total.backward()

    return prepare
