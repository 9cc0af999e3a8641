"""Short forms of functions for half results (codegen/gpu/emit/ApproximateMath.cpp), emulated with the errors that PTX's manual allows,
over every half number, and of exponentials in long sums."""

import math

import pytest
import torch
import torch.nn.functional as F

SIMT = {"target": "simt"}
HALVES = {torch.float16: 2.0**-24, torch.bfloat16: 2.0**-126}  # below which results lose digits, or are 0
#: The error of a short form relative to its result, in half units of the last place of f16.
BEFORE_ROUNDING = 2.0**-13.5


def every(dtype):
    return torch.arange(-(1 << 15), 1 << 15, dtype=torch.int32).to(torch.int16).view(dtype)


def compiled(function, *inputs, **options):
    return torch.compile(function, backend="frit", fullgraph=True, dynamic=False, options=SIMT | options)(*inputs)


def distance(actual, exact):
    """From the exact results, beyond the last rounding."""
    least, most = HALVES[actual.dtype], torch.finfo(actual.dtype).max
    exact = exact.clamp(-most, most)
    digits = 11 if actual.dtype == torch.float16 else 8
    ulp = torch.exp2(torch.frexp(exact).exponent.double() - digits).clamp(min=least)
    return (actual.double().clamp(-most, most) - exact).abs() - 0.5000001 * ulp


FUNCTIONS = {
    "erf": (torch.erf, torch.special.erf),
    "tanh": (torch.tanh, torch.tanh),
    "sigmoid": (torch.sigmoid, torch.sigmoid),
    "silu": (F.silu, lambda x: x / (1 + torch.exp(-x))),
    "exp": (torch.exp, torch.exp),
}


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_every_half(dtype):
    x = every(dtype)
    wide = x.double()
    results = compiled(lambda x: [short(x) for short, _ in FUNCTIONS.values()], x)
    for name, actual in zip(FUNCTIONS, results):
        exact = FUNCTIONS[name][1](wide)
        assert torch.equal(actual.isnan(), exact.isnan()), name
        known = ~exact.isnan()
        allowed = exact.abs() * BEFORE_ROUNDING + 2 * HALVES[dtype] * (wide.abs() if name == "silu" else 1)
        wrong = known & (distance(actual, exact) > allowed)
        assert not wrong.any(), f"{name}: {x[wrong][:5]} give {actual[wrong][:5]}, not {exact[wrong][:5]}"
        if name not in ("exp", "sigmoid"):  # -0 stays
            zero = x == 0
            assert torch.equal(actual[zero].signbit(), x[zero].signbit()), name


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_what_cancels(dtype):
    """1 + erf and 1 + tanh far below 0, in units of f32's own rounding next to 1; at the ends exactly 0 and 2."""
    x = every(dtype)
    wide = x.double()
    exact = {"erf": 0.5 * torch.special.erfc(-wide), "tanh": torch.sigmoid(2 * wide)}
    actual = compiled(lambda x: [(1 + torch.erf(x.float())).to(dtype), (1 + torch.tanh(x.float())).to(dtype)], x)
    for (name, half), result in zip(exact.items(), actual):
        known = ~wide.isnan()
        off = distance(result, 2 * half)
        wrong = known & (off > 2 * half * BEFORE_ROUNDING + 2.0**-22)
        assert not wrong.any(), f"{name}: {x[wrong][:5]} give {result[wrong][:5]}, not {2 * half[wrong][:5]}"
        assert (result[wide < -10] == 0).all() and (result[wide > 10] == 2).all(), name
    # The function itself, whose error is that of 1 + erf, times x / 2.
    gelu = compiled(lambda x: F.gelu(x), x)
    expected = wide * exact_normal(wide)
    finite = wide.isfinite()
    assert (distance(gelu, expected)[finite] <= (expected.abs() * BEFORE_ROUNDING + wide.abs() * 2.0**-23)[finite]).all()


def exact_normal(x):
    return 0.5 * torch.special.erfc(-x / math.sqrt(2))


@pytest.mark.parametrize("columns", [1024, 4096, 32768])
@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_long_sums_of_exponentials(dtype, columns):
    """The bound of docs/Gpu.md: 2^-22 and ln n roundings, beside those of the sum."""
    generator = torch.Generator().manual_seed(0)
    rows = [torch.randn(columns, generator=generator) * scale for scale in torch.logspace(-2, 1.5, 64)]  # so many that none is split
    rows += [torch.zeros(columns), torch.linspace(-200, 0, columns), torch.linspace(60000, 50000, columns)]
    x = torch.stack(rows).to(dtype)

    def parts(x):
        x = x.float()
        most = x.amax(-1, keepdim=True)
        return most, (x - most).exp().sum(-1)

    exact = (x.double() - x.double().amax(-1, keepdim=True)).exp().sum(-1)
    error = lambda actual: (actual.double() / exact - 1).abs().max().item()  # noqa: E731
    short, long = compiled(parts, x)[1], compiled(parts, x, numerics="eager")[1]
    assert error(short) <= 2.0**-22 + (math.log(columns) + 16) * 2.0**-24
    assert error(long) <= 16 * 2.0**-24
    # It is the short form, and that of eager numerics is not: the emulated instruction errs.
    assert not torch.equal(short, long)


def test_short_sums_and_wide_rows_stay_exact():
    x = torch.randn(7, 512)
    sums = lambda x: (x - x.amax(-1, keepdim=True)).exp().sum(-1)  # noqa: E731
    for rows in (x.bfloat16(), torch.randn(7, 4096)):
        function = lambda x: sums(x.float())  # noqa: E731
        assert torch.equal(compiled(function, rows), compiled(function, rows, numerics="eager"))
