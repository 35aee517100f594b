"""Policies, so that guesses are the same everywhere: what names, uses and places in the code say about a value."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from syncfinder.infer.names import last_name
from syncfinder.infer.project import ImportName
from syncfinder.infer.scan import Scan, Uses
from syncfinder.infer.values import (
    ARRAY,
    ASSUMED,
    CPU,
    LIKELY,
    Api,
    Const,
    Device,
    Sequence,
    Tensor,
    UnknownValue,
    Value,
    join_all,
    members,
    tensors,
)

if TYPE_CHECKING:
    from syncfinder.infer.calls import Arguments
    from syncfinder.infer.frame import Frame
    from syncfinder.infer.project import Module

HOST_PARTS = {"cpu", "host", "pinned"}
HOST_WORDS = tuple(HOST_PARTS)
DEVICE_WORDS = {"to", "device", "gpu", "cuda"}  # host_to_device
HOST_SUFFIXES = ("_cpu", "_host", "_pinned", "_np", "_list")
# is_cpu, to_cpu and num_cpu_blocks are not host tensors.
FLAG_WORDS = {"is", "use", "has", "to", "on", "for", "if"}
FLAG_PREFIXES = ("use_", "do_", "return_", "enable_", "disable_", "should_", "skip_")
COUNT_WORDS = {"num", "max", "n"}
MASK = re.compile(r"(^|_)(mask|masks|masked|is|has|valid|invalid|keep|finished|done|active|selected|bool)(_|$)|mask")
INDEX_SUFFIXES = ("_idx", "_index", "_indices", "_ids", "_pos")
MODULE_WORDS = {
    "model", "module", "net", "network", "pipe", "pipeline", "encoder", "decoder", "vae", "unet", "transformer",
    "layer", "backbone", "generator", "discriminator", "vocoder", "processor", "batch", "encoding", "self",
    "optimizer", "lora", "adapter", "controlnet", "component", "wrapper", "model_runner", "policy", "head", "block",
    "inputs",
}  # fmt: skip
HOST_FUNCTIONS = re.compile(r"(^|_)(collate|collate_fn|tokenize|preprocess|data_collator)(_|$)")
HOST_MODULES = {"dataset", "datasets", "dataloader", "dataloaders", "data_loader", "data_loaders", "collate"}
# The ends of reasons that the code itself gives.
WRITTEN = ("makes it on the host", "is written here")
MOVING_WORDS = {
    *FLAG_WORDS,
    "from",
    "offload",
    "copy",
    "move",
    "transfer",
    "send",
    "backup",
    "save",
    "load",
    "get",
    "as",
}
HOST_CLASSES = re.compile(
    r"(Dataset|DataLoader|Collator|Tokenizer|TokenizerFast|ProcessorFast|FeatureExtractor"
    r"|(?<!Logits)(?<!Attn)(?<!Attention)(?<!Output)Processor)$"
)
DEVICE_KEYWORDS = ("device", "map_location")
TOKENIZER = re.compile(r"(^|_)tokenizer(_\d)?$")
TOKENIZER_METHODS = {"__call__", "encode", "encode_plus", "batch_encode_plus", "pad", "apply_chat_template"}
# Functions without parameters that ask which machine this is: one with a GPU.
OTHER_PLATFORMS = {"is_cpu", "_is_cpu", "is_mps", "_is_mps"}
EVENT = re.compile(r"(^|_)(ev|evt|event|events)(_|$)")
BOUNDARIES = re.compile(r"(allow|permit|expect|ok).*sync|sync.*(allow|ok|permit)", re.IGNORECASE)
# Regions in which the program itself lets no sync pass. `no_sync` alone is about gradients.
GUARDS = re.compile(r"(^|_)(no|forbid|disallow|deny|without)_(gpu|cuda|device|host)_?sync", re.IGNORECASE)
DEBUG_MODE = "sync_debug_mode"
# Decorators of kernel languages: what they stand at is compiled for the GPU, and never run by Python.
KERNEL_DECORATORS = {
    "triton.jit", "triton.constexpr_function", "cute.jit", "cute.kernel", "cute.experimental.jit",
    "cute.experimental.kernel", "dsl_user_op", "tilelang.jit", "T.prim_func", "T.macro", "gluon.jit",
    "gluon.constexpr_function", "helion.kernel", "cuda.jit", "wp.kernel", "wp.func", "ti.kernel", "ti.func",
    "flyc.jit", "flyc.kernel",
}  # fmt: skip
DEBUG = re.compile(r"(^|_)(debug|DEBUG|verbose|isEnabledFor|trace_log|debugging)(_|$)")
# Methods that read or reduce: tensors and arrays have them, and little else.
READS = {
    "item", "tolist", "any", "all", "max", "min", "sum", "mean", "prod", "nonzero", "argmax", "argmin", "argsort",
    "cumsum", "unique",
}  # fmt: skip
TYPE_TESTS = {"isinstance", "is_tensor"}
SHAPE_ATTRIBUTES = {"shape", "ndim", "is_cuda", "requires_grad", "is_cpu", "mT"}


def by_name(name: str, frame: Frame, node: ast.AST) -> Value | None:
    """Return the host value that a name's suffix speaks of, or a device; None if it says nothing."""
    if name == "device" or name.endswith("_device"):
        return Device(ASSUMED, frame.reason(f"`{name}` is a device", node))
    parts = name.strip("_").split("_")
    if parts[-1] == "list" or parts[-2:] == ["list", "cpu"]:
        return Sequence("list")
    if parts[-1] in ("np", "numpy"):
        return ARRAY
    if HOST_PARTS & set(parts[1:]) and not (parts[0] in FLAG_WORDS and len(parts) == 2) and parts[0] not in COUNT_WORDS:
        memory = "pinned" if "pinned" in parts else None
        return Tensor(CPU, why=frame.reason(f"`{name}` is a host value by its name", node), sure=LIKELY, memory=memory)
    return None


