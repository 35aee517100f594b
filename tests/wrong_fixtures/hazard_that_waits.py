"""Made wrong on purpose: a mark of a hazard at a line that waits."""

from __future__ import annotations

import torch


def reads_what_is_on_the_gpu():
    x = torch.rand(64, device="cuda")
    return x.tolist()  # expect: SF501
