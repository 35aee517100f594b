"""Rewrites of Python's builtins over tensors: the reduction happens on the device."""

from __future__ import annotations

from collections.abc import Mapping

import libcst as cst

from syncfinder.rules.rewrites.operands import known, on_gpu, short, text, tight
from syncfinder.rules.rewrites.rewrite import TORCH, Rewrite, Rewriter, replace
from syncfinder.rules.wording import Spot, last_name, positional
from syncfinder.sites.site import Known

_REDUCTIONS = {"max": "amax", "min": "amin", "any": "any", "all": "all"}
_NO_NAN = "there must be no NaN"


def _builtin(spot: Spot) -> Rewrite | None:
    call = spot.node
    if not isinstance(call, cst.Call) or not isinstance(call.func, cst.Name) or len(positional(call)) != len(call.args):
        return None
    name, values = call.func.value, [arg.value for arg in call.args]
    if name in ("max", "min") and len(values) == 2:
        return _pair(spot, call, values)
    if name in _REDUCTIONS and len(values) == 1:
        return _all_of(spot, call, values[0])
    return None


def _pair(spot: Spot, call: cst.Call, values: list[cst.BaseExpression]) -> Rewrite | None:
    """`max(a, b)`: two tensors, or a tensor and a number of the host."""
    kinds = [known(spot, value) for value in values]
    tensors = [v for v, k in zip(values, kinds, strict=True) if on_gpu(k)]
    numbers = [v for v, k in zip(values, kinds, strict=True) if k.kind == "number"]
    largest = last_name(call.func) == "max"
    if len(tensors) == 2:
        code = f"torch.{'maximum' if largest else 'minimum'}({text(values[0])}, {text(values[1])})"
        needs = f"both must be of one dtype, and {_NO_NAN}"
    elif len(tensors) == len(numbers) == 1:
        code = f"{tight(tensors[0])}.clamp({'min' if largest else 'max'}={text(numbers[0])})"
        needs = f"the result is a tensor even where the number wins, and {_NO_NAN}"
    elif len(tensors) == 1 and all(k.kind is None or on_gpu(k) for k in kinds):
        other = next(v for v in values if v is not tensors[0])
        clamped = f"{tight(tensors[0])}.clamp({'min' if largest else 'max'}={text(other)})"
        both = f"torch.{'maximum' if largest else 'minimum'}({text(values[0])}, {text(values[1])})"
        said = f"`{short(clamped)}`, or `{short(both)}` if `{short(text(other))}` is a tensor, stays on the device"
        return Rewrite(said, "display-only")
    else:
        return None
    imports = TORCH if code.startswith("torch.") else ()
    return Rewrite(f"`{short(code)}` stays on the device; unsafe: {needs}", "unsafe", (replace(call, code),), imports)


def _all_of(spot: Spot, call: cst.Call, values: cst.BaseExpression) -> Rewrite | None:
    """`max(x)`, `any(x)`: of a tensor's elements, or of a list of tensors."""
    what, name = known(spot, values), last_name(call.func)
    if (
        isinstance(values, (cst.List, cst.Tuple))
        and values.elements
        and all(on_gpu(known(spot, e.value)) for e in values.elements)
    ):
        what = Known("list")
    if on_gpu(what) and what.ndim == 1:
        code, needs = f"{tight(values)}.{_REDUCTIONS[name]}()", "" if name in ("any", "all") else _NO_NAN
    elif what.kind == "list" and not spot.site.ndim:
        code = f"torch.stack(list({text(values)})).{_REDUCTIONS[name]}()"
        if isinstance(values, (cst.List, cst.Tuple)):
            code = f"torch.stack({text(values)}).{_REDUCTIONS[name]}()"
        needs = "the list must not be empty, its tensors 0-dim and of one dtype"
        needs += f", and {_NO_NAN}" if name in ("max", "min") else ""
    else:
        return None
    if name in ("any", "all"):
        code = f"bool({code})"
        said = f"`{short(code)}` tests all at once: one wait, not one for each"
    else:
        said = f"`{short(code)}` reduces on the device"
    imports = TORCH if "torch." in code else ()
    if not needs:
        return Rewrite(said, "safe", (replace(call, code),))
    return Rewrite(f"{said}; unsafe: {needs}", "unsafe", (replace(call, code),), imports)


REWRITERS: Mapping[str, Rewriter] = {"builtin": _builtin}
