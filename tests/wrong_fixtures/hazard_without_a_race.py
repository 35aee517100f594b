"""Made wrong on purpose: a mark of a hazard behind the wait that prevents it."""

from __future__ import annotations

import torch


def reads_in_time():
    x = torch.rand(64, device="cuda")
    host = torch.zeros(64, pin_memory=True)
    host.copy_(x, non_blocking=True)
    torch.cuda.synchronize()  # expect: SF401
    return host.tolist()  # expect: SF501
