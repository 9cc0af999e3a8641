"""Programs on a real GPU, compared with eager (scripts/gpu-check)."""
import pytest
import torch

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")]


def _check(function, *arguments, **tolerance):
    torch.compiler.reset()
    compiled = torch.compile(function, backend="frit", fullgraph=True)
    expected = function(*arguments)
    torch.testing.assert_close(compiled(*arguments), expected, **tolerance)
    torch.testing.assert_close(compiled(*arguments), expected, **tolerance)


@pytest.mark.parametrize("size", [0, 1, 3, 4, 1023, 1024, 1025, 1 << 20])
def test_pointwise_at_the_edges(size):
    x, y = torch.randn(size, device="cuda"), torch.randn(size, device="cuda")
    _check(lambda a, b: a * b + a, x, y)


def test_an_unaligned_view():
    x = torch.randn(4097, device="cuda")[1:]
    _check(lambda a: a * 2 + 1, x)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("shape", [(3, 8), (5, 100), (17, 1024), (4, 4096), (2, 20000)])
def test_softmax(shape, dtype):
    x = torch.randn(shape, device="cuda", dtype=dtype)
    _check(lambda a: torch.softmax(a, -1), x, rtol=2e-2 if dtype != torch.float32 else 1e-5, atol=1e-2 if dtype != torch.float32 else 1e-6)


FAR = (1 << 31) + 4097


@pytest.fixture
def many():
    """A tensor with more than 2^31 elements, with values on both sides of that index."""
    if torch.cuda.mem_get_info()[0] < 16 << 30:
        pytest.skip("needs 16 GiB of GPU memory")
    x = torch.zeros(FAR, dtype=torch.int8, device="cuda")
    x[0], x[(1 << 31) - 1], x[1 << 31], x[-1] = 1, 2, 3, 4
    yield x
    torch.cuda.empty_cache()


def test_more_elements_than_32_bits_count(many):
    torch.compiler.reset()
    assert torch.equal(torch.compile(lambda a: a * 2 + 1, backend="frit")(many), many * 2 + 1)


def test_reductions_of_more_elements_than_32_bits_count(many):
    torch.compiler.reset()
    x = many[: (1 << 31) + 4096].view(-1, 4096)
    x[-1, -1] = 4
    total, rows, columns = torch.compile(lambda a: (a.sum(), a.sum(1), a.sum(0)), backend="frit")(x)
    assert total.item() == 10 and rows.sum().item() == 10 and columns.sum().item() == 10
    assert rows[-1].item() == 7 and rows[(1 << 19) - 1].item() == 2 and columns[-1].item() == 6


def test_rows_by_index_beyond_32_bits(many):
    torch.compiler.reset()
    x = many[: (1 << 31) + 4096].view(-1, 4096)
    index = torch.tensor([0, (1 << 19) - 1, 1 << 19], device="cuda")
    found = torch.compile(lambda t, i: torch.nn.functional.embedding(i, t) * 1, backend="frit")(x, index)
    assert found[0, 0].item() == 1 and found[1, -1].item() == 2 and found[2, 0].item() == 3


