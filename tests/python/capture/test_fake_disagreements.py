"""Operators whose fake kernels promise another result than their kernels return: frit never computes with the promise.

The call starts again and runs uncompiled, with its original arguments and random numbers. After a call in which all promises were kept, it is an error
if an argument was written before. A kernel never reads a result with the wrong shape.
"""

import pytest
import torch
from torch._dynamo.utils import counters

NOT_STRICT = {"strict": False}


@pytest.fixture
def operators():
    """Defines `positives`, whose fake kernel promises other strides, and `halves`, whose fake kernel promises more elements."""
    with torch.library._scoped_library("frit_disagree", "DEF") as library:
        library.define("positives(Tensor x) -> Tensor")
        library.define("halves(Tensor x) -> Tensor")
        library.define("count_(Tensor(a!) y) -> ()")
        library.define("sometimes(Tensor x) -> Tensor")
        library.define("wide(Tensor x) -> Tensor")

        def positives(x):
            return torch.stack((x[x > 0], x[x > 0]))

        def fake_positives(x):
            size = torch.library.get_ctx().new_dynamic_size()
            return x.new_empty_strided((2, size), (1, 2))

        library.impl("positives", positives, "CPU")
        library.impl("halves", lambda x: x[::2].clone(), "CPU")
        library.impl("wide", lambda x: x.double(), "CPU")
        torch.library.register_fake("frit_disagree::wide", lambda x: torch.empty_like(x), lib=library)
        library.impl("sometimes", lambda x: x.clone() if x[0] > 0 else x[::2].clone(), "CPU")
        library.impl("count_", lambda y: (y.add_(1), None)[1], "CPU")
        torch.library.register_fake("frit_disagree::count_", lambda y: None, lib=library)
        torch.library.register_fake("frit_disagree::sometimes", lambda x: torch.empty_like(x), lib=library)
        torch.library.register_fake("frit_disagree::positives", fake_positives, lib=library)
        torch.library.register_fake("frit_disagree::halves", lambda x: torch.empty_like(x), lib=library)
        yield torch.ops.frit_disagree


def run(function, *arguments, **options):
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        return torch.compile(function, backend="frit", fullgraph=True, options={**NOT_STRICT, **options})(*arguments)


X = torch.tensor([1.0, -2.0, 3.0, 4.0, -5.0])


@pytest.mark.parametrize("dim", [-1, 0])
def test_a_rank_that_only_the_call_knows(dim):
    def function(x):
        values, counts = torch.unique_consecutive(x, return_counts=True, dim=dim)
        return ~values, counts

    x = torch.tensor([True, True, True, False, True])
    counters["frit"].clear()
    values, counts = run(function, x)
    assert values.tolist() == [False, True, False] and counts.tolist() == [3, 1, 1]
    # torch 2.13 promises a shape of the wrong rank for the negative dim.
    assert counters["frit"]["calls_as_traced"] == (dim < 0)


def test_strides_that_only_the_call_knows(operators):
    def function(x):
        return operators.positives(x) * 2

    counters["frit"].clear()
    assert torch.equal(run(function, X), function(X))
    assert counters["frit"]["calls_as_traced"] == 1


def test_types(operators):
    """A wider result is not converted to the promised type."""

    def function(x):
        return operators.wide(x).sin()

    counters["frit"].clear()
    result = run(function, X)
    assert result.dtype == torch.float64 and torch.equal(result, function(X))
    assert counters["frit"]["calls_as_traced"] == 1


def test_sizes(operators):
    def function(x):
        return operators.halves(x) + 1, x * 2

    counters["frit"].clear()
    for actual, expected in zip(run(function, X), function(X)):
        assert torch.equal(actual, expected)
    assert counters["frit"]["calls_as_traced"] == 1


def test_arguments_are_written_once(operators):
    def function(x, y):
        y.add_(1)
        return operators.positives(x) * 2

    y = torch.zeros(3)
    result = run(function, X, y)
    assert torch.equal(result, operators.positives(X) * 2)
    assert y.tolist() == [1, 1, 1]


def test_it_is_no_error_under_strict(operators):
    assert torch.equal(run(lambda x: operators.positives(x) * 2, X, strict=True), operators.positives(X) * 2)


