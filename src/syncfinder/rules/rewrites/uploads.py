"""Rewrites of copies from the host to the GPU: numbers as kernel arguments, data made on the device or pinned.

A pinned temporary may be freed while its copy is queued: torch's caching host allocator keeps the memory until the copy
is done (`record_event`, measured on an H200).
"""

from __future__ import annotations

from collections.abc import Mapping

import libcst as cst

from syncfinder.rules.rewrites.calls import by_name, expression, named, own, with_arguments, with_keyword
from syncfinder.rules.rewrites.element_writes import host_index, roles_of, scalar_write
from syncfinder.rules.rewrites.factories import created_on, origin_of, put_for, python_number
from syncfinder.rules.rewrites.operands import is_path, is_read, known, short, text, tight
from syncfinder.rules.rewrites.rewrite import Rewrite, Rewriter, rewritten
from syncfinder.rules.wording import Spot, assigned_subscript, dotted, last_name, positional, receiver
from syncfinder.sites.site import Known

# The positional parameters of what makes a tensor of host data.
_PARAMETERS = {
    "tensor": ("data",),
    "as_tensor": ("data", "dtype", "device"),
    "asarray": ("obj",),
    "new_tensor": ("data",),
}
_DATA = ("data", "obj")
_TYPES = {
    "FloatTensor": "float32", "DoubleTensor": "float64", "HalfTensor": "float16", "BFloat16Tensor": "bfloat16",
    "LongTensor": "int64", "IntTensor": "int32", "ShortTensor": "int16", "CharTensor": "int8", "ByteTensor": "uint8",
    "BoolTensor": "bool",
}  # fmt: skip
_NUMPY_NUMBER = "`{}` is a Python number (a NumPy number brings its own dtype)"
_PINNED = "copy from pinned memory without waiting, which pays for large or frequent copies"


# SF301: made of host data, on the device.


def _construct(spot: Spot) -> Rewrite | None:
    call = spot.node
    if not isinstance(call, cst.Call):
        return None
    name = spot.site.operation.rpartition(".")[2]
    if name in _TYPES and spot.site.operation.startswith("torch.cuda."):
        return _typed(spot, call, _TYPES[name])
    given = by_name(call, _PARAMETERS.get(name, ()))
    if given is None or name not in _PARAMETERS:
        return None
    data = next((given.pop(key) for key in _DATA if key in given), None)
    if data is None or "copy" in given or is_read(spot, data.value):
        return None
    rest = [a if a.keyword is not None else named(key, a.value, a) for key, a in given.items()]
    return (
        _number(spot, call, name, data, rest)
        or _range(spot, call, name, data, rest)
        or _pinned(spot, call, name, data, rest)
    )


def _torch(call: cst.Call, name: str) -> tuple[str, bool]:
    """Return the code that names torch, and whether it must be imported for that."""
    if isinstance(call.func, cst.Attribute) and name != "new_tensor":
        return text(call.func.value), False
    return "torch", True


def _number(spot: Spot, call: cst.Call, name: str, data: cst.Arg, rest: list[cst.Arg]) -> Rewrite | None:
    """A number, or a list that repeats one, is an argument of the kernel that fills."""
    found = _repeated(spot, data.value)
    if found is None:
        return None
    size, value, needs = found
    has_dtype = any(a.keyword is not None and a.keyword.value == "dtype" for a in rest)
    if has_dtype or name == "new_tensor":
        needs = []
    elif not python_number(value):
        needs.append(_NUMPY_NUMBER.format(short(text(value))))
    module, imports = _torch(call, name)
    owner = call.func.value if isinstance(call.func, cst.Attribute) and name == "new_tensor" else None
    func = f"{tight(owner)}.new_full" if owner is not None else f"{module}.full"
    shape = cst.Arg(expression(size))
    new = with_arguments(
        call,
        expression(func),
        [shape, data.with_changes(keyword=None, equal=cst.MaybeSentinel.DEFAULT, value=value), *rest],
    )
    message = f"`{short(func)}` passes the number to the kernel"
    return rewritten(message, needs, (call, own(new)), imports=imports and name != "new_tensor")


