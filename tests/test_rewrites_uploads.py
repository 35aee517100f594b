"""Rewrites of uploads: source before and after, and neighbours that get no edits."""

from __future__ import annotations

from pathlib import Path

import pytest

from fixing import findings, suggested
from syncfinder.check import check
from syncfinder.config import Settings

PINNED = "copy from pinned memory without waiting, which pays for large or frequent copies"
FULL = "`torch.full` passes the number to the kernel"
COUNTS = "`torch.arange` counts on the device"
CREATED = "the device creates it by itself"
FILL = "`fill_` passes the number to the kernel"
INDEX = "copy the index from pinned memory, which does not wait; better, build it once on the device"

CONSTRUCTED_SETUP = """\
x = torch.rand(8, device="cuda")
n = len(self.names)
rows = [1, 5, n]
host = torch.from_numpy(self.array)
"""
# rule, before, applicability, after (None: no edits), message
CONSTRUCTED = [
    ("SF301", 'a = torch.tensor(0.0, device="cuda")', "safe", 'a = torch.full((), 0.0, device="cuda")', FULL),
    ("SF301", "a = torch.tensor(True, device=device)", "safe", "a = torch.full((), True, device=device)", FULL),
    (
        "SF301",
        "a = torch.tensor(data=-1, device=device, dtype=torch.int32)",
        "safe",
        "a = torch.full((), -1, device=device, dtype=torch.int32)",
        FULL,
    ),
    (
        "SF301",
        'a = torch.tensor(float("inf"), device=device, requires_grad=True)',
        "safe",
        'a = torch.full((), float("inf"), device=device, requires_grad=True)',
        FULL,
    ),
    (
        "SF301",
        "a = torch.as_tensor(n * 2 + 1, device=device)",
        "unsafe",
        "a = torch.full((), n * 2 + 1, device=device)",
        FULL + "; only if `n * 2 + 1` is a Python number (a NumPy number brings its own dtype)",
    ),
    (
        "SF301",
        "a = torch.as_tensor(n, torch.float, device)",
        "safe",
        "a = torch.full((), n, dtype=torch.float, device=device)",
        FULL,
    ),
    ("SF301", "a = torch.asarray(2.5, device=device)", "safe", "a = torch.full((), 2.5, device=device)", FULL),
    (
        "SF301",
        "a = torch.tensor([n], device=device)",
        "unsafe",
        "a = torch.full((1,), n, device=device)",
        FULL + "; only if `n` is a Python number (a NumPy number brings its own dtype)",
    ),
    ("SF301", "a = torch.tensor([[0]], device=device)", "safe", "a = torch.full((1, 1), 0, device=device)", FULL),
    ("SF301", "a = torch.tensor([3.5, 3.5], device=device)", "safe", "a = torch.full((2,), 3.5, device=device)", FULL),
    ("SF301", "a = torch.tensor([0] * 4, device=device)", "safe", "a = torch.full((4,), 0, device=device)", FULL),
    (
        "SF301",
        "a = torch.tensor([0] * n, device=device)",
        "unsafe",
        "a = torch.full((n,), 0, device=device)",
        FULL + "; only if `n` is not 0",
    ),
    (
        "SF301",
        "a = torch.tensor([-1] * n, dtype=torch.long, device=device)",
        "safe",
        "a = torch.full((n,), -1, dtype=torch.long, device=device)",
        FULL,
    ),
    (
        "SF301",
        "a = x.new_tensor(1.0)",
        "safe",
        "a = x.new_full((), 1.0)",
        "`x.new_full` passes the number to the kernel",
    ),
    (
        "SF301",
        "a = x.new_tensor([n, n], dtype=torch.long)",
        "safe",
        "a = torch.tensor([n, n], dtype=torch.long, pin_memory=True).to(x.device, non_blocking=True)",
        PINNED,
    ),
    (
        "SF301",
        "a = x.new_tensor(self.table.rows)",
        "unsafe",
        ("a = torch.tensor(self.table.rows, dtype=x.dtype, pin_memory=True).to(x.device, non_blocking=True)"),
        PINNED + "; only if `self.table.rows` is a list or an array",
    ),
    ("SF301", "a = torch.tensor(range(4), device=device)", "safe", "a = torch.arange(4, device=device)", COUNTS),
    (
        "SF301",
        "a = torch.tensor(list(range(1, n)), device=device)",
        "unsafe",
        "a = torch.arange(1, n, device=device)",
        COUNTS + "; only if `range(1, n)` is not empty",
    ),
    (
        "SF301",
        "a = torch.tensor(list(range(n)), dtype=torch.long, device=device)",
        "safe",
        "a = torch.arange(n, dtype=torch.long, device=device)",
        COUNTS,
    ),
    (
        "SF301",
        'a = torch.tensor(rows, device="cuda")',
        "safe",
        'a = torch.tensor(rows, pin_memory=True).to("cuda", non_blocking=True)',
        PINNED,
    ),
    (
        "SF301",
        'a = torch.tensor(rows, device="cuda", requires_grad=True)',
        "safe",
        'a = torch.tensor(rows, pin_memory=True).to("cuda", non_blocking=True).requires_grad_(True)',
        PINNED,
    ),
    (
        "SF301",
        "a = torch.tensor(rows, device=device)",
        "unsafe",
        "a = torch.tensor(rows, pin_memory=True).to(device, non_blocking=True)",
        PINNED + "; only if `device` is a GPU",
    ),
    (
        "SF301",
        "a = torch.tensor(rows, device=x.device, pin_memory=False)",
        "safe",
        "a = torch.tensor(rows, pin_memory=True).to(x.device, non_blocking=True)",
        PINNED,
    ),
    (
        "SF301",
        "a = torch.tensor(self.rows, device=device)",
        "unsafe",
        "a = torch.tensor(self.rows, pin_memory=True).to(device, non_blocking=True)",
        PINNED + "; only if `device` is a GPU, and `self.rows` is a list or an array",
    ),
    (
        "SF301",
        'a = torch.tensor([rows], device="cuda")',
        "safe",
        'a = torch.tensor([rows], pin_memory=True).to("cuda", non_blocking=True)',
        PINNED,
    ),
    (
        "SF301",
        'a = torch.as_tensor(rows, dtype=torch.long, device="cuda")',
        "safe",
        'a = torch.tensor(rows, dtype=torch.long, pin_memory=True).to("cuda", non_blocking=True)',
        PINNED,
    ),
    (
        "SF301",
        'a = torch.as_tensor(self.rows, device="cuda")',
        "unsafe",
        'a = torch.as_tensor(self.rows).pin_memory().to("cuda", non_blocking=True)',
        PINNED + "; only if `self.rows` is a list or an array",
    ),
    (
        "SF301",
        "a = torch.tensor(\n    [\n        n,  # first\n        2,\n    ],\n    dtype=torch.long,\n    "
        'device="cuda",\n)',
        "safe",
        "a = torch.tensor(\n    [\n        n,  # first\n        2,\n    ],\n    dtype=torch.long,\n    "
        'pin_memory=True,\n).to("cuda", non_blocking=True)',
        PINNED,
    ),
    (
        "SF301",
        'a = torch.tensor(\n    rows,\n    device="cuda",  # there\n)',
        "safe",
        'a = torch.tensor(\n    rows,\n    pin_memory=True,  # there\n).to("cuda", non_blocking=True)',
        PINNED,
    ),
    (
        "SF301",
        'a = torch.tensor(rows, **self.options, device="cuda")',
        "display-only",
        None,
        (
            '`torch.tensor(rows, **self.options, pin_memory=True).to("cuda", non_blocking=True)`, and leave '
            "the pinned source unchanged until the copy is done"
        ),
    ),
    (
        "SF301",
        "a = torch.cuda.FloatTensor([1.0, 2.0])",
        "safe",
        'a = torch.tensor([1.0, 2.0], dtype=torch.float32, pin_memory=True).to("cuda", non_blocking=True)',
        PINNED,
    ),
    (
        "SF301",
        "a = torch.cuda.LongTensor(rows)",
        "safe",
        'a = torch.tensor(rows, dtype=torch.int64, pin_memory=True).to("cuda", non_blocking=True)',
        PINNED,
    ),
]

