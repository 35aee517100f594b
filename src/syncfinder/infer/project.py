"""The project: modules loaded on demand, their globals, and links between them.

Nothing is evaluated that no checked file needs.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING, Any

from syncfinder.config import Settings
from syncfinder.infer.buffers import Origin
from syncfinder.infer.dispatch import run_block
from syncfinder.infer.frame import Frame
from syncfinder.infer.names import ACCELERATORS, FunctionNames, is_test, paths_in
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
from syncfinder.sites.site import CONFIDENCES, Doubt, Reason, Site, Span

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
# The fields of statements that hold statements.
BLOCKS = ("body", "orelse", "finalbody")
# How many lines a loop or compound statement may have so that the rules see it whole.
MAX_BLOCK = 20
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
        self.doubts: set[tuple[str, int, int]] = set()  # kind, line, byte offset: see Frame.doubt
        self._paths: dict[int, tuple[str, ...]] = {}
        self._beside: dict[int, list[ast.stmt]] | None = None
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

    def doubted(self) -> set[Doubt]:
        """Return the kinds and places of what was doubted, in lines and columns counted from 1, in characters."""
        return {(kind, line, self.file.column(line, offset)) for kind, line, offset in self.doubts}

    def paths_in(self, statement: ast.stmt) -> tuple[str, ...]:
        """Return the dotted names in a statement, found once; of a long compound one those in its test or source."""
        found = self._paths.get(id(statement))
        if found is None:
            short = not hasattr(statement, "body") or self.block(statement, None) is not None
            part = statement if short else getattr(statement, "test", getattr(statement, "iter", None))
            found = self._paths[id(statement)] = paths_in(part) if part is not None else ()
        return found

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

    def block(self, statement: ast.stmt | None, loop: ast.stmt | None) -> tuple[int, int] | None:
        """Return the first and last line of the innermost loop, else of the statement, if it is compound and short."""
        for whole in (loop, statement):
            if whole is not None and hasattr(whole, "body"):
                first, last = whole.lineno, whole.end_lineno or whole.lineno
                if last - first < MAX_BLOCK:
                    return first, last
        return None

    def neighbours(self, statement: ast.stmt | None) -> tuple[int, int] | None:
        """Return the lines of a statement and of the simple statements beside it in its block; None if it is alone."""
        if statement is None:
            return None
        if self._beside is None:
            blocks = [
                b for n in ast.walk(self.tree) for b in (getattr(n, f, None) for f in BLOCKS) if isinstance(b, list)
            ]
            self._beside = {
                id(here): [s for s in (before, here, after) if s is not None and not hasattr(s, "body")]
                for block in blocks
                for before, here, after in zip([None, *block], block, [*block[1:], None], strict=False)
            }
        beside = self._beside.get(id(statement), [statement])
        first, last = beside[0].lineno, beside[-1].end_lineno or beside[-1].lineno
        return (first, last) if len(beside) > 1 and last - first < MAX_BLOCK else None

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
        if have is None:
            self.sites[key] = (site, function)
        elif CONFIDENCES.index(site.confidence) > CONFIDENCES.index(have[0].confidence):
            site.agree(have[0])
            self.sites[key] = (site, function)
        else:
            have[0].agree(site)


class Project:
    """All that one run knows: settings that steer the inference, the torch model, and the modules loaded so far."""

    def __init__(self, model: Model, roots: Any, settings: Settings | None = None) -> None:
        settings = settings or Settings()
        self.model = model
        self.roots = roots
        self.assume_cuda = settings.assume_device != "cpu"
        self.hot = FunctionNames(settings.hot + settings.extend_hot)
        self.setup = FunctionNames(settings.setup_functions + settings.extend_setup_functions)
        self.wrappers = dict(settings.models)
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
        from syncfinder.source.decode import SourceError, parse, source_of

        self.modules[path] = None
        try:
            file = source_of(path, self.texts)
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
        """Return a library name's value: a dtype, or the name itself. torch.npu is what torch.cuda is."""
        parts = dotted.split(".", 2)
        if parts[0] == "torch" and len(parts) > 1 and parts[1] in ACCELERATORS:
            dotted = ".".join(["torch", "cuda", *parts[2:]])
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