def _repeated(spot: Spot, data: cst.BaseExpression) -> tuple[str, cst.BaseExpression, list[str]] | None:
    """Return the size, the number and the conditions of data that are one number, or lists of one number."""
    roles = roles_of(spot)
    if roles.get("data", Known()).kind == "number" or python_number(data):
        return "()", data, []
    sizes: list[str] = []
    needs: list[str] = []
    elements = _elements(data)
    while len(elements) == 1:
        data, sizes = elements[0], [*sizes, "1"]
        elements = _elements(data)
    if isinstance(data, cst.BinaryOperation) and isinstance(data.operator, cst.Multiply):
        elements, count = _elements(data.left), text(data.right)
        if len(elements) != 1 or not (python_number(data.right) or known(spot, data.right).kind == "number"):
            return None
        if not (isinstance(data.right, cst.Integer) and data.right.evaluated_value):
            needs.append(f"`{short(count)}` is not 0")
        data, sizes = elements[0], [*sizes, count]
    elif elements and all(isinstance(e, (cst.Integer, cst.Float)) and text(e) == text(elements[0]) for e in elements):
        data, sizes = elements[0], [*sizes, str(len(elements))]
    numbers = roles.get("element", Known()).kind == "number" and roles.get("made", Known()).ndim == len(sizes)
    if not sizes or not (python_number(data) or numbers):
        return None
    return f"({', '.join(sizes)}{',' if len(sizes) == 1 else ''})", data, needs


def _elements(node: cst.BaseExpression) -> list[cst.BaseExpression]:
    """Return the elements of a list that is written out; none of anything else."""
    if not isinstance(node, (cst.List, cst.Tuple)) or any(isinstance(e, cst.StarredElement) for e in node.elements):
        return []
    return [e.value for e in node.elements]


def _range(spot: Spot, call: cst.Call, name: str, data: cst.Arg, rest: list[cst.Arg]) -> Rewrite | None:
    """`list(range(n))`: the device counts by itself."""
    made = data.value
    if isinstance(made, cst.Call) and dotted(made.func) == "list" and len(made.args) == 1:
        made = made.args[0].value
    if not (isinstance(made, cst.Call) and dotted(made.func) == "range" and made.args and name != "new_tensor"):
        return None
    module, imports = _torch(call, name)
    has_dtype = any(a.keyword is not None and a.keyword.value == "dtype" for a in rest)
    numbers = all(isinstance(a.value, cst.Integer) and a.value.evaluated_value for a in made.args)
    needs = [] if has_dtype or numbers else [f"`{short(text(made))}` is not empty"]
    new = with_arguments(call, expression(f"{module}.arange"), [*made.args, *rest])
    return rewritten(f"`{module}.arange` counts on the device", needs, (call, own(new)), imports=imports)


def _pinned(spot: Spot, call: cst.Call, name: str, data: cst.Arg, rest: list[cst.Arg]) -> Rewrite | None:
    """Data go through pinned memory, and the copy is queued."""
    values = {a.keyword.value: a.value for a in rest if a.keyword is not None}
    owner = call.func.value if isinstance(call.func, cst.Attribute) and name == "new_tensor" else None
    if name == "new_tensor":
        if owner is None or not is_path(owner):
            return None
        if "dtype" not in values:
            rest = [named("dtype", expression(f"{text(owner)}.dtype")), *rest]
    device = text(values["device"]) if "device" in values else f"{text(owner)}.device" if owner is not None else None
    if device is None:
        return None
    what = roles_of(spot).get("data", Known()).kind
    needs = _needs_gpu(spot, device)
    if what not in ("list", "array"):
        needs.append(f"`{short(text(data.value))}` is a list or an array")
    module, imports = _torch(call, name)
    plain = data.with_changes(keyword=None, equal=cst.MaybeSentinel.DEFAULT)
    rest = [a for a in rest if a.keyword is None or a.keyword.value not in ("device", "pin_memory", "requires_grad")]
    if name in ("as_tensor", "asarray") and what != "list":
        made = own(with_arguments(call, call.func, [plain, *rest])) + ".pin_memory()"
    else:
        pin = named("pin_memory", expression("True"))
        made = own(with_arguments(call, expression(f"{module}.tensor"), [plain, *rest, pin]))
    moved = f"{made}.to({device}, non_blocking=True)"
    if "requires_grad" in values:
        moved += f".requires_grad_({text(values['requires_grad'])})"
    return rewritten(_PINNED, needs, (call, moved), imports=imports)


def _needs_gpu(spot: Spot, device: str) -> list[str]:
    """Return the condition that a pinned copy has where the device is not written in the code."""
    certain = roles_of(spot).get("device", Known()).place == "cuda" or device.strip("\"'").partition(":")[0] == "cuda"
    return [] if certain else [f"`{short(device)}` is a GPU"]