def test_layer_norm_with_residual():
    x, r = torch.randn(64, 4096, device="cuda"), torch.randn(64, 4096, device="cuda")
    w, b = torch.randn(4096, device="cuda"), torch.randn(4096, device="cuda")
    _check(lambda *a: torch.nn.functional.layer_norm(a[0] + a[1], [4096], a[2], a[3]), x, r, w, b, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("shape", [(5, 33), (1000, 96), (4096, 768)])
def test_column_sum(shape):
    _check(lambda a: a.sum(0), torch.randn(shape, device="cuda"), rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("size", [1, 1000, 1 << 22])
def test_full_reductions_repeat_to_the_bit(size):
    x = torch.randn(size, device="cuda")
    compiled = torch.compile(lambda a: (a.sum(), a.amax(), a.argmax()), backend="frit")
    first, second = compiled(x), compiled(x)
    assert all(torch.equal(a, b) for a, b in zip(first, second))
    torch.testing.assert_close(first, (x.sum(), x.amax(), x.argmax()), rtol=1e-3, atol=1e-1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64], ids=str)
@pytest.mark.parametrize("rows, added, columns", [(10, 3000, 40), (3000, 3000, 33), (40000, 5000, 64), (1000, 300000, 64)])
@pytest.mark.parametrize("how", ["random", "one"])
def test_rows_are_added_with_the_same_bits_in_every_call(how, rows, added, columns, dtype):
    self, values = (torch.randn(n, columns, device="cuda").mul(8).to(dtype) for n in (rows, added))
    index = torch.randint(0, rows if how == "random" else 1, (added,), device="cuda")
    torch.compiler.reset()
    function = torch.compile(lambda x, i, y: x.index_add(0, i, y), backend="frit", fullgraph=True, options={"deterministic": True})
    actual = function(self, index, values)
    assert all(actual.equal(function(self, index, values)) for _ in range(3))
    # Each of n additions in f32 (f64 for the reference) rounds to a part of what is summed up.
    exact, size = self.double().index_add(0, index, values.double()), self.double().abs().index_add(0, index, values.double().abs())
    most = torch.bincount(index).max().item() + 4
    unit = torch.finfo(torch.float32).eps if dtype.is_floating_point else 0
    rounding = exact.abs() * torch.finfo(dtype).eps if dtype.is_floating_point else 0
    assert ((actual.double() - exact).abs() <= size * most * unit + rounding).all()


def test_an_embedding_trains():
    index, weight = torch.randint(0, 3000, (64, 512), device="cuda"), torch.randn(64, 512, 768, device="cuda", dtype=torch.bfloat16)
    table = torch.randn(3000, 768, device="cuda", dtype=torch.bfloat16, requires_grad=True)

    def gradient(function):
        return torch.autograd.grad(function(table, index), table, weight)[0]

    torch.compiler.reset()
    actual, eager = gradient(torch.compile(lambda t, i: torch.nn.functional.embedding(i, t), backend="frit")), gradient(lambda t, i: t[i])
    exact = torch.zeros(3000, 768, device="cuda", dtype=torch.float64).index_add(0, index.view(-1), weight.view(-1, 768).double())
    assert (actual.double() - exact).abs().max() <= (eager.double() - exact).abs().max() + exact.abs().max() * 2**-8


def test_products_add_to_residuals():
    def block(x, w, v):
        h = torch.tanh(x) * 2
        h = h + torch.relu(h) @ w
        return h + torch.sigmoid(h) @ v

    x, w, v = (torch.randn(*shape, device="cuda") for shape in ((100, 64), (64, 64), (64, 64)))
    _check(block, x, w, v, rtol=1e-3, atol=1e-3)


def test_on_another_stream():
    x = torch.randn(1 << 20, device="cuda")
    compiled = torch.compile(lambda a: a.sin() + 1, backend="frit")
    compiled(x)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        y = x * 2
        z = compiled(y)
    torch.cuda.current_stream().wait_stream(stream)
    torch.testing.assert_close(z, (x * 2).sin() + 1)


def test_backward():
    def step(w, x):
        return torch.nn.functional.gelu(x @ w).square().mean()

    w = torch.randn(64, 64, device="cuda", requires_grad=True)
    x = torch.randn(32, 64, device="cuda")
    (expected,) = torch.autograd.grad(step(w, x), w)
    (actual,) = torch.autograd.grad(torch.compile(step, backend="frit")(w, x), w)
    torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-5)


def _block(x, w, b):
    y = torch.nn.functional.layer_norm(x, (x.shape[-1],), w, b)
    y = torch.softmax(y * w, -1)
    return torch.nn.functional.layer_norm(y.relu() + b, (x.shape[-1],), w, b).sum(0).sigmoid()


