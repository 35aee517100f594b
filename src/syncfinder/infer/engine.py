"""The engine's entry: evaluate what the checked files need, and return the sites found in them."""

from __future__ import annotations

import ast
from collections.abc import Iterable

# The handlers register themselves in the dispatch tables on import.
from syncfinder.infer import expressions, invoke, loops, matching, statements, subscripts  # noqa: F401
from syncfinder.infer.calls import analyze
from syncfinder.infer.classes import class_frame, class_value, method_of
from syncfinder.infer.dispatch import run_block
from syncfinder.infer.fields import disproved
from syncfinder.infer.project import MAX_RUNS, Module, Project
from syncfinder.infer.sizes import LARGE
from syncfinder.infer.values import Class, Function
from syncfinder.sites.site import Level, Site

HOT = "hot"


def infer(module: Module) -> None:
    """Evaluate a checked module: its body, then each function and method for itself, nested ones last."""
    project = module.project
    project.allowance = project.runs + MAX_RUNS
    if not module.started:
        module.run()
    seen: set[int] = set()
    for function in definitions(module):
        seen.add(id(function.node))
        analyze(function)
    while True:
        fresh = [f for key, f in list(module.functions.items()) if key not in seen]
        if not fresh:
            return
        for function in fresh:
            seen.add(id(function.node))
            analyze(function)


def definitions(module: Module) -> Iterable[Function]:
    """Yield the functions of a module's body and the methods of its classes, in source order."""
    body = list(module.tree.body)
    while body:
        statement = body.pop(0)
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            function = module.functions.get(id(statement))
            if function is not None:
                yield function
        elif isinstance(statement, ast.ClassDef):
            cls = module.classes.get(id(statement))
            if cls is not None:
                yield from class_definitions(cls)
        elif isinstance(statement, (ast.If, ast.Try, ast.With)):
            body = [*statement.body, *getattr(statement, "orelse", ()), *body]


def class_definitions(cls: Class) -> Iterable[Function]:
    """Yield a class's methods after evaluating its body's other statements, which run at import time."""
    plain = [s for s in cls.node.body if not isinstance(s, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))]
    run_block(plain, class_frame(cls))
    for statement in cls.node.body:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield method_of(cls, statement)
        elif isinstance(statement, ast.ClassDef):
            yield from class_definitions(
                class_value(statement, cls.module, f"{cls.qualname}.{statement.name}", cls.closure)
            )


def hot_functions(project: Project) -> dict[Function, Function | None]:
    """Return the functions reached from a hot entry point, each with the caller it was first reached from."""
    callees: dict[Function, list[Function]] = {}
    for callee, callers in project.callers.items():
        for caller in callers:
            callees.setdefault(caller, []).append(callee)
    everything = [f for m in project.modules.values() if m is not None for f in m.functions.values()]
    hot: dict[Function, Function | None] = {
        f: None for f in everything if project.hot.have(f.name, f.module.name, f.qualname)
    }
    queue = list(hot)
    while queue:
        function = queue.pop()
        for callee in callees.get(function, ()):
            if callee not in hot:
                hot[callee] = function
                queue.append(callee)
    return hot


def sites_of(module: Module, hot: dict[Function, Function | None]) -> list[Site]:
    """Return a module's sites in source order, those in hot functions raised to errors."""
    out = []
    wrong = disproved(module.project)
    for key, (site, function) in module.sites.items():
        if wrong and site.device != "cuda" and not wrong.isdisjoint(site.why):
            continue
        if function is not None and key not in module.called_sites and is_only_assumed(function):
            continue
        hot_here = function is not None and is_hot(function, hot)
        if site.kind in NOTES and not is_noted(site, hot_here):
            continue
        if site.level == "warning" and hot_here:
            site.level, site.context = raised(site), HOT
            if site.facts.get("timing"):
                site.kind = "timing-wait"
        out.append(site)
    out.sort(key=lambda s: (s.span.line, s.span.column, s.kind))
    return out


# Kinds of sites that count only where they come again and again, and are a note unless much is known to be done.
NOTES = frozenset({"pin"})


def is_noted(site: Site, hot: bool) -> bool:
    """Return whether a site of these kinds counts; sets its level."""
    if site.facts.get("size") != LARGE:
        site.level = "info"
    return hot or bool(site.facts.get("loop"))


def raised(site: Site) -> Level:
    """Return the level in a hot function: an error, but a warning for what waits only if it is large."""
    may_wait = site.kind == "slow-copy" and site.facts.get("way") == "to-device" and site.facts.get("size") != LARGE
    return "warning" if may_wait or site.level == "info" else "error"


def is_only_assumed(function: Function, askers: tuple[Function, ...] = ()) -> bool:
    """Return whether all calls of a function are known: nothing counts that only an unknown call would do.

    A public function may have other callers, but where all known ones contradict what is assumed, that is not believed.
    Calls from functions of which the same holds do not count. `askers` are those that led here.
    """
    if function.called or function in askers:
        return function.called is False
    if function.called is None and not function.askers:
        return False
    private = function.name.startswith("_") and not function.name.endswith("__")
    if function.called is False and not private and not function.contradicted:
        return False
    return all(is_only_assumed(asker, (*askers, function)) for asker in function.askers)


def is_hot(function: Function | None, hot: dict[Function, Function | None]) -> bool:
    """Return whether a function, or one it is nested in, is hot."""
    while function is not None:
        if function in hot:
            return True
        function = function.closure.function if function.closure is not None else None
    return False