def _typed(spot: Spot, call: cst.Call, dtype: str) -> Rewrite | None:
    """`torch.cuda.FloatTensor(data)`, the old constructors."""
    if len(call.args) != 1 or call.args[0].keyword is not None or call.args[0].star:
        return None
    data = call.args[0]
    args = [data, named("dtype", expression(f"torch.{dtype}")), named("pin_memory", expression("True"))]
    made = own(with_arguments(call, expression("torch.tensor"), args))
    return rewritten(
        _PINNED,
        [],
        (call, f'{made}.to("cuda", non_blocking=True)'),
        imports=True,
    )


# SF302: a host tensor goes to the device.


def _transfer(spot: Spot) -> Rewrite | None:
    if isinstance(spot.node, cst.Subscript):
        return _assigned(spot)
    call = spot.node
    owner = receiver(call) if isinstance(call, cst.Call) else None
    if not isinstance(call, cst.Call) or owner is None:
        return None
    name = last_name(call.func)
    if name == "copy_":
        return _copy_into(spot, call, owner)
    target = _target(spot, call, name)
    return _moved(spot, call, owner, target) if target is not None else None


class _Target:
    """Where `.to`, `.cuda` or `.type_as` move a tensor: `device`, code that names it, and `rest`, other arguments.

    `like`: the code of a tensor whose device and dtype are taken.
    """

    def __init__(self, device: str, rest: list[str], like: str | None = None) -> None:
        self.device = device
        self.rest = rest
        self.like = like


def _target(spot: Spot, call: cst.Call, name: str) -> _Target | None:
    if name not in ("to", "cuda", "type_as"):
        return None
    given = by_name(call, ("other",) if name == "type_as" else ("device", "dtype", "non_blocking"))
    if given is None or given.keys() - {"device", "dtype", "other", "non_blocking"}:
        return None
    given.pop("non_blocking", None)
    named_by = given.pop("other", None) or given.pop("device", None)
    if named_by is None:
        return _Target('"cuda"', []) if name == "cuda" else None
    rest = [text(a.value) for a in given.values()]
    code = text(named_by.value)
    if roles_of(spot).get("target", Known()).kind == "tensor" or name == "type_as":
        return _Target(f"{tight(named_by.value)}.device", [], code)
    return _Target(code, rest)


def _moved(spot: Spot, call: cst.Call, owner: cst.BaseExpression, target: _Target) -> Rewrite | None:
    created = created_on(spot, owner, target.device)
    if created is not None:
        there, needs = created
        return rewritten("the device creates it by itself", needs, (call, _after(there, target)))
    origin = origin_of(owner)
    if origin is None or not dotted(origin.func).startswith("torch."):
        return _through_pinned(spot, call, owner, None, target)
    return _filled(spot, call, owner, origin, target) or _through_pinned(spot, call, owner, origin, target)


def _grows(call: cst.Call) -> bool:
    return any(a.keyword is not None and a.keyword.value == "requires_grad" for a in call.args)


def _after(owner: cst.BaseExpression, target: _Target) -> str:
    """Return the code of a tensor that is on the device already, with the dtype that the move gave it."""
    code = tight(owner)
    if target.like is not None:
        return f"{code}.to({target.like})"
    return f"{code}.to({', '.join(target.rest)})" if target.rest else code


def _filled(spot: Spot, call: cst.Call, owner: cst.BaseExpression, origin: cst.Call, target: _Target) -> Rewrite | None:
    """`torch.tensor(0.5).to(d)`: a number is an argument of the kernel that fills."""
    if last_name(origin.func) not in ("tensor", "as_tensor") or not origin.args:
        return None
    first = origin.args[0]
    if first.keyword is not None or first.star or _grows(origin):
        return None
    found = _repeated(spot, first.value)
    if found is None or not python_number(found[1]):
        return None
    size, value, needs = found
    rest = [a for a in origin.args[1:] if a.keyword is None or a.keyword.value not in ("device", "pin_memory")]
    if any(a.keyword is None for a in rest):
        return None
    args = [
        cst.Arg(expression(size)),
        first.with_changes(value=value),
        *rest,
        named("device", expression(target.device)),
    ]
    new = with_arguments(origin, expression(dotted(origin.func).rpartition(".")[0] + ".full"), args)
    there = put_for(owner, origin, new)
    return rewritten("`torch.full` passes the number to the kernel", needs, (call, _after(there, target)))


