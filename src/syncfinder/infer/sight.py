"""Methods of unknown objects, by the classes in sight: what a module defines or imports by name."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from syncfinder.infer.annotations import PLAIN
from syncfinder.infer.calls import Arguments, call_function
from syncfinder.infer.classes import find_method, inherits
from syncfinder.infer.names import last_name
from syncfinder.infer.project import ImportName
from syncfinder.infer.values import Class, Function, Instance, Number, Value, tensors

if TYPE_CHECKING:
    from syncfinder.infer.frame import Frame
    from syncfinder.infer.project import Module


def surprise(name: str, arguments: Arguments, node: ast.Call, frame: Frame) -> None:
    """Evaluate the method of an unknown object where it is given a 0-dim tensor for what it declares as a number.

    Only where all classes in sight that have such a method are of one family: any of them may be the object's.
    """
    given = [is_gpu_number(value) for value in arguments.values]
    if not any(given) and not any(is_gpu_number(value) for value in arguments.keywords.values()):
        return
    for method in family(name, frame.module):
        if method.owner is not None and contradicted(method, given, arguments):
            call_function(method, arguments.before(Instance(method.owner)), node, frame)


def is_gpu_number(value: Value) -> bool:
    return any(t.waits and t.ndim == 0 for t in tensors(value))


def contradicted(method: Function, given: list[bool], arguments: Arguments) -> bool:
    """Return whether a GPU number is given for a parameter that is annotated as a number."""
    plain = [*method.node.args.posonlyargs, *method.node.args.args][1:]
    found = [parameter for parameter, tensor in zip(plain, given, strict=False) if tensor]
    named = {name for name, value in arguments.keywords.items() if is_gpu_number(value)}
    found += [parameter for parameter in [*plain, *method.node.args.kwonlyargs] if parameter.arg in named]
    return any(p.annotation is not None and isinstance(PLAIN.get(last_name(p.annotation)), Number) for p in found)


def family(name: str, module: Module) -> list[Function]:
    """Return the methods of a name that the classes in sight of a module have, if they are of one family."""
    found = module.families.get(name)
    if found is None:
        methods: dict[Function, None] = {}
        for cls in classes_in_sight(module):
            method = find_method(cls, name)
            if method is not None and method.kind == "function":
                methods[method] = None
        owners = [m.owner for m in methods if m.owner is not None]
        related = any(all(o is root or inherits(o, root) for o in owners) for root in owners)
        found = module.families[name] = list(methods) if related else []
    return found


def classes_in_sight(module: Module) -> list[Class]:
    if module.classes_in_sight is None:
        names = [n for n, v in module.frame.env.items() if type(v) is Class or is_class_import(v)]
        bound: list[Value | None] = [module.lookup(n) for n in names]
        module.classes_in_sight = [v for v in bound if type(v) is Class]
    return module.classes_in_sight


def is_class_import(value: Value) -> bool:
    """Return whether an import is named as classes are: Cache, but neither cache nor CACHE."""
    member = value.member if type(value) is ImportName else None
    return member is not None and member[:1].isupper() and not member.isupper()
