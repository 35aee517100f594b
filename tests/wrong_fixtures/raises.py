"""Made wrong on purpose: a function that raises."""

from __future__ import annotations

import torch


def shapes_do_not_fit():
    return torch.ones(3, device="cuda") + torch.ones(4, device="cuda")
