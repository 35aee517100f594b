"""Made wrong on purpose: a fixed form that reads too early as well."""

from __future__ import annotations

import torch


def reads_early():
    x = torch.rand(64, device="cuda")
    host = torch.zeros(64, pin_memory=True)
    host.copy_(x, non_blocking=True)
    return host.tolist()  # expect: SF501


def reads_early_fixed():
    x = torch.rand(64, device="cuda")
    host = torch.zeros(64, pin_memory=True)
    copied = torch.cuda.Event()
    copied.record()
    host.copy_(x, non_blocking=True)
    copied.query()
    return host.tolist()
