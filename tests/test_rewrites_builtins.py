"""Rewrites of Python's builtins over tensors: the source before and after, exactly, and neighbours."""

from __future__ import annotations

from pathlib import Path

import pytest

from fixing import suggested

HEAD = "x = torch.arange(8, device='cuda')\na, b = x.sum(), x.max()\nts = [a, b]\n"
NAN = "there must be no NaN"
STACKED = "the list must not be empty, its tensors 0-dim and of one dtype"
REWRITTEN = [
    ("any(x)", "bool(x.any())", "safe", "`bool(x.any())` tests all at once: one wait, not one for each"),
    ("all(x)", "bool(x.all())", "safe", "`bool(x.all())` tests all at once: one wait, not one for each"),
    ("max(x)", "x.amax()", "unsafe", f"`x.amax()` reduces on the device; unsafe: {NAN}"),
    ("min(ts)", "torch.stack(list(ts)).amin()", "unsafe",
     f"`torch.stack(list(ts)).amin()` reduces on the device; unsafe: {STACKED}, and {NAN}"),
    ("max([a, b])", "torch.stack([a, b]).amax()", "unsafe",
     f"`torch.stack([a, b]).amax()` reduces on the device; unsafe: {STACKED}, and {NAN}"),
    ("any(ts)", "bool(torch.stack(list(ts)).any())", "unsafe",
     f"`bool(torch.stack(list(ts)).any())` tests all at once: one wait, not one for each; unsafe: {STACKED}"),
    ("max(a, b)", "torch.maximum(a, b)", "unsafe",
     f"`torch.maximum(a, b)` stays on the device; unsafe: both must be of one dtype, and {NAN}"),
    ("max(a, 3)", "a.clamp(min=3)", "unsafe",
     f"`a.clamp(min=3)` stays on the device; unsafe: the result is a tensor even where the number wins, and {NAN}"),
    ("min(7, x.sum())", "x.sum().clamp(max=7)", "unsafe",
     "`x.sum().clamp(max=7)` stays on the device; unsafe: the result is a tensor even where the number wins, and "
     f"{NAN}"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "after", "applicability", "message"), REWRITTEN)
def test_rewritten(tmp_path: Path, before: str, after: str, applicability: str, message: str) -> None:
    fix, made = suggested(tmp_path / "m.py", f"{HEAD}y = {before}\n", "SF109")
    assert (fix.applicability, fix.message) == (applicability, message)
    assert made == f"{HEAD}y = {after}"


SHOWN = [
    (
        "max(a, self.n)",
        "`a.clamp(min=self.n)`, or `torch.maximum(a, self.n)` if `self.n` is a tensor, stays on the device",
    ),
    ("sorted(x)", "`torch.stack(list(x)).sort().values` reduces on the device"),
    ("3 in x", "`(x == 3).any()` keeps the answer on the device"),
    ("any(t > 3 for t in x)", "`torch.stack(list(t > 3 for t in x)).any()` reduces on the device"),
]


@pytest.mark.parametrize(("source", "message"), SHOWN)
def test_shown(tmp_path: Path, source: str, message: str) -> None:
    fix, _ = suggested(tmp_path / "m.py", f"{HEAD}y = {source}\n", "SF109")
    assert (fix.applicability, fix.edits, fix.message) == ("display-only", (), message)