MOVED_SETUP = """\
x = torch.rand(8, device="cuda")
n = len(self.names)
rows = [1, 5, n]
host = torch.from_numpy(self.array)
"""
# rule, before, applicability, after (None: no edits), message
MOVED = [
    ("SF302", "a = torch.zeros(3, 4).cuda()", "safe", 'a = torch.zeros(3, 4, device="cuda")', CREATED),
    ("SF302", "a = torch.zeros(3).to(device)", "safe", "a = torch.zeros(3, device=device)", CREATED),
    (
        "SF302",
        "a = torch.full((n,), 2.0, pin_memory=True).to(device, torch.float16)",
        "safe",
        "a = torch.full((n,), 2.0, device=device).to(torch.float16)",
        CREATED,
    ),
    ("SF302", "a = torch.ones(3).to(x)", "safe", "a = torch.ones(3, device=x.device).to(x)", CREATED),
    ("SF302", "a = torch.ones(3).type_as(x)", "safe", "a = torch.ones(3, device=x.device).to(x)", CREATED),
    (
        "SF302",
        "a = torch.arange(n)[None, :].repeat(3, 1).to(device)",
        "safe",
        "a = torch.arange(n, device=device)[None, :].repeat(3, 1)",
        CREATED,
    ),
    (
        "SF302",
        "a = torch.arange(0, n, 0.5).to(device)",
        "unsafe",
        "a = torch.arange(0, n, 0.5, device=device)",
        CREATED + "; only if a difference in the last bit will do: the GPU may round differently",
    ),
    (
        "SF302",
        "a = torch.linspace(0, 1, n).cuda()",
        "unsafe",
        'a = torch.linspace(0, 1, n, device="cuda")',
        CREATED + "; only if a difference in the last bit will do: the GPU may round differently",
    ),
    (
        "SF302",
        'a = torch.randn(3, n).to("cuda")',
        "unsafe",
        'a = torch.randn(3, n, device="cuda")',
        CREATED + "; only if other random numbers will do: the GPU has a generator of its own",
    ),
    (
        "SF302",
        'a = torch.randn(3, generator=self.rng).to("cuda")',
        "unsafe",
        'a = torch.randn(3, generator=self.rng).pin_memory().to("cuda", non_blocking=True)',
        PINNED + "; only if `torch.randn(3, generator=self.rng)` is in host memory",
    ),
    (
        "SF302",
        "a = torch.zeros(3, requires_grad=True).cuda()",
        "display-only",
        None,
        'create it there: `torch.zeros(3, requires_grad=True, device="cuda")`',
    ),
    ("SF302", "a = torch.zeros(3).cuda(1)", "safe", "a = torch.zeros(3, device=1)", CREATED),
    ("SF302", "a = torch.tensor(0.5).to(device)", "safe", "a = torch.full((), 0.5, device=device)", FULL),
    (
        "SF302",
        "a = torch.tensor([0] * 3).unsqueeze(0).to(x.device)",
        "safe",
        "a = torch.full((3,), 0, device=x.device).unsqueeze(0)",
        FULL,
    ),
    (
        "SF302",
        'a = torch.tensor(rows).to("cuda")',
        "safe",
        'a = torch.tensor(rows, pin_memory=True).to("cuda", non_blocking=True)',
        PINNED,
    ),
    (
        "SF302",
        "a = torch.tensor(rows).to(device, torch.float)",
        "unsafe",
        "a = torch.tensor(rows, pin_memory=True).to(device, torch.float, non_blocking=True)",
        PINNED + "; only if `device` is a GPU",
    ),
    (
        "SF302",
        "a = torch.tensor(rows).view(1, -1).cuda()",
        "safe",
        'a = torch.tensor(rows).view(1, -1).pin_memory().to("cuda", non_blocking=True)',
        PINNED,
    ),
    (
        "SF302",
        'a = torch.from_numpy(self.array).float().to("cuda")',
        "safe",
        'a = torch.from_numpy(self.array).float().pin_memory().to("cuda", non_blocking=True)',
        PINNED,
    ),
    (
        "SF302",
        "a = torch.as_tensor(rows).cuda()",
        "safe",
        'a = torch.as_tensor(rows).pin_memory().to("cuda", non_blocking=True)',
        PINNED,
    ),
    (
        "SF302",
        'a = host.to("cuda")',
        "unsafe",
        'a = host.pin_memory().to("cuda", non_blocking=True)',
        PINNED + "; only if `host` is in host memory",
    ),
    (
        "SF302",
        "a = host.to(device)",
        "unsafe",
        "a = host.pin_memory().to(device, non_blocking=True)",
        PINNED + "; only if `device` is a GPU, and `host` is in host memory",
    ),
    (
        "SF302",
        'a = torch.rand(3).add(1).to("cuda")',
        "unsafe",
        'a = torch.rand(3).add(1).pin_memory().to("cuda", non_blocking=True)',
        PINNED + "; only if `torch.rand(3).add(1)` is in host memory",
    ),
    (
        "SF302",
        'a = torch.zeros(3).pin_memory().to("cuda")',
        "unsafe",
        'a = torch.zeros(3).pin_memory().to("cuda", non_blocking=True)',
        (
            "`non_blocking=True` only queues the copy; only if `torch.zeros(3).pin_memory()` is not written "
            "to before the copy is done"
        ),
    ),
    (
        "SF302",
        'a = host.to("cuda", copy=True)',
        "display-only",
        None,
        (
            '`host.pin_memory().to("cuda", copy=True, non_blocking=True)`, and leave the pinned source '
            "unchanged until the copy is done"
        ),
    ),
    ("SF302", "x.copy_(torch.tensor(1.0))", "safe", "x.fill_(1.0)", FILL),
    (
        "SF302",
        "x.copy_(torch.tensor(rows))",
        "safe",
        "x.copy_(torch.tensor(rows, pin_memory=True), non_blocking=True)",
        PINNED,
    ),
    (
        "SF302",
        "x.copy_(torch.from_numpy(self.array))",
        "safe",
        "x.copy_(torch.from_numpy(self.array).pin_memory(), non_blocking=True)",
        PINNED,
    ),
    (
        "SF302",
        "x.copy_(host)",
        "unsafe",
        "x.copy_(host.pin_memory(), non_blocking=True)",
        PINNED + "; only if `host` is in host memory",
    ),
    (
        "SF302",
        "x[:3] = torch.tensor(rows)",
        "safe",
        "x[:3] = torch.tensor(rows, pin_memory=True).to(x.device, non_blocking=True)",
        PINNED,
    ),
    (
        "SF302",
        "x[:3] = host",
        "unsafe",
        "x[:3] = host.pin_memory().to(x.device, non_blocking=True)",
        PINNED + "; only if `host` is in host memory",
    ),
    (
        "SF302",
        "a = torch.zeros(\n    3,\n    4,\n).cuda()",
        "safe",
        'a = torch.zeros(\n    3,\n    4,\n    device="cuda",\n)',
        CREATED,
    ),
]

