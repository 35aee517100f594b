"""`syncfinder bench`: what waits and copies cost on this machine's GPU.

Here stands what is measured; `copies`, `streams` and `rules` do it and need torch, the other modules do not.
"""

from __future__ import annotations

import datetime
import platform
from collections.abc import Callable, Sequence

from syncfinder.runtime.bench.result import DONE, RETURNED, Experiment, Run
from syncfinder.runtime.fixture import QUEUED_MS

_BOTH = {RETURNED: "until the call returned", DONE: "until the data had arrived"}

EXPERIMENTS = (
    Experiment(
        "list-upload",
        "A Python list to the GPU",
        "A list of n token ids becomes an int64 tensor on the GPU. The reused buffers are pinned once, before the "
        "clock starts; everything else is inside it.",
        (
            "direct",
            "CPU tensor, non_blocking",
            "pinned each time",
            "reused pinned, CPU tensor",
            "reused pinned, NumPy view",
        ),
        _BOTH,
        "lines",
    ),
    Experiment(
        "large-copy",
        "64 MiB",
        "One int32 tensor of 64 MiB. To the GPU by `.to()`, whose target comes from torch's cache; to the host by "
        "`copy_` into memory that is there already.",
        ("pageable, blocking", "pageable, non_blocking", "pinned, blocking", "pinned, non_blocking"),
        _BOTH,
    ),
    Experiment(
        "small-copies",
        "32 × 64 KiB to the GPU",
        "32 host tensors of 64 KiB, each with memory of its own: 32 `.to()`, or one after `torch.cat` into a reused "
        "pinned buffer and a split on the GPU. What does not block is waited for once, at the end.",
        (
            "pageable, blocking",
            "pinned, blocking",
            "pinned, non_blocking",
            "packed into one, non_blocking",
        ),
        _BOTH,
    ),
    Experiment(
        "busy-stream",
        "A small upload behind 2 ms of GPU work",
        "2 ms of work are queued; then a list of 256 token ids goes to the GPU, the CPU computes for 1 ms, and waits "
        "until all is done. Pinned: a reused buffer, filled through its NumPy view, non_blocking.",
        ("direct", "pinned, non_blocking"),
        {RETURNED: "the upload holds the CPU", DONE: "all, with 1 ms of CPU work"},
    ),
    Experiment(
        "overlap",
        "An upload beside matrix products",
        "64 MiB from pinned memory, non_blocking, and as many products of 4096 × 4096 bfloat16 matrices as take as "
        "long; neither needs the other. One stream queues both, or each has its own.",
        ("the copy alone", "the products alone", "both, one stream", "both, two streams"),
        {DONE: "until all was done"},
    ),
    Experiment(
        "rules",
        "Each rule's pattern before and after its fix",
        f"How long the CPU is held by a function of the rule's fixtures (the first that has a fixed twin) and by its "
        f"twin, the making of their inputs included: behind {QUEUED_MS:.0f} ms of queued work, and with none.",
        ("before, work queued", "after, work queued", "before, none queued", "after, none queued"),
        {RETURNED: "until the function returned"},
        "rows",
    ),
)


def chosen(words: Sequence[str], among: Sequence[Experiment] = EXPERIMENTS) -> tuple[Experiment, ...]:
    """Return the experiments whose name has one of the words in it; all, if there are no words.

    Raises:
        ValueError: a word is in no name.
    """
    for word in words:
        if not any(word in e.key for e in among):
            raise ValueError(f"no experiment has {word!r} in its name; there are {', '.join(e.key for e in among)}")
    return tuple(e for e in among if not words or any(word in e.key for word in words))


def run(experiments: Sequence[Experiment], repeats: int, progress: Callable[[str], None]) -> Run:
    """Measure the experiments on this machine's GPU.

    Raises:
        ImportError: there is no torch.
        RuntimeError: torch has no GPU here, or a method brought wrong data.
        FileNotFoundError: the fixtures are missing.
    """
    import torch

    from syncfinder import __version__
    from syncfinder.runtime.bench import copies, rules, streams
    from syncfinder.runtime.bench.timing import WrongData, measure
    from syncfinder.runtime.instruments import Stall, machine, need_gpu

    need_gpu("bench")
    by_key = {
        "list-upload": copies.lists,
        "large-copy": copies.large,
        "small-copies": copies.small,
        "busy-stream": streams.busy,
        "overlap": streams.overlap,
        "rules": rules.patterns,
    }
    stall = Stall()
    for experiment in experiments:
        for case, methods in by_key[experiment.key](stall):
            progress(f"{experiment.key}: {case}")
            named = dict(zip(experiment.methods, methods, strict=True))
            try:
                experiment.cases[case] = measure(named, repeats, torch.cuda.synchronize)
            except WrongData as error:
                raise WrongData(f"{experiment.key}, {case}: {error}") from error
    software = {"python": platform.python_version(), "syncfinder": __version__}
    return Run({**machine(), **software}, datetime.date.today().isoformat(), repeats, tuple(experiments))
