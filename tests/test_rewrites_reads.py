"""Rewrites of reads: the source before and after, exactly, and neighbours that must stay as they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from fixing import suggested

HEAD = "x = torch.arange(8, device='cuda')\n"
ALL = "reads all elements at once: one wait for all"
IN_FRONT = f"`x.tolist()` in front {ALL}"
LISTED = f"`x_list = x.tolist()` in front {ALL}"


def check(path: Path, before: str, after: str, applicability: str, message: str, code: str = "SF101") -> None:
    """Assert the first suggestion's applicability, message and edits, for a body behind that of `HEAD`."""
    fix, made = suggested(path, HEAD + before, code)
    assert (fix.applicability, fix.message) == (applicability, message)
    assert made == HEAD + after.rstrip("\n")


SAFE = [
    ("return [t.item() for t in x]\n", "return x.tolist()\n", IN_FRONT, "SF101"),
    ("return [int(t) for t in x if t.item() > 3]\n", "return [int(t) for t in x.tolist() if t > 3]\n",
     IN_FRONT, "SF101"),
    ("return max(t.item() for t in x)\n", "return max(t for t in x.tolist())\n", IN_FRONT, "SF101"),
    ("return {i: float(t) for i, t in enumerate(x)}\n", "return {i: float(t) for i, t in enumerate(x.tolist())}\n",
     IN_FRONT, "SF106"),
    ("return [a.item() + b for a, b in zip(x, device)]\n", "return [a + b for a, b in zip(x.tolist(), device)]\n",
     IN_FRONT, "SF101"),
    ("y = [x[i].item() for i in range(8)]\n", "x_list = x.tolist()\ny = [x_list[i] for i in range(8)]\n",
     LISTED, "SF101"),
    ("a, b = int(x[0].item()), int(x[1])  # both\n",
     "x_list = x.tolist()\na, b = int(x_list[0]), int(x_list[1])  # both\n",
     LISTED, "SF101"),
    ("return Point(x=x[0].item(), y=x[1].item() // 2)\n",
     "x_list = x.tolist()\nreturn Point(x=x_list[0], y=x_list[1] // 2)\n", LISTED, "SF101"),
    ("y = torch.tensor(x.tolist(), device=device)\n",
     "y = x.detach().to(device=device, dtype=torch.int64, copy=True)\n",
     "`x.detach().to(device=device, dtype=torch.int64, copy=True)` stays on the device", "SF102"),
    ("y = torch.tensor(x.float().mean().item(), device=device, dtype=torch.half)\n",
     "y = x.float().mean().detach().to(device=device, dtype=torch.half, copy=True)\n",
     "`x.float().mean().detach().to(device=device, dtype=torch.half, copy=True)` stays on the device", "SF101"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "after", "message", "code"), SAFE)
def test_safe(tmp_path: Path, before: str, after: str, message: str, code: str) -> None:
    check(tmp_path / "m.py", before, after, "safe", message, code)


