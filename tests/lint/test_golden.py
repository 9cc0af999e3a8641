"""tests/golden/README.md names every golden file and ledger, the command that writes it and the tests that read it; the ledgers that no other test
reads contain no failures."""

import json
import re
import runpy
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden"
SUPPORT = ROOT / "tests" / "python" / "support"
PLACE = re.compile(r"(?:scripts|tests)/[\w./-]+")


def wrong(page, files):
    """Yields the errors of a page's table about these files."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line.startswith("| `")]
    named = [row[0].strip("`/") for row in rows]
    found = [f"{name} has no row" for name in sorted(set(files) - set(named))] + [f"{name} is not there" for name in named if name not in files]
    found += [f"{name} has two rows" for name in sorted(set(named)) if named.count(name) > 1]
    for name, row in zip(named, rows):
        if len(row) != 4 or not all(row):
            found.append(f"{name}: four cells, none of them empty")
            continue
        writers, readers = PLACE.findall(row[2]), PLACE.findall(row[3])
        found += [f"{name}: there is no {place}" for place in writers + readers if not (ROOT / place).is_file()]
        if not writers:
            found.append(f"{name}: no command writes it")
        if not any(place.startswith("tests/") for place in readers):
            found.append(f"{name}: no test reads it")
    return found


def test_every_file_has_its_row_and_every_row_its_file_command_and_test():
    files = {path.name for path in GOLDEN.iterdir()} - {"README.md"}
    assert wrong((GOLDEN / "README.md").read_text(), files) == []


GOOD = "| `a.json` | numbers | `scripts/sanitize` | `tests/lint/test_golden.py` |\n"


@pytest.mark.parametrize(
    "page, says",
    [
        ("", "a.json has no row"),
        (GOOD + GOOD.replace("a.json", "b.json"), "b.json is not there"),
        (GOOD + GOOD, "a.json has two rows"),
        (GOOD.replace("numbers", ""), "a.json: four cells, none of them empty"),
        (GOOD.replace("scripts/sanitize", "scripts/of-old"), "a.json: there is no scripts/of-old"),
        (GOOD.replace("test_golden.py", "test_of_old.py"), "a.json: there is no tests/lint/test_of_old.py"),
        (GOOD.replace("`scripts/sanitize`", "somehow"), "a.json: no command writes it"),
        (GOOD.replace("`tests/lint/test_golden.py`", "nobody"), "a.json: no test reads it"),
    ],
)
def test_what_is_wrong_is_found(page, says):
    assert wrong(GOOD, {"a.json"}) == []
    assert wrong(page, {"a.json"}) == [says]


def ledger(name):
    return json.loads((GOLDEN / name).read_text())


def rows(name):
    return [line.split("\t") for line in (GOLDEN / name).read_text().splitlines() if not line.startswith("#")]


def test_nothing_grew():
    sys.path[:0] = [str(SUPPORT)]
    import growth

    found = ledger("growth.json")
    assert found["calls"] >= 100_000 and set(found["growth"]) == {program.__name__ for program in growth.PROGRAMS}
    assert not any(map(growth.beyond, found["growth"].values()))


def test_the_demo_takes_six_minutes_on_a_bare_system():
    found = ledger("bare-demo.json")
    assert found["seconds"] <= 360 and found["cores"] <= 2


def test_no_operator_fails_and_every_exception_is_said():
    operators = ledger("operator-sweep.json")["operators"]
    assert not [name for name, types in operators.items() if any(failed for _, _, failed in types.values())]
    exceptions = {name for name, types in operators.items() if any(as_aot_eager for _, as_aot_eager, _ in types.values())}
    assert exceptions == {name for name, *_ in rows("operator-exceptions.txt")}


def test_every_exception_of_an_operator_has_its_cause():
    sys.path[:0] = [str(SUPPORT)]
    import operator_sweep

    used, causes = set(), rows("operator-causes.txt")
    assert all(len(one) == 4 and one[3].endswith(".") for one in causes)
    for operator, _, phases, difference, name in rows("operator-exceptions.txt"):
        assert operator_sweep.cause(causes, operator, phases, difference) == name, (operator, phases, difference)
        used.add(name)
    assert used == {name for name, *_ in causes}


def test_few_mutants_survive_and_those_that_are_equivalent_are_said():
    found = ledger("mutants.json")
    assert len(found["survivors"]) <= 0.02 * found["rules"]
    equivalent = {(operator, place) for operator, places in found["mistakes"].items() for place, outcome in places.items() if outcome == "equivalent"}
    assert equivalent <= {(operator, place) for operator, place, why in rows("mutants-equivalent.txt") if why}


def test_random_programs_found_nothing_that_is_not_known():
    found = ledger("random-programs.json")
    assert found["finds"] == [] and sum(sum(counts.values()) for counts in found["programs"].values()) >= 20_000


def test_the_tests_that_did_not_run_with_poison_exist():
    tests = {path.name for path in (ROOT / "tests" / "python").rglob("test_*.py")}
    named = [name for files, _ in rows("poison.txt") for name in files.split(", ") if name.startswith("test_")]
    assert named and set(named) <= tests


def test_the_wheel_passes_beside_each_torch():
    script = runpy.run_path(str(ROOT / "scripts" / "wheel-matrix"))
    ledger = json.loads((GOLDEN / "wheel-matrix.json").read_text())
    assert {python.rpartition(".")[0] for python in ledger} == set(script["VERSIONS"])
    for python, of_python in ledger.items():
        versions = script["VERSIONS"][python.rpartition(".")[0]]
        assert set(of_python["torch"]) == set(versions) and of_python["wheel_mb"] <= 45
        assert set(of_python["tests"]) == set(script["CORE"]) and all(count > 0 for count in of_python["tests"].values())
        for version, row in of_python["torch"].items():
            assert row["torch"].startswith(version) and row["passed"] > 500 and not row["failed"] and not row["skipped"]
            assert row["left_out"] == script["LEFT_OUT"].get(version.rpartition(".")[0], {})
            assert row["install_s"] <= 20 and row["first_call_s"] <= 2 and row["report_s"] <= 120
            # Most of it is Dynamo's own import, whose time depends on the machine, so it is compared with torch's backend `eager` in the same run.
            assert row["import_frit_s"] + row["first_call_s"] <= 1.5 * row["eager_s"]