"""The project: modules loaded on demand, their globals, and links between them.

Nothing is evaluated that no checked file needs.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING, Any

from syncfinder.infer.buffers import Origin
from syncfinder.infer.dispatch import run_block
from syncfinder.infer.frame import Frame
from syncfinder.infer.names import is_test
from syncfinder.infer.scan import Scan, scan
from syncfinder.infer.values import (
    NONE,
    UNKNOWN,
    Api,
    Class,
    Dtype,
    Function,
    ModuleValue,
    Union,
    Value,
    join_all,
    members,
)
from syncfinder.sites.site import CONFIDENCES, Reason, Site, Span

if TYPE_CHECKING:
    from syncfinder.infer.sharing import Shared
    from syncfinder.source.file import SourceFile
    from syncfinder.torchmodel.model import Model

MAX_DEPTH = 6
MAX_SHAPES = 4
# How many function bodies one checked file may have evaluated; past that, annotations answer: its time is bounded.
MAX_RUNS = 20_000
# How many imports away from a checked file a module is still read (a package's __init__ does not count).
MAX_DISTANCE = 1
# The kinds of sites that come from two values on different devices.
BETWEEN_DEVICES = {"copy", "transfer", "host-index", "operand"}


class ImportName(Value):
    """A name bound by an import, resolved when it is first looked up."""

    __slots__ = ("dotted", "level", "member")

    def __init__(self, dotted: str, level: int, member: str | None) -> None:
        self.dotted = dotted
        self.level = level
        self.member = member
        self.key = ("import", dotted, level, member)


def is_import(value: Value) -> bool:
    """Return whether a binding is an import that nobody resolved yet, on one of its ways at least."""
    return type(value) is ImportName or (type(value) is Union and any(type(m) is ImportName for m in value.members))


class Module:
    """A file of the project: its tree, its globals (evaluated once, when first needed) and the sites found in it."""

    def __init__(
        self, project: Project, path: Path, name: str, file: SourceFile, tree: ast.Module, checked: bool
    ) -> None:
        self.project = project
        self.path = path
        self.folder = path.parent
        self.filename = str(path)
        self.name = name
        self.file = file
        self.tree = tree
        self.checked = checked
        self.distance = 0
        self.library = False  # of another package, and not checked: its waits stand at the calls
        self.frame = Frame(project, self)
        self.frame.context = "setup"
        self.started = False
        self.stars: list[ImportName] = []
        self.functions: dict[int, Function] = {}
        self.classes: dict[int, Class] = {}
        self.classes_in_sight: list[Class] | None = None
        self.families: dict[str, list[Function]] = {}
        self.sites: dict[Any, tuple[Site, Function | None]] = {}
        self.called_sites: set[Any] = set()  # the sites that a call's own arguments lead to
        self.is_test = is_test(name)
        self.speaks_torch = "torch" in file.text
        self.speaks_arrays = "numpy" in file.text or "pandas" in file.text
        self.speaks_streams = any(word in file.text for word in ("tream(", "wait_stream", "record_stream"))
        self.speaks_copies = "non_blocking" in file.text
        self.revealed: dict[int, Value] = {}
        self.hints = project.hints_of(file)
        self._scans: dict[int, Scan] = {}
        self._looking: set[str] = set()

    def scan_of(self, node: Any) -> Scan:
        """Return the scan of a function's body, made once."""
        found = self._scans.get(id(node))
        if found is None:
            found = self._scans[id(node)] = scan(node)
        return found

    def lookup(self, name: str) -> Value | None:
        """Return a global's value, running the module's body first if nobody did; None if it has no such name."""
        if not self.started:
            self.run()
        value = self.frame.env.get(name)
        if value is None:
            return self._starred(name) if self.stars else None
        if is_import(value):
            self.frame.env[name] = UNKNOWN  # what an import cycle sees
            value = self.frame.env[name] = self.project.settle(value, self)
        return value

    def _starred(self, name: str) -> Value | None:
        """Return a name that a star import brings; None if none does. Modules may import each other's stars."""
        if name in self._looking:
            return None
        self._looking.add(name)
        try:
            for star in self.stars:
                source = self.project.resolve(star, self)
                value: Value | None = None
                if isinstance(source, ModuleValue) and source.module is not self:
                    value = source.module.lookup(name)
                elif isinstance(source, Api):
                    value = self.project.star_member(source.name, name)
                if value is not None:
                    return value
            return None
        finally:
            self._looking.discard(name)

    def run(self) -> None:
        """Evaluate the module's body."""
        from syncfinder.infer.definitions import bind_definitions  # it comes to project through classes

        self.started = True
        bind_definitions(self.tree.body, self.frame)
        run_block(self.tree.body, self.frame)

    def span(self, node: Any) -> Span:
        """Return a node's place in lines and columns counted from 1, in characters."""
        column = self.file.column
        return Span(
            node.lineno,
            column(node.lineno, node.col_offset),
            node.end_lineno,
            column(node.end_lineno, node.end_col_offset),
        )

    def header(self, statement: ast.stmt | None, node: Any) -> tuple[int, int]:
        """Return the first and last line of a statement, of a compound one its header only."""
        if statement is None:
            return node.lineno, node.end_lineno
        first, last = statement.lineno, statement.end_lineno or statement.lineno
        body = getattr(statement, "body", None)
        if isinstance(body, list) and body:
            start = body[0].lineno
            last = max(first, start - 1) if start > first else last
            decorators = getattr(statement, "decorator_list", None)
            if decorators:
                first = min(first, decorators[0].lineno)
        # A comprehension or lambda in a header may reach further than the header's own lines say.
        return min(first, node.lineno), max(last, node.end_lineno)

    def add_site(self, site: Site, function: Function | None, called: bool = False) -> None:
        """Keep a site; of several evaluations' sites at one place the surest stays.

        What a test gives to the code that it tests says where the test runs: unless it is a GPU tensor that is read,
        such a call only confirms a site.
        """
        key = (site.kind, site.span)
        if called:
            self.called_sites.add(key)
            if self.project.tested and not self.is_test and (site.device != "cuda" or site.kind in BETWEEN_DEVICES):
                return
        have = self.sites.get(key)
        if have is None or CONFIDENCES.index(site.confidence) > CONFIDENCES.index(have[0].confidence):
            self.sites[key] = (site, function)


