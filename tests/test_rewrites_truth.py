"""Rewrites of truth tests: the source before and after, exactly, and neighbours that must stay as they are."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from fixing import suggested

MASK = "x = torch.zeros(3, device='cuda')\nmask = x > 0\n"
SAFE_FILL = "`x[mask] = 0.0` does nothing where `mask` has no true element: leave out the test"
LATER = (
    "checks on the device; unsafe: the error comes later, as a device-side assertion that breaks the CUDA context, "
    "and the function is private"
)
BOTH = (
    "chooses on the device; both sides are computed, and their gradients; unsafe: both sides need one shape and dtype"
)


def check(path: Path, before: str, after: str, applicability: str, message: str, code: str = "SF104") -> None:
    """Assert the first suggestion's applicability, message and edits, for a body behind that of `MASK`."""
    fix, made = suggested(path, MASK + textwrap.dedent(before), code)
    assert (fix.applicability, fix.message) == (applicability, message)
    assert made == (MASK + textwrap.dedent(after)).strip("\n")


CHOICES = [
    (  # each branch binds the same name
        """
        c = x.any()
        if c:  # which
            # the first
            y = x + 1  # one
        else:
            y = x * 2  # two
        """,
        """
        c = x.any()
        # which
        # the first
        # one
        y = torch.where(c, x + 1, x * 2)  # two
        """,
        "`y = torch.where(c, x + 1, x * 2)`",
    ),
    (
        """
        if not x.any():
            return x
        else:
            return -x
        """,
        """
        return torch.where(x.any(), -x, x)
        """,
        "`return torch.where(x.any(), -x, x)`",
    ),
    (
        """
        y = x if x.sum() > 0 else 2.0
        """,
        """
        y = torch.where(x.sum() > 0, x, 2.0)
        """,
        "`torch.where(x.sum() > 0, x, 2.0)`",
    ),
    (  # what is not of dtype bool is compared
        """
        y = x if x.sum() else -x
        """,
        """
        y = torch.where(x.sum() != 0, x, -x)
        """,
        "`torch.where(x.sum() != 0, x, -x)`",
    ),
    (  # a name that only the branch binds may be bound always
        """
        if x.isinf().any():
            limit = torch.finfo(x.dtype).max - 1000
            x = torch.clamp(x, min=-limit, max=limit)
        """,
        """
        limit = torch.finfo(x.dtype).max - 1000
        x = torch.where(x.isinf().any(), torch.clamp(x, min=-limit, max=limit), x)
        """,
        "`x = torch.where(x.isinf().any(), torch.clamp(x, min=-limit, max=limit), x)`",
    ),
    (  # the host's part of the test stays
        """
        if x.dtype == torch.float16 and not torch.isfinite(x).all():
            limit = torch.finfo(x.dtype).max - 1000
            x = torch.clamp(x, min=-limit, max=limit)
        """,
        """
        if x.dtype == torch.float16:
            limit = torch.finfo(x.dtype).max - 1000
            x = torch.where(torch.isfinite(x).all(), x, torch.clamp(x, min=-limit, max=limit))
        """,
        "`x = torch.where(torch.isfinite(x).all(), x, torch.clamp(x, min=-limit, max=limit))`",
    ),
    (
        """
        if x.any():
            x[:, 0] = x / 2
        """,
        """
        x[:, 0] = torch.where(x.any(), x / 2, x[:, 0])
        """,
        "`x[:, 0] = torch.where(x.any(), x / 2, x[:, 0])`",
    ),
    (  # at 2, the product changes x: no bound
        """
        n = x.norm()
        if n > 2:
            x = n * x
        """,
        """
        n = x.norm()
        x = torch.where(n > 2, n * x, x)
        """,
        "`x = torch.where(n > 2, n * x, x)`",
    ),
    (
        """
        n = x.norm()
        if n > 1:
            x = n / x
        """,
        """
        n = x.norm()
        x = torch.where(n > 1, n / x, x)
        """,
        "`x = torch.where(n > 1, n / x, x)`",
    ),
]


@pytest.mark.parametrize(("before", "after", "shown"), CHOICES)
def test_choices(tmp_path: Path, before: str, after: str, shown: str) -> None:
    check(tmp_path / "m.py", before, after, "unsafe", f"{shown} {BOTH}")


def test_a_choice_of_unknown_values_is_shown_only(tmp_path: Path) -> None:
    source = "\ny = self.a if x.any() else self.b\n"
    check(
        tmp_path / "m.py",
        source,
        source,
        "display-only",
        "`torch.where(x.any(), self.a, self.b)` chooses on the device; both sides are computed, and their gradients: "
        "only where both are tensors of one shape and dtype",
    )


