"""Classes of the project: bases, members, and attributes over all methods that assign them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from syncfinder.infer import policy
from syncfinder.infer.annotations import from_annotation, tensor_like
from syncfinder.infer.dispatch import evaluate
from syncfinder.infer.frame import Frame
from syncfinder.infer.hinting import apply_hint
from syncfinder.infer.names import last_name
from syncfinder.infer.values import (
    BOOL,
    NONE,
    TEXT,
    UNKNOWN,
    Api,
    Bound,
    Class,
    Function,
    Instance,
    Method,
    Super,
    Tensor,
    Value,
    join,
    join_all,
    members,
    tensor_in,
    tensors,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from syncfinder.infer.project import Module

MAX_BASES = 24
MAX_HEIRS = 8
ANYTHING = {"Any", "object"}  # annotations that say nothing
PROPERTIES = {"property", "cached_property", "functools.cached_property", "abstractproperty", "abc.abstractproperty"}


def class_frame(cls: Class) -> Frame:
    """Return a frame in which the class body's expressions can be evaluated."""
    frame = Frame(cls.module.project, cls.module, None, cls, cls.closure)
    frame.qualname = cls.qualname
    frame.context = "setup"
    return frame


def members_of(cls: Class) -> dict[str, list[ast.stmt]]:
    """Return the class body's bindings by name."""
    if cls.members is None:
        cls.members = {}
        collect(cls.node.body, cls.members)
    return cls.members


def collect(body: list[ast.stmt], out: dict[str, list[ast.stmt]]) -> None:
    for statement in body:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            out.setdefault(statement.name, []).append(statement)
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            out.setdefault(statement.target.id, []).append(statement)
        elif isinstance(statement, ast.Assign):
            for target in statement.targets:
                if isinstance(target, ast.Name):
                    out.setdefault(target.id, []).append(statement)
        elif isinstance(statement, (ast.If, ast.Try)):
            collect(statement.body, out)
            collect(statement.orelse, out)


def bases_of(cls: Class) -> tuple[Value, ...]:
    """Return the values of a class's bases."""
    if cls.bases is None:
        cls.bases = ()  # a class that names itself among its bases must not loop
        frame = class_frame(cls)
        frame.muted = 1
        found = []
        for base in cls.node.bases:
            value = evaluate(base.value if isinstance(base, ast.Subscript) else base, frame)
            found.append(value)
        cls.bases = tuple(found)
    return cls.bases


def lineage(cls: Class) -> Iterator[Value]:
    """Yield the class, then its bases depth first, each once: project classes and library names."""
    seen: set[object] = set()
    stack: list[Value] = [cls]
    while stack and len(seen) < MAX_BASES:
        value = stack.pop(0)
        if value.key in seen:
            continue
        if any(inherits(later, value) for later in stack):
            continue  # a class comes after all that derive from it
        seen.add(value.key)
        yield value
        if isinstance(value, Class):
            stack = [*bases_of(value), *stack]


def inherits(value: Value, ancestor: Value) -> bool:
    """Return whether a class derives from another."""
    if not isinstance(value, Class):
        return False
    return ancestor.key in (value.ancestors if value.ancestors is not None else ancestors_of(value))


def ancestors_of(cls: Class) -> set[object]:
    """Return the keys of all that a class derives from; kept, unless bases among them are being evaluated just now."""
    keys: set[object] = set()
    seen: set[object] = set()
    stack: list[Value] = [cls]
    whole = True
    while stack and len(seen) < MAX_BASES:
        value = stack.pop()
        if isinstance(value, Class) and value.key not in seen:
            seen.add(value.key)
            bases = bases_of(value)
            whole = whole and len(bases) == len(value.node.bases)
            stack.extend(bases)
            keys.update(base.key for base in bases)
    if whole:
        cls.ancestors = keys
    return keys


def is_module(cls: Class) -> bool:
    """Return whether a class is a torch.nn.Module, as far as its bases can be seen."""
    return any(
        isinstance(b, Api) and b.name.startswith(("torch.nn.", "lightning", "pytorch_lightning")) for b in lineage(cls)
    )


