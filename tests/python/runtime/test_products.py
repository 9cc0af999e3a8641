"""Matrix products on the CPU by frit's kernel: their values, and that no weight is ever stale."""

import json
from pathlib import Path

import pytest
import torch
from torch import nn
from weight_writes import WRITES

import frit

# With only AVX2 the kernel is chosen for few sizes; tests/unit/runtime/cpu tests its values.
pytestmark = pytest.mark.skipif(torch.backends.cpu.get_cpu_capability() != "AVX512", reason="counts what is chosen on machines with AVX-512")


def own(executables):
    return sum(json.loads(one.stats())["own_products"] for one in executables)


#: MKL and torch are faster on Intel's processors, so other sizes are chosen there.
IS_INTEL = "GenuineIntel" in Path("/proc/cpuinfo").read_text()


def is_chosen(rows, columns, along_depth):
    """Whether frit's kernel is faster than MKL for sizes whose depth is from 128 to 512: `isProductFaster` of runtime/cpu/Product.h."""
    if IS_INTEL:
        most = (128 if columns >= 16 else 64) if along_depth else 16
        return rows <= most and (along_depth or rows > 1)
    return rows <= 64 or columns >= 16


def compiled(function, **options):
    return torch.compile(function, backend="frit", fullgraph=True, options=options)


def check(got, exact, magnitude, depth):
    """Checks values within the error bound of a sum of `depth` products."""
    assert got.dtype == torch.float32
    assert ((got.double() - exact).abs() <= magnitude * (depth + 2) * 2.0**-24).all()


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 16, 17, 32, 65, 300])
@pytest.mark.parametrize("columns, depth", [(1, 128), (2, 130), (49, 257), (96, 384)])
@pytest.mark.parametrize("along_depth", [True, False])
def test_values(rows, columns, depth, along_depth, seen):
    torch.manual_seed(0)
    x, bias = torch.randn(rows, depth), torch.randn(columns)
    weight = torch.randn(columns, depth).t() if along_depth else torch.randn(depth, columns)
    with torch.no_grad():
        got = compiled(torch.addmm)(bias, x, weight)
    check(got, x.double() @ weight.double() + bias.double(), x.double().abs() @ weight.double().abs() + bias.double().abs(), depth)
    assert got.is_contiguous() and own(seen) == is_chosen(rows, columns, along_depth or columns == 1)


@pytest.mark.parametrize("rows, columns, depth", [(0, 3, 4), (3, 0, 4), (3, 4, 0), (1, 1, 1), (0, 0, 0), (2, 5, 3)])
def test_small_sizes(rows, columns, depth, seen):
    x, weight = torch.randn(rows, depth), torch.randn(columns, depth)
    got = compiled(lambda x, weight: x @ weight.t())(x, weight)
    torch.testing.assert_close(got, x @ weight.t())
    assert got.shape == (rows, columns)


def test_operands_with_strides(seen):
    torch.manual_seed(1)
    whole, weights = torch.randn(9, 300), torch.randn(43, 300)

    def function(x, weight):
        return torch.mm(x, weight.t())

    fast = compiled(function)
    for x, weight, is_own in (
        (whole[2:7, 5:205], weights[3:, 100:], True),  # rows with gaps, at any alignment
        (whole[:5, :200].t().contiguous().t(), weights[:, :200], False),  # x is contiguous along its rows
        (whole[:1, :200].expand(5, 200), weights[:, :200], True),
    ):
        torch.compiler.reset()
        seen.clear()
        check(fast(x, weight), x.double() @ weight.t().double(), x.double().abs() @ weight.t().double().abs(), 200)
        assert own(seen) == is_own


@pytest.mark.parametrize("shape", [(40,), (5, 40), (5, 1), (1,), (1, 40), ()])
def test_what_is_added(shape, seen):
    torch.manual_seed(2)
    x, weight, addend = torch.randn(5, 200), torch.randn(40, 200), torch.randn(shape)
    got = compiled(lambda addend, x, weight: torch.addmm(addend, x, weight.t()))(addend, x, weight)
    torch.testing.assert_close(got, torch.addmm(addend, x, weight.t()))
    assert own(seen) == 1


