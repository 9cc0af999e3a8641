"""Operators that mutate their arguments in the middle of a graph never change values that have other readers."""

import checker
import pytest
import torch
from exported import Function, compiled
from test_kernels import compilations
from torch._dynamo.utils import counters

from benchmarks import measure


@torch.library.custom_op("frit_test::double_", mutates_args=("x",))
def double_(x: torch.Tensor) -> None:
    x.mul_(2)


@torch.library.custom_op("frit_test::swap_", mutates_args=("x", "y"))
def swap_(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    kept = x.clone()
    x.copy_(y)
    y.copy_(kept)
    return kept + y


@swap_.register_fake
def _(x, y):
    return torch.empty_like(x)


@torch.library.custom_op("frit_test::add_to_all_", mutates_args=("xs",))
def add_to_all_(xs: list[torch.Tensor]) -> None:
    for x in xs:
        x.add_(1)


def own_value(x):
    y = x * 3
    double_(y)
    return y + 1


def read_again(x):
    y = x * 3
    before = y.clone()
    double_(y)
    return y, before, before * y


def argument_behind_a_clone(x):
    y = x.clone()
    double_(y)
    return y


def argument(x):
    double_(x)
    return x + 1


def argument_read_before_and_after(x):
    before = x.sum(0)
    double_(x)
    return before, x.sum(0)


def twice(x):
    y = x + 1
    double_(y)
    double_(y)
    return y


def part(x):
    y = x + 1
    double_(y[1:])
    return y * 2


def two_at_once(x):
    a, b = x + 1, x - 1
    c = swap_(a, b)
    return a, b, c


def result_is_returned(x):
    y = x * 2
    double_(y)
    return y, y.view(-1)


def value_that_is_returned(x):
    y = x * 2
    z = y + 0
    double_(z)
    return y, z


FUNCTIONS = [
    own_value,
    read_again,
    argument_behind_a_clone,
    argument,
    argument_read_before_and_after,
    twice,
    part,
    two_at_once,
    result_is_returned,
    value_that_is_returned,
]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_custom_operators_that_mutate(function):
    checker.check(function, torch.randn(5, 3))


APART = {"halves": lambda y: [y[:2], y[2:]], "rows": lambda y: [y[0], y[2], y[1]], "tensors": lambda y: [y, y * 2]}
OVERLAPPING = {"one": lambda y: [y, y], "rows that meet": lambda y: [y[:3], y[2:]], "columns": lambda y: [y.t(), y[0]]}


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", [*APART, *OVERLAPPING])
def test_operators_that_mutate_several_views(name, dynamic):
    """Those that may overlap are written by a Python step."""

    def function(x):
        y = x + 1
        add_to_all_((APART | OVERLAPPING)[name](y))
        return y, y.exp()

    counters.clear()
    compiled = torch.compile(function, backend="frit", dynamic=dynamic)
    for rows in (4, 6) if dynamic else (4,):
        x = torch.randn(rows, 5)
        for one, other in zip(compiled(x), function(x), strict=True):
            torch.testing.assert_close(one, other)
    assert counters["frit"]["callbacks"] == (name in OVERLAPPING)


def test_overlapping_views_of_exported_programs():
    for name, views in (APART | OVERLAPPING).items():

        def function(x, views=views):
            y = x + 1
            add_to_all_(views(y))
            return y

        if name in APART:
            call, _ = compiled(Function(function), [torch.ones(4, 5)], decompose=True)
            assert torch.equal(call(torch.ones(4, 5))[0], function(torch.ones(4, 5)))
        else:
            with pytest.raises(Exception, match="two mutated arguments may share memory"):
                compiled(Function(function), [torch.ones(4, 5)], decompose=True)


@pytest.mark.parametrize("function, kernels", [(own_value, 2), (argument_behind_a_clone, 1), (argument, 1), (twice, 1)])
def test_copies_only_where_needed(function, kernels):
    with compilations() as reports:
        torch.compile(function, backend="frit", fullgraph=True)(torch.randn(5, 3))
    (report,) = reports["inference"]
    assert sum(step.startswith("kernel ") for step in report["order"]) == kernels
    assert "aten.clone.default" not in report["order"]


def kept_before(x, y):
    """Results that are an argument's old value, directly and through views; they need no computation."""
    whole, one, row, turned = x.clone(), x * 1, x[1].clone(), x.t().clone()
    x.add_(1)
    return whole, one.view(-1), row, turned, x.clone(), x * 1


def kept_before_two_writes(x, y):
    before = y.clone()
    x.add_(y @ x)
    y.mul_(2)
    return before, y + 0, x


def kept_before_an_operator_that_writes(x, y):
    before = x.clone()
    double_(x)
    return before, x + 1


@pytest.mark.parametrize("function", [kept_before, kept_before_two_writes, kept_before_an_operator_that_writes], ids=lambda f: f.__name__)
def test_results_of_values_that_are_overwritten(function):
    inputs = torch.randn(4, 4), torch.randn(4, 4)
    checker.check(function, *inputs)
    if function is not kept_before_an_operator_that_writes:  # torch.export functionalises such operators in Python
        checker.check(function, *inputs, compiled=compiled(Function(function), inputs)[0])


def test_a_view_of_a_mutated_argument_is_its_view():
    def function(x):
        x.add_(1)
        return x[1:], x.t()

    x = torch.randn(4, 3)
    rows, transposed = torch.compile(function, backend="frit", fullgraph=True)(x)
    assert rows._base is x and transposed._base is x
    rows.zero_()
    assert (x[1:] == 0).all() and (transposed[:, 1:] == 0).all()


def only_written(x, y):
    x.copy_(torch.softmax(y, -1))


def written_from_a_number(x, y):
    x.fill_(2)
    y.zero_()


@pytest.mark.parametrize("function", [only_written, written_from_a_number], ids=lambda f: f.__name__)
def test_an_argument_that_is_never_read(function):
    checker.check(function, torch.randn(5, 3), torch.randn(5, 3))


def cache_step(cache, at, new):
    cache[at] = new
    return cache.sum(1)


def cache_read_before(cache, at, new):
    before = cache.sum(1)
    old = cache.clone()
    cache.index_copy_(0, at, new)
    cache.index_add_(0, at, new)
    return before, cache.sum(1), old


def value_written_twice(x, at, new):
    y = x * 2
    z = y.index_put((at,), new)
    return z, y, y.scatter_add(0, at[:, None].expand(2, 4), new)


def written_with_itself(x, at, new):
    x.index_copy_(0, at, x[2:4].clone())
    return x + 1


@pytest.mark.parametrize("function", [cache_step, cache_read_before, value_written_twice, written_with_itself], ids=lambda f: f.__name__)
def test_writes_at_positions(function):
    inputs = torch.randn(16, 4), torch.tensor([3, 7]), torch.randn(2, 4)
    checker.check(function, *inputs)
    checker.check(function, *inputs, compiled=compiled(Function(function), inputs)[0])
    # For a transposed argument torch's fake kernel promises that index_copy's result is contiguous.
    checker.check(function, torch.randn(4, 16).t(), *inputs[1:], strides=function is not written_with_itself)


def test_a_cache_is_written_where_it_lies():
    """Writing a row must not copy the cache: there is neither a copying kernel nor memory for a copy."""
    inputs = torch.randn(1 << 16, 4), torch.tensor([3, 7]), torch.randn(2, 4)
    call, report = compiled(Function(cache_step), inputs)
    assert [step for step in report["order"] if "copy" in step or "clone" in step] == []
    assert report["order"][0] == "aten.index_put_.default"
    with compilations() as reports:
        torch.compile(cache_step, backend="frit", fullgraph=True)(*inputs)
    assert reports["inference"][0]["order"][0] == "aten.index_put_.default"
    peak = measure.peak_bytes(lambda: call(*inputs))
    assert peak < 3 * (inputs[0].nbytes // 4)  # the row sums
