"""Calls: arguments, summaries of project functions (memoised by argument shapes), callees of every kind."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from syncfinder.infer import fields, policy, sharing
from syncfinder.infer.annotations import from_annotation
from syncfinder.infer.classes import find_method, implementations, is_dataset, is_promise, plain_fields, record
from syncfinder.infer.definitions import bind_definitions
from syncfinder.infer.dispatch import evaluate, run_block
from syncfinder.infer.frame import Effect, Frame
from syncfinder.infer.hazards import as_parameter, conclude, replay, speaks_of_streams
from syncfinder.infer.hinting import apply_hint
from syncfinder.infer.measuring import NOTHING, called
from syncfinder.infer.pending import Action
from syncfinder.infer.project import MAX_DEPTH, MAX_SHAPES
from syncfinder.infer.values import (
    ASSUMED,
    BOOL,
    CPU,
    CUDA,
    FLOAT,
    GPU,
    INT,
    LIKELY,
    NONE,
    TEXT,
    UNKNOWN,
    Bound,
    Class,
    Const,
    Device,
    Flag,
    Function,
    Instance,
    Mapping,
    Number,
    Sequence,
    Tensor,
    Text,
    Union,
    UnknownValue,
    Value,
    is_number,
    join,
    join_all,
    members,
    number_kind,
    on_host,
    tensors,
)
from syncfinder.infer.wrappers import call_wrapper, dotted_name

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(slots=True)
class Arguments:
    """A call's arguments: values with their nodes, if any. `open`: an unknown *args or **kwargs is among them."""

    values: list[Value]
    nodes: list[ast.expr | None]
    keywords: dict[str, Value] = field(default_factory=dict)
    keyword_nodes: dict[str, ast.expr] = field(default_factory=dict)
    open: bool = False

    def every(self) -> Iterator[tuple[Value, ast.expr | None]]:
        """Yield all values with their nodes."""
        yield from zip(self.values, self.nodes, strict=True)
        for name, value in self.keywords.items():
            yield value, self.keyword_nodes.get(name)

    @property
    def first(self) -> Value:
        """The first positional argument; Unknown when there is none."""
        return self.values[0] if self.values else UNKNOWN

    def get(self, position: int, name: str) -> Value | None:
        """Return the argument at a position or by keyword; None when not given."""
        if name in self.keywords:
            return self.keywords[name]
        return self.values[position] if position < len(self.values) else None

    def node(self, position: int, name: str) -> ast.expr | None:
        if name in self.keyword_nodes:
            return self.keyword_nodes[name]
        return self.nodes[position] if position < len(self.nodes) else None

    def before(self, receiver: Value, node: ast.expr | None = None) -> Arguments:
        """Return the same arguments with a receiver in front."""
        return Arguments([receiver, *self.values], [node, *self.nodes], self.keywords, self.keyword_nodes, self.open)


class Summary:
    """What a call of a function with one shape of arguments gives: a value, and the waits inside unchecked code.

    `log`: what it gives to streams and waits for, in order; `pace`: whether it queues work or waits at all.
    """

    __slots__ = ("effects", "log", "pace", "tested", "value")

    def __init__(
        self,
        value: Value,
        effects: list[Effect],
        log: tuple[Action, ...] = (),
        pace: int = NOTHING,
        tested: bool = False,
    ) -> None:
        self.log = log
        self.pace = pace
        self.tested = tested  # only tests call it so: its sites are not published
        self.value = value
        self.effects = effects


GENERIC = "generic"