def named(name: str, value: Value, frame: Frame, node: ast.AST) -> Value:
    """Return a value as bound to a name: where nobody says where it lives, a host name does."""
    if not name.endswith(HOST_SUFFIXES):
        return on_named_host(name, value, frame, node) if name.lstrip("_").startswith(HOST_WORDS) else value
    guess = by_name(name, frame, node)
    if isinstance(value, Tensor) and isinstance(guess, Tensor) and value.place == ASSUMED:
        return value.but(place=CPU, why=guess.why, memory=guess.memory)
    return guess if guess is not None and isinstance(value, UnknownValue) else value


def on_named_host(name: str, value: Value, frame: Frame, node: ast.AST) -> Value:
    """Return a value on the host if it is a tensor of which only the name's first word says where: host, host_rows."""
    parts = name.strip("_").split("_")
    found = tensors(value)
    if parts[0] not in HOST_PARTS or not DEVICE_WORDS.isdisjoint(parts) or not any(t.place == ASSUMED for t in found):
        return value
    why = frame.reason(f"`{name}` is a host value by its name", node)
    return join_all([m.but(place=CPU, why=why) if isinstance(m, Tensor) and m.place == ASSUMED else m
                     for m in members(value)])  # fmt: skip


def makes_host_values(callee: ast.expr, arguments: Arguments) -> bool:
    """Return whether something unknown that is called makes host tensors: a tokenizer, a processor of raw data.

    Processors are known by what they are asked for; one that is given a device, or GPU tensors, works there.
    """
    if "device" in arguments.keywords or any(t.waits for v, _ in arguments.every() for t in tensors(v)):
        return False
    if "return_tensors" in arguments.keywords:
        return True
    if isinstance(callee, ast.Attribute) and callee.attr in TOKENIZER_METHODS:
        callee = callee.value
    return TOKENIZER.search(last_name(callee)) is not None


