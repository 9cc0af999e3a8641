"""The pages in docs/generated are those that scripts/generate-docs writes, and it detects unknown names."""

import ast
import runpy
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = runpy.run_path(str(ROOT / "scripts/generate-docs"))


def test_the_pages_are_those_of_the_sources():
    done = subprocess.run([ROOT / "scripts/generate-docs", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_page_that_differs_is_noticed(tmp_path):
    (tmp_path / "a.md").write_text("one\ntwo\n")
    assert SCRIPT["differences"](tmp_path, {"a.md": "one\ntwo\n"}) == []
    (found,) = SCRIPT["differences"](tmp_path, {"a.md": "one\nthree\n"})
    assert "-two" in found and "+three" in found
    assert SCRIPT["differences"](tmp_path, {"b.md": "missing\n"})


@pytest.mark.parametrize("described, used", [({"a"}, {"a", "b"}), ({"a", "b"}, {"a"})])
def test_a_name_without_a_meaning_and_a_meaning_without_a_name_are_noticed(described, used):
    with pytest.raises(SCRIPT["Failure"], match="'b'"):
        SCRIPT["compare"]("counters", described, used)


COUNTING = '''
MORE = ("in_a_constant",)
tally = counters["frit"]
tally["plain"] += 1
tally["either" if x else "or"] += 1
counters["frit"][f"varying:{x}"] += 1
for what, number in (("of_a_pair", 1), ("of_another", 2)):
    tally[what] += number
for what in ("listed", *MORE):
    counters["frit"][what] += 1
for what in ("no counter",):
    print(what)

def note(value, counted="by_default"):
    counters["frit"][counted] += 1

note(1, "passed")
'''


def test_names_of_counters_are_found_however_they_are_written():
    names = {"plain", "either", "or", "varying:<>", "of_a_pair", "of_another", "listed", "in_a_constant", "by_default", "passed"}
    assert SCRIPT["Counters"](ast.parse(COUNTING)).names == names


def test_a_name_that_cannot_be_told_is_an_error():
    with pytest.raises(SCRIPT["Failure"], match="'made'"):
        SCRIPT["Counters"](ast.parse('counters["frit"][made] += 1'))


LOGGING = '''
log.warning("%s: entry %d is of no use: %.1f", name, 1, 2)
log.info(text)
environment.warn(f"{name}={text!r} is ignored")
artifact("graph").debug("%s", x)
for what, entries in (("kernels", 1), ("guards", 2)):
    artifact(what).debug("%s", entries)
print("no message")
'''


def test_log_lines_are_found_however_they_are_written():
    found = SCRIPT["LogLines"](ast.parse(LOGGING))
    assert found.lines == {("warning", "...: entry ... is of no use: ..."), ("info", "..."), ("warning", "...=... is ignored")}
    assert found.artifacts == {"graph", "kernels", "guards"}


def test_the_page_of_errors_has_every_class_with_its_advice():
    raised, text = SCRIPT["raised_classes"](), SCRIPT["errors_page"]()
    assert "python/bindings/Module.cpp" in raised["ArtifactError"] and "python/frit/options.py" in raised["OptionError"]
    rows = {line.split("`")[1]: line for line in text.splitlines() if line.startswith("| `frit.")}
    assert len(rows) >= 6 and all(len(line.split(" | ")) == 5 and "|  |" not in line for line in rows.values())


def test_every_page_is_linked():
    for text in ((ROOT / "README.md").read_text(), (ROOT / "CONTRIBUTING.md").read_text()):
        assert "docs/generated/" in text
    readme = (ROOT / "README.md").read_text()
    missing = [path.name for path in (ROOT / "docs/generated").glob("*.md") if f"`docs/generated/{path.name}`" not in readme]
    assert not missing, missing