class Facts:
    """What is derived from a function's definition once: its parameters with defaults, whether it is host code."""

    __slots__ = ("base", "defaults", "host", "kernel", "names", "parameters", "promise", "promised", "setup", "streams")

    def __init__(self, function: Function) -> None:
        args = function.node.args
        plain = [*args.posonlyargs, *args.args]
        missing: list[ast.expr | None] = [None] * (len(plain) - len(args.defaults))
        pairs = [
            *zip(plain, [*missing, *args.defaults], strict=True),
            *zip(args.kwonlyargs, args.kw_defaults, strict=True),
        ]
        self.parameters: list[tuple[ast.arg, ast.expr | None]] = pairs
        self.names = [a.arg for a in plain]
        self.defaults = [
            (argument.arg, NONE if default.value is None else Const(default.value))
            for position, (argument, default) in enumerate(pairs)
            if isinstance(default, ast.Constant)
            and (default.value in (None, True, False) or names_device(default.value))
            and not (position == 0 and function.owner is not None)
        ]
        owner = function.owner
        owner_name = owner.name if owner is not None else None
        self.host = policy.is_host_code(function.name, owner_name, function.module) or (
            owner is not None and is_dataset(owner)
        )
        self.kernel = policy.is_kernel(function.decorators)
        self.setup = function.module.project.setup.have(function.name, function.module.name, function.qualname)
        self.promise = owner is not None and is_promise(function)
        self.streams = function.module.speaks_streams and speaks_of_streams(function)
        self.base: dict[str, Value] | None = None
        self.promised: Value | None = None


def names_device(word: object) -> bool:
    """Return whether a default is a device that is written there: device="cuda"."""
    return isinstance(word, str) and word.partition(":")[0] in ("cuda", "cpu")


def facts_of(function: Function) -> Facts:
    """Return the facts of a function, derived once."""
    if function.facts is None:
        function.facts = Facts(function)
    return function.facts  # type: ignore[no-any-return]


def generic_values(function: Function, frame: Frame) -> dict[str, Value]:
    """Return what each parameter is when no caller is known: by annotation, default, name, use."""
    out: dict[str, Value] = {}
    for position, (argument, default) in enumerate(facts_of(function).parameters):
        if position == 0 and function.owner is not None and function.kind != "static":
            out[argument.arg] = function.owner if function.kind == "class" else Instance(function.owner)
            continue
        value = policy.named(argument.arg, generic_value(function, argument, default, frame), frame, argument)
        out[argument.arg] = apply_hint(function.module, argument, argument.arg, value)
    args = function.node.args
    if args.vararg is not None:
        element = from_annotation(args.vararg.annotation, frame, f"`*{args.vararg.arg}`")
        out[args.vararg.arg] = Sequence("tuple", element=element)
    if args.kwarg is not None:
        out[args.kwarg.arg] = Mapping(element=from_annotation(args.kwarg.annotation, frame, f"`**{args.kwarg.arg}`"))
    return out


def generic_value(function: Function, argument: ast.arg, default: ast.expr | None, frame: Frame) -> Value:
    name = argument.arg
    place = CPU if frame.host else ASSUMED
    value = from_annotation(argument.annotation, frame, f"parameter `{name}` of `{function.name}`", place)
    by_name = policy.by_name(name, frame, argument)
    flag = isinstance(default, ast.Constant) and isinstance(default.value, bool)
    if flag and tensors(value):
        return BOOL  # an annotation that its own default contradicts
    if value is not UNKNOWN and value is not NONE:
        found = tensors(value)
        if found and by_name is not None and tensors(by_name):
            value = join_all(
                [
                    *(t.but(place=CPU, why=tensors(by_name)[0].why) if t.place == ASSUMED else t for t in found),
                    *others(value),
                ]
            )
        elif isinstance(value, Sequence) and value.element in (None, UNKNOWN) and value.items is None:
            value = elements_by_use(name, value, function, frame, argument)
        return with_default(value, default)
    if by_name is not None:
        return by_name
    proven = policy.evidence(name, function.scan, frame, argument)
    if proven is not None:
        return with_default(proven, default)
    if isinstance(default, ast.Constant) and default.value is not None and default.value is not Ellipsis:
        kind = type(default.value)
        return (
            Number(kind.__name__)
            if kind in (bool, int, float, complex)
            else Const(default.value)
            if kind is not str
            else UNKNOWN
        )
    return elements_by_use(name, UNKNOWN, function, frame, argument)


def others(value: Value) -> list[Value]:
    return [m for m in members(value) if not isinstance(m, Tensor)]


