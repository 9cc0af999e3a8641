"""Operators whose fake kernels promise another result than their kernels return: frit never computes with the promise.

Where nothing was written before, the call runs as it was traced; else it is an error. It is never a kernel that reads a shape which is not there.
"""

import pytest
import torch
from torch._dynamo.utils import counters

NOT_STRICT = {"strict": False}


@pytest.fixture
def operators():
    """`positives`, whose fake kernel says other strides than it returns, and `halves`, which returns fewer elements than it says."""
    with torch.library._scoped_library("frit_disagree", "DEF") as library:
        library.define("positives(Tensor x) -> Tensor")
        library.define("halves(Tensor x) -> Tensor")
        library.define("count_(Tensor(a!) y) -> ()")

        def positives(x):
            return torch.stack((x[x > 0], x[x > 0]))

        def fake_positives(x):
            size = torch.library.get_ctx().new_dynamic_size()
            return x.new_empty_strided((2, size), (1, 2))

        library.impl("positives", positives, "CPU")
        library.impl("halves", lambda x: x[::2].clone(), "CPU")
        library.impl("count_", lambda y: y.add_(1) and None, "CPU")
        torch.library.register_fake("frit_disagree::count_", lambda y: None, lib=library)
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


def test_it_is_an_error_where_an_argument_was_written(operators):
    def function(x, y):
        torch.ops.frit_disagree.count_(y)
        return operators.positives(x + y.sum()) * 2

    y = torch.zeros(1)
    with pytest.raises(RuntimeError, match=r"frit_disagree::positives returned float32 of sizes \(2, 3\) in other strides"):
        run(function, X, y)


def test_what_only_operators_read_is_not_checked(operators):
    counters["frit"].clear()
    assert torch.equal(run(lambda x: operators.positives(x), X), operators.positives(X))
    assert counters["frit"]["calls_as_traced"] == 0


def test_a_size_beyond_the_bound_that_was_promised():
    """The fake kernel of masked_select promises at most the elements of its input; a mask that has more of them broadcasts it. (With static sizes
    torch itself asserts the bound in the graph.)"""

    def function(x, mask):
        return torch.masked_select(x, mask) * 2

    x, mask = torch.randn(10, requires_grad=True), torch.ones(10, 10, dtype=torch.bool)
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        y = torch.compile(function, backend="frit", dynamic=True, fullgraph=True, options={"strict": True})(x, mask)
    y.sum().backward()
    assert torch.equal(y, function(x, mask)) and torch.equal(x.grad, torch.full((10,), 20.0))
