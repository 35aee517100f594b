"""What the fields of an object are where its constructor is given host values, against types that do not say where."""

from __future__ import annotations

import ast
from functools import cache
from typing import TYPE_CHECKING

from syncfinder.infer.annotations import from_annotation
from syncfinder.infer.classes import class_frame, find_method, is_module, lineage, members_of, stores_of
from syncfinder.infer.names import last_name
from syncfinder.infer.values import (
    CPU,
    CUDA,
    GPU,
    NONE,
    Class,
    Const,
    Device,
    Function,
    Instance,
    Mapping,
    Sequence,
    Tensor,
    UnknownValue,
    Value,
    members,
    tensors,
)

if TYPE_CHECKING:
    from syncfinder.infer.calls import Arguments
    from syncfinder.infer.project import Project
    from syncfinder.sites.site import Reason

CONSTRUCTORS = ("__init__", "__post_init__", "__new__")


def kept_fields(cls: Class) -> list[tuple[str, str]]:
    """Return a constructor's parameters in order, each with the attribute that holds it from then on.

    The attribute is empty where the parameter is not simply kept, or where methods may put something else there.
    """
    if cls.kept is None:
        method = find_method(cls, "__init__")
        pairs = fields_of(cls) if method is None else kept_by(method)
        loose = is_module(cls) or sets_by_name(cls)
        cls.kept = [(name, "" if loose or not attribute or is_set(cls, attribute) else attribute)
                    for name, attribute in pairs]  # fmt: skip
    return cls.kept


def fields_of(cls: Class) -> list[tuple[str, str]]:
    """Return the fields of a class whose constructor is made from them."""
    names: dict[str, None] = {}
    for owner in reversed([c for c in lineage(cls) if isinstance(c, Class)]):
        for name, statements in members_of(owner).items():
            last = statements[-1]
            if isinstance(last, ast.AnnAssign) and "ClassVar" not in ast.unparse(last.annotation):
                names[name] = None
    return [(name, name) for name in names]


def kept_by(method: Function) -> list[tuple[str, str]]:
    """Return the parameters of an `__init__`, each with the one attribute that it is assigned to as it is."""
    args = method.node.args
    plain = [*args.posonlyargs, *args.args]
    kept: dict[str, str] = {}
    for statement in method.node.body if isinstance(method.node.body, list) else ():
        target = statement.targets[0] if isinstance(statement, ast.Assign) else getattr(statement, "target", None)
        source = getattr(statement, "value", None)
        own = isinstance(target, ast.Attribute) and bool(plain) and last_name(target.value) == plain[0].arg
        if own and isinstance(target, ast.Attribute) and isinstance(source, ast.Name):
            kept[source.id] = "" if len(method.scan.stores.get(target.attr, ())) > 1 else target.attr
    return [(a.arg, kept.get(a.arg, "")) for a in [*plain[1:], *args.kwonlyargs]]


def is_set(cls: Class, attribute: str) -> bool:
    """Return whether a method other than the constructor assigns an attribute."""
    return any(
        method.name != "__init__"
        for owner in lineage(cls)
        if isinstance(owner, Class)
        for method in stores_of(owner).get(attribute, ())
    )


def sets_by_name(cls: Class) -> bool:
    """Return whether methods of a class assign attributes whose names they compute: setattr(self, name, ...)."""
    return any(
        calls_setattr(owner.node)
        for owner in lineage(cls)
        if isinstance(owner, Class) and "setattr" in owner.module.file.text
    )


@cache
def calls_setattr(node: ast.ClassDef) -> bool:
    return any(last_name(part) in ("setattr", "__setattr__") for part in ast.walk(node))


