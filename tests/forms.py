"""Writes `fixtures/<rule>/forms.py` from the probes: every form that waits, and quiet neighbours of the same names.

    python tests/forms.py

A form is a probe's statement without what does not matter for waiting: literals, and of a variable all but its kind.
One probe stands for each form, with the set-up that it needs. Marks are the findings; `syncfinder verify` says on a GPU
whether they are right.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from syncfinder.check import check
from syncfinder.config import Settings
from syncfinder.files import write_whole
from syncfinder.rules.catalogue import load as catalogue
from syncfinder.runtime.probes import IMPORTS, Probe, load
from test_probes import evidence

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FIXTURES = Path(__file__).parents[1] / "fixtures"
LEFT_OUT = Path(__file__).parent / "forms_left_out.toml"
DEVICE = "cuda"
# a quiet statement that takes longer than this on the host could be taken for a wait, in milliseconds
QUICK_MS = 2.0
# so many forms with the same set-up share a function
TOGETHER = 10
# what may change its inputs, or torch's caches
CHANGES = re.compile(r"_\(|empty_?cache|\bout=|inplace=|backward|setattr|next\(|copyto", re.IGNORECASE)
OBJECTS = re.compile(r"(nn|D|torch\.(nn|optim|distributions|cuda))\.")
MODULES = {
    alias.asname or alias.name: alias.name
    for statement in ast.parse(IMPORTS).body
    if isinstance(statement, ast.Import)
    for alias in statement.names
}
# the probes' own function, and what a fixture has for it
GROUP = {"init_one_rank": "_ensure_group"}
GROUP_TEXT = """\
def _ensure_group():
    if not dist.is_initialized():
        dist.init_process_group("nccl", store=dist.HashStore(), rank=0, world_size=1)
