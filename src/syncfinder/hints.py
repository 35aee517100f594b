"""Annotations that say where a tensor lives: `def f(lengths: CpuTensor, mask: CudaTensor)`.

A type checker sees `torch.Tensor`. At run time they cost nothing, and torch is not imported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

if TYPE_CHECKING:
    import torch

    CudaTensor = Annotated[torch.Tensor, "cuda"]
    CpuTensor = Annotated[torch.Tensor, "cpu"]
    PinnedTensor = Annotated[torch.Tensor, "pinned"]
else:
    CudaTensor = Annotated[Any, "cuda"]
    CpuTensor = Annotated[Any, "cpu"]
    PinnedTensor = Annotated[Any, "pinned"]

__all__ = ["CpuTensor", "CudaTensor", "PinnedTensor"]
