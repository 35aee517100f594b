"""A hook of mkdocs: writes the pages and tables that come from data, when the documentation is built.

A page for each rule, from rules/*.toml, the evidence in fixtures/evidence/ and the torch model; the tables that pages
name with a comment such as `<!-- table: settings -->`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from syncfinder.report import functions
from syncfinder.report.rule import markdown
from syncfinder.rules.catalogue import Rule, load
from syncfinder.torchmodel.model import Model
from syncfinder.torchmodel.model import load as torch_model

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

FAMILIES = {
    "suppression": "Comments that suppress",
    "value-read": "A value is read",
    "truth-test": "A truth value is asked for",
    "shape": "A size depends on values",
    "upload": "Host data go to the GPU",
    "wait": "The wait itself",
    "hazard": "A copy is not waited for",
    "measurement": "The wrong moment is measured",
}
_TABLE = re.compile(r"<!-- table: (\w+) -->")


def page_name(rule: Rule) -> str:
    """Return the path of a rule's page in the documentation."""
    return f"rules/{rule.code}-{rule.name}.md"


def rule_page(rule: Rule, model: Model) -> str:
    """Return a rule's page: as `syncfinder rule` has it, with the functions of torch that the rule knows."""
    text = markdown(rule)
    rows = list(functions.rows(rule, model))
    if rows:
        text += (
            f"\n## Functions of torch {model.torch_version}\n\n| function | waits when | evidence |\n|---|---|---|\n"
        )
        text += "".join(f"| `{name}` | {_cell(when)} | {evidence} |\n" for name, when, evidence in rows)
    return text


def rules_table() -> str:
    """Return the rules by family, each with a link to its page."""
    rules = load().values()
    families = dict.fromkeys(rule.family for rule in rules)
    parts = []
    for family in families:
        parts.append(f"## {FAMILIES.get(family, family)}\n\n| code | name | what it finds |\n|---|---|---|")
        parts += [
            f"| [{r.code}]({page_name(r).removeprefix('rules/')}) | {r.name} | {_cell(r.summary)} |"
            for r in rules
            if r.family == family
        ]
        parts.append("")
    return "\n".join(parts)


def settings_table() -> str:
    """Return the keys of `[tool.syncfinder]`, each with its default, what it does, and an example."""
    from syncfinder.keys import KEYS

    lines = ["| key | default | what | example |", "|---|---|---|---|"]
    for key in KEYS.values():
        default = f"`{key.shown}`" if key.shown[:1] in '["{' or key.shown in ("true", "false") else key.shown
        lines.append(f"| `{key.name}` | {_cell(default)} | {_cell(key.help)} | `{_cell(key.example)}` |")
    return "\n".join(lines) + "\n"


def formats_table() -> str:
    """Return the output formats, each with the first line of its module's docstring."""
    from importlib import import_module

    from syncfinder.report.formats import DOCUMENTS, OUTPUT_FORMATS, TEXT

    lines = ["| format | for | what |", "|---|---|---|"]
    for name in OUTPUT_FORMATS:
        doc = import_module(f"syncfinder.report.{name.replace('-', '_')}").__doc__ or ""
        reader = "a terminal" if name in TEXT else "people" if name in DOCUMENTS else "machines"
        lines.append(f"| `{name}` | {reader} | {_cell(' '.join(doc.split(chr(10) * 2)[0].split()))} |")
    return "\n".join(lines) + "\n"


TABLES: dict[str, Callable[[], str]] = {"rules": rules_table, "settings": settings_table, "formats": formats_table}


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the rules' pages into the navigation."""
    assert config.nav is not None
    pages = ["rules/index.md", *({rule.code: page_name(rule)} for rule in load().values())]
    config.nav = [{"Rules": pages} if "Rules" in entry else entry for entry in config.nav]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the rules' pages."""
    from mkdocs.structure.files import File

    model = torch_model(None)
    head = "# Rules\n\nWhat each code means. `syncfinder rule CODE` shows the same page in a terminal.\n\n"
    files.append(File.generated(config, "rules/index.md", content=f"{head}<!-- table: rules -->\n"))
    for rule in load().values():
        files.append(File.generated(config, page_name(rule), content=rule_page(rule, model)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Fill in the tables that a page names. Raises KeyError for a name that there is no table for."""
    return _TABLE.sub(lambda match: TABLES[match[1]](), markdown)