def test_cuda_graphs_replay_a_hundred_changed_inputs():
    import frit

    torch.compiler.reset()
    w, b = torch.nn.Parameter(torch.randn(512, device="cuda")), torch.nn.Parameter(torch.randn(512, device="cuda"))

    class Block(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w, self.b = w, b

        def forward(self, x):
            return _block(x, self.w, self.b)

    with torch.no_grad():
        net = Block()
        compiled = torch.compile(net, backend="frit", mode="reduce-overhead")
        kept = []
        for turn in range(102):
            x = torch.randn(64, 512, device="cuda") + turn
            result = compiled(x)
            torch.testing.assert_close(result, net(x), rtol=1e-3, atol=1e-4)
            kept.append((result, result.clone()))
        assert all(torch.equal(result, copy) for result, copy in kept), "results of earlier calls were overwritten"
    counted = frit.counts()
    assert counted["graph_replays"] >= 100 or counted["not_captured"], counted


def test_one_cuda_graph_serves_all_sizes_of_a_bucket():
    import frit

    torch.compiler.reset()
    w, b = torch.nn.Parameter(torch.randn(512, device="cuda")), torch.nn.Parameter(torch.randn(512, device="cuda"))
    compiled = torch.compile(_block, backend="frit", dynamic=True, options={"mode": "reduce-overhead"})
    kept = []
    with torch.no_grad():
        for rows in [60, 61, 50, 33, 64, 64, 40, 60, 63] * 4:
            x = torch.randn(rows, 512, device="cuda")
            result = compiled(x, w, b)
            torch.testing.assert_close(result, _block(x, w, b), rtol=1e-3, atol=1e-4)
            kept.append((result, result.clone()))
    assert all(torch.equal(result, copy) for result, copy in kept)
    counted = frit.counts()
    assert counted["graph_updates"] >= 10 or counted["not_captured"], counted
    assert counted["graph_captures"] <= 4, counted


def test_kernels_for_one_bucket_have_cuda_graphs_too():
    import frit

    torch.compiler.reset()
    w, b = torch.nn.Parameter(torch.randn(512, device="cuda")), torch.nn.Parameter(torch.randn(512, device="cuda"))
    compiled = torch.compile(_block, backend="frit", dynamic=True, options={"mode": "reduce-overhead", "bucket_policy": "specialize"})
    with torch.no_grad():
        for turn in range(12):
            x = torch.randn(40 + turn, 512, device="cuda")
            torch.testing.assert_close(compiled(x, w, b), _block(x, w, b), rtol=1e-3, atol=1e-4)
            frit.wait_for_background()
    counted = frit.counts()
    assert counted["specialized_calls"] >= 5, counted
    assert counted["graph_replays"] >= 5 or counted["not_captured"], counted


@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_cuda_graphs_with_operators_of_torch(dropout):
    import frit

    torch.compiler.reset()
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.GELU(), torch.nn.Dropout(dropout), torch.nn.Linear(128, 64)).cuda()
    compiled = torch.compile(net, backend="frit", mode="reduce-overhead")
    other = torch.empty(1 << 20, device="cuda")
    kept, masks = [], set()
    for turn in range(20):
        x = torch.randn(32, 64, device="cuda", requires_grad=True)
        result = compiled(x)
        result.sum().backward()
        if dropout:
            masks.add(round(compiled(torch.ones(32, 64, device="cuda")).sum().item(), 3))
        else:
            torch.testing.assert_close(result, net(x), rtol=1e-3, atol=1e-4)
        kept.append((result.detach(), result.detach().clone()))
        other.fill_(turn)  # other memory of the allocator
        torch.mm(other[:4096].view(64, 64), other[:4096].view(64, 64))
    assert all(torch.equal(result, copy) for result, copy in kept), "results of earlier calls were overwritten"
    assert len(masks) > 10 or not dropout, "each replay draws new numbers"
    counted = frit.counts()
    assert counted["graph_replays"] >= 15 or counted["not_captured"], counted