CHECKS = [
    (
        """
        if x.isnan().any():
            raise ValueError("not a number")
        """,
        """
        torch._assert_async(~x.isnan().any(), "not a number")
        """,
    ),
    (  # an f-string would be built in every call, and might read a tensor
        """
        if not (x > 0).all():  # checked
            raise ValueError(f"negative: {x}")
        """,
        """
        # checked
        torch._assert_async((x > 0).all(), "negative: {x}")
        """,
    ),
    (
        """
        if device is not None and x.isnan().any():
            raise ValueError("not a number")
        """,
        """
        if device is not None:
            torch._assert_async(~x.isnan().any(), "not a number")
        """,
    ),
    (
        """
        assert (x > 0).all(), "positive"
        """,
        """
        torch._assert_async((x > 0).all(), "positive")
        """,
    ),
    (
        """
        assert not x.sum()
        """,
        """
        torch._assert_async(x.sum() == 0)
        """,
    ),
]


@pytest.mark.parametrize(("before", "after"), CHECKS)
def test_checks(tmp_path: Path, before: str, after: str) -> None:
    shown = next(line.strip() for line in after.splitlines() if "_assert_async" in line)
    check(tmp_path / "m.py", before, after, "unsafe", f"`{shown}` {LATER}")


BOUNDS = [
    ("if n > 1:\n    x = n * x\n", "x = n.clamp(min=1) * x\n"),
    ("if 1 <= n:\n    x = x / n\n", "x = x / n.clamp(min=1)\n"),
    ("if n < 0:\n    x += n\n", "x += n.clamp(max=0)\n"),
]


@pytest.mark.parametrize(("before", "after"), BOUNDS)
def test_bounds(tmp_path: Path, before: str, after: str) -> None:
    message = f"`{after.strip()}` needs no test; unsafe: `n` must not be NaN, and must not change the result's dtype"
    check(tmp_path / "m.py", "n = x.norm()\n" + before, "n = x.norm()\n" + after, "unsafe", message)


def test_a_value_that_is_capped(tmp_path: Path) -> None:
    message = "`n = n.clamp(max=3)` needs no test; unsafe: `n` must not be NaN"
    check(
        tmp_path / "m.py",
        "n = x.norm()\nif n > 3:\n    n = 3\n",
        "n = x.norm()\nn = n.clamp(max=3)\n",
        "unsafe",
        message,
    )


FILLS = [
    ("if mask.any():\n    x[mask] = 0.0\n", "x[mask] = 0.0\n"),
    ("if torch.any(mask):\n    x[mask] = 0.0  # none\n    x.masked_fill_(mask, -float('inf'))\n",
     "# none\nx[mask] = 0.0\nx.masked_fill_(mask, -float('inf'))\n"),
    ("if mask.sum() > 0:\n    x[mask] = 0.0\n", "x[mask] = 0.0\n"),
    ("if device and mask.any():\n    x[mask] = 0.0\n", "if device:\n    x[mask] = 0.0\n"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "after"), FILLS)
def test_masked_fills_are_safe(tmp_path: Path, before: str, after: str) -> None:
    check(tmp_path / "m.py", before, after, "safe", SAFE_FILL)


def test_a_fill_through_what_may_be_an_index(tmp_path: Path) -> None:
    check(
        tmp_path / "m.py",
        "m = self.m\nif m.any():\n    x[m] = 0.0\n",
        "m = self.m\nx[m] = 0.0\n",
        "unsafe",
        "`x[m] = 0.0` does nothing where `m` has no true element: leave out the test; unsafe: `m` must be a bool "
        "tensor on the GPU",
    )


UNCHANGED = [
    "if x.any():\n    x = x[1:]\n",  # of another shape
    "if x.any():\n    y = self.run(x)\nelse:\n    y = x\n",  # a call may have effects
    "if x.any():\n    y = None\nelse:\n    y = x\n",
    "if x.any():\n    y = x.cpu()\nelse:\n    y = x\n",
    "if x.any():\n    y = x\nelif device:\n    y = -x\n",
    "if device:\n    y = x\nelif x.any():\n    y = -x\n",  # an `elif` is no statement of its own
    "if x.any():\n    y = x\n    z = -x\n",
    "if x.any():\n    z = x + 1\n",  # nobody knows what z is otherwise
    "if mask.any():\n    x[mask] = x.sum()\n",  # the fill waits, too
    "if mask.any():\n    x[~mask] = 0.0\n",
    "if not mask.any():\n    x[mask] = 0.0\n",
    "if x.any() and device:\n    x = x + 1\n",
    "while x.any():\n    x = x - 1\n",
    "if x.min() < 0:\n    raise ValueError\n",
]


@pytest.mark.parametrize("source", UNCHANGED)
def test_neighbours_get_no_edits(tmp_path: Path, source: str) -> None:
    fix, _ = suggested(tmp_path / "m.py", MASK + source, "SF104")
    assert (fix.applicability, fix.edits) == ("display-only", ())
