"""Made wrong on purpose: a twin that returns something else."""

from __future__ import annotations

import torch


def scaled():
    x = torch.ones(3, device="cuda")
    return x * x.sum().item()  # expect: SF101


def scaled_fixed():
    x = torch.ones(3, device="cuda")
    return x * (x.sum() + 1)
