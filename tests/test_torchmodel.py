"""The torch model: rows, effects, classes and names. Facts only, no torch needed."""

from __future__ import annotations

import subprocess
import sys
from importlib import resources

import pytest

from syncfinder.sites.site import KINDS
from syncfinder.torchmodel.merge import merge
from syncfinder.torchmodel.model import Effect, Model, Param, Row, Term, load, term, versions


@pytest.fixture(scope="module")
def model() -> Model:
    return load()


def row(model: Model, name: str) -> Row:
    found = model.row(name)
    assert found is not None, name
    return found


def kinds(model: Model, name: str) -> list[str]:
    return [e.kind for e in row(model, name).effects]


def test_loading_needs_no_torch() -> None:
    code = (
        "import sys; from syncfinder.torchmodel.model import load; load(); "
        "print('torch' in sys.modules, 'libcst' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split() == [
        "False",
        "False",
    ]


def test_load_is_cached_and_says_its_version(model: Model) -> None:
    assert load() is model
    assert model.torch_version == "2.11"


def test_unknown_version() -> None:
    with pytest.raises(FileNotFoundError):
        load("0.1")


def test_overloads_of_a_binary_function(model: Model) -> None:
    assert row(model, "torch.Tensor.add").overloads == (
        (Param("self", "T"), Param("other", "T"), Param("alpha", "n", True, 1, True)),
        (Param("self", "T"), Param("other", "n"), Param("alpha", "n", True, 1)),
    )


def test_a_function_calls_its_self_input(model: Model) -> None:
    assert row(model, "torch.topk").overloads[0][:2] == (Param("input", "T"), Param("k", "i"))
    assert row(model, "torch.Tensor.topk").overloads[0][0] == Param("self", "T")


def test_no_out_overloads(model: Model) -> None:
    for name in ("torch.add", "torch.nonzero", "torch.linalg.inv"):
        assert not any(p.name == "out" for overload in row(model, name).overloads for p in overload)


@pytest.mark.parametrize(
    ("name", "returns"),
    [
        ("torch.max", ("tensors:2", "tensor", "tensor")),
        ("torch.where", ("tensor", "tensor", "tensor", "tensor", "list")),
        ("torch.topk", ("tensors:2",)),
        ("torch.Tensor.add_", ("self", "self")),
        ("torch.Tensor.tolist", ("values",)),
        ("torch.Tensor.item", ("number",)),
        ("torch.Tensor.numpy", ("array",)),
        ("torch.Tensor.size", ("size", "int")),
        ("torch.Tensor.data_ptr", ("int",)),
        ("torch.unbind", ("list",)),
        ("torch.cuda.current_stream", ("stream",)),
        ("torch.is_tensor", ("bool",)),
    ],
)
def test_returns(model: Model, name: str, returns: tuple[str, ...]) -> None:
    assert row(model, name).returns == returns


@pytest.mark.parametrize(
    ("name", "device", "dtype", "ndim"),
    [
        ("torch.add", "like", "same", "same"),
        ("torch.eq", "like", "bool", "same"),
        ("torch.argmax", "like", "int", "reduce"),
        ("torch.any", "like", "bool", "reduce"),
        ("torch.sum", "like", "sum", "reduce"),
        ("torch.zeros", "device=", "dtype=/float", "size"),
        ("torch.randperm", "device=", "dtype=/int", "1"),
        ("torch.zeros_like", "like/device=", "dtype=/same", "like"),
        ("torch.Tensor.new_zeros", "like/device=", "dtype=/same", "size"),
        ("torch.stack", "like", "same", "+1"),
        ("torch.Tensor.unsqueeze", "like", "same", "+1"),
        ("torch.Tensor.view", "like", "same", "size"),
        ("torch.squeeze", "like", "same", "unknown"),
        ("torch.gather", "like", "like", "like"),
        ("torch.nonzero", "like", "int", "2"),
        ("torch.Tensor.cpu", "host", "like", "like"),
        ("torch.nn.functional.softmax", "like", "float", "like"),
        ("torch.Tensor.long", "like", "int", "same"),
    ],
)
def test_rules(model: Model, name: str, device: str, dtype: str, ndim: str) -> None:
    found = row(model, name)
    assert (found.device, found.dtype, found.ndim) == (device, dtype, ndim)


