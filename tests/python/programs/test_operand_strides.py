"""An operator that is called gets its operands with the strides they have in eager: kernels of libraries demand some, as attention does of masks."""

import pytest
import torch
import torch.nn.functional as F


@torch.library.custom_op("frit_tests::strides_of", mutates_args=())
def strides_of(x: torch.Tensor) -> torch.Tensor:
    return torch.tensor(x.stride())


@strides_of.register_fake
def _(x):
    return torch.empty(x.dim(), dtype=torch.int64)


def padded(x, multiple=8):
    """The values of x, with rows that begin at multiples of 8 elements."""
    last = x.shape[-1]
    return F.pad(x, (0, multiple - last % multiple))[..., :last]


PROGRAMS = {
    "padded rows": lambda x: padded(x * 2),
    "padded rows of an argument": padded,
    "repeated": lambda x: (x + 1)[:, None].expand(-1, 3, -1, -1),
    "padded and repeated": lambda x: padded(x.exp())[:, None].expand(-1, 3, -1, -1),
    "padded, repeated, of few types": lambda x: padded((x > 0).to(torch.int16))[None].expand(4, -1, -1, -1),
    "columns": lambda x: padded(x.sin()).mT,
    "one padded column": lambda x: padded(x[..., :1] * 2),
    "one column of padded rows": lambda x: padded(x * 2)[..., 1:2],
    "a mask for one query": lambda x: padded(x[:1, :1] * 2)[:, None].expand(-1, 1, -1, -1),
    "padded in two dims": lambda x: F.pad(x.cos(), (0, 1, 0, 2))[:, : x.shape[1], : x.shape[2]],
    "part of a product": lambda x: (x @ x.mT)[:, :, :3],
    "a slice of something large": lambda x: F.pad(x.tanh(), (0, 1000))[..., : x.shape[-1]],
    "one image": lambda x: (x + 1)[:1].unsqueeze(0),
    "one row": lambda x: (x + 1)[:, :1].unsqueeze(2),
    "one row of columns": lambda x: (x @ x.mT).mT[:, 2:3, None],
    "one sum": lambda x: x.sum(1, keepdim=True)[:1],
    "one repeated": lambda x: (x + 1)[0].expand(1, -1, -1)[None],
    "one element": lambda x: (x + 1)[1:, 2:3, 3:4].permute(2, 0, 1),
    "a scalar": lambda x: x.sum().expand(2, 3),
}


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_strides(name, dynamic):
    def function(x):
        y = PROGRAMS[name](x)
        return strides_of(y), y + 0

    compiled = torch.compile(function, backend="frit", dynamic=dynamic, fullgraph=True)
    for rows, columns in (5, 5), (4, 7), (9, 8):
        x = torch.randn(2, rows, columns)
        (strides, value), (expected, expected_value) = compiled(x), function(x)
        torch.testing.assert_close(value, expected_value)
        if name != "a slice of something large":
            assert strides.tolist() == expected.tolist()


@torch.library.custom_op("frit_tests::written_strides_of", mutates_args=("x",))
def written_strides_of(x: torch.Tensor) -> torch.Tensor:
    x.add_(1)
    return torch.tensor(x.stride())


@written_strides_of.register_fake
def _(x):
    return torch.empty(x.dim(), dtype=torch.int64)


WRITTEN = {name: program for name, program in PROGRAMS.items() if name not in ("a scalar", "a slice of something large") and "repeated" not in name} | {
    "a slice of a value": lambda x: (x * 2)[..., :3],
    "rows of a value": lambda x: (x * 2)[:, 1:3],
    "a slice of an argument": lambda x: x[..., 1:4],
    "rows of an argument": lambda x: x[:, 1:3],
    "columns of an argument": lambda x: x.mT[:, 1:],
}


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", WRITTEN)
def test_strides_of_what_is_written(name, dynamic):
    """An operator that writes to a part of a tensor gets it with eager's strides too, and what it writes arrives."""

    def function(x):
        y = WRITTEN[name](x)
        return written_strides_of(y), y, x * 2

    compiled = torch.compile(function, backend="frit", dynamic=dynamic, fullgraph=True)
    for rows, columns in (5, 5), (4, 7), (9, 8):
        x = torch.randn(2, rows, columns)
        theirs = x.clone()
        results, expected = compiled(x), function(theirs)
        assert results[0].tolist() == expected[0].tolist()
        torch.testing.assert_close((*results[1:], x), (*expected[1:], theirs))
        assert results[1].stride() == expected[1].stride()


@pytest.mark.parametrize("part", [(..., slice(1, None)), (..., slice(1, 2)), (slice(1, None),), (slice(None), slice(0, 1))], ids=str)
def test_parts_of_an_argument_that_begins_inside_of_its_storage(part, lenient):
    """torch counts such a part from the beginning of the storage and slices the argument with that: "aot_eager" writes elsewhere. Parts that torch
    describes by their offset run as traced."""

    def function(x):
        return written_strides_of(x[part]), x[part], x.sum()

    compiled = torch.compile(function, backend="frit", fullgraph=True)
    for _ in range(2):
        x, theirs = (torch.arange(60.0).view(5, 12)[1:, 2:9] for _ in range(2))
        results, expected = compiled(x), function(theirs)
        torch.testing.assert_close((*results, x), (*expected, theirs), rtol=0, atol=0)
        assert results[1].stride() == expected[1].stride() and results[1].storage_offset() == expected[1].storage_offset()