def is_dataset(cls: Class) -> bool:
    """Return whether a class is a data set: its tensors are on the host."""
    return any(isinstance(b, Api) and b.name.startswith("torch.utils.data.") for b in lineage(cls))


def method_of(cls: Class, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Function:
    """Return the function value of a method, made once."""
    module = cls.module
    have = module.functions.get(id(node))
    if have is None:
        have = module.functions[id(node)] = Function(node, module, f"{cls.qualname}.{node.name}", cls.closure, cls)
        decorate(have)
    return have


def decorate(function: Function) -> None:
    """Read off the decorators what kind of attribute a function is."""
    node = function.node
    if isinstance(node, ast.Lambda):
        return
    function.decorators = tuple(ast.unparse(d.func if isinstance(d, ast.Call) else d) for d in node.decorator_list)
    for name in function.decorators:
        if name in PROPERTIES or name.endswith((".setter", "_property")):
            function.kind = "property"
        elif name == "staticmethod":
            function.kind = "static"
        elif name == "classmethod":
            function.kind = "class"
    if function.name in ("__new__", "__class_getitem__", "__init_subclass__") and function.owner is not None:
        function.kind = "class"


def find_method(cls: Class, name: str, after: Class | None = None) -> Function | None:
    """Return the method that a name resolves to along the bases; with `after`, only past that class (super)."""
    skipping = after is not None
    for value in lineage(cls):
        if skipping:
            skipping = value is not after
            continue
        if isinstance(value, Class):
            for statement in members_of(value).get(name, ()):
                if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)) and not is_setter(statement):
                    return method_of(value, statement)
    return None


def heirs_of(cls: Class) -> list[Class]:
    """Return the classes beside a class, in its own module, that derive from it; looked up once."""
    if cls.heirs is None:
        cls.heirs = []
        cls.heirs = [c for c in list(cls.module.classes.values()) if c.node.bases and inherits(c, cls)]
    return cls.heirs


def implementations(cls: Class, name: str) -> list[Function]:
    """Return the methods that may run where a class only promises one, or leaves it to the classes derived from it."""
    found: list[Function] = []
    for heir in heirs_of(cls):
        for statement in members_of(heir).get(name, ()):
            if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)) and not is_setter(statement):
                method = method_of(heir, statement)
                if method.kind == "function" and not is_promise(method):
                    found.append(method)
    return found[:MAX_HEIRS]


def is_promise(function: Function) -> bool:
    """Return whether a method is abstract: declared so, or one that only raises NotImplementedError."""
    if any(name.endswith("abstractmethod") for name in function.decorators):
        return True
    last = function.node.body[-1] if isinstance(function.node.body, list) else None
    if not isinstance(last, ast.Raise) or last.exc is None or len(function.scan.stores) > 0:
        return False
    raised = last.exc.func if isinstance(last.exc, ast.Call) else last.exc
    return last_name(raised) == "NotImplementedError" and len(function.node.body) <= 2  # type: ignore[arg-type]


def is_setter(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(isinstance(d, ast.Attribute) and d.attr in ("setter", "deleter") for d in node.decorator_list)


def stores_of(cls: Class) -> dict[str, list[Function]]:
    """Return, for each attribute, the methods of this class that assign it."""
    if cls.stores is None:
        cls.stores = {}
        for statements in list(members_of(cls).values()):
            for statement in statements:
                if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    method = method_of(cls, statement)
                    for name in method.scan.stores:
                        cls.stores.setdefault(name, []).append(method)
    return cls.stores


def stored(cls: Class, name: str) -> Value | None:
    """Return the join of what the class's methods assign to an attribute; None if none does."""
    methods = stores_of(cls).get(name)
    if methods is None:
        return None
    if name not in cls.running:
        from syncfinder.infer.calls import analyze  # calls looks up methods here

        cls.running.add(name)
        for method in methods:
            analyze(method)
    return cls.attributes.get(name, UNKNOWN)


def plain_fields(cls: Class) -> list[tuple[str, str]]:
    """Return a constructor's parameters in order, each with the attribute that holds it and that nothing else tells.

    The attribute is empty where the parameter's type is written, or where it is not simply kept.
    """
    if cls.given is None:
        method = find_method(cls, "__init__")
        cls.given = declared_fields(cls) if method is None else kept_parameters(method)
    return cls.given


def kept_parameters(method: Function) -> list[tuple[str, str]]:
    node = method.node
    kept: dict[str, str] = {}
    for statement in node.body if isinstance(node.body, list) else ():
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Name):
            target = statement.targets[0]
            if isinstance(target, ast.Attribute) and last_name(target.value) == node.args.args[0].arg:
                kept[statement.value.id] = target.attr
    plain = [*node.args.posonlyargs, *node.args.args][1:]
    return [(a.arg, kept.get(a.arg, "") if a.annotation is None else "") for a in [*plain, *node.args.kwonlyargs]]