def elements_by_use(name: str, value: Value, function: Function, frame: Frame, node: ast.AST) -> Value:
    """Return a list of tensors where the name's elements are used as tensors; the value unchanged otherwise."""
    for element, source in function.scan.elements.items():
        if source == name:
            proven = policy.evidence(element, function.scan, frame, node)
            if proven is not None:
                return Sequence("list", element=proven)
    return value


def with_default(value: Value, default: ast.expr | None) -> Value:
    return (
        join(value, NONE)
        if isinstance(default, ast.Constant) and default.value is None and value is not UNKNOWN
        else value
    )


def function_frame(function: Function) -> Frame:
    frame = Frame(function.module.project, function.module, function, function.owner, function.closure)
    facts = facts_of(function)
    frame.default_place = function.module.frame.default_place
    frame.host = facts.host
    frame.tracks = facts.streams
    if facts.setup:
        frame.context = "setup"
    return frame


def analyze(function: Function) -> Value:
    """Evaluate a function for itself, with nothing known of its callers; return its result."""
    return summary(function, None).value


def call_function(function: Function, arguments: Arguments, node: ast.expr, frame: Frame) -> Value:
    """Return the result of a call into the project, and report the waits inside if the callee is not checked."""
    if frame.project.wrappers:
        name = dotted_name(function)
        wrapper = frame.project.wrappers.get(name)
        if wrapper is not None:
            return call_wrapper(wrapper, name, function, arguments, node, frame)
    if frame.function is not None:
        frame.project.callers.setdefault(function, set()).add(frame.function)
    if function.name == "__init__" and function.owner is not None and not frame.muted:
        given = Arguments(arguments.values[1:], arguments.nodes[1:], arguments.keywords, open=arguments.open)
        fields.note(function.owner, given, frame.module is function.module)
    saved = function.module.project.tested
    function.module.project.tested = saved or (frame.module.is_test and not function.module.is_test)
    try:
        found = summary(function, arguments, frame)
    finally:
        function.module.project.tested = saved
    frame.pass_on(found.effects, node, function)
    if found.pace:
        called(found.pace, function, node, frame)
    if found.log and not frame.muted:
        return replay(found.value, found.log, function, arguments, node, frame)
    return found.value


def summary(function: Function, arguments: Arguments | None, caller: Frame | None = None) -> Summary:
    """Return the memoised summary for this shape of arguments, evaluating the body if it is new."""
    project = function.module.project
    shapes = function.shapes
    facts = facts_of(function)
    if facts.kernel:
        return Summary(declared(function), [])
    if facts.base is None:
        facts.base = {}
        facts.base = generic_values(function, function_frame(function))
    base = facts.base
    changed = differing(bind(function, arguments, base), base) if arguments is not None else {}
    key = shape_key(changed)
    have = shapes.get(key)
    if have is None and key != GENERIC and len(shapes) > MAX_SHAPES:
        changed = differing({name: coarser(value) for name, value in changed.items()}, base)
        if len(shapes) > 2 * MAX_SHAPES and shape_key(changed) not in shapes:
            changed = surprises(changed, base) if len(shapes) <= 3 * MAX_SHAPES else {}
        key = shape_key(changed)
        have = shapes.get(key)
    if arguments is not None and not function.called:
        spent = project.depth >= MAX_DEPTH or project.runs >= project.allowance
        note_call(function, changed, base, caller, key == GENERIC or spent)
    if have is not None and (project.tested or not have.tested):
        return have  # type: ignore[no-any-return]
    if project.depth >= MAX_DEPTH or project.runs >= project.allowance:
        return Summary(declared(function), [])
    shapes[key] = Summary(declared(function), [])  # what a recursive call sees
    project.depth += 1
    project.runs += 1
    tested = project.tested
    project.tested = tested and key != GENERIC
    try:
        shapes[key] = run(function, {**base, **changed}, generic=key == GENERIC)
        shapes[key].tested = project.tested
    finally:
        project.depth -= 1
        project.tested = tested
    return shapes[key]  # type: ignore[no-any-return]


