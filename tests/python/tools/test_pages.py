"""The programs of the user's pages run, and every file that a page names exists.

All blocks of a page run in order in one process. A hidden comment `<!-- python ... -->` defines names that the blocks need.
"""

import os
import re
import runpy
import subprocess
import sys
import types
from pathlib import Path

import fresh
import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]
DOCS = ROOT / "docs"
TOOLS = Path(os.environ.get("FRIT_BUILD_DIR", ROOT / "build")) / "bin"
#: Pages whose programs other tests run.
ELSEWHERE = {"docs/Integrations.md", "docs/Reports.md"}
BLOCK = re.compile(r"^(?:```python\n(.*?)^```|<!-- python\n(.*?)^-->)$", re.M | re.S)
PAGES = [path.relative_to(ROOT).as_posix() for path in sorted([ROOT / "README.md", *DOCS.glob("*.md")]) if "```python" in path.read_text()]


@pytest.mark.parametrize("page", [page for page in PAGES if page not in ELSEWHERE])
def test_the_programs_of_a_page_run(page, tmp_path):
    blocks = [shown or hidden for shown, hidden in BLOCK.findall((ROOT / page).read_text())]
    file = tmp_path / f"{Path(page).stem}.py"
    file.write_text("\n".join(blocks), encoding="utf-8")
    environment = {**os.environ, "PATH": f"{TOOLS}:{os.environ['PATH']}", "FRIT_CACHE": "1", "FRIT_CACHE_DIR": str(tmp_path / "cache"), "FRIT_STRICT": "0"}
    done = fresh.run([file], env=environment, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]


SHELL = re.compile(r"^```sh\n(.*?)^```$", re.M | re.S)
#: Languages whose blocks run: Python above and in the tests of ELSEWHERE, the shell here, C++ and its recipe in test_examples.py. `text` is what a
#: block above prints; what has no language is the output of a command, or what a user types to install, build or test.
LANGUAGES = {"python", "sh", "cpp", "cmake", "text", ""}
#: The commands that the blocks without a language may begin with, and the tests of them.
TYPED = re.compile(r"(pip install|frit doctor|make |scripts/|frit differs|\$ frit|(?:calls|input_ids|\S+\[\d\]) )")
PROGRAM = """
import json, torch
class Model(torch.nn.Module):
    def forward(self, x, ids):
        return torch.nn.functional.pad(x.tanh(), (1, 0)).softmax(-1), ids * 2
rows, length = torch.export.Dim("rows", min=2, max=512), torch.export.Dim("length", min=2, max=512)
arguments = torch.zeros(4, 8), torch.zeros(2, 6, dtype=torch.long)
torch.export.save(torch.export.export(Model(), arguments, dynamic_shapes=({0: rows}, {1: length})), "model.pt2")
json.dump({"ids[1]": {"17": 120, "64": 3}}, open("seen.json", "w"))
"""
ONE_INPUT = """
import numpy, torch
x = torch.randn(4, 8)
numpy.save("x.npy", x.numpy())
torch.export.save(torch.export.export(torch.nn.Sequential(torch.nn.Tanh(), torch.nn.Softmax(-1)), (x,)), "model.pt2")
"""


@pytest.mark.parametrize("page", [path.relative_to(ROOT).as_posix() for path in (ROOT / "README.md", *sorted(DOCS.glob("*.md"))) if SHELL.search(path.read_text())])
def test_the_commands_of_a_page_run(page, tmp_path):
    commands = "".join(SHELL.findall((ROOT / page).read_text()))
    program = ONE_INPUT if "x.npy" in commands else PROGRAM
    fresh.run(["-c", program], cwd=tmp_path, check=True)
    path = f"{TOOLS}:{os.environ['PATH']}"
    done = subprocess.run(["bash", "-euc", commands], cwd=tmp_path, env={**os.environ, "PATH": path}, capture_output=True, text=True)
    assert done.returncode == 0 and (tmp_path / "model.frit").exists(), done.stderr
    assert "x.npy" not in commands or (tmp_path / "y.npy").exists()


