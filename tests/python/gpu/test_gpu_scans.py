"""GPU scans under emulation, with checks of bounds, races, barriers and first writes, compared with eager."""

import math

import pytest
import torch
from torch._dynamo.utils import counters

TOLERANCE = {torch.float64: 1e-10, torch.float32: 1e-4, torch.bfloat16: 2e-2, torch.float16: 4e-3}
SIMT = {"target": "simt"}


def values(shape, dtype=torch.float32):
    generator = torch.Generator().manual_seed(0)
    if dtype == torch.bool:
        return torch.rand(shape, generator=generator) > 0.5
    if dtype.is_floating_point:
        return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype)
    return torch.randint(0, 100, shape, generator=generator).to(dtype)


def compare(actual, expected):
    limit = TOLERANCE.get(expected.dtype, 0)
    scale = max(1.0, expected[expected.isfinite()].abs().max().item()) if expected.isfinite().any() else 1.0
    torch.testing.assert_close(actual, expected, rtol=limit, atol=limit * scale, equal_nan=True)


def scanned(function, *inputs, dynamic=False):
    """Compares a function with eager and returns it compiled; it must have no call of ATen."""
    counters.clear()
    compiled = torch.compile(function, backend="frit", fullgraph=True, dynamic=dynamic, options=SIMT)
    compare(compiled(*inputs), function(*inputs))
    assert not [name for name in counters["frit"] if name.startswith("aten:")], counters["frit"]
    return compiled


LENGTHS = [1, 2, 3, 4, 5, 31, 32, 33, 127, 128, 129, 255, 257, 1023, 1024, 2048, 2049, 8193]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16], ids=str)
def test_rows_of_any_length(dtype):
    compiled = scanned(lambda x: x.cumsum(-1), values((3, 40), dtype), dynamic=True)
    for length in LENGTHS:
        x = values((3, length), dtype)
        # Half types are compared with sums in f32 that are rounded once, not with eager's rounding of every sum.
        expected = x.float().cumsum(-1).to(dtype) if dtype.itemsize == 2 else x.cumsum(-1)
        compare(compiled(x), expected)
    for shape in [(0, 5), (5, 0), (1, 1), (33, 7), (130, 64)]:
        compare(compiled(values(shape, dtype)), values(shape, dtype).cumsum(-1))


@pytest.mark.parametrize("length", [0, 1, 2, 7, 64, 1000, 4096])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_static_rows(length, dtype):
    x = values((5, length), dtype)
    counters.clear()
    compiled = torch.compile(lambda x: x.cumsum(-1), backend="frit", fullgraph=True, options=SIMT)
    compare(compiled(x), x.float().cumsum(-1).to(dtype))


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_any_dim(dim):
    compiled = scanned(lambda x: x.cumsum(dim), values((5, 9, 33)), dynamic=True)
    for shape in [(2, 3, 4), (3, 2, 257), (33, 40, 2), (7, 2, 128), (2, 65, 33), (300, 2, 3), (0, 3, 4), (3, 4, 0), (3, 0, 4)]:
        compare(compiled(values(shape)), values(shape).cumsum(dim))


@pytest.mark.parametrize("shape", [(6, 8, 1024), (3, 70, 4), (2, 5, 33)])
def test_static_columns(shape):
    scanned(lambda x: x.cumsum(1), values(shape))
    scanned(lambda x: (x * 2).cumsum(1) + x, values(shape))


@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.int8, torch.int32, torch.int64], ids=str)
def test_integers_are_exact(dtype):
    for x in (values((4, 333), dtype), values((4, 64), dtype)):
        assert scanned(lambda x: x.cumsum(-1), x)(x).equal(x.cumsum(-1))
        assert scanned(lambda x: x.cumsum(0), x)(x).equal(x.cumsum(0))


def test_a_dtype_of_its_own():
    x = values((4, 100))
    scanned(lambda x: x.cumsum(1, dtype=torch.float64), x)
    scanned(lambda x: (x * 10).cumsum(1, dtype=torch.int32), x)