def note_call(
    function: Function, changed: dict[str, Value], base: dict[str, Value], caller: Frame | None, generic: bool
) -> None:
    """Note whether a call says more of the arguments than the callee alone, and whether it contradicts that."""
    if generic and caller is not None and caller.function is not None and not caller.partial:
        if caller.function is not function:
            function.askers.add(caller.function)
        return
    function.called = generic
    lists, hosts = False, []
    for name, value in changed.items():
        assumed = tensors(base[name])
        lists = lists or (bool(assumed) and any(isinstance(m, Sequence) for m in members(value)))
        if is_host_tensor(value) and (base[name] is UNKNOWN or any(t.waits for t in assumed)):
            hosts.append(value)
    if lists or (caller is not None and any(speaks_for_all(function, value, caller) for value in hosts)):
        function.contradicted = function.contradicted is not False
    elif not hosts:
        function.contradicted = False


def is_host_tensor(value: Value) -> bool:
    found = tensors(value)
    return bool(found) and all(t.place == CPU for t in found)


def speaks_for_all(function: Function, value: Value, caller: Frame) -> bool:
    """Return whether the host tensor that a caller gives is what all give.

    It is not in a test or an example, nor for what loops run, nor where a caller passes on a parameter of its own.
    """
    if function.module.project.hot.have(function.name, function.module.name, function.qualname):
        return False
    if function.owner is not None and function.kind != "static":
        return False
    if caller.function is None or caller.function.name == "main":
        return False
    if any(value is own for own in (facts_of(caller.function).base or {}).values()):
        return False
    in_test = caller.module.is_test and not function.module.is_test
    return not in_test and policy.is_surely_host(value, caller)


def differing(given: dict[str, Value], base: dict[str, Value]) -> dict[str, Value]:
    """Return the arguments that are not what the parameter is without a caller."""
    return {name: value for name, value in given.items() if name in base and value.key != base[name].key}


def shape_key(changed: dict[str, Value]) -> Any:
    """Return the key of a summary: the arguments that differ from the generic ones."""
    return tuple(sorted((name, value.key) for name, value in changed.items())) if changed else GENERIC


def surprises(changed: dict[str, Value], base: dict[str, Value]) -> dict[str, Value]:
    """Return the parameters that get a GPU tensor for what is declared as a number."""
    return {
        name: value
        for name, value in changed.items()
        if any(t.place & GPU and not t.place & CPU for t in tensors(value))
        and any(is_number(m) for m in members(base[name]))
    }


def declared(function: Function) -> Value:
    """Return what a function's annotation promises."""
    facts = facts_of(function)
    if facts.promised is None:
        facts.promised = UNKNOWN
        node = function.node
        if not isinstance(node, ast.Lambda) and node.returns is not None:
            frame = function_frame(function)
            place = CPU if facts.host else ASSUMED
            facts.promised = from_annotation(node.returns, frame, f"the result of `{function.name}`", place)
    return facts.promised


def bind(function: Function, arguments: Arguments, base: dict[str, Value]) -> dict[str, Value]:
    """Return the parameters that a call gives, weakened so that few shapes differ; unknown ones are left out."""
    facts = facts_of(function)
    out: dict[str, Value] = dict(zip(facts.names, arguments.values, strict=False))
    out.update(arguments.keywords)
    args, rest = function.node.args, arguments.values[len(facts.names) :]
    if args.vararg is not None and rest and not arguments.open:
        out[args.vararg.arg] = Sequence("tuple", tuple(rest))
    extra = (
        {name: value for name, value in arguments.keywords.items() if name not in base}
        if args.kwarg is not None
        else {}
    )
    if args.kwarg is not None and extra:
        out[args.kwarg.arg] = Mapping(extra, UNKNOWN if arguments.open else None)
    if not arguments.open:
        for name, default in facts.defaults:
            out.setdefault(name, default)
    weak = {name: weaken(as_parameter(value, name), base.get(name)) for name, value in out.items()}
    for name, given in out.items():
        is_list = isinstance(given, Sequence) and given.kind == "list"
        if is_list and weak[name] in (None, UNKNOWN) and name in function.scan.indices:
            weak[name] = Sequence("list")  # its elements do not matter: as an index it is uploaded
    return {name: value for name, value in weak.items() if value is not None}


