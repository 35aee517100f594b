"""Wording: a site and its source in, the exact message and help out; and the catalogue behind it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from syncfinder.finding import Finding
from syncfinder.rules import word
from syncfinder.rules.catalogue import CatalogueError, _rule, by_kind, folder, load
from syncfinder.rules.slices import compose, cut
from syncfinder.rules.wording import shorten
from syncfinder.sites.site import KINDS, Hop, Reason, Site, Span
from syncfinder.source.file import SourceFile


def source(text: str) -> SourceFile:
    return SourceFile(Path("/project/model.py"), text)


def site(file: SourceFile, kind: str, text: str, *, line: int = 1, at: int = 1, **given: Any) -> Site:
    """Return a site on the `at`-th occurrence of `text` in a line."""
    column = -1
    for _ in range(at):
        column = file.lines[line - 1].index(text, column + 1)
    values: dict[str, Any] = {
        "operation": "operation",
        "statement": (line, line),
        "device": "cuda",
        "dtype": None,
        "ndim": None,
        "confidence": "likely",
        "level": "warning",
        "context": None,
        "function": "f",
    }
    span = given.pop("span", Span(line, column + 1, line, column + 1 + len(text)))
    return Site(kind=kind, span=span, **(values | given))


def worded(text: str, kind: str, part: str, **given: Any) -> tuple[str, str]:
    """Return (message, help) for one site in a one-line file."""
    file = source(text + "\n")
    given.setdefault("confidence", "possible")  # a guess is never rewritten: the help is the wording's own
    finding = word(file, [site(file, kind, part, **given)])[0]
    assert finding.fix is not None
    assert (finding.fix.applicability, finding.fix.edits) == ("display-only", ())
    return finding.message, finding.fix.message


# The catalogue.


def test_every_kind_has_exactly_one_rule() -> None:
    covered = [kind for rule in load().values() for kind in rule.kinds]
    assert sorted(covered) == sorted(KINDS)
    assert {kind: rule.family for kind, rule in by_kind().items()} == KINDS


def test_rules_say_everything() -> None:
    rules = load()
    assert len(rules) == 42
    for code, rule in rules.items():
        assert rule.code == code
        assert (folder() / f"{code}-{rule.name}.toml").is_file()
        for name in ("summary", "message", "help", "what", "why", "use_instead", "example_bad", "example_good"):
            assert getattr(rule, name), (code, name)
        if rule.kinds:
            assert rule.confirmed.startswith("Measured on an H200 with torch 2.11: "), code
        assert rule.fix_safety.startswith(("Safe", "Unsafe", "Display-only")), code
        assert all(ref.startswith(("torch.", "https://github.com/pytorch/pytorch/issues/")) for ref in rule.references)


def test_examples_parse() -> None:
    for rule in load().values():
        compile(rule.example_bad, rule.code, "exec")
        compile(rule.example_good, rule.code, "exec")


def test_a_broken_rule_names_its_file(tmp_path: Path) -> None:
    path = tmp_path / "SF999-x.toml"
    path.write_text('code = "SF999"\nnonsense = 1\n')
    with pytest.raises(CatalogueError, match=r"SF999-x\.toml: missing \['confirmed', .*unknown \['nonsense'\]"):
        _rule(path)
    path.write_text("code = ")
    with pytest.raises(CatalogueError, match=r"SF999-x\.toml: "):
        _rule(path)


# Messages and help, family by family.


LATE = """keep `lens.max()` on the device where a tensor will do, or queue the copy early, and wait for its event \
where the value is used:
lens_device = lens.max()
lens_host = torch.empty_like(lens_device, device="cpu", pin_memory=True)
lens_host.copy_(lens_device, non_blocking=True)
lens_copied = torch.cuda.Event()
lens_copied.record()
...  # queue other work here
lens_copied.synchronize()
{}"""


def test_item() -> None:
    assert worded("n = lens.max().item()", "item", "lens.max().item()") == (
        "`lens.max()` is on the GPU: `.item()` makes the host wait for its value",
        LATE.format("n = lens_host.item()"),
    )


def test_item_in_a_loop() -> None:
    assert worded("total += loss.item()", "item", "loss.item()", facts={"loop": True}) == (
        "`loss` is on the GPU: `.item()` makes the host wait for its value, once per iteration",
        "collect on the device, `total += loss.detach()` in the loop, and read once behind it, `total = total.item()`",
    )


@pytest.mark.parametrize(
    ("device", "words"),
    [("cuda", "is on the GPU"), ("assumed", "is taken to be on the GPU"), ("mixed", "may be on the GPU")],
)
def test_the_device_in_words(device: str, words: str) -> None:
    message, _ = worded("y = x.tolist()", "tolist", "x.tolist()", device=device)
    assert message == f"`x` {words}: `.tolist()` makes the host wait for all of its values"


def test_copy() -> None:
    assert (
        worded("y = x.cpu()", "copy", "x.cpu()")[0] == "`x` is on the GPU: the host waits until `.cpu()` has copied it"
    )
    assert worded("host.copy_(x)", "copy", "host.copy_(x)", facts={"pinned": True}) == (
        "`x` is on the GPU: the host waits until it has been copied into `host`",
        "`host.copy_(x, non_blocking=True)`; record an event after it, and read after the event",
    )
    assert worded("out[0] = x", "copy", "out[0]")[0] == (
        "`x` is on the GPU: the host waits until it has been copied into `out[0]`"
    )


def test_a_read_never_gets_an_unfinished_copy() -> None:
    for kind in KINDS:
        for text in (worded("y = x.cpu()", kind, "x.cpu()")[1], by_kind()[kind].help):
            assert 'to("cpu", non_blocking=True)' not in text


def test_numbers() -> None:
    assert worded("n = int(lens.max())", "number", "int(lens.max())") == (
        "`lens.max()` is on the GPU: `int()` makes the host wait for its value",
        LATE.format("n = int(lens_host)"),
    )
    for part, at in (("math.sqrt(v)", 1), ("v", 1)):
        message, help_text = worded("s = math.sqrt(v)", "number", part, at=at)
        assert message == "`v` is on the GPU: `math.sqrt()` makes the host wait for its value"
        assert help_text.startswith("`torch.sqrt(v)` stays on the device, or ")


def test_indices() -> None:
    assert worded("y = x[:n]", "index", "n") == (
        "`n` is on the GPU, and a slice of `x` needs a number: the host waits for it",
        "keep `n` on the host from the start, or mask instead of cutting: "
        "`torch.arange(x.shape[0], device=n.device) < n`",
    )
    assert worded("y = x[:, n:]", "index", "n")[1].endswith("`torch.arange(x.shape[1], device=n.device) >= n`")
    assert worded("y = x[i]", "index", "i")[1].startswith(
        "if `x` is a tensor on the GPU, `x.index_select(0, i.view(1))`"
    )
    assert worded("y = torch.zeros(n)", "index", "n", operation="torch.zeros", facts={"argument": "size"})[0] == (
        "`n` is on the GPU, and `size` of `torch.zeros` needs a number: the host waits for it"
    )
    assert worded("x.masked_fill_(m, c)", "index", "c", facts={"argument": "value"})[1] == (
        "`x.copy_(torch.where(m, c, x))` takes a tensor"
    )
    assert worded("y = [0] * x.max()", "index", "x.max()", operation="repetition")[0] == (
        "`x.max()` is on the GPU, and repetition needs a number: the host waits for it"
    )


def test_formats() -> None:
    assert worded('s = f"{loss}"', "format", "loss", operation="f-string")[0] == (
        "`loss` is on the GPU: an f-string makes the host wait for its value to format it"
    )
    assert worded('log.info(f"{loss}")', "format", "loss", operation="f-string")[1] == (
        'pass it as an argument (`log.info("%s", loss)`) so that a level that is off costs nothing, and guard it with '
        "`log.isEnabledFor(logging.INFO)`, or log `loss.shape`"
    )


@pytest.mark.parametrize(
    ("text", "ndim", "help_text"),
    [
        ("max(ts)", None, "`torch.stack(list(ts)).amax()` reduces on the device"),
        ("max(x)", 1, "`x.amax()` reduces on the device"),
        ("sorted(ts)", None, "`torch.stack(list(ts)).sort().values` reduces on the device"),
        ("min(a, b)", 0, "`torch.minimum(a, b)` stays on the device"),
        ("max(a, 0)", 0, "`a.clamp(min=0)` stays on the device"),
        ("ts.index(a)", None, "compare on the device: `(torch.stack(ts) == a).int().argmax()`"),
    ],
)
def test_builtins(text: str, ndim: int | None, help_text: str) -> None:
    assert worded(f"y = {text}", "builtin", text, ndim=ndim) == (
        f"`{text}` compares tensors that live on the GPU in Python, and the host waits for each comparison",
        help_text,
    )


def test_membership() -> None:
    assert worded("y = a in ts", "builtin", "ts", operation="in") == (
        "`a in ts` compares with tensors that live on the GPU, and the host waits for the answer",
        "`(torch.stack(list(ts)) == a).any()` keeps the answer on the device",
    )


@pytest.mark.parametrize(
    ("text", "help_text"),
    [
        ("torch.equal(a, b)", "`(a == b).all()` keeps the answer on the device"),
        ("torch.allclose(a, b, atol=1e-3)", "`torch.isclose(a, b).all()` keeps the answer on the device"),
        ("torch.linalg.inv(a)", "`torch.linalg.inv_ex(a)` does not check its error code; look at `info` later"),
        (
            "clip_grad_norm_(ps, 1.0, error_if_nonfinite=True)",
            "`clip_grad_norm_(ps, 1.0, error_if_nonfinite=False)` does not read the norm",
        ),
    ],
)
def test_checks(text: str, help_text: str) -> None:
    assert worded(text, "check", text) == (f"`{text}` reads a value from the GPU, and the host waits for it", help_text)


def test_elements() -> None:
    text = "torch.tensor([a, b], dtype=torch.float32)"
    assert worded(text, "elements", text)[1] == "`torch.stack([a, b]).to(torch.float32)` joins them on the device"


@pytest.mark.parametrize(
    ("text", "part", "what", "help_text"),
    [
        (
            "if mask.any():",
            "mask.any()",
            "which branch to take",
            "keep the choice on the device: `torch.where(mask.any(), a, b)`, or move the test out of the hot path",
        ),
        (
            "while not done:",
            "done",
            "whether to go on",
            "run a number of steps that the host knows and mask what is finished, or test a pinned copy one step old",
        ),
        (
            "y = p if c else q",
            "c",
            "whether to take `p` or `q`",
            "`torch.where(c != 0, p, q)` chooses on the device; both sides are computed, and their gradients: only "
            "where both are tensors of one shape and dtype",
        ),
        (
            "y = c and d",
            "c",
            "whether `and` needs its other side",
            "`torch.logical_and(c, d)` combines two tensors on the device; test once, as late as possible",
        ),
        ("y = not c", "c", "what `not` makes of it", "`torch.logical_not(c)` stays on the device"),
        (
            "y = 0 < t <= 2",
            "0 < t <= 2",
            "whether to go on to its next comparison",
            "`(0 < t) & (t <= 2)` compares on the device",
        ),
        ("y = bool(c)", "bool(c)", "whether it is true", "keep `c` a tensor, and choose with `torch.where(c, a, b)`"),
    ],
)
def test_truth(text: str, part: str, what: str, help_text: str) -> None:
    named = "c" if part == "bool(c)" else part
    assert worded(text, "truth", part) == (f"`{named}` is on the GPU: the host waits to know {what}", help_text)


@pytest.mark.parametrize(
    ("text", "help_text"),
    [
        ("y = x[m].sum()", "`torch.where(m, x, 0).sum()` keeps the full size"),
        ("y = x[m].mean()", "`torch.where(m, x, 0).sum() / m.sum()` keeps the full size"),
        (
            "y = x[m]",
            "keep the full size: `torch.where(m, x, 0)`, or `torch.nonzero_static(m, size=count)` and `index_select` "
            "if the host knows a count",
        ),
        ("x[m] += 1", "`x += torch.where(m, 1, 0)` keeps the full size"),
    ],
)
def test_mask_reads(text: str, help_text: str) -> None:
    # The site may stand on the mask or on the whole selection.
    message = "`m` is on the GPU: the host waits to know how many elements it selects"
    assert worded(text, "mask-read", "m") == (message, help_text)
    assert worded(text, "mask-read", "x[m]") == (message, help_text)


@pytest.mark.parametrize(
    ("text", "help_text"),
    [
        (
            "x[m] = v",
            "`x.masked_scatter_(m, v)` if `v` has one element for each that is written, "
            "`x.copy_(torch.where(m, v, x))` if it broadcasts; only if `m` has as many dimensions as `x`",
        ),
        ("x[m] *= v", "`x *= torch.where(m, v, 1)` keeps the full size"),
        ("x[m] = x[m] * 2", "`x = torch.where(m, x * 2, x)` keeps the full size"),
    ],
)
def test_mask_writes(text: str, help_text: str) -> None:
    message = "`m` is on the GPU: the host waits to know how many elements it selects"
    assert worded(text, "mask-write", "m") == (message, help_text)
    assert worded(text, "mask-write", "x[m]") == (message, help_text)


@pytest.mark.parametrize(
    ("kind", "text", "message", "help_text"),
    [
        (
            "nonzero",
            "torch.where(m)",
            "`m` is on the GPU: the host waits to know how many elements are nonzero",
            "`torch.nonzero_static(m, size=count)[:, 0]` if the host knows a count, or keep the mask: "
            "`torch.where(m, a, b)`",
        ),
        (
            "repeat",
            "torch.repeat_interleave(x, counts, dim=0)",
            "`counts` is on the GPU: the host waits for the sum of the repeats",
            "give the total that the host knows: `torch.repeat_interleave(x, counts, dim=0, output_size=total)`",
        ),
        (
            "size",
            "F.one_hot(v)",
            "`v` is on the GPU: `F.one_hot` waits for its values to know the output's size",
            "give the number of classes: `F.one_hot(v, num_classes=n)`",
        ),
        (
            "size",
            "torch.bincount(v, minlength=8)",
            "`v` is on the GPU: `torch.bincount` waits for its values to know the output's size",
            "`torch.zeros(8, dtype=torch.long, device=v.device).scatter_add_(0, v, torch.ones_like(v))` "
            "counts into a known size",
        ),
    ],
)
def test_shapes(kind: str, text: str, message: str, help_text: str) -> None:
    assert worded(text, kind, text) == (message, help_text)


KEEP = "and leave the pinned source unchanged until the copy is done"


@pytest.mark.parametrize(
    ("text", "data", "help_text"),
    [
        (
            "torch.tensor(ids, dtype=torch.int32, device=device)",
            "list",
            f"`torch.tensor(ids, dtype=torch.int32, pin_memory=True).to(device, non_blocking=True)`, {KEEP}",
        ),
        (
            "torch.tensor(0.0, device=x.device)",
            "number",
            "`torch.full((), 0.0, device=x.device)` passes the number to the kernel (give `dtype` for integers)",
        ),
        ("torch.tensor(range(n), device=d)", "list", "create it there: `torch.arange(n, device=d)`"),
        ("torch.tensor([0] * n, device=d)", "list", "create it there: `torch.full((n,), 0, device=d)`"),
        (
            "torch.as_tensor(array, device=d)",
            "array",
            f"`torch.from_numpy(array).pin_memory().to(d, non_blocking=True)`, {KEEP}",
        ),
        ("x.new_tensor(1.0)", "number", "`x.new_full((), 1.0)` passes the number to the kernel"),
    ],
)
def test_constructors(text: str, data: str, help_text: str) -> None:
    assert worded(text, "construct", text, facts={"data": data}) == (
        f"`{text}` copies host data to the GPU, and the host waits until the copy is done",
        help_text,
    )


@pytest.mark.parametrize(
    ("text", "pinned", "help_text"),
    [
        ("t.to(device)", False, f"`t.pin_memory().to(device, non_blocking=True)`, {KEEP}"),
        ("t.to(device)", True, f"`t.to(device, non_blocking=True)`, {KEEP}"),
        ("t.cuda()", False, f"`t.pin_memory().cuda(non_blocking=True)`, {KEEP}"),
        ("torch.arange(n).to(x.device)", False, "create it there: `torch.arange(n, device=x.device)`"),
        ("torch.tensor(ids).to(d)", False, f"`torch.tensor(ids, pin_memory=True).to(d, non_blocking=True)`, {KEEP}"),
        ("buffer.copy_(t)", False, f"`buffer.copy_(t.pin_memory(), non_blocking=True)`, {KEEP}"),
    ],
)
def test_transfers(text: str, pinned: bool, help_text: str) -> None:
    assert worded(text, "transfer", text, facts={"pinned": pinned})[1] == help_text


@pytest.mark.parametrize(
    ("text", "index", "help_text"),
    [
        ("t[i] = v", "integer", "`t[i:i + 1] = v` passes the number to the kernel"),
        ("t[3] = 0", "integer", "`t[3:4] = 0` passes the number to the kernel"),
        ("t[-1] = 0", "integer", "`t[-1:] = 0` passes the number to the kernel"),
        ("t[-2] = 0", "integer", "`t[-2:-1] = 0` passes the number to the kernel"),
        ("t[2, j] = 0", "integer", "`t[2, j:j + 1] = 0` passes the number to the kernel"),
        ("t[slots] = -1", "index", "`t.index_fill_(0, slots, -1)` passes the number to the kernel"),
    ],
)
def test_scalar_writes(text: str, index: str, help_text: str) -> None:
    target, value = text.split(" = ")
    assert worded(text, "scalar-write", target, facts={"index": index}) == (
        f"`{text}`: the host waits until `{value}` has been copied to the GPU",
        help_text,
    )


def test_host_indices() -> None:
    assert worded("y = x[[1, 2]]", "host-index", "[1, 2]") == (
        "`[1, 2]` lies on the host: the host waits until it has been copied to the GPU to index `x`",
        "neighbouring constants are a slice: `x[1:3]`",
    )
    assert worded("y = x[keep]", "host-index", "x[keep]") == (
        "`keep` lies on the host: the host waits until it has been copied to the GPU to index `x`",
        "build the index once on the device (`index`), and use `x.index_select(0, index)`",
    )


def test_operands_and_modules() -> None:
    assert (
        worded("torch.where(m, x, torch.tensor(0.0))", "operand", "torch.tensor(0.0)")[1]
        == "pass the number itself: `0.0`"
    )
    assert worded("nn.Linear(8, 8).to(d)", "module", "nn.Linear(8, 8).to(d)")[1] == (
        "create it there: `nn.Linear(8, 8, device=d)`"
    )


def test_waits() -> None:
    assert worded("torch.cuda.synchronize()", "device-wait", "torch.cuda.synchronize()")[0] == (
        "`torch.cuda.synchronize()`: the host waits until all streams of the device are done"
    )
    assert worded("self.side.synchronize()", "stream-wait", "self.side.synchronize()") == (
        "`self.side`: the host waits until all work on this stream is done",
        "if the next user is on the GPU, `torch.cuda.current_stream().wait_stream(self.side)` orders without the host; "
        "if the host reads a copy, wait for an event recorded right after the copy",
    )
    assert worded("dist.all_gather_object(a, b)", "collective", "dist.all_gather_object(a, b)")[1] == (
        "`dist.all_gather_into_tensor` on tensors only queues work; Python objects can go over a CPU group, "
        "outside the hot path"
    )


def test_condition() -> None:
    message, _ = worded("F.one_hot(v)", "size", "F.one_hot(v)", facts={"condition": "num_classes is not given"})
    assert message.endswith("the output's size (waits because num_classes is not given)")


def test_wait_inside_a_callee() -> None:
    calls = (Hop("helper", "/lib/a.py", 3), Hop("inner", "/lib/a.py", 9))
    assert worded("y = helper(x)", "item", "helper(x)", calls=calls) == (
        "`helper(x)` makes the host wait inside `inner`: `.item()` reads one number back from the GPU",
        "look for a form of `inner` that does not need the value on the host, or call it outside the hot path",
    )


# Findings, slices and fallbacks.


def test_finding_carries_the_site() -> None:
    file = source("n = x.item()\n")
    why = (Reason("`x` is on cuda", "/project/model.py", 1),)
    given = site(file, "item", "x.item()", why=why, level="error", context="hot", confidence="certain")
    assert word(file, [given]) == [
        Finding(
            code="SF101",
            name="tensor-item",
            message="`x` is on the GPU: `.item()` makes the host wait for its value",
            filename="/project/model.py",
            span=Span(1, 5, 1, 13),
            level="error",
            confidence="certain",
            family="value-read",
            context="hot",
            function="f",
            fix=word(file, [given])[0].fix,
            why=why,
            statement=(1, 1),
        )
    ]


def test_order_and_two_sites_on_one_node() -> None:
    file = source("a = x.item()\nb = y[m]\n")
    sites = [site(file, "mask-read", "m", line=2), site(file, "item", "x.item()"), site(file, "index", "m", line=2)]
    assert [finding.code for finding in word(file, sites)] == ["SF202", "SF101", "SF107"]


CLAUSES = '''\
def f(x, m):
    if m.any():
        pass
    elif m.all():
        pass
    else: a = x.item()
    try: b = x.item()
    finally: c = x.item()
    match x.item():
        case n if n.any():
            pass
    with f(
        x.item()
    ) as g:  # a comment: with a colon
        text = """
  x.item()