ELSEWHERE_SETUP = """\
x = torch.rand(8, device="cuda")
n = len(self.names)
rows = [1, 5, n]
host = torch.from_numpy(self.array)
y = torch.zeros(4, 4, device="cuda")
z = self.z
index = torch.topk(x, 3).indices
"""
# rule, before, applicability, after (None: no edits), message
ELSEWHERE = [
    ("SF304", "x[0] = 1.0", "safe", "x[0].fill_(1.0)", FILL),
    ("SF304", "x[-1] = n", "safe", "x[-1].fill_(n)", FILL),
    ("SF304", "y[0, n] = 1.0", "safe", "y[0, n].fill_(1.0)", FILL),
    ("SF304", "x[self.k] = n", "unsafe", "x[self.k].fill_(n)", FILL + "; only if `self.k` is a number"),
    (
        "SF304",
        "x[index] = 2.0",
        "safe",
        "x[index] = torch.full((), 2.0, dtype=x.dtype, device=x.device)",
        "`torch.full` makes the number on the device",
    ),
    (
        "SF304",
        "y[index, 0] = -1",
        "safe",
        "y[index, 0] = torch.full((), -1, dtype=y.dtype, device=y.device)",
        "`torch.full` makes the number on the device",
    ),
    (
        "SF304",
        "x[torch.arange(8) > n] = 1.0",
        "unsafe",
        "x.masked_fill_((torch.arange(8) > n).pin_memory().to(x.device, non_blocking=True), 1.0)",
        (
            "`masked_fill_` passes the number to the kernel; only if `torch.arange(8) > n` is in host memory, "
            "and `x` on a GPU"
        ),
    ),
    (
        "SF304",
        "self.grid(x)[index] = 1.0",
        "unsafe",
        "self.grid(x).index_fill_(0, index, 1.0)",
        (
            "`index_fill_` passes the number to the kernel; only if `self.grid(x)` is a tensor, and `index` "
            "is a 1-dim int64 tensor"
        ),
    ),
    (
        "SF303",
        "a = x[[0, 1]]",
        "unsafe",
        "a = x[0:2]",
        (
            "the constants are the slice `0:2`; only if a view will do: the result is not written to, and "
            "needs no memory of its own"
        ),
    ),
    ("SF303", "x[[0, 1]] = 5.0", "safe", "x[0:2] = 5.0", "the constants are the slice `0:2`"),
    ("SF303", "y[:, [0, 2]] *= 2", "safe", "y[:, 0:3:2] *= 2", "the constants are the slice `0:3:2`"),
    ("SF303", "y[..., [-1]] = x[:1]", "safe", "y[..., -1:] = x[:1]", "the constants are the slice `-1:`"),
    (
        "SF303",
        "a = x[[2, 1]]",
        "safe",
        "a = x[torch.tensor([2, 1], pin_memory=True).to(x.device, non_blocking=True)]",
        INDEX,
    ),
    (
        "SF303",
        "a = y[n, [0, 1]]",
        "safe",
        "a = y[n, torch.tensor([0, 1], pin_memory=True).to(y.device, non_blocking=True)]",
        INDEX,
    ),
    (
        "SF303",
        "a = x[rows]",
        "safe",
        "a = x[torch.tensor(rows, dtype=torch.long, pin_memory=True).to(x.device, non_blocking=True)]",
        INDEX,
    ),
    (
        "SF303",
        "x[rows] = x[:3]",
        "safe",
        "x[torch.tensor(rows, dtype=torch.long, pin_memory=True).to(x.device, non_blocking=True)] = x[:3]",
        INDEX,
    ),
    (
        "SF303",
        "a = x[self.table.tolist()]",
        "unsafe",
        "a = x[torch.tensor(self.table.tolist(), pin_memory=True).to(x.device, non_blocking=True)]",
        INDEX + "; only if `self.table.tolist()` holds whole numbers, and is not empty",
    ),
    ("SF303", "a = y[range(3), index]", "safe", "a = y[torch.arange(3, device=y.device), index]", COUNTS),
    (
        "SF303",
        "a = x[torch.arange(n)]",
        "safe",
        "a = x[torch.arange(n, device=x.device)]",
        "the device creates the index by itself",
    ),
    (
        "SF303",
        "a = x[host.long()]",
        "unsafe",
        "a = x[host.long().pin_memory().to(x.device, non_blocking=True)]",
        INDEX + "; only if `host.long()` is in host memory",
    ),
    (
        "SF305",
        "a = torch.where(x > 0, x, torch.tensor(0.0))",
        "safe",
        "a = torch.where(x > 0, x, 0.0)",
        "`where` takes the number itself",
    ),
    (
        "SF305",
        "a = torch.where(x > 0, x, torch.tensor(torch.finfo(x.dtype).max))",
        "safe",
        "a = torch.where(x > 0, x, torch.finfo(x.dtype).max)",
        "`where` takes the number itself",
    ),
    (
        "SF305",
        "a = torch.where(x > 0, x, torch.tensor(0.0, dtype=torch.float64))",
        "display-only",
        None,
        "create the operand on the device (`device=`), or pass a Python number where one is enough",
    ),
]