class Project:
    """All that one run knows: settings that steer the inference, the torch model, and the modules loaded so far."""

    def __init__(
        self, model: Model, roots: Any, assume_cuda: bool = True, hot_entries: frozenset[str] = frozenset()
    ) -> None:
        self.model = model
        self.roots = roots
        self.assume_cuda = assume_cuda
        self.hot_entries = hot_entries
        self.modules: dict[Path, Module | None] = {}
        self.checked: set[Path] = set()
        self.texts: dict[Path, str] = {}
        self.callers: dict[Function, set[Function]] = {}
        self.found: dict[tuple[Path, str, int], Value | None] = {}
        self.disproved: set[Reason] | None = None
        self.shared: dict[Origin, Shared] = {}  # buffers that outlive a call
        self.tested = False  # what is evaluated just now is called by a test, with its arguments
        self.depth = 0
        self.runs = 0
        self.allowance = MAX_RUNS

    def hints_of(self, file: SourceFile) -> dict[int, dict[str, str]]:
        from syncfinder.source.comments import hints

        return hints(file)

    def add(self, path: Path, file: SourceFile, tree: ast.Module, checked: bool) -> Module:
        """Register a parsed file."""
        module = Module(self, path, self.roots.module_name(path), file, tree, checked)
        self.modules[path] = module
        return module

    def load(self, path: Path, distance: int) -> Module | None:
        """Return the module of a file, parsing it if nobody did; None if it cannot be had, or is too far away."""
        if path in self.modules:
            module = self.modules[path]
            if module is not None and distance < module.distance:
                module.distance = distance
            return module
        checked = path in self.checked
        if distance > MAX_DISTANCE and not checked:
            return None
        from syncfinder.source.decode import SourceError, parse, read

        self.modules[path] = None
        try:
            file = read(path)
            module = self.add(path, file, parse(file), checked)
            module.distance = 0 if checked else distance
            return module
        except (SourceError, OSError, RecursionError):
            return None

    def find(self, module: Module, dotted: str, level: int) -> Value | None:
        """Return the module that an import names: one of the project, or a library's by its dotted name."""
        key = (module.folder, dotted, level)
        value = self.found.get(key)
        if value is None:
            value = self._find(module, dotted, level)
            if value is not None:
                self.found[key] = value
        return value

    def _find(self, module: Module, dotted: str, level: int) -> Value | None:
        found = self.roots.find_module(module.path, dotted, level)
        if found is None:
            return Api(dotted) if level == 0 else None
        if found.is_dir():
            return Namespace(found, dotted)
        # A package's __init__ that only passes names on is not a step of its own.
        loaded = self.load(found, module.distance + (module.path.name != "__init__.py"))
        if loaded is None:
            return None
        if not loaded.checked and not loaded.library:
            # Another package: its first name is not on the importer's own path, and it does not lie beside it.
            other = level == 0 and dotted.partition(".")[0] not in module.path.parts and found.parent != module.folder
            loaded.library = other or module.library
        return ModuleValue(loaded)

    def settle(self, value: Value, module: Module) -> Value:
        """Return what a name bound by imports is. Torch is there, whatever a handler puts in its place."""
        parts = [self.resolve(m, module) if type(m) is ImportName else m for m in members(value)]
        there = any(type(p) is Api and p.name.partition(".")[0] == "torch" for p in parts)
        return join_all([p for p in parts if not there or p.key != NONE.key])

    def resolve(self, name: ImportName, module: Module) -> Value:
        """Return what an imported name is; Unknown where nothing can be found."""
        source = self.find(module, name.dotted, name.level)
        if name.member is None or source is None:
            return source if source is not None else UNKNOWN
        if isinstance(source, Api):
            return self.api(f"{source.name}.{name.member}")
        if isinstance(source, ModuleValue):
            value = (
                source.module.lookup(name.member)
                if source.module is not module
                else source.module.frame.env.get(name.member)
            )
            if value is not None and type(value) is not ImportName:
                return value
        prefix = f"{name.dotted}." if name.dotted else ""
        submodule = self.find(module, prefix + name.member, name.level)
        return submodule if submodule is not None and not isinstance(submodule, Api) else UNKNOWN

    def api(self, dotted: str) -> Value:
        """Return a library name's value: a dtype, or the name itself."""
        name = self.model.canonical(dotted)
        dtype = self.model.dtype_of(name)
        return Dtype(dtype) if dtype is not None else Api(name)

    def star_member(self, source: str, name: str) -> Value | None:
        """Return a name imported by a star from a library, where the model knows it."""
        dotted = self.model.canonical(f"{source}.{name}")
        return (
            Api(dotted) if self.model.row(dotted) is not None or self.model.library_class(dotted) is not None else None
        )


class Namespace(Value):
    """A directory without __init__.py, imported as a package."""

    __slots__ = ("dotted", "path")

    def __init__(self, path: Path, dotted: str) -> None:
        self.path = path
        self.dotted = dotted
        self.key = ("ns", path)