OPERAND = (
    "can stand there itself; unsafe: it must be on the same GPU, of the other operand's dtype, and need no gradient"
)
LATER = "an index out of range is reported later"
UNSAFE = [
    (
        "for t in x:\n    print(t.item())\n",
        "for t in x.tolist():\n    print(t)\n",
        f"{IN_FRONT}; unsafe: nothing in the loop may write to `x`, and nothing after it may use `t` as a tensor",
        "SF101",
    ),
    (  # behind the line that binds the names again, they are numbers
        "g = torch.zeros(3, 2, device='cuda')\nfor t, h in g:\n    t, h = int(t.item()), int(h)\n    self.run(t * h)\n",
        "g = torch.zeros(3, 2, device='cuda')\nfor t, h in g.tolist():\n    t, h = int(t), int(h)\n"
        "    self.run(t * h)\n",
        f"`g.tolist()` in front {ALL}; unsafe: nothing in the loop may write to `g`, and nothing after it may use "
        "`t`, `h` as a tensor",
        "SF101",
    ),
    (
        "for i in range(8):\n    n = x[i].item()\n    print(n)\n",
        "x_list = x.tolist()\nfor i in range(8):\n    n = x_list[i]\n    print(n)\n",
        f"`x_list = x.tolist()` in front of the loop {ALL}; unsafe: nothing in the loop may write to `x`",
        "SF101",
    ),
    (  # a call might write to the tensor
        "return [self.run(t.item()) for t in x]\n",
        "return [self.run(t) for t in x.tolist()]\n",
        f"{IN_FRONT}; unsafe: nothing in the loop may write to `x`",
        "SF101",
    ),
    (
        "return (t.item() for t in x)\n",
        "return (t for t in x.tolist())\n",
        f"{IN_FRONT}; unsafe: it must be consumed before the tensor changes",
        "SF101",
    ),
    (
        "ts = [x.sum(), x.max()]\nreturn [t.item() for t in ts]\n",
        "ts = [x.sum(), x.max()]\nreturn torch.stack(list(ts)).tolist()\n",
        f"`torch.stack(list(ts)).tolist()` in front {ALL}; unsafe: `ts` must not be empty, its tensors 0-dim and of "
        "one dtype",
        "SF101",
    ),
    (
        "return [(x + i).sum().item() for i in range(3)]\n",
        "return torch.stack([(x + i).sum() for i in range(3)]).tolist()\n",
        "`torch.stack([(x + i).sum() for i in range(3)]).tolist()` reads all at once: one wait for all; unsafe: there "
        "must be at least one, and all of one dtype",
        "SF101",
    ),
    ("m = x.max()\ny = x * m.item()\n", "m = x.max()\ny = x * m\n", f"`m` {OPERAND}", "SF101"),
    ("y = x > (x.max() - 1).item()\n", "y = x > (x.max() - 1)\n", f"`x.max() - 1` {OPERAND}", "SF101"),
    (
        "y = torch.where(x > 0, x.max().item(), x)\n",
        "y = torch.where(x > 0, x.max(), x)\n",
        f"`x.max()` {OPERAND}",
        "SF101",
    ),
    ("x[0] = x.max().item()\n", "x[0] = x.max()\n", f"`x.max()` {OPERAND}", "SF101"),
    ("x.fill_(int(x.max()))\n", "x.fill_(x.max())\n", f"`x.max()` {OPERAND}", "SF106"),
    (
        "if x.any().item():\n    x = x + 1\n",
        "x = torch.where(x.any(), x + 1, x)\n",
        "`x = torch.where(x.any(), x + 1, x)` chooses on the device; both sides are computed, and their gradients; "
        "unsafe: both sides need one shape and dtype",
        "SF101",
    ),
    (
        "y = x if x.sum().item() > 3 else -x\n",
        "y = torch.where(x.sum() > 3, x, -x)\n",
        "`torch.where(x.sum() > 3, x, -x)` chooses on the device; both sides are computed, and their gradients; "
        "unsafe: both sides need one shape and dtype",
        "SF101",
    ),
    (
        "assert bool((x >= 0).all()), 'positive'\n",
        "torch._assert_async((x >= 0).all(), 'positive')\n",
        "`torch._assert_async((x >= 0).all(), 'positive')` checks on the device; unsafe: the error comes later, as a "
        "device-side assertion that breaks the CUDA context, and the function is private",
        "SF106",
    ),
    (
        "i = x.argmax()\ny = x[i]\n",
        "i = x.argmax()\ny = x[i.reshape(1)].squeeze(0)\n",
        "`x[i.reshape(1)].squeeze(0)` selects on the device; unsafe: it copies where an index by number is a view, and "
        + LATER,
        "SF107",
    ),
    (
        "i = x.argmax()\nx[i] = 0\n",
        "i = x.argmax()\nx.index_fill_(0, i.reshape(1), 0)\n",
        f"`x.index_fill_(0, i.reshape(1), 0)` writes on the device; unsafe: `i.reshape(1)` must be int64, and {LATER}",
        "SF107",
    ),
    (
        "i = x.argmax()\nx[i] = x.sum()\n",
        "i = x.argmax()\nx[i.reshape(1)] = x.sum()\n",
        f"`x[i.reshape(1)] = x.sum()` writes on the device; unsafe: both must be of one dtype, and {LATER}",
        "SF107",
    ),
    (
        "y = torch.tensor([x.sum(), x.max()], device=device)\n",
        "y = torch.stack([x.sum(), x.max()])\n",
        "`torch.stack([x.sum(), x.max()])` joins them on the device; unsafe: the tensors must be 0-dim, on one GPU, of "
        "one dtype, and need no gradient",
        "SF111",
    ),
]


@pytest.mark.parametrize(("before", "after", "message", "code"), UNSAFE)
def test_unsafe(tmp_path: Path, before: str, after: str, message: str, code: str) -> None:
    check(tmp_path / "m.py", before, after, "unsafe", message, code)


