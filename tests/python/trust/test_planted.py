"""Each class of silent errors has a planted mistake that its tests find: checks the ledger of `scripts/planted`, and runs a part of it."""

import json
import os

import fresh
import pytest
import silent_classes

PATHS = os.pathsep.join([str(silent_classes.ROOT / "python"), str(silent_classes.ROOT)])
#: Mistakes in the compiler and in Python, and one that the compiler's own checks refuse.
CHEAP = {
    6: "test_silent_classes_integers.py::test_class_06_float_floor_division_and_remainder",
    15: "test_silent_classes_integers.py::test_class_15_fp8_casts_are_left_to_aten",
    24: "test_silent_classes_structure.py::test_class_24_arguments_that_change_places",
}


def test_every_class_has_a_mistake_and_the_ledger_says_that_it_is_caught():
    mistakes, tests, ledger = silent_classes.mistakes(), silent_classes.tests(), silent_classes.read()
    assert list(mistakes) == sorted(tests) == [int(number) for number in ledger] == list(range(1, 37))
    for number, words in mistakes.items():
        row = ledger[str(number)]
        named = [name.rpartition("/")[2] for name in tests[number]]
        assert row["mistake"] == words and row["tests"] == named, f"class {number} changed: scripts/planted --write {number}"
        assert row["outcome"] == "caught" and row["by"], f"class {number}: {row}"


@pytest.mark.parametrize("number", CHEAP)
def test_a_mistake_is_caught(number):
    outcome, by, _ = silent_classes.run([f"tests/python/trust/{CHEAP[number]}"], number)
    assert outcome == "caught" and by.startswith(CHEAP[number]), (outcome, by)


def test_what_is_compiled_with_a_mistake_says_so():
    """In the report, in the log, and in the identity, which is part of every cache key."""
    program = (
        "import torch, frit\nfrom frit import _C, backend\n"
        "seen = []\nbackend._OBSERVERS.append(lambda *what: seen.append(what[3]))\n"
        "torch.compile(lambda x: x + 1, backend='frit')(torch.ones(3))\n"
        "import json; print(json.dumps([seen[0].get('planted'), _C.identity()]))"
    )
    said = {}
    for number in ("", "17"):
        environment = {**os.environ, "FRIT_PLANT": number, "PYTHONPATH": PATHS}
        done = fresh.run(["-c", program], env=environment, check=True)
        said[number] = (*json.loads(done.stdout), "FRIT_PLANT=17" in done.stderr)
    assert said[""][0] is None and not said[""][2]
    assert said["17"] == (17, said[""][1] + ", planted 17", True)


def test_a_plan_that_the_validator_refuses_is_compiled_without_reuse_and_counted():
    """For users; in the tests it is an error (the mistake of class 24, above)."""
    program = (
        "import torch, json\nfrom torch._dynamo.utils import counters\n"
        "def swap(a, b):\n    t = a.clone(); a.copy_(b); b.copy_(t)\n"
        "a, b = torch.zeros(3), torch.ones(3)\n"
        "torch.compile(swap, backend='frit')(a, b)\n"
        "print(json.dumps([a.tolist(), b.tolist(), counters['frit']['retries']]))"
    )
    done = fresh.run(["-c", program], env={**os.environ, "FRIT_PLANT": "24", "FRIT_STRICT": "0", "PYTHONPATH": PATHS}, check=True)
    *values, retries = json.loads(done.stdout)
    assert values == [[1] * 3, [0] * 3] and retries >= 1
    assert "compiled with no reuse of memory, because of a mistake of frit's own" in done.stderr