def weaken(value: Value, generic: Value | None) -> Value | None:
    """Return an argument as summaries are keyed by it: without numbers' values, `generic` for the unknown."""
    if generic is not None and any(t.place != CUDA and t.dtype != "bool" for t in tensors(value)) and refuses(generic):
        return generic
    if isinstance(value, (Tensor, Union)) and generic is not None and is_switch(generic) and counts(value):
        return generic  # no flag is given counts or scores: the method that runs takes other arguments
    if isinstance(value, Tensor):
        known = generic is not None and any(t.place != CPU for t in tensors(generic))
        return generic if value.sure > LIKELY or (value.place == ASSUMED and known) else value
    if isinstance(value, Number) and value.clock is not None:
        return Number(value.kind)
    if isinstance(value, Const):
        if isinstance(value.value, bool) or value.value is None:
            return value
        return INT if isinstance(value.value, int) else FLOAT if isinstance(value.value, float) else value
    if isinstance(value, (Union, Sequence, Mapping)):
        if tensors(value) or holds_tensor(value):
            return value
        return Sequence(value.kind) if contradicts(value, generic) else generic  # type: ignore[union-attr]
    if on_host(value):
        found = tensors(generic) if generic is not None else []
        return found[0].but(place=CPU) if found else value
    if isinstance(value, (UnknownValue, Flag)):
        return None
    return value


def refuses(generic: Value) -> bool:
    """Return whether a parameter is said to be a flag, a word or a container: an assumed tensor is none of them.

    A number may well be given as a tensor of one element, and a flag as the outcome of a comparison.
    """
    said = [m for m in members(generic) if m is not NONE]
    return bool(said) and all(
        isinstance(m, (Sequence, Mapping, Text, Flag))
        or (isinstance(m, Number) and m.kind == "bool")
        or (isinstance(m, Const) and isinstance(m.value, (bool, str)))
        for m in said
    )


def contradicts(value: Value, generic: Value | None) -> bool:
    """Return whether a caller gives a list without tensors where the callee alone would be taken to get tensors."""
    if not isinstance(value, Sequence) or generic is None:
        return False
    if tensors(generic):
        return not any(isinstance(m, Sequence) for m in members(generic))
    held = tensors(generic.each()) if isinstance(generic, Sequence) else []
    return bool(held) and not any(isinstance(m, UnknownValue) for m in members(value.each()))


def coarser(value: Value) -> Value:
    """Return an argument without what tells many calls of one function apart: words, flags, dtypes, dimensions."""
    if isinstance(value, Const):
        word = isinstance(value.value, str) and not names_device(value.value)
        return TEXT if word else BOOL if isinstance(value.value, bool) else value
    if isinstance(value, Instance):
        return Instance(value.cls)
    return (
        value.but(dtype=None, ndim=None, memory=None, buffers=None, size=None) if isinstance(value, Tensor) else value
    )


def counts(value: Value) -> bool:
    return any(t.dtype != "bool" for t in tensors(value))


def is_switch(value: Value) -> bool:
    """Return whether a parameter is a bool, or None."""
    if isinstance(value, (Tensor, Instance, UnknownValue)):
        return False
    rest = [m for m in members(value) if m is not NONE]
    return bool(rest) and all(is_number(m) and number_kind(m) == "bool" for m in rest)


def holds_tensor(value: Value) -> bool:
    if isinstance(value, (Sequence, Mapping)):
        named = value.items.values() if isinstance(value, Mapping) and value.items else ()
        if any(isinstance(v, Device) or (isinstance(v, Const) and names_device(v.value)) for v in named):
            return True
        return any(t.place & GPU or t.place == CPU for t in tensors(value.each()))
    return any(m is NONE for m in members(value))


