"""The pages in docs/Contribute walk through real commits: the files are those of the commit, and the commit added each line of a block."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = {path.stem: path.read_text() for path in sorted((ROOT / "docs/Contribute").glob("*.md"))}
#: A path in the commit, and its current path.
NAMED = r"`([\w.-]+(?:/[\w.-]+)+|CHANGELOG\.md)`(?:\s+\(today\s+`([\w./-]+)`\))?"


def git(*arguments):
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else None


def subject_of(page):
    return re.search(r"^This page walks through the commit `(.+?)`", page, re.M)[1]


def parts(page):
    """Returns (path in the commit, current path, blocks) of each numbered section."""
    found = []
    for title, body in re.findall(r"^## \d+\. ([^\n]+)\n(.*?)(?=^## |\Z)", page, re.M | re.S):
        then, today = re.search(NAMED, title).groups()
        found.append((then, today or then, re.findall(r"^```\n(.*?)^```$", body, re.M | re.S)))
    return found


def named(page):
    """Returns path in the commit -> current path, for all files that the page names as changed."""
    body = page.split("\n## 1. ", 1)[1]
    return {then: today or then for then, today in re.findall(NAMED, re.sub(r"^```\n.*?^```$", "", body, flags=re.M | re.S))}


def missing_line(block, added):
    """Returns the first line of a block that is not among the added lines after the previous one."""
    lines = iter(added)
    for wanted in filter(None, map(str.strip, block.splitlines())):
        if wanted != "..." and not any(wanted == line.strip() for line in lines):
            return wanted
    return None


def commit_of(page):
    """Returns the commit with the subject that the page names; skips the test if there is no history."""
    if git("rev-parse", "--is-shallow-repository") != "false\n":
        pytest.skip("the history is not here")
    subject = subject_of(page)
    for line in git("log", "--format=%H %s", "--fixed-strings", f"--grep={subject}").splitlines():
        commit, _, found = line.partition(" ")
        if found == subject:
            return commit
    pytest.fail(f"no commit has the subject {subject!r}")


def test_there_is_a_page_for_each_thing_to_add():
    assert set(PAGES) == {"Operator", "ElementOperation", "Pass", "Schedule", "GpuKernelFamily", "RuntimeStep"}


def test_a_line_that_was_not_added_is_noticed():
    assert missing_line("a\n...\n  c\n", ["a", "b", "c"]) is None
    assert missing_line("a\nd\n", ["a", "b", "c"]) == "d"
    assert missing_line("c\na\n", ["a", "b", "c"]) == "a"


@pytest.mark.parametrize("name", PAGES)
def test_the_files_are_those_of_the_commit(name):
    page = PAGES[name]
    changed = git("show", "--format=", "--name-only", "--no-renames", commit_of(page)).split()
    said = named(page)
    assert set(changed) <= set(said), f"not on the page: {sorted(set(changed) - set(said))}"
    assert int(re.search(r"touches (\d+) files", page)[1]) == len(changed)
    assert {then for then, _, _ in parts(page)} <= set(changed)


@pytest.mark.parametrize("name", PAGES)
def test_the_files_are_still_there(name):
    assert not [today for today in named(PAGES[name]).values() if not (ROOT / today).exists()]


@pytest.mark.parametrize("name", PAGES)
def test_the_lines_are_those_of_the_commit(name):
    page = PAGES[name]
    commit = commit_of(page)
    assert all(blocks for _, _, blocks in parts(page))
    for path, _, blocks in parts(page):
        added = [line[1:] for line in git("show", "--format=", "--no-renames", commit, "--", path).splitlines() if line.startswith("+")]
        for block in blocks:
            assert missing_line(block, added) is None, path


def test_the_operator_takes_three_files():
    assert re.search(r"touches 3 files", PAGES["Operator"])


def test_an_element_operation_takes_four_files_of_code():
    changed = git("show", "--format=", "--name-only", commit_of(PAGES["ElementOperation"])).split()
    code = [path for path in changed if not path.startswith(("tests/", "docs/generated/")) and path != "CHANGELOG.md"]
    assert code == ["codegen/math/WideMath.cpp", "ir/ElementOps.cpp", "ir/FunctionOps.td", "passes/legalize/Elementwise.cpp"]


def test_a_family_of_gpu_kernels_takes_eight_files():
    own = [path for path in named(PAGES["GpuKernelFamily"]) if not path.startswith(("tests/", "docs/generated/"))]
    changed = git("show", "--format=", "--name-only", "--no-renames", commit_of(PAGES["GpuKernelFamily"])).split()
    assert len(set(own) & set(changed)) == 8
