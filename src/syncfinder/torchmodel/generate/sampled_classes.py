"""What methods of torch's distributions give, seen by calling them on the CPU. Used by the generator only."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Mapping
from typing import Any

from syncfinder.torchmodel.generate import sampling

SHAPE = (3, 3)
# constructor arguments that no constraint describes
GIVEN: dict[str, dict[str, Any]] = {
    "Independent": {"reinterpreted_batch_ndims": 1},
    "LKJCholesky": {"dim": 3},
    "Wishart": {"df": 5.0},
}
# what a distribution raises that lacks a method, or does not take the arguments
REFUSED = (ValueError, AssertionError, TypeError, NotImplementedError, AttributeError, RuntimeError)
METHODS = ("sample", "rsample", "log_prob", "cdf", "icdf", "entropy", "enumerate_support")


def dtypes(known: Mapping[type, str]) -> dict[str, str]:
    """Return the dtype of each method's result by its name, such as "torch.distributions.Normal.sample"."""
    import torch

    found: dict[str, str] = {}
    for cls, name in known.items():
        if not issubclass(cls, torch.distributions.Distribution):
            continue
        sampling.seed()
        made = _construct(cls)
        for method in METHODS if made is not None else ():
            kind = _result(made, method)
            if kind is not None:
                found[f"{name}.{method}"] = kind
    return found


def _construct(cls: Any) -> Any:
    """Return an instance made from arguments that its constraints allow, or None."""
    import torch

    constraints = cls.arg_constraints if isinstance(cls.arg_constraints, dict) else {}
    signature = inspect.signature(cls.__init__).parameters
    needed = {n: constraints[n] for n, p in signature.items() if n in constraints and p.default is p.empty}
    optional = [n for n, p in signature.items() if n in constraints and p.default is not p.empty]
    for extra in ([], *([n] for n in optional)):
        wanted = {**needed, **{n: constraints[n] for n in extra}}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                values = {n: torch.distributions.transform_to(c)(torch.randn(SHAPE)) for n, c in wanted.items()}
                return cls(**values, **GIVEN.get(cls.__name__, {}))
        except REFUSED:
            continue
    return None


def _result(made: Any, method: str) -> str | None:
    import torch

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            given: tuple[Any, ...] = ()
            if method in ("log_prob", "cdf"):
                given = (made.sample(),)
            elif method == "icdf":
                given = (torch.full(SHAPE, 0.5),)
            return sampling.kind_of(getattr(made, method)(*given))
    except REFUSED:
        return None
