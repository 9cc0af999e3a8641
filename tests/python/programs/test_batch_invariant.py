"""`numerics="batch-invariant"`: a sample has the same bits whatever the batch, its place in it, the bucket, the threads and the process."""

import hashlib
import logging
import os
import sys

import fresh
import pytest
import torch
from small_models import MODELS
from torch import nn
from torch._dynamo.exc import BackendCompilerFailed
from torch.nn import functional

import frit
from frit import native
from frit.eager import rows

MOST = 64
MODE = {"numerics": "batch-invariant"}


class Attention(nn.Module):
    def __init__(self, width, heads, causal):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.norm, self.inner, self.out = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        q, k, v = (one.unflatten(-1, (self.heads, -1)).transpose(1, 2) for one in self.inner(self.norm(x)).chunk(3, -1))
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return x + self.out(mixed.transpose(1, 2).flatten(2))


class Images(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3, stride=2), nn.GELU())
        self.head = nn.Linear(16, 5)

    def forward(self, x):
        return self.head(self.body(x).mean((2, 3))).log_softmax(-1)


class Filters(nn.Module):
    """Convolutions that libraries compute in an order that depends on the number of threads, some of them transposed."""

    def __init__(self):
        super().__init__()
        self.signal = nn.Sequential(nn.Conv1d(6, 9, 3, groups=3, padding=1), nn.GELU(), nn.Conv1d(9, 9, 1, groups=9), nn.ConvTranspose1d(9, 4, 3, stride=2))
        self.volume = nn.Sequential(nn.Conv3d(2, 4, 3, dilation=2, padding=2), nn.ReLU(), nn.ConvTranspose3d(4, 2, 2, stride=2, output_padding=1))

    def forward(self, x):
        return self.signal(x), self.volume(x.view(-1, 2, 3, 3, 4))


class Columns(nn.Module):
    """Reductions whose lanes or accumulators could follow from the number of rows: of strided rows, of rows between the dims that are reduced, across the
    last dim, and beside those of weights."""

    def __init__(self):
        super().__init__()
        self.few, self.many, self.one = (nn.Parameter(torch.randn(size)) for size in ((60, 8), (33, 60), (1, 60)))

    def forward(self, x):
        tokens = x.unflatten(-1, (20, 3))
        mixed = x.softmax(-1) * self.one.exp().softmax(-1), x.logsumexp(-1) + (self.one * self.one).sum(-1)
        products = (x.unsqueeze(-1) * self.few).sum(1), (x.unsqueeze(1) * self.many).sum(-1), (x.unsqueeze(1) - self.many).square().mean(-1)
        inner = torch.stack(tokens.unbind(1)).sum((0, 2)), tokens.transpose(0, 1).sum(0)
        return *mixed, *products, *inner, x[:, ::2].sum(-1), tokens.softmax(1), tokens.mean(1), tokens.var((1, 2))


class Norms(nn.Module):
    def forward(self, x):
        parts = [x.var(-1), x.sum(-1), x.logsumexp(-1), x.norm(dim=-1), x.argmax(-1).float()]
        return torch.stack(parts, -1), functional.group_norm(x.unflatten(-1, (4, -1)), 2).sum(1), x.softmax(-1)


def mlp(dtype=torch.float32):
    return nn.Sequential(nn.Linear(48, 96), nn.GELU(), nn.LayerNorm(96), nn.Linear(96, 33), nn.Softmax(-1)).to(dtype)


FAMILIES = {
    "mlp": (mlp, (48,), torch.float32),
    "half": (lambda: mlp(torch.bfloat16), (48,), torch.bfloat16),
    "double": (lambda: mlp(torch.float64), (48,), torch.float64),
    "tokens": (lambda: Attention(32, 4, causal=True), (11, 32), torch.float32),
    "mixed": (lambda: nn.Sequential(Attention(32, 2, causal=False), nn.Linear(32, 7)), (5, 32), torch.float32),
    "images": (Images, (3, 17, 17), torch.float32),
    "filters": (Filters, (6, 12), torch.float32),
    "columns": (Columns, (60,), torch.float32),
    "norms": (Norms, (48,), torch.float32),
    "long": (Norms, (5000,), torch.float32),
}


def made(name):
    torch.manual_seed(0)
    module, shape, dtype = FAMILIES[name]
    return module().eval(), torch.randn(MOST, *shape, dtype=dtype)