def declared_fields(cls: Class) -> list[tuple[str, str]]:
    """Return a dataclass's fields."""
    out = []
    for owner in reversed([c for c in lineage(cls) if isinstance(c, Class)]):
        for name, statements in members_of(owner).items():
            last = statements[-1]
            if isinstance(last, ast.AnnAssign):
                out.append((name, name if last_name(last.annotation) in ANYTHING else ""))
    return out


def record(cls: Class, name: str, value: Value) -> None:
    """Join a value into an attribute."""
    have = cls.attributes.get(name)
    if have is None or have is value:
        cls.attributes[name] = value
        return
    copied = is_copy(have, value) or is_copy(value, have)
    cls.attributes[name] = both(have, value) if copied else join(have, value)


def copied_later(said: Value, assigned: Value | None) -> Value:
    """Return what a declared field holds whose GPU tensor a method replaces by its unfinished host copy."""
    copy = tensor_in(assigned) if assigned is not None else None
    if assigned is None or copy is None or not (copy.pending and copy.memory == "pinned"):
        return said
    return both(said, assigned)


def both(first: Value, then: Value) -> Value:
    """Join a GPU tensor and its host copy: who reads the attribute reads the copy."""
    joined = join(first, then)
    return join_all([m.but(memory="pinned") if isinstance(m, Tensor) else m for m in members(joined)])


def is_copy(first: Value, then: Value) -> bool:
    """Return whether an attribute holds a GPU tensor first and its unfinished host copy, in pinned memory, then."""
    a, b = tensor_in(first), tensor_in(then)
    return a is not None and b is not None and a.waits and b.pending and not b.waits


def holders_of(cls: Class, name: str) -> list[Class]:
    """Return the classes along the bases that bind an attribute, in their bodies or methods; looked up once."""
    found = cls.holders.get(name)
    if found is None:
        classes = [c for c in lineage(cls) if isinstance(c, Class)]
        found = cls.holders[name] = [c for c in classes if name in members_of(c) or name in stores_of(c)]
    return found


def instance_attribute(receiver: Instance, name: str, frame: Frame, node: ast.expr) -> Value:
    """Return `receiver.name`: a method, a property's result, a declared field, or what methods assign."""
    if name in receiver.fields and name not in receiver.cls.moved:
        return receiver.fields[name]
    found: list[Value] = []
    for value in holders_of(receiver.cls, name):
        statements = members_of(value).get(name)
        if statements:
            member = class_member(value, statements, receiver, name, frame, node)
            if member is not None:
                said = isinstance(statements[-1], ast.AnnAssign) and member is not UNKNOWN and member is not NONE
                if said and value.module.speaks_copies and name in stores_of(value):
                    member = copied_later(member, stored(value, name))
                if said or isinstance(member, (Bound, Function)) or tensor_like(member) or found:
                    return member if not found else join_all([*found, member])
                found.append(member)
        assigned = stored(value, name)
        if assigned is not None:
            found.append(assigned)
            if assigned is not UNKNOWN:
                break
    known = [v for v in found if v is not UNKNOWN and v is not NONE]
    if known:
        return join_all([v for v in found if v is not UNKNOWN])
    return attribute_by_name(receiver, name, frame, node, found)