def test_rules_by_element_and_by_overload(model: Model) -> None:
    assert row(model, "torch.Tensor.sort").dtypes == ("same", "int")
    assert row(model, "torch.max").ndims == ("reduce", "reduce", "same")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("torch.nonzero", ["nonzero"]),
        ("torch.Tensor.masked_select", ["mask-read"]),
        ("torch.unique", ["unique"]),
        ("torch.bincount", ["size"]),
        ("torch.linalg.inv", ["check"]),
        ("torch.cuda.synchronize", ["device-wait"]),
        ("torch.cuda.Stream.synchronize", ["stream-wait"]),
        ("torch.cuda.Event.synchronize", ["event-wait"]),
        ("torch.cuda.empty_cache", ["cache-wait"]),
        ("torch.distributed.barrier", ["collective"]),
        ("torch.cond", ["truth"]),
    ],
)
def test_effects(model: Model, name: str, expected: list[str]) -> None:
    assert kinds(model, name) == expected


@pytest.mark.parametrize(
    "name",
    [
        "torch.multinomial", "torch.sort", "torch.randperm", "torch.linalg.inv_ex", "torch.linalg.det",
        "torch.linalg.qr", "torch.linalg.lu", "torch.nonzero_static", "torch.index_select", "torch.Tensor.scatter_",
        "torch.quantile", "torch.nn.functional.embedding", "torch.distributed.all_reduce", "torch.Tensor.any",
        "torch.isin", "torch.cuda.memory_allocated",
    ],
)  # fmt: skip
def test_quiet_ones_have_no_unconditional_effect(model: Model, name: str) -> None:
    assert all(e.when for e in row(model, name).effects)


def test_conditions(model: Model) -> None:
    assert row(model, "torch.repeat_interleave").effects == (
        Effect(
            "repeat",
            (Term("tensor", "repeats"), Term("missing", "output_size")),
            "output_size is not given, so the sum of the repeats is read",
            "repeats",
        ),
    )
    assert row(model, "torch.nn.functional.one_hot").effects[0].when == (Term("is", "num_classes", -1),)
    assert row(model, "torch.where").effects[0].when == (
        Term("missing", "other"),
        Term("missing", "input"),
    )
    assert row(model, "torch.Tensor.masked_fill").effects[0].when == (Term("cuda", "value"),)
    assert row(model, "torch.cuda.synchronize").effects[0].anywhere
    assert not row(model, "torch.nonzero").effects[0].anywhere


def test_what_was_seen(model: Model) -> None:
    waits, silent = row(model, "torch.linalg.inv").seen
    assert waits >= 2 and silent == 0
    waits, silent = row(model, "torch.linalg.inv_ex").seen
    assert waits >= 1 and silent >= 1
    waits, silent = row(model, "torch.matmul").seen
    assert waits == 0 and silent >= 2
    assert model.evidence["gpu"] == "NVIDIA H200" and model.evidence["torch"].startswith("2.11.")


def test_versions() -> None:
    assert versions() == ["2.6", "2.11", "2.15"]
    assert all(load(v).torch_version == v for v in versions())


@pytest.mark.parametrize("version", ["2.6", "2.15"])
def test_other_versions_have_the_waits_of_what_they_have(model: Model, version: str) -> None:
    other = load(version)
    gone = [n for n in model.effect_names() if other.row(n) is None]
    assert len(gone) < 5
    assert set(other.effect_names()) == set(model.effect_names()) - set(gone)


def test_the_tables_are_what_the_sources_give() -> None:
    tables, report = merge()
    data = resources.files("syncfinder.torchmodel")
    assert sorted(tables) == sorted(versions())
    for version, text in tables.items():
        assert (data / "data" / f"torch-{version}.json").read_text(encoding="utf-8") == text, "run the merge"
    assert (data / "sources" / "report.md").read_text(encoding="utf-8") == report


def test_every_wait_of_the_table_was_seen_and_its_condition_tells_the_calls_apart() -> None:
    """The report's two lists of faults are empty."""
    report = (resources.files("syncfinder.torchmodel") / "sources" / "report.md").read_text(encoding="utf-8")
    assert "## Waits that no measured call showed (0)" in report
    assert "## Measured calls that the stated condition does not explain (0)" in report


