"""The commented overlay: torch's copies, conversions and constructors, whose meaning no schema tells.

Each entry is Python-level behaviour of torch (python_variable_methods, tensor_new.cpp, Copy.cu), confirmed by
measurement on an H200 (torch 2.11). Everything else about torch is in the table.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from syncfinder.infer import sizes, streams
from syncfinder.infer.annotations import BATCHES, LOADERS
from syncfinder.infer.calls import Arguments
from syncfinder.infer.classes import is_module
from syncfinder.infer.frame import Frame, memory_of
from syncfinder.infer.hazards import (
    fresh_buffer,
    host_access,
    kept_for,
    launch_copy,
    origin_of,
    read_operand,
    start_copy,
    write_operand,
)
from syncfinder.infer.names import last_name
from syncfinder.infer.pending import CURRENT, HERE, act
from syncfinder.infer.reading import read
from syncfinder.infer.torchcalls import WRITTEN, device_of, truthy
from syncfinder.infer.values import (
    ARRAY,
    ASSUMED,
    BOOL,
    CERTAIN,
    CPU,
    CUDA,
    FLOAT,
    GPU,
    INT,
    LIKELY,
    NONE,
    TEXT,
    UNKNOWN,
    Api,
    Array,
    Const,
    Device,
    Dtype,
    Sequence,
    Tensor,
    UnknownValue,
    Value,
    Why,
    innermost,
    is_number,
    number_kind,
    tensor_in,
)

Method = Callable[[Tensor, Arguments, ast.Call, Frame], Value]
Call = Callable[[str, Arguments, ast.expr, Frame], Value]

BY_DTYPE: dict[str | None, Value] = {"bool": BOOL, "int": INT, "float": FLOAT}


def item(tensor: Tensor, arguments: Arguments, node: ast.Call, frame: Frame) -> Value:
    """Tensor.item: _local_scalar_dense, a D2H copy and a stream synchronisation."""
    read(tensor, "item", "Tensor.item", node, frame)
    return BY_DTYPE.get(tensor.dtype, FLOAT)


def tolist(tensor: Tensor, arguments: Arguments, node: ast.Call, frame: Frame) -> Value:
    """Tensor.tolist: one D2H copy of all elements."""
    read(tensor, "tolist", "Tensor.tolist", node, frame)
    number = BY_DTYPE.get(tensor.dtype, FLOAT)
    if tensor.ndim == 0:
        return number
    value: Value = Sequence("list", element=number)
    for _ in range((tensor.ndim or 1) - 1):
        value = Sequence("list", element=value)
    return value if tensor.ndim is not None else Sequence("list")


def to_host(
    tensor: Tensor, node: ast.expr, frame: Frame, operation: str, non_blocking: bool, believed: bool = True
) -> Value:
    """A D2H copy: blocking unless non_blocking, which gives pinned memory and an unfinished copy (Copy.cu, pin_out)."""
    if tensor.place == CPU:
        return tensor
    if non_blocking:
        buffers = fresh_buffer(node, frame)
        if tensor.buffers is not None:
            read_operand(tensor, operation, node, frame)
        if believed:
            start_copy(tensor, buffers, True, node, frame)
        return tensor.but(
            place=CPU,
            memory="pinned",
            pending=True,
            why=frame.reason("it was copied to the host here", node),
            sure=CERTAIN,
            buffers=buffers,
        )
    read(tensor, "copy", operation, node, frame)
    return tensor.but(
        place=CPU,
        memory="pageable",
        why=frame.reason("it was copied to the host here", node),
        sure=CERTAIN,
        buffers=None,
    )


def to_device(
    tensor: Tensor,
    device: Device,
    node: ast.expr,
    frame: Frame,
    operation: str,
    non_blocking: bool,
    target: Value | None = None,
) -> Value:
    """An H2D copy waits, from pageable memory and from pinned, unless it is non_blocking.

    A value that is on the host on one way only has mostly been moved already: `.to` is there to make sure. `target` is
    what names the device in the code, where it is no device itself.
    """
    if tensor.place != CPU:
        frame.doubt("transfer", node)
    if tensor.place == CPU and device.place & GPU and not non_blocking:
        mixed = bool(device.place & CPU)
        operand = Tensor(
            device.place,
            tensor.dtype,
            tensor.ndim,
            upload_why(tensor, device),
            max(tensor.sure, LIKELY if mixed else CERTAIN),
        )
        known = {"host": tensor, "device": device, "target": target or device}
        frame.publish("transfer", node, operation, operand, **memory_of(tensor), known=known)
    elif tensor.waits and tensor.buffers is not None:
        read_operand(tensor, operation, node, frame)
    elif tensor.place == CPU and device.place & GPU:
        there = tensor.but(place=device.place, why=device.why)
        if tensor.memory == "pinned":
            start_copy(there, tensor.buffers, False, node, frame)
        elif tensor.memory == "pageable":
            slow_upload(tensor, there, node, frame, operation)
    frame.made = node
    return tensor.but(place=device.place, memory=None, why=device.why or tensor.why, buffers=None, size=None)


def slow_upload(tensor: Tensor, there: Tensor, node: ast.expr, frame: Frame, operation: str) -> None:
    """A non_blocking copy from pageable memory: the driver stages it, and waits unless it is small."""
    if tensor.size != sizes.LITTLE:
        operand = Tensor(there.place, why=(*tensor.why[:1], *there.why[:1]), sure=max(tensor.sure, there.sure))
        sure = CERTAIN if tensor.size == sizes.LARGE else LIKELY
        frame.publish("slow-copy", node, operation, operand, sure, way="to-device", size=tensor.size)


def upload_why(tensor: Tensor, device: Device) -> Why:
    return (*tensor.why[:1], *device.why[:1])


def to(tensor: Tensor, arguments: Arguments, node: ast.Call, frame: Frame) -> Value:
    """Tensor.to(device | dtype | other, …): _parse_to in python_arg_parser takes them in any of three forms."""
    device, dtype, known = target_of(arguments, frame)
    non_blocking = truthy(arguments.keywords.get("non_blocking")) or any(
        v.value is True for v in arguments.values[1:] if isinstance(v, Const)
    )
    target = arguments.get(0, "device") or arguments.keywords.get("other")
    if device is not None and non_blocking and device.place & CPU and is_of_tensor(arguments, frame):
        return to_either(tensor, device, node, frame).but(dtype=dtype if known else tensor.dtype)
    moved: Value = (
        move(tensor, device, node, frame, "Tensor.to", non_blocking, target) if device is not None else tensor
    )
    return moved.but(dtype=dtype) if isinstance(moved, Tensor) and known else moved


def is_of_tensor(arguments: Arguments, frame: Frame) -> bool:
    """Return whether the device is asked of a tensor that is on the host or on the GPU, by the way that is taken."""
    node = arguments.node(0, "device")
    if not (isinstance(node, ast.Attribute) and node.attr == "device" and isinstance(node.value, ast.Name)):
        return False
    found = tensor_in(frame.env.get(node.value.id, UNKNOWN))
    return not frame.partial and found is not None and bool(found.place & GPU and found.place & CPU)


def to_either(tensor: Tensor, device: Device, node: ast.expr, frame: Frame) -> Tensor:
    """A non_blocking copy to where another tensor is: on one of the ways an unfinished copy to the host."""
    if tensor.place & CPU:
        return tensor.but(place=device.place, memory=None, buffers=None, size=None)
    buffers = fresh_buffer(node, frame)
    start_copy(tensor.but(sure=LIKELY), buffers, True, node, frame)
    return tensor.but(place=device.place, why=device.why, sure=LIKELY, buffers=buffers)


def target_of(arguments: Arguments, frame: Frame) -> tuple[Device | None, str | None, bool]:
    """Return the device that `.to` names (None: it keeps its own), the dtype, and whether it may change the dtype."""
    device: Device | None = None
    dtype: str | None = None
    known = False
    positions = list(zip(arguments.values[:2], arguments.nodes[:2], strict=True))
    named = [
        (arguments.keywords[k], arguments.keyword_nodes.get(k))
        for k in ("device", "other", "dtype")
        if k in arguments.keywords
    ]
    for value, where in positions + named:
        other = tensor_in(value)
        if isinstance(value, Dtype):
            dtype, known = value.name, True
        elif other is not None:
            device, dtype, known = Device(other.place, other.why), other.dtype, True
        elif isinstance(value, UnknownValue):
            by_keyword = value is arguments.keywords.get("device")
            if by_keyword or (where is not None and speaks_of_device(where)):
                device = device_of(value, where, frame)
            else:
                known = True
        elif not (isinstance(value, Const) and isinstance(value.value, bool)):
            device = device_of(value, where, frame) or device
    return device, dtype, known


def speaks_of_device(node: ast.expr) -> bool:
    name = last_name(node) or ast.unparse(node)
    return name == "rank" or any(word in name.lower() for word in ("device", "gpu", "cuda"))


def move(
    tensor: Tensor,
    device: Device,
    node: ast.expr,
    frame: Frame,
    operation: str,
    non_blocking: bool,
    target: Value | None = None,
) -> Value:
    if device.place == CPU:
        # a call's own arguments may say of two tensors what is never so together: one is here, the other there
        believed = not frame.partial or any(r.text.endswith(WRITTEN) for r in device.why)
        return to_host(tensor, node, frame, operation, non_blocking, believed)
    if device.place & GPU:
        return to_device(tensor, device, node, frame, operation, non_blocking, target)
    return tensor.but(place=device.place)


def cpu(tensor: Tensor, arguments: Arguments, node: ast.Call, frame: Frame) -> Value:
    return to_host(tensor, node, frame, "Tensor.cpu", non_blocking=False)


def cuda(tensor: Tensor, arguments: Arguments, node: ast.Call, frame: Frame) -> Value:
    device = Device(CUDA, frame.reason(".cuda() is written here", node))
    return to_device(tensor, device, node, frame, "Tensor.cuda", truthy(arguments.get(1, "non_blocking")))


def type_as(tensor: Tensor, arguments: Arguments, node: ast.Call, frame: Frame) -> Value:
    other = tensor_in(arguments.get(0, "other") or UNKNOWN)
    if other is None:
        return tensor.but(dtype=None)
    moved = move(tensor, Device(other.place, other.why), node, frame, "Tensor.type_as", False, other)
    return moved.but(dtype=other.dtype) if isinstance(moved, Tensor) else moved


def type_method(tensor: Tensor, arguments: Arguments, node: ast.Call, frame: Frame) -> Value:
    """Tensor.type(dtype | tensor type): the old tensor types (torch.FloatTensor) name a device too."""
    value = arguments.get(0, "dtype")
    if isinstance(value, Dtype):
        return tensor.but(dtype=value.name)
    name = value.value if isinstance(value, Const) else value.name if isinstance(value, Api) else None
    classes = frame.project.model.tensor_classes
    if isinstance(name, str) and name.startswith("torch.cuda."):
        device = Device(CUDA, frame.reason("a tensor type of the GPU is written here", node))
        of_gpu = tensor.but(dtype=classes.get(name.replace("torch.cuda.", "torch.")))
        return to_device(of_gpu, device, node, frame, "Tensor.type", False)
    if isinstance(name, str) and name in classes:
        return to_host(tensor.but(dtype=classes[name]), node, frame, "Tensor.type", False)
    return tensor.but(dtype=None)


def copy_(tensor: Tensor, arguments: Arguments, node: ast.Call, frame: Frame) -> Value:
    """Tensor.copy_: waits between host and device unless non_blocking; a Python number is a host value too."""
    source = arguments.get(0, "src")
    found = tensor_in(source) if source is not None else None
    if tensor.waits and tensor.buffers is not None:
        write_operand(tensor, "Tensor.copy_", node, frame)
    if found is not None and found.waits and found.buffers is not None:
        read_operand(found, "Tensor.copy_", node, frame)
    if truthy(arguments.get(1, "non_blocking")):
        if frame.stream != CURRENT and found is None:
            launch_copy(node, frame)
        if found is not None and found.waits and tensor.place == CPU and tensor.memory == "pageable":
            frame.publish("slow-copy", node, "Tensor.copy_", found, way="to-host")
            act(frame, HERE)
        elif found is not None and found.place == CPU and tensor.waits and found.memory == "pageable":
            slow_upload(found, tensor, node, frame, "Tensor.copy_")
        elif tensor.place == CPU and tensor.memory == "pinned" and (found is None or found.waits):
            # nobody asks for a copy within the host not to block
            start_copy(found or Tensor(ASSUMED, sure=LIKELY), tensor.buffers, True, node, frame)
        elif found is not None and found.place == CPU and found.memory == "pinned" and tensor.waits:
            start_copy(tensor, found.buffers, False, node, frame)
        return tensor.but(pending=tensor.place == CPU)
    if found is None:
        return tensor
    copied_on_host(tensor, found, node, frame)
    if tensor.place == CPU and found.place & GPU and not found.place & CPU:
        read(found, "copy", "Tensor.copy_", node, frame, pinned=tensor.memory == "pinned")
    elif tensor.place & GPU and not tensor.place & CPU and found.place == CPU:
        operand = Tensor(tensor.place, why=(*found.why[:1], *tensor.why[:1]), sure=max(found.sure, tensor.sure))
        known = {"host": found, "base": tensor}
        frame.publish("transfer", node, "Tensor.copy_", operand, **memory_of(found), known=known)
    else:
        frame.doubt("transfer", node)
    return tensor


def copied_on_host(tensor: Tensor, source: Tensor, node: ast.Call, frame: Frame) -> None:
    """A blocking copy reads host memory, and writes it, when it is called."""
    if source.place == CPU:
        read_operand(source, "Tensor.copy_", node, frame)
    if tensor.place == CPU and tensor.buffers is not None:
        host_access(tensor.buffers, True, "Tensor.copy_", node, frame)


def fill_(tensor: Tensor, arguments: Arguments, node: ast.Call, frame: Frame) -> Value:
    """Tensor.fill_: a CUDA value for a CUDA tensor stays there; for a host tensor it is read."""
    value = tensor_in(arguments.get(0, "value") or UNKNOWN)
    if value is not None and tensor.place == CPU:
        read(value, "index", "Tensor.fill_", node.args[0] if node.args else node, frame, argument="value")
    if tensor.place == CPU and tensor.buffers is not None:
        host_access(tensor.buffers, True, "Tensor.fill_", node, frame)
    return tensor


def numpy(tensor: Tensor, arguments: Arguments, node: ast.Call, frame: Frame) -> Value:
    """Tensor.numpy raises for a CUDA tensor unless force=True, so a call without it is on the host."""
    if truthy(arguments.get(0, "force")):
        read(tensor, "numpy", "Tensor.numpy", node, frame)
    return Array(buffers=tensor.buffers) if tensor.buffers is not None and tensor.place & CPU else ARRAY


def pin_memory(tensor: Tensor, arguments: Arguments, node: ast.Call, frame: Frame) -> Value:
    """Tensor.pin_memory copies on the host; what is pinned already stays itself."""
    if tensor.memory == "pinned":
        return tensor
    frame.publish("pin", node, "Tensor.pin_memory", None, size=tensor.size)
    read_operand(tensor, "Tensor.pin_memory", node, frame)
    return tensor.but(place=CPU, memory="pinned", pending=False, buffers=fresh_buffer(node, frame))


def record_stream(tensor: Tensor, arguments: Arguments, node: ast.Call, frame: Frame) -> Value:
    """Tensor.record_stream(s): its memory is not reused until s is done (CUDACachingAllocator)."""
    stream = arguments.get(0, "s")
    if isinstance(node.func, ast.Attribute):
        kept_for(tensor, origin_of(stream, arguments.node(0, "s")), node.func.value, node, frame)
    return NONE


def new_tensor(tensor: Tensor, arguments: Arguments, node: ast.Call, frame: Frame) -> Value:
    """Tensor.new_tensor(data): torch.tensor on the tensor's own device."""
    device = device_of(arguments.keywords.get("device"), arguments.keyword_nodes.get("device"), frame) or Device(
        tensor.place, tensor.why
    )
    return constructed("Tensor.new_tensor", arguments, device, node, frame, tensor.dtype)


