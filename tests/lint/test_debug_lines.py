"""Passes with decisions log them with reasons in debug lines (LLVM's LDBG), under the name of their flag."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FLAGS = {
    flag
    for room in ("passes", "codegen")
    for td in (ROOT / room).glob("*Passes.td")
    for flag in re.findall(r'^def\s+\w+\s*:\s*Pass<"([\w-]+)"', td.read_text(), re.M)
}
SOURCES = {path: text for path in sorted((ROOT / "passes").rglob("*.cpp")) if "LDBG()" in (text := path.read_text())}
#: The passes that choose between ways to compile a graph.
DECIDING = {
    f"frit-{name}"
    for name in (
        "assign-buckets", "assign-layouts", "fuse-regions", "gather-regions", "insert-shape-guards", "materialize-padding", "merge-columns",
        "plan-buffers", "prefer-channels-last", "schedule-cpu-kernels",
    )
}  # fmt: skip


def debug_type(text):
    """Returns the names of a source's debug lines."""
    return re.findall(r'^#define DEBUG_TYPE "(.*)"$', text, re.M)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_debug_lines_have_the_name_of_a_pass(path):
    (name,) = debug_type(SOURCES[path])
    assert name in FLAGS


def test_every_pass_that_decides_has_debug_lines():
    assert DECIDING <= FLAGS
    assert not DECIDING - {name for text in SOURCES.values() for name in debug_type(text)}


def test_a_source_without_a_name_is_noticed():
    assert debug_type('LDBG() << "x";') == [] and debug_type('#define DEBUG_TYPE "frit-a"\n') == ["frit-a"]
