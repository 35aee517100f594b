"""The generator of the torch tables, and what it generated. Only the last test needs torch."""

from __future__ import annotations

import importlib.util
import json
from typing import Any

import pytest

from syncfinder.torchmodel.generate import api as generator
from syncfinder.torchmodel.generate import coverage, docstrings, returns
from syncfinder.torchmodel.generate.signatures import (
    by_hand_rule,
    device_rule,
    from_callable,
    from_schema,
    letter,
    python_letter,
)

VERSIONS = ["2.6", "2.11", "2.15"]


def api(version: str) -> dict[str, Any]:
    table: dict[str, Any] = json.loads((generator.SOURCES / f"api-{version}.json").read_text(encoding="utf-8"))
    return table


def test_tabled_versions() -> None:
    found = sorted(p.stem.partition("-")[2] for p in generator.SOURCES.glob("api-*.json"))
    assert found == sorted(VERSIONS)


@pytest.mark.parametrize("version", VERSIONS)
def test_tables_are_those_of_this_generator(version: str) -> None:
    """A change of the generator or of its rules is committed with the tables that it makes."""
    table = api(version)
    assert table["generator"] == generator.digest()
    assert table["torch"] == version and table["torch_full"].startswith(version + ".")


def test_tables_are_small() -> None:
    assert max((generator.SOURCES / f"api-{v}.json").stat().st_size for v in VERSIONS) < 340_000


# ---------------------------------------------------------------- coverage


@pytest.mark.parametrize("version", VERSIONS)
def test_coverage_is_that_of_the_tables(version: str) -> None:
    written = json.loads((generator.SOURCES / "coverage.json").read_text(encoding="utf-8"))
    assert list(written) == VERSIONS
    assert written[version] == coverage.report(api(version), generator.read("overlay"))


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    "namespace",
    ["torch", "torch.Tensor", "torch.nn", "torch.nn.functional", "torch.linalg", "torch.fft", "torch.special"],
)
def test_covered(version: str, namespace: str) -> None:
    entry = coverage.report(api(version), generator.read("overlay"))[namespace]
    assert entry["covered"] >= 0.95 * entry["public"]
    assert entry["covered"] + len(entry["unknown"]) + len(entry["no_signature"]) == entry["public"]


def test_coverage_counts_methods_apart_and_lists_what_is_missing() -> None:
    table = {
        "rows": {
            "torch.one": {"o": [["input:T"]]},
            "torch.two": {"r": "unknown"},
            "torch.three": {"r": "none"},
            "torch.Box.open": {"o": [[]], "r": "unknown"},
        },
        "classes": {"torch.Box": {"o": [[]]}},
    }
    assert coverage.report(table, {"rows": {"torch.two": {"o": [[]], "r": "int"}}}) == {
        "torch": {"public": 4, "covered": 3, "result_unknown": 0, "no_signature": ["three"], "unknown": []},
        "torch (methods of its classes)": {
            "public": 1,
            "covered": 0,
            "result_unknown": 1,
            "no_signature": [],
            "unknown": ["Box.open"],
        },
    }


# ---------------------------------------------------------------- rows

