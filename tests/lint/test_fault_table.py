"""The table of GPU faults in tests/README.md names tests that exist, and every test with a row's number is in that row."""

import re
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
ROWS = 14


def defined_tests():
    gtests = {}
    for path in [*(TESTS / "unit/runtime/cuda").glob("*.cpp"), *(TESTS / "unit/runtime/torch").glob("*.cpp")]:
        gtests.update((name, path.name) for name in re.findall(r"^TEST(?:_F)?\(\w+, (\w+)\)", path.read_text(), re.MULTILINE))
    pytests = {}
    for path in (TESTS / "python").rglob("test_*.py"):
        pytests.update(((path.name, name), path.name) for name in re.findall(r"^def (test_\w+)", path.read_text(), re.MULTILINE))
    return gtests, pytests


def row_of(name):
    found = re.match(r"(?:Row|test_row_)(\d+)", name)
    return int(found.group(1)) if found else None


def test_every_row_names_its_tests():
    section = (TESTS / "README.md").read_text().split("## GPU faults")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (\d+) \|.*\|([^|]*)\|$", section, re.MULTILINE)
    assert [int(number) for number, _ in rows] == list(range(1, ROWS + 1))
    gtests, pytests = defined_tests()
    named = set()
    for number, tests in rows:
        names = [name for name in re.findall(r"`([\w.:]+)`", tests) if not name.endswith("/")]
        assert names, f"row {number} names no test"
        for name in names:
            file, _, test = name.rpartition("::")
            if test.startswith("test_"):
                assert (file or "test_gpu_faults.py", test) in pytests, f"row {number}: {name} is not a test"
            else:
                assert gtests.get(test) == (file or "CudaFaults.cpp"), f"row {number}: {name} is not a test"
            assert row_of(test) in (None, int(number)), f"row {number}: {name} belongs to another"
            named.add(test)
    numbered = {test for test in [*gtests, *(name for _, name in pytests)] if row_of(test)}
    assert not numbered - named, f"not in the table: {sorted(numbered - named)}"
