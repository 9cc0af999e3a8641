"""Sums of millions of numbers are accurate for all reduced dims and layouts, because accumulators are reset for each block."""

import pytest
import torch

PROGRAMS = {
    "channels last": (lambda x: (x + 1000).mean(), lambda: torch.rand(8, 16, 100, 100).to(memory_format=torch.channels_last)),
    "short rows of a transpose": (lambda x: (x + 1000).sum(), lambda: torch.rand(300_000, 20).t()),
    "a slice": (lambda x: (x + 1000).var(), lambda: torch.rand(3000, 2000)[:, :1000]),
    "a permutation": (lambda x: x.sum(), lambda: torch.rand(64, 500, 100).permute(2, 0, 1)),
    "a broadcast": (lambda x: (x[:, None] + x[None, :]).sum(), lambda: torch.rand(2000)),
    "rows and an outer dim": (lambda x: (x + 1000).mean((0, 2)), lambda: torch.rand(64, 3, 20_000)),
    "short rows and an outer dim": (lambda x: (x + 1000).sum((0, 2)), lambda: torch.rand(200_000, 4, 3)),
    "columns": (lambda x: (x + 1000).sum(0), lambda: torch.rand(500_000, 20)),
    "columns over two dims": (lambda x: (x + 1000).sum((0, 1)), lambda: torch.rand(2000, 500, 6)[:, 1:400]),
    "columns of images": (lambda x: (x + 1000).mean((0, 2, 3)), lambda: torch.rand(4, 32, 150, 150).to(memory_format=torch.channels_last)[:, :, 1:, 1:]),
    "two sums": (lambda x: torch.stack([(x + 1000).sum(), (x * x).sum()]), lambda: torch.rand(1000, 1500).t()[1:]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_digits(name):
    function, make = PROGRAMS[name]
    torch.manual_seed(0)
    x = make()
    exact = function(x.double())
    static, dynamic = (torch.compile(function, backend="frit", dynamic=dynamic)(x) for dynamic in (False, True))
    # The error of blocks with some dozen terms per accumulator in f32, and of one rounding of each subtracted mean.
    assert ((static.double() - exact).abs() / exact.abs()).max() < 4e-7
    assert torch.equal(static, dynamic)


def test_what_is_no_number_stays_none():
    function = lambda x: (x.sum(), x.sum((0, 2)), x.amax((0, 2)))  # noqa: E731
    x = torch.rand(300, 5, 700).transpose(0, 2)
    for value in (float("inf"), float("-inf"), float("nan")):
        y = x.clone(memory_format=torch.preserve_format)
        y[3, 2, 7] = value
        for actual, expected in zip(torch.compile(function, backend="frit")(y), function(y), strict=True):
            torch.testing.assert_close(actual, expected, equal_nan=True)
