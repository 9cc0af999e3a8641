"""Rules read arguments by their names in torch's schemas; each name must exist for an operator of the rule's file."""
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RULES = [*sorted((ROOT / "passes/legalize").glob("*.cpp")), ROOT / "passes/ReplaceRandom.cpp"]
READ = re.compile(r'\b(?:call|parts)\.(?:isNone|isTensor|operandLayout|[a-z]\w+)\("(\w+)"')


def schemas():
    """Returns operator -> the names of its arguments."""
    table = {}
    for name, text in re.findall(r'^"(\S+) \S+ \((.*)\) -> ', (ROOT / "ir/AtenSchemas.def").read_text(), re.M):
        table[name] = set(re.findall(r"(\w+)(?:=[^,]*)?(?:, |$)", text))
    return table


def unknown(text, table):
    operators = set(re.findall(r'"((?:aten|prims)\.[\w.]+)"', text))
    known = set().union(*(table.get(name, set()) for name in operators))
    return sorted({name for name in READ.findall(text) if name not in known and name not in operators})


@pytest.mark.parametrize("path", RULES, ids=lambda path: path.name)
def test_names_are_the_schemas(path):
    assert not unknown(path.read_text(), schemas())


def test_the_rule_sees_a_wrong_name():
    text = 'table.addSingle({"aten.leaky_relu.default"}, [](AtenCall &call) { call.scalar("slope"); });'
    assert unknown(text, schemas()) == ["slope"]
    assert not unknown(text.replace("slope", "negative_slope"), schemas())
