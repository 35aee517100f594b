"""Rewrites of data-dependent shapes: source before and after, and neighbours that get no edits."""

from __future__ import annotations

from pathlib import Path

import pytest

from fixing import suggested

WHERE = "`torch.where` keeps the full size, and computes the value for all elements"
NEUTRAL = "`torch.where` keeps the full size, with what does not count as the neutral element"
MASK = "the mask itself fills with a number, without a count"
STATIC = "`nonzero_static` needs no count"

WRITES_SETUP = """\
x = torch.rand(8, device="cuda")
h = torch.rand(8, 4, device="cuda")
i = torch.arange(8, device="cuda")
mask = x > 0.5
row = h[0]
fill = x.mean()
z = self.z
"""
# rule, before, applicability, after (None: no edits), message
WRITES = [
    ("SF203", "x[mask] = fill", "safe", "x.copy_(torch.where(mask, fill, x))", WHERE),
    ("SF203", "x[~mask] = fill", "safe", "x.copy_(torch.where(~mask, fill, x))", WHERE),
    ("SF203", "h[mask] = row", "safe", "h.copy_(torch.where(mask[:, None], row, h))", WHERE),
    ("SF203", "h[mask, :] = fill", "safe", "h.copy_(torch.where(mask[:, None], fill, h))", WHERE),
    ("SF203", "h[mask, ...] = row", "safe", "h.copy_(torch.where(mask[:, None], row, h))", WHERE),
    ("SF203", "h[:, row > 1] = fill", "safe", "h.copy_(torch.where(row > 1, fill, h))", WHERE),
    ("SF203", "h[..., row > 1] = fill", "safe", "h.copy_(torch.where(row > 1, fill, h))", WHERE),
    ("SF203", "h[h > 0.5] = fill", "safe", "h.copy_(torch.where(h > 0.5, fill, h))", WHERE),
    ("SF203", "x[mask] = x[mask] * 2", "safe", "x.copy_(torch.where(mask, x * 2, x))", WHERE),
    ("SF203", "x[mask] = 1 - x[mask]", "safe", "x.copy_(torch.where(mask, 1 - x, x))", WHERE),
    (
        "SF203",
        "x[mask] = i[mask] * fill",
        "unsafe",
        "x.copy_(torch.where(mask, i * fill, x))",
        WHERE + "; only if no gradient flows through it",
    ),
    (
        "SF203",
        "h[mask] = h[mask] + x[:, None][mask]",
        "display-only",
        None,
        (
            "`h.masked_scatter_(mask[:, None], h[mask] + x[:, None][mask])` if `h[mask] + x[:, None][mask]` "
            "has one element for each that is written, `h.copy_(torch.where(mask[:, None], h[mask] + x[:, "
            "None][mask], h))` if it broadcasts"
        ),
    ),
    (
        "SF203",
        "x[mask] = torch.log(x[mask])",
        "unsafe",
        "x.copy_(torch.where(mask, torch.log(x), x))",
        WHERE + "; only if no gradient flows through it",
    ),
    ("SF203", "x[mask] = x[mask] / 3", "safe", "x.copy_(torch.where(mask, x / 3, x))", WHERE),
    (
        "SF203",
        "x[mask] = x[mask] / x[mask]",
        "unsafe",
        "x.copy_(torch.where(mask, x / x, x))",
        WHERE + "; only if no gradient flows through it",
    ),
    (
        "SF203",
        "x[mask] = x[mask].cumsum(0)",
        "display-only",
        None,
        (
            "`x.masked_scatter_(mask, x[mask].cumsum(0))` if `x[mask].cumsum(0)` has one element for each "
            "that is written, `x.copy_(torch.where(mask, x[mask].cumsum(0), x))` if it broadcasts"
        ),
    ),
    (
        "SF203",
        'x[mask] = torch.rand(3, device="cuda")',
        "unsafe",
        'x.masked_scatter_(mask, torch.rand(3, device="cuda"))',
        (
            '`masked_scatter_` needs no count; only if `torch.rand(3, device="cuda")` has one element for '
            "each that is written"
        ),
    ),
    (
        "SF203",
        'h[mask] = torch.rand(3, 4, device="cuda")',
        "unsafe",
        'h.masked_scatter_(mask[:, None], torch.rand(3, 4, device="cuda"))',
        (
            '`masked_scatter_` needs no count; only if `torch.rand(3, 4, device="cuda")` has one element for '
            "each that is written"
        ),
    ),
    (
        "SF203",
        'h[:, row > 1] = torch.rand(2, device="cuda")',
        "display-only",
        None,
        (
            '`h.masked_scatter_(row > 1, torch.rand(2, device="cuda"))` if `torch.rand(2, device="cuda")` has '
            "one element for each that is written, `h.copy_(torch.where(row > 1, torch.rand(2, "
            'device="cuda"), h))` if it broadcasts'
        ),
    ),
    (
        "SF203",
        "x[mask] = self.values.to(x.device)",
        "display-only",
        None,
        (
            "`x.masked_scatter_(mask, self.values.to(x.device))` if `self.values.to(x.device)` has one "
            "element for each that is written, `x.copy_(torch.where(mask, self.values.to(x.device), x))` if "
            "it broadcasts"
        ),
    ),
    (
        "SF203",
        "h[i[:4], mask[:4]] = fill",
        "display-only",
        None,
        "write the whole of `h` with `torch.where`; a Python number as the value does not wait",
    ),
    ("SF203", "x.index_put_((mask,), fill)", "safe", "x.copy_(torch.where(mask, fill, x))", WHERE),
    ("SF203", "h.index_put_((mask,), row)", "safe", "h.copy_(torch.where(mask[:, None], row, h))", WHERE),
    ("SF203", "x.index_put_((mask,), fill, accumulate=True)", "display-only", None, "`x = torch.where(mask, fill, x)`"),
    (
        "SF203",
        "self.views(x)[mask] = fill",
        "display-only",
        None,
        (
            "`self.views(x) = torch.where(mask, fill, self.views(x))` if `fill` broadcasts to "
            "`self.views(x)`; `self.views(x).masked_scatter_(mask, fill)` if it has one element per hit"
        ),
    ),
    (
        "SF203",
        "x[\n    mask  # where\n] = fill",
        "display-only",
        None,
        (
            "`x = torch.where(mask, fill, x)` if `fill` broadcasts to `x`; `x.masked_scatter_(mask, fill)` if "
            "it has one element per hit"
        ),
    ),
    (
        "SF203",
        "a = x[mask] = fill",
        "display-only",
        None,
        (
            "`x = torch.where(mask, fill, x)` if `fill` broadcasts to `x`; `x.masked_scatter_(mask, fill)` if "
            "it has one element per hit"
        ),
    ),
]

