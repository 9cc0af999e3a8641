"""lgamma, which frit implements itself: compared with eager and with high-precision values, at all sizes, layouts and special values, with its gradient."""

import checker
import mpmath
import pytest
import torch

import frit

DTYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
#: Zeros and poles of the function, ends of its approximation intervals, and limits of floats.
SPECIAL = [0.0, -0.0, 1.0, 2.0, 3.0, 0.5, 1.5, 2.5, 3.5, 4.5, -1.0, -2.0, -0.5, -2.4570248, -2.7476826, -3.143581, -1e-30, 1e-45, -1e-45, 1e-39, -1e-39]
SPECIAL += [3e36, 4.1e36, -8388607.5, -1e30, float("inf"), -float("inf"), float("nan")]


def log_gamma(x):
    return torch.lgamma(x) * 1


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_sizes_around_vectors(dtype, dynamic):
    compiled = torch.compile(log_gamma, backend="frit", dynamic=dynamic)
    for size in (0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 33, 65, 257) if dynamic else (0, 1, 2, 9, 17, 65):
        checker.check(log_gamma, (torch.randn(size, dtype=torch.float64) * 5).to(dtype), compiled=compiled)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_special_values(dtype):
    x = torch.tensor(SPECIAL, dtype=torch.float64).to(dtype)
    got, wanted = torch.compile(log_gamma, backend="frit", fullgraph=True)(x), log_gamma(x)
    for kind in (torch.isnan, torch.isposinf, torch.isneginf):
        assert torch.equal(kind(got), kind(wanted)), kind


def test_digits():
    """Within 2 ulp of the result, also near the zeros, where the sum of two large terms is small."""
    around = torch.tensor([-2.4570248, -2.7476826, -3.143581, -3.9552943, -4.0393615, -5.0082180, -0.99, 1.0, 2.0, 1.5, 2.5, 3.5, 4.5, 0.5, 0.001])
    x = torch.cat([(around.view(torch.int32) + step).view(torch.float32) for step in range(-20, 21)])
    x = torch.cat([x, torch.randn(300) * 20])
    got = torch.compile(torch.lgamma, backend="frit", fullgraph=True)(x)
    for at, value in zip(x.tolist(), got.tolist(), strict=True):
        with mpmath.workdps(40):
            exact = mpmath.log(abs(mpmath.gamma(at)))
        ulp = 2.0 ** max(mpmath.frexp(exact)[1] - 24, -149)
        assert abs(exact - value) <= 2 * ulp, at


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_layouts(dtype):
    x = (torch.rand(12, 33, dtype=torch.float64) * 8 - 3.4).to(dtype)
    for view in (x.t(), x[:, ::2], x[1:, 3:], x[3], x[:, 5], x.flatten()[1:], x[:1].expand(7, 33), x[2, 2]):
        checker.check(log_gamma, view)


@pytest.mark.parametrize("dtype", [torch.int64, torch.int8, torch.uint8, torch.bool], ids=str)
def test_integers(dtype):
    checker.check(log_gamma, torch.arange(17).to(dtype))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_gradients(dtype):
    def likelihood(count, total):
        return (torch.lgamma(count + total) - torch.lgamma(total) - torch.lgamma(count + 1)).sum(-1)

    count, total = torch.rand(5, 17, dtype=dtype) * 9, torch.rand(5, 17, dtype=dtype) + 0.3
    checker.check(likelihood, count.requires_grad_(), total.requires_grad_(), training=True)


def test_nothing_is_left_to_aten():
    def likelihood(x, y):
        return (torch.lgamma(x) + torch.lgamma(y) - torch.lgamma(x + y)).mean(-1)

    x, y = torch.rand(6, 40) * 5, torch.rand(6, 40) + 1
    checker.check(likelihood, x, y)
    assert frit.explain(likelihood)(x, y).aten_calls == []
