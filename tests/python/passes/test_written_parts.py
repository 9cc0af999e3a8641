"""Writes to slices of arguments and buffers touch only the slices: values, memory around them, and how much a call moves."""

import pytest
import torch

import frit


def rows(x, v):
    x[3:5] = v


def last_rows(x, v):
    x[-2:] = v
    x[:2] = x[-2:]


def one_row(x, v):
    x[3] = 1


def one_column(x, v):
    x[..., -1] += 1


def block(x, v):
    x[1:3, 2:5] = 7


def multiplied(x, v):
    x[3:5].mul_(2)


def summed_afterwards(x, v):
    x[3:5] = v
    return x.sum(1), x[3:5], x @ x.t()


def overlapping_rows(x, v):
    x[3:5] = v
    x[4:6] = v * 2
    return x


def shifted(x, v):
    x[1:4] = x[0:3].clone()


def exchanged(x, v):
    old = x[0:2].clone()
    x[0:2] = v
    v.copy_(old)


def written_from_each_other(x, v):
    x[0:2] = v
    v.copy_(x[1:3])


def read_before(x, v):
    y = x * 1
    x[3:5] = v
    return y, x


def moved_block(x, v):
    x[2:4, 1:3] = x[0:2, 3:5]
    return x.t().contiguous()


def through_a_view(x, v):
    x.t()[2:4] = v[:, :1].sum()


def nothing(x, v):
    x[:0] = 1
    x[3:3] = 2


FUNCTIONS = [rows, last_rows, one_row, one_column, block, multiplied, summed_afterwards, overlapping_rows, shifted, exchanged, written_from_each_other,
             read_before, moved_block, through_a_view, nothing]  # fmt: skip
#: What an argument looks like: as it is, transposed, and with gaps.
LOOKS = [lambda x: x, lambda x: x.t().contiguous().t(), lambda x: torch.cat([x, x], 1)[:, : x.shape[1]], lambda x: torch.cat([x, x], 1)[:, ::2]]


def memory(x):
    """All elements of a tensor's storage."""
    return torch.empty(0).set_(x.untyped_storage())


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_parts_of_arguments(function, dynamic):
    compiled = torch.compile(function, backend="frit", dynamic=dynamic)
    for size in ((6, 6), (9, 8), (33, 17), (64, 64)) if dynamic else ((9, 8),):
        for look in LOOKS:
            theirs = look(torch.arange(float(size[0] * size[1])).reshape(size))
            ours = torch.empty(0).set_(theirs.untyped_storage().clone(), theirs.storage_offset(), theirs.shape, theirs.stride())
            v = torch.randn(2, size[1])
            w = v.clone()
            expected, actual = function(theirs, v), compiled(ours, w)
            assert torch.equal(memory(ours), memory(theirs)) and torch.equal(v, w)
            torch.testing.assert_close(actual, expected)


@pytest.mark.parametrize("function, most", [(rows, 0), (one_row, 0), (block, 0), (one_column, 4 * 512), (multiplied, 4 * 2 * 512)])
def test_only_the_part_is_written(function, most):
    """No temporary is larger than the part; before, it was the whole argument and was copied back."""
    x, v = torch.ones(512, 512), torch.ones(2, 512)
    (graph,) = frit.explain(function)(x, v).graphs
    assert graph["temporary_bytes"] <= most


def test_buffers_of_a_module():
    class Cache(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("keys", torch.zeros(8, 16))

        def forward(self, new, at: int):
            self.keys[at : at + new.shape[0]] = new
            return self.keys.sum(0)

    ours, theirs = Cache(), Cache()
    compiled = torch.compile(ours, backend="frit", dynamic=True)
    for at, count in ((0, 3), (3, 2), (5, 3), (0, 2)):
        new = torch.randn(count, 16)
        torch.testing.assert_close(compiled(new, at), theirs(new, at))
        assert torch.equal(ours.keys, theirs.keys)
