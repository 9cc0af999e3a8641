"""A rule with a planted mistake fails its check, and one without passes (`scripts/mutants` runs all)."""

import mutants
import pytest


@pytest.fixture(autouse=True)
def unmutated(monkeypatch):
    monkeypatch.setenv("FRIT_CACHE", "0")
    monkeypatch.delenv("FRIT_MUTANT", raising=False)


@pytest.mark.parametrize("kind", ["operands", "operation", "off-by-one", "argument", "nan"])
def test_each_kind_of_mistake_is_caught(monkeypatch, kind):
    operator, place, check = {
        "operands": ("aten.sub.Tensor", "operands/arith.subf/0", ("sub", "inference")),
        "operation": ("aten.mul.Tensor", "operation/arith.mulf/0", ("mul", "inference")),
        "off-by-one": ("aten.permute.default", "off-by-one/frit.reindex/0", ("permute", "inference")),
        "argument": ("aten.sub.Tensor", "argument/2/0", ("sub", "inference")),
        "nan": ("aten.maximum.default", "nan/arith.maximumf/0", ("maximum", "inference")),
    }[kind]
    monkeypatch.setenv("FRIT_MUTANT", "*:list")
    said, places = mutants.verdict(*check)
    assert not said and f"{operator}:{place}" in places
    monkeypatch.setenv("FRIT_MUTANT", f"{operator}:{place}")
    said, made = mutants.verdict(*check)
    assert said and not said.startswith("error") and made == {f"{operator}:{place}"}


def test_mistakes_are_chosen_by_kind():
    places = ["nan/arith.cmpf/1", "nan/arith.cmpf/0", "argument/2/0", "operands/frit.concat/0"]
    assert mutants.chosen(places, 1) == {"argument": ["argument/2/0"], "nan": ["nan/arith.cmpf/0"], "operands": ["operands/frit.concat/0"]}
    assert mutants.chosen(places, 2)["nan"] == ["nan/arith.cmpf/0", "nan/arith.cmpf/1"]