READS_SETUP = """\
x = torch.rand(8, device="cuda")
h = torch.rand(8, 4, device="cuda")
i = torch.arange(8, device="cuda")
mask = x > 0.5
row = h[0]
fill = x.mean()
z = self.z
"""
# rule, before, applicability, after (None: no edits), message
READS = [
    ("SF202", "x[mask] += 1", "safe", "x.copy_(torch.where(mask, x + 1, x))", WHERE),
    ("SF202", "x[x > 0.5] -= fill", "safe", "x.copy_(torch.where(x > 0.5, x - fill, x))", WHERE),
    ("SF202", "h[mask] *= 2.0", "safe", "h.copy_(torch.where(mask[:, None], h * 2.0, h))", WHERE),
    ("SF202", "h[mask] += row", "safe", "h.copy_(torch.where(mask[:, None], h + row, h))", WHERE),
    (
        "SF202",
        "x[mask] /= x[mask]",
        "unsafe",
        "x.copy_(torch.where(mask, x / x, x))",
        WHERE + "; only if no gradient flows through it",
    ),
    (
        "SF202",
        "x[mask] **= 2",
        "unsafe",
        "x.copy_(torch.where(mask, x ** 2, x))",
        WHERE + "; only if no gradient flows through it",
    ),
    ("SF202", "i[mask] |= 4", "safe", "i.copy_(torch.where(mask, i | 4, i))", WHERE),
    ("SF202", "a = x[mask].any()", "safe", "a = torch.where(mask, x, False).any()", NEUTRAL),
    ("SF202", "a = (x > 1)[mask].all()", "safe", "a = torch.where(mask, x > 1, True).all()", NEUTRAL),
    ("SF202", "a = i[mask].sum()", "safe", "a = torch.where(mask, i, 0).sum()", NEUTRAL),
    (
        "SF202",
        "a = x[mask].sum()",
        "unsafe",
        "a = torch.where(mask, x, 0).sum()",
        NEUTRAL
        + ("; only if a difference in the last bits will do: the sum runs over more elements, in another order"),
    ),
    (
        "SF202",
        "a = h[mask].sum()",
        "unsafe",
        "a = torch.where(mask[:, None], h, 0).sum()",
        NEUTRAL
        + ("; only if a difference in the last bits will do: the sum runs over more elements, in another order"),
    ),
    (
        "SF202",
        "a = h[mask].sum(0)",
        "unsafe",
        "a = torch.where(mask[:, None], h, 0).sum(0)",
        NEUTRAL
        + ("; only if a difference in the last bits will do: the sum runs over more elements, in another order"),
    ),
    (
        "SF202",
        "a = h[mask].sum(dim=0)",
        "unsafe",
        "a = torch.where(mask[:, None], h, 0).sum(dim=0)",
        NEUTRAL
        + ("; only if a difference in the last bits will do: the sum runs over more elements, in another order"),
    ),
    ("SF202", "a = h[mask].sum(1)", "display-only", None, "`torch.where(mask, h, 0).sum()` keeps the full size"),
    (
        "SF202",
        "a = x[mask].mean()",
        "unsafe",
        "a = torch.where(mask, x, 0).sum() / mask.sum()",
        NEUTRAL
        + (
            "; only if a difference in the last bits will do: the sum runs over more elements, in another "
            "order, and `x` is not of half precision, whose sum may overflow"
        ),
    ),
    (
        "SF202",
        "a = -x[mask].mean()",
        "unsafe",
        "a = -(torch.where(mask, x, 0).sum() / mask.sum())",
        NEUTRAL
        + (
            "; only if a difference in the last bits will do: the sum runs over more elements, in another "
            "order, and `x` is not of half precision, whose sum may overflow"
        ),
    ),
    (
        "SF202",
        "a = h[mask].mean()",
        "display-only",
        None,
        "`torch.where(mask, h, 0).sum() / mask.sum()` keeps the full size",
    ),
    (
        "SF202",
        "a = x[mask].max()",
        "unsafe",
        'a = torch.where(mask, x, float("-inf")).max()',
        NEUTRAL + "; only if something is selected: the largest or smallest of nothing is an error",
    ),
    (
        "SF202",
        "a = i[i > 3].min()",
        "unsafe",
        "a = torch.where(i > 3, i, torch.iinfo(i.dtype).max).min()",
        NEUTRAL + "; only if something is selected: the largest or smallest of nothing is an error",
    ),
    (
        "SF202",
        "a = h[mask].max(0)",
        "display-only",
        None,
        '`torch.where(mask, h, -float("inf")).max()` keeps the full size',
    ),
    (
        "SF202",
        "a = torch.sum(x[mask])",
        "unsafe",
        "a = torch.sum(torch.where(mask, x, 0))",
        NEUTRAL
        + ("; only if a difference in the last bits will do: the sum runs over more elements, in another order"),
    ),
    (
        "SF202",
        "a = torch.masked_select(x, mask).count_nonzero()",
        "safe",
        "a = torch.where(mask, x, 0).count_nonzero()",
        NEUTRAL,
    ),
    (
        "SF202",
        "a = x.masked_select(mask).amax()",
        "unsafe",
        'a = torch.where(mask, x, float("-inf")).amax()',
        NEUTRAL + "; only if something is selected: the largest or smallest of nothing is an error",
    ),
    (
        "SF202",
        "a = x[mask].std()",
        "display-only",
        None,
        (
            "keep the full size: `torch.where(mask, x, 0)`, or `torch.nonzero_static(mask, size=count)` and "
            "`index_select` if the host knows a count"
        ),
    ),
    (
        "SF202",
        "a = x[mask]",
        "display-only",
        None,
        (
            "keep the full size: `torch.where(mask, x, 0)`, or `torch.nonzero_static(mask, size=count)` and "
            "`index_select` if the host knows a count"
        ),
    ),
    ("SF202", "a = x[mask].numel()", "display-only", None, "`mask.sum()` counts on the device"),
    (
        "SF202",
        "a = x[mask, None].sum()",
        "display-only",
        None,
        "keep the full size and mask the result with `torch.where`, instead of selecting first",
    ),
]

