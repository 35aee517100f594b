"""`check --fix` and its relatives, end to end: what is written, what is said, and what must stay as it is."""

from __future__ import annotations

import io
import json
import os
import stat
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import libcst as cst
import pytest

from syncfinder.cli import main
from syncfinder.config import Settings
from syncfinder.finding import Edit
from syncfinder.fixes.apply import apply, compose
from syncfinder.fixes.write import encoded, write_fixed
from syncfinder.rules.rewrites import REWRITERS
from syncfinder.rules.rewrites.rewrite import Change, Rewrite, before, remove, replace
from syncfinder.rules.wording import Spot
from syncfinder.sites.site import Span
from syncfinder.source.decode import SourceError

SAFE = """\
import torch


def f(x: torch.Tensor):
    n = torch.tensor(0.5, device="cuda")  # half
    return x + n
"""
SAFE_FIXED = SAFE.replace('torch.tensor(0.5, device="cuda")', 'torch.full((), 0.5, device="cuda")')
UNSAFE = """\
import torch


def f(device, rows):
    return torch.tensor(rows, device=device)
"""
UNSAFE_FIXED = UNSAFE.replace("device=device)", "pin_memory=True).to(device, non_blocking=True)")
BOTH = SAFE + UNSAFE.partition("import torch")[2]
READS = 'import torch\n\n\ndef f():\n    x = torch.zeros(3, device="cuda")\n    return x.sum().item()\n'
HIDDEN = "No fixes available (1 hidden fix can be enabled with the --unsafe-fixes option)\n"


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str