def new(tensor: Tensor, arguments: Arguments, node: ast.Call, frame: Frame) -> Value:
    """Tensor.new(data) is new_tensor; Tensor.new(sizes) makes an empty one."""
    if arguments.values and isinstance(arguments.values[0], (Sequence, Array)):
        return new_tensor(tensor, arguments, node, frame)
    return tensor.but(ndim=None)


def by_protocol(kind: str, result: Value) -> Method:
    """The protocol's methods, called by name: what int(t) and bool(t) call."""

    def method(tensor: Tensor, arguments: Arguments, node: ast.Call, frame: Frame) -> Value:
        operation = f"Tensor.{node.func.attr}" if isinstance(node.func, ast.Attribute) else kind
        read(tensor, kind, operation, node, frame)
        return result

    return method


def construct(name: str, arguments: Arguments, node: ast.expr, frame: Frame) -> Value:
    """torch.tensor, as_tensor, asarray: built on the host, then copied (torch/csrc/utils/tensor_new.cpp)."""
    device = device_of(arguments.keywords.get("device"), arguments.keyword_nodes.get("device"), frame)
    if device is None and name == "torch.as_tensor" and len(arguments.values) > 2:
        device = device_of(arguments.values[2], arguments.nodes[2], frame)
    return constructed(name, arguments, device, node, frame, None)