def attribute_by_name(receiver: Instance, name: str, frame: Frame, node: ast.expr, found: list[Value]) -> Value:
    guess = policy.by_name(name, frame, node)
    if guess is not None:
        return guess
    if found:
        return join_all(found)
    if is_module(receiver.cls):
        if name == "training":
            return BOOL
        return (
            Method(receiver, name)
            if frame.project.model.library_class("torch.nn.Module") is not None and name in MODULE_METHODS
            else UNKNOWN
        )
    return UNKNOWN


MODULE_METHODS = {
    "to", "cuda", "cpu", "parameters", "named_parameters", "buffers", "named_buffers", "register_buffer",
    "register_parameter", "eval", "train", "half", "float", "bfloat16", "children", "modules", "named_modules",
    "state_dict", "load_state_dict", "requires_grad_", "apply", "zero_grad", "get_submodule",
}  # fmt: skip


def class_member(
    cls: Class, statements: list[ast.stmt], receiver: Value, name: str, frame: Frame, node: ast.expr
) -> Value | None:
    """Return what a class body binds a name to, as seen from a receiver."""
    for statement in reversed(statements):
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if is_setter(statement):
                continue
            return bind_method(method_of(cls, statement), receiver, frame, node)
        if isinstance(statement, ast.AnnAssign):
            if name in cls.attributes and name not in stores_of(cls):
                return cls.attributes[name]
            value = from_annotation(statement.annotation, class_frame(cls), f"`{name}`")
            value = apply_hint(cls.module, statement, name, value)
            host = policy.by_name(name, frame, statement)
            if host is not None and tensors(value) and tensors(host):
                value = join_all([tensors(host)[0].but(dtype=t.dtype, ndim=t.ndim) for t in tensors(value)])
            cls.attributes.setdefault(name, value)
            return value
        if isinstance(statement, ast.ClassDef):
            return class_value(statement, cls.module, f"{cls.qualname}.{statement.name}", cls.closure)
        if isinstance(statement, ast.Assign):
            inner = class_frame(cls)
            inner.muted = 1
            value = evaluate(statement.value, inner)
            if isinstance(value, Function) and value.owner is None and isinstance(receiver, Instance):
                return Bound(value, receiver)
            return TEXT if isinstance(receiver, Class) and value is UNKNOWN and name.isupper() else value
    return None


def bind_method(function: Function, receiver: Value, frame: Frame, node: ast.expr) -> Value:
    """Return a method as an attribute access gives it: bound, plain, or a property's result."""
    if function.kind == "property":
        from syncfinder.infer.calls import Arguments, call_function  # calls looks up methods here

        return call_function(function, Arguments([receiver], [None]), node, frame)
    if function.kind == "static":
        return function
    if function.kind == "class":
        return Bound(function, receiver.cls if isinstance(receiver, Instance) else receiver)
    return Bound(function, receiver) if isinstance(receiver, Instance) else function


def class_attribute(cls: Class, name: str, frame: Frame, node: ast.expr) -> Value:
    """Return `cls.name` for the class object itself."""
    for value in lineage(cls):
        if isinstance(value, Class):
            statements = members_of(value).get(name)
            if statements:
                found = class_member(value, statements, cls, name, frame, node)
                if found is not None:
                    return found
    return UNKNOWN


def super_attribute(value: Super, name: str, frame: Frame, node: ast.expr) -> Value:
    """Return `super().name`."""
    receiver = value.receiver
    if isinstance(receiver, Instance):
        method = find_method(receiver.cls, name, after=value.owner)
        if method is not None:
            return bind_method(method, receiver, frame, node)
        return Method(receiver, name) if is_module(receiver.cls) and name in MODULE_METHODS else UNKNOWN
    return UNKNOWN


def class_value(node: ast.ClassDef, module: Module, qualname: str, closure: Frame | None) -> Class:
    """Return the class value of a definition, made once."""
    have = module.classes.get(id(node))
    if have is None:
        have = module.classes[id(node)] = Class(node, module, qualname, closure)
    return have