def run(function: Function, values: dict[str, Value], generic: bool) -> Summary:
    """Evaluate a function's body with its parameters bound."""
    frame = function_frame(function)
    frame.partial = not generic
    frame.env.update(values)
    node = function.node
    if isinstance(node, ast.Lambda):
        frame.statement = function.closure.statement if function.closure is not None else None
        frame.context = (
            function.closure.context
            if function.closure is not None and function.closure.context != "setup"
            else frame.context
        )
        return Summary(evaluate(node.body, frame), frame.effects, tuple(frame.log), frame.pace)
    bind_definitions(node.body, frame)
    falls = run_block(node.body, frame)
    if frame.suspects:
        conclude(frame)
    if frame.log and frame.owner is not None:
        sharing.keep(frame)
    return Summary(result(function, frame, falls, values), frame.effects, tuple(frame.log), frame.pace)


def result(function: Function, frame: Frame, falls: bool, given: dict[str, Value]) -> Value:
    if function.scan.yields:
        return Sequence("list", element=join_all(frame.yields) if frame.yields else UNKNOWN)
    value = (
        join_all([*frame.returns, NONE] if falls and frame.returns else frame.returns)
        if frame.returns
        else NONE
        if falls
        else UNKNOWN
    )
    if value is UNKNOWN or (value is NONE and not function.scan.stores):
        promised = declared(function)
        return value if promised is UNKNOWN else refined(promised, function, given)
    return value


def refined(promised: Value, function: Function, given: dict[str, Value]) -> Value:
    """Return an annotated result with what else is known of it: given the CPU, or only host tensors, it is there."""
    if isinstance(promised, Sequence) and promised.items is not None:
        return Sequence(promised.kind, tuple(refined(item, function, given) for item in promised.items))
    if not isinstance(promised, Tensor):
        return promised
    places = {t.place for v in given.values() for t in tensors(v)}
    place = CPU if places == {CPU} or policy.asks_for_host(Arguments([], [], given)) else promised.place
    dtype = "int" if promised.dtype is None and policy.gives_indices(function.name) else promised.dtype
    return promised.but(place=place, dtype=dtype)


def instantiate(cls: Class, arguments: Arguments, node: ast.expr, frame: Frame) -> Value:
    """Return an instance of a project class; its constructor is evaluated for itself, with the other methods."""
    method = find_method(cls, "__init__") or find_method(cls, "__post_init__")
    if method is not None and frame.function is not None:
        frame.project.callers.setdefault(method, set()).add(frame.function)
    if any(t.waits for value, _ in arguments.every() for t in tensors(value)):
        keep_given(cls, arguments)
    if not frame.muted:
        fields.note(cls, arguments, frame.module is cls.module)
    return fields.made(cls, arguments)


def keep_given(cls: Class, arguments: Arguments) -> None:
    """Join the GPU tensors that a constructor is given into attributes of which nothing else says what they are."""
    for position, (parameter, attribute) in enumerate(plain_fields(cls)):
        value = arguments.get(position, parameter)
        if attribute and value is not None and any(t.waits for t in tensors(value)):
            record(cls, attribute, value)


def call_bound(bound: Bound, arguments: Arguments, node: ast.expr, frame: Frame) -> Value:
    value = call_function(bound.function, arguments.before(bound.receiver), node, frame)
    if isinstance(bound.receiver, Instance) and facts_of(bound.function).promise:
        given = call_heirs(bound.receiver.cls, bound.function.name, arguments, node, frame)
        return given if given is not None and value is UNKNOWN else value
    return value


def call_heirs(cls: Class, name: str, arguments: Arguments, node: ast.expr, frame: Frame) -> Value | None:
    """Return what the methods give that classes derived from this one have under a name; None if none has."""
    found = [
        call_function(method, arguments.before(Instance(method.owner)), node, frame)
        for method in implementations(cls, name)
        if method.owner is not None
    ]
    return join_all(found) if found else None
