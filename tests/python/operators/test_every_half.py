"""Operators over every value of the half types: checks which intermediate steps eager rounds."""

import checker
import pytest
import torch
import torch.nn.functional as F

EVERY = torch.arange(1 << 16, dtype=torch.int32).to(torch.int16)

PROGRAMS = {
    "trunc by a scalar": lambda x: torch.div(x, 0.7, rounding_mode="trunc"),
    "trunc by an integer": lambda x: torch.div(x, 3, rounding_mode="trunc"),
    "trunc by a number in a tensor": lambda x: torch.div(x, torch.tensor(0.7), rounding_mode="trunc"),
    "trunc by one element": lambda x: torch.div(x, torch.full((1,), 0.7, dtype=x.dtype), rounding_mode="trunc"),
    "trunc by a tensor": lambda x: torch.div(x, torch.full_like(x, 0.7), rounding_mode="trunc"),
    "floor by a scalar": lambda x: x // 0.7,
    "floor by one element": lambda x: x // torch.full((1,), 0.7, dtype=x.dtype),
    "floor by a tensor": lambda x: x // torch.full_like(x, 0.7),
    "root": lambda x: x**0.5,
    "one over a root": lambda x: x**-0.5,
    "elu": F.elu,
    "selu": F.selu,
    "celu": F.celu,
}


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_value(name, dtype):
    x, function = EVERY.view(dtype), PROGRAMS[name]
    expected, actual = function(x), torch.compile(function, backend="frit", fullgraph=True)(x)
    same = (actual == expected) & (actual.signbit() == expected.signbit()) | (actual.isnan() & expected.isnan())
    assert actual.dtype == dtype and same.all(), x[~same]


def test_the_sign_of_zero_where_a_slope_is_negative():
    x = torch.tensor([0.0, -0.0] * 9)
    assert torch.equal(torch.compile(lambda x: F.elu(x, -1.5), backend="frit")(x).signbit(), F.elu(x, -1.5).signbit())


INTERPOLATIONS = {
    "linear": ((2, 3, 17), 30),
    "bilinear": ((2, 3, 9, 11), (20, 7)),
    "bicubic": ((2, 3, 9, 11), (20, 7)),
    "trilinear": ((1, 2, 5, 6, 7), (9, 4, 8)),
}


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("numerics", ["default", "eager"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("mode", INTERPOLATIONS)
def test_interpolation_is_computed_in_f32(mode, dtype, numerics, dynamic):
    """With each of the numerics, so also where frit rounds as eager's kernels do: they compute in f32 too."""
    shape, size = INTERPOLATIONS[mode]
    x = torch.randn(*shape).to(dtype).requires_grad_()
    checker.check(
        lambda x: F.interpolate(x, size=size, mode=mode, align_corners=dynamic), x, training=True, dynamic=dynamic, options={"numerics": numerics},
    )  # fmt: skip
