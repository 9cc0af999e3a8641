"""A pytest plugin that records which legalisation rules each test uses, for `scripts/mutants`.

    FRIT_RULES=FILE scripts/in-tree-python -m pytest -p tests.python.support.record_rules ...        # FILE: a line of JSON for each test
"""

import json
import os
import time

import pytest

from frit import backend
from frit.cache.summary import StoredReport


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item):
    operators = set()

    def seen(name, stage, captured, report, executable):
        if not isinstance(report, StoredReport):  # their rules are not recorded
            operators.update(report["legalized"] if "legalized" in report else ())

    backend._OBSERVERS.append(seen)
    started = time.perf_counter()
    outcome = yield
    backend._OBSERVERS.remove(seen)
    if operators and outcome.excinfo is None:
        line = json.dumps([item.nodeid, round(time.perf_counter() - started, 3), sorted(operators)]) + "\n"
        with open(os.environ["FRIT_RULES"], "a") as file:
            file.write(line)
