"""Numbers whose squares overflow or underflow, gradients at NaN, and unsigned integers, which frit leaves to eager."""

import pytest
import torch
import torch.nn.functional as F

HUGE = torch.tensor([[1e20, -1e20, 2e20, 3e19], [1e19, 2e19, 3e19, 4e19], [3e37, -3e37, 1e37, 0]])
TINY = torch.tensor([[1e-25, 2e-25, 3e-25, 1e-25], [1e-38, 2e-38, 3e-38, 1e-38], [1e-13, 3e-13, -1e-13, 0]])


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64], ids=str)
@pytest.mark.parametrize("name", ["std", "var", "std_mean", "var_mean"])
def test_deviations_that_are_floats_where_their_squares_are_not(name, dtype, dynamic):
    def function(x):
        return getattr(torch, name)(x, 1), getattr(torch, name)(x, 0), getattr(torch, name)(x)

    compiled = torch.compile(function, backend="frit", dynamic=dynamic)
    for x in (HUGE, TINY, torch.cat([HUGE, TINY]), TINY / TINY):
        torch.testing.assert_close(compiled(x.to(dtype)), function(x.to(dtype)), equal_nan=True, rtol=1e-6 if dtype != torch.bfloat16 else 8e-3, atol=0)


@pytest.mark.parametrize("size", [5, 64])
@pytest.mark.parametrize("beta", [0.7, 0.0])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_the_gradient_of_a_loss_at_nan_is_nan(reduction, beta, size):
    def gradients(function):
        x, target = torch.linspace(-2, 2, size), torch.linspace(1, -1, size)
        x[1], x[2], x[3], x[4] = float("nan"), float("inf"), target[3] + beta, target[4]
        x.requires_grad_(), target.requires_grad_()
        function(x, target).sum().backward()
        return x.grad, target.grad

    def loss(x, target):
        return F.smooth_l1_loss(x, target, beta=beta, reduction=reduction)

    for actual, expected in zip(gradients(torch.compile(loss, backend="frit")), gradients(loss), strict=True):
        assert torch.equal(actual.nan_to_num(7), expected.nan_to_num(7))


@pytest.mark.parametrize("dtype", [torch.uint16, torch.uint32, torch.uint64], ids=str)
def test_unsigned_integers_that_are_left_to_eager(dtype):
    def function(x):
        return x.all(), x.any(), x.view(1, 3).all(1), x == 1, torch.cat([x, x])

    x = torch.tensor([0, 1, 2]).to(dtype)
    for actual, expected in zip(torch.compile(function, backend="frit")(x), function(x), strict=True):
        assert actual.dtype == expected.dtype and torch.equal(actual, expected)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_doubles_that_are_negated_become_halves(dtype):
    """A negation can be moved after a narrowing; a conversion from double to half would be a library call, which images do not have."""
    x = torch.linspace(-3, 3, 33, dtype=torch.float64)
    assert torch.equal(torch.compile(lambda x: (-x).to(dtype) + 1, backend="frit")(x), (-x).to(dtype) + 1)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", ["linspace", "logspace"])
def test_points_between_tensors_are_rounded_as_eagers(name, dtype):
    def function(first, last):
        space = getattr(torch, name)
        return space(first, last, 50, dtype=dtype), space(first, 4, 50, dtype=dtype), space(0, last, 50, dtype=dtype)

    # In bfloat16 the first is exact too, because eager reads the values of 0-d tensors.
    arguments = torch.tensor(-0.9375 if dtype.is_floating_point else 1.0), torch.tensor(2.125)
    for actual, expected in zip(torch.compile(function, backend="frit")(*arguments), function(*arguments), strict=True):
        assert torch.equal(actual, expected)


@pytest.mark.parametrize("value", [1234.567, -8.4784, 0.1, 7.7e5])
@pytest.mark.parametrize("size", [5, 17, 768, 3000])
def test_equal_values_have_no_deviation(value, size):
    """The mean of equal values is often rounded to a neighbour of the value; eager's Welford is exact."""

    def function(x):
        normal = F.layer_norm(x, x.shape[1:]), F.group_norm(x[None], x.shape[0]), F.batch_norm(x.t(), None, None, training=True)
        return *normal, F.instance_norm(x[None]), x.std(1)

    *normal, deviation = torch.compile(function, backend="frit")(torch.full((3, size), value))
    assert not any(result.any() for result in normal)
    # The correction's error is a few roundings of roundings, so its root is far below one rounding of the value.
    assert deviation.max() <= 2**-28 * abs(value)
