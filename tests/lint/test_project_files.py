"""Files for tools: issue templates, hooks, the container, the change log. They are valid, and the files that they name exist."""

import json
import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
FORMS = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"))


def test_the_templates_are_there():
    assert {path.stem for path in FORMS} == {"config", "wrong-result", "crash", "slower-than-expected", "question"}


@pytest.mark.parametrize("path", [path for path in FORMS if path.stem != "config"], ids=lambda path: path.stem)
def test_a_template_is_a_form(path):
    form = yaml.safe_load(path.read_text())
    assert {"name", "description", "body"} <= set(form)
    fields = [field for field in form["body"] if field["type"] != "markdown"]
    names = [field["id"] for field in fields]
    assert len(set(names)) == len(names) and all(field["attributes"]["label"] for field in fields)
    assert any(field.get("validations", {}).get("required") for field in fields)
    text = path.read_text()
    assert "frit.explain" in text or "repro.py" in text


def test_hooks_are_local_and_run_what_exists():
    (repository,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert repository["repo"] == "local"
    hooks = {hook["id"]: hook for hook in repository["hooks"]}
    assert set(hooks) == {"ruff", "clang-format", "clang-tidy", "lint"}
    for hook in hooks.values():
        assert hook["language"] == "system"
        for word in hook["entry"].split():
            assert "/" not in word or word.startswith(".venv/") or (ROOT / word).exists(), word


def test_the_container_is_a_bare_debian_12_and_the_editor_uses_a_stage_of_it():
    dockerfile = (ROOT / "Dockerfile").read_text()
    assert re.findall(r"^FROM (.+)$", dockerfile, re.M) == ["debian:12 AS base", "base"]
    build = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text())["build"]
    assert f"AS {build['target']}\n" in dockerfile
    assert (ROOT / ".devcontainer" / build["dockerfile"]).resolve() == ROOT / "Dockerfile"
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.M)
    assert set(re.findall(r'\bmake"?,? "?(\w+)', re.sub(r"^#.*$", "", dockerfile, flags=re.M))) - {"python3"} <= set(targets)


def test_changes_that_are_not_released_come_first():
    headings = re.findall(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert headings[0] == "Unreleased" and len(set(headings)) == len(headings)
    kinds = set(re.findall(r"^### (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.M))
    assert kinds <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
