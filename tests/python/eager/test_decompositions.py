"""The decomposition table is frozen, so that a new torch cannot change graphs unnoticed."""

from pathlib import Path

import pytest
import torch
from checker import check
from torch._dynamo.utils import counters

from frit.eager.decompositions import KEPT_WHOLE, LEGALISED_WHOLE, decomposition_table

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "decompositions-2.13.txt"


def test_names_are_the_committed_ones():
    if not torch.__version__.startswith("2.13"):
        pytest.skip(f"the golden file is for torch 2.13, this is {torch.__version__}")
    assert sorted(map(str, decomposition_table())) == GOLDEN.read_text().split()


def test_every_exception_removes_something():
    from torch._decomp import core_aten_decompositions

    assert KEPT_WHOLE | LEGALISED_WHOLE <= set(map(str, core_aten_decompositions()))


def test_operators_with_a_rule_of_their_own_stay_whole():
    names = set(map(str, decomposition_table()))
    whole = ("_softmax", "_log_softmax", "addmm", "gelu", "elu", "var.correction")
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


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("eps", [None, 0.125])
def test_gradients_of_logit_at_the_edges(dtype, eps):
    def gradient(function, x):
        x = x.detach().requires_grad_()
        return torch.autograd.grad(function(x), x, torch.ones_like(x))[0]

    x = torch.tensor([-0.0, 0.0, 1.0, -1.0, 2.0, 0.5, 0.125, 0.875, 0.3, float("nan"), float("inf")], dtype=dtype)
    actual = gradient(torch.compile(lambda x: x.logit(eps), backend="frit"), x)
    # One by one: the vector loop, in which eager has the other infinity for -0.0, begins at a length that depends on the CPU.
    expected = torch.cat([gradient(lambda x: x.logit(eps), one) for one in x.split(1)])
    torch.testing.assert_close(actual, expected, equal_nan=True)


@pytest.mark.parametrize("parameters", ["weight", "bias", "both"])
@pytest.mark.parametrize("precision", [torch.bfloat16, torch.float32])
def test_statistics_of_a_mixed_layer_norm_have_eager_s_type_and_values(parameters, precision):
    weight, bias = (torch.rand(8) if parameters in (name, "both") else None for name in ("weight", "bias"))

    def function(x):
        return torch.native_layer_norm(x, [8], weight, bias, 1e-5)

    x = torch.randn(5, 8).to(precision)
    expected, found = function(x), torch.compile(function, backend="frit", fullgraph=True)(x)
    assert [value.dtype for value in found] == [value.dtype for value in expected]
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other)


def _written(size, stride, offset=None):
    """Writes a part of a vector, and of an argument, through `as_strided`."""

    def program(x, source):
        new = x * 2
        for one in (x, new):
            one.as_strided(size, stride, offset).copy_(source.view(size))
        return new

    return program


WHOLE, PART = "the whole of a vector", "a part of it, or another order"


@pytest.mark.parametrize("size, stride, offset, what", [
    ((12,), (1,), None, WHOLE),
    ((3, 4), (4, 1), None, WHOLE),
    ((3, 1, 4), (4, 7, 1), 0, WHOLE),
    ((4, 3), (1, 4), 0, PART),
    ((10,), (1,), 0, PART),
    ((10,), (1,), 2, PART),
    ((6,), (2,), 0, PART),
])  # fmt: skip
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64])
def test_writes_through_as_strided(size, stride, offset, what, dtype):
    number = torch.Size(size).numel()
    check(_written(size, stride, offset), torch.arange(12.0).to(dtype), torch.arange(number).to(dtype) - 30, compare="exact")
    called = counters["frit"]["aten:aten.as_strided_scatter.default"]
    assert called == (0 if what == WHOLE else 2)


def test_a_write_of_another_type_and_to_a_vector_inside_its_storage():
    check(_written((12,), (1,)), torch.arange(12.0), torch.arange(12), compare="exact")
    check(_written((12,), (1,)), torch.arange(15.0)[3:], torch.arange(12.0) - 30, compare="exact")


@pytest.mark.parametrize("dynamic", [False, True])
def test_the_gradient_of_a_pool_of_whole_images_is_one_kernel(dynamic):
    x = torch.randn(4, 8, 5, 5).to(memory_format=torch.channels_last).requires_grad_()
    check(lambda x: torch.nn.functional.adaptive_avg_pool2d(x.exp(), 1), x, training=True, dynamic=dynamic)
    assert not counters["frit"]["aten_calls"] and counters["frit"]["graphs_backward"] == 1