def results(value):
    return value if isinstance(value, tuple) else (value,)


def same(some, all_of_them, places):
    """Whether the rows of `some` are those at `places` of `all_of_them`, bit by bit."""
    return all(torch.equal(one, other[places]) for one, other in zip(results(some), results(all_of_them), strict=True))


@pytest.mark.parametrize("name", FAMILIES)
def test_graphs_for_one_batch_each(name):
    module, x = made(name)
    with torch.no_grad():
        whole = torch.compile(module, backend="frit", dynamic=False, options=MODE)(x)
        torch.testing.assert_close(whole, module(x), rtol=2e-2 if x.dtype == torch.bfloat16 else 1e-4, atol=1e-2 if x.dtype == torch.bfloat16 else 1e-5)
        for batch in (1, 2, 3, 7, 8, 33):
            torch.compiler.reset()
            compiled = torch.compile(module, backend="frit", dynamic=False, options=MODE)
            assert same(compiled(x[:batch]), whole, slice(batch)), batch
            assert same(compiled(x[-batch:]), whole, slice(MOST - batch, None)), batch


@pytest.mark.parametrize("name", FAMILIES)
def test_a_graph_for_all_batches(name):
    module, x = made(name)
    with torch.no_grad():
        compiled = torch.compile(module, backend="frit", dynamic=True, options={**MODE, "bucket_policy": "ramp"})
        whole = compiled(x)
        for batch in range(1, MOST + 1):
            assert same(compiled(x[:batch]), whole, slice(batch)), batch
        order = torch.randperm(MOST)
        assert same(compiled(x[order]), whole, order)


@pytest.mark.parametrize("name", FAMILIES)
def test_threads_and_dynamic_sizes_change_nothing(name):
    module, x = made(name)
    threads = torch.get_num_threads()
    with torch.no_grad():
        compiled = torch.compile(module, backend="frit", options=MODE)
        whole = compiled(x)
        try:
            for number in (1, 3):
                torch.set_num_threads(number)
                assert same(compiled(x), whole, slice(None)) and same(compiled(x[:9]), whole, slice(9)) and same(compiled(x[:1]), whole, slice(1)), number
        finally:
            torch.set_num_threads(threads)


@pytest.mark.parametrize("name", MODELS)
def test_models(name):
    torch.manual_seed(0)
    model, inputs, select = MODELS[name]()
    model, x = model.eval(), inputs(MOST)
    with torch.no_grad():
        compiled = torch.compile(model, backend="frit", dynamic=True, options=MODE)
        whole = select(compiled(x))
        torch.testing.assert_close(whole, select(model(x)), rtol=1e-3, atol=1e-4)
        # All sizes are in test_a_graph_for_all_batches.
        for batch in (*range(1, 10), 15, 16, 17, 31, 32, 33, 63):
            # Of a slice, torch would compile another graph.
            assert torch.equal(select(compiled(x[batch : 2 * batch].clone())), whole[batch : 2 * batch]), batch
        torch.compiler.reset()
        alone = torch.compile(model, backend="frit", dynamic=False, options=MODE)
        assert torch.equal(select(alone(x[5:6])), whole[5:6])


@pytest.mark.parametrize("name", ["mlp", "tokens", "images", "filters", "norms"])
def test_the_gradient_of_a_sample_is_its_own(name):
    module, x = made(name)
    weights = list(module.parameters())

    def gradients(function, batch):
        inputs = x[:batch].clone().requires_grad_()
        return torch.autograd.grad(sum(one.square().sum() for one in results(function(inputs))), [inputs, *weights])

    compiled = torch.compile(module, backend="frit", dynamic=False, options=MODE)
    whole, *of_weights = gradients(compiled, MOST)
    for one, other in zip([whole, *of_weights], gradients(module, MOST), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-4)
    for batch in (1, 2, 9):
        torch.compiler.reset()
        compiled = torch.compile(module, backend="frit", dynamic=False, options=MODE)
        assert torch.equal(gradients(compiled, batch)[0], whole[:batch]), batch


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_group_norms_of_any_layout(dtype):
    images, parameters = torch.randn(6, 8, 4, 5).to(dtype), [torch.randn(8).to(dtype), torch.randn(8).to(dtype)]
    tolerances = {"rtol": 2e-2, "atol": 5e-2} if dtype == torch.bfloat16 else {}

    def norms(x, *given):
        return torch.native_group_norm(x, *(given or (None, None)), x.shape[0], x.shape[1], x[0, 0].numel(), 2, 1e-5)

    for x in (images, images.contiguous(memory_format=torch.channels_last), images[:, :, 0, 0].contiguous(), images.unflatten(-1, (5, 1))):
        # Statistics do not depend on the parameters, so these vary for one layout and type only.
        others = [(), *([[one.float() for one in parameters]] if dtype == torch.bfloat16 else [])] if x is images else []
        for given in (parameters, *others):
            compiled, expected = torch.compile(norms, backend="frit", dynamic=True, options=MODE), norms(x, *given)
            whole = compiled(x, *given)
            torch.testing.assert_close(whole, expected, **tolerances)
            assert [one.stride() for one in whole] == [one.stride() for one in expected]
            assert same(compiled(x[2:3], *given), whole, slice(2, 3))
            torch.compiler.reset()