def test_products():
    x = values((4, 40)) * 0.1 + 1
    scanned(lambda x: x.cumprod(1), x)
    scanned(lambda x: x.cumprod(0), x)


def test_producers_and_readers_share_the_kernel():
    def function(x, w, b):
        return torch.exp((x * w).cumsum(-1) * 0.01) - b[:, None]

    scanned(function, values((6, 500)), values(500), values(6))


def test_results_beside_the_scan():
    x = values((8, 200))
    compiled = torch.compile(lambda x: (x * 2, (x * 2).cumsum(-1), x.sum(-1), x.cumsum(0)), backend="frit", fullgraph=True, options=SIMT)
    for actual, expected in zip(compiled(x), (x * 2, (x * 2).cumsum(-1), x.sum(-1), x.cumsum(0))):
        compare(actual, expected)


def test_what_is_not_finite():
    x = values((6, 300))
    x[0, 17], x[1, 0], x[2, 299], x[3, 5], x[3, 200] = math.nan, math.inf, -math.inf, math.inf, -math.inf
    x[4] = -0.0
    for dim in (0, 1):
        found = scanned(lambda x: x.cumsum(dim), x)(x)
        expected = x.cumsum(dim)
        assert found.isnan().equal(expected.isnan()) and found.isinf().equal(expected.isinf())
    # A sum begins with +0.0, as in eager.
    zeros = torch.full((2, 70), -0.0)
    assert not torch.signbit(scanned(lambda x: x.cumsum(1), zeros)(zeros)).any()


def test_strided_operands():
    x = values((40, 66))
    scanned(lambda x: x.t().cumsum(1), x)
    scanned(lambda x: x[:, 1:].cumsum(1), x)
    scanned(lambda x: x[:, ::2].cumsum(1), x)
    scanned(lambda x: x.flip(1).cumsum(1).flip(1), x)
    scanned(lambda x: x.view(40, 6, 11).cumsum(1), x)
    scanned(lambda x: x.cumsum(1).view(-1) * 2, x)


def test_any_pointer_gives_the_same_bits():
    storage = values(3 * 512 + 1)
    x, y = storage[:-1].view(3, 512), storage[1:].view(3, 512)
    compiled = torch.compile(lambda x: x.cumsum(-1), backend="frit", fullgraph=True, dynamic=True, options=SIMT)
    assert compiled(y).equal(compiled(y.clone()))
    assert compiled(x).equal(compiled(x.clone()))
    fixed = torch.compile(lambda x: x.cumsum(-1), backend="frit", fullgraph=True, dynamic=False, options=SIMT)
    assert fixed(y).equal(fixed(y.clone()))


def test_gradients():
    x = values((5, 130)).requires_grad_()
    torch.compile(lambda x: (x.cumsum(1) ** 2).sum(), backend="frit", fullgraph=True, options=SIMT)(x).backward()
    found, x.grad = x.grad, None
    (x.cumsum(1) ** 2).sum().backward()
    compare(found, x.grad)


def test_few_long_rows_are_atens():
    counters.clear()
    torch.compile(lambda x: x.cumsum(0) + 1, backend="frit", fullgraph=True, dynamic=False, options=SIMT)(values(20000))
    assert counters["frit"]["aten:aten.cumsum.default"] == 1


def test_scans_in_place():
    x = values((6, 130))
    expected, found = x.clone(), x.clone()

    def function(x):
        x.copy_(x.cumsum(1) + x)
        return x.cumsum(0)

    expected_result = function(expected)
    compare(torch.compile(function, backend="frit", fullgraph=True, options=SIMT)(found), expected_result)
    compare(found, expected)


@pytest.mark.parametrize("shape", [(5, 30), (5, 64), (3, 4096), (7, 513)])
def test_readers_in_place(shape):
    x, y = values(shape), values(shape) * 2
    found, expected = y.clone(), y.clone()

    def function(x, y):
        y.add_(x.cumsum(-1))

    function(x, expected)
    torch.compile(function, backend="frit", fullgraph=True, options=SIMT)(x, found)
    compare(found, expected)