@pytest.mark.parametrize(("code", "before", "applicability", "after", "message"), CONSTRUCTED)
def test_constructed(
    tmp_path: Path, code: str, before: str, applicability: str, after: str | None, message: str
) -> None:
    fix, made = suggested(tmp_path / "m.py", CONSTRUCTED_SETUP + before, code)
    assert (fix.applicability, fix.message) == (applicability, message)
    assert bool(fix.edits) == (after is not None)
    assert made == CONSTRUCTED_SETUP + (before if after is None else after)


# A number in one evaluation, a tensor in another; a part of a shape that is no number.
DOUBTED = """\
import torch


class Steps:
    def at(self, t):
        return torch.as_tensor(t, dtype=torch.float32, device="cuda")

    def pick(self, x, i):
        x[i] = 1.0
        return x[i].sum()

    def all(self, t: torch.Tensor):
        rows = torch.zeros(4, device="cuda")
        self.pick(rows, rows > 0)
        self.pick(rows, [1, 2])
        self.pick(rows, 3)
        return self.at(0.5) + self.at(t)


def sized(image: torch.Tensor, device):
    return torch.tensor([image.shape[-2:]], dtype=torch.long, device=device)


def repeated(count: torch.Tensor, device):
    return torch.tensor([0] * count.sum(), dtype=torch.long, device=device)
"""