PROCESS = """
import hashlib, sys, torch
sys.path[:0] = {path!r}
from test_batch_invariant import MODE, made
module, x = made("tokens")
with torch.no_grad():
    found = torch.compile(module, backend="frit", dynamic=False, options=MODE)(x[2:{end}])[:3]
print(hashlib.sha256(found.contiguous().numpy().tobytes()).hexdigest())
"""


def test_processes_agree_with_the_cache_and_without(tmp_path):
    digests = set()
    for number, (end, cache) in enumerate(((5, "0"), (30, "0"), (5, "1"), (5, "1"), (64, "1"))):
        environment = {**os.environ, "FRIT_CACHE": cache, "FRIT_CACHE_DIR": str(tmp_path)}
        program = PROCESS.format(path=sys.path, end=end)
        done = fresh.run(["-c", program], env=environment, hashes=number % 2)
        assert done.returncode == 0, done.stderr
        digests.add(done.stdout.strip())
    assert len(digests) == 1 and len(digests.pop()) == len(hashlib.sha256().hexdigest())


def test_the_cost_is_named_in_the_report():
    module, x = made("mlp")
    with torch.no_grad():
        explanation = frit.explain(module, options=MODE)(x)
    assert {call["op"] for call in explanation.aten_calls} == {"frit.row_product.default"}


def test_what_torch_computes_otherwise_is_warned_about():
    heard = []

    class Handler(logging.Handler):
        def emit(self, record):
            heard.append(record.getMessage())

    handler, log = Handler(), logging.getLogger("frit")
    log.addHandler(handler)
    try:
        torch.compile(lambda x: torch.linalg.inv(x) + x.sort().values, backend="frit", options=MODE)(torch.eye(3))
    finally:
        log.removeHandler(handler)
    (line,) = [line for line in heard if "batch-invariant" in line]
    assert "does not hold for what ATen or Python computes: aten._linalg_check_errors.default, aten.linalg_inv_ex.default" in line and "sort" not in line


def test_gpus_are_refused():
    with pytest.raises(BackendCompilerFailed, match="numerics='batch-invariant' is for CPUs"):
        torch.compile(lambda x: x.softmax(-1), backend="frit", options={**MODE, "target": "simt"})(torch.ones(3, 4))


@pytest.mark.skipif(not rows.has_kernel(), reason="the runtime's kernel wants AVX2")
def test_the_product_of_the_runtime():
    native.compiler()
    product = torch.ops.frit.row_product
    for left, right in (((5, 7), (7, 3)), ((0, 7), (7, 3)), ((5, 0), (0, 3)), ((2, 3, 100, 17), (2, 3, 17, 9)), ((1, 1), (1, 1)), ((0, 4, 4), (0, 4, 4))):
        x, w = torch.randn(left), torch.randn(right)
        torch.testing.assert_close(product(x, w), x @ w)
    x, w = torch.randn(90, 130), torch.randn(40, 130)
    whole = product(x, w.t())
    # Strides of the operands do not change the order, nor does a column more or less.
    assert torch.equal(product(x.t().contiguous().t(), w.t().contiguous()), whole)
    for end in (1, 2, 17):
        assert torch.equal(product(x[:end], w.t()), whole[:end]) and torch.equal(product(x, w[:end].t()), whole[:, :end])
    for wrong in ((torch.ones(2, 3), torch.ones(4, 5)), (torch.ones(2), torch.ones(2)), (torch.ones(2, 2).double(), torch.ones(2, 2).double())):
        with pytest.raises(RuntimeError, match="frit::row_product takes"):
            product(*wrong)