@pytest.mark.parametrize("together", [1, 2])
def test_cuda_graphs_of_training_keep_activations_where_they_are(together):
    import frit

    torch.compiler.reset()
    torch.manual_seed(0)
    net = torch.nn.Sequential(*[part for _ in range(3) for part in (torch.nn.Linear(512, 512), torch.nn.GELU(), torch.nn.LayerNorm(512))]).cuda()
    compiled = torch.compile(net, backend="frit", mode="reduce-overhead")
    other = torch.empty(1 << 20, device="cuda")
    for turn in range(12):
        # Several forwards run before their backwards, so their activations exist at the same time.
        inputs = [torch.randn(256, 512, device="cuda") for _ in range(together)]
        expected = torch.autograd.grad(sum(net(x).square().mean() for x in inputs), list(net.parameters()))
        losses = []
        for x in inputs:
            losses.append(compiled(x).square().mean())
            other.fill_(turn)
            torch.mm(other[:65536].view(256, 256), other[:65536].view(256, 256))
        actual = torch.autograd.grad(sum(losses), list(net.parameters()))
        torch.testing.assert_close(actual, expected, rtol=1e-3, atol=1e-5)
    counted = frit.counts()
    assert counted["graph_replays"] >= 12 or counted["not_captured"], counted
    assert counted["graph_kept_bytes"] > 0 or counted["not_captured"], counted


@pytest.mark.parametrize("mode", ["default", "reduce-overhead"])
def test_kernels_draw_the_numbers_that_numpy_draws(mode):
    """The default on CUDA: each call draws one seed from the device's generator, also if a CUDA graph is launched again."""
    from test_random import seed_of, uniforms

    torch.compiler.reset()
    compiled = torch.compile(lambda x: (torch.nn.functional.dropout(x, 0.25), torch.rand_like(x)), backend="frit", mode=mode)
    x = torch.rand(33, 65, device="cuda") + 1
    for seed in range(5):
        torch.manual_seed(seed)
        dropped, drawn = (one.cpu() for one in compiled(x))
        key = seed_of(seed, "cuda")
        assert torch.equal(drawn, uniforms(key, 1, x.shape)), seed
        torch.testing.assert_close(dropped, x.cpu() * (uniforms(key, 0, x.shape) < 0.75) / 0.75)


def test_an_operator_that_cannot_be_captured_leaves_the_allocator_as_it_was():
    import frit

    torch.compiler.reset()

    def waits(x, y):
        z = torch.linalg.svdvals(torch.softmax(x @ y, -1) + 1)
        return torch.softmax(torch.softmax(z, -1) @ y, -1)

    compiled = torch.compile(waits, backend="frit", mode="reduce-overhead")
    with torch.no_grad():
        for _ in range(4):
            x, y = torch.randn(16, 16, device="cuda"), torch.randn(16, 16, device="cuda")
            torch.testing.assert_close(compiled(x, y), waits(x, y), rtol=1e-3, atol=1e-3)
    assert frit.counts()["not_captured"] or frit.counts()["graph_replays"]
    del x, y
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    side = torch.cuda.Stream()
    block = torch.empty(1 << 24, device="cuda")
    block.record_stream(side)
    address = block.data_ptr()
    del block
    torch.cuda.synchronize()
    assert torch.empty(1 << 24, device="cuda").data_ptr() == address, "memory used on another stream comes back"


def test_code_is_loaded_in_a_way_that_is_told():
    import json

    from frit import backend

    torch.compiler.reset()
    found = []
    backend._OBSERVERS.append(lambda *seen: found.append(seen[-1]))
    try:
        torch.compile(lambda a: a * 2 + 1, backend="frit")(torch.ones(5, device="cuda"))
    finally:
        backend._OBSERVERS.pop()
    stats = json.loads(found[0].stats())
    assert stats["modules_cubin"] + stats["modules_linked"] + stats["modules_compiled"] == 1
    assert stats["modules_refused"] == 0
