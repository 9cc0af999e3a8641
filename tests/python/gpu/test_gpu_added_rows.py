"""Rows added at positions of data, by GPU kernels under emulation: sorted by torch, summed up by segments, the same bits in every call."""

import pytest
import torch
from torch._dynamo.utils import counters
from torch.nn import functional as F

SIMT = {"target": "simt", "deterministic": True}
#: Around a chunk (512), around two, from which on chunks are summed up before, and more.
COUNTS = (1, 2, 7, 511, 513, 1023, 1024, 1025, 2048, 3000)


def positions(how, count, rows):
    """Where `count` rows are added, out of `rows`."""
    generator = torch.Generator().manual_seed(count)
    match how:
        case "random":
            return torch.randint(0, rows, (count,), generator=generator)
        case "one":
            return torch.full((count,), rows - 1)
        case "two":
            return torch.arange(count) % 2 * (rows - 1)
        case "runs":
            return (torch.arange(count) // 300) % rows
    return torch.randperm(max(count, rows), generator=generator)[:count] % rows


def data(*shape, dtype=torch.float32):
    generator = torch.Generator().manual_seed(len(shape) + shape[0])
    if dtype.is_floating_point:
        return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype)
    return torch.randint(-100, 100, shape, generator=generator).to(dtype)


def compiled(function, dynamic=False):
    torch.compiler.reset()
    counters.clear()
    return torch.compile(function, backend="frit", fullgraph=True, dynamic=dynamic, options=SIMT)


def was_sorted():
    assert counters["frit"]["aten:aten.sort.stable"] and not counters["frit"]["aten:aten.index_add_.default"], counters["frit"]
    return True


def agrees(actual, self, index, values):
    """Compares with sums in f64: each is rounded once for each row that is added."""
    exact = self.double().index_add(0, index, values.double())
    if not self.dtype.is_floating_point:
        return actual.equal(self.index_add(0, index, values))
    most = torch.bincount(index, minlength=self.shape[0]).max().item() if len(index) else 0
    size = self.double().abs().index_add(0, index, values.double().abs())
    # Halves are summed up in f32 and rounded at the end.
    unit = torch.finfo(torch.float32 if actual.dtype.itemsize == 2 else actual.dtype).eps
    limit = size * (most + 4) * unit + exact.abs() * torch.finfo(actual.dtype).eps
    return actual.dtype == self.dtype and ((actual.double() - exact).abs() <= limit).all()


@pytest.mark.parametrize("how", ["random", "one", "two", "runs", "distinct"])
@pytest.mark.parametrize("dynamic", [False, True])
def test_any_number_of_rows(how, dynamic):
    function = compiled(lambda x, i, y: x.index_add(0, i, y), dynamic)
    for count in COUNTS if dynamic else (7, 1025, 3000):
        self, index, values = data(40, 36), positions(how, count, 40), data(count, 36)
        actual = function(self, index, values)
        assert agrees(actual, self, index, values), count
        assert actual.equal(function(self, index, values)) and was_sorted()


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16, torch.int32, torch.int64, torch.uint8], ids=str)
def test_every_dtype(dtype):
    self, index, values = data(9, 40, dtype=dtype), positions("random", 1500, 9), data(1500, 40, dtype=dtype)
    assert agrees(compiled(lambda x, i, y: x.index_add(0, i, y))(self, index, values), self, index, values) and was_sorted()


def test_shapes_and_strides():
    count = 1100
    for shape in [(3, 5), (4, 1), (5, 3, 7), (2, 0), (6, 33)]:
        function = compiled(lambda x, i, y: x.index_add(0, i, y), dynamic=True)
        index = positions("random", count, shape[0])
        for turn in (lambda t: t, lambda t: t.transpose(0, -1).contiguous().transpose(0, -1), lambda t: torch.cat([t, t], -1)[..., : t.shape[-1]]):
            self, values = turn(data(*shape)), turn(data(count, *shape[1:]))
            assert agrees(function(self, index, values), self, index, values), shape


def test_rows_that_get_nothing_keep_their_bits():
    self = torch.tensor([[-0.0] * 32, [0.0] * 32, [float("nan")] * 32, [float("-inf")] * 32])
    actual = compiled(lambda x, i, y: x.index_add(0, i, y))(self, torch.tensor([1, 1]), torch.full((2, 32), -0.0))
    assert actual.view(torch.int32).equal(self.view(torch.int32)) and was_sorted()


def test_work_before_and_after_shares_the_kernel():
    def function(x, i, y, w):
        return torch.relu(x.index_add(0, i, (y * w).to(x.dtype), alpha=2)) + 1

    self, index, values, weight = data(20, 32), positions("random", 1300, 20), data(1300, 32, dtype=torch.bfloat16), data(32)
    actual = compiled(function)(self, index, values, weight)
    torch.testing.assert_close(actual, function(self.double(), index, values.double(), weight.double()).float(), rtol=1e-4, atol=1e-4)
    assert was_sorted()