LATE = """queue the copy early, and wait for its event where the value is used:
x_host = torch.empty_like(x, {dtype}device="cpu", pin_memory=True)
x_host.copy_(x, non_blocking=True)
x_copied = torch.cuda.Event()
x_copied.record()
...  # queue other work here
x_copied.synchronize()
{use}"""
SUM = """keep `x.sum()` on the device where a tensor will do, or queue the copy early, and wait for its event where \
the value is used:
x_device = x.sum()
x_host = torch.empty_like(x_device, device="cpu", pin_memory=True)
x_host.copy_(x_device, non_blocking=True)
x_copied = torch.cuda.Event()
x_copied.record()
...  # queue other work here
x_copied.synchronize()
{use}"""
SHOWN = [
    ("y = x.cpu()\n", LATE.format(dtype="", use="y = x_host"), "SF103"),
    ("y = x.to('cpu', torch.half)\n", LATE.format(dtype="dtype=torch.half, ", use="y = x_host"), "SF103"),
    ("return x.tolist()\n", LATE.format(dtype="", use="return x_host.tolist()"), "SF102"),
    ("y = x.numpy(force=True)\n", LATE.format(dtype="", use="y = x_host.numpy(force=True)"), "SF105"),
    ("y = f'{x}'\n", LATE.format(dtype="", use="y = f'{x_host}'"), "SF108"),
    ("return torch.zeros(x.sum())\n",
     SUM.format(use="return torch.zeros(x_host)").partition(", or ")[2], "SF107"),
    ("y = x.sum().item() + 1\n", SUM.format(use="y = x_host.item() + 1"), "SF101"),
    ("y = int(x.sum())\n", SUM.format(use="y = int(x_host)"), "SF106"),
    ("while x.sum().item() > 3:\n    x = x - 1\n", SUM.format(use="x_host.item()"), "SF101"),
    ("a, b = int(x.sum().item()), int(x.max())\n",
     "read them together, if they are 0-dim and of one dtype: one wait for all\n"
     "x_value, x_value_1 = torch.stack([x.sum(), x.max()]).tolist()\na, b = int(x_value), int(x_value_1)", "SF101"),
    ("total = 0\nfor i in range(3):\n    total += (x + i).sum().item()\n",
     "collect on the device, `total += (x + i).sum().detach()` in the loop, and read once behind it, "
     "`total = total.item()`", "SF101"),
    ("ts = []\nfor i in range(3):\n    ts.append((x + i).sum().item())\n",
     "collect on the device, `ts.append((x + i).sum())` in the loop, and read once behind it, "
     "`ts = torch.stack(ts).tolist()`", "SF101"),
]  # fmt: skip


@pytest.mark.parametrize(("source", "message", "code"), SHOWN)
def test_shown(tmp_path: Path, source: str, message: str, code: str) -> None:
    check(tmp_path / "m.py", source, source, "display-only", message, code)


UNCHANGED = [
    ("return [t * t.item() for t in self.ts]\n", "SF101"),
    ("x_list = 3\na, b = x[0].item() + x_list, x[1].item()\n", "SF101"),  # the name is taken
    ("a = [x[0].item(), x[1].item()] if device else None\n", "SF101"),
    ("a, b = x[0].item(), x.sum() + x[1].item()\n", "SF101"),
    ("for i in range(8):\n    x.add_(1)\n    print(x[i].item())\n", "SF101"),
    ("y = 3 * x.max().item()\n", "SF101"),
    ("y = torch.tensor(x.tolist())\n", "SF102"),  # it ends on the host
    ("i = x.argmax()\nx[i] += 1\n", "SF107"),
    ("y = torch.zeros(3, 3, device='cuda')\ni = tuple(x.view(4, 2)[0])\nreturn y[i]\n", "SF107"),  # two indices
    ("i = x.argmax()\nreturn x[:i]\n", "SF107"),
    ("y = torch.tensor([x.sum(), 3], device=device)\n", "SF111"),
]


@pytest.mark.parametrize(("source", "code"), UNCHANGED)
def test_neighbours_get_no_edits(tmp_path: Path, source: str, code: str) -> None:
    fix, made = suggested(tmp_path / "m.py", HEAD + source, code)
    assert (fix.applicability, fix.edits) == ("display-only", ())
    assert made == (HEAD + source).rstrip("\n")