def _through_pinned(
    spot: Spot, call: cst.Call, owner: cst.BaseExpression, origin: cst.Call | None, target: _Target
) -> Rewrite | None:
    """Any other host tensor: a pinned copy of it goes to the device without waiting."""
    facts = spot.site.facts
    roles = roles_of(spot)
    arguments = [target.like or target.device, *target.rest]
    moved = f"to({', '.join(arguments)}, non_blocking=True)"
    shown, code = short(text(owner)), tight(owner)
    if facts.get("pinned"):
        needs = [*_needs_gpu(spot, target.device), f"`{shown}` is not written to before the copy is done"]
        return rewritten("`non_blocking=True` only queues the copy", needs, (call, f"{code}.{moved}"))
    if origin is not None and _grows(origin):
        return None
    needs = _needs_gpu(spot, target.device)
    fresh = origin is not None and last_name(origin.func) in ("as_tensor", "from_numpy", "frombuffer", "tensor")
    if fresh and origin is owner and last_name(owner.func) == "tensor":
        pinned = own(with_keyword(owner, "pin_memory", expression("True"), drop=("device",)))
        return rewritten(_PINNED, needs, (call, f"{pinned}.{moved}"))
    if not (fresh and roles.get("host", Known()).sure == "certain"):
        needs.append(f"`{shown}` is in host memory")
    return rewritten(_PINNED, needs, (call, f"{code}.pin_memory().{moved}"))


def _copy_into(spot: Spot, call: cst.Call, owner: cst.BaseExpression) -> Rewrite | None:
    """`gpu.copy_(host)`."""
    given = by_name(call, ("src", "non_blocking"))
    if given is None or given.keys() - {"src", "non_blocking"} or "src" not in given:
        return None
    src = given["src"].value
    if (
        _is_made(src, ("tensor",))
        and isinstance(src, cst.Call)
        and len(src.args) == 1
        and python_number(src.args[0].value)
    ):
        code = f"{tight(owner)}.fill_({text(src.args[0].value)})"
        return rewritten("`fill_` passes the number to the kernel", [], (call, code))
    value, needs = _queued(spot, src)
    base = roles_of(spot).get("base", Known())
    if base.place != "cuda":
        needs = [f"`{short(text(owner))}` is on a GPU", *needs]
    code = f"{tight(owner)}.copy_({value}, non_blocking=True)"
    return rewritten(_PINNED, needs, (call, code))


def _queued(spot: Spot, src: cst.BaseExpression) -> tuple[str, list[str]]:
    """Return the pinned form of a host tensor, and what must hold for it."""
    if spot.site.facts.get("pinned"):
        return tight(src), [f"`{short(text(src))}` is not written to before the copy is done"]
    if _is_made(src, ("tensor",)) and isinstance(src, cst.Call) and not _grows(src):
        return own(with_keyword(src, "pin_memory", expression("True"), drop=("device",))), []
    fresh = _is_made(src, ("as_tensor", "from_numpy"))
    sure = roles_of(spot).get("host", Known()).sure == "certain"
    needs = [] if fresh and sure else [f"`{short(text(src))}` is in host memory"]
    return f"{tight(src)}.pin_memory()", needs


def _is_made(node: cst.BaseExpression, names: tuple[str, ...]) -> bool:
    return isinstance(node, cst.Call) and dotted(node.func) in {f"torch.{name}" for name in names}


def _assigned(spot: Spot) -> Rewrite | None:
    """`gpu[index] = host`: the copy is an assignment."""
    statement = spot.assignment()
    target = assigned_subscript(statement) if isinstance(statement, cst.Assign) else None
    if (
        not isinstance(statement, cst.Assign)
        or len(statement.targets) != 1
        or target is None
        or not is_path(target.value)
    ):
        return None
    base = roles_of(spot).get("base", Known())
    value, needs = _queued(spot, statement.value)
    path = text(target.value)
    if base.place != "cuda":
        needs = [f"`{path}` is on a GPU", *needs]
    code = f"{value}.to({path}.device, non_blocking=True)"
    return rewritten(_PINNED, needs, (statement.value, code))


# SF305: a host tensor among the operands.


def _operand(spot: Spot) -> Rewrite | None:
    """`torch.where(mask, x, torch.tensor(0.0))`: a number will do, and has the same place in type promotion."""
    call = spot.node if isinstance(spot.node, cst.Call) else spot.argument_of()
    if call is None or last_name(call.func) != "where":
        return None
    for arg in positional(call)[1:]:
        made = arg.value
        if (
            _is_made(made, ("tensor",))
            and isinstance(made, cst.Call)
            and len(made.args) == 1
            and python_number(made.args[0].value)
        ):
            return rewritten("`where` takes the number itself", [], (made, text(made.args[0].value)))
    return None


REWRITERS: Mapping[str, Rewriter] = {
    "construct": _construct,
    "transfer": _transfer,
    "host-index": host_index,
    "scalar-write": scalar_write,
    "operand": _operand,
}