def test_every_effect_is_of_a_known_kind_and_every_term_names_a_parameter(model: Model) -> None:
    wrong = []
    for name in model.effect_names():
        found = row(model, name)
        known = {p.name for overload in found.overloads for p in overload}
        for effect in found.effects:
            named = [t.parameter for t in effect.when if t.parameter and not t.test.startswith(("init-", "mode"))] + [
                a for a in [effect.argument] if a
            ]
            if effect.kind not in KINDS or (known and not set(named) <= known):
                wrong.append((name, effect))
    assert wrong == []


def test_quiet_parameters(model: Model) -> None:
    assert row(model, "torch.nn.functional.gumbel_softmax").quiet == frozenset({"tau"})


def test_terms() -> None:
    assert term("is(reduction, 'mean')") == Term("is", "reduction", "mean")
    assert term("anywhere") == Term("anywhere")
    with pytest.raises(ValueError, match="not a term: 'sometimes'"):
        term("sometimes")


@pytest.mark.parametrize(
    ("name", "canonical"),
    [
        ("torch.functional.norm", "torch.norm"),
        ("torch.cuda.amp.GradScaler", "torch.amp.GradScaler"),
        ("torch.nn.modules.linear.Linear", "torch.nn.Linear"),
        ("torch.distributions.normal.Normal", "torch.distributions.Normal"),
        ("torch.optim.adam.Adam", "torch.optim.Adam"),
        ("torch.ops.aten.nonzero.default", "torch.nonzero"),
        ("torch.cuda.streams.Stream", "torch.cuda.Stream"),
        ("torch.npu.synchronize", "torch.cuda.synchronize"),
        ("torch.add", "torch.add"),
        ("numpy.add", "numpy.add"),
    ],
)
def test_canonical(model: Model, name: str, canonical: str) -> None:
    assert model.canonical(name) == canonical


def test_library_classes(model: Model) -> None:
    linear = model.library_class("torch.nn.Linear")
    assert linear is not None and linear.is_module and linear.forward is not None
    assert (linear.forward.returns, linear.forward.dtype, linear.forward.ndim) == (("tensor",), "float", "like")
    norm = model.library_class("torch.nn.BatchNorm2d")
    assert norm is not None and norm.forward is not None
    assert norm.forward.effects[0].when == (
        Term("init-is", "momentum", None),
        Term("init-not-is", "track_running_stats", False),
        Term("mode", "train"),
    )
    normal = model.library_class("torch.distributions.Normal")
    assert normal is not None and not normal.is_module
    assert normal.constructor.effects[0].when == (Term("not-is", "validate_args", False),)
    log_prob = normal.method("log_prob")
    assert log_prob is not None and log_prob.name == "torch.distributions.Distribution.log_prob"
    assert model.library_class("torch.nn.functional") is None


def test_methods_of_library_classes(model: Model) -> None:
    event = model.library_class("torch.Event")
    assert event is not None
    waits = event.method("synchronize")
    assert waits is not None and waits.effects[0].kind == "event-wait"
    query = event.method("query")
    assert query is not None and query.effects == ()
    assert event.method("nothing") is None


def test_attributes_and_dtypes(model: Model) -> None:
    assert [model.attribute(a) for a in ("shape", "device", "dtype", "is_cuda", "ndim", "mT", "nothing")] == [
        "size",
        "device",
        "dtype",
        "bool",
        "int",
        "tensor",
        None,
    ]
    assert [model.dtype_of(f"torch.{d}") for d in ("bool", "long", "bfloat16", "complex64", "add")] == [
        "bool",
        "int",
        "float",
        "complex",
        None,
    ]


def test_evidence_for_a_tensor(model: Model) -> None:
    assert [
        n
        for n in ("unsqueeze", "masked_fill", "is_contiguous", "record_stream", "new_zeros")
        if not model.tensor_only(n)
    ] == []
    assert [
        n
        for n in ("item", "tolist", "sum", "to", "cpu", "size", "eval", "values", "no_such_method", "split")
        if model.tensor_only(n)
    ] == []
    assert model.distinctive["record_event"] == "torch.cuda.Stream"
