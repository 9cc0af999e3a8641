"""`make demo` compiles only what `import frit` loads: the compiler, the runtime and the binding to torch."""

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("FRIT_BUILD_DIR", ROOT / "build"))
COMPILED = re.compile(r" -o (\S+)\.o\b")


def rooms(commands):
    """Returns the top-level folders whose files the commands compile, with the number of files."""
    found = {}
    for name in COMPILED.findall(commands):
        room = name.split("/")[0]
        found[room] = found.get(room, 0) + 1
    return found


def test_folders_are_counted():
    assert rooms("c++ -o ir/x.dir/A.cpp.o -c A.cpp\nld -o lib/x.so ir/x.dir/A.cpp.o\nc++ -o tests/u.dir/B.cpp.o -c B.cpp") == {"ir": 1, "tests": 1}


@pytest.fixture(scope="module")
def commands():
    """Returns the commands that build the target of `make demo` from scratch."""
    (target,) = re.search(r"^demo:\n\t@scripts/bootstrap (.+)$", (ROOT / "Makefile").read_text(), re.M)[1].split()
    return subprocess.run(["ninja", "-C", BUILD, "-t", "commands", target], capture_output=True, text=True, check=True).stdout


def test_the_demo_builds_no_tests_and_no_tools(commands):
    found = rooms(commands)
    assert set(found) == {"CMakeFiles", "ir", "import", "kernel", "passes", "codegen", "compiler", "runtime", "python"}
    assert "frit_runtime_standalone" not in commands


def test_the_demo_builds_what_the_package_loads(commands):
    for library in ("libfrit_compiler.so", "_C"):
        assert re.search(rf" -o \S*/{re.escape(library)}", commands), library
