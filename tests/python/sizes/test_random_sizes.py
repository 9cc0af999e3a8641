"""Random programs over dynamic rows, with every library call padded and all memory poisoned, compared with eager by the fp64 rule.

A few fixed programs run with the suite; FRIT_RANDOM_PROGRAMS=500 runs 500 new ones.
"""

import os

import checker
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

PROGRAMS = int(os.environ.get("FRIT_RANDOM_PROGRAMS") or 0)
SIZES = (5, 8, 2, 13)
OPTIONS = {"padding": "force", "poison": True}

UNARY = (
    torch.relu,
    lambda a: (-a.abs()).exp(),
    torch.tanh,
    lambda a: 1 / (a.abs() + 0.5),
    lambda a: a.abs().log1p(),
    lambda a: torch.where(a > 0, a, a * 0.1),
    lambda a: a.softmax(1),
    lambda a: a.softmax(0),
    lambda a: a - a.mean(0, keepdim=True),
    lambda a: a - a.amax(1, keepdim=True),
    lambda a: a.cumsum(0) / 4,
    lambda a: a.flip(0),
    lambda a: a.roll(1, 0) * 0.5,
    lambda a: a * torch.arange(a.shape[0])[:, None].to(a.dtype) / 8,
)
BINARY = (
    torch.add,
    lambda a, b: a * b,
    torch.maximum,
    lambda a, b: torch.where(a > b, a, b * 0.5),
    lambda a, b: a / (b.abs() + 1),
)


def rows(n):
    torch.manual_seed(n)
    # Values with dynamic rows, and matrices with static sizes.
    return [torch.randn(n, 6), torch.randn(n, 10), torch.randn(6, 10) / 3, torch.randn(10, 6) / 3]


def step(values, kind, first, second):
    """Applies one operation to earlier values; if shapes do not fit it, a product that fits."""
    a = values[first % len(values)]
    if kind < 40:
        return UNARY[kind % len(UNARY)](a)
    if kind < 60:
        partners = [v for v in values if v.shape == a.shape]
        return BINARY[kind % len(BINARY)](a, partners[second % len(partners)])
    if kind < 70:
        return a + a.sum(0) / 8
    if kind < 80:
        return (a.t() @ a) / 4
    partners = [v for v in values if v.shape[0] == a.shape[1]]
    return (a @ partners[second % len(partners)]) / 3 if partners else a @ a.t() / 4


def program(steps):
    def run(*inputs):
        values = list(inputs)
        for kind, first, second in steps:
            values.append(step(values, kind, first, second))
        last = values[-1]
        return last, last.sum(0), torch.cat([last, last * 2]).sum(1), last[-1:], last.reshape(-1) * 2

    return run


steps = st.lists(st.tuples(st.integers(0, 119), st.integers(0, 11), st.integers(0, 11)), min_size=2, max_size=7)


@settings(max_examples=PROGRAMS or 10, deadline=None, derandomize=not PROGRAMS, database=None)
@given(steps=steps, training=st.booleans())
def test_random_programs(steps, training):
    torch.compiler.reset()
    function = program(steps)
    compiled = torch.compile(function, backend="frit", dynamic=True, fullgraph=True, options=OPTIONS)
    for n in SIZES:
        inputs = [x.requires_grad_(training) for x in rows(n)]
        result = function(*inputs)[0]
        if not result.isfinite().all() or result.abs().max() > 1e4:
            continue
        checker.check(function, *inputs, training=training and result.requires_grad, compiled=compiled)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int64])
def test_products_of_whole_numbers_are_exact(dtype):
    """Padding adds only zeros: if every order of summation gives the same bits, so does the padded call."""

    def function(x, w, b, y, z):
        h = torch.addmm(b, x, w)
        batched = torch.baddbmm(y[:, :1], y, z)
        return h, h.t() @ x, batched.relu() @ z.transpose(1, 2), torch.bmm(y, z), torch.nn.functional.linear(x, w.t())

    compiled = torch.compile(function, backend="frit", dynamic=True, fullgraph=True, options=OPTIONS)
    for n in (5, 8, 17):
        generator = torch.Generator().manual_seed(n)
        shapes = [(n, 6), (6, 10), (10,), (3, n, 7), (3, 7, 7)]
        inputs = [torch.randint(-4, 5, shape, generator=generator).to(dtype) for shape in shapes]
        checker.check(function, *inputs, compare="exact", compiled=compiled)
