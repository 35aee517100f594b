"""Objects of library classes: their construction, their methods, and what torch.nn.Module gives to modules."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from syncfinder.infer import overlay, streams
from syncfinder.infer.annotations import GIVEN
from syncfinder.infer.calls import Arguments
from syncfinder.infer.frame import Frame
from syncfinder.infer.terms import BoundCall
from syncfinder.infer.torchcalls import apply_effects, bound_to, call_row, device_of, operands_of, truthy
from syncfinder.infer.values import (
    ASSUMED,
    CERTAIN,
    CPU,
    CUDA,
    GPU,
    LIKELY,
    NUMBERS,
    UNKNOWN,
    Const,
    Device,
    Library,
    Mapping,
    Sequence,
    Tensor,
    Value,
    is_number,
    tensor_in,
    tensors,
)

if TYPE_CHECKING:
    from syncfinder.torchmodel.model import Param, Row

# Marks a library object whose constructor got more than constants and numbers.
MORE = "*"


def construct(name: str, arguments: Arguments, node: ast.expr, frame: Frame) -> Value:
    """An instance of a library class; its constructor may wait (distributions validate their arguments)."""
    if name in CONTAINERS:
        return CONTAINERS[name](arguments)
    model = frame.project.model
    row = model.row(name)
    init = dict(arguments.keywords)
    if row is not None:
        call_row(row, arguments, node, frame)
        init = bound_to(row, arguments)
    small: dict[str, Value] = {k: v for k, v in init.items() if is_number(v) or isinstance(v, (Const, Tensor))}
    if len(small) < len(init):
        small[MORE] = UNKNOWN
    if any(t.waits for t in operands_of(arguments)):
        operand = next(t for t in operands_of(arguments) if t.waits)
        return Library(name, {**small, "": operand})
    device = device_of(arguments.keywords.get("device"), arguments.keyword_nodes.get("device"), frame)
    if device is None and not any(p.name == "device" for p in bound_parameters(row)):
        # a module is where the modules are that it holds
        held = [v.init.get("device") for v in arguments.values if isinstance(v, Library)]
        device = next((d for d in held if isinstance(d, Device)), None)
    if device is not None:
        small["device"] = device
    return Library(name, small)


def bound_parameters(row: Row | None) -> list[Param]:
    return [p for overload in row.overloads for p in overload] if row is not None else []


def module_list(arguments: Arguments) -> Value:
    value = arguments.values[0] if arguments.values else Sequence("list")
    return Sequence("list", value.items, value.element) if isinstance(value, Sequence) else Sequence("list")


def module_dict(arguments: Arguments) -> Value:
    value = arguments.values[0] if arguments.values else Mapping()
    return value if isinstance(value, Mapping) else Mapping()


CONTAINERS: dict[str, Callable[[Arguments], Value]] = {
    "torch.nn.ModuleList": module_list, "torch.nn.ParameterList": module_list, "torch.nn.ModuleDict": module_dict,
    "torch.nn.ParameterDict": module_dict, "torch.Size": lambda a: NUMBERS,
}  # fmt: skip


def call_library(callee: Library, arguments: Arguments, node: ast.expr, frame: Frame) -> Value:
    """Calling a library object: a module's forward."""
    return library_method(callee, "forward", arguments, node, frame)


def library_method(
    base: Library, name: str, arguments: Arguments, node: ast.expr, frame: Frame, sure: int = CERTAIN
) -> Value:
    """Return the result of a library object's method."""
    cls = frame.project.model.library_class(base.name)
    if cls is None:
        return UNKNOWN
    row = cls.forward if name in ("forward", "__call__") else cls.method(name)
    if base.name.endswith((".Event", ".Stream")):
        made = streams.method(base, name, arguments, node, frame)
        if made is not None:
            return made
    if row is not None and not (cls.is_module and name in MOVES):
        owned = base.init.get("")
        if sure == CERTAIN:
            value = call_row(row, arguments, node, frame, base.init)
        else:
            value = unsure(row, arguments, node, frame, sure)
        if isinstance(value, Tensor) and not operands_of(arguments) and isinstance(owned, Tensor):
            return value.but(place=owned.place, why=owned.why)
        made_of = [t for v in base.init.values() for t in tensors(v)]
        if (
            isinstance(value, Tensor)
            and not operands_of(arguments)
            and made_of
            and all(t.place == CPU for t in made_of)
        ):
            return value.but(place=CPU, why=made_of[0].why)
        if isinstance(value, Tensor) and base.name.startswith("torch.distributions.") and only_numbers(base):
            why = frame.reason(f"{base.name} was made of host numbers", node)
            return value.but(place=CPU, why=why, sure=CERTAIN)
        return value
    if base.name.startswith("torch.nn."):
        return nn_method(base, name, arguments, node, frame)
    return UNKNOWN


