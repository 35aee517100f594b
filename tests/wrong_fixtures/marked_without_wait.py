"""Made wrong on purpose: a mark where nothing waits."""

from __future__ import annotations

import torch


def adds():
    x = torch.ones(3, device="cuda")
    return x + 1  # expect: SF101
