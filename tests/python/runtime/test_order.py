"""topk and sort of f32 rows in the runtime's own kernel: eager's results, to the bit, also where elements are equal."""

import json

import checker
import pytest
import torch
from torch import inf, nan


def own(executables):
    return sum(json.loads(one.stats())["own_orders"] for one in executables)


def different(*sizes):
    """Numbers of which no two are equal."""
    torch.manual_seed(sum(sizes))
    return (torch.randperm(torch.Size(sizes).numel()).float() - 50).reshape(sizes) / 7


def special(*sizes):
    x = different(*sizes)
    x.view(-1)[::11], x.view(-1)[3::17] = inf, -inf
    return x


def equal(*sizes):
    torch.manual_seed(sum(sizes))
    return torch.tensor([0.0, -0.0, 1.0, nan, -inf, 2.5])[torch.randint(0, 6, sizes)]


X = different(6, 300)
#: A function, its argument, and the number of calls that the kernel computes.
CASES = {
    "topk": (lambda x: x.topk(50), X, 1),
    "all": (lambda x: x.topk(300), X, 1),
    "one short row": (lambda x: x.topk(3), different(64), 1),
    "least": (lambda x: x.topk(50, largest=False), X, 1),
    "places alone": (lambda x: x.topk(20, 1).indices, X, 1),
    "values alone": (lambda x: x.topk(20).values * 2, X, 1),
    "batches": (lambda x: x.topk(30), different(2, 3, 90), 1),
    "rows of columns": (lambda x: x.topk(30), different(4, 200)[:, 50:150], 1),
    "every second row": (lambda x: x.topk(30), different(8, 100)[::2], 1),
    "every second batch": (lambda x: x.topk(30), different(4, 5, 100)[::2], 0),
    "one batch of rows apart": (lambda x: x.topk(30), different(4, 5, 100)[1:2, ::2], 1),
    "repeated rows": (lambda x: x.topk(30), different(1, 100).expand(5, 100), 1),
    "a value of the graph": (lambda x: (x * 2 + 1).topk(30), X, 1),
    "sort": (torch.sort, X, 1),
    "descending": (lambda x: x.sort(-1, True), X, 1),
    "argsort": (lambda x: x.argsort(-1), X, 1),
    "stable": (lambda x: torch.sort(x, stable=True), equal(5, 200), 1),
    "stable, descending": (lambda x: torch.sort(x, dim=1, stable=True, descending=True), equal(5, 900), 1),
    "one NaN": (lambda x: x.topk(30), torch.where(X[0] == X[0, 7], nan, X[0]), 1),
    "one infinity": (lambda x: x.topk(30), torch.where(X == X[0, 7], inf, X), 1),
    "equal ones behind": (lambda x: torch.where(x > 100, x, -1.0).topk(20), X, 1),
    "equal ones": (lambda x: x.topk(60), equal(5, 200), 0),
    "equal ones at the end": (lambda x: torch.where(x > 100, x, -1.0).topk(200), X, 0),
    "sort of equal ones": (torch.sort, equal(5, 200), 0),
    "one row with equal ones": (lambda x: x.topk(60), torch.cat([X, equal(1, 300)]), 1),
    "infinities": (lambda x: x.topk(60), special(5, 200), 0),
    "not sorted": (lambda x: x.topk(60, sorted=False).values.sum(), X, 0),
    "few of many": (lambda x: x.topk(3), X, 0),
    "short rows": (torch.sort, different(9, 20), 0),
    "columns": (lambda x: x.topk(30, 0), different(100, 4), 0),
    "columns as rows": (lambda x: x.topk(30), different(100, 4).t(), 0),
    "halves": (lambda x: x.topk(30), X.half(), 0),
    "doubles": (torch.sort, X.double(), 0),
    "no rows": (lambda x: x.topk(30), torch.ones(0, 100), 0),
    "none of them": (lambda x: x.topk(0), X, 0),
}


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_equal_to_eager(name, dynamic, seen):
    function, x, calls = CASES[name]
    found = torch.compile(function, backend="frit", fullgraph=True, dynamic=dynamic)(x)
    wanted = function(x)
    for one, other in zip(*[(y,) if isinstance(y, torch.Tensor) else y for y in (found, wanted)], strict=True):
        if one.dtype == torch.int64 or name == "not sorted":
            torch.testing.assert_close(one, other)
        else:
            checker.compare_bits(one, other, name)
        assert one.stride() == other.stride()
    assert own(seen) == calls


def test_a_count_that_varies(seen):
    compiled = torch.compile(lambda x, k: x.topk(k), backend="frit", fullgraph=True, dynamic=True)
    for k in (20, 77, 150):
        for one, other in zip(compiled(X, k), X.topk(k), strict=True):
            assert torch.equal(one, other)
    assert own(seen) == 3


def test_rows_with_equal_elements_go_to_aten_for_some_calls(seen):
    compiled = torch.compile(lambda x: x.topk(100), backend="frit", fullgraph=True)
    for x, calls in [(X, 1), (X.round(), 1), *[(X, 1)] * 16, (X, 2)]:
        for one, other in zip(compiled(x), x.topk(100), strict=True):
            assert torch.equal(one, other)
        assert own(seen) == calls


def test_gradients():
    checker.check(lambda x: (x.topk(40).values * torch.arange(40)).sum(), X.clone().requires_grad_(), training=True)
    checker.check(lambda x: (x.sort().values * torch.arange(300)).sum(), X.clone().requires_grad_(), training=True)