def test_what_is_left_to_aten(seen):
    x, weight, addend = torch.randn(5, 200), torch.randn(40, 200), torch.randn(5, 40)

    def factors(addend, x, weight):
        return torch.addmm(addend, x, weight.t(), beta=2), torch.addmm(addend, x, weight.t(), alpha=0.5)

    for got, expected in zip(compiled(factors)(addend, x, weight), factors(addend, x, weight)):
        torch.testing.assert_close(got, expected)
    torch.testing.assert_close(compiled(torch.mm)(x.double(), weight.t().double()), x.double() @ weight.t().double())
    assert own(seen) == 0


@pytest.mark.parametrize("options", [{"products": False}, {"numerics": "eager"}])
def test_switched_off(options, seen):
    x, weight = torch.randn(5, 200), torch.randn(40, 200)
    assert torch.equal(compiled(torch.nn.functional.linear, **options)(x, weight), torch.nn.functional.linear(x, weight))
    assert own(seen) == 0


def test_not_finite(seen):
    x, weight = torch.randn(3, 200), torch.randn(40, 200)
    x[0, 7], x[1, 199], weight[5, 0] = torch.nan, torch.inf, -torch.inf
    got = compiled(torch.nn.functional.linear)(x, weight)
    expected = torch.nn.functional.linear(x, weight)
    assert torch.equal(got.isnan(), expected.isnan()) and torch.equal(got.isinf(), expected.isinf()) and own(seen) == 1


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(160, 200), nn.Linear(200, 40, bias=False)

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))


@pytest.mark.parametrize("write", WRITES)
def test_a_weight_is_never_stale(write, seen):
    torch.manual_seed(3)
    model, other, x = Layers(), Layers(), torch.randn(4, 160)
    fast = compiled(model)
    with torch.no_grad():
        before = fast(x)
        torch.testing.assert_close(before, model(x))
    write(model, other, x)
    with torch.no_grad():
        after = fast(x)
        torch.testing.assert_close(after, model(x))
    assert not torch.equal(before, after) and own(seen) >= 4


def test_inference_mode(seen):
    with torch.inference_mode():
        model, x = Layers(), torch.randn(4, 160)
        fast = compiled(model)
        torch.testing.assert_close(fast(x), model(x))
        model.first.weight.mul_(2)
        torch.testing.assert_close(fast(x), model(x))
    assert own(seen) == 4


def test_gradients(seen):
    torch.manual_seed(4)
    model, x = Layers(), torch.randn(8, 160, requires_grad=True)
    leaves = [x, *model.parameters()]
    expected = torch.autograd.grad(model(x).square().sum(), leaves)
    got = torch.autograd.grad(compiled(model)(x).square().sum(), leaves)
    for mine, its in zip(got, expected):
        torch.testing.assert_close(mine, its, rtol=1e-4, atol=1e-4)
    assert own(seen) >= 2


def test_the_same_bits_for_every_number_of_threads(seen):
    model, x = nn.Linear(700, 1001), torch.randn(33, 700)
    fast = compiled(model)
    before, results = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            with torch.no_grad():
                results.append(fast(x))
    finally:
        torch.set_num_threads(before)
    assert torch.equal(results[0], results[1]) and torch.equal(results[0], results[2]) and own(seen) == 3


def test_a_row_does_not_depend_on_the_others(seen):
    model, x = nn.Linear(700, 101), torch.randn(33, 700)
    fast = torch.compile(model, backend="frit", dynamic=True)
    with torch.no_grad():
        assert torch.equal(fast(x)[5:8], fast(x[5:8]))
    assert own(seen) == 2


def test_they_are_counted_and_explained(seen):
    model, x = Layers().requires_grad_(False), torch.randn(4, 160)
    explanation = frit.explain(model)(x)
    (graph,) = explanation.graphs
    assert graph["own_products"] == 2 and [call["own_product"] for call in graph["aten_calls"]] == [True, True]
    assert "2 matrix products in frit's own kernel, in 1 call" in str(explanation)
    frit.reset()
    compiled(model)(x)
    assert frit.counts()["own_products"] == 2 and frit.counts()["aten_calls"] == 2
