"""A sync site: the interpreter's observation that the host waits at an expression.

Sites are the only thing that `infer` publishes for the rules: where, what kind of wait, on which value, how sure, why.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Confidence = Literal["certain", "likely", "possible"]
Level = Literal["error", "warning", "info"]
CONFIDENCES: tuple[Confidence, ...] = ("possible", "likely", "certain")

# kind -> family. `rules/*.toml` says which kinds a rule covers.
KINDS: dict[str, str] = {
    "item": "value-read",  # t.item()
    "tolist": "value-read",  # t.tolist()
    "copy": "value-read",  # t.cpu(), t.to("cpu"), host.copy_(t)
    "numpy": "value-read",  # t.numpy(force=True), np.asarray(t)
    "number": "value-read",  # int(t), float(t), complex(t), bool(t), math.sqrt(t)
    "index": "value-read",  # t where Python or torch wants a number: slice bound, size, range(t), 0-dim index
    "format": "value-read",  # f"{t}", str(t), print(t), log.info("%s", t)
    "builtin": "value-read",  # max/min/sorted/any/all/in/list.index over tensors
    "elements": "value-read",  # torch.tensor([cuda scalars])
    "check": "value-read",  # a library call that reads a value: torch.equal, linalg.inv, Distribution(validate_args)
    "truth": "truth-test",  # if t, while t, assert t, and/or/not, ternary, comprehension filter, chained comparison
    "nonzero": "shape",  # nonzero, argwhere, one-argument where
    "mask-read": "shape",  # x[mask], masked_select
    "mask-write": "shape",  # x[mask] = tensor, x[mask] += 1
    "unique": "shape",  # unique, unique_consecutive
    "repeat": "shape",  # repeat_interleave(tensor) without output_size
    "size": "shape",  # any other data-dependent output size: bincount, one_hot(-1), combinations
    "construct": "upload",  # torch.tensor(data, device=cuda), new_tensor
    "transfer": "upload",  # host_tensor.to(cuda), .cuda(), cuda.copy_(host)
    "host-index": "upload",  # cuda[list], cuda[ndarray], cuda[cpu_tensor]
    "scalar-write": "upload",  # cuda[i] = number (0-dim destination), cuda[index] = number
    "operand": "upload",  # a host tensor operand that a CUDA operation uploads: where(m, x, cpu0)
    "module": "upload",  # module.to(cuda), load_state_dict
    "device-wait": "wait",  # torch.cuda.synchronize()
    "stream-wait": "wait",  # stream.synchronize()
    "event-wait": "wait",  # event.synchronize()
    "cache-wait": "wait",  # torch.cuda.empty_cache()
    "collective": "wait",  # dist.barrier(), object collectives
    "early-read": "hazard",  # host memory is read while an asynchronous copy may still write it
    "early-write": "hazard",  # pinned memory is written while an asynchronous copy may still use it
    "cross-stream": "hazard",  # a stream uses what another one is not known to be done with
    "slow-copy": "hazard",  # non_blocking=True to or from memory that makes the host wait
    "pin": "hazard",  # pin_memory() per iteration or step
    "unrecorded-event": "hazard",  # an event is waited for, asked or timed that was never recorded
    "wrong-stream-record": "hazard",  # an event is recorded on a stream other than the one that was given the work
    "early-clock": "measurement",  # a host clock is read while the GPU still works
    "early-elapsed": "measurement",  # elapsed_time before both events are known to have happened
    "untimed-event": "measurement",  # elapsed_time of an event without enable_timing
    "timing-wait": "measurement",  # hot code waits only to take the time
}


@dataclass(frozen=True, slots=True)
class Reason:
    """One step of a provenance chain: why the tool believes what it says of a value."""

    text: str
    path: str
    line: int


@dataclass(frozen=True, slots=True)
class Hop:
    """One call on the way from a finding to the statement inside an unchecked callee that waits."""

    function: str
    path: str
    line: int


@dataclass(frozen=True, slots=True)
class Span:
    """Lines from 1; columns from 1, in characters; the end is exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a value that a rewrite would move or repeat, on every way that leads to the site.

    `kind` is "tensor", "number", "list", "array", "device", "none", "object" or None (not known). `place`, of tensors
    and devices, is as `Site.device`, or "cpu"; `dtype`, of tensors and numbers, "bool", "int", "float" or None; `sure`
    is how sure it is that it is a tensor.
    """

    kind: str | None = None
    place: str | None = None
    dtype: str | None = None
    ndim: int | None = None
    sure: Confidence = "possible"

    def agreed(self, other: Known) -> Known:
        """Return what both say."""
        if self == other:
            return self
        if self.kind != other.kind:
            return Known()
        return Known(
            self.kind,
            self.place if self.place == other.place else None,
            self.dtype if self.dtype == other.dtype else None,
            self.ndim if self.ndim == other.ndim else None,
            min(self.sure, other.sure, key=CONFIDENCES.index),
        )


Doubt = tuple[str, int, int]  # a kind of site, and the line and column where one would begin


@dataclass(slots=True)
class Site:
    """`operation` names the API or the construct: "Tensor.item", "torch.nonzero", "if", "slice bound", "f-string".

    `statement` is the first and last line of the innermost statement (a compound statement's header only). `block` is
    that of the loop or compound statement that a rewrite may need whole; None where it is none, or a long one.
    `device` is the operand's place in words: "cuda" (written in the code), "assumed" (policy), "mixed" (cuda or cpu).
    `related` are places that a hazard speaks of: where the copy starts that it comes too early for.
    `facts` holds what only the interpreter knows and a suggestion needs: see `FACTS`.
    """

    kind: str
    operation: str
    span: Span
    statement: tuple[int, int]
    device: str
    dtype: str | None
    ndim: int | None
    confidence: Confidence
    level: Level
    context: str | None
    function: str | None
    why: tuple[Reason, ...] = ()
    calls: tuple[Hop, ...] = ()
    related: tuple[Reason, ...] = ()
    facts: dict[str, Any] = field(default_factory=dict)
    block: tuple[int, int] | None = None

    def agree(self, other: Site) -> None:
        """Keep only what another evaluation of the same place says of the values there, too."""
        known, others = self.facts.get("known"), other.facts.get("known", {})
        if known:
            self.facts["known"] = {role: what.agreed(others[role]) for role, what in known.items() if role in others}
        names, others = self.facts.get("names"), other.facts.get("names", {})
        if names is not None:
            nothing = Known()
            both = names.keys() | others.keys()
            self.facts["names"] = {n: names.get(n, nothing).agreed(others.get(n, nothing)) for n in sorted(both)}

    def forget(self) -> None:
        """Tell nothing of the values: on another way to the same place they may be others."""
        for key in ("known", "names"):
            if key in self.facts:
                self.facts[key] = {}

    @property
    def family(self) -> str:
        return KINDS[self.kind]


# The keys of `Site.facts`, all optional.
FACTS = {
    "loop": "True when the site runs once per iteration of a loop or comprehension",
    "condition": "the torch model's words for why this call waits, e.g. 'output_size is not given'",
    "value": "scalar-write, mask-write: what is written: 'number', 'host tensor', 'tensor'",
    "index": "scalar-write: 'integer' (0-dim target), 'index' (tensor); host-index: 'list', 'array', 'host tensor'",
    "data": "construct: what the data are: 'number', 'list', 'array', 'host'",
    "pinned": "transfer, copy: True when the host side is known to be pinned",
    "pageable": "transfer: True when the host side is known not to be pinned",
    "copy": "early-read, early-write: 'to-host' or 'to-device', the copy that is not done",
    "call": "early-read: True when an unknown function is given the memory",
    "use": "cross-stream: 'read', 'write', 'freed' (the source is dropped), 'own stream' (record_stream)",
    "size": "slow-copy, pin: 'large' where the size is known to be",
    "way": "slow-copy: 'to-host' or 'to-device'",
    "timing": "waits: True right before a clock, or a pair of events, is read",
    "argument": "index, operand, check: the parameter's name that the operand is given to",
    "known": "a `Known` by role: base, index, mask, value of subscripts; data, element (of lists), made, device, host, "
    "target (what `.to` is given) of uploads; of other calls the arguments by parameter",
    "names": "the names and attributes in the statement that are bound in front of it: a `Known` by dotted name",
}
