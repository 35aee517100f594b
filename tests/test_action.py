"""action.yml: its shell steps run in order with the environment that GitHub's runner gives them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
READS = 'import torch\n\n\ndef f():\n    return torch.zeros(3, device="cuda").sum().item()\n'


@dataclass
class Job:
    """A job with this action in it: `outputs` by step, `uses` with the inputs of other actions, and the log."""

    folder: Path
    inherited: dict[str, str]
    outputs: dict[str, dict[str, str]] = field(default_factory=dict)
    uses: dict[str, dict[str, str]] = field(default_factory=dict)
    log: str = ""
    failed: bool = False

    def run(self, *, install: bool = False, **inputs: str) -> Job:
        """Run the steps; without `install`, with an environment that is there already."""
        defaults = {name: row["default"] for name, row in ACTION["inputs"].items()}
        given = {name.replace("_", "-"): value for name, value in inputs.items()}
        assert given.keys() <= defaults.keys()
        for step in ACTION["runs"]["steps"]:
            self._step(step, defaults | given, install)
        return self

    def _step(self, step: dict[str, Any], inputs: dict[str, str], install: bool) -> None:
        always, _, condition = step.get("if", "").rpartition("always() && ")
        if (self.failed and not always) or not self._holds(condition or (always and ""), inputs):
            return
        if "uses" in step:
            self.uses[step["uses"]] = {key: self._filled(value, inputs) for key, value in step["with"].items()}
        elif install or not step["run"].endswith(" install"):
            self._shell(step, {key: self._filled(value, inputs) for key, value in step.get("env", {}).items()})

    def _shell(self, step: dict[str, Any], env: dict[str, str]) -> None:
        output = self.folder / "output"
        output.write_text("")
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=self.folder / "workspace",
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(self.folder),
                "GITHUB_ACTIONS": "true",
                "GITHUB_ACTION_PATH": str(ROOT),
                "GITHUB_OUTPUT": str(output),
                "GITHUB_WORKSPACE": str(self.folder / "workspace"),
                "RUNNER_TEMP": str(self.folder / "temp"),
                "RUNNER_OS": "Linux",
                "RUNNER_ARCH": "X64",
                **{key: value for key, value in os.environ.items() if key.startswith("PIP_")},
                **self.inherited,
                **env,
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.log += done.stdout
        self.failed |= done.returncode != 0
        lines = output.read_text().splitlines()
        self.outputs[step.get("id", "")] = dict(line.split("=", 1) for line in lines)

    def _filled(self, text: str, inputs: dict[str, str]) -> str:
        return re.sub(r"\$\{\{ (.+?) \}\}", lambda match: self._value(match[1], inputs), text)

    def _value(self, name: str, inputs: dict[str, str]) -> str:
        kind, _, rest = name.partition(".")
        if kind == "inputs":
            return inputs[rest]
        assert kind == "steps"
        step, outputs, key = rest.split(".")
        assert outputs == "outputs"
        return self.outputs.get(step, {}).get(key, "")

    def _holds(self, condition: str, inputs: dict[str, str]) -> bool:
        if not condition:
            return True
        results = []
        for part in condition.split(" && "):
            name, operator, literal = re.fullmatch(r"(\S+) (==|!=) '(.*)'", part).groups()  # type: ignore[union-attr]
            results.append((self._value(name, inputs) == literal) == (operator == "=="))
        return all(results)


@pytest.fixture
def job(tmp_path: Path) -> Job:
    """A checkout with a clean and a waiting file, and an environment as the step `install` makes it."""
    (tmp_path / "workspace" / "a b").mkdir(parents=True)
    (tmp_path / "workspace" / "a b" / "reads.py").write_text(READS)
    (tmp_path / "workspace" / "clean.py").write_text("x = 1\n")
    programs = tmp_path / "temp" / "syncfinder" / "bin"
    programs.mkdir(parents=True)
    (programs / "syncfinder").symlink_to(Path(sys.executable).parent / "syncfinder")
    return Job(tmp_path, {key: value for key, value in os.environ.items() if key == "PYTHONPATH"})


def test_annotations(job: Job) -> None:
    job.run()
    assert job.failed
    assert job.log.startswith("::warning title=syncfinder (SF101),file=a b/reads.py,line=5,endLine=5,col=12,")
    assert job.outputs["check"] == {"report": "", "exit-code": "1"}
    assert list(job.uses) == ["actions/cache@v5"]


def test_nothing_found(job: Job) -> None:
    job.run(paths="clean.py")
    assert (job.failed, job.log) == (False, "")
    assert job.outputs["check"] == {"report": "", "exit-code": "0"}


def test_paths_are_lines_and_arguments_are_words(job: Job) -> None:
    job.run(paths="a b\nclean.py\n", args="--ignore 'SF2,SF1' --jobs 1")
    assert (job.failed, job.log) == (False, "")
    job.run(paths="a b", args="--ignore 'SF2")
    assert job.failed
    assert "::error title=syncfinder::args: cannot be read: --ignore 'SF2\n" in job.log


def test_inputs_are_never_run(job: Job) -> None:
    job.run(paths="$(touch paths)", args="'$(touch args)' ; touch more")
    assert job.failed
    assert sorted(path.name for path in (job.folder / "workspace").iterdir()) == ["a b", "clean.py"]


def test_sarif_is_uploaded_before_the_job_fails(job: Job) -> None:
    job.run(output_format="sarif")
    report = job.folder / "temp" / "syncfinder.sarif"
    assert job.failed
    assert job.uses["github/codeql-action/upload-sarif@v4"] == {"sarif_file": str(report), "category": "syncfinder"}
    [result] = json.loads(report.read_text())["runs"][0]["results"]
    artifact = result["locations"][0]["physicalLocation"]["artifactLocation"]
    assert artifact == {"uri": "a%20b/reads.py", "uriBaseId": "%SRCROOT%"}


def test_findings_need_not_fail(job: Job) -> None:
    job.run(output_format="sarif", upload_sarif="false", output_file="out.sarif", fail_on_findings="false")
    assert not job.failed
    assert job.outputs["check"] == {"report": "out.sarif", "exit-code": "1"}
    assert (job.folder / "workspace" / "out.sarif").is_file()
    assert list(job.uses) == ["actions/cache@v5"]


def test_an_incomplete_run_fails_whatever_is_asked(job: Job) -> None:
    (job.folder / "workspace" / "bad.py").write_text("x = = 1\n")
    job.run(fail_on_findings="false")
    assert job.failed
    assert "::error title=syncfinder::bad.py:1:5: syntax error" in job.log
    assert job.log.endswith(
        "::error title=syncfinder::could not do its whole work (exit code 2); the log of the step before says why\n"
    )


def test_a_run_without_a_report_fails_although_an_old_one_lies_there(job: Job) -> None:
    (job.folder / "workspace" / "out.json").write_text("[]")
    job.run(output_format="json", output_file="out.json", args="--no-such-option", fail_on_findings="false")
    assert job.failed
    assert "::error title=syncfinder::wrote no report (exit code 2)\n" in job.log
    assert not (job.folder / "workspace" / "out.json").exists()


def test_the_cache_belongs_to_python_and_the_dependencies(job: Job) -> None:
    job.run(paths="clean.py", version="1.2.3")
    cache = job.uses["actions/cache@v5"]
    assert re.fullmatch(r"syncfinder-Linux-X64-3\.\d+\.\d+-\d+-\d+-1\.2\.3", cache["key"])
    assert os.path.isabs(cache["path"])


def test_action_yml_is_valid() -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-actions"]
    assert subprocess.run([*command, str(ROOT / "action.yml")]).returncode == 0


@pytest.mark.network
def test_the_action_installs_its_own_version(job: Job) -> None:
    (job.folder / "temp" / "syncfinder" / "bin" / "syncfinder").unlink()
    job.inherited.clear()
    job.run(install=True, output_format="html", output_file="report.html", fail_on_findings="false")
    assert not job.failed
    assert re.fullmatch(r"syncfinder \d+\.\d+\.\d+\n", job.log.splitlines(keepends=True)[-1])
    assert (job.folder / "workspace" / "report.html").read_text().count("<article") == 1