POSITIONS_SETUP = """\
x = torch.rand(8, device="cuda")
h = torch.rand(8, 4, device="cuda")
i = torch.arange(8, device="cuda")
mask = x > 0.5
row = h[0]
fill = x.mean()
z = self.z
"""
# rule, before, applicability, after (None: no edits), message
POSITIONS = [
    ("SF201", "x[torch.where(mask)] = 0.0", "safe", "x[mask] = 0.0", MASK),
    ("SF201", "x[mask.nonzero(as_tuple=True)] = 0.0", "safe", "x[mask] = 0.0", MASK),
    ("SF201", "x[torch.where(mask)[0]] = 0.0", "safe", "x[mask] = 0.0", MASK),
    (
        "SF201",
        "h[torch.where(h > 1)[0]] = 0.0",
        "display-only",
        None,
        (
            "`torch.nonzero_static(h > 1, size=count)[:, 0]` if the host knows a count, or keep the mask: "
            "`torch.where(h > 1, a, b)`"
        ),
    ),
    ("SF201", "x[torch.nonzero(i, as_tuple=True)] = 1", "safe", "x[i != 0] = 1", MASK),
    (
        "SF201",
        "x[torch.where(mask)] = fill",
        "display-only",
        None,
        (
            "`torch.nonzero_static(mask, size=count)[:, 0]` if the host knows a count, or keep the mask: "
            "`torch.where(mask, a, b)`"
        ),
    ),
    (
        "SF201",
        "a = x[torch.where(mask)]",
        "display-only",
        None,
        (
            "`torch.nonzero_static(mask, size=count)[:, 0]` if the host knows a count, or keep the mask: "
            "`torch.where(mask, a, b)`"
        ),
    ),
    (
        "SF201",
        "a = mask.nonzero()[0]",
        "unsafe",
        "a = torch.nonzero_static(mask, size=1)[0]",
        STATIC + "; only if `mask` has 1 nonzero element at least",
    ),
    (
        "SF201",
        "a = torch.nonzero(mask)[:3]",
        "unsafe",
        "a = torch.nonzero_static(mask, size=3)",
        STATIC + "; only if `mask` has 3 nonzero elements at least",
    ),
    (
        "SF201",
        "a = torch.where(mask)[0][0]",
        "unsafe",
        "a = torch.nonzero_static(mask, size=1)[0, 0]",
        STATIC + "; only if `mask` has 1 nonzero element at least",
    ),
    (
        "SF201",
        "a = mask.nonzero(as_tuple=True)[0][:2]",
        "unsafe",
        "a = torch.nonzero_static(mask, size=2)[:, 0]",
        STATIC + "; only if `mask` has 2 nonzero elements at least",
    ),
    (
        "SF201",
        "a = mask.nonzero()[-1]",
        "display-only",
        None,
        (
            "`torch.nonzero_static(mask, size=count)` if the host knows a count, or keep the mask: "
            "`torch.where(mask, a, b)`"
        ),
    ),
    (
        "SF201",
        "a = mask.nonzero()",
        "display-only",
        None,
        (
            "`torch.nonzero_static(mask, size=count)` if the host knows a count, or keep the mask: "
            "`torch.where(mask, a, b)`"
        ),
    ),
]

