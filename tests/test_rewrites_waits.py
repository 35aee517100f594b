"""Rewrites of waits for completion: the source before and after, exactly, and neighbours."""

from __future__ import annotations

from pathlib import Path

import pytest

from fixing import suggested

HEAD = "import time\n\nimport torch"
OTHERS = "no other stream's work may be needed"
NARROW = f"`torch.cuda.current_stream().synchronize()` waits for one stream only; unsafe: {OTHERS}"
REWRITTEN = [
    (
        "y = self.run()\ntorch.cuda.synchronize()  # all\nn = y.sum().item()\n",
        "y = self.run()\nn = y.sum().item()",
        f"`y.sum().item()` waits for the current stream itself: leave out the wait beside it; unsafe: {OTHERS}",
    ),
    (
        "y = self.run().cpu()\ntorch.cuda.synchronize()\nreturn y\n",
        "y = self.run().cpu()\nreturn y",
        f"`self.run().cpu()` waits for the current stream itself: leave out the wait beside it; unsafe: {OTHERS}",
    ),
    (
        "end.record()\ntorch.cuda.synchronize()\nms = start.elapsed_time(end)\n",
        "end.record()\nend.synchronize()\nms = start.elapsed_time(end)",
        "`end.synchronize()` waits for that event only; unsafe: the first event must be recorded before it, on the "
        "same stream",
    ),
    ("self.run()\ntorch.cuda.synchronize()\n", "self.run()\ntorch.cuda.current_stream().synchronize()", NARROW),
    (
        "torch.cuda.synchronize(device)\nself.run()\n",
        "torch.cuda.current_stream(device).synchronize()\nself.run()",
        f"`torch.cuda.current_stream(device).synchronize()` waits for one stream only; unsafe: {OTHERS}",
    ),
]


@pytest.mark.parametrize(("before", "after", "message"), REWRITTEN)
def test_rewritten(tmp_path: Path, before: str, after: str, message: str) -> None:
    fix, made = suggested(tmp_path / "m.py", before, "SF401", HEAD)
    assert (fix.applicability, fix.message) == ("unsafe", message)
    assert made == after


SHOWN = [
    (
        "self.run()\ntorch.cuda.synchronize()\nspent = time.perf_counter() - start\n",
        "SF401",
        """measure with events, and read them once, after the work:
start_event, end_event = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
start_event.record()  # in the place of `start = time.perf_counter()`
...  # the work that is measured
end_event.record()
end_event.synchronize()
spent = start_event.elapsed_time(end_event) / 1000""",
    ),
    (
        "torch.cuda.synchronize()\nbegin = time.monotonic()\nself.run()\n",
        "SF401",
        """measure with events, which wait for nothing where they are recorded:
begin_event = torch.cuda.Event(enable_timing=True)
begin_event.record()""",
    ),
    (
        "torch.cuda.current_stream().synchronize()\n",
        "SF402",
        """wait for the one copy that the host reads, later:
done = torch.cuda.Event()
done.record(torch.cuda.current_stream())  # right behind the copy that the host reads
...  # queue other work here
done.synchronize()  # where the copy is read""",
    ),
]


@pytest.mark.parametrize(("source", "code", "message"), SHOWN)
def test_shown(tmp_path: Path, source: str, code: str, message: str) -> None:
    fix, made = suggested(tmp_path / "m.py", source, code, HEAD)
    assert (fix.applicability, fix.edits, fix.message) == ("display-only", (), message)
    assert made == source.rstrip("\n")