Run = Callable[..., Result]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def run(here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    def invoke(*arguments: str, stdin: bytes = b"") -> Result:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = main(("check", *arguments))
        captured = capsys.readouterr()
        return Result(code, captured.out, captured.err)

    return invoke


# The options.


def test_fix_writes_and_reports_what_remains(run: Run, here: Path) -> None:
    (here / "m.py").write_text(SAFE)
    assert run("m.py", "--fix") == Result(0, "Found 1 finding (1 fixed, 0 remaining)\n", "")
    assert (here / "m.py").read_text() == SAFE_FIXED
    (here / "m.py").write_text(BOTH)
    result = run("m.py", "--fix")
    assert (result.code, result.err) == (1, "")
    assert result.out.startswith("SF301 `torch.tensor(rows, device=device)` copies host data to the GPU")
    assert result.out.endswith(f"Found 2 findings (1 fixed, 1 remaining)\n{HIDDEN}")


def test_a_second_fix_changes_nothing(run: Run, here: Path) -> None:
    path = here / "m.py"
    path.write_text(BOTH)
    assert run(".", "--fix", "--unsafe-fixes").code == 0
    text, before_ns = path.read_bytes(), path.stat().st_mtime_ns
    assert run(".", "--fix", "--unsafe-fixes") == Result(0, "All checks passed!\n", "")
    assert (path.read_bytes(), path.stat().st_mtime_ns) == (text, before_ns)


def test_without_fix_nothing_is_written(run: Run, here: Path) -> None:
    (here / "m.py").write_text(SAFE)
    result = run("m.py", "--unsafe-fixes", "--show-fixes", "--exit-non-zero-on-fix")
    assert result.code == 1
    assert result.out.endswith("Found 1 finding (1 certain) in 1 of 1 file\n[*] 1 fixable with the --fix option\n")
    assert (here / "m.py").read_text() == SAFE


def test_unsafe_fixes(run: Run, here: Path) -> None:
    path = here / "m.py"
    path.write_text(UNSAFE)
    assert run("m.py").out.endswith(f"Found 1 finding (1 likely) in 1 of 1 file\n{HIDDEN}")
    assert run("m.py", "--fix").code == 1
    assert path.read_text() == UNSAFE
    assert run("m.py", "--fix", "--unsafe-fixes") == Result(0, "Found 1 finding (1 fixed, 0 remaining)\n", "")
    assert path.read_text() == UNSAFE_FIXED
    path.write_text(UNSAFE)
    (here / "syncfinder.toml").write_text("unsafe-fixes = true\n")
    assert run("m.py", "--fix", "--no-unsafe-fixes").code == 1
    assert path.read_text() == UNSAFE
    assert run("m.py", "--fix").code == 0
    assert path.read_text() == UNSAFE_FIXED


def test_a_safe_and_a_hidden_fix(run: Run, here: Path) -> None:
    (here / "m.py").write_text(BOTH)
    assert run("m.py").out.endswith(
        "[*] 1 fixable with the --fix option (1 hidden fix can be enabled with the --unsafe-fixes option)\n"
    )
    assert run("m.py", "--unsafe-fixes").out.endswith("\n[*] 2 fixable with the --fix option\n")


def test_diff(run: Run, here: Path) -> None:
    (here / "m.py").write_text(SAFE)
    (here / "other.py").write_text(READS)
    result = run(".", "--diff")
    assert result == Result(
        1,
        "--- m.py\n"
        "+++ m.py\n"
        "@@ -2,5 +2,5 @@\n"
        " \n"
        " \n"
        " def f(x: torch.Tensor):\n"
        '-    n = torch.tensor(0.5, device="cuda")  # half\n'
        '+    n = torch.full((), 0.5, device="cuda")  # half\n'
        "     return x + n\n",
        "Would fix 1 finding\n",
    )
    assert (here / "m.py").read_text() == SAFE
    assert run(".", "--diff", "--exit-zero").code == 0
    assert run("other.py", "--diff") == Result(0, "", "No fixes available\n")


def test_diff_of_a_file_without_a_final_newline(run: Run, here: Path) -> None:
    (here / "m.py").write_text('import torch\n\nn = [torch.tensor(0.5, device="cuda")]\n\n\ndef f():\n    return 1')
    assert run("m.py", "--diff", "--show-info").out == (
        "--- m.py\n"
        "+++ m.py\n"
        "@@ -1,6 +1,6 @@\n"
        " import torch\n"
        " \n"
        '-n = [torch.tensor(0.5, device="cuda")]\n'
        '+n = [torch.full((), 0.5, device="cuda")]\n'
        " \n"
        " \n"
        " def f():\n"
    )


def test_show_fixes_fix_only_and_exit_non_zero_on_fix(run: Run, here: Path) -> None:
    (here / "a.py").write_text(BOTH)
    (here / "b.py").write_text(SAFE)
    listed = (
        "Fixed 3 findings:\n"
        "- a.py:\n"
        "    2 × SF301 (tensor-from-host-data)\n"
        "- b.py:\n"
        "    1 × SF301 (tensor-from-host-data)\n"
        "\n"
    )
    result = run(".", "--fix", "--unsafe-fixes", "--show-fixes", "--exit-non-zero-on-fix")
    assert result == Result(1, f"{listed}Found 3 findings (3 fixed, 0 remaining)\n", "")
    (here / "a.py").write_text(BOTH)
    assert run("a.py", "--fix-only") == Result(0, "", "")
    assert (here / "a.py").read_text() == SAFE_FIXED + UNSAFE.partition("import torch")[2]
    assert run("a.py", "--fix-only", "--exit-non-zero-on-fix") == Result(0, "", "")
    (here / "a.py").write_text(BOTH)
    assert run("a.py", "--fix-only", "--exit-non-zero-on-fix") == Result(1, "", "")


def test_fixable_and_unfixable(run: Run, here: Path) -> None:
    path = here / "m.py"
    path.write_text(SAFE)
    assert run("m.py", "--fix", "--unfixable", "SF301").out.endswith("Found 1 finding (1 certain) in 1 of 1 file\n")
    assert run("m.py", "--fix", "--fixable", "SF1,SF302").code == 1
    (here / "syncfinder.toml").write_text('unfixable = ["SF3"]\n')
    assert run("m.py", "--fix").code == 1
    fix = json.loads(run("m.py", "--output-format", "json").out)[0]["fix"]
    assert fix == {
        "applicability": "display-only",
        "message": "`torch.full` passes the number to the kernel",
        "edits": [],
    }
    assert path.read_text() == SAFE
    assert run("m.py", "--fix", "--fixable", "SF301").code == 0
    assert path.read_text() == SAFE_FIXED


def test_longer_selectors_decide() -> None:
    settings = Settings(fixable=("SF",), unfixable=("SF3",))
    assert (settings.fixes("SF101"), settings.fixes("SF301")) == (True, False)
    settings = Settings(fixable=("SF", "SF301"), unfixable=("SF3",))
    assert (settings.fixes("SF301"), settings.fixes("SF302")) == (True, False)


def test_wrong_options(run: Run, here: Path) -> None:
    result = run(".", "--unfixable", "SF999")
    assert (result.code, result.out) == (2, "")
    assert "no rule's code begins with SF999" in result.err
    for options in (("--add-ignore", "known"), ("--changed-since", "HEAD")):
        result = run(".", "--fix", *options)
        assert (result.code, result.out) == (2, "")
        assert f"{options[0]} and fixing cannot be combined" in result.err
    (here / "syncfinder.toml").write_text("unsafe-fixes = 1\n")
    assert run(".", "--fix").err == "error: syncfinder.toml: `unsafe-fixes`: must be true or false\n"


def test_what_the_baseline_knows_is_not_fixed(run: Run, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "m.py").write_text(SAFE)
    assert main(("baseline", "m.py")) == 0
    capsys.readouterr()
    (here / "n.py").write_text(SAFE)
    result = run(".", "--fix", "--baseline", "syncfinder-baseline.json")
    assert result == Result(0, "Found 1 finding (1 fixed, 0 remaining); 1 known finding is in the baseline\n", "")
    assert ((here / "m.py").read_text(), (here / "n.py").read_text()) == (SAFE, SAFE_FIXED)


def test_info_is_fixed_only_where_it_is_shown(run: Run, here: Path) -> None:
    path = here / "m.py"
    path.write_text('import torch\n\nN = torch.tensor(0.5, device="cuda")\n')
    assert run("m.py", "--fix").out == "All checks passed! 1 finding is info (--show-info)\n"
    assert run("m.py", "--fix", "--show-info").code == 0
    assert path.read_text() == 'import torch\n\nN = torch.full((), 0.5, device="cuda")\n'


def test_suppressed_and_possible_findings_stay(run: Run, here: Path) -> None:
    text = SAFE.replace("# half", "# syncfinder: ignore[SF301] once")
    (here / "m.py").write_text(text)
    assert run("m.py", "--fix") == Result(0, "All checks passed!\n", "")
    assert (here / "m.py").read_text() == text
    guess = "import torch\n\n\ndef f(mask_gpu, x: torch.Tensor):\n    for h in self.hidden:\n        h[0] = 1\n"
    (here / "m.py").write_text(guess)
    run("m.py", "--fix", "--unsafe-fixes", "--min-confidence", "possible")
    assert (here / "m.py").read_text() == guess


# stdin.


def test_stdin(run: Run, here: Path) -> None:
    result = run("-", "--fix", "--stdin-filename", "m.py", stdin=BOTH.encode())
    assert (result.code, result.out) == (1, SAFE_FIXED + UNSAFE.partition("import torch")[2])
    assert result.err.endswith(f"Found 2 findings (1 fixed, 1 remaining)\n{HIDDEN}")
    assert run("-", "--fix", stdin=READS.encode()).out == READS
    assert run("-", "--fix-only", stdin=SAFE.encode()) == Result(0, SAFE_FIXED, "")
    diff = run("-", "--diff", "--stdin-filename", "m.py", stdin=SAFE.encode())
    assert (diff.code, diff.err) == (1, "Would fix 1 finding\n")
    assert diff.out.startswith("--- m.py\n+++ m.py\n")


def test_stdin_keeps_the_line_ends(run: Run, here: Path) -> None:
    result = run("-", "--fix-only", stdin=b"\xef\xbb\xbf" + SAFE.replace("\n", "\r\n").encode())
    assert result.out.encode() == b"\xef\xbb\xbf" + SAFE_FIXED.replace("\n", "\r\n").encode()


# What is written.


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (SAFE.replace("\n", "\r\n").encode(), SAFE_FIXED.replace("\n", "\r\n").encode()),
        (SAFE.replace("\n", "\r").encode(), SAFE_FIXED.replace("\n", "\r").encode()),
        (b"\xef\xbb\xbf" + SAFE.encode(), b"\xef\xbb\xbf" + SAFE_FIXED.encode()),
        (SAFE.rstrip("\n").encode(), SAFE_FIXED.rstrip("\n").encode()),
        (SAFE.replace("half", "½ é").encode(), SAFE_FIXED.replace("half", "½ é").encode()),
        (
            ("# coding: latin-1\n" + SAFE.replace("half", "½ é")).encode("latin-1"),
            ("# coding: latin-1\n" + SAFE_FIXED.replace("half", "½ é")).encode("latin-1"),
        ),
        (
            SAFE.replace("\n", "\r\n", 3).encode() + b"\x0c\r\ng = 1",
            SAFE_FIXED.replace("\n", "\r\n", 3).encode() + b"\x0c\r\ng = 1",
        ),
        (SAFE.replace("    ", "\t").encode(), SAFE_FIXED.replace("    ", "\t").encode()),
    ],
)
def test_the_form_of_a_file_stays(run: Run, here: Path, old: bytes, new: bytes) -> None:
    (here / "m.py").write_bytes(old)
    assert run("m.py", "--fix").code == 0
    assert (here / "m.py").read_bytes() == new
    assert [p.name for p in here.iterdir()] == ["m.py"]


