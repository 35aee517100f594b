"""Which names of torch are public. Used by the generator only."""

from __future__ import annotations

import importlib
import inspect
import warnings
from collections.abc import Callable, Iterator
from typing import Any

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
    "torch.masked": "",
    "torch.signal.windows": "",
    "torch.nn": "",
    "torch.nn.utils": "",
    "torch.nn.utils.rnn": "",
    "torch.nn.utils.parametrizations": "",
    "torch.nn.utils.parametrize": "",
    "torch.nn.init": "",
    "torch.nn.parallel": "",
    "torch.nn.attention": "",
    "torch.distributions": "",
    "torch.optim": "",
    "torch.optim.lr_scheduler": "",
    "torch.optim.swa_utils": "",
    "torch.cuda": "",
    "torch.cuda.amp": "",
    "torch.accelerator": "",
    "torch.distributed": "",
    "torch.amp": "",
    "torch.utils.data": "",
    "torch.utils.checkpoint": "",
    "torch.autograd": "",
    "torch.func": "",
    "torch.testing": "",
    "torch.random": "",
    "torch.profiler": "",
}
SCHEMA_MODULE = {
    "torch": "torch",
    "torch.Tensor": "Tensor",
    "torch.nn.functional": "nn",
    "torch.linalg": "linalg",
    "torch.fft": "fft",
    "torch.special": "special",
    "torch.sparse": "sparse",
    "torch.nested": "nested",
}
# where the public functions of a namespace may be defined, beside the namespace itself and its submodules
DEFINED_IN = {
    "torch": ("torch.", "builtins"),
    "torch.Tensor": ("torch.",),
    "torch.nn": ("torch.nn.",),
    "torch.nested": ("torch.nested",),
}
# classes of the compiled module that people construct; the rest is the graph compiler's, whose names (Node, Value) are
# common elsewhere
COMPILED = ("Generator", "Size", "Stream", "Event", "Future")
# a class here is a helper, such as an enumeration for an argument
OF_FUNCTIONS = ("torch.Tensor", "torch.nn.functional", "torch.linalg", "torch.fft", "torch.special")
NOT_CALLED = ("device", "dtype", "layout", "memory_format", "finfo", "iinfo", "Tensor", "Parameter", "Buffer")


def owner_of(namespace: str) -> Any:
    """Return the module or class of a namespace, or None where this torch has none."""
    import torch

    if namespace == "torch.Tensor":
        return torch.Tensor
    try:
        return importlib.import_module(namespace)
    except ImportError:
        return None


def functions(namespace: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield the public callables of a namespace that are not classes, sorted."""
    owner = owner_of(namespace)
    for name in _names(owner):
        value = inspect.getattr_static(owner, name) if namespace == "torch.Tensor" else getattr(owner, name)
        if callable(value) and not isinstance(value, type) and _own(namespace, owner, name, value):
            yield name, value


def classes(namespace: str) -> Iterator[tuple[str, type[Any]]]:
    """Yield the public classes of a namespace, sorted; exceptions and types of tensors are none."""
    import torch

    owner = owner_of(namespace)
    if namespace in OF_FUNCTIONS:
        return
    for name in _names(owner):
        value = getattr(owner, name)
        if not isinstance(value, type) or name in NOT_CALLED or issubclass(value, BaseException) or _typed(value):
            continue
        compiled = namespace == "torch" and getattr(torch._C, name, None) is value
        if name in COMPILED if compiled else _own(namespace, owner, name, value):
            yield name, value


def typed_tensors(namespace: str) -> Iterator[tuple[str, Any]]:
    """Yield the types of tensors, such as torch.cuda.FloatTensor."""
    owner = owner_of(namespace)
    for name in _names(owner):
        if _typed(getattr(owner, name)):
            yield name, getattr(owner, name)


def _typed(value: object) -> bool:
    return type(value).__name__ == "tensortype"


def _names(owner: Any) -> list[str]:
    if owner is None:
        return []
    warnings.simplefilter("ignore")  # deprecated names warn when they are looked at
    names = {*dir(owner), *getattr(owner, "__all__", ())}
    return sorted(
        n
        for n in names
        if not n.startswith("_") and not n.endswith(("_backward", "_backward_data")) and hasattr(owner, n)
    )


def _own(namespace: str, owner: Any, name: str, value: object) -> bool:
    """Return whether a name belongs to a namespace, rather than being a helper that it imported for its own use."""
    if name in getattr(owner, "__all__", ()):
        return True
    module = getattr(value, "__module__", None)
    if not isinstance(module, str) or not module:
        return True
    if namespace in SCHEMA_MODULE and module.startswith(("torch._C", "torch._VF")):
        return True
    # torch.nn.functional documents compiled functions of torch as its own: conv2d, avg_pool1d, cosine_similarity
    if namespace == "torch.nn.functional" and module == "torch" and inspect.isbuiltin(value):
        return True
    defined_in = (*DEFINED_IN.get(namespace, ()), namespace + ".")
    return (module + ".").startswith(defined_in) or module in defined_in
