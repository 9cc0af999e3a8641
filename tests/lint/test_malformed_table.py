"""Each row of the table of malformed programs in tests/README.md has its test, and no test has the number of a removed row."""

import re
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
ROWS = 25


def test_every_row_has_its_test_and_every_test_its_row():
    section = (TESTS / "README.md").read_text().split("## Malformed programs")[1].split("\n## ")[0]
    rows = [int(number) for number in re.findall(r"^\| (\d+) \|", section, re.MULTILINE)]
    assert rows == list(range(1, ROWS + 1))
    programs = re.findall(r"^TEST_F\(Malformed, M(\d+)_", (TESTS / "unit/import/MalformedPrograms.cpp").read_text(), re.MULTILINE)
    archives = re.findall(r"^def test_m(\d+)_", (TESTS / "python/import/test_malformed_archives.py").read_text(), re.MULTILINE)
    assert sorted({int(number) for number in programs + archives}) == rows
    assert len(programs) == len(set(programs)), "one test a row"
