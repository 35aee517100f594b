"""`syncfinder bench`: how methods are timed, and how a run is saved, shown and drawn. Measuring itself needs a GPU."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from syncfinder.cli import main
from syncfinder.report.bench import duration, spread, tables
from syncfinder.rules.catalogue import load as catalogue
from syncfinder.runtime.bench import EXPERIMENTS, chosen
from syncfinder.runtime.bench.reference import compare, load
from syncfinder.runtime.bench.result import DONE, RETURNED, Experiment, Run, Spread, Times, read, write
from syncfinder.runtime.bench.timing import WARMUP, Method, WrongData, measure, rotated
from syncfinder.runtime.bench.timing import spread as spread_of

RESULTS = Path(__file__).parents[1] / "bench" / "results"
PNG = b"\x89PNG\r\n\x1a\n"


def test_each_round_begins_with_another_method() -> None:
    assert [rotated(["a", "b", "c"], n) for n in range(4)] == [
        ["a", "b", "c"],
        ["b", "c", "a"],
        ["c", "a", "b"],
        ["a", "b", "c"],
    ]


def test_deciles_are_interpolated() -> None:
    assert spread_of([float(n) for n in range(11)]) == Spread(1.0, 5.0, 9.0)
    assert spread_of([10.0, 20.0]) == Spread(11.0, 15.0, 19.0)
    assert spread_of([3.0, 1.0, 2.0, 4.0, 5.0]) == Spread(1.4, 3.0, 4.6)


class Machine:
    """A host and a GPU with a clock in nanoseconds: work queued on the GPU is waited for by `synchronize`."""

    def __init__(self) -> None:
        self.now = 0
        self.busy_until = 0
        self.log: list[str] = []

    def clock(self) -> int:
        return self.now

    def synchronize(self) -> None:
        self.now = max(self.now, self.busy_until)

    def method(
        self, name: str, host: int, device: int, *, right: bool = True, queued: int = 0, work: int = 0
    ) -> Method:
        def before() -> None:
            self.busy_until = self.now + queued

        def call() -> str:
            self.log.append(name)
            self.now += host
            self.busy_until = max(self.busy_until, self.now) + device
            return name

        def meanwhile() -> None:
            self.now += work

        return Method(call, lambda result: right and result == name, before, meanwhile)


def test_both_clocks_and_the_order_of_the_runs() -> None:
    machine = Machine()
    methods = {"short": machine.method("short", 1000, 0), "long": machine.method("long", 2000, 5000)}
    assert measure(methods, 5, machine.synchronize, machine.clock) == {
        "short": Times(Spread(1.0, 1.0, 1.0), Spread(1.0, 1.0, 1.0)),
        "long": Times(Spread(2.0, 2.0, 2.0), Spread(7.0, 7.0, 7.0)),
    }
    assert machine.log == (["short", "long", "long", "short"] * (WARMUP + 5))[: 2 * (WARMUP + 5)]


def test_what_runs_before_and_meanwhile() -> None:
    machine = Machine()
    methods = {"upload": machine.method("upload", 1000, 500, queued=20_000, work=4000)}
    assert measure(methods, 5, machine.synchronize, machine.clock) == {
        "upload": Times(Spread(1.0, 1.0, 1.0), Spread(20.5, 20.5, 20.5)),
    }


def test_the_warm_up_does_not_count() -> None:
    machine = Machine()
    costs = iter([90_000] * WARMUP + [1000, 2000, 3000, 4000, 5000])

    def call() -> None:
        machine.now += next(costs)

    found = measure({"f": Method(call, lambda _: True)}, 5, machine.synchronize, machine.clock)
    assert found["f"].returned == Spread(1.4, 3.0, 4.6)


def test_wrong_data_end_the_run() -> None:
    machine = Machine()
    methods = {"a": machine.method("a", 1, 1), "b": machine.method("b", 1, 1, right=False)}
    with pytest.raises(WrongData, match="'b' gave wrong data"):
        measure(methods, 5, machine.synchronize, machine.clock)
    assert machine.log == ["a", "b"]


def times(returned: float, done: float) -> Times:
    return Times(Spread(returned - 1, returned, returned + 2), Spread(done - 1, done, done + 2))


def made() -> Run:
    """A run of two experiments, with figures made up."""
    busy, rules = chosen(["busy-stream"])[0], chosen(["rules"])[0]
    return Run(
        {"gpu": "NVIDIA Test", "torch": "2.11.0"},
        "2026-01-02",
        30,
        (
            replace(
                busy, cases={"256 tokens": dict(zip(busy.methods, [times(2000, 3000), times(10, 2000)], strict=True))}
            ),
            replace(
                rules,
                cases={
                    "SF101 f": dict(zip(rules.methods, [times(100 * n, 1) for n in range(1, 5)], strict=True)),
                    "SF102 g": dict(zip(rules.methods, [times(200 * n, 1) for n in range(1, 5)], strict=True)),
                },
            ),
        ),
    )


def test_a_run_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    write(made(), path)
    assert read(path) == made()
    data = json.loads(path.read_text(encoding="utf-8"))
    assert data["experiments"][0]["cases"]["256 tokens"]["direct"] == {
        "returned": {"p10": 1999, "median": 2000, "p90": 2002},
        "done": {"p10": 2999, "median": 3000, "p90": 3002},
    }


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"machine": {}, "experiments": [{}], "date": "", "repeats": 1}'])
def test_what_is_no_result_is_named(text: str, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"run\.json: not a result of `syncfinder bench`"):
        read(path)


def test_experiments_are_chosen_by_words() -> None:
    assert chosen([]) == EXPERIMENTS
    assert [e.key for e in chosen(["list", "cop"])] == ["list-upload", "large-copy", "small-copies"]
    with pytest.raises(ValueError, match="no experiment has 'lst' in its name; there are list-upload, large-copy, "):
        chosen(["list", "lst"])


def test_the_reference_is_of_these_experiments() -> None:
    by_key = {e.key: e for e in EXPERIMENTS}
    name, figures = load()
    assert name == "NVIDIA H20"
    for figure in figures:
        experiment = by_key[figure.experiment]
        assert figure.before in experiment.methods and figure.after in experiment.methods
        assert figure.clock in experiment.clocks
    assert [(f.experiment, round(f.gain, 2)) for f in figures] == [
        ("list-upload", 1.53),
        ("large-copy", 3.43),
        ("small-copies", 4.47),
        ("busy-stream", 183.65),
        ("busy-stream", 1.5),
        ("overlap", 1.83),
    ]


def test_only_what_was_measured_is_compared() -> None:
    found = [(c.there.clock, c.here.before_us, c.here.after_us, c.here.gain) for c in compare(made())]
    assert found == [(RETURNED, 2000, 10, 200.0), (DONE, 3000, 2000, 1.5)]


def test_times_are_shown_in_fitting_units() -> None:
    assert [duration(t) for t in (0.04, 19.25, 999.94, 999.96, 2001.8)] == [
        "0.0 µs",
        "19.2 µs",
        "999.9 µs",
        "1.000 ms",
        "2.002 ms",
    ]
    assert spread(Spread(900.0, 999.0, 1100.0)) == "999.0 µs (900.0–1100.0)"
    assert spread(Spread(900.0, 1000.0, 1100.0)) == "1.000 ms (0.900–1.100)"


def shown(run: Run) -> list[str | list[str]]:
    """The lines that are printed of a run; of a table's rows their cells, its rules left out."""
    out = io.StringIO()
    tables(run, out, color=False)
    lines = [line.rstrip() for line in out.getvalue().splitlines()]
    rows = [line for line in lines if line and line[0] not in "┏┡└"]
    return [re.split(" *[│┃] *", row)[1:-1] if row[0] in "│┃" else row for row in rows]