COUNTS_SETUP = """\
x = torch.rand(8, device="cuda")
h = torch.rand(8, 4, device="cuda")
i = torch.arange(8, device="cuda")
mask = x > 0.5
row = h[0]
fill = x.mean()
z = self.z
counts = [1, 2, 3]
"""
# rule, before, applicability, after (None: no edits), message
COUNTS = [
    ("SF204", "a = 3 in torch.unique(i)", "safe", "a = 3 in i", "what is among the values is among the distinct ones"),
    (
        "SF204",
        "a = 3 in i.unique(return_counts=True)",
        "display-only",
        None,
        (
            "for values below a known `n`, mark them: `torch.zeros(n, dtype=torch.bool, "
            "device=i.device).index_fill_(0, i.flatten(), True)`; otherwise sort and compare neighbours"
        ),
    ),
    (
        "SF204",
        "a = len(torch.unique(i))",
        "display-only",
        None,
        (
            "count on the device, and keep the count there: `i.flatten().sort().values.diff().ne(0).sum() + "
            "1` (1 for an empty one)"
        ),
    ),
    (
        "SF204",
        "a = i.unique_consecutive().numel()",
        "display-only",
        None,
        ("count on the device, and keep the count there: `i.flatten().diff().ne(0).sum() + 1` (1 for an empty one)"),
    ),
    (
        "SF204",
        "a = torch.unique(i)",
        "display-only",
        None,
        (
            "for values below a known `n`, mark them: `torch.zeros(n, dtype=torch.bool, "
            "device=i.device).index_fill_(0, i.flatten(), True)`; otherwise sort and compare neighbours"
        ),
    ),
    (
        "SF205",
        'a = torch.repeat_interleave(x[:3], torch.tensor(counts, device="cuda"))',
        "safe",
        'a = torch.repeat_interleave(x[:3], torch.tensor(counts, device="cuda"), output_size=sum(counts))',
        "the host knows the sum of the repeats",
    ),
    (
        "SF205",
        'a = x.repeat_interleave(torch.tensor(self.counts, device="cuda"), dim=0)',
        "unsafe",
        ('a = x.repeat_interleave(torch.tensor(self.counts, device="cuda"), dim=0, output_size=sum(self.counts))'),
        "the host knows the sum of the repeats; only if `self.counts` is a list of numbers",
    ),
    (
        "SF205",
        "a = torch.repeat_interleave(x, i)",
        "display-only",
        None,
        "give the total that the host knows: `torch.repeat_interleave(x, i, output_size=total)`",
    ),
    (
        "SF206",
        "a = torch.bincount(i, minlength=8)",
        "unsafe",
        (
            "a = torch.zeros(8, dtype=torch.long, device=i.device).index_add_(0, i, torch.ones_like(i, "
            "dtype=torch.long))"
        ),
        "`index_add_` counts into a known size; only if no value of `i` reaches `8`",
    ),
    (
        "SF206",
        "a = torch.bincount(i, weights=x, minlength=8)",
        "display-only",
        None,
        (
            "`torch.zeros(8, dtype=torch.long, device=i.device).scatter_add_(0, i, torch.ones_like(i))` "
            "counts into a known size"
        ),
    ),
    (
        "SF206",
        "a = torch.bincount(i)",
        "display-only",
        None,
        (
            "`torch.zeros(n, dtype=torch.long, device=i.device).scatter_add_(0, i, torch.ones_like(i))` "
            "counts into a known size"
        ),
    ),
]