DATA_NAMES = ("data", "obj")


def constructed(
    name: str, arguments: Arguments, device: Device | None, node: ast.expr, frame: Frame, dtype: str | None
) -> Value:
    data = (
        arguments.values[0]
        if arguments.values
        else next((arguments.keywords[n] for n in DATA_NAMES if n in arguments.keywords), UNKNOWN)
    )
    asked = arguments.keywords.get("dtype") or (arguments.values[1] if len(arguments.values) > 1 else None)
    dtype = asked.name if isinstance(asked, Dtype) else data_dtype(data) or dtype
    own = tensor_in(data)
    if own is not None:
        frame.doubt("construct", node)
        return from_tensor(own, device, name, node, frame).but(dtype=dtype or own.dtype)
    elements_read(data, name, node, frame)
    ndim = data_ndim(data)
    memory = "pinned" if truthy(arguments.keywords.get("pin_memory")) else "pageable"
    if device is None:
        why = frame.reason(f"{name} without device= makes it on the host", node)
        if frame.default_place & GPU:
            device = Device(frame.default_place, why)
        else:
            buffers = fresh_buffer(node, frame) if memory == "pinned" else None
            return Tensor(CPU, dtype, ndim, why, CERTAIN, memory, buffers=buffers, size=sizes.of_data(data, dtype))
    if device.place & GPU and not (isinstance(data, Sequence) and data.items == ()):
        operand = Tensor(device.place, dtype, ndim, device.why, CERTAIN if device.place == CUDA else LIKELY)
        known = {"data": data, "element": innermost(data), "device": device, "made": operand}
        frame.publish("construct", node, name, operand, data=data_word(data), known=known)
    sure = CERTAIN if not device.place & ASSUMED else LIKELY
    return Tensor(device.place, dtype, ndim, device.why, sure, memory if device.place == CPU else None)


