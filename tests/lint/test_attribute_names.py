"""Names of the dialect's attributes are in one file, which declares their types."""
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TABLE = "ir/FritAttributes.def"
LITERAL = re.compile(r'"(frit\.[a-z_]+)"')


def sources():
    listed = subprocess.run(["git", "ls-files", "*.cpp", "*.h", "*.def", "*.inc"], cwd=ROOT, capture_output=True, text=True, check=True)
    # The bindings name modules of the Python package.
    return [name for name in listed.stdout.split() if not name.startswith("python/")]


def operations():
    """Returns the names of the operations, which are not attributes."""
    files = ("ir/FritOps.td", "ir/FunctionOps.td")
    return {f"frit.{name}" for file in files for name in re.findall(r': Frit_\w*Op<"(\w+)"', (ROOT / file).read_text())}


def misplaced(name, text, allowed):
    return [f"{name}: {literal}" for literal in LITERAL.findall(text) if name != TABLE and literal not in allowed]


def test_names_are_declared_once():
    allowed = operations()
    found = [place for name in sources() for place in misplaced(name, (ROOT / name).read_text(), allowed)]
    assert not found, f"declare it in {TABLE} or as an operation: {found}"


def test_the_rule_sees_a_literal():
    assert misplaced("passes/X.cpp", 'op->setAttr("frit.layouts", all);', operations())
    assert not misplaced("passes/X.cpp", 'isHere("identity", "frit.reindex")', operations())


def test_every_declaration_is_used():
    names = re.findall(r"_ATTR\((k\w+),", (ROOT / TABLE).read_text())
    text = "".join((ROOT / name).read_text() for name in sources() if name != TABLE)
    assert [name for name in names if not re.search(rf"\b{name}\b", text)] == []
