"""The table of silent-error classes in tests/README.md names tests that exist, and every class."""

import re
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent


def test_every_class_has_a_test_in_the_table():
    section = (TESTS / "README.md").read_text().split("## The classes of silent errors")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (\d+) \|[^|]*\|([^|]*)\|", section, re.MULTILINE)
    assert [int(number) for number, _ in rows] == list(range(1, 37))
    sources = "".join(path.read_text() for path in (TESTS / "python").rglob("test_*.py"))
    defined = set(re.findall(r"^def (test_\w+)", sources, re.MULTILINE))
    for number, tests in rows:
        first = None
        for name in re.findall(r"`(?:[\w.]+::)?([\w.]+)`", tests):
            if name.startswith("..._"):
                name = f"test_class_{int(number):02}_{name[4:]}"
            assert name in defined, f"class {number}: {name} is not a test"
            first = first or name
        assert first, f"class {number} names no test"