def from_tensor(own: Tensor, device: Device | None, name: str, node: ast.expr, frame: Frame) -> Tensor:
    if device is None:
        return own
    moved = move(own, device, node, frame, name, False)
    return moved if isinstance(moved, Tensor) else own


def elements_read(data: Value, name: str, node: ast.expr, frame: Frame) -> None:
    """A sequence with CUDA scalars in it is read element by element."""
    depth = 0
    while isinstance(data, Sequence) and depth < 4:
        parts = data.parts()
        for part in parts:
            found = tensor_in(part)
            if found is not None and found.waits:
                frame.publish("elements", node, name, found)
                return
        data = next((p for p in parts if isinstance(p, Sequence)), UNKNOWN)
        depth += 1


def data_dtype(data: Value) -> str | None:
    data = innermost(data)
    return number_kind(data) if is_number(data) and number_kind(data) != "complex" else None


def data_ndim(data: Value) -> int | None:
    ndim = 0
    while isinstance(data, Sequence):
        ndim += 1
        data = data.each()
    return ndim if is_number(data) else None


def data_word(data: Value) -> str:
    if is_number(data):
        return "number"
    return "list" if isinstance(data, Sequence) else "array" if isinstance(data, Array) else "host"


def from_numpy(name: str, arguments: Arguments, node: ast.expr, frame: Frame) -> Value:
    return Tensor(CPU, why=frame.reason(f"{name} shares a host array's memory", node), memory="pageable")


