"""The documentation is true: its commands print what it shows, its recipes are valid, every rule has its page."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest
import yaml

from syncfinder.report.formats import OUTPUT_FORMATS
from syncfinder.rules.catalogue import load

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs").rglob("*.md"))
_BLOCK = re.compile(
    r'^```(?P<language>\w+)(?: title="(?P<title>[^"]+)")?\n(?P<text>.*?)^```$', re.MULTILINE | re.DOTALL
)


@dataclass(frozen=True)
class Block:
    """A fenced block: a file when it has a title, commands and their output when its language is `console`."""

    language: str
    title: str | None
    text: str


def blocks(page: Path) -> list[Block]:
    return [Block(m["language"], m["title"], m["text"]) for m in _BLOCK.finditer(page.read_text(encoding="utf-8"))]


def pattern(output: list[str]) -> str:
    """The shown output as a regular expression; a line of three dots stands for any lines."""
    return "".join("(?:.*\n)*?" if line == "..." else re.escape(line) + "\n" for line in output)


@pytest.mark.parametrize(
    "page", [p for p in PAGES if "```console" in p.read_text(encoding="utf-8")], ids=lambda p: p.stem
)
def test_commands_print_what_the_page_shows(page: Path, tmp_path: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    removed = ("NO_COLOR", "FORCE_COLOR", "GITHUB_WORKSPACE", "CI_PROJECT_DIR", "BUILD_SOURCESDIRECTORY")
    env = {key: value for key, value in os.environ.items() if key not in removed} | {"PATH": path}
    code = 0
    for block in blocks(page):
        if block.title is not None:
            file = tmp_path / block.title
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text, encoding="utf-8")
        if block.language != "console":
            continue
        for part in block.text.removeprefix("$ ").split("\n$ "):
            command, *output = part.splitlines()
            done = subprocess.run(
                ["bash", "-c", f"(exit {code}); {command}"],
                cwd=tmp_path,
                env=env,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            code = done.returncode
            shown = [line.rstrip() for line in done.stdout.splitlines()]
            assert re.fullmatch(pattern(output), "".join(f"{line}\n" for line in shown)), f"$ {command}\n{done.stdout}"


SCHEMAS = {
    ".github/workflows/": "vendor.github-workflows",
    ".gitlab-ci.yml": "vendor.gitlab-ci",
    "azure-pipelines.yml": "vendor.azure-pipelines",
}


def test_recipes_are_valid(tmp_path: Path) -> None:
    recipes = [b for page in PAGES for b in blocks(page) if b.language == "yaml" and b.title is not None]
    checked = []
    for block in recipes:
        assert block.title is not None
        file = tmp_path / Path(block.title).name
        file.write_text(block.text)
        if block.title == ".pre-commit-config.yaml":
            command = ["pre_commit", "validate-config"]
        else:
            [schema] = [name for start, name in SCHEMAS.items() if block.title.startswith(start)]
            command = ["check_jsonschema", "--regex-variant", "python", "--builtin-schema", schema]
        done = subprocess.run([sys.executable, "-m", *command, str(file)], capture_output=True, text=True)
        assert done.returncode == 0, f"{block.title}: {done.stdout}{done.stderr}"
        checked.append(block.title)
    assert len(checked) == 8


def test_recipes_use_inputs_that_the_action_has() -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    page = ROOT / "docs" / "ci.md"
    for block in blocks(page):
        if block.title is not None and block.title.startswith(".github/"):
            [job] = yaml.safe_load(block.text)["jobs"].values()
            [step] = [s for s in job["steps"] if s.get("uses", "").startswith("OWNER/syncfinder@")]
            assert step["with"].keys() <= action["inputs"].keys()
    table = re.findall(r"^\| `([\w-]+)` \|(.*?)\|", page.read_text(), re.MULTILINE)
    defaults = {name: row["default"] for name, row in action["inputs"].items()}
    assert {name: shown.strip(" `") for name, shown in table} == defaults | {"version": "the action's own"}


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_pages", ROOT / "scripts" / "docs_pages.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_rule_has_a_page_and_a_row(generator: ModuleType) -> None:
    from syncfinder.torchmodel.model import load as torch_model

    table = generator.rules_table()
    model = torch_model(None)
    for rule in load().values():
        assert f"| [{rule.code}]({rule.code}-{rule.name}.md) | {rule.name} | {rule.summary} |\n" in table
        page = generator.rule_page(rule, model)
        headings = re.findall("^## (.*)$", page, re.MULTILINE)
        assert headings[:6] == [
            "What it does",
            "Why it is bad",
            "What to write instead",
            "Example",
            "Use instead",
            "Fix safety",
        ]
    assert {rule.family for rule in load().values()} <= generator.FAMILIES.keys()
    page = generator.rule_page(load()["SF201"], model)
    assert (
        f"## Functions of torch {model.torch_version}\n\n| function | waits when | evidence |\n|---|---|---|\n" in page
    )
    assert "| `torch.nonzero` | always | " in page


def test_tables_name_every_setting_and_format(generator: ModuleType) -> None:
    assert re.findall(r"^\| `([\w-]+)` \|", generator.formats_table(), re.MULTILINE) == list(OUTPUT_FORMATS)
    rows = re.findall(r"^\| `([\w-]+)` \| (.*?) \|", generator.settings_table(), re.MULTILINE)
    assert ("select", '`["SF"]`') in rows
    assert ("respect-gitignore", "`true`") in rows


def test_every_table_that_a_page_names_exists(generator: ModuleType) -> None:
    named = {name for page in PAGES for name in re.findall(r"<!-- table: (\w+) -->", page.read_text(encoding="utf-8"))}
    assert named | {"rules"} == generator.TABLES.keys()
