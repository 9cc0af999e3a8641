"""Signed and unsigned integers of one width are one type inside the compiler; outside of kernels each tensor has one dtype, which all its readers need
(`frit-separate-dtypes`)."""

import checker
import pytest
import torch

PAIRS = [(torch.int8, torch.uint8), (torch.uint8, torch.int8), (torch.int16, torch.uint16), (torch.int32, torch.uint32), (torch.int64, torch.uint64)]


def filled(x, other):
    """Equal constants of both dtypes; one is stored into an argument."""
    first, second = torch.full((3,), 2, dtype=x.dtype), torch.full((3,), 2, dtype=other)
    x[:3].copy_(second)
    return first


PROGRAMS = {
    "stored": filled,
    "both are results": lambda x, other: ((x + 1).to(other), x + 1, x.to(other)),
    "an operator reads one": lambda x, other: x.to(other).msort(),
    "operators read both": lambda x, other: ((x + 1).to(other).msort(), (x + 1).msort()),
    "sums": lambda x, other: (torch.cumsum((x + 1).to(other), 0), torch.cumsum(x + 1, 0)),
    "through a view": lambda x, other: ((x + 1).view(2, 2).to(other).view(-1).msort(), (x + 1).view(2, 2).t()),
    "kernels read both": lambda x, other: ((x + 1).to(other).float(), (x + 1).float()),
    "written back": lambda x, other: (x.add_((x + 1).to(other).to(x.dtype)), (x + 1).to(other)),
    "no elements": lambda x, other: (x.new_empty(0), torch.arange(0, dtype=other), torch.arange(0, dtype=x.dtype)),
    "constants": lambda x, other: (torch.tensor(2, dtype=other), torch.tensor(2, dtype=x.dtype), x + 1),
}


@pytest.mark.parametrize("one, other", PAIRS, ids=str)
@pytest.mark.parametrize("name", PROGRAMS)
def test_each_dtype_is_a_value_of_its_own(name, one, other):
    x = torch.tensor([-3, 5, 100, 200]).to(one)
    try:
        PROGRAMS[name](x.clone(), other)
    except RuntimeError as error:
        pytest.skip(f"eager has no kernel: {error}"[:120])
    for dynamic in (False, True):
        checker.check(PROGRAMS[name], x, other, dynamic=dynamic)


def test_a_view_whose_start_is_a_value():
    """The offset of the result is a size that torch creates for it."""

    def function(x, start):
        return x.narrow(0, start, 2) * 2, x.narrow(0, start, 2)

    for dynamic in (False, True):
        compiled = checker.check(function, torch.arange(12.0).view(6, 2), torch.tensor(1), dynamic=dynamic)
        checker.check(function, torch.arange(12.0).view(6, 2), torch.tensor(3), compiled=compiled)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize(
    "view",
    [
        lambda x, j: torch.narrow(x, 1, j, 2),
        lambda x, j: torch.narrow(x, 1, j, 2)[1:],
        lambda x, j: torch.narrow(x[:, :], 1, j, 3)[:, 1:],
        lambda x, j: torch.narrow(x, 1, j, 2).view(torch.int32).view(torch.float32),
    ],
)
def test_a_saved_view_whose_start_is_a_value(view, dynamic):
    """Only the saved tensor has the offset that the backward needs."""

    def function(x, y, j):
        z = view(x, j)
        return z * y[: z.shape[0]]

    compiled = None
    for start in (1, 0, 2):
        x, y = torch.arange(15.0).view(3, 5).requires_grad_(), torch.rand(3, 2, requires_grad=True)
        compiled = checker.check(function, x, y, torch.tensor(start), training=True, dynamic=dynamic, compiled=compiled)