def parameter(name: str, arguments: Arguments, node: ast.expr, frame: Frame) -> Value:
    """torch.nn.Parameter: moves with its module, so it is on the GPU in a running model.

    Made outside of modules of a tensor that is put on the host in so many words, it is meant to stay there.
    """
    data = tensor_in(arguments.get(0, "data") or UNKNOWN)
    outside = frame.function is not None and (frame.owner is None or not is_module(frame.owner))
    if data is not None and data.place == CPU and outside and any(r.text.endswith(WRITTEN) for r in data.why):
        return data
    place = CUDA if data is not None and data.place == CUDA else CPU if frame.host else ASSUMED
    why = frame.reason("a module's parameters are on the GPU", node)
    return Tensor(
        place,
        data.dtype if data else "float",
        data.ndim if data else None,
        why,
        LIKELY if place == ASSUMED else CERTAIN,
    )


def typed(name: str, arguments: Arguments, node: ast.expr, frame: Frame) -> Value:
    """The old constructors: torch.FloatTensor(data) on the host, torch.cuda.FloatTensor(data) on the GPU."""
    on_gpu = name.startswith("torch.cuda.")
    dtype = frame.project.model.tensor_classes.get(name.replace("torch.cuda.", "torch."))
    data = arguments.values[0] if arguments.values else None
    why = frame.reason(f"{name} makes it on the {'GPU' if on_gpu else 'host'}", node)
    if on_gpu and isinstance(data, (Sequence, Array)):
        elements_read(data, name, node, frame)
        known = {"data": data, "element": innermost(data), "device": Device(CUDA)}
        frame.publish("construct", node, name, Tensor(CUDA, dtype, 1, why), data=data_word(data), known=known)
    if isinstance(data, UnknownValue) and not on_gpu and name == "torch.Tensor":
        return Tensor(CPU, "float", None, why)
    return Tensor(
        CUDA if on_gpu else CPU,
        dtype,
        data_ndim(data) if isinstance(data, Sequence) else len(arguments.values) or None,
        why,
    )


