"""Runs a part of the suite as scripts/gpu-sweep runs all of it: every graph is emulated with all checks, and every kernel is assembled and
compared with the ledger. The part: mutating operators, exported programs, and hard programs over the sizes around a bucket."""

import os
import subprocess
import sys
from pathlib import Path

import emulation
import pytest

ROOT = Path(__file__).resolve().parents[3]
HARD = ["04 extremes", "13 batch norm", "20 broadcast"]
SIZES = [f"sizes/test_hard_sizes.py::test_over_the_sizes_around_a_bucket[{name}-plain]" for name in HARD]
PART = ["passes/test_mutation.py", "import/test_exported_programs.py", *SIZES]


@pytest.mark.skipif(emulation.PTXAS is None, reason="needs ptxas")
@pytest.mark.skipif(os.environ.get("FRIT_TEST_TARGET") == "simt", reason="not emulated: it is a sweep itself")
def test_a_part_of_the_suite_on_an_emulated_gpu(tmp_path):
    tests = [f"tests/python/{name}" for name in PART]
    command = [sys.executable, ROOT / "scripts" / "gpu-sweep", "--jobs=1", f"--table={tmp_path}/table", *tests]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    rows = [line.split() for line in (tmp_path / "table").read_text().splitlines()]
    assert len(rows) > 100
    emulation.check_ledger([(name, int(arch.removeprefix("sm_")), int(registers)) for name, arch, registers in rows])
