"""Made wrong on purpose: two reads that come too early, and one mark."""

from __future__ import annotations

import torch


def reads_twice():
    x = torch.rand(64, device="cuda")
    first, second = torch.zeros(64, pin_memory=True), torch.zeros(64, pin_memory=True)
    first.copy_(x, non_blocking=True)
    early = first.tolist()
    second.copy_(x, non_blocking=True)
    return early, second.tolist()  # expect: SF501