def device(name: str, arguments: Arguments, node: ast.expr, frame: Frame) -> Value:
    found = device_of(arguments.get(0, "type"), arguments.node(0, "type"), frame)
    return found if found is not None else Device(ASSUMED, frame.reason("torch.device of something unknown", node))


def set_default_device(name: str, arguments: Arguments, node: ast.expr, frame: Frame) -> Value:
    """torch.set_default_device: what names no device is made there from now on."""
    found = device_of(arguments.get(0, "device"), arguments.node(0, "device"), frame)
    frame.default_place = found.place if found is not None else CPU
    return NONE


def loader(name: str, arguments: Arguments, node: ast.expr, frame: Frame) -> Value:
    """A data loader: its batches are made on the host."""
    return BATCHES


def storage(tensor: Tensor, arguments: Arguments, node: ast.Call, frame: Frame) -> Value:
    """Tensor.untyped_storage: it can be copied to the host as the tensor can."""
    return tensor


METHODS: dict[str, Method] = {
    "item": item, "tolist": tolist, "to": to, "cpu": cpu, "cuda": cuda, "type_as": type_as, "type": type_method,
    "copy_": copy_, "fill_": fill_, "numpy": numpy, "pin_memory": pin_memory, "record_stream": record_stream,
    "new_tensor": new_tensor, "untyped_storage": storage, "new": new, "__int__": by_protocol("number", INT),
    "__float__": by_protocol("number", FLOAT), "__complex__": by_protocol("number", FLOAT),
    "__index__": by_protocol("index", INT), "__bool__": by_protocol("truth", BOOL),
    "__format__": by_protocol("format", TEXT), "__repr__": by_protocol("format", TEXT),
    "__str__": by_protocol("format", TEXT),
}  # fmt: skip
FUNCTIONS: dict[str, Call] = {
    "torch.tensor": construct, "torch.as_tensor": construct, "torch.asarray": construct,
    "torch.from_numpy": from_numpy, "torch.frombuffer": from_numpy, "torch.nn.Parameter": parameter,
    "torch.nn.Buffer": parameter, "torch.device": device,
    "torch.set_default_device": set_default_device,
}  # fmt: skip
FUNCTIONS.update(streams.FUNCTIONS)
FUNCTIONS.update(dict.fromkeys(LOADERS, loader))
for _prefix in ("torch.", "torch.cuda."):
    for _kind in ("Float", "Double", "Half", "BFloat16", "Long", "Int", "Short", "Byte", "Bool", "Char", ""):
        FUNCTIONS[f"{_prefix}{_kind}Tensor"] = typed