"""


@dataclass(slots=True)
class Form:
    """A probe's judged statements and the set-up that they need, both on the GPU; `codes` are findings by line of
    both, from 0."""

    probe: Probe
    waits: bool
    quick: bool
    setup: list[ast.stmt]
    judged: list[ast.stmt]
    codes: dict[int, list[str]] = field(default_factory=dict)

    @property
    def lines(self) -> list[str]:
        return [*written(self.setup), *written(self.judged)]

    @property
    def run(self) -> str:
        """The judged statements as they stand in a fixture."""
        return "\n".join(written(self.judged))

    @property
    def found(self) -> list[str]:
        """The codes in the judged statements."""
        start = len(written(self.setup))
        return sorted({code for line, codes in self.codes.items() if line >= start for code in codes})

    @property
    def cost(self) -> tuple[int, int]:
        """What makes one probe a better example of its form than another."""
        nodes = sum(1 for s in [*self.setup, *self.judged] for _ in ast.walk(s))
        return sum(map(len, self.codes.values())), nodes

    @property
    def leaves_its_inputs(self) -> bool:
        """Whether others can follow it in one function: an expression over tensors that changes none of them."""
        return (
            len(self.judged) == 1
            and isinstance(self.judged[0], ast.Expr)
            and CHANGES.search(self.run) is None
            and all(isinstance(s, ast.Assign) and is_data(s.value) for s in self.setup)
        )

    def marked(self) -> tuple[list[str], list[str]]:
        """Return the lines of the set-up and the judged ones, with their marks."""
        lines = [
            f"{line}  # expect: {', '.join(self.codes[n])}" if n in self.codes else line
            for n, line in enumerate(self.lines)
        ]
        start = len(written(self.setup))
        return lines[:start], lines[start:]


def written(statements: Iterable[ast.stmt]) -> list[str]:
    return [line for s in statements for line in ast.unparse(s).splitlines()]


def forms() -> list[Form]:
    """Return every probe that was measured, as a function."""
    rows = {(file, key): row for file, found in evidence()["probes"].items() for _, key, *row in found}
    return [form_of(p, *rows[p.file, p.key]) for p in load() if (p.file, p.key) in rows]


def form_of(probe: Probe, waits: bool, _reported: bool, blocked_ms: float, _stall_ms: float) -> Form:
    judged = [on_device(s) for s in ast.parse(probe.run).body]
    setup = [on_device(s) for s in needed(ast.parse(probe.before).body, judged)]
    return Form(probe, waits, blocked_ms < QUICK_MS, setup, judged)


class _OnDevice(ast.NodeTransformer):
    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id == "d" and isinstance(node.ctx, ast.Load):
            return ast.Constant(DEVICE)
        return ast.Name(GROUP.get(node.id, node.id), node.ctx)


def on_device(statement: ast.stmt) -> ast.stmt:
    """Return the statement with the names that a fixture has."""
    found: ast.stmt = _OnDevice().visit(statement)
    return found


def needed(setup: list[ast.stmt], judged: list[ast.stmt]) -> list[ast.stmt]:
    """Return the statements of a set-up that the judged ones need.

    One that binds a name is needed if the name is. One that binds none changes something: it is needed if it speaks of
    a needed name, or of none that the set-up binds. What is about memory speaks of no name: it needs what was freed.
    """
    own = {name for s in setup for name in bound(s)}
    wanted = {name for s in judged for name in names(s)}
    if not wanted & own:
        wanted |= {name for s in setup if frees(s) for name in names(s)}
    kept = []
    for statement in reversed(setup):
        binds, speaks = bound(statement), names(statement)
        if (binds & wanted) if binds else (speaks & wanted & own or not speaks & own):
            kept.append(statement)
            wanted |= speaks
    return kept[::-1]


def frees(statement: ast.stmt) -> bool:
    """Whether a statement lets go of what names are bound to."""
    nothing = isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant)
    return isinstance(statement, ast.Delete) or (nothing and statement.value.value is None)


def is_data(value: ast.expr) -> bool:
    """Whether an expression makes tensors, arrays or numbers, and no object with a state of its own."""
    calls = [n.func for n in ast.walk(value) if isinstance(n, ast.Call)]
    return all(isinstance(f, ast.Attribute) and OBJECTS.match(ast.unparse(f)) is None for f in calls)


def names(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def bound(node: ast.AST) -> set[str]:
    """The names that a statement binds, those inside of functions too."""
    found = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    for n in ast.walk(node):
        if isinstance(n, (ast.FunctionDef, ast.ClassDef)):
            found.add(n.name)
        elif isinstance(n, ast.alias):
            found.add((n.asname or n.name).partition(".")[0])
    return found


def shape(form: Form) -> str:
    """Return what tells a form from others: equal for two probes of which one is enough."""
    kinds: dict[str, str] = {}
    for statement in form.setup:
        if isinstance(statement, ast.Assign):
            kind = kind_of(statement.value, kinds)
            kinds.update((t.id, kind) for t in statement.targets if isinstance(t, ast.Name))
    return "\n".join(ast.unparse(_Shape(kinds).visit(ast.parse(ast.unparse(s)))) for s in form.judged)


def kind_of(value: ast.expr, kinds: dict[str, str]) -> str:
    """A variable's kind, read off what it is bound to."""
    if isinstance(value, ast.Constant):
        return type(value.value).__name__
    text = ast.unparse(value)
    if text.startswith(("np.", "numpy.")):
        return "array"
    if text.startswith("torch.") and isinstance(value, ast.Call):
        place = "pinned" if "pin_memory" in text else "gpu" if repr(DEVICE) in text or ".cuda()" in text else "host"
        return f"{place} tensor"
    if isinstance(value, (ast.List, ast.Tuple)):
        return type(value).__name__.lower() + " of " + (kind_of(value.elts[0], kinds) if value.elts else "none")
    return ast.unparse(_Shape(kinds).visit(ast.parse(text)))


class _Shape(ast.NodeTransformer):
    """Replaces variables by their kinds, and literals outside of subscripts by one."""

    def __init__(self, kinds: dict[str, str]) -> None:
        self.kinds = kinds

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Name(self.kinds.get(node.id, node.id), node.ctx)

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        plain = node.value is None or isinstance(node.value, (bool, str)) or node.value is Ellipsis
        return node if plain else ast.Name(type(node.value).__name__, ast.Load())

    def visit_List(self, node: ast.List) -> ast.expr:
        literal = all(isinstance(n, (ast.List, ast.Constant, ast.UnaryOp, ast.USub, ast.Load)) for n in ast.walk(node))
        return ast.Name("literal", ast.Load()) if literal else self.generic_visit(node)  # type: ignore[return-value]

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        node.value = self.visit(node.value)
        if isinstance(node.slice, (ast.List, ast.Tuple)):
            node.slice.elts = [e if isinstance(e, ast.List) else self.visit(e) for e in node.slice.elts]
            return node
        return self.generic_visit(node)  # type: ignore[return-value]


