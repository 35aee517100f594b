"""Probes: statements written by hand, each run on its own after a prelude that makes its inputs.

`probes/*.toml` holds them. A statement that is a call also tells the arguments of that call.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import sys
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import resources
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

IMPORTS = """\
import copy, io, logging, math, operator, pickle
import numpy as np
import torch
import torch.distributed as dist
import torch.distributions as D
import torch.nn as nn
import torch.nn.functional as F
"""


# methods of modules that return the module
SELF = ("eval", "train", "to", "cuda", "half", "requires_grad_")


@dataclass(frozen=True, slots=True)
class Probe:
    """`before` is the prelude and the set-up, `run` what is judged: mostly one statement."""

    file: str
    before: str
    run: str

    @property
    def key(self) -> str:
        """What identifies the probe's content in an evidence file."""
        return hashlib.sha256((self.before + "\0" + self.run).encode()).hexdigest()[:12]

    def isolated(self) -> Probe:
        """Return the same probe with its call alone: receiver and arguments are evaluated before it.

        What is no single statement with a call, or has nothing to evaluate, is returned as it is.
        """
        body = ast.parse(self.run).body
        call = getattr(body[0], "value", None)
        if len(body) != 1 or not isinstance(call, ast.Call) or any(isinstance(a, ast.Starred) for a in call.args):
            return self
        hoisted: list[str] = []

        def hoist(node: ast.expr) -> ast.expr:
            if not any(isinstance(n, (ast.Call, ast.BinOp, ast.Subscript, ast.Compare)) for n in ast.walk(node)):
                return node
            hoisted.append(f"hoisted{len(hoisted)} = {ast.unparse(node)}")
            return ast.Name(f"hoisted{len(hoisted) - 1}", ast.Load())

        if isinstance(call.func, ast.Attribute):
            call.func.value = hoist(call.func.value)
        else:
            call.func = hoist(call.func)
        call.args = [hoist(a) for a in call.args]
        for keyword in call.keywords:
            keyword.value = hoist(keyword.value)
        if not hoisted:
            return self
        return Probe(self.file, self.before + "\n".join(hoisted) + "\n", ast.unparse(body[0]))


@functools.cache
def load() -> tuple[Probe, ...]:
    """Return all probes, file by file.

    Raises:
        SyntaxError: a probe is not a statement.
    """
    return tuple(_read())


def _read() -> Iterator[Probe]:
    folder = resources.files("syncfinder.runtime") / "probes"
    for file in sorted((f for f in folder.iterdir() if f.name.endswith(".toml")), key=lambda f: f.name):
        data = tomllib.loads(file.read_text(encoding="utf-8"))
        prelude = data.get("prelude", "").strip() + "\n"
        for entry in data["probe"]:
            setup = entry.get("setup", "").strip()
            for run in entry["run"]:
                yield Probe(file.name, prelude + (setup + "\n" if setup else ""), run.strip())


def globals_of(device: str) -> dict[str, Any]:
    """Return fresh globals in which probes run, with the device as `d`."""
    scope: dict[str, Any] = {"d": device}
    exec(IMPORTS, scope)
    scope["init_one_rank"] = init_one_rank
    return scope


def init_one_rank() -> None:
    """Start torch.distributed with one rank, once per process."""
    import tempfile

    import torch.distributed as dist

    if not dist.is_initialized():
        store = f"file://{tempfile.mkdtemp()}/store"
        dist.init_process_group("nccl", init_method=store, rank=0, world_size=1)


def prepare(probe: Probe, device: str = "cuda") -> Callable[[], Callable[[], Any]]:
    """Return what makes the inputs anew and returns the judged statements as a function."""
    head = compile(probe.before, probe.file, "exec")
    judged = compile(probe.run, probe.file, "exec")

    def fresh() -> Callable[[], Any]:
        scope = globals_of(device)
        exec(head, scope)
        return lambda: exec(judged, scope)

    return fresh


@dataclass(frozen=True, slots=True)
class Called:
    """The call of a probe's statement: dotted name, arguments, and what the receiver was constructed with."""

    name: str
    arguments: dict[str, Any]
    init: dict[str, Any] | None


def called(probe: Probe, device: str = "cuda") -> Called | None:
    """Return the call that a probe ends in, with its arguments described; None if it is no plain call."""
    *lead, statement = ast.parse(probe.run).body
    node = getattr(statement, "value", None)
    if not isinstance(node, ast.Call) or any(isinstance(a, ast.Starred) for a in node.args):
        return None
    scope = globals_of(device)
    head = probe.before + "\n".join(ast.unparse(s) for s in lead)
    exec(compile(head, probe.file, "exec"), scope)
    return _Reader(head, scope).read(node)


class _Reader:
    def __init__(self, head: str, scope: dict[str, Any]) -> None:
        self.scope = scope
        self.made: dict[str, ast.Call] = {}
        for node in ast.walk(ast.parse(head)):
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        self.made[target.id] = node.value

    def value(self, node: ast.expr) -> Any:
        return eval(compile(ast.Expression(node), "probe", "eval"), self.scope)

    def read(self, node: ast.Call) -> Called | None:
        import torch

        function = self.value(node.func)
        args = [self.describe(a) for a in node.args]
        if isinstance(node.func, ast.Attribute):
            receiver = self.value(node.func.value)
            if isinstance(receiver, torch.Tensor):
                args.insert(0, self.describe(node.func.value))
                return Called("torch.Tensor." + node.func.attr, self.call(args, node), None)
            if isinstance(receiver, (types.ModuleType, type)):
                owner = receiver.__name__ if isinstance(receiver, types.ModuleType) else _qualified(receiver)
                return Called(f"{owner}.{node.func.attr}", self.call(args, node), None)
            if not isinstance(function, torch.nn.Module):
                name = f"{_qualified(type(receiver))}.{node.func.attr}"
                return Called(name, self.call(args, node), self.construction(node.func.value))
        if isinstance(function, torch.nn.Module):
            init = {**(self.construction(node.func) or {}), "mode": "train" if function.training else "eval"}
            return Called(_qualified(type(function)) + ".forward", self.call(args, node), init)
        name = getattr(function, "__qualname__", "")
        if not name or "." in name or not getattr(function, "__module__", None):
            return None
        return Called(f"{function.__module__}.{name}", self.call(args, node), None)

    def call(self, args: list[Any], node: ast.Call) -> dict[str, Any]:
        found: dict[str, Any] = {"a": args} if args else {}
        keywords = {k.arg: self.describe(k.value) for k in node.keywords if k.arg is not None}
        return {**found, "k": dict(sorted(keywords.items()))} if keywords else found

    def describe(self, node: ast.expr) -> Any:
        from syncfinder.runtime.describe import describe

        found = describe(self.value(node))
        if isinstance(found, dict) and "o" in found:
            init = self.construction(node)
            return {**found, "init": init} if init else found
        return found

    def construction(self, node: ast.expr) -> dict[str, Any] | None:
        """The arguments of the call that made an object, if the probe shows it."""
        if isinstance(node, ast.Name):
            made = self.made.get(node.id)
            return self.construction(made) if made is not None else None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in SELF:
            return self.construction(node.func.value)
        if isinstance(node, ast.Call):
            return self.call([self.describe(a) for a in node.args if not isinstance(a, ast.Starred)], node)
        return None


def _qualified(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"
