"""Reads: the host needs a tensor's value."""

from __future__ import annotations

import ast
from typing import Any

from syncfinder.infer.frame import Frame
from syncfinder.infer.hazards import read_operand
from syncfinder.infer.values import CERTAIN, CPU, POSSIBLE, Mapping, Sequence, Tensor, Value, tensors


def read(tensor: Tensor, kind: str, operation: str, node: ast.expr, frame: Frame, **facts: Any) -> bool:
    """Publish a read of a tensor if it may be on the GPU; return whether it does.

    A read of the host's own memory is too early while a stream still writes there.
    """
    if tensor.waits:
        if tensor.buffers is not None:
            read_operand(tensor, operation, node, frame)
        frame.publish(kind, node, operation, tensor, POSSIBLE if is_copied(tensor) else CERTAIN, **facts)
        return True
    if tensor.buffers is not None:
        read_operand(tensor, operation, node, frame)
    return False


def is_copied(tensor: Tensor) -> bool:
    """Return whether it is an attribute that holds a GPU tensor, then its host copy: who reads it reads the copy."""
    return tensor.pending and tensor.memory == "pinned" and tensor.place != CPU


def read_any(value: Value, kind: str, operation: str, node: ast.expr, frame: Frame, **facts: Any) -> bool:
    """Publish a read of whatever tensor a value may be; return whether there is one."""
    return any([read(t, kind, operation, node, frame, **facts) for t in tensors(value)])


def formattable(value: Value) -> list[Tensor]:
    """Return the tensors whose values a value's text shows: itself, or a container's elements."""
    if isinstance(value, Sequence):
        return [t for v in value.parts() for t in tensors(v)][:1]
    if isinstance(value, Mapping):
        return tensors(value.each())[:1]
    return tensors(value)