def test_index_put_that_accumulates():
    self, index, values = data(30, 4, 8), positions("random", 1200, 30).view(3, 400) - 30, data(400, 4, 8)
    actual = compiled(lambda x, i, y: x.index_put((i,), y, accumulate=True))(self, index, values)
    assert agrees(actual, self, index.view(-1) + 30, values.expand(3, -1, -1, -1).reshape(1200, 4, 8)) and was_sorted()


@pytest.mark.parametrize("name", ["scatter_add", "scatter_reduce"])
@pytest.mark.parametrize("dynamic", [False, True])
def test_scatters_of_whole_rows(name, dynamic):
    def function(x, i, y):
        index = i[:, None].expand_as(y)
        return x.scatter_add(0, index, y) if name == "scatter_add" else x.scatter_reduce(0, index, y, "sum")

    call = compiled(function, dynamic)
    for count in (1100, 3000) if dynamic else (1100,):
        self, index, values = data(30, 33), positions("random", count, 30), data(count, 33)
        assert agrees(call(self, index, values), self, index, values) and was_sorted()


@pytest.mark.parametrize(
    "function",
    [
        lambda x, i, y: x.scatter_add(0, i[:, None] + torch.arange(32) % 2, y),  # another row for each column
        lambda x, i, y: x.scatter_add(1, (i[:32] % 32)[:, None].expand(-1, 32), y[:32]),  # along another dim
        lambda x, i, y: x.scatter_reduce(0, i[:, None].expand_as(y), y, "sum", include_self=False),
        lambda x, i, y: x.scatter_reduce(0, i[:, None].expand_as(y), y, "amax"),
        lambda x, i, y: x.scatter_add(0, i[:, None].expand(-1, 16), y),  # a part of each row
    ],
)
def test_other_scatters_stay_torchs(function):
    self, index, values = data(32, 32), positions("random", 1100, 30), data(1100, 32)
    torch.testing.assert_close(compiled(function)(self, index, values), function(self, index, values), rtol=1e-4, atol=1e-4)
    assert not counters["frit"]["aten:aten.sort.stable"]


def test_results_do_not_take_the_memory_of_the_rows():
    """As many rows are added as there are, and nothing else reads them afterwards."""
    self, index, values = data(1100, 40), positions("random", 1100, 1100), data(1100, 40)

    def function(x, i, y):
        return x.cumsum(0).index_add(0, i, y.softmax(-1)).softmax(-1)

    exact = function(self.double(), index, values.double())
    assert (compiled(function)(self, index, values) - exact).abs().max() < 1e-4 and was_sorted()


def test_in_place_and_through_a_view():
    self, index, values = data(50, 32), positions("random", 1100, 20), data(1100, 32)
    expected, mine = self.clone(), self.clone()

    def function(x, i, y):
        x[10:30].index_add_(0, i, y)
        return x.sum()

    function(expected, index, values)
    compiled(function)(mine, index, values)
    torch.testing.assert_close(mine, expected, rtol=1e-5, atol=1e-4)
    assert mine[:10].equal(expected[:10]) and mine[30:].equal(expected[30:]) and was_sorted()


@pytest.mark.parametrize("padding", [None, 3, -1])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_gradient_of_an_embedding(padding, dtype):
    table, index, weight = data(30, 32, dtype=dtype).requires_grad_(), positions("random", 1100, 30).view(11, 100), data(11, 100, 32, dtype=dtype)

    def function(t, i):
        return F.embedding(i, t, padding_idx=padding)

    (actual,) = torch.autograd.grad(compiled(function)(table, index), table, weight)
    kept = torch.ones(1100, dtype=torch.bool) if padding is None else index.view(-1) != padding % 30
    assert agrees(actual, torch.zeros_like(table), index.view(-1)[kept], weight.view(1100, 32)[kept]) and was_sorted()


def test_few_rows_are_left_to_torch():
    torch.compiler.reset()
    counters.clear()
    function = torch.compile(lambda x, i, y: x.index_add(0, i, y), backend="frit", fullgraph=True, options={"target": "simt"})
    self, index, values = data(40, 36), positions("random", 700, 40), data(700, 36)
    assert agrees(function(self, index, values), self, index, values)
    assert not counters["frit"]["aten:aten.sort.stable"]


@pytest.mark.parametrize("name", ["index_add", "index_put"])
@pytest.mark.parametrize("wrong", [30, -31])
def test_an_index_out_of_range_is_eagers_error(name, wrong):
    def function(x, i, y):
        return x.index_add(0, i, y) if name == "index_add" else x.index_put((i,), y, accumulate=True)

    self, index, values = data(30, 32), positions("random", 1100, 30), data(1100, 32)
    index[700] = wrong
    with pytest.raises((RuntimeError, IndexError)) as eager:
        function(self, index, values)
    with pytest.raises(eager.type, match=f"^{eager.value}"):
        compiled(function)(self, index, values)