FACTORY = ["size:i*", "*", "dtype:y=None", "layout:l=", "device:d=None", "pin_memory:b=False", "requires_grad:b=False"]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("torch.zeros", {"o": [FACTORY], "dev": "device=", "dt": "dtype=/float", "nd": "size"}),
        ("torch.sum", {"dt": "sum", "nd": "reduce"}),
        (
            "torch.masked_select",
            {"o": [["input:T", "mask:T"]], "nd": "1", "tags": ["dynamic_output_shape"]},
        ),
        ("torch.Tensor.add_", {"r": "self", "dt": "like", "nd": "like"}),
        ("torch.Tensor.item", {"o": [["self:T"]], "r": "number", "tags": ["data_dependent_output"]}),
        ("torch.Tensor.cpu", {"o": [["self:T", "memory_format:o="]], "dev": "host", "dt": "like", "nd": "like"}),
        ("torch.linalg.slogdet", {"o": [["A:T"]], "r": "tensors:2", "nd": "unknown", "dts": ["same", "float"]}),
        ("torch.cuda.LongTensor", {"o": [["data:o="]], "dev": "cuda", "dt": "int", "nd": "unknown"}),
        ("torch.cuda.current_stream", {"o": [["device:d?=None"]], "r": "stream"}),
        ("torch.cuda.Stream.synchronize", {"o": [[]], "r": "none"}),
        ("torch.cuda.Event.query", {"o": [[]], "r": "bool"}),
        ("torch.amp.GradScaler.get_scale", {"o": [[]], "r": "float"}),
        ("torch.distributed.get_rank", {"o": [["group:o=None"]], "r": "int"}),
        ("torch.distributions.Distribution.log_prob", {"o": [["value:T"]], "dt": "float", "nd": "unknown"}),
        ("torch.distributions.Categorical.sample", {"dt": "int", "nd": "unknown"}),
        ("torch.distributions.Normal.sample", {"dt": "float", "nd": "unknown"}),
        ("torch.nn.init.zeros_", {"o": [["tensor:T"]], "r": "self", "dt": "like", "nd": "like"}),
        ("torch.nn.Module.to", {"r": "self"}),
        ("torch.optim.Optimizer.zero_grad", {"o": [["set_to_none:b=True"]], "r": "none"}),
    ],
)
def test_rows(version: str, name: str, row: dict[str, Any]) -> None:
    found = api(version)["rows"][name]
    assert {k: v for k, v in found.items() if k != "o" or "o" in row} == row


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_inherited_is_not_repeated(version: str) -> None:
    rows = api(version)["rows"]
    assert "torch.distributions.Normal.log_prob" not in rows
    assert "torch.nn.Linear.to" not in rows
    assert "torch.Event.synchronize" not in rows


@pytest.mark.parametrize("version", VERSIONS)
def test_types_of_parameters_and_kinds_of_results_are_known_ones(version: str) -> None:
    table = api(version)
    types, kinds = set(), set()
    for row in (*table["rows"].values(), *table["classes"].values()):
        types |= {p.partition(":")[2].partition("=")[0].rstrip("?") for o in row.get("o", ()) for p in o if p != "*"}
        kinds |= {k.partition(":")[0] for k in row.get("ro", [row.get("r", "tensor")])}
    assert {t.rstrip("*").rstrip("?") for t in types} <= set("Tinfbsydlo")
    assert kinds <= {
        "tensor", "tensors", "list", "none", "bool", "int", "float", "number", "size", "str", "device", "dtype", "self",
        "values", "array", "stream", "event", "unknown",
    }  # fmt: skip


# ---------------------------------------------------------------- signatures


@pytest.mark.parametrize(
    ("schema", "name", "params", "result"),
    [
        (
            "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
            "add", ["self:T", "other:T", "*", "alpha:n=1"], "tensor",
        ),
        ("add_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)", "add_", ["self:T", "other:n"], "self"),
        (
            "max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
            "max", ["self:T", "dim:i", "keepdim:b=False"], "tensors:2",
        ),
        (
            "split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]",
            "split", ["self:T", "split_size:i", "dim:i=0"], "list",
        ),
        (
            "flip_all(Tensor self, int[2] dims=[0,1], *, MemoryFormat? memory_format=None) -> Tensor",
            "flip_all", ["self:T", "dims:i*=[0,1]"], "tensor",
        ),
        (
            "ones(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
            "bool? pin_memory=None) -> Tensor",
            "ones", FACTORY, "tensor",
        ),
        ("scale_of(Tensor self, bool exact=False) -> (float, int)", "scale_of", ["self:T", "exact:b=False"], "unknown"),
        ("record(Tensor(a!) self, Stream s) -> ()", "record", ["self:T", "s:o"], "none"),
    ],
)  # fmt: skip
def test_from_schema(schema: str, name: str, params: list[str], result: str) -> None:
    found = from_schema(schema)
    assert found is not None
    assert (found.name, found.params, found.returns) == (name, params, result)


