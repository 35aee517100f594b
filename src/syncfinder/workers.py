"""Worker processes: contiguous runs of files, so that a package's modules are parsed and evaluated by one worker."""

from __future__ import annotations

import gc
import multiprocessing
import os
import pickle
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from syncfinder.config import Settings
from syncfinder.sites.site import CONFIDENCES, Site
from syncfinder.stages import Observations, Worded, no_collection, observe_here, with_deep_stack, word_file


def observe_parallel(
    files: list[Path], checked: list[Path], texts: dict[Path, str], settings: Settings, jobs: int, progress: bool
) -> Observations:
    """Infer in `jobs` forked processes; sites that several of them saw are united."""
    chunks = contiguous(files, jobs)
    context = multiprocessing.get_context("fork")
    counter = context.Value("i", 0)

    def work(chunk: list[Path]) -> Observations:
        def done() -> None:
            with counter.get_lock():
                counter.value += 1

        return with_deep_stack(lambda: observe_here(chunk, checked, texts, settings, done if progress else None))

    gc.freeze()
    workers = start([partial(work, chunk) for chunk in chunks])
    with watching(counter, len(files), progress):
        parts = gather(workers)
    return united([lost(chunk) if part is None else part for chunk, part in zip(chunks, parts, strict=True)])


def sizes(files: list[Path]) -> Iterator[int]:
    """Yield the size of each file in bytes; 0 for one that cannot be read."""
    for path in files:
        try:
            yield path.stat().st_size
        except OSError:
            yield 0


def contiguous(files: list[Path], jobs: int) -> list[list[Path]]:
    """Split sorted files into runs of about equal bytes."""
    weights = list(sizes(files))
    share = sum(weights) / jobs
    chunks: list[list[Path]] = [[]]
    filled = 0.0
    for path, weight in zip(files, weights, strict=True):
        if filled >= share * len(chunks) and len(chunks) < jobs:
            chunks.append([])
        chunks[-1].append(path)
        filled += weight
    return chunks


@dataclass(frozen=True, slots=True)
class Worker:
    """A forked process, and the end of the pipe that its pickled result comes through."""

    pid: int
    reader: int


def start(tasks: list[Callable[[], Any]]) -> list[Worker]:
    """Start a forked process for each task. No thread may have been started before: a fork would copy its locks."""
    return [fork(task) for task in tasks]


def fork(task: Callable[[], Any]) -> Worker:
    reader, writer = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        gc.disable()  # a child is short-lived, and a collection over all trees costs seconds
        os.close(reader)
        status = 1
        try:
            data = pickle.dumps(task(), protocol=pickle.HIGHEST_PROTOCOL)
            with os.fdopen(writer, "wb") as stream:
                stream.write(data)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    os.close(writer)
    return Worker(pid, reader)


def gather(workers: list[Worker]) -> list[Any]:
    """Return the workers' results in order; None for a process that died."""
    with no_collection():
        return [received(worker) for worker in workers]


def received(worker: Worker) -> Any:
    """Wait for a worker's result; None if it died."""
    with os.fdopen(worker.reader, "rb") as stream:
        data = stream.read()
    _, status = os.waitpid(worker.pid, 0)
    return None if status or not data else pickle.loads(data)


def lost(chunk: list[Path]) -> Observations:
    """Return what is left of a worker that died: that its files were not checked."""
    which = f"{chunk[0]} to {chunk[-1]}"
    what = f"{len(chunk)} files were not checked: their worker process died (out of memory?); run again with --jobs 1"
    return Observations(errors=[f"{which}: {what}"], failed=set(chunk))


def united(parts: list[Observations]) -> Observations:
    """Join what the workers saw; of two sites at one place the surest stays."""
    out = Observations()
    merged: dict[Path, dict[Any, Site]] = {}
    for part in parts:
        out.errors += part.errors
        out.failed |= part.failed
        out.commented |= part.commented
        for path, doubts in part.doubts.items():
            out.doubts.setdefault(path, set()).update(doubts)
        for path, sites in part.sites.items():
            have = merged.setdefault(path, {})
            for site in sites:
                key = (site.kind, site.span)
                other = have.get(key)
                if other is None:
                    have[key] = site
                elif rank(site) > rank(other):
                    site.agree(other)
                    have[key] = site
                else:
                    other.agree(site)
    for path, by_place in merged.items():
        out.sites[path] = sorted(by_place.values(), key=lambda s: (s.span.line, s.span.column, s.kind))
    out.settle()
    return out


def rank(site: Site) -> tuple[int, bool]:
    return CONFIDENCES.index(site.confidence), site.level == "error"


def word_parallel(work: list[tuple[Path, list[Site]]], texts: dict[Path, str], jobs: int) -> list[Worded]:
    """Word files in forked processes, dealt out by their number of sites."""
    hands: list[list[tuple[int, Path, list[Site]]]] = [[] for _ in range(jobs)]
    loads = [0] * jobs
    for position, (path, sites) in sorted(enumerate(work), key=lambda row: -len(row[1][1])):
        lightest = loads.index(min(loads))
        hands[lightest].append((position, path, sites))
        loads[lightest] += len(sites) + 5

    def words(hand: list[tuple[int, Path, list[Site]]]) -> list[tuple[int, Worded]]:
        gc.disable()
        return [(position, word_file(path, sites, texts)) for position, path, sites in hand]

    import syncfinder.rules.engine  # noqa: F401  (imported once, before the fork)

    hands = [hand for hand in hands if hand]
    parts = gather(start([partial(words, hand) for hand in hands]))
    # What a worker that died left is worded here.
    done = [words(hand) if part is None else part for hand, part in zip(hands, parts, strict=True)]
    return [found for _, found in sorted((row for part in done for row in part), key=lambda row: row[0])]


@contextmanager
def watching(counter: Any, total: int, progress: bool) -> Iterator[None]:
    """Show a progress bar while workers count the files that they have done."""
    if not progress:
        yield
        return
    import threading

    from rich.console import Console
    from rich.progress import Progress

    stop = threading.Event()
    bar = Progress(console=Console(stderr=True), transient=True)

    def watch() -> None:
        task = bar.add_task("checking", total=total)
        while not stop.wait(0.2):
            bar.update(task, completed=counter.value)

    with bar:
        thread = threading.Thread(target=watch)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()
