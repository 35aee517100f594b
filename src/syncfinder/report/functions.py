"""The torch model's waits in readable form: which functions a rule knows, when they wait, and on what evidence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from syncfinder.rules.catalogue import Rule
    from syncfinder.torchmodel.model import Model, Term

# how a term is said; {p} is the parameter, {v} the value
SAID = {
    "given": "{p} is given",
    "missing": "{p} is not given",
    "tensor": "{p} is a tensor",
    "cuda": "{p} is on the GPU",
    "host": "{p} is on the host",
    "list": "{p} is a list or an array",
    "number": "{p} is a number",
    "negative": "{p} is negative",
    "mask": "{p} is a mask on the GPU",
    "ndim": "{p} has {v} dimensions",
    "large": "{p} has {v} elements or more",
    "oblong": "{p} is not square",
    "matrix": "{p} is a matrix",
    "same": "{p} equals {v}",
    "same-shape": "{p} has the same shape",
    "is": "{p} is {v!r}",
    "not-is": "{p} is not {v!r}",
    "not-made-with": "{p} was not made with {v[0]}={v[1]!r}",
    "init-is": "it was made with {p}={v!r}",
    "init-not-is": "it was not made with {p}={v!r}",
    "init-cuda": "it was made with {p} on the GPU",
    "init-given": "it was made with {p}",
    "init-missing": "it was made without {p}",
    "mode": "it is in {p} mode",
}


def rows(rule: Rule, model: Model) -> Iterator[tuple[str, str, str]]:
    """Yield function, condition and evidence for each function of torch that the rule knows."""
    for name in model.effect_names():
        row = model.row(name)
        if row is None:
            continue
        conditions = [said(e.when) for e in row.effects if e.kind in rule.kinds]
        if not conditions:
            continue
        when = "always" if "" in conditions else "; or ".join(dict.fromkeys(conditions))
        waits, silent = row.seen
        yield name, when, f"{waits} of {waits + silent} calls waited" if waits else "read in torch's source"


def said(terms: Iterable[Term]) -> str:
    """Return a condition in words; "" for always."""
    return " and ".join(SAID[t.test].format(p=t.parameter, v=t.literal) for t in terms if t.test != "anywhere")


def markdown(rule: Rule, model: Model) -> str:
    """Return the table of a rule as Markdown."""
    found = list(rows(rule, model))
    on = model.evidence
    head = f"# {rule.name} ({rule.code}): functions of torch {model.torch_version}"
    if not found:
        return f"{head}\n\nNone: the rule is about the language and about copies, not about single functions.\n"
    seen = (
        f"Measured on {on['gpu']}, driver {on['driver']}, torch {on['torch']}, {on['date']}." if on else "Not measured."
    )
    lines = [head, "", seen, "", "| function | waits when | evidence |", "|---|---|---|"]
    lines += [f"| `{name}` | {when} | {evidence} |" for name, when, evidence in found]
    return "\n".join(lines) + "\n"


def write(rules: Iterable[Rule], model: Model, stream: TextIO, *, terminal: bool) -> None:
    """Write the tables: laid out for a terminal, else as Markdown."""
    pages = [markdown(rule, model) for rule in rules]
    if not terminal:
        stream.write("\n".join(pages))
        return
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console(file=stream)
    for page in pages:
        console.print(Markdown(page))
