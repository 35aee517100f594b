"""Attributes: what `base.name` is for each kind of value."""

from __future__ import annotations

import ast
from typing import Any

from syncfinder.infer import classes, policy
from syncfinder.infer.frame import Frame
from syncfinder.infer.names import ACCELERATORS
from syncfinder.infer.project import Namespace
from syncfinder.infer.values import (
    ARRAY,
    ASSUMED,
    BOOL,
    CPU,
    CUDA,
    FLOAT,
    HOST_DATA,
    INT,
    LIKELY,
    NONE,
    SIZE,
    TEXT,
    UNKNOWN,
    Api,
    Array,
    Bound,
    Class,
    Const,
    Device,
    Dtype,
    Function,
    Instance,
    Library,
    Method,
    ModuleValue,
    Number,
    Sequence,
    Super,
    Tensor,
    Union,
    UnknownValue,
    Value,
    join_all,
    tensors,
)


def attribute_of(base: Value, name: str, frame: Frame, node: ast.expr) -> Value:
    """Return `base.name`."""
    getter = ATTRIBUTES.get(type(base))
    return getter(base, name, frame, node) if getter is not None else Method(base, name)


def unknown_attribute(base: UnknownValue, name: str, frame: Frame, node: ast.expr) -> Value:
    if base.host and name == "device":
        return Device(CPU)
    by_name = policy.by_name(name, frame, node)
    if by_name is not None:
        return by_name
    return UNKNOWN_ATTRIBUTES.get(name, HOST_DATA if base.host else UNKNOWN)


UNKNOWN_ATTRIBUTES: dict[str, Value] = {
    "shape": SIZE,
    "dtype": Dtype(None),
    "is_cuda": BOOL,
    "training": BOOL,
    "ndim": INT,
}


def tensor_attribute(base: Tensor, name: str, frame: Frame, node: ast.expr) -> Value:
    if name.startswith("is_") and (name == "is_cpu" or name[3:] in ACCELERATORS):
        return BOOL if base.place not in (CPU, CUDA) else Const((base.place == CPU) == (name == "is_cpu"))
    kind = frame.project.model.attribute(name)
    if kind is None:
        return Method(base, name) if frame.project.model.method(name) is not None else UNKNOWN
    if kind == "tensor":
        return base
    if kind == "size":
        return SIZE if base.ndim is None else Sequence("tuple", (INT,) * base.ndim)
    if kind == "device":
        return Device(base.place, base.why)
    if kind == "dtype":
        return Dtype(base.dtype)
    return RESULTS.get(kind, UNKNOWN)


RESULTS: dict[str, Value] = {
    "int": INT,
    "float": FLOAT,
    "bool": BOOL,
    "number": FLOAT,
    "str": TEXT,
    "none": NONE,
    "size": SIZE,
    "array": ARRAY,
}


def device_attribute(base: Device, name: str, frame: Frame, node: ast.expr) -> Value:
    if name == "type":
        return Const("cuda") if base.place == CUDA else Const("cpu") if base.place == CPU else TEXT
    return INT if name == "index" else UNKNOWN


def class_attribute(base: Class, name: str, frame: Frame, node: ast.expr) -> Value:
    return TEXT if name in ("__name__", "__qualname__") else classes.class_attribute(base, name, frame, node)


def module_attribute(base: ModuleValue, name: str, frame: Frame, node: ast.expr) -> Value:
    value = base.module.lookup(name)
    if value is not None:
        return value
    if base.module.path.name == "__init__.py":
        found = frame.project.find(base.module, name, 1)
        if found is not None:
            return found
    return UNKNOWN


def namespace_attribute(base: Namespace, name: str, frame: Frame, node: ast.expr) -> Value:
    found = frame.project.find(frame.module, f"{base.dotted}.{name}", 0)
    return found if found is not None and not isinstance(found, Api) else UNKNOWN


def api_attribute(base: Api, name: str, frame: Frame, node: ast.expr) -> Value:
    return frame.project.api(f"{base.name}.{name}")


def library_attribute(base: Library, name: str, frame: Frame, node: ast.expr) -> Value:
    limits = frame.project.model.limits.get(base.name)
    if limits is not None:
        return TEXT if name == "dtype" else FLOAT if limits == "float" else INT
    if base.name.startswith("torch.nn."):
        if name in frame.project.model.module_parameters:
            return Tensor(
                ASSUMED, "float", why=frame.reason(f"`{name}` is a parameter of {base.name}", node), sure=LIKELY
            )
        if name == "out_features" or name == "in_features":
            return INT
    return Method(base, name)


def sequence_attribute(base: Sequence, name: str, frame: Frame, node: ast.expr) -> Value:
    position = frame.project.model.result_fields.get(name)
    if position is not None and base.items is not None and position < len(base.items) and tensors(base.items[position]):
        return base.items[position]
    return Method(base, name)


def array_attribute(base: Array, name: str, frame: Frame, node: ast.expr) -> Value:
    return (
        SIZE
        if name == "shape"
        else INT
        if name in ("size", "ndim")
        else ARRAY
        if name in ("T", "real", "imag", "flat")
        else Method(base, name)
    )


def union_attribute(base: Union, name: str, frame: Frame, node: ast.expr) -> Value:
    found = [
        attribute_of(m, name, frame, node) for m in base.members if m is not NONE and not isinstance(m, (Const, Number))
    ]
    return join_all(found)


def function_attribute(base: Value, name: str, frame: Frame, node: ast.expr) -> Value:
    return TEXT if name in ("__name__", "__qualname__", "__module__") else UNKNOWN


ATTRIBUTES: dict[type, Any] = {
    UnknownValue: unknown_attribute, Tensor: tensor_attribute, Device: device_attribute,
    Instance: classes.instance_attribute, Class: class_attribute, Super: classes.super_attribute,
    ModuleValue: module_attribute, Namespace: namespace_attribute, Api: api_attribute, Library: library_attribute,
    Sequence: sequence_attribute, Array: array_attribute, Union: union_attribute, Function: function_attribute,
    Bound: function_attribute, Dtype: function_attribute,
}  # fmt: skip
