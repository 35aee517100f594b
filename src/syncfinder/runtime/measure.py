"""Measuring when torch makes the host wait: torch's own samples and the probes, each judged by two instruments.

Runs on a GPU, in worker processes: a call that breaks the CUDA context ends only its worker.
"""

from __future__ import annotations

import datetime
import json
import multiprocessing
import pathlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection
from typing import Any

from syncfinder.files import write_whole

Entry = tuple[str, Any]
# jobs given to one worker: a new process costs seconds, a broken one loses its memory only
BATCH = 300
# seconds after which a job that has not ended is given up
PATIENCE = 90


def measure(progress: Callable[[str], None] = lambda line: None, only: Sequence[str] = ()) -> dict[str, Any]:
    """Return the evidence: machine, calls by callable, backward passes by operator, probes by file, and errors.

    `only` limits the work to jobs whose text contains one of the words. A call is [arguments, construction or None,
    False], or [arguments, construction or None, True, reported, blocked_ms, stall_ms]; a probe is [text, key of its
    content, waits, reported, blocked_ms, stall_ms]. An interrupt (Ctrl-C) keeps what was measured until then.

    Raises:
        RuntimeError: torch has no GPU here.
    """
    from syncfinder.runtime import instruments, probes, samples

    instruments.need_gpu("measure")
    jobs: list[Entry] = [("probe", i) for i in range(len(probes.load()))]
    jobs += [("samples", entry) for entry in samples.operators()]
    if only:
        texts = {i: f"{p.file} {p.run}" for i, p in enumerate(probes.load())}
        jobs = [j for j in jobs if any(word in str(texts.get(j[1], j[1])) for word in only)]
    evidence: dict[str, Any] = {
        **instruments.machine(),
        "date": datetime.date.today().isoformat(),
        "calls": {},
        "backward": {},
        "probes": {},
        "errors": {},
    }
    try:
        for kind, payload in _judged(jobs, progress):
            _add(evidence, kind, payload)
    except KeyboardInterrupt:
        evidence["errors"]["the run"] = "interrupted: not everything was measured"
    evidence["calls"] = {k: _merged(v) for k, v in sorted(evidence["calls"].items())}
    for part in ("backward", "errors"):
        evidence[part] = dict(sorted(evidence[part].items()))
    return evidence


def write(evidence: dict[str, Any], path: pathlib.Path) -> None:
    """Write the evidence, one callable or probe a line. Raises OSError."""
    parts = []
    for key, value in evidence.items():
        if isinstance(value, dict):
            lines = ",\n".join(f"{json.dumps(k)}:{_lines(v)}" for k, v in value.items())
            parts.append(f"{json.dumps(key)}:{{\n{lines}}}")
        else:
            parts.append(f"{json.dumps(key)}:{json.dumps(value)}")
    write_whole(path, "{" + ",\n".join(parts) + "}\n")


def _lines(value: Any) -> str:
    if isinstance(value, list):
        return "[\n" + ",\n".join(json.dumps(v, separators=(",", ":")) for v in value) + "]"
    return json.dumps(value, separators=(",", ":"))


def _add(evidence: dict[str, Any], kind: str, payload: Any) -> None:
    if kind == "call":
        name, *call = payload
        evidence["calls"].setdefault(name, []).append(call)
    elif kind == "backward":
        name, waits = payload
        counts = evidence["backward"].setdefault(name, {"waits": 0, "free": 0})
        counts["waits" if waits else "free"] += 1
    elif kind == "probe":
        file, *result = payload
        evidence["probes"].setdefault(file, []).append(result)
    elif kind == "error":
        where, message = payload
        evidence["errors"].setdefault(where, message)


def _merged(calls: list[list[Any]]) -> list[list[Any]]:
    """Join equal calls with equal verdicts; of a silent one the times tell nothing."""
    found: dict[str, list[Any]] = {}
    for arguments, init, waits, reported, took, stall in calls:
        key = json.dumps([arguments, init, waits, reported], sort_keys=True)
        found.setdefault(key, [arguments, init, waits, *([reported, took, stall] if waits else [])])
    return list(found.values())


def _judged(jobs: list[Entry], progress: Callable[[str], None]) -> Iterator[Entry]:
    """Run the jobs in workers, one after the other; go on behind the job at which a worker died."""
    context = multiprocessing.get_context("spawn")
    at = 0
    while at < len(jobs):
        batch = jobs[at : at + BATCH]
        mine, theirs = context.Pipe(duplex=False)
        worker = context.Process(target=_work, args=(batch, theirs), daemon=True)
        worker.start()
        theirs.close()
        done = 0
        try:
            while done < len(batch):
                if not mine.poll(PATIENCE):
                    raise EOFError
                kind, payload = mine.recv()
                if kind == "done":
                    done += 1
                else:
                    yield kind, payload
        except EOFError:
            yield "error", (str(batch[done][1]), "its process died or hung")
            done += 1
        worker.join(10)
        worker.kill()
        at += done
        progress(f"{at} of {len(jobs)}")


def _work(jobs: list[Entry], out: Connection) -> None:
    """Judge jobs in a process of its own; a broken CUDA context ends it."""
    import torch

    from syncfinder.runtime.instruments import Stall

    warnings.simplefilter("ignore")
    stall = Stall()
    for kind, what in jobs:
        for found in _probe(what, stall) if kind == "probe" else _samples(what, stall):
            out.send(found)
        torch.cuda.synchronize()  # raises if the context is broken
        out.send(("done", None))


def _probe(index: int, stall: Any) -> Iterator[Entry]:
    from syncfinder.runtime import instruments, probes

    probe = probes.load()[index]
    try:
        verdict = instruments.judge(probes.prepare(probe), stall)
        alone = probe.isolated()
        own = verdict if alone is probe else instruments.judge(probes.prepare(alone), stall)
        call = probes.called(alone)
    except Exception as error:
        yield "error", (f"{probe.file}: {probe.run}", f"{type(error).__name__}: {error}"[:200])
        return
    judged = [verdict.waits, verdict.reported, verdict.blocked_ms, verdict.stall_ms]
    yield "probe", (probe.file, probe.run, probe.key, *judged)
    if call is not None:
        judged = [own.waits, own.reported, own.blocked_ms, own.stall_ms]
        yield "call", (call.name, call.arguments, call.init, *judged)


def _until_error(samples: Iterator[Any]) -> Iterator[Any]:
    """The samples, and the error that ended them, if one did."""
    try:
        yield from samples
    except Exception as error:
        yield error


def _samples(entry: str, stall: Any) -> Iterator[Entry]:
    from syncfinder.runtime import instruments, samples

    for sample in _until_error(samples.samples_of(entry)):
        if isinstance(sample, Exception):
            yield "error", (entry, f"samples: {type(sample).__name__}: {sample}"[:200])
            break
        try:
            verdict = instruments.judge(sample.prepare, stall)
        except Exception as error:
            yield "error", (entry, f"{sample.name}: {type(error).__name__}: {error}"[:200])
            continue
        judged = [verdict.waits, verdict.reported, verdict.blocked_ms, verdict.stall_ms]
        yield "call", (sample.name, sample.arguments, sample.init, *judged)
    for name, prepare in samples.backward(entry):
        try:
            verdict = instruments.judge(prepare, stall)
        except Exception as error:
            yield "error", (entry, f"backward: {type(error).__name__}: {error}"[:200])
            continue
        yield "backward", (name, verdict.waits)