@pytest.mark.parametrize("path", sorted(RESULTS.glob("*.json")), ids=lambda path: path.stem)
def test_the_results_in_the_repository_are_whole(path: Path) -> None:
    found = read(path)
    assert [(e.key, e.methods) for e in found.experiments] == [(e.key, e.methods) for e in EXPERIMENTS]
    assert all(e.cases for e in found.experiments)
    patterns = {case.split()[0] for case in found.experiments[-1].cases}
    assert patterns == {r.code for r in catalogue().values() if r.kinds and r.family not in ("hazard", "measurement")}
    assert path.with_suffix(".png").read_bytes().startswith(PNG)


def test_the_tables() -> None:
    run = made()
    direct, pinned = run.experiments[0].methods

    def there(clock: str) -> list[str]:
        return ["busy-stream", clock, direct, pinned]

    assert shown(replace(run, experiments=run.experiments[:1])) == [
        "gpu NVIDIA Test, torch 2.11.0, 2026-01-02",
        "Medians of 30 runs, in brackets the 10th and the 90th percentile.",
        "A small upload behind 2 ms of GPU work",
        "2 ms of work are queued; then a list of 256 token ids goes to the GPU, the CPU computes for 1 ms, and waits"
        " until all is done. Pinned: a reused buffer, filled",
        "through its NumPy view, non_blocking.",
        ["the upload holds the CPU", direct, pinned],
        ["256 tokens", "2.000 ms (1.999–2.002)", "10.0 µs (9.0–12.0)"],
        ["all, with 1 ms of CPU work", direct, pinned],
        ["256 tokens", "3.000 ms (2.999–3.002)", "2.000 ms (1.999–2.002)"],
        ["medians beside a reference", "", "from", "to", "NVIDIA Test", "NVIDIA H20"],
        [*there("the upload holds the CPU"), "2.000 ms -> 10.0 µs (200.00 ×)", "2.002 ms -> 10.9 µs (183.65 ×)"],
        [*there("all, with 1 ms of CPU work"), "3.000 ms -> 2.000 ms (1.50 ×)", "3.017 ms -> 2.006 ms (1.50 ×)"],
    ]