def test_mode_and_links_stay(run: Run, here: Path) -> None:
    (here / "folder").mkdir()
    (here / "folder" / "real.py").write_text(SAFE)
    os.chmod(here / "folder" / "real.py", 0o754)
    (here / "m.py").symlink_to("folder/real.py")
    assert run("m.py", "--fix").code == 0
    assert os.readlink(here / "m.py") == "folder/real.py"
    assert (here / "folder" / "real.py").read_text() == SAFE_FIXED
    assert stat.S_IMODE((here / "folder" / "real.py").stat().st_mode) == 0o754


def test_a_file_that_cannot_be_written_is_named(run: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a.py", "b.py"):
        (here / name).write_text(SAFE)
    allowed = os.access
    monkeypatch.setattr("os.access", lambda path, mode: Path(path).name != "a.py" and allowed(path, mode))
    result = run(".", "--fix")
    assert result == Result(
        2, "Found 1 finding (1 fixed, 0 remaining)\n", "error: a.py: cannot be written: Permission denied\n"
    )
    assert [(here / name).read_text() for name in ("a.py", "b.py")] == [SAFE, SAFE_FIXED]


def test_a_file_that_changed_meanwhile_is_left(here: Path) -> None:
    path = here / "m.py"
    path.write_text("x = 2\n")
    with pytest.raises(SourceError, match=r"m\.py: changed while it was being checked, and was not fixed; run again"):
        write_fixed(path, "x = 1\n", "x = 3\n")
    assert path.read_text() == "x = 2\n"


def test_an_encoding_that_lacks_a_character(here: Path) -> None:
    data = b"# coding: ascii\nx = 1\n"
    with pytest.raises(SourceError, match=r"m\.py: cannot be fixed: its encoding, ascii, has no '½'"):
        encoded(here / "m.py", data, "# coding: ascii\nx = '½'\n")


def test_new_lines_take_the_line_ends_around_them(here: Path) -> None:
    old = b"a\r\nb\r\nc\nd\n"
    assert encoded(here / "m.py", old, "a\nb\nnew\nc\nd\n") == b"a\r\nb\r\nnew\nc\nd\n"
    assert encoded(here / "m.py", old, "new\na\nb\nc\nd\n") == b"new\r\na\r\nb\r\nc\nd\n"
    assert encoded(here / "m.py", old, "a\nB\nc\nd") == b"a\r\nB\r\nc\nd"


# Composing.


def edit(line: int, column: int, end_column: int, content: str) -> Edit:
    return Edit(Span(line, column, line, end_column), content)


def test_apply() -> None:
    text = "abc\ndef\n"
    assert apply(text, []) == text
    assert apply(text, [edit(1, 1, 1, "x"), edit(1, 2, 3, ""), Edit(Span(1, 4, 2, 2), "-")]) == "xac-ef\n"
    with pytest.raises(ValueError, match="an edit overlaps the one before it"):
        apply(text, [edit(1, 1, 3, ""), edit(1, 2, 4, "")])
    with pytest.raises(ValueError, match="an edit is outside of the file"):
        apply(text, [edit(4, 1, 1, "x")])


def test_compose_defers_what_meets() -> None:
    added = edit(1, 1, 1, "import torch\n")
    fixes = [
        ("a", (added, edit(5, 1, 2, "a"))),
        ("same line", (edit(5, 7, 9, "b"),)),
        ("c", (added, edit(6, 1, 2, "c"))),
        ("nothing new", (added,)),
    ]
    assert compose(fixes) == (["a", "c"], [added, edit(5, 1, 2, "a"), edit(6, 1, 2, "c")])


def test_fixes_of_one_line_are_made_in_several_passes(run: Run, here: Path) -> None:
    line = 'return torch.tensor(0.5, device="cuda") + torch.tensor([1.5, n], device="cuda") + torch.zeros(n).cuda()'
    (here / "m.py").write_text(f"import torch\n\n\ndef f(n: int):\n    {line}\n")
    assert run("m.py", "--fix") == Result(0, "Found 3 findings (3 fixed, 0 remaining)\n", "")
    assert (here / "m.py").read_text() == (
        "import torch\n\n\ndef f(n: int):\n"
        '    return torch.full((), 0.5, device="cuda") + torch.tensor([1.5, n], pin_memory=True).to("cuda", '
        'non_blocking=True) + torch.zeros(n, device="cuda")\n'
    )


def test_files_are_fixed_in_the_light_of_each_other(run: Run, here: Path) -> None:
    (here / "made.py").write_text('import torch\n\n\ndef rows():\n    return torch.zeros(4, device="cuda")\n')
    (here / "used.py").write_text("from made import rows\n\n\ndef f():\n    x = rows()\n    x[0] = 1.0\n    return x\n")
    assert run(".", "--fix").code == 0
    assert "    x[0].fill_(1.0)\n" in (here / "used.py").read_text()


# Imports.

GUARDED = "try:\n    import torch\nexcept ImportError:\n    pass\n"


@pytest.mark.parametrize(
    ("head", "new_head"),
    [
        ("import torch\n", "import torch\n"),
        ("import torch  # the framework\n", "import torch  # the framework\n"),
        ("import torch, sys\n", "import torch, sys\n"),
        ("", "import torch\n"),
        ("# a comment\n\n", "# a comment\n\nimport torch\n"),
        ('"""Doc."""\n\n', '"""Doc."""\n\nimport torch\n'),
        (
            '"""Doc."""\n\nfrom __future__ import annotations\n\nimport os\n',
            '"""Doc."""\n\nfrom __future__ import annotations\n\nimport torch\nimport os\n',
        ),
        (
            "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    import torch\n",
            "import torch\nfrom typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    import torch\n",
        ),
        (GUARDED, GUARDED),
    ],
)
def test_imports_are_added(run: Run, here: Path, head: str, new_head: str) -> None:
    body = "from torch import Tensor, tensor\n\n\ndef f(x: Tensor):\n    return x + {}\n"
    (here / "m.py").write_text(head + body.format("tensor(0.5, device='cuda')"))
    assert run("m.py", "--fix").code == 0
    assert (here / "m.py").read_text() == new_head + body.format("torch.full((), 0.5, device='cuda')")


@pytest.mark.parametrize(
    ("head", "new_head"),
    [
        ("", "import torch\n\n"),
        ('"""Doc."""\n\n\n', '"""Doc."""\n\n\nimport torch\n\n'),
        ("#!/usr/bin/env python\n# why\n\n", "#!/usr/bin/env python\n# why\n\nimport torch\n\n"),
    ],
)
def test_the_first_import(run: Run, here: Path, head: str, new_head: str) -> None:
    body = "def f(x):\n    x = x.cuda()\n    return x.new_tensor({}\n"
    (here / "m.py").write_text(head + body.format("[1, 2])"))
    assert run("m.py", "--fix").code == 0
    fixed = body.replace("x.new_tensor", "torch.tensor")
    assert (here / "m.py").read_text() == new_head + fixed.format(
        "[1, 2], dtype=x.dtype, pin_memory=True).to(x.device, non_blocking=True)"
    )


def test_an_import_in_the_function_is_enough(run: Run, here: Path) -> None:
    text = "def f():\n    import torch\n    from torch import tensor\n\n    return {}\n"
    (here / "m.py").write_text(text.format("tensor(0.5, device='cuda')"))
    assert run("m.py", "--fix").code == 0
    assert (here / "m.py").read_text() == text.format("torch.full((), 0.5, device='cuda')")


def test_two_fixes_add_one_import(run: Run, here: Path) -> None:
    (here / "m.py").write_text(
        'from torch import tensor\n\n\ndef f():\n    return tensor(1, device="cuda")\n\n\n'
        'def g():\n    return tensor(2, device="cuda")\n'
    )
    assert run("m.py", "--fix").code == 0
    assert (here / "m.py").read_text() == (
        'import torch\nfrom torch import tensor\n\n\ndef f():\n    return torch.full((), 1, device="cuda")\n\n\n'
        'def g():\n    return torch.full((), 2, device="cuda")\n'
    )


# Faults of the tool.


def rewriting(monkeypatch: pytest.MonkeyPatch, make: Callable[[Spot], tuple[Change, ...]]) -> None:
    """Rewrite every host data upload by what `make` returns."""
    monkeypatch.setitem(REWRITERS, "construct", lambda spot: Rewrite("a rewrite", "safe", make(spot)))


def test_what_does_not_parse_is_not_written(run: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rewriting(monkeypatch, lambda spot: (replace(spot.node, "torch.full(("),))
    (here / "a.py").write_text(SAFE)
    other = "import torch\n\n\ndef f():\n    return torch.zeros(3).cuda()\n"
    (here / "b.py").write_text(other)
    result = run(".", "--fix")
    assert result.code == 2
    assert result.err.startswith("error: a.py: internal error: the fix of SF301 gives code that does not parse (")
    assert result.err.endswith("the file is left as it was. Please report it; other files are fixed\n")
    assert result.err.count("\n") == 1
    assert (here / "a.py").read_text() == SAFE
    assert (here / "b.py").read_text() == other.replace("(3).cuda()", '(3, device="cuda")')


def test_fixes_without_end_are_not_written(run: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rewriting(monkeypatch, lambda spot: (replace(spot.node, 'torch.tensor(0.5, device="cuda" )'),))
    (here / "m.py").write_text(SAFE)
    assert run("m.py", "--fix").code == 1  # the same text again is no change
    rewriting(monkeypatch, lambda spot: (before(spot.node, ["pass"]),))
    result = run("m.py", "--fix")
    assert result.code == 2
    assert "m.py: internal error: the fixes of SF301 do not come to an end; the file is left as it was" in result.err
    assert (here / "m.py").read_text() == SAFE.replace('"cuda")', '"cuda" )')


# The changes of statements.


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    x = 1\n    HERE  # why\n    y = 2\n", "    x = 1\n    y = 2\n"),
        ("    if a:\n        HERE\n    return x\n", "    if a:\n        pass\n    return x\n"),
        (
            "    if (a and\n            b):\n        HERE\n    return x\n",
            "    if (a and\n            b):\n        pass\n    return x\n",
        ),
        ("    if a: HERE\n", "    if a: pass\n"),
        ("    x = 1; HERE; y = 2\n", "    x = 1; pass; y = 2\n"),
        (
            "    x = 1\n    if a:\n        y = 2\n        HERE\n    return x\n",
            "    x = 1\n    if a:\n        y = 2\n    return x\n",
        ),
    ],
)
def test_removed_statements(run: Run, here: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str) -> None:
    rewriting(monkeypatch, lambda spot: (remove(next(p for p in spot.parents if isinstance(p, cst.Expr))),))
    head = "import torch\n\n\ndef f(a, b):\n"
    (here / "m.py").write_text(head + old.replace("HERE", 'torch.tensor(0.5, device="cuda")'))
    assert run("m.py", "--fix").code == 0
    assert (here / "m.py").read_text() == head + new


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    return HERE\n", "    a = 1\n    b = 2\n    return DONE\n"),
        (
            "    for i in a:\n        x = HERE  # one\n",
            "    for i in a:\n        a = 1\n        b = 2\n        x = DONE  # one\n",
        ),
        ("    if HERE:\n        pass\n", "    a = 1\n    b = 2\n    if DONE:\n        pass\n"),
        # there is no place in front of these
        ("    if a:\n        pass\n    elif HERE:\n        pass\n", None),
        ("    x = 1; return HERE\n", None),
        ("    if a: return HERE\n", None),
    ],
)
def test_lines_in_front(run: Run, here: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str | None) -> None:
    rewriting(monkeypatch, lambda spot: (before(spot.node, ["a = 1", "b = 2"]), replace(spot.node, "DONE")))
    head = "import torch\n\n\ndef f(a, b):\n"
    text = head + old.replace("HERE", 'torch.tensor(0.5, device="cuda")')
    (here / "m.py").write_text(text)
    run("m.py", "--fix", "--select", "SF301")
    assert (here / "m.py").read_text() == (text if new is None else head + new)