def asks_for_host(arguments: Arguments) -> bool:
    """Return whether a call names the device of what it makes, and that is the CPU."""
    devices = [v for v in arguments.values if isinstance(v, Device)]
    devices += [d for k in DEVICE_KEYWORDS if (d := named_device(arguments.keywords.get(k))) is not None]
    return bool(devices) and all(d.place == CPU for d in devices)


def named_device(value: Value | None) -> Device | None:
    """Return the device that an argument for one is, where it is the CPU's by its name or a device's object."""
    if isinstance(value, Const) and value.value == "cpu":
        return Device(CPU)
    return value if isinstance(value, Device) else None


def asks_for_other_platform(callee: ast.expr) -> bool:
    """Return whether a call without arguments asks if the program runs without a GPU: is_cpu(), platform.is_cpu()."""
    if isinstance(callee, ast.Name):
        return callee.id in OTHER_PLATFORMS
    if not isinstance(callee, ast.Attribute) or callee.attr not in OTHER_PLATFORMS:
        return False
    owner = last_name(callee.value).lower()
    return "platform" in owner or owner.endswith("utils")


def asks_for_pinned_memory(callee: ast.expr) -> bool:
    """Return whether a call asks if pinned memory can be had, which is so where there is a GPU."""
    name = last_name(callee)
    return "pin_mem" in name and name.startswith((*FLAG_PREFIXES, "is_", "has_", "can_"))


def gives_indices(name: str) -> bool:
    """Return whether a function is named as one that gives the positions that it keeps."""
    return "nms" in name.split("_")


def event_class(name: str, method: str) -> str | None:
    """Return the event class for a receiver that is named like an event, where streams have the method as well."""
    return "torch.cuda.Event" if method == "synchronize" and EVENT.search(name) else None


def is_flag(name: str) -> bool:
    """Return whether a name says that something is done or wanted: use_cache, return_dict."""
    return name.startswith(FLAG_PREFIXES)


def mask_like(node: ast.expr) -> bool:
    """Return whether an index expression is named like a boolean mask."""
    if isinstance(node, ast.Compare) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Invert, ast.Not))):
        return True
    while True:
        name = last_name(node)
        if name:
            return MASK.search(name) is not None and not name.endswith(INDEX_SUFFIXES)
        if isinstance(node, ast.Call):
            first = node.args[0] if node.args else None
            if isinstance(node.func, ast.Attribute) and not isinstance(node.func.value, ast.Name):
                node = node.func.value
            elif isinstance(first, (ast.Name, ast.Attribute)):
                node = first
            else:
                return False
        elif isinstance(node, ast.Subscript):
            node = node.value
        else:
            return False


def named_like_module(node: ast.expr) -> bool:
    """Return whether an expression's last name is one that modules, pipelines and batches go by."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "detach":
        return False
    key = node.slice if isinstance(node, ast.Subscript) else None
    word = key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else last_name(node)
    name = word.rstrip("0123456789").rstrip("_")
    return not name or name.lower() in MODULE_WORDS or name.lower().rpartition("_")[2] in MODULE_WORDS


def is_kernel(decorators: tuple[str, ...]) -> bool:
    """Return whether a function is written in a kernel language, by its decorators' dotted names."""
    return any(
        ".".join(parts[start:]) in KERNEL_DECORATORS
        for parts in (name.split(".") for name in decorators)
        for start in range(len(parts))
    )


def is_host_code(name: str, owner: str | None, module: Module) -> bool:
    """Return whether a function works on the host: dataset, collate, tokenizer, processor code, or a CPU version."""
    return (
        HOST_FUNCTIONS.search(name) is not None
        or (owner is not None and HOST_CLASSES.search(owner) is not None)
        or is_cpu_version(name)
        or not HOST_MODULES.isdisjoint([*module.name.split("."), module.folder.name])
    )