@pytest.mark.parametrize("page", [path.relative_to(ROOT).as_posix() for path in (ROOT / "README.md", *sorted(DOCS.glob("*.md")))])
def test_no_block_is_of_a_kind_that_nothing_runs(page):
    text = (ROOT / page).read_text()
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.M | re.S)
    assert {language for language, _ in blocks} <= LANGUAGES
    for language, block in blocks:
        first = block.strip().split("\n")[0]
        assert language or TYPED.match(first), f"what runs this block? {first}"
    # Four blanks at the beginning of a paragraph make a block too.
    plain = re.sub(r"^(```.*?^```|<!--.*?-->)$", "", text, flags=re.M | re.S)
    assert not re.search(r"\n\n    (?! *[-*\d])\S", plain), "a block without a language: use ```"


def test_the_users_pages_have_programs():
    assert {"README.md", "docs/index.md", "docs/Sizes.md", "docs/Memory.md", "docs/Cache.md", "docs/Trust.md"} | ELSEWHERE <= set(PAGES)


def test_the_page_on_memory_shows_what_is_printed(tmp_path):
    text = (DOCS / "Memory.md").read_text()
    program = next(shown for shown, _ in BLOCK.findall(text) if "print(memory)" in shown)
    done = fresh.run(["-c", program], cwd=tmp_path)
    assert done.returncode == 0 and done.stdout == re.search(r"^```text\n(.*?)^```$", text, re.M | re.S)[1], done.stderr + done.stdout


def nav(entries):
    for entry in entries:
        for value in entry.values():
            yield from nav(value) if isinstance(value, list) else [value]


SITE = yaml.safe_load((ROOT / "mkdocs.yml").read_text())


def test_the_site_has_every_page():
    pages = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    assert sorted(nav(SITE["nav"])) == sorted(pages | {"Changelog.md"})


@pytest.mark.parametrize("path", [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))], ids=lambda path: path.name)
def test_what_a_page_names_exists(path):
    text = re.sub(r"^```.*?^```$", "", path.read_text(), flags=re.M | re.S)
    named = set(re.findall(r"`((?:docs|tests|scripts|python|benchmarks|examples|compiler|runtime|passes|codegen|kernel|import|ir)/[\w./-]*\w)`", text))
    # The pages on contributing follow commits, whose files may have moved since; Name and name are placeholders.
    checked = {name for name in named if name.startswith("docs/") or "Contribute" not in path.parts and Path(name).stem not in ("Name", "name")}
    wrong = {name for name in checked if not (ROOT / name).exists() and not (ROOT / "python" / name).exists()}
    assert not wrong, wrong
    for target in re.findall(r"\]\(([^)#:]+)(?:#[\w-]+)?\)", text):
        assert (path.parent / target).exists(), target


@pytest.fixture
def hooks(monkeypatch):
    """Loads scripts/docs_hooks.py with a fake of mkdocs, which is in a separate environment."""
    names = ("mkdocs", "mkdocs.structure", "mkdocs.structure.files")
    for name in names:
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    sys.modules[names[-1]].File = object
    return runpy.run_path(str(ROOT / "scripts/docs_hooks.py"))


def test_names_of_pages_become_links(hooks):
    known = {"Sizes.md", "generated/options.md", "Trust.md"}
    with_links = hooks["with_links"]
    assert with_links("see `docs/Sizes.md`.", "Trust.md", known) == "see [Sizes](Sizes.md)."
    assert with_links("`docs/Trust.md`", "generated/options.md", known) == "[Trust](../Trust.md)"
    assert with_links("a\n```\n`docs/Sizes.md`\n```\n", "Trust.md", known) == "a\n```\n`docs/Sizes.md`\n```\n"
    with pytest.raises(ValueError, match="Trust.md names docs/Missing.md, which is not a page"):
        with_links("`docs/Missing.md`", "Trust.md", known)
