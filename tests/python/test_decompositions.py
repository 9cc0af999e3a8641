"""The decomposition table, frozen: a new torch must not change what graphs look like without being seen."""

from pathlib import Path

import pytest
import torch

from frit.decompositions import KEPT_WHOLE, LEGALISED_WHOLE, decomposition_table

GOLDEN = Path(__file__).parent / "golden" / "decompositions-2.13.txt"


def test_names_are_the_committed_ones():
    if not torch.__version__.startswith("2.13"):
        pytest.skip(f"the golden file is for torch 2.13, this is {torch.__version__}")
    assert sorted(map(str, decomposition_table())) == GOLDEN.read_text().split()


def test_every_exception_removes_something():
    from torch._decomp import core_aten_decompositions

    assert KEPT_WHOLE | LEGALISED_WHOLE <= set(map(str, core_aten_decompositions()))


def test_operators_with_a_rule_of_their_own_stay_whole():
    names = set(map(str, decomposition_table()))
    whole = ("native_layer_norm", "native_group_norm", "_softmax", "_log_softmax", "addmm", "gelu", "elu", "var.correction")
    for name in whole:
        assert f"aten.{name}.default" not in names and f"aten.{name}" not in names


@pytest.mark.parametrize("layer", [torch.nn.LayerNorm(8), torch.nn.GELU(), torch.nn.Softmax(1), torch.nn.LogSoftmax(1), torch.nn.SiLU()])
def test_formulas_left_to_the_compiler_reach_it_whole_and_none_is_called(layer):
    from frit import backend

    seen = []
    observe = lambda name, stage, captured, report, executable: seen.append((stage, captured.json, report))  # noqa: E731
    backend._OBSERVERS.append(observe)
    try:
        x = torch.randn(4, 8, requires_grad=True)
        torch.compile(layer, backend="frit")(x).square().sum().backward()
    finally:
        backend._OBSERVERS.remove(observe)
    ((text, report),) = [(text, report) for stage, text, report in seen if stage == "backward"]
    assert any(name.removesuffix(".default") in text for name in LEGALISED_WHOLE if "backward" in name)
    assert not report["aten_calls"]
