"""The ledger of `scripts/tidy` has no findings of clang-tidy, and names the rooms that were not checked; a mistake is found."""

import json
import runpy
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TIDY = runpy.run_path(str(ROOT / "scripts/tidy"))
LEDGER = json.loads(TIDY["LEDGER"].read_text())
#: Rooms with C++ files that the default build compiles.
ROOMS = {"ir", "import", "kernel", "passes", "codegen", "compiler", "runtime", "python", "tools", "tests", "benchmarks"}


def test_the_checks_ran_and_found_nothing():
    assert LEDGER["checks"] == TIDY["checks"]() and len(LEDGER["checks"]) > 20
    assert set(LEDGER["files"]) <= ROOMS and all(count > 0 for count in LEDGER["files"].values())
    assert LEDGER["findings"] == {}


def test_every_room_was_checked_or_is_missing():
    assert ROOMS == set(LEDGER["files"]) | {name.split("/")[0] for name in LEDGER["missing"]}


def test_what_is_not_compiled_is_named():
    """Programs of a user, and the fuzz targets' second build."""
    assert all(name.startswith(("examples/", "tests/fuzz/")) for name in LEDGER["not compiled"]), LEDGER["not compiled"]


OUTPUT = f"""
{ROOT}/ir/A.h:3:9: error: 'x' used after it was moved [bugprone-use-after-move,-warnings-as-errors]
    3 |   use(x);
{ROOT}/ir/A.h:2:7: note: move occurred here
{ROOT}/ir/A.h:3:9: error: 'x' used after it was moved [bugprone-use-after-move,-warnings-as-errors]
{ROOT}/ir/B.cpp:7:1: warning: do not use 'else' after 'return' [readability-else-after-return]
"""


def test_findings_are_counted_once_with_their_places():
    assert TIDY["findings"](OUTPUT) == {("bugprone-use-after-move", "ir/A.h:3"), ("readability-else-after-return", "ir/B.cpp:7")}
    assert TIDY["findings"]("2 warnings generated.\n") == set()


def test_a_header_is_checked_through_a_source():
    known = {"passes/FusionRules.cpp", "passes/FuseRegions.cpp"}
    assert TIDY["sources_of"](["passes/FusionRules.h", "passes/FusionClusters.h", "passes/Passes.td"], known) == sorted(known)


@pytest.mark.skipif(not shutil.which(TIDY["TOOL"]), reason=f"{TIDY['TOOL']} is not installed")
def test_a_mistake_is_found(tmp_path):
    source = tmp_path / "A.cpp"
    source.write_text("#include <string>\n#include <utility>\nvoid use(std::string);\nvoid f(std::string x) { use(std::move(x)); use(x); }\n")
    done = subprocess.run([TIDY["TOOL"], f"--config-file={ROOT}/.clang-tidy", source, "--", "-std=c++20"], capture_output=True, text=True)
    assert done.returncode and "bugprone-use-after-move" in {check for check, _ in TIDY["findings"](done.stdout)}
