"""A rule's page: Markdown, laid out on a terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, TextIO

from syncfinder.rules.evidence import confirmed

if TYPE_CHECKING:
    from syncfinder.rules.catalogue import Rule


def markdown(rule: Rule) -> str:
    """The page of a rule as Markdown."""
    parts = [f"# {rule.name} ({rule.code})", f"Family: {rule.family}", rule.summary]
    parts += _section("What it does", rule.what)
    parts += _section("Why it is bad", rule.why)
    parts += _section("What to write instead", rule.use_instead)
    parts += _section("Example", _code(rule.example_bad))
    parts += _section("Use instead", _code(rule.example_good))
    parts += _section("Fix safety", rule.fix_safety)
    parts += _section("Evidence", "\n\n".join([*confirmed(rule.code), rule.confirmed.strip()]))
    parts += _section("References", "\n".join(f"- {reference}" for reference in rule.references))
    return "\n\n".join(part.strip() for part in parts if part.strip()) + "\n"


def _section(title: str, text: str) -> list[str]:
    return [f"## {title}", text] if text.strip() else []


def _code(text: str) -> str:
    return f"```python\n{text.strip(chr(10)).rstrip()}\n```" if text.strip() else ""


def write(rules: Iterable[Rule], stream: TextIO, *, terminal: bool) -> None:
    """Write the pages: laid out and coloured for a terminal, else as the Markdown text itself."""
    pages = [markdown(rule) for rule in rules]
    if not terminal:
        stream.write("\n".join(pages))
        return
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console(file=stream)
    for page in pages:
        console.print(Markdown(page))
        console.print()
