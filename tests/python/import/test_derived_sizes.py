"""Symbols that no argument has as a size: `2 * Dim("n")` with no argument of n elements, and the strides of slices of wider tensors."""

import pytest
import torch
from exported import Function, compile_file

import frit

AUTO = torch.export.Dim.AUTO


class Pairs(torch.nn.Module):
    def forward(self, x, y):
        first, second = x.chunk(2)
        return torch.softmax(first * second, -1) + y.sum(0), x[1::2] * 2


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    n = torch.export.Dim("n", min=2, max=500)
    inputs = torch.randn(14, 5), torch.randn(22, 5)
    return frit.load(compile_file(tmp_path_factory.mktemp("pairs"), Pairs(), inputs, dynamic_shapes=({0: 2 * n}, {0: 3 * n + 1})))


@pytest.mark.parametrize("n", [2, 3, 8, 17, 500])
def test_equal_to_eager(pairs, n):
    x, y = torch.randn(2 * n, 5), torch.randn(3 * n + 1, 5)
    torch.testing.assert_close(pairs(x, y), Pairs()(x, y))


@pytest.mark.parametrize(
    "rows, message",
    [
        ((7, 22), "'x'\\).*dimension 0 is 7, compiled for 2 \\* s[0-9]+ with s[0-9]+ between 2 and 500"),
        ((2, 4), "'x'\\).*dimension 0 is 2, compiled for 2 \\*"),
        ((1002, 1504), "'x'\\).*dimension 0 is 1002, compiled for 2 \\*"),
        ((14, 21), "'y'\\).*dimension 0 is 21, compiled for 22"),
    ],
)
def test_sizes_that_are_none(pairs, rows, message):
    with pytest.raises(RuntimeError, match=message):
        pairs(torch.randn(rows[0], 5), torch.randn(rows[1], 5))


def test_the_signature_says_what_is_derived(pairs):
    assert "2 * s" in str(pairs) and "?" in str(pairs)


class Twice(torch.nn.Module):
    def forward(self, x):
        return x.view(2, -1).sum(0) @ torch.eye(x.shape[0] // 2)


def test_a_size_that_torch_divides(tmp_path):
    n = torch.export.Dim("n", min=1, max=64)
    model = frit.load(compile_file(tmp_path, Twice(), [torch.randn(14)], dynamic_shapes=({0: 2 * n},)))
    for rows in (4, 38, 128):
        x = torch.randn(rows)
        torch.testing.assert_close(model(x), Twice()(x))


def placed(size, stride):
    """A tensor whose memory has gaps, or is read in another order."""
    return torch.arange(400.0).as_strided(size, stride)


def written(x):
    return x.mul_(2) + 1


def branched(x):
    return torch.cond(x.sum() > 9, lambda x: x * 2, lambda x: x - 1, (x,))


# name -> (function, the size and the stride of the example, the dimensions of one size, others)
STRIDES = {
    "rows": (lambda x: x + 1, ((4, 3), (6, 1)), (1,), [((9, 3), (7, 1)), ((4, 3), (3, 1))]),
    "all": (lambda x: x + 1, ((4, 3), (6, 1)), (), [((5, 6), (9, 1)), ((2, 3), (50, 1))]),
    "elements": (lambda x: x.flip(0), ((12,), (2,)), (), [((9,), (3,)), ((5,), (1,))]),
    "columns": (lambda x: x.sum(1), ((4, 3), (6, 2)), (), [((4, 5), (15, 3))]),
    "as a number": (lambda x: x * x.stride(0), ((4, 3), (6, 1)), (), [((5, 4), (7, 1))]),
    "written": (written, ((4, 3), (6, 1)), (), [((5, 4), (7, 1))]),
    "branches": (branched, ((4, 3), (6, 1)), (), [((5, 4), (7, 1))]),
}


@pytest.mark.parametrize("function, example, fixed, others", STRIDES.values(), ids=STRIDES)
def test_strides(tmp_path, function, example, fixed, others):
    dims = {dim: AUTO for dim in range(len(example[0])) if dim not in fixed}
    model = frit.load(compile_file(tmp_path, Function(function), [placed(*example)], dynamic_shapes=((dims,),)))
    for place in (example, *others):
        mine, theirs = placed(*place), placed(*place)
        result, expected = model(mine), function(theirs)
        assert torch.equal(result, expected) and result.stride() == expected.stride() and torch.equal(mine, theirs)


def test_strides_of_another_order_are_not_copied_to_overlapping_ones(tmp_path):
    model = frit.load(compile_file(tmp_path, Function(lambda x: x + 1), [placed((4, 3), (6, 1))], dynamic_shapes=(({0: AUTO, 1: AUTO},),)))
    with pytest.raises(RuntimeError, match="its stride along dimension 1 is 4, compiled for 1"):
        model(placed((4, 3), (1, 4)))
