"""Uploads and the GPU's other work: behind it on one stream, and beside it on two."""

from __future__ import annotations

import time
from collections.abc import Callable

import torch

from syncfinder.runtime.bench.copies import LARGE, Cases, arrived, host, tokens
from syncfinder.runtime.bench.timing import Method
from syncfinder.runtime.instruments import Stall, same

BUSY_MS = 2.0
CPU_WORK_NS = 1_000_000
UPLOADED = 256
WIDTH = 4096
WARM_RUNS = 20


def busy(stall: Stall) -> Cases:
    """A small upload behind 2 ms of GPU work, followed by 1 ms of CPU work."""
    ids = tokens(UPLOADED)
    pinned = torch.empty(UPLOADED, dtype=torch.int64, pin_memory=True)
    view = pinned.numpy()

    def through_view() -> torch.Tensor:
        view[:] = ids
        return pinned.to("cuda", non_blocking=True)

    check = arrived(torch.tensor(ids, device="cuda"))
    calls: tuple[Callable[[], torch.Tensor], ...] = (lambda: torch.tensor(ids, device="cuda"), through_view)
    yield (
        f"{UPLOADED} tokens",
        tuple(Method(call, check, before=lambda: stall(BUSY_MS), meanwhile=_cpu_work) for call in calls),
    )


def _cpu_work() -> None:
    end = time.perf_counter_ns() + CPU_WORK_NS
    while time.perf_counter_ns() < end:
        pass


def overlap(_stall: object) -> Cases:
    """An upload and matrix products that do not need each other."""
    source = host(LARGE, pinned=True)
    target = torch.empty_like(source, device="cuda")
    a, b = (torch.randn(WIDTH, WIDTH, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    product = torch.empty_like(a)
    side = torch.cuda.Stream()

    def copy() -> None:
        target.copy_(source, non_blocking=True)

    def multiply() -> None:
        torch.mm(a, b, out=product)

    # as many products as take as long as the copy
    times = max(1, round(_milliseconds(copy) / _milliseconds(multiply)))

    def products() -> None:
        for _ in range(times):
            multiply()

    def one_stream() -> None:
        copy()
        products()

    def two_streams() -> None:
        with torch.cuda.stream(side):
            copy()
        products()

    is_copied, expected = arrived(source.cuda()), a @ b

    def is_product() -> bool:
        right = same(product, expected)
        product.zero_()
        return right

    def are_both(_result: object) -> bool:
        return all([is_copied(target), is_product()])

    yield (
        "64 MiB",
        (
            Method(copy, lambda _: is_copied(target)),
            Method(products, lambda _: is_product()),
            Method(one_stream, are_both),
            Method(two_streams, are_both),
        ),
    )


def _milliseconds(work: Callable[[], object]) -> float:
    """How long the GPU takes for it, once warm."""
    for _ in range(WARM_RUNS):
        work()
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    for _ in range(WARM_RUNS):
        work()
    end.record()
    end.synchronize()
    return float(start.elapsed_time(end)) / WARM_RUNS
