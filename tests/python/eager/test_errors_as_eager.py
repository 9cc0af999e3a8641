"""Run-time errors of eager are raised with the same type and message: in kernels without elements, which would check nothing, in formulas without the
check, and at dynamic sizes that torch did not check while tracing."""

import checker
import pytest
import torch
import torch.nn.functional as F


def ramp(*sizes):
    return torch.arange(float(torch.Size(sizes).numel())).reshape(sizes)


def numbers(*values):
    return torch.tensor(values)


REFUSED = {
    "index of an empty dim": (lambda x, i: x[i], ramp(0, 5), numbers(0, 2)),
    "index of an empty dim, nothing read": (lambda x, i: x[i], ramp(0, 0), numbers(1)),
    "index of an inner empty dim": (lambda x, i: x[i, i] + 1, ramp(4, 0), numbers(1, 2)),
    "index_select of rows without elements": (lambda x, i: x.index_select(0, i), ramp(3, 0), numbers(7)),
    "index_select of an empty dim": (lambda x, i: x.index_select(0, i), ramp(0, 5), numbers(0)),
    "embedding in an empty table": (lambda x, i: F.embedding(i, x), ramp(0, 5), numbers(0)),
    "embedding in rows without elements": (lambda x, i: F.embedding(i, x), ramp(3, 0), numbers(5)),
    "take": (lambda x, i: x.take(i), ramp(4, 3), numbers(1, 25)),
    "index_fill": (lambda x, i: x.index_fill(0, i, 2.0), ramp(3, 2), numbers(7)),
    "scatter into an empty dim": (lambda x, i: x.scatter(0, i, 1.0), ramp(0, 2), numbers([0, 0])),
    "probability": (lambda x, y: F.binary_cross_entropy(x, y), ramp(3), ramp(3) / 3),
    "source of a slice": (lambda x, y: torch.slice_scatter(x, y, 0, 0, 2), ramp(3), ramp(4)),
    "source beside a slice": (lambda x, y: torch.slice_scatter(x, y, 0, 0, 2), ramp(3, 2), ramp(2, 3)),
    "source of a row": (lambda x, y: torch.select_scatter(x, y, 0, 1), ramp(3, 2), ramp(4)),
}


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", REFUSED)
def test_what_eager_refuses(name, dynamic):
    function, *inputs = REFUSED[name]
    checker.check_raises_as_eager(function, *inputs, dynamic=dynamic)


def test_an_index_that_nothing_is_read_by_is_not_looked_at():
    for x, i in ((ramp(3, 0), numbers(7)), (ramp(0, 3), numbers(0)[:0])):
        torch.compiler.reset()
        checker.check(lambda x, i: x[i], x, i)


@pytest.mark.parametrize(
    "function, good, bad",
    [
        (lambda x: F.pad(x, (-3, 1)), ramp(2, 10), ramp(2, 2)),
        (lambda x: F.pad(x, (-3, 5)), ramp(2, 10), ramp(2, 2)),
        (lambda x: F.pad(x, (5, -3)) + 1, ramp(2, 10), ramp(2, 2)),
    ],
)
def test_cuts_of_more_than_there_is(function, good, bad):
    compiled = checker.check(function, good, dynamic=True, compare="exact")
    checker.check_raises_as_eager(function, bad, compiled=compiled)
