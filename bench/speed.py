"""How fast `syncfinder check` is, against `ast.parse` of the same files measured in the same run.

    python bench/speed.py [FOLDER] [--repeats N] [--jobs N] [--json]

Without a folder, SGLang's wheel is downloaded and unpacked. Exits with 1 when a bar is missed.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import click

CORPUS = "sglang==0.5.23"
# The wheel's own tags, so that every Python and platform measures the same text.
CORPUS_TAGS = ["--python-version=3.11", "--implementation=cp", "--abi=cp311", "--platform=manylinux_2_34_x86_64"]
SAMPLE_SECONDS = 0.25
VERSION_REPEATS = 5

# Bars: the most that is allowed.
RATIO_BAR = 4.0
LARGEST_BAR = 3.0
VERSION_BAR = 0.15

# Runs in a process of its own: paths on stdin, the seconds within ast.parse on stdout.
PARSE = """
import ast, sys, time, warnings
warnings.simplefilter("ignore")
total = 0.0
for path in sys.stdin.read().split("\\0"):
    try:
        with open(path, encoding="utf-8") as stream:
            text = stream.read()
    except UnicodeDecodeError:
        continue
    start = time.perf_counter()
    try:
        ast.parse(text)
    except (SyntaxError, RecursionError):
        pass
    total += time.perf_counter() - start
print(total)
"""


@dataclass(frozen=True, slots=True)
class Run:
    """One finished command. Memory in MiB: of its largest process, and of all together (Linux; sampled)."""

    seconds: float
    cpu: float
    code: int
    largest: float
    together: float | None


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table; `bar` is the most that is allowed, None without one."""

    what: str
    value: float
    unit: str
    bar: float | None = None

    @property
    def passed(self) -> bool:
        return self.bar is None or self.value < self.bar


def measure(command: list[str], output: Path) -> Run:
    """Run a command with its stdout in a file. Raises ClickException when it fails, exit code 2 aside."""
    with output.open("wb") as stdout, (output.parent / "stderr").open("wb") as stderr:
        start = time.perf_counter()
        child = subprocess.Popen(command, stdout=stdout, stderr=stderr)
        peak: list[float] = []
        done = threading.Event()
        watcher = threading.Thread(target=_watch, args=(child.pid, done, peak))
        watcher.start()
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        done.set()
        watcher.join()
    if child.returncode not in (0, 2):
        message = (output.parent / "stderr").read_text(errors="replace")
        raise click.ClickException(f"{' '.join(command)} exited with {child.returncode}:\n{message}")
    unit = 1024 if sys.platform != "darwin" else 1024 * 1024
    return Run(
        seconds, usage.ru_utime + usage.ru_stime, child.returncode, usage.ru_maxrss / unit, max(peak, default=None)
    )


def _watch(pid: int, done: threading.Event, peak: list[float]) -> None:
    """Add up, time and again, the resident memory of a process and those below it (shared pages count for each)."""
    page = os.sysconf("SC_PAGE_SIZE")
    while not done.wait(SAMPLE_SECONDS):
        try:
            pages = sum(int(Path(f"/proc/{each}/statm").read_text().split()[1]) for each in _tree(pid))
        except (OSError, IndexError):
            continue
        peak.append(pages * page / 2**20)


def _tree(pid: int) -> Iterator[int]:
    yield pid
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            yield from _tree(int(child))


def check_command(path: Path, jobs: int) -> list[str]:
    """A cold check that reads no settings and writes no cache."""
    options = ["--isolated", "--no-cache", "--exit-zero", "--output-format", "json", "--jobs", str(jobs)]
    return [sys.executable, "-m", "syncfinder", "check", *options, str(path)]


def parse_seconds(files: list[Path]) -> float:
    """Seconds within `ast.parse` of all files, one after the other, each tree dropped, garbage collection as it is."""
    names = "\0".join(map(str, files))
    done = subprocess.run([sys.executable, "-c", PARSE], input=names, capture_output=True, text=True, check=True)
    return float(done.stdout)


