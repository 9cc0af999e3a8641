"""Chains of concatenations: a write into a slice becomes a concatenation of the tensor's pieces, and the next write reads all of them."""

import glob
import re

import pytest
import torch


def rows_one_by_one(x, n):
    o = torch.zeros(n, 3)
    for i in range(n):
        o[i] = i
    return o + x[:n, :3]


def a_recurrence(x, n):
    h, o = x[0], x.new_zeros(n, x.shape[1])
    for t in range(n):
        h = (h * 0.5 + x[t]).tanh()
        o[t] = h
    return o


def ends_from_ever_later(x, n):
    o = torch.zeros_like(x)
    for k in range(n):
        o[k:] += x[: x.shape[0] - k] * (k + 1)
    return o


def neighbours(x, n):
    x = x.clone()
    for i in range(1, n):
        x[i : i + 2] = x[i : i + 2] * 2 + x[i + 1 : i + 3]
    return x


def differences(x, n):
    x = x.clone()
    for i in range(1, n):
        x[i:] -= x[i - 1]
    return x


def columns_from_the_last(x, n):
    x = x.clone()
    for i in reversed(range(n)):
        x[:, i % 6] = x[:, (i + 1) % 6] + i
    return x


def rotations(x, n):
    for _ in range(n):
        x = torch.cat([x[5:], x[:5] * 2]) + 1
    return x


def interleaved(x, n):
    for _ in range(n):
        low, high = x.chunk(2, 0)
        x = torch.stack([low + high, low - high], 1).reshape(x.shape) / 2
    return x


def nodes_of(function, x, n, folder, dynamic):
    """Returns the number of lines of all kernel programs, after comparing results with eager."""
    torch.compiler.reset()
    options = {"dump_dir": str(folder)}
    with torch.no_grad():
        compiled = torch.compile(lambda x: function(x, n), backend="frit", dynamic=dynamic, options=options)
        torch.testing.assert_close(compiled(x), function(x, n))
    programs = glob.glob(f"{folder}/**/*kernel-programs*", recursive=True)
    assert programs
    return sum(len(re.findall(r"\n", open(path).read())) for path in programs)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize(
    "function",
    [rows_one_by_one, a_recurrence, ends_from_ever_later, neighbours, differences, columns_from_the_last, rotations, interleaved],
    ids=lambda f: f.__name__,
)
def test_a_longer_chain_has_no_exponentially_longer_program(function, dynamic, tmp_path):
    x = torch.randn(40, 6, generator=torch.Generator().manual_seed(0)) / 8
    short, long = (nodes_of(function, x, n, tmp_path / str(n), dynamic) for n in (6, 24))
    assert long < 32 * short, f"{short} lines for 6 writes, {long} for 24"