@pytest.mark.parametrize(
    "schema",
    [
        "add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)",
        "sum.dim_DimnameList(Tensor self, Dimname[1] dim) -> Tensor",
        "tanh_backward(Tensor grad_output, Tensor output) -> Tensor",
        "update_stats(Tensor input, Tensor(a!) mean) -> Tensor",
    ],
)
def test_what_python_cannot_call_so(schema: str) -> None:
    assert from_schema(schema) is None


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("Tensor", "T"),
        ("Tensor?", "T?"),
        ("Tensor?[]", "T?*"),
        ("SymInt[2]?", "i*?"),
        ("Generator?", "o?"),
        ("Scalar", "n"),
    ],
)
def test_letters_of_schemas(kind: str, expected: str) -> None:
    assert letter(kind) == expected


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        ("torch.Tensor", "T"),
        ("Optional[torch.Tensor]", "T?"),
        ("'Tensor | None'", "T?"),
        ("list[Tensor] | None", "T*?"),
        ("typing.Union[torch.Tensor, float]", "T"),
        ("Union[Tensor, Iterable[Tensor]]", "T*"),  # may be a list: no evidence for a tensor
        ("Sequence[_int | SymInt]", "i*"),
        ("Union[int, tuple[int, int]]", "i*"),
        ("Union[torch.device, str, int, None]", "d?"),
        ("Callable[[Tensor], Tensor]", "o"),
        ("dict[str, Tensor]", "o"),
        ("None", "none"),
    ],
)
def test_letters_of_annotations(annotation: str, expected: str) -> None:
    assert python_letter(annotation) == expected


def test_from_callable_reads_annotations_docstrings_and_names() -> None:
    def scaled(
        values,
        factor: float = 1.0,
        *weights: Tensor,  # noqa: F821
        out=None,
        dtype=None,
        **rest,
    ) -> tuple[Tensor, Tensor]:  # noqa: F821
        """Scale.

        Args:
            values (Tensor): what is scaled.
            factor (Tensor): not believed, it is annotated.
        """

    found = from_callable("scaled", scaled)
    assert found is not None
    assert found.params == ["values:T", "factor:f=1.0", "weights:T*=", "*", "dtype:y?=None"]
    assert found.returns == "tensors:2"


def test_docstrings() -> None:
    text = "allocate(self: pkg.Pool, size: int, like: torch.Tensor) -> torch.Tensor\n\nMore."
    node = docstrings.definition(text, "allocate")
    assert node is not None and [a.arg for a in node.args.args] == ["self", "size", "like"]
    assert docstrings.definition("Says nothing.", "allocate") is None
    assert docstrings.letters("Args:\n    a (Tensor, optional): x\n    b (int): y\n    c (list[Tensor]): z\n") == {
        "a": "T?",
        "c": "T*",
    }


def test_rules_by_name() -> None:
    assert by_hand_rule({"like": ["a"], "same": ["b", "c"]}, "torch.c", "c") == "same"
    assert by_hand_rule({"like": ["a"]}, "b") is None
    overload = from_schema("like(Tensor self, *, Device? device=None) -> Tensor")
    assert overload is not None and device_rule([overload]) == "like/device="


# ---------------------------------------------------------------- results read off the source


def nothing(x: int) -> None:
    if x:
        return
    print(x)


def flag(x):
    if x is None:
        return False
    return isinstance(x, int) or x in (1, 2)


def compared(x):
    return x == 1  # a tensor's comparison is no bool


def falls_off(x):
    if x:
        return "word"


def dispatched(x):
    if x:
        return handle_torch_function(x)  # noqa: F821
    return torch.relu(x)  # noqa: F821


def generates(x):
    yield x


def abstract(x):
    """Say nothing."""
    raise NotImplementedError


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        (nothing, "none"),
        (flag, "bool"),
        (compared, None),
        (falls_off, None),
        (dispatched, "tensor"),
        (generates, None),
        (abstract, None),
    ],
)
def test_results_from_the_source(function: Any, kind: str | None) -> None:
    assert returns.returned(function, {"torch.relu": "tensor"}.get) == kind


def test_a_method_takes_its_receiver_first() -> None:
    where = from_schema("where.self(Tensor condition, Tensor self, Tensor other) -> Tensor")
    assert where is not None
    assert generator.receiver_first(where).params == ["self:T", "condition:T", "other:T"]
    assert api("2.11")["rows"]["torch.Tensor.where"]["o"][0] == ["self:T", "condition:T", "other:T"]


# ---------------------------------------------------------------- with torch


def test_generating_again_gives_the_committed_table() -> None:
    missing = [
        m for m in ("torch", "numpy", "scipy", "yaml", "expecttest", "packaging") if not importlib.util.find_spec(m)
    ]
    if missing:
        pytest.skip(f"the generator needs {', '.join(missing)}")
    import torch

    tables = {api(v)["torch_full"]: api(v) for v in VERSIONS}
    installed = str(torch.__version__)
    if installed not in tables:
        pytest.skip(f"torch {installed} has no table; these have: {', '.join(tables)}")
    assert generator.serialised(generator.generate()) == generator.serialised(tables[installed])