def test_what_other_evaluations_see_is_not_called_safe(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(DOUBTED)
    report = check([tmp_path / "m.py"], Settings())
    assert [(f.code, f.span.line, f.fix.applicability) for f in report.findings if f.fix is not None] == [
        ("SF301", 6, "unsafe"),
        ("SF304", 9, "unsafe"),
        ("SF303", 9, "unsafe"),
        ("SF202", 10, "unsafe"),
        ("SF303", 10, "unsafe"),
        ("SF301", 21, "unsafe"),
        ("SF301", 25, "unsafe"),
        ("SF107", 25, "display-only"),
    ]
    assert report.findings[0].fix is not None
    assert report.findings[0].fix.message == f"{PINNED}; only if `t` is a list or an array"


PACKED = """\
ids = torch.tensor(self.batch.ids, dtype=torch.long, device=device)
a = torch.tensor([i for i in self.rows], dtype=torch.long, device=device)
rows, columns, lengths = [1, n], [2, n], [3]
rows_gpu = torch.tensor(rows, dtype=torch.long, device=device)
columns_gpu = torch.tensor(columns, dtype=torch.long, device=device)
self.lengths = torch.tensor(lengths, dtype=torch.long, device=device)
b = torch.tensor(rows, device=device)
"""


def test_packed_uploads(tmp_path: Path) -> None:
    _, found = findings(tmp_path / "m.py", "n = len(self.names)\n" + PACKED)
    messages = [f.fix.message for f in found if f.fix is not None and "at once" in f.fix.message]
    assert messages == [
        f"{PINNED}; only if `device` is a GPU\n"
        "or upload the 3 lists of `f` at once, if they are flat lists:\n"
        "packed = torch.tensor([*rows, *columns, *lengths], dtype=torch.long, pin_memory=True)"
        ".to(device, non_blocking=True)\n"
        "rows_gpu, columns_gpu, self.lengths = packed.split([len(rows), len(columns), len(lengths)])"
    ]


def test_uploads_of_a_loop_are_not_packed(tmp_path: Path) -> None:
    body = "n = len(self.names)\nfor i in range(n):\n" + "".join(f"    {line}\n" for line in PACKED.splitlines())
    _, found = findings(tmp_path / "m.py", body)
    assert len(found) == 6
    assert not any(f.fix is not None and "at once" in f.fix.message for f in found)


@pytest.mark.parametrize(("code", "before", "applicability", "after", "message"), MOVED)
def test_moved(tmp_path: Path, code: str, before: str, applicability: str, after: str | None, message: str) -> None:
    fix, made = suggested(tmp_path / "m.py", MOVED_SETUP + before, code)
    assert (fix.applicability, fix.message) == (applicability, message)
    assert bool(fix.edits) == (after is not None)
    assert made == MOVED_SETUP + (before if after is None else after)


@pytest.mark.parametrize(("code", "before", "applicability", "after", "message"), ELSEWHERE)
def test_elsewhere(tmp_path: Path, code: str, before: str, applicability: str, after: str | None, message: str) -> None:
    fix, made = suggested(tmp_path / "m.py", ELSEWHERE_SETUP + before, code)
    assert (fix.applicability, fix.message) == (applicability, message)
    assert bool(fix.edits) == (after is not None)
    assert made == ELSEWHERE_SETUP + (before if after is None else after)
