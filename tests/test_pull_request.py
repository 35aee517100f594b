"""Before and after of SGLang's pull request 28076, reduced: building a sampling batch made the host wait five times."""

from __future__ import annotations

from pathlib import Path

from syncfinder.check import check
from syncfinder.config import Settings

# The marks stand on the line where the finding must begin.
HEAD = """
from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Optional

import torch

from serving.memory import is_pin_memory_available

if TYPE_CHECKING:
    from serving.batch import Batch

_pin = is_pin_memory_available()


@dataclasses.dataclass
class SamplingBatchInfo:
    temperatures: torch.Tensor
    top_ps: torch.Tensor
    top_ks: torch.Tensor
    min_ps: torch.Tensor
    sampling_seed: Optional[torch.Tensor] = None
    device: str = "cuda"
"""

BEFORE = (
    HEAD
    + """
    @classmethod
    def from_schedule_batch(cls, batch: Batch, deterministic: bool):
        reqs = batch.reqs
        device = batch.device
        temperatures = torch.tensor(  # waits
            [r.sampling_params.temperature for r in reqs], dtype=torch.float, device=device
        ).view(-1, 1)
        top_ps = torch.tensor(  # waits
            [r.sampling_params.top_p for r in reqs], dtype=torch.float, device=device
        )
        top_ks = torch.tensor([r.sampling_params.top_k for r in reqs], dtype=torch.int32, device=device)  # waits
        min_ps = torch.tensor([r.sampling_params.min_p for r in reqs], dtype=torch.float, device=device)  # waits
        sampling_seed = (
            torch.tensor(  # waits
                [42 if r.sampling_params.seed is None else r.sampling_params.seed for r in reqs],
                dtype=torch.int64,
                device=device,
            )
            if deterministic
            else None
        )
        return cls(temperatures, top_ps, top_ks, min_ps, sampling_seed, device)
"""
)

AFTER = (
    HEAD
    + """
    @classmethod
    def from_schedule_batch(cls, batch: Batch, deterministic: bool):
        reqs = batch.reqs
        device = batch.device
        temperatures = (
            torch.tensor([r.sampling_params.temperature for r in reqs], dtype=torch.float, pin_memory=_pin)
            .to(device, non_blocking=True)
            .view(-1, 1)
        )
        top_ps = torch.tensor(
            [r.sampling_params.top_p for r in reqs], dtype=torch.float, pin_memory=_pin
        ).to(device, non_blocking=True)
        top_ks = torch.tensor(
            [r.sampling_params.top_k for r in reqs], dtype=torch.int32, pin_memory=_pin
        ).to(device, non_blocking=True)
        min_ps = torch.tensor(
            [r.sampling_params.min_p for r in reqs], dtype=torch.float, pin_memory=_pin
        ).to(device, non_blocking=True)
        sampling_seed = (
            torch.tensor(
                [42 if r.sampling_params.seed is None else r.sampling_params.seed for r in reqs],
                dtype=torch.int64,
                pin_memory=_pin,
            ).to(device, non_blocking=True)
            if deterministic
            else None
        )
        return cls(temperatures, top_ps, top_ks, min_ps, sampling_seed, device)
"""
)

MEMORY = """
import functools

import torch


@functools.lru_cache(maxsize=1)
def is_pin_memory_available() -> bool:
    return torch.cuda.is_available()
"""

BATCH = """
from __future__ import annotations

import dataclasses
from typing import List

from serving.sampling import SamplingBatchInfo


@dataclasses.dataclass
class SamplingParams:
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = -1
    min_p: float = 0.0
    seed: int | None = None


class Req:
    def __init__(self, sampling_params: SamplingParams):
        self.sampling_params = sampling_params


@dataclasses.dataclass
class Batch:
    reqs: List[Req]
    device: str = "cuda"

    def prepare_for_decode(self, deterministic: bool):
        self.sampling_info = SamplingBatchInfo.from_schedule_batch(self, deterministic)
"""


def findings(root: Path, sampling: str) -> set[tuple[str, int, str]]:
    """Check a project with this `sampling.py`: (file, line, code) of every finding, those in set-up code too."""
    package = root / "serving"
    package.mkdir()
    texts = {"__init__.py": "", "memory.py": MEMORY, "batch.py": BATCH, "sampling.py": sampling}
    for name, text in texts.items():
        (package / name).write_text(text)
    report = check([root], Settings(root=root, show_info=True))
    assert report.errors == []
    return {(Path(f.filename).name, f.span.line, f.code) for f in report.findings}


def test_before_waits_once_for_each_upload(tmp_path: Path) -> None:
    waits = {n for n, line in enumerate(BEFORE.splitlines(), 1) if line.endswith("# waits")}
    assert len(waits) == 5
    assert findings(tmp_path, BEFORE) == {("sampling.py", line, "SF301") for line in waits}


def test_after_waits_nowhere(tmp_path: Path) -> None:
    assert findings(tmp_path, AFTER) == set()