def test_no_comment_is_lost(run: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rewriting(monkeypatch, lambda spot: (replace(spot.node, "DONE"),))
    text = 'import torch\n\n\ndef f():\n    return torch.tensor(\n        0.5,  # half\n        device="cuda",\n    )\n'
    (here / "m.py").write_text(text)
    assert run("m.py", "--fix").code == 1
    assert (here / "m.py").read_text() == text


# What is shown.


def test_edits_in_json(run: Run, here: Path) -> None:
    (here / "m.py").write_text(SAFE)
    assert json.loads(run("m.py", "--output-format", "json").out)[0]["fix"] == {
        "applicability": "safe",
        "message": "`torch.full` passes the number to the kernel",
        "edits": [
            {
                "content": 'torch.full((), 0.5, device="cuda")',
                "location": {"row": 5, "column": 9},
                "end_location": {"row": 5, "column": 41},
            }
        ],
    }


def test_marks_and_changes(run: Run, here: Path) -> None:
    (here / "m.py").write_text(BOTH)
    lines = run("m.py", "--output-format", "concise").out.splitlines()
    assert lines[0].startswith('m.py:5:9: SF301 [*] `torch.tensor(0.5, device="cuda")` copies host data')
    assert lines[1].startswith("m.py:11:12: SF301 `torch.tensor(rows, device=device)` copies host data")
    shown = run("m.py").out
    assert shown.startswith('SF301 [*] `torch.tensor(0.5, device="cuda")` copies')
    assert (
        "help: `torch.full` passes the number to the kernel\n"
        "fix:\n"
        '5 -     n = torch.tensor(0.5, device="cuda")  # half\n'
        '5 +     n = torch.full((), 0.5, device="cuda")  # half\n'
    ) in shown
    assert (
        "unsafe fix:\n"
        "11 -     return torch.tensor(rows, device=device)\n"
        "11 +     return torch.tensor(rows, pin_memory=True).to(device, non_blocking=True)\n"
    ) in shown


def test_inserted_lines_are_shown_once(run: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rewriting(monkeypatch, lambda spot: (before(spot.node, ["a = 1"]), replace(spot.node, "a")))
    (here / "m.py").write_text(SAFE)
    assert (
        'fix:\n5 -     n = torch.tensor(0.5, device="cuda")  # half\n5 +     a = 1\n6 +     n = a  # half\n'
    ) in run("m.py").out
