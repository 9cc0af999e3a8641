"""Writes to arguments become copies of their whole storage in a functional graph: results have eager's offsets in it, and `as_strided` reads the memory
around them."""

import pytest
import torch

import frit  # noqa: F401


def gaps(dtype=torch.float32):
    """Returns a (4, 4) view from element 2 of each row of 7."""
    x = torch.arange(28.0).view(4, 7).to(dtype)
    return (x * (1 + 2j) if dtype.is_complex else x)[:, 2:6]


def written(x):
    x.copy_(x * 2)
    return x.view(-1, 4), x.unsqueeze(0).expand(1, 4, 4), x[1:]


def scattered(x):
    return x.slice_scatter(x[1:] * 2, 0, 1)[..., 1:], x.select_scatter(x[0] * 2, 0, -1).unsqueeze(1), x.diagonal_scatter(x[0] + 1)[1:]


def scattered_repeats(x):
    y = x[0].expand(3, 4)
    return y.slice_scatter(y[1:] * 2, 0, 1)


def added_to_row(x):
    row = x.select(0, -1)
    row.scatter_add_(-1, torch.zeros_like(row, dtype=torch.int64), row.clone())
    return row.expand(3, 4), row


def read_around(x):
    x.copy_(x + 1)
    return x.as_strided((3, 2), (2, 1), 0) * 2


def read_around_rows(x):
    row = x[1]
    row.copy_(row + 1)
    return row.as_strided((3, 2), (2, 1), 0) * 2, row.as_strided((2,), (1,))


def written_in_place(x):
    part = x.as_strided((2, 2), (1, 2), 2)
    part.scatter_(-1, torch.zeros_like(part, dtype=torch.int64), 2)
    return part.flatten(0, 1)


def same_place(x):
    shared = x.as_strided((2, 2), (1, 1), 3)
    shared[0] += 3
    return shared.t() * 1


def same_place_of_own(x):
    shared = torch.block_diag(x, x).as_strided((2, 2), (1, 1), 2)
    shared[0] += 3
    return shared


def place_of_a_value(x):
    part = x.as_strided((2, 2), (1, 2), 2)
    part.sub_(part)
    return torch.where(part == part, part, 0)


PROGRAMS = [
    written, scattered, scattered_repeats, added_to_row, read_around, read_around_rows, written_in_place, same_place, same_place_of_own, place_of_a_value,
]  # fmt: skip


def absolute_real(x):
    x.real.abs_()
    return x, x.imag[1:]


def conjugated(x):
    part = x.conj().real
    part[1:] = -1
    return part


def imaginary(x):
    part = x.imag
    part.copy_(part)
    part += -1
    return x


def places(values):
    values = values if isinstance(values, tuple) else (values,)
    return [(x.shape, x.stride(), x.storage_offset(), x.tolist()) for x in values]


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("function, dtype", [*((f, torch.float32) for f in PROGRAMS), *((f, torch.complex64) for f in (absolute_real, conjugated, imaginary))])
def test_storage_is_copied_as_in_eager(function, dtype, dynamic):
    mine, theirs = gaps(dtype), gaps(dtype)
    compiled = torch.compile(function, backend="frit", dynamic=dynamic, fullgraph=True)
    assert places(compiled(mine)) == places(function(theirs))
    assert torch.equal(mine._base, theirs._base)
