"""A frame: one evaluation of a function (or module, or class) body, and the publishing of sites from it."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from syncfinder.infer.buffers import Origin
from syncfinder.infer.measuring import NOTHING, for_timing, waited
from syncfinder.infer.pending import CURRENT, EVERYTHING, FLOW, HERE, Action, Work, act, copied_to_host
from syncfinder.infer.values import (
    CERTAIN,
    CPU,
    CUDA,
    GPU,
    LIKELY,
    Array,
    Class,
    Const,
    Device,
    Flag,
    Function,
    Number,
    Sequence,
    Tensor,
    Union,
    UnknownValue,
    Value,
    is_number,
    join,
    number_kind,
)
from syncfinder.sites.site import KINDS, Confidence, Hop, Known, Level, Reason, Site

if TYPE_CHECKING:
    from syncfinder.infer.hazards import Suspect
    from syncfinder.infer.project import Module, Project

Env = dict[str, Value]
CONFIDENCE: tuple[Confidence, ...] = ("certain", "likely", "possible")
# How many waits inside unchecked code a function passes on to its callers, and through how many calls.
MAX_EFFECTS = 8
MAX_HOPS = 6
LEVELS: dict[str | None, Level] = {
    "setup": "info", "error-path": "info", "debug": "info", "boundary": "info", "guarded": "error",
}  # fmt: skip
# The kinds of sites at which the host does not wait for the work that the current stream was given.
ELSEWHERE = frozenset({
    "event-wait", "stream-wait", "device-wait", "early-read", "early-write", "cross-stream", "wrong-stream-record",
    "slow-copy", "pin", "unrecorded-event", "early-clock", "early-elapsed", "untimed-event",
})  # fmt: skip
# A wait costs nothing in set-up code; wrong data do harm wherever they are made.
WRONG = frozenset({"early-read", "early-write", "cross-stream", "wrong-stream-record", "unrecorded-event"})


@dataclass(slots=True)
class Effect:
    """A wait inside code that is not checked: its site, as a caller in checked code will report it."""

    site: Site
    hops: tuple[Hop, ...]


class Loop:
    """A loop that runs, and the environments that leave its body early."""

    __slots__ = ("breaks", "continues", "node")

    def __init__(self, node: ast.stmt) -> None:
        self.node = node
        self.breaks: list[Env] = []
        self.continues: list[Env] = []


@dataclass(slots=True)
class KeptTest:
    """A test whose outcome a name holds, with what the paths in it were bound to. `value` is that very outcome."""

    test: ast.expr
    value: Value
    bound: dict[str, Value | None]


class Frame:
    __slots__ = (
        "context",
        "default_place",
        "effects",
        "env",
        "exits",
        "function",
        "host",
        "kept",
        "last",
        "log",
        "loops",
        "made",
        "module",
        "muted",
        "overtaken",
        "owner",
        "pace",
        "parent",
        "partial",
        "project",
        "qualname",
        "repeats",
        "returns",
        "statement",
        "stream",
        "suspects",
        "tests",
        "tracks",
        "yields",
    )  # fmt: skip

    def __init__(
        self,
        project: Project,
        module: Module,
        function: Function | None = None,
        owner: Class | None = None,
        parent: Frame | None = None,
    ) -> None:
        self.project = project
        self.module = module
        self.function = function
        self.owner = owner
        self.parent = parent
        self.qualname = function.qualname if function is not None else None
        self.env: Env = {}
        self.returns: list[Value] = []
        self.yields: list[Value] = []
        self.loops: list[Loop] = []
        self.last: tuple[ast.BoolOp, Value] | None = None  # the last `and`/`or`, and what its last operand is
        self.statement: ast.stmt | None = None
        self.muted = 0  # > 0: nothing is published (a branch that does not run with a GPU)
        self.repeats = 0  # > 0: inside a loop or comprehension
        self.context: str | None = None
        self.effects: list[Effect] = []
        self.default_place = CPU
        self.host = False  # data-loading code: what is not known to be on the GPU is a host value
        self.tests: dict[str, KeptTest] = {}
        self.stream: Origin = CURRENT  # the stream that work is queued on
        self.log: list[Action] = []  # what was queued and waited for, in order, for the callers
        self.pace = NOTHING  # whether work is queued for the GPU or waited for, for the callers' clocks
        self.exits: dict[int, tuple[Action, ...]] = {}  # by call: what a context manager does when it is left
        self.kept: set[str | None] = set()  # paths of tensors whose memory is kept for another stream
        self.overtaken: set[Work] = set()  # unfinished work that was not waited for: it is reported
        self.suspects: list[Suspect] = []  # what is a hazard unless the rest of the function mends it
        self.tracks = False  # the function speaks of streams: what they are given is followed
        self.made: ast.expr | None = None  # the last call whose result torch has just made
        self.partial = False  # a recursive call was cut short: the result must not be kept

    def lookup(self, name: str) -> Value | None:
        """Return what a name is bound to here: this frame, its closures, the module's globals; None if nowhere."""
        value = self.env.get(name)
        if value is not None:
            return value
        parent = self.parent
        while parent is not None:
            value = parent.env.get(name)
            if value is not None:
                return value
            parent = parent.parent
        return self.module.lookup(name)

    @property
    def speaks_of_arrays(self) -> bool:
        """Whether the evaluated function uses NumPy or pandas, or its module does and knows nothing of torch."""
        if self.module.speaks_arrays and not self.module.speaks_torch:
            return True
        return self.function is not None and self.function.scan.arrays

    def reason(self, text: str, node: ast.AST) -> tuple[Reason, ...]:
        """Return a one-step provenance that stands at a node of this module."""
        return (Reason(text, self.module.filename, getattr(node, "lineno", 0)),)

    def publish(
        self,
        kind: str,
        node: ast.expr | ast.stmt,
        operation: str,
        operand: Tensor | None,
        sure: int = CERTAIN,
        **facts: Any,
    ) -> None:
        """Publish that the host waits at `node`. `operand` is the tensor it waits for; `sure` bounds the confidence."""
        if self.muted or self.on_assumed_host(operand):
            return
        family = KINDS[kind]
        if family == "wait" and for_timing(self) and not copied_to_host(self):
            facts["timing"] = True
        if family not in ("hazard", "measurement") or kind == "slow-copy":
            waited(self)
        if kind == "device-wait":
            act(self, EVERYTHING)
        elif kind not in ELSEWHERE and (FLOW in self.env or not self.log or self.log[-1] is not HERE):
            act(self, HERE)
        site = self.site(kind, node, operation, operand, sure, facts)
        if self.module.checked:
            self.module.add_site(site, self.function, self.partial)
        elif (
            self.module.library
            and len(self.effects) < MAX_EFFECTS
            and site.level != "info"
            and site.confidence != "possible"
        ):
            self.effects.append(Effect(site, (Hop(self.qualname or "<module>", self.module.filename, site.span.line),)))

    def doubt(self, kind: str, node: ast.expr) -> None:
        """Note that the values at `node` may be others than those of which a site of this kind tells."""
        if self.module.checked:
            self.module.doubts.add((kind, node.lineno, node.col_offset))

    def on_assumed_host(self, operand: Tensor | None) -> bool:
        """Return whether an operand is on the GPU by assumption only, in a project that assumes the host."""
        return operand is not None and not operand.place & CUDA and not self.project.assume_cuda

    def site(
        self,
        kind: str,
        node: ast.expr | ast.stmt,
        operation: str,
        operand: Tensor | None,
        sure: int,
        facts: dict[str, Any],
    ) -> Site:
        device, dtype, ndim = "cuda", None, None
        why: tuple[Reason, ...] = ()
        if operand is not None:
            dtype, ndim, why = operand.dtype, operand.ndim, operand.why
            device = place_word(operand.place)
            sure = max(sure, operand.sure, CERTAIN if device == "cuda" else LIKELY)
        if self.repeats:
            facts["loop"] = True
        if "known" in facts:
            facts["known"] = {role: known(value) for role, value in facts["known"].items()}
        if self.module.checked and self.statement is not None:
            paths = [*self.module.paths_in(self.statement)]
            if self.loops:
                paths += self.module.paths_in(self.loops[-1].node)
            facts["names"] = {path: known(self.env[path]) for path in paths if path in self.env}
        context = self.context
        return Site(
            kind=kind,
            operation=operation,
            span=self.module.span(node),
            statement=self.module.header(self.statement, node),
            device=device,
            dtype=dtype,
            ndim=ndim,
            confidence=CONFIDENCE[sure],
            level="warning" if context == "setup" and kind in WRONG else LEVELS.get(context, "warning"),
            context=context or ("loop" if self.repeats else None),
            function=self.qualname,
            why=why,
            facts=facts,
            block=self.block(kind),
        )

    def block(self, kind: str) -> tuple[int, int] | None:
        """Return the lines around the statement that a rewrite of a site may need."""
        if not self.module.checked:
            return None
        if kind in BRANCHING or (self.loops and KINDS[kind] == "value-read"):
            found = self.module.block(self.statement, self.loops[-1].node if self.loops else None)
            if found is not None:
                return found
        return self.module.neighbours(self.statement) if kind == "device-wait" else None

    def pass_on(self, effects: list[Effect], node: ast.expr, callee: Function) -> None:
        """Report the waits inside an unchecked callee: at the call in checked code, else to this frame's callers."""
        if self.muted or not effects:
            return
        if not self.module.checked:
            here = Hop(self.qualname or "<module>", self.module.filename, getattr(node, "lineno", 0))
            for effect in effects:
                if len(self.effects) < MAX_EFFECTS and len(effect.hops) < MAX_HOPS:
                    self.effects.append(Effect(effect.site, (here, *effect.hops)))
            return
        for effect in effects:
            inner = effect.site
            site = self.site(
                inner.kind, node, inner.operation, None, CONFIDENCE.index(inner.confidence), dict(inner.facts)
            )
            site.device, site.why, site.calls = inner.device, inner.why, effect.hops
            self.module.add_site(site, self.function, self.partial)


