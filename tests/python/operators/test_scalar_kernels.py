"""Every function of one number and of a sum, where code is not vectorised: LLVM must not turn a conversion into a library call, because images have none.
Functions are applied twice, so that the half result of one, which computes in double, is the operand of the next."""

import checker
import pytest
import torch

from frit.native import compiler

FUNCTIONS = (
    "abs acos acosh asin asinh atan atanh ceil cos cosh erf erfc exp exp2 expm1 floor frac lgamma log log10 log1p log2 neg reciprocal round rsqrt "
    "sigmoid sign sin sinh sqrt square tan tanh trunc digamma erfinv i0 logit nan_to_num sinc positive signbit"
).split()
TWO = "add sub mul true_divide floor_divide remainder fmod atan2 copysign hypot maximum minimum fmax fmin pow nextafter xlogy heaviside logaddexp".split()
HALVES = (torch.float16, torch.bfloat16)


def once(x):
    return [getattr(torch, name)(x) for name in FUNCTIONS]


def of_another_type(x):
    return [y.to(other) for y in once(x) for other in (torch.float16, torch.bfloat16, torch.float32, torch.float64) if y.is_floating_point()]


def twice(x):
    results = [getattr(torch, name)(getattr(torch, name)(x)) for name in FUNCTIONS if name != "signbit"]
    return results + [torch.atan(x.sum()), torch.asin(torch.atan(x.sum(-1)))]


def pairs(x, y):
    results = []
    for name in TWO:
        if name != "nextafter" or x.dtype not in HALVES:
            z = getattr(torch, name)(x, y)
            results += [z, getattr(torch, name)(z, y), torch.atan(z).half()]
    return results


def compiles(function, *inputs, **options):
    """Compiles and runs without comparing values: other tests do that, and error bounds do not apply to a function of a function."""
    with torch.no_grad():
        wanted, got = function(*inputs), torch.compile(function, backend="frit", fullgraph=True, options=options)(*inputs)
    for a, b in zip(got, wanted):
        assert a.dtype == b.dtype and a.shape == b.shape
        torch.testing.assert_close(a.double(), b.double(), rtol=0.1, atol=0.1, equal_nan=True)


@pytest.mark.parametrize(
    "dtype, numerics", [(torch.float16, "default"), (torch.float16, "eager"), (torch.bfloat16, "default"), (torch.float32, "default"), (torch.float64, "default")]
)
def test_functions_of_one_number(dtype, numerics):
    x = torch.tensor([0.3], dtype=dtype)
    compiles(twice, x, numerics=numerics)
    compiles(pairs, x, x + 0.4, numerics=numerics)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16])
def test_results_of_another_type(dtype):
    compiles(of_another_type, torch.tensor([0.3], dtype=dtype))


def test_levels(graphs):
    """Compiles without running, because the machine may lack these levels."""
    torch.compile(lambda x: twice(x) + of_another_type(x), backend="frit")(torch.tensor([0.3], dtype=torch.float16))
    for level in ("x86-64-v3", "x86-64-v4"):
        assert compiler().compile(graphs[0].json, f'{{"cpu": "{level}", "strict": true}}').artifact


def test_signs_of_zeros_and_nans():
    signs = torch.tensor([0.0, -0.0, float("nan"), -float("nan"), float("inf"), -float("inf"), -2.5])
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        torch.compiler.reset()
        checker.check(lambda x, y: (torch.copysign(x, y), torch.copysign(x[:1], y[2:3])), signs.to(dtype), signs.flip(0).to(dtype), compare="exact")
