"""The annotations of `syncfinder.hints`."""

from __future__ import annotations

import subprocess
import sys
from typing import get_args, get_type_hints

from syncfinder.hints import CpuTensor, CudaTensor, PinnedTensor


def test_they_say_the_place() -> None:
    places = [get_args(hint)[1] for hint in (CudaTensor, CpuTensor, PinnedTensor)]
    assert places == ["cuda", "cpu", "pinned"]


def test_they_work_as_annotations() -> None:
    def f(x: CudaTensor, y: CpuTensor | None = None) -> None: ...

    assert get_type_hints(f, include_extras=True)["x"] == CudaTensor


def test_torch_is_not_imported() -> None:
    code = "import sys, syncfinder.hints; print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