def is_host(value: Value) -> bool:
    """Return whether a value is a tensor on the host, a container of such, the host as a device, or an object of it."""
    kind = type(value)
    if kind is Tensor:
        return value.place == CPU  # type: ignore[attr-defined, no-any-return]
    if kind is Device:
        return value.place == CPU  # type: ignore[attr-defined, no-any-return]
    if kind is Const:
        return value.value == "cpu"  # type: ignore[attr-defined, no-any-return]
    if kind is Instance:
        return bool(value.fields)  # type: ignore[attr-defined]
    if isinstance(value, Sequence):
        parts = value.parts()
        return bool(parts) and all(type(p) is Tensor and p.place == CPU for p in parts)
    if isinstance(value, Mapping):
        each = value.each()
        return type(each) is Tensor and each.place == CPU
    rest = [m for m in members(value) if m.key != NONE.key]
    return len(members(value)) > 1 and bool(rest) and all(is_host(m) for m in rest)


def made(cls: Class, arguments: Arguments) -> Instance:
    """Return the instance that a constructor makes: it knows the fields that are given host values."""
    if not any(is_host(value) for value, _ in arguments.every()):
        return Instance(cls)
    fields = {}
    for position, (parameter, attribute) in enumerate(kept_fields(cls)):
        value = arguments.get(position, parameter)
        if attribute and value is not None and is_host(value):
            fields[attribute] = value
    return Instance(cls, fields)


def without(value: Value, names: dict[str, Value]) -> Value:
    """Return an object of which some fields are replaced by what is not known of their place."""
    if isinstance(value, Instance) and value.fields:
        fields = {name: held for name, held in value.fields.items() if name not in names}
        return Instance(value.cls, {**fields, **{n: v for n, v in names.items() if is_host(v)}})
    return value


def note(cls: Class, arguments: Arguments, own_module: bool) -> None:
    """Remember where the tensors are that a constructor is given, for `disproved`."""
    places = cls.given_places
    for position, (parameter, attribute) in enumerate(kept_fields(cls)):
        if not attribute or (parameter in places and places[parameter] is None):
            continue
        value = arguments.get(position, parameter)
        if value is None:
            if arguments.open:
                places[parameter] = None
        elif isinstance(value, UnknownValue) and not value.host:
            places[parameter] = None
        elif any(t.place & GPU for t in tensors(value)):
            add_other(places, parameter, [t for t in tensors(value) if t.place & GPU])
        elif own_module and is_host(value):
            found = places.get(parameter)
            places[parameter] = (True, found[1] if found is not None else set())


def add_other(places: dict[str, tuple[bool, set[Reason]] | None], parameter: str, given: list[Tensor]) -> None:
    """Remember why a parameter is given GPU tensors, unless that is written in the code."""
    here, others = places.get(parameter) or (False, set())
    certain = any(not t.why or t.place & CUDA for t in given)
    places[parameter] = None if certain or len(others) > 8 else (here, others | {t.why[0] for t in given})


def disproved(project: Project) -> set[Reason]:
    """Return the annotations of fields that say "tensor" where all constructor calls in the project give host tensors.

    At least one such call must stand beside the class. Calls that hand on what the field holds do not count.
    """
    if project.disproved is None:
        project.disproved = set()
        classes = [c for m in project.modules.values() if m is not None for c in m.classes.values()]
        moved = {(owner.key, name) for c in classes if c.moved for owner in lineage(c) for name in c.moved}
        for cls in classes:
            kept = dict(kept_fields(cls)) if cls.given_places else {}
            for parameter, found in cls.given_places.items():
                if found is not None and found[0] and (cls.key, kept[parameter]) not in moved:
                    reasons = said(cls, parameter)
                    if found[1] <= reasons:
                        project.disproved |= reasons
    return project.disproved


def said(cls: Class, parameter: str) -> set[Reason]:
    """Return why a field is believed to be a tensor: its annotation, or that of the constructor's parameter."""
    method = find_method(cls, "__init__")
    if method is not None:
        base = method.facts.base if method.facts is not None else None
        value = base.get(parameter) if base is not None else None
        return {t.why[0] for t in tensors(value) if t.why} if value is not None else set()
    for owner in lineage(cls):
        if isinstance(owner, Class):
            for statement in members_of(owner).get(parameter, ()):
                if isinstance(statement, ast.AnnAssign):
                    value = from_annotation(statement.annotation, class_frame(owner), f"`{parameter}`")
                    return {t.why[0] for t in tensors(value) if t.why}
    return set()