def look(found: list[Form]) -> None:
    """Check all forms as one module, each a function, and note their findings."""
    lines = [*IMPORTS.splitlines(), *GROUP_TEXT.splitlines()]
    places: dict[int, tuple[Form, int]] = {}
    for number, form in enumerate(found):
        lines.append(f"def form_{number}():")
        places.update((len(lines) + 1 + n, (form, n)) for n in range(len(form.lines)))
        lines += (f"    {line}" for line in form.lines)
    report = check([], Settings(), stdin=("forms.py", "\n".join(lines) + "\n"))
    assert report.errors == []
    for finding in report.findings:
        if finding.level != "info":
            form, line = places[finding.span.line]
            codes = form.codes.setdefault(line, [])
            if finding.code not in codes:
                codes.append(finding.code)


def needs_more(form: Form) -> bool:
    """Whether a form needs a package that the extra `gpu` does not install."""
    packages = set()
    for node in (n for s in form.setup for n in ast.walk(s)):
        if isinstance(node, ast.Import):
            packages |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            packages.add(node.module.partition(".")[0])
    return not packages <= {"torch", "numpy", *sys.stdlib_module_names}


def left_out() -> set[tuple[str, str]]:
    """The rule and the statements of forms that do not stand in a fixture."""
    entries = tomllib.loads(LEFT_OUT.read_text(encoding="utf-8"))["form"]
    return {(entry["rule"], entry["run"]) for entry in entries if entry["why"]}


def chosen(found: list[Form]) -> dict[str, list[Form]]:
    """Return the forms of each rule: one probe of every form that waits, and quiet ones with the same names."""
    out = left_out()
    usable = [f for f in found if bool(f.found) is f.waits and not needs_more(f)]
    best: dict[tuple[str, str], Form] = {}
    for form in usable:
        if form.waits and (form.found[0], form.run) not in out:
            key = (form.found[0], shape(form))
            if key not in best or form.cost < best[key].cost:
                best[key] = form
    by_rule: dict[str, list[Form]] = defaultdict(list)
    for (code, _), form in best.items():
        by_rule[code].append(form)
    quiet: dict[str, list[Form]] = defaultdict(list)
    for form in usable:
        if not form.waits and form.quick and ("quiet", form.run) not in out:
            quiet[operation(form)].append(form)
    for code in sorted(by_rule):
        for name in dict.fromkeys(operation(f) for f in by_rule[code]):
            if quiet[name]:
                by_rule[code].append(min(quiet.pop(name), key=lambda f: f.cost))
    return by_rule


def operation(form: Form) -> str:
    """The name of what the judged statements call last, or the kind of the last one."""
    last = form.judged[-1]
    value = getattr(last, "value", None)
    if isinstance(value, ast.Call):
        return value.func.attr if isinstance(value.func, ast.Attribute) else ast.unparse(value.func)
    return type(last).__name__ if value is None else type(value).__name__


def together(found: Iterable[Form]) -> list[list[Form]]:
    """Return forms that can share a function, in the order of the first of each."""
    groups: dict[str, list[list[Form]]] = defaultdict(list)
    for form in found:
        key = "\n".join(written(form.setup)) if form.leaves_its_inputs else form.probe.key
        mine = groups[key]
        if not mine or len(mine[-1]) == TOGETHER:
            mine.append([])
        mine[-1].append(form)
    return [group for mine in groups.values() for group in mine]


def function_of(group: list[Form]) -> str:
    setup, _ = group[0].marked()
    lines = [*setup, *(line for form in group for line in form.marked()[1])]
    return "\n".join([f"def probe_{group[0].probe.key}():", *(f"    {line}" for line in lines)])


def text_of(code: str, found: Iterable[Form]) -> str:
    """Return a rule's file."""
    functions = [function_of(group) for group in together(found)]
    if any(name in function for name in GROUP.values() for function in functions):
        functions.insert(0, GROUP_TEXT.strip())
    used = names(ast.parse("\n".join(functions)))
    imports = sorted(f"import {m}" if m == n else f"import {m} as {n}" for n, m in MODULES.items() if n in used)
    title = f"What waits of {code} in the probes of the torch model, and quiet neighbours."
    head = [f'"""{title}\n\nWritten by tests/forms.py.\n"""', "from __future__ import annotations", "\n".join(imports)]
    return "\n\n".join(head) + "\n\n\n" + "\n\n\n".join(functions) + "\n"


def texts() -> Iterator[tuple[Path, str]]:
    """Yield each file and what has to stand in it."""
    found = forms()
    look(found)
    rules = catalogue()
    for code, mine in sorted(chosen(found).items()):
        yield FIXTURES / f"{code}-{rules[code].name}" / "forms.py", text_of(code, mine)


def main() -> None:
    for path, text in texts():
        write_whole(path, text)


if __name__ == "__main__":
    main()
