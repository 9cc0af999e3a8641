"""Sizes whose expressions contain floats: the host computes them as Python does, and they are symbols for the compiler."""

import math

import checker
import pytest
import torch
import torch.nn.functional as F
from torch._dynamo.utils import counters

PROGRAMS = {
    "round": lambda x: torch.ones(round(x.shape[0] / 2)) * x.sum(),
    "int": lambda x: x[: int(x.shape[0] * 0.7)] * 2,
    "floor and ceil": lambda x: (x[: math.floor(x.shape[0] * 0.3)] + 1, x[: math.ceil(x.shape[0] * 0.3)].sum()),
    "root": lambda x: x[: int(math.sqrt(x.shape[0])) * 2].view(2, -1) * 2,
    "power": lambda x: x[: int(x.shape[0] ** 0.5)] * 2,
    "logarithm": lambda x: torch.zeros(int(math.log2(x.shape[0])), 3) + x[0],
    "of a difference": lambda x: x[: max(1, round((x.shape[0] - 3) * 0.25))].exp(),
    "negative": lambda x: x[int(-0.5 * x.shape[0]) :] + 1,
    "returned": lambda x: (round(x.shape[0] * 0.4), x + int(x.shape[0] * 0.9)),
    "twice": lambda x: torch.cat([x[: int(x.shape[0] * 0.5)], x]) @ x.new_ones(int(x.shape[0] * 0.5) + x.shape[0]),
    "order of floats": lambda x: x[: int(x.shape[0] * 0.1 * 3)] + 1,
    "linear": lambda x: F.interpolate(x[None, None], scale_factor=0.5, mode="linear", align_corners=True),
    "linear, corners apart": lambda x: F.interpolate(x[None, None], scale_factor=1.3, mode="linear"),
    "nearest": lambda x: F.interpolate(x[None, None], scale_factor=0.7),
    "area": lambda x: F.interpolate(x[None, None], scale_factor=0.7, mode="area"),
    "bilinear": lambda x: F.interpolate(x[None, None, None].expand(1, 1, 6, -1), scale_factor=(0.5, 1.5), mode="bilinear"),
    "fractional window": lambda x: F.adaptive_avg_pool1d(x[None, None], int(x.shape[0] * 0.3)) * 2,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_sizes_that_the_host_computes(name):
    function = PROGRAMS[name]
    compiled = checker.check(function, torch.randn(20), dynamic=True)
    for size in (13, 10, 30, 7):
        checker.check(function, torch.randn(size), compiled=compiled)
    # Torch itself guards on a size in a maximum, and on the windows of a pooling.
    assert counters["frit"]["graphs"] == 1 or name in ("of a difference", "area", "fractional window")
    assert not counters["frit"]["callbacks"]


OF_INTEGERS = {
    "bits kept": lambda x, k: torch.zeros((k & 7) + 1) + x.sum(),
    "bits set": lambda x, k: torch.zeros(k | 1) + x.sum(),
    "bits changed": lambda x, k: torch.zeros((k ^ 3) + 1) + x.sum(),
    "shifted": lambda x, k: torch.zeros((k << 1) + (k >> 1)) + x.sum(),
    "the absolute value": lambda x, k: (torch.arange(abs(k) + 1), x * abs(k), x[: abs(k - 3)] + 1),
    "of a difference": lambda x, k: torch.zeros(abs(x.shape[0] - 6) + 1) + x.sum(),
    "one of two": lambda x, k: torch.zeros(torch.sym_ite(k > 6, k + 1, k * 2)) + x.sum(),
    "one of two, equal or not": lambda x, k: torch.zeros(torch.sym_ite(k == 5, k, k * 2)) + x.sum(),
    "one of three": lambda x, k: torch.zeros(torch.sym_ite(k > 8, k, torch.sym_ite(k > 6, k + 1, k * 2))) + x.sum(),
}


@pytest.mark.parametrize("name", OF_INTEGERS)
def test_sizes_of_integers(name):
    """Functions that no SizeExpr has. In strict mode, a plan that the validator refuses is an error."""
    function = OF_INTEGERS[name]
    compiled = checker.check(function, torch.randn(5), 5, dynamic=True)
    for size, k in ((7, 7), (9, 12), (10, 6)):
        checker.check(function, torch.randn(size), k, compiled=compiled)
    assert not counters["frit"]["calls_as_traced"] and not counters["frit"]["whole_graphs"]


def test_training_through_sizes_that_the_host_computes():
    def function(x):
        return F.interpolate(x * 2, scale_factor=0.5, mode="linear", align_corners=True).sum(-1)

    compiled = checker.check(function, torch.randn(2, 3, 9, requires_grad=True), dynamic=True, training=True)
    checker.check(function, torch.randn(2, 3, 16, requires_grad=True), compiled=compiled, training=True)


@pytest.mark.parametrize("start", [-5, 2])
def test_training_through_a_size_that_only_the_caller_can_compute(start):
    """The backward graph gets an integer whose expression has cases (`Piecewise`), which becomes a new symbol."""

    def function(x, at):
        return torch.narrow(x, 0, at, 3) * 2

    with torch._dynamo.config.patch(capture_scalar_outputs=True):
        checker.check(function, torch.randn(8, 5, requires_grad=True), torch.tensor(start), training=True, options={"strict": True})
