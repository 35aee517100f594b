"""Made wrong on purpose: a wait without a mark."""

from __future__ import annotations

import torch


def reads_a_value():
    total = torch.ones(3, device="cuda").sum()
    return total.item()


def reads_without_a_report():
    x = torch.tensor([2, 1, 2, 3]).reshape(2, 2).pin_memory().to("cuda", non_blocking=True)
    return torch.unique(x, dim=0)