def benchmark(folder: Path, repeats: int, jobs: int, say: Callable[[str], None]) -> list[Row]:
    """Measure everything; `say` is told what is going on."""
    from syncfinder.config import Settings
    from syncfinder.source.discover import discover

    files = discover([folder], Settings()).files
    if not files:
        raise click.ClickException(f"{folder}: no Python files")
    largest = max(files, key=lambda file: file.stat().st_size)
    lines = sum(file.read_bytes().count(b"\n") for file in files)
    rows = [Row("files", len(files), ""), Row("lines", lines, "")]
    with tempfile.TemporaryDirectory() as place:
        output = Path(place, "stdout")
        version = [measure([*_script(), "--version"], output).seconds for _ in range(VERSION_REPEATS)]
        parses, checks = [], []
        for number in range(1, repeats + 1):
            say(f"ast.parse, {number} of {repeats}")
            parses.append(parse_seconds(files))
            say(f"check, {number} of {repeats}")
            checks.append(measure(check_command(folder, jobs), output))
        findings = len(json.loads(output.read_text()))
        say(f"check of {largest.name}")
        alone = [measure(check_command(largest, jobs), output).seconds for _ in range(repeats)]
    parse, whole = statistics.median(parses), statistics.median(run.seconds for run in checks)
    rows += [
        Row("ast.parse, one process", parse, "s"),
        Row(f"check, {jobs} jobs", whole, "s"),
        Row("check / ast.parse", whole / parse, "x", RATIO_BAR),
        # far below wall time times jobs: the machine was busy with other work, or one process waited for another
        Row("check, CPU time of all processes", statistics.median(run.cpu for run in checks), "s"),
        Row(f"check of the largest file ({largest.name})", statistics.median(alone), "s", LARGEST_BAR),
        Row("--version", statistics.median(version), "s", VERSION_BAR),
        Row("findings, info too", findings, ""),
        Row("peak memory of the largest process", max(run.largest for run in checks), "MiB"),
    ]
    together = [run.together for run in checks if run.together is not None]
    if together:
        rows.append(Row("peak memory of all processes, sampled", max(together), "MiB"))
    if any(run.code == 2 for run in checks):
        say("note: some files could not be checked (exit code 2)")
    return rows


def _script() -> list[str]:
    """The installed command, or the module where it is not installed beside this Python."""
    script = Path(sys.executable).with_name("syncfinder")
    return [str(script)] if script.exists() else [sys.executable, "-m", "syncfinder"]


@contextmanager
def corpus() -> Iterator[Path]:
    """SGLang's sources in a temporary folder."""
    with tempfile.TemporaryDirectory() as place:
        download = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
        subprocess.run([*download, *CORPUS_TAGS, "--dest", place, CORPUS], check=True, stdout=sys.stderr)
        folder = Path(place, "unpacked")
        for wheel in Path(place).glob("*.whl"):
            zipfile.ZipFile(wheel).extractall(folder)
        yield folder


def show(rows: list[Row]) -> None:
    """Print the table."""
    from rich.console import Console
    from rich.table import Table

    table = Table("what")
    table.add_column("measured", justify="right")
    table.add_column("bar", justify="right")
    table.add_column("")
    for row in rows:
        value = f"{row.value:,.0f}" if row.unit in ("", "MiB") else f"{row.value:.2f}"
        bar = "" if row.bar is None else f"< {row.bar:g} {row.unit}"
        verdict = "" if row.bar is None else "ok" if row.passed else "MISSED"
        table.add_row(row.what, f"{value} {row.unit}".rstrip(), bar, verdict)
    Console().print(table)


@click.command(help=__doc__.split("\n", 1)[0])
@click.argument("folder", required=False, type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--repeats", default=1, show_default=True, help="Medians of this many runs.")
@click.option("--jobs", default=2, show_default=True, help="Processes that check may use.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, not a table.")
def main(folder: Path | None, repeats: int, jobs: int, as_json: bool) -> None:
    def say(text: str) -> None:
        click.echo(text, err=True)

    if folder is not None:
        rows = benchmark(folder.absolute(), repeats, jobs, say)
    else:
        with corpus() as unpacked:
            rows = benchmark(unpacked, repeats, jobs, say)
    if as_json:
        click.echo(json.dumps([asdict(row) | {"passed": row.passed} for row in rows], indent=2))
    else:
        show(rows)
    sys.exit(0 if all(row.passed for row in rows) else 1)


if __name__ == "__main__":
    main()