def is_surely_host(value: Value, frame: Frame) -> bool:
    """Return whether a value is a host tensor by what the code says, not only as all tensors in host code are."""
    found = tensors(value)
    if not found or any(t.place != CPU for t in found):
        return False
    return not frame.host or any(r.text.endswith(WRITTEN) for t in found for r in t.why)


def is_cpu_version(name: str) -> bool:
    """Return whether a function is named as the CPU's version of something: blur_cpu; to_cpu and copy_cpu move."""
    parts = name.strip("_").split("_")
    return len(parts) > 1 and parts[-1] == "cpu" and MOVING_WORDS.isdisjoint(parts)


def evidence(name: str, scanned: Scan, frame: Frame, node: ast.AST) -> Tensor | None:
    """Return the tensor that a name's uses in a function prove it to be; None if nothing does."""
    uses = scanned.uses.get(name)
    if uses is None or is_made_tensor(name, scanned, frame):
        return None
    found = proof(uses, scanned, frame)
    if found is None:
        return None
    place = CPU if frame.host else ASSUMED
    return Tensor(place, why=frame.reason(f"`{name}` is used as a tensor ({found})", node), sure=LIKELY)


def is_made_tensor(name: str, scanned: Scan, frame: Frame) -> bool:
    """Return whether torch makes a tensor of the name's value and binds it anew: uses speak of that one.

    A value that is asked for its type may be a tensor from the start.
    """
    maker = scanned.remade.get(name)
    if maker is None or any(last_name(callee) in TYPE_TESTS for callee, _ in scanned.uses[name].passed):
        return False
    return torch_types(maker, 0, frame)[1] == {"o"}


def proof(uses: Uses, scanned: Scan, frame: Frame) -> str | None:
    """Return the use that proves a tensor, in words, strongest first."""
    model = frame.project.model
    for method in sorted(uses.methods):
        if model.tensor_only(method):
            return f".{method}()"
    for callee, position in uses.passed:
        taken = torch_parameter(callee, position, frame)
        if taken:
            return taken
    if scanned.arrays or (frame.module.speaks_arrays and not frame.module.speaks_torch):
        return None
    for attribute in sorted(uses.attributes & SHAPE_ATTRIBUTES):
        return f".{attribute}"
    for method in sorted(uses.methods & READS):
        return f".{method}()"
    if uses.subscripts and frame.module.speaks_torch:
        return "indexed along several axes" if "several" in uses.subscripts else "indexed by a mask"
    return None


def torch_parameter(callee: ast.expr, position: int | str, frame: Frame) -> str | None:
    """Return the name of the torch function that takes an argument as a tensor in every overload; None otherwise."""
    name, types = torch_types(callee, position, frame)
    return name if types and types <= {"T", "T?"} else None


def torch_types(callee: ast.expr, position: int | str, frame: Frame) -> tuple[str, set[str]]:
    """Return a torch function's name, and what its overloads take at a position or by a keyword; none: no such row."""
    root: ast.expr = callee
    while isinstance(root, ast.Attribute):
        root = root.value
    head = frame.lookup(root.id) if isinstance(root, ast.Name) else None
    if type(head) is ImportName:
        head = frame.project.resolve(head, frame.module)
    if not isinstance(head, Api) or not isinstance(root, ast.Name) or not head.name.startswith("torch"):
        return "", set()
    name = head.name + ast.unparse(callee)[len(root.id) :]
    row = frame.project.model.row(frame.project.model.canonical(name))
    types: set[str] = set()
    for overload in row.overloads if row is not None else ():
        if isinstance(position, int):
            parameters = [p for p in overload if not p.keyword_only]
            parameter = parameters[position] if position < len(parameters) else None
        else:
            parameter = next((p for p in overload if p.name == position), None)
        types.add(parameter.type if parameter is not None else "")
    return name, types