""" + str(x.item())
    @decorate(x.item())
    def inner(): pass
    try:
        pass
    except kind(x.item()):
        pass
    async def run(y=x.item()):
        await y
    for i in range(x.item()): print(i)
'''


def test_every_clause_is_seen() -> None:
    """Each marked statement keeps its columns and gets the wording that only a parsed node can have."""
    file = source(CLAUSES)
    places = [(6, 6), (7, 7), (8, 8), (9, 9), (13, 12), (17, 15), (18, 18), (22, 22), (24, 24), (26, 26)]
    sites = [site(file, "item", "x.item()", line=line, statement=(first, line)) for line, first in places]
    sites += [site(file, "truth", text, line=line) for line, text in ((2, "m.any()"), (4, "m.all()"), (10, "n.any()"))]
    messages = [finding.message for finding in word(file, sites)]
    assert messages[:10] == ["`x` is on the GPU: `.item()` makes the host wait for its value"] * 10
    assert messages[10:12] == [
        "`m.any()` is on the GPU: the host waits to know which branch to take",
        "`m.all()` is on the GPU: the host waits to know which branch to take",
    ]
    assert messages[12] == "`n.any()` is on the GPU: the host waits to know whether it is true"


def test_slices_keep_lines_and_columns() -> None:
    lines = ["def f(x):", "    if x:", "        y = 1", "    elif y: z = 2"]
    text, place = compose(lines, cut(lines, [(2, 2), (4, 4)]))
    assert text == "if 1:\n    if x:\n     pass\nif 1:\n    if 1: pass\n    elif y: z = 2\n"
    assert place == {2: 2, 4: 6}


def test_overlapping_statements_are_one_slice() -> None:
    lines = ["if a: b = (", "    1)", "c = 2"]
    assert [(part.first, part.last) for part in cut(lines, [(1, 1), (1, 2), (3, 3)])] == [(1, 2), (3, 3)]


def test_a_statement_that_does_not_parse_costs_no_other_one() -> None:
    file = source("a = x.item()\n) = x.item(\nb = y.item()\n")
    sites = [
        site(file, "item", "x.item()"),
        site(file, "item", "x.item(", line=2),
        site(file, "item", "y.item()", line=3),
    ]
    assert [finding.message for finding in word(file, sites)] == [
        "`x` is on the GPU: `.item()` makes the host wait for its value",
        "`x.item(` is on the GPU: the host waits for its value",
        "`y` is on the GPU: `.item()` makes the host wait for its value",
    ]


def test_a_span_without_a_node_gets_the_generic_wording() -> None:
    file = source("y = f(a, b)\n")
    finding = word(file, [site(file, "truth", "a, b")])[0]
    assert finding.message == "`a, b` is on the GPU: the host waits to know whether it is true"
    assert finding.fix is not None
    assert finding.fix.message == by_kind()["truth"].help


def test_lines_outside_the_file() -> None:
    file = source("y = 1\n")
    lost = site(file, "item", "y", span=Span(9, 1, 9, 4), statement=(9, 9), operation="Tensor.item")
    assert word(file, [lost])[0].message == "`Tensor.item` is on the GPU: the host waits for its value"


def test_parentheses_and_wide_characters() -> None:
    file = source("y = (x + z).item() if (m) else max((t for t in ts))\ns = 'größe'; n = x.item()\n")
    sites = [
        site(file, "item", "(x + z).item()"),
        site(file, "truth", "m", at=2),
        site(file, "builtin", "max((t for t in ts))"),
        site(file, "item", "x.item()", line=2),
    ]
    assert [finding.message for finding in word(file, sites)] == [
        "`x + z` is on the GPU: `.item()` makes the host wait for its value",
        "`m` is on the GPU: the host waits to know whether to take `(x + z).item()` or `max((t for t in ts))`",
        "`max((t for t in ts))` compares tensors that live on the GPU in Python, "
        "and the host waits for each comparison",
        "`x` is on the GPU: `.item()` makes the host wait for its value",
    ]


def test_every_kind_can_be_worded_on_any_node() -> None:
    """No wording may fail on a shape of code that it does not expect."""
    texts = "x; f(x); x.f(); x[m]; x[a:b, m]; f(*a, k=x); x + y; (yield); f(); [x]; lambda: x"
    for text in texts.split("; "):
        for kind in KINDS:
            for line in (f"y = {text}", f"y[m] = {text}", f"g({text})", f"y[{text}] += 1", f"if {text}:"):
                message, help_text = worded(line, kind, text)
                assert message
                assert help_text


def test_shorten() -> None:
    assert shorten("f(\n    a,  # first\n    b,\n)") == "f(a, b)"
    assert shorten("x" * 80) == "x" * 59 + "…"


@pytest.mark.parametrize(
    ("text", "kind", "part", "message", "help_text"),
    [
        (
            "took = time.perf_counter() - start",
            "early-clock",
            "time.perf_counter()",
            "`time.perf_counter()` is read while the GPU still works (see line 7): "
            "the time leaves out what is only queued by then",
            "time the work with a pair of events (`enable_timing=True`), or wait for it before the clock is read: "
            "`torch.cuda.synchronize()`",
        ),
        (
            "took = start.elapsed_time(end)",
            "early-elapsed",
            "start.elapsed_time(end)",
            "`start.elapsed_time(end)`: `start` and `end` are not known to have happened, and it raises if they have "
            "not",
            "call `end.synchronize()` before this line, or ask `end.query()` first",
        ),
        (
            "took = a[0].elapsed_time(a[1])",
            "untimed-event",
            "a[0].elapsed_time(a[1])",
            "`a[0].elapsed_time(a[1])` raises: an event of the two was made without `enable_timing=True`",
            "make both events with `torch.cuda.Event(enable_timing=True)`",
        ),
        (
            "torch.cuda.synchronize()",
            "timing-wait",
            "torch.cuda.synchronize()",
            "`torch.cuda.synchronize()`: the host waits in hot code, only to take the time",
            "record events with `enable_timing=True` around the work and read `elapsed_time` one step later, or wait "
            "only when a profile is asked for",
        ),
    ],
)
def test_measurements(text: str, kind: str, part: str, message: str, help_text: str) -> None:
    assert worded(text, kind, part, related=(Reason("work is queued here", "/project/model.py", 7),)) == (
        message,
        help_text,
    )


# Asynchronous hazards.

COPY = (Reason("the copy to the host starts here", "/project/model.py", 7),)


def hazard(text: str, kind: str, part: str, **facts: Any) -> tuple[str, str]:
    return worded(text, kind, part, related=COPY, facts=facts)


def test_early_reads() -> None:
    help_text = (
        "record an event on the copy's stream right after the copy, and call `event.synchronize()` before this line"
    )
    assert hazard("return host.tolist()", "early-read", "host.tolist()") == (
        "the host reads `host` before the copy in line 7 is known to be done: the values may be old",
        help_text,
    )
    assert hazard("return native.plan(q, host)", "early-read", "host", call=True) == (
        "`host` is given to `native.plan`, which may read it before the copy in line 7 is known to be done",
        help_text,
    )


def test_early_writes() -> None:
    assert hazard("staging[:n] = ids", "early-write", "staging[:n]", copy="to-device")[0] == (
        "`staging[:n]` is written on the host while the copy in line 7 may still read it: the GPU may get the new "
        "values"
    )
    assert hazard("host.zero_()", "early-write", "host.zero_()", copy="to-host")[0] == (
        "`host` is written on the host while the copy in line 7 may still write it"
    )


def test_cross_stream_use() -> None:
    assert hazard("y = x + 1", "cross-stream", "x + 1", use="read")[0] == (
        "`x + 1` is used on this stream, and nothing orders it after the work of another (the copy in line 7)"
    )
    assert hazard("x.record_stream(s)", "cross-stream", "x.record_stream(s)", use="own stream")[0] == (
        "`x` is recorded on the very stream that it was made on, which has no effect"
    )
    assert hazard('self.x = self.x.to("cpu", non_blocking=True)', "cross-stream", 'self.x.to("cpu", non_blocking=True)',
                  use="freed")[0] == (
        '`self.x.to("cpu", non_blocking=True)`: the last reference to the source is dropped while another stream '
        "still copies it"
    )  # fmt: skip


def test_slow_copies() -> None:
    assert hazard("y = x.to(d, non_blocking=True)", "slow-copy", "x.to(d, non_blocking=True)", way="to-device") == (
        "`x.to(d, non_blocking=True)` may make the host wait in spite of `non_blocking=True`: the source is pageable",
        "pin the source, `x.pin_memory()` or `pin_memory=True` where it is made, and leave it unchanged until the copy "
        "is done",
    )
    assert hazard("h.copy_(x, non_blocking=True)", "slow-copy", "h.copy_(x, non_blocking=True)", way="to-host")[0] == (
        "`h.copy_(x, non_blocking=True)`: the host waits in spite of `non_blocking=True`: the destination is pageable "
        "or strided"
    )


def test_events_that_stand_for_nothing() -> None:
    assert hazard("done.synchronize()", "unrecorded-event", "done.synchronize()") == (
        "`done` was never recorded: waiting for it, or asking it, says nothing",
        "`done.record()` on the stream of the work that matters, after that work was queued",
    )
    assert hazard("done.record()", "wrong-stream-record", "done.record()")[0] == (
        "`done.record()` records on a stream that was given nothing: the copy in line 7 is on another one"
    )


def test_a_hazard_tells_the_copy_as_a_related_place() -> None:
    file = source("return host.tolist()\n")
    found = word(file, [site(file, "early-read", "host.tolist()", related=COPY)])[0]
    assert found.to_json()["related"] == [
        {
            "message": "the copy to the host starts here",
            "filename": "/project/model.py",
            "location": {"row": 7, "column": 1},
        }
    ]
