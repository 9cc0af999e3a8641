"""docs/Artifact.md numbers the reader's checks; each number has a test with that number, and no test has the number of a removed rule."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/Artifact.md"
TESTS = [ROOT / f"tests/unit/runtime/standalone/{name}Constraints.cpp" for name in ("Artifact", "Call", "ControlFlow", "Plan", "Weight")]


def numbers(pattern, path):
    return [int(number) for number in re.findall(pattern, path.read_text(), re.M)]


def test_every_rule_has_its_test_and_every_test_its_rule():
    rules = numbers(r"^- \*\*A(\d+)\*\* ", PAGE)
    assert rules == list(range(1, len(rules) + 1)), "the rules of docs/Artifact.md are numbered in order"
    assert sorted(number for path in TESTS for number in numbers(r"^TEST\(ArtifactConstraint, A(\d+)_", path)) == rules