def threads_agree(compute):
    """The result, which is the same with one thread and with several."""
    threads, found = torch.get_num_threads(), []
    try:
        for number in (1, 2, 5):
            torch.set_num_threads(number)
            found.append(compute())
    finally:
        torch.set_num_threads(threads)
    assert all(torch.equal(one, found[0]) for one in found)
    return found[0]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_the_convolution_of_the_runtime(dtype):
    native.compiler()
    tolerances = {"rtol": 2e-2, "atol": 5e-2} if dtype == torch.bfloat16 else {}
    # Channels, outputs, groups, size of the image, kernel, stride, padding, dilation, transposed, output padding.
    for channels, outputs, groups, size, kernel, stride, padding, dilation, transposed, after in (
        (3, 8, 1, (32,), (3,), (1,), (1,), (1,), False, (0,)),
        (12, 12, 12, (14,), (1,), (1,), (0,), (1,), False, (0,)),
        (6, 9, 3, (9, 8), (3, 2), (2, 1), (1, 2), (1, 2), False, (0, 0)),
        (64, 32, 1, (1, 1), (1, 1), (1, 1), (0, 0), (1, 1), False, (0, 0)),
        (6, 9, 3, (5, 6), (3, 3), (2, 3), (1, 0), (2, 1), True, (1, 2)),
        (4, 2, 1, (5,), (2,), (1,), (1,), (1,), True, (0,)),
        (2, 4, 2, (5, 4, 6), (2, 3, 3), (2, 1, 1), (1, 1, 0), (1, 2, 1), False, (0, 0, 0)),
        (4, 2, 2, (3, 2, 3), (3, 2, 1), (2, 2, 1), (0, 1, 0), (1, 1, 1), True, (1, 0, 0)),
    ):
        x = torch.randn(7, channels, *size).to(dtype)
        first = (channels, outputs // groups) if transposed else (outputs, channels // groups)
        weight, bias, how = torch.randn(*first, *kernel).to(dtype), torch.randn(outputs).to(dtype), (stride, padding, dilation, transposed, after, groups)
        for added in (bias, None):
            whole = threads_agree(lambda: torch.ops.frit.row_convolution(x, weight, added, *how))
            torch.testing.assert_close(whole, torch.convolution(x, weight, added, *how), **tolerances)
            assert torch.equal(torch.ops.frit.row_convolution(x[2:3], weight, added, *how), whole[2:3])
        assert torch.ops.frit.row_convolution(x[:0], weight, bias, *how).shape == whole[:0].shape
    with pytest.raises(RuntimeError, match="frit::row_convolution takes"):
        torch.ops.frit.row_convolution(torch.ones(1, 1), torch.ones(1, 1), None, [1], [0], [1], False, [0], 1)


@pytest.mark.skipif(not rows.has_kernel(), reason="the runtime's kernel wants AVX2")
def test_the_attention_of_the_runtime():
    native.compiler()
    attention = torch.ops.frit.row_attention
    q, k, v = torch.randn(3, 5, 2, 40).transpose(1, 2), torch.randn(3, 2, 300, 40), torch.randn(3, 2, 300, 40)
    mask = torch.where(torch.rand(3, 1, 5, 300) > 0.5, 0.0, float("-inf"))
    mask[0, 0, 0] = float("-inf")
    for added, causal in ((None, False), (None, True), (mask, False), (mask[0, 0], False)):
        whole = threads_agree(lambda: attention(q, k, v, added, causal, 0.3))
        torch.testing.assert_close(whole, functional.scaled_dot_product_attention(q, k, v, added, is_causal=causal, scale=0.3).nan_to_num(0), rtol=1e-4, atol=1e-5)
        alone = attention(q[1:2], k[1:2], v[1:2], added if added is None or added.dim() == 2 else added[1:2], causal, 0.3)
        assert torch.equal(alone, whole[1:2])
    assert torch.equal(attention(q, k[:, :, :0], v[:, :, :0], None, False, 0.3), torch.zeros_like(q))
    with pytest.raises(RuntimeError, match="frit::row_attention takes f32 operands"):
        attention(q, k.double(), v, None, False, 1.0)