def place_word(place: int) -> str:
    """Return how a site words a place: "cuda" is written in the code, "assumed" is policy, "mixed" may be the host."""
    if place == CUDA:
        return "cuda"
    return "assumed" if place & GPU and not place & CPU else "mixed"


# Sites that may decide which branch of a statement runs: `if t`, `if t.item() > 0`.
BRANCHING = ("truth", "item", "number")
# What a site says of values that are no tensors.
KIND_WORDS: dict[type[Value], str] = {Number: "number", Flag: "number", Sequence: "list", Array: "array"}


def known(value: Value | None) -> Known:
    """Return what a site tells of a value."""
    if value is None:
        return Known()
    if isinstance(value, Tensor):
        place = "cpu" if value.place == CPU else place_word(value.place)
        return Known("tensor", place, value.dtype, value.ndim, CONFIDENCE[value.sure])
    if isinstance(value, Const):
        if is_number(value):
            return Known("number", dtype=number_kind(value))
        return Known("none" if value.value is None else "object")
    if isinstance(value, (UnknownValue, Union)):
        return Known()
    if isinstance(value, Device):
        return Known("device", "cpu" if value.place == CPU else place_word(value.place))
    return Known(KIND_WORDS.get(type(value), "object"), dtype=number_kind(value) if is_number(value) else None)


def memory_of(tensor: Tensor) -> dict[str, bool]:
    """Return the fact that says what host memory a tensor lies in; none where that is not known."""
    return {tensor.memory: True} if tensor.memory is not None else {}


def join_env(a: Env, b: Env) -> Env:
    """Join two environments; an attribute path bound on one side only is dropped, a name is kept."""
    if a is b:
        return a
    out: Env = {}
    for name, value in a.items():
        other = b.get(name)
        if other is None:
            if "." not in name:
                out[name] = value
        else:
            out[name] = value if value is other else join(value, other)
    for name, value in b.items():
        if name not in a and "." not in name:
            out[name] = value
    return out


def join_envs(envs: list[Env]) -> Env | None:
    """Join any number of environments; none gives None."""
    result: Env | None = None
    for env in envs:
        result = env if result is None else join_env(result, env)
    return result
