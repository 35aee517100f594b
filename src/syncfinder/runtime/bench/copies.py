"""Copies between host and GPU. Each function yields cases: a name, and a method per name in the experiment's list."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from syncfinder.runtime.bench.timing import Method

Cases = Iterator[tuple[str, tuple[Method, ...]]]

TOKENS = (32, 128, 512, 2048, 8192, 32768, 131072)
VOCABULARY = 128_256
LARGE = 64 << 20
SMALL, MANY = 64 << 10, 32
INT32 = 4


def arrived(expected: torch.Tensor) -> Callable[[torch.Tensor], bool]:
    """Return a check that a result equals what was sent (nowhere zero), on the same device.

    It wipes the result: memory that is used again must not hold the right data before they have arrived.
    """

    def check(result: torch.Tensor) -> bool:
        right = bool(torch.equal(result, expected))
        result.zero_()
        return right

    return check


def all_arrived(expected: Sequence[torch.Tensor]) -> Callable[[Sequence[torch.Tensor]], bool]:
    """Return the check of `arrived` for several results."""
    checks = [arrived(one) for one in expected]

    def check(results: Sequence[torch.Tensor]) -> bool:
        return all([one(result) for one, result in zip(checks, results, strict=True)])

    return check


def tokens(count: int) -> list[int]:
    """Return token ids, none of them 0."""
    return [int(token) for token in torch.randint(1, VOCABULARY, (count,)).tolist()]


def lists(_stall: object) -> Cases:
    """A Python list to the GPU."""
    for count in TOKENS:
        yield f"{count} tokens", _list(tokens(count))


def _list(ids: list[int]) -> tuple[Method, ...]:
    pinned = torch.empty(len(ids), dtype=torch.int64, pin_memory=True)
    view = pinned.numpy()

    def through_tensor() -> torch.Tensor:
        pinned.copy_(torch.tensor(ids))
        return pinned.to("cuda", non_blocking=True)

    def through_view() -> torch.Tensor:
        view[:] = ids
        return pinned.to("cuda", non_blocking=True)

    calls: tuple[Callable[[], Any], ...] = (
        lambda: torch.tensor(ids, device="cuda"),
        lambda: torch.tensor(ids).to("cuda", non_blocking=True),
        lambda: torch.tensor(ids, pin_memory=True).to("cuda", non_blocking=True),
        through_tensor,
        through_view,
    )
    check = arrived(torch.tensor(ids, device="cuda"))
    return tuple(Method(call, check) for call in calls)


def host(size: int, *, pinned: bool) -> torch.Tensor:
    """Return an int32 host tensor of `size` bytes, nowhere zero."""
    made = torch.randint(1, 1 << 30, (size // INT32,), dtype=torch.int32)
    return made.pin_memory() if pinned else made


def large(_stall: object) -> Cases:
    """64 MiB in both directions."""
    ways = [(pinned, non_blocking) for pinned in (False, True) for non_blocking in (False, True)]
    yield "to the GPU", tuple(_up(host(LARGE, pinned=pinned), non_blocking) for pinned, non_blocking in ways)
    yield "to the host", tuple(_down(host(LARGE, pinned=pinned), non_blocking) for pinned, non_blocking in ways)


def _up(source: torch.Tensor, non_blocking: bool) -> Method:
    return Method(lambda: source.to("cuda", non_blocking=non_blocking), arrived(source.cuda()))


def _down(target: torch.Tensor, non_blocking: bool) -> Method:
    expected = target.clone()
    source = target.cuda()
    return Method(lambda: target.copy_(source, non_blocking=non_blocking), arrived(expected))


def small(_stall: object) -> Cases:
    """32 × 64 KiB to the GPU."""
    pageable = [host(SMALL, pinned=False) for _ in range(MANY)]
    pinned = [one.pin_memory() for one in pageable]
    staging = torch.empty(SMALL * MANY // INT32, dtype=torch.int32, pin_memory=True)

    def packed() -> Any:
        torch.cat(pageable, out=staging)
        return torch.split(staging.to("cuda", non_blocking=True), SMALL // INT32)

    calls: tuple[Callable[[], Any], ...] = (
        lambda: [one.to("cuda") for one in pageable],
        lambda: [one.to("cuda") for one in pinned],
        lambda: [one.to("cuda", non_blocking=True) for one in pinned],
        packed,
    )
    check = all_arrived([one.cuda() for one in pageable])
    yield "32 × 64 KiB", tuple(Method(call, check) for call in calls)