@pytest.mark.parametrize(("code", "before", "applicability", "after", "message"), WRITES)
def test_writes(tmp_path: Path, code: str, before: str, applicability: str, after: str | None, message: str) -> None:
    fix, made = suggested(tmp_path / "m.py", WRITES_SETUP + before, code)
    assert (fix.applicability, fix.message) == (applicability, message)
    assert bool(fix.edits) == (after is not None)
    assert made == WRITES_SETUP + (before if after is None else after)


@pytest.mark.parametrize(("code", "before", "applicability", "after", "message"), READS)
def test_reads(tmp_path: Path, code: str, before: str, applicability: str, after: str | None, message: str) -> None:
    fix, made = suggested(tmp_path / "m.py", READS_SETUP + before, code)
    assert (fix.applicability, fix.message) == (applicability, message)
    assert bool(fix.edits) == (after is not None)
    assert made == READS_SETUP + (before if after is None else after)


@pytest.mark.parametrize(("code", "before", "applicability", "after", "message"), POSITIONS)
def test_positions(tmp_path: Path, code: str, before: str, applicability: str, after: str | None, message: str) -> None:
    fix, made = suggested(tmp_path / "m.py", POSITIONS_SETUP + before, code)
    assert (fix.applicability, fix.message) == (applicability, message)
    assert bool(fix.edits) == (after is not None)
    assert made == POSITIONS_SETUP + (before if after is None else after)


@pytest.mark.parametrize(("code", "before", "applicability", "after", "message"), COUNTS)
def test_counts(tmp_path: Path, code: str, before: str, applicability: str, after: str | None, message: str) -> None:
    fix, made = suggested(tmp_path / "m.py", COUNTS_SETUP + before, code)
    assert (fix.applicability, fix.message) == (applicability, message)
    assert bool(fix.edits) == (after is not None)
    assert made == COUNTS_SETUP + (before if after is None else after)