def test_a_table_of_many_cases() -> None:
    run = made()
    assert shown(replace(run, experiments=run.experiments[1:]))[-3:] == [
        ["until the function returned", *run.experiments[1].methods],
        [
            "SF101 f",
            "100.0 µs (99.0–102.0)",
            "200.0 µs (199.0–202.0)",
            "300.0 µs (299.0–302.0)",
            "400.0 µs (399.0–402.0)",
        ],
        [
            "SF102 g",
            "200.0 µs (199.0–202.0)",
            "400.0 µs (399.0–402.0)",
            "600.0 µs (599.0–602.0)",
            "800.0 µs (799.0–802.0)",
        ],
    ]


def test_the_plot_shows_the_figures() -> None:
    from syncfinder.runtime.bench.plot import figure

    lines = Experiment(
        "list",
        "Lists",
        "",
        ("a", "b"),
        {DONE: "until done"},
        "lines",
        {"1 token": {"a": times(0, 5), "b": times(0, 6)}, "4 tokens": {"a": times(0, 7), "b": times(0, 8)}},
    )
    run = made()
    drawn = figure(replace(run, experiments=(lines, *run.experiments)))
    curves, held, whole, rows = drawn.axes
    assert [axes.get_title() for axes in drawn.axes] == [
        "Lists\nuntil done",
        "A small upload behind 2 ms of GPU work\nthe upload holds the CPU",
        "A small upload behind 2 ms of GPU work\nall, with 1 ms of CPU work",
        "Each rule's pattern before and after its fix\nuntil the function returned",
    ]
    assert [list(c[0].get_ydata()) for c in curves.containers] == [[5, 7], [6, 8]]
    assert [label.get_text() for label in curves.get_xticklabels()] == ["1", "4"]
    assert [bar.get_height() for bar in held.patches] == [2000, 10]
    assert [bar.get_height() for bar in whole.patches] == [3000, 2000]
    assert [bar.get_width() for bar in rows.patches] == [100, 200, 200, 400, 300, 600, 400, 800]
    assert [text.get_text() for text in rows.get_legend().get_texts()] == list(chosen(["rules"])[0].methods)


@pytest.fixture
def saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write(made(), tmp_path / "run.json")
    return tmp_path


def test_a_saved_run_is_shown_and_drawn(saved: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--from", "run.json", "--only", "rules", "--plot", "run.png"]) == 0
    said = capfd.readouterr()
    assert "SF102 g" in said.out and "256 tokens" not in said.out
    assert said.err == ""
    assert (saved / "run.png").read_bytes().startswith(PNG)
    assert sorted(p.name for p in saved.iterdir()) == ["run.json", "run.png"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--from", "none.json"], "error: none.json: cannot be read: No such file or directory"),
        (["--from", "bad.json"], "error: bad.json: not a result of `syncfinder bench`"),
        (
            ["--from", "run.json", "--only", "list"],
            "error: no experiment has 'list' in its name; there are busy",
        ),
        (["--only", "list,lst"], "error: no experiment has 'lst' in its name; there are list-upload, large-copy"),
        (["--from", "run.json", "-o", "new.json"], "--from measures nothing: it goes with neither --output-file nor"),
        (["--from", "run.json", "--repeats", "9"], "--from measures nothing: it goes with neither --output-file nor"),
        (["--from", "run.json", "--plot", "no/run.png"], "error: no/run.png: there is no such folder: make it first"),
        (["-o", "no/run.json"], "error: no/run.json: there is no such folder: make it first"),
        (["--repeats", "1"], "Invalid value for '--repeats'"),
    ],
)
def test_what_cannot_be_done_is_said(
    arguments: list[str], message: str, saved: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (saved / "bad.json").write_text('{"results": []}')
    assert main(["bench", *arguments]) == 2
    said = capfd.readouterr()
    assert message in said.err
    assert said.out == ""
    assert sorted(p.name for p in saved.iterdir()) == ["bad.json", "run.json"]