WRITES = {
    "by an operator": lambda y, w: torch.ops.frit_disagree.count_(y),
    "by a kernel": lambda y, w: y.add_(1),
    "by a copy": lambda y, w: y.copy_(w @ w),
    "in a view": lambda y, w: y[0].mul_(3).add_(1),
}


@pytest.mark.parametrize("write", WRITES)
def test_arguments_written_before_are_what_they_were(operators, write):
    def function(x, y, w):
        WRITES[write](y, w)
        z = operators.positives(x + y.sum()) * 2
        y.mul_(3)
        return z, y[1:]

    compiled = torch.compile(function, backend="frit", fullgraph=True, options=NOT_STRICT)
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        for _ in range(2):
            mine, theirs, w = torch.zeros(2, 2), torch.zeros(2, 2), torch.ones(2, 2)
            found, expected = compiled(X, mine, w), function(X, theirs, w)
            assert torch.equal(mine, theirs) and torch.equal(found[0], expected[0]) and torch.equal(found[1], expected[1])
            assert found[1].untyped_storage().data_ptr() == mine.untyped_storage().data_ptr()
    assert counters["frit"]["calls_as_traced"] == 2


def test_random_numbers_are_drawn_once(operators):
    def function(x):
        return torch.rand(3), operators.positives(x) * 2, torch.rand(2)

    torch.manual_seed(1)
    found = *run(function, X), torch.rand(2)
    torch.manual_seed(1)
    for one, other in zip(found, (*function(X), torch.rand(2)), strict=True):
        assert torch.equal(one, other)


def test_arguments_that_were_read_for_the_last_time_are_kept(operators):
    def function(x):
        y = (x * 2) @ x
        return operators.halves(y.sin() @ y) + 1

    x = torch.rand(4, 4)
    assert torch.allclose(run(function, x), function(x))


def test_it_is_an_error_where_an_operator_has_kept_its_promise_before(operators):
    def function(x, y):
        torch.ops.frit_disagree.count_(y)
        return operators.sometimes(x + y.sum() * 0) * 2

    compiled = torch.compile(function, backend="frit", fullgraph=True, options=NOT_STRICT)
    y = torch.zeros(1)
    compiled(torch.ones(4), y)
    with pytest.raises(RuntimeError, match="frit_disagree::sometimes returned size 2 along dimension 0"):
        compiled(-torch.ones(4), y)


def test_a_branch_that_is_first_taken_later(operators):
    def function(x, y):
        y = torch.ops.frit_disagree.count_(y) or y + 1
        return torch.cond(x.sum() > 0, lambda x, y: x.sin() + y, lambda x, y: operators.halves(x) * y, (x, y))

    compiled = torch.compile(function, backend="frit", fullgraph=True, options=NOT_STRICT)
    counters["frit"].clear()
    for x, as_traced in ((torch.ones(4), 0), (torch.ones(4), 0), (-torch.ones(4), 1), (torch.ones(4), 1)):
        mine, theirs = torch.zeros(1), torch.zeros(1)
        assert torch.equal(compiled(x, mine), function(x, theirs)) and torch.equal(mine, theirs)
        assert counters["frit"]["calls_as_traced"] == as_traced


def test_what_only_operators_read_is_not_checked(operators):
    counters["frit"].clear()
    assert torch.equal(run(lambda x: operators.positives(x), X), operators.positives(X))
    assert counters["frit"]["calls_as_traced"] == 0


def test_a_size_beyond_the_bound_that_was_promised():
    """The fake kernel of masked_select promises at most the number of elements of its input, but a larger mask broadcasts the input. (With static
    sizes torch itself asserts the bound in the graph.)"""

    def function(x, mask):
        return torch.masked_select(x, mask) * 2

    x, mask = torch.randn(10, requires_grad=True), torch.ones(10, 10, dtype=torch.bool)
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        y = torch.compile(function, backend="frit", dynamic=True, fullgraph=True, options={"strict": True})(x, mask)
    y.sum().backward()
    assert torch.equal(y, function(x, mask)) and torch.equal(x.grad, torch.full((10,), 20.0))
