"""Sums of a matrix product and what it is added to, in a graph for GPUs: the product adds in place where nothing reads the old value."""

import pytest
import torch
from torch._dynamo.utils import counters


def run(function, *arguments, dynamic=False, **options):
    torch.compiler.reset()
    counters.clear()
    compiled = torch.compile(function, backend="frit", fullgraph=True, dynamic=dynamic, options={"target": "simt", **options})
    before = [x.clone() for x in arguments]
    actual = compiled(*arguments)
    assert all(x.equal(y) for x, y in zip(arguments, before)), "arguments are written"
    return actual, counters["frit"]["aten:aten.addmm_.default"]


def data(*shape, dtype=torch.float32):
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)), dtype=torch.float64).to(dtype)


def block(x, w, v):
    h = torch.tanh(x) * 2
    h = h + torch.relu(h) @ w
    return h + torch.sigmoid(h) @ v


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16], ids=str)
def test_residuals_are_added_by_the_products(dtype):
    arguments = data(8, 32, dtype=dtype), data(32, 32, dtype=dtype), data(32, 32, dtype=dtype).t()
    actual, count = run(block, *arguments)
    exact = block(*(x.double() for x in arguments))
    eager = block(*arguments)
    assert count == 2 and actual.dtype == dtype and actual.stride() == eager.stride()
    # Rounded once where eager rounds twice.
    assert (actual.double() - exact).abs().max() <= 1.5 * (eager.double() - exact).abs().max() + 1e-6
    assert run(block, *arguments)[0].equal(actual)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, w: x + x @ w,  # an argument
        lambda x, w: ((h := x.sin()) + h @ w, h),  # a result
        lambda x, w: ((h := x.sin()) + h @ w) * h.cos(),  # read afterwards
        lambda x, w: (h := x.sin())[:, :16].sum() + (h + h @ w).sum() + h[0, 0],  # a view is read afterwards
        lambda x, w: x.sin().t() + (x @ w).t(),  # a view of the product
        lambda x, w: x.sin().sum(0) + x @ w,  # repeated
        lambda x, w: x.sin() - x @ w,
        lambda x, w: torch.add(x.sin(), x @ w, alpha=2),
        lambda x, w: x.sin() + (p := x @ w) + p,  # the product is read twice
    ],
)
def test_other_sums_stay_kernels(function):
    arguments = data(32, 32), data(32, 32)
    actual, count = run(function, *arguments)
    assert count == 0
    torch.testing.assert_close(actual, function(*arguments), rtol=1e-4, atol=1e-4)


def test_eager_numerics_and_sizes_that_vary_keep_the_product():
    arguments = data(8, 32), data(32, 32), data(32, 32)
    assert run(block, *arguments, numerics="eager")[1] == 0
    actual, count = run(block, *arguments, dynamic=True)
    assert count == 0
    torch.testing.assert_close(actual, block(*arguments), rtol=1e-4, atol=1e-4)


def test_both_sides_are_products():
    def function(x, w, v):
        return x @ w + torch.cos(x) @ v

    arguments = data(8, 32), data(32, 32), data(32, 32)
    actual, count = run(function, *arguments)
    assert count == 1
    torch.testing.assert_close(actual, function(*arguments), rtol=1e-4, atol=1e-4)
    gradients = [x.clone().requires_grad_() for x in arguments]
    torch.compiler.reset()
    torch.compile(function, backend="frit", options={"target": "simt"})(*gradients).square().sum().backward()
    again = [x.clone().requires_grad_() for x in arguments]
    function(*again).square().sum().backward()
    for x, y in zip(gradients, again):
        torch.testing.assert_close(x.grad, y.grad, rtol=1e-4, atol=1e-3)
