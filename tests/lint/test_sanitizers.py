"""The ledger of `scripts/sanitize` has no sanitizer reports, and names each preset that was not run."""

import json
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SANITIZE = runpy.run_path(str(ROOT / "scripts/sanitize"))
LEDGER = json.loads(SANITIZE["LEDGER"].read_text())
PARTS = {name: part for name, part in LEDGER.items() if name != "missing"}


def test_every_preset_was_run_or_is_missing():
    without = set(SANITIZE["PROGRAMS"]) - set(PARTS) - set(LEDGER["missing"])
    assert without <= ({"asan-runtime"} if "asan" in PARTS else set())


@pytest.mark.parametrize("preset", PARTS)
def test_nothing_is_reported_and_no_test_fails(preset):
    part = PARTS[preset]
    assert part["reports"] == {} and set(part["programs"]) == set(SANITIZE["PROGRAMS"][preset])
    for program in part["programs"].values():
        assert program["failed"] == [] and program["passed"] + sum(program["skipped"].values()) == program["tests"] > 0
    assert part["suppressions"] == SANITIZE["suppressions"](preset.split("-")[0])[0]


REPORTS = f"""
==================
WARNING: ThreadSanitizer: data race (pid=12)
  Write of size 8 at 0x1 by thread T1:
    #0 std::vector<int>::push_back /usr/include/c++/12/bits/stl_vector.h:1278
    #1 frit::ThreadPool::run() {ROOT}/runtime/cpu/ThreadPool.cpp:41:5
==7==ERROR: AddressSanitizer: heap-use-after-free on address 0x6020 at pc 0x55
READ of size 1 at 0x6020 thread T0
    #0 0x55 in main {ROOT}/tests/unit/a.cpp:3:1
==7==ERROR: LeakSanitizer: detected memory leaks
    #0 0x55 in malloc
{ROOT}/runtime/plan/ScalarProgram.cpp:99:12: runtime error: signed integer overflow: 1 + 9223372036854775807 cannot be represented in type 'long'
SUMMARY: UndefinedBehaviorSanitizer: undefined-behavior
WARNING: ThreadSanitizer: lock-order-inversion (potential deadlock) (pid=12)
    #0 pthread_mutex_lock <null>
    #1 frit::CudaGraphs::begin(int) <null> (frit_unit_runtime+0x1)
"""


def test_reports_are_counted_with_their_places():
    assert SANITIZE["reports"](REPORTS + REPORTS) == {
        "ThreadSanitizer: data race at runtime/cpu/ThreadPool.cpp:41": 2,
        "AddressSanitizer: heap-use-after-free at tests/unit/a.cpp:3": 2,
        "ThreadSanitizer: lock-order-inversion at frit::CudaGraphs::begin": 2,
        "LeakSanitizer: detected memory leaks at no place of this tree": 2,
        "runtime error: signed integer overflow: 1 + 9223372036854775807 cannot be represented in type 'long' at runtime/plan/ScalarProgram.cpp:99": 2,
    }
    assert SANITIZE["reports"]("[  PASSED  ] 5 tests.\n") == {}