def only_numbers(base: Library) -> bool:
    """Return whether a library object was made of host numbers only."""
    return bool(base.init) and all(is_number(v) for v in base.init.values())


def unsure(row: Any, arguments: Arguments, node: ast.expr, frame: Frame, sure: int) -> Value:
    """A method by which the receiver's class was guessed: its waits are only likely."""
    bound = BoundCall(row, 0, (), {}, {}, {})
    for effect in row.effects:
        if any(t.test == "anywhere" for t in effect.when):
            frame.publish(effect.kind, node, row.name, None, sure)
            return UNKNOWN
    apply_effects(bound, operands_of(arguments), node, frame)
    return UNKNOWN


# methods of nn.Module whose meaning no row tells: they move the module, or give what it holds
MOVES = {
    "to", "cuda", "cpu", "eval", "train", "half", "float", "bfloat16", "requires_grad_", "apply", "parameters",
    "buffers", "state_dict", "load_state_dict",
}  # fmt: skip
HOME = {"cuda": Device(CUDA), "cpu": Device(CPU)}


def holds_tensors(base: Library, frame: Frame) -> bool:
    """Return whether a library module may have parameters or buffers: one made of plain options only has none."""
    cls = frame.project.model.library_class(base.name)
    if cls is None or not cls.constructor.overloads:
        return True
    options = [p for overload in cls.constructor.overloads for p in overload]
    return any(p.name == "device" or p.type[0] in "oT" for p in options) or not options


def nn_method(base: Library, name: str, arguments: Arguments, node: ast.expr, frame: Frame) -> Value:
    """What torch.nn.Module gives to library modules: moves, casts, and their parameters."""
    here = base.init.get("device")
    place = (
        here.place
        if isinstance(here, Device)
        else CPU
        if frame.function is not None and not {"", GIVEN} & base.init.keys()
        else ASSUMED
    )
    if name in ("to", "cuda", "cpu"):
        waits = not truthy(arguments.keywords.get("non_blocking"))
        target = HOME.get(name) or overlay.target_of(arguments, frame)[0]
        if target is None:
            return base
        if not holds_tensors(base, frame):
            return base
        if target.place == CPU and place == CUDA:
            operand = Tensor(CUDA, why=here.why if isinstance(here, Device) else ())
            frame.publish("copy", node, f"torch.nn.Module.{name}", operand)
        elif target.place & GPU and (here is None or place == CPU) and waits:
            operand = Tensor(target.place, why=frame.reason("a module's parameters are made on the host", node))
            frame.publish("module", node, f"torch.nn.Module.{name}", operand)
        return Library(base.name, {**base.init, "device": target}, base.why)
    if name in ("eval", "train", "half", "float", "bfloat16", "requires_grad_", "apply"):
        return base
    held = Tensor(place, "float", why=frame.reason("a module's parameters are where the module is", node), sure=LIKELY)
    if name in ("parameters", "buffers"):
        return Sequence("list", element=held)
    if name == "state_dict":
        return Mapping(element=held)
    if name == "load_state_dict" and place == CUDA and arguments.values:
        given = arguments.values[0]
        found = tensor_in(given.each()) if isinstance(given, Mapping) else None
        if found is not None and found.place == CPU:
            operand = Tensor(CUDA, why=(*found.why[:1], *getattr(here, "why", ())[:1]))
            frame.publish("module", node, "torch.nn.Module.load_state_dict", operand)
    return UNKNOWN
