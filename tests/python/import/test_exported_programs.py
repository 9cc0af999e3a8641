"""Exported programs, which are neither functional nor decomposed: composite and in-place operators of the importer, compared with eager."""

import checker
import pytest
import torch
import torch.nn.functional as F
from exported import ATTENTION, Function, compiled
from torch import nn
from torch.export import Dim

from frit import CompileError

X, IMAGE, TOKENS = (4, 8), (2, 6, 8, 8), (2, 5, 8)

# name -> (module, shapes of its inputs, base names of the operators that may stay calls)
MODULES = {
    "mlp": (
        lambda: nn.Sequential(nn.Linear(8, 16), nn.LayerNorm(16), nn.GELU(), nn.Dropout(), nn.Linear(16, 3), nn.Softmax(-1)),
        (X,),
        {"addmm"},
    ),
    "convolutions": (
        lambda: nn.Sequential(
            nn.Conv2d(6, 4, 3), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 2), nn.LogSoftmax(1)
        ),
        (IMAGE,),
        {"convolution", "max_pool2d", "addmm"},
    ),
    "norms": (
        lambda: nn.Sequential(
            nn.GroupNorm(3, 6), nn.SiLU(inplace=True), nn.InstanceNorm2d(6), nn.Hardswish(), nn.Hardtanh(inplace=True), nn.RMSNorm(8)
        ),
        (IMAGE,),
        set(),
    ),
    "attention": (lambda: nn.MultiheadAttention(8, 2, batch_first=True), (TOKENS,) * 3, {"addmm", "bmm"}),
    "encoder layer": (
        lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True),
        (TOKENS,),
        {"addmm", ATTENTION},
    ),
}


def view_writes(x):
    y = x.clone()
    y[1].fill_(3)
    y[:, 2:4].zero_()
    y.t().mul_(2)
    return y


FUNCTIONS = {
    "in place": (lambda x: x.clone().add_(1).relu_().mul_(x).clamp_(max=2).sub_(0.5), set()),
    "writes through views": (view_writes, set()),
    "masked fill in place": (lambda x: x.clone().masked_fill_(x > 0, -1), set()),
    "copy in place": (lambda x: x.new_zeros(4, 8).copy_(x[0]), set()),
    "pieces": (lambda x: (*x.chunk(3, 1), *x.split(3, 1), *x.unbind(0)), set()),
    "casts": (
        lambda x: (x.to(torch.float64), x.half(), x.to(torch.int32), x.type_as(x.double()), x.bool()),
        set(),
    ),
    "attention as a call": (
        lambda x: F.scaled_dot_product_attention(*[x.view(1, 2, 2, 8)] * 3, is_causal=True),
        {ATTENTION},
    ),
    "differences": (
        lambda x: (
            x.diff(), x.half().diff(dim=0), (x > 0).diff(), x.long().diff(prepend=x[:, :1].long()), x.diff(append=x[:, :2], prepend=x),
        ),
        set(),
    ),
    "averages of all": (
        lambda x: (
            F.adaptive_avg_pool1d(x, 1), F.adaptive_avg_pool2d(x[None].half(), 1), F.adaptive_avg_pool3d(x[None, None], 1),
            F.adaptive_avg_pool2d(x[None, None], (1, None)),
        ),
        {"adaptive_avg_pool2d"},
    ),
    "weight normalisation": (lambda x: torch._weight_norm(x.view(4, 4, 2), x[:, :1, None].abs(), 0), set()),
    "losses": (
        lambda x: (
            F.cross_entropy(x, torch.tensor([1, 2, 3, 4])),
            F.mse_loss(x, x * 2),
            F.l1_loss(x, x * 2, reduction="sum"),
            F.smooth_l1_loss(x, x * 3),
            F.binary_cross_entropy_with_logits(x, (x > 0).float()),
            F.nll_loss(x, torch.tensor([1, 2, 3, 4])),
            F.huber_loss(x, x * 3),
            F.kl_div(x, x.softmax(1), reduction="batchmean"),
        ),
        set(),
    ),
    "activations": (
        lambda x: (
            F.relu6(x), F.elu(x), F.selu(x), F.celu(x, 1.5), F.softplus(x), F.mish(x), F.leaky_relu(x), F.logsigmoid(x),
            F.softsign(x), F.glu(x), F.hardsigmoid(x), F.tanhshrink(x), F.threshold(x, 0.1, 2.0), F.silu(x), F.hardswish(x),
            F.softmin(x, 1), F.softshrink(x), F.hardshrink(x), F.prelu(x, x.new_full((1,), 0.1)), F.prelu(x, x[0] * 0.1),
        ),
        set(),
    ),
    "norms": (
        lambda x: (
            F.normalize(x), x.norm(), x.norm(dim=1), F.rms_norm(x, (8,)), F.rms_norm(x, (8,), eps=1e-5),
            F.cosine_similarity(x, x.flip(0)), F.pairwise_distance(x, x * 2), F.layer_norm(x, (4, 8)), torch.std_mean(x, 1)[1],
        ),
        set(),
    ),
    "shapes": (
        lambda x: (
            x.flatten() * 2, x.unflatten(1, (2, 4)) * 2, x.movedim(0, 1) * 2, x.swapaxes(0, 1) * 2, x.reshape(2, 16) * 2,
            x.expand_as(x) * 2, x.ravel() * 2, x.contiguous() * 2, x.narrow(1, 2, 3) * 2, x.T * 2, x.mT * 2, x.tile(2),
            x.fliplr(), x.flipud(), torch.hstack([x, x]), torch.vstack([x, x[0]]), F.pad(x, (1, 2)), x.diagonal(1) * 2,
            x.unfold(1, 3, 2) * 2, torch.stack(torch.broadcast_tensors(x, x[0])),
        ),
        set(),
    ),
    "views that are returned": (lambda x: (x.flatten(), x.T, x.diagonal(), x.unfold(1, 3, 2), x.narrow(1, 2, 3), x[1:, ::2]), set()),
    "arithmetic": (
        lambda x: (
            torch.where(x > 0, x, 0.0), x.clip(-1, 1), x[0].outer(x[1]), x.square(), x.nan_to_num(), x.round(decimals=2),
            (x > 0) & (x < 1) | (x < -1) ^ (x > 2), torch.isclose(x, x + 1e-9), x.isfinite(), x.true_divide(3), x.logsumexp(1), x.floor_divide(0.3), x.frac(),
        ),
        set(),
    ),
}


def check(module, inputs, stays):
    module = module.eval().requires_grad_(False)
    call, report = compiled(module, inputs)
    left = {call["op"].split(".")[1] for call in report["aten_calls"]}
    assert left <= stays, [call for call in report["aten_calls"]]
    checker.check(module, *inputs, compiled=call, module=module)


@pytest.mark.parametrize("name", MODULES)
def test_module(name):
    torch.manual_seed(0)
    make, shapes, stays = MODULES[name]
    check(make(), [torch.randn(shape) for shape in shapes], stays)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function(name):
    torch.manual_seed(0)
    function, stays = FUNCTIONS[name]
    check(Function(function), [torch.randn(X)], stays)


def test_norms_of_equal_values_are_zero():
    """A rounded mean leaves a deviation, which `rsqrt(eps)` would magnify."""
    x = torch.full((2, 6, 43), 1000.1)
    norms = Function(lambda x: (F.layer_norm(x, (43,)), F.layer_norm(x, (6, 43)), F.group_norm(x, 3)))
    call, report = compiled(norms, [x])
    assert not report["aten_calls"]
    for result in call(x):
        assert not result.count_nonzero(), result.abs().max()


def test_inputs_and_buffers_that_are_written():
    class Counter(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.zeros(3))

        def forward(self, x):
            self.count.add_(x.sum(0))
            x.mul_(2)
            return self.count * 2, x + 1

    x = torch.randn(5, 3)
    expected, written = Counter(), x.clone()
    call, _ = compiled(Counter(), [x.clone()])
    results = [(call(y := x.clone()), y) for _ in range(2)]
    for outputs, y in results:
        wanted = expected(written := x.clone())
        for a, e in zip((*outputs, y), (*wanted, written)):
            torch.testing.assert_close(a, e)


def test_an_argument_and_its_views_share_its_storage():
    def function(x):
        return x.contiguous(), x.contiguous()[1:], x.reshape(5, 20)[1:], x.view(-1), x * 2, (x * 2)[1:]

    call, report = compiled(Function(function), [torch.randn(100)])
    x = torch.randn(100)
    results = call(x)
    assert [result.data_ptr() - x.data_ptr() for result in results[:4]] == [0, 4, 80, 0]
    assert all(result.untyped_storage().data_ptr() != x.untyped_storage().data_ptr() for result in results[4:])
    assert not report["aten_calls"] and "aten.clone.default" not in report["order"]


class Autocast(nn.Module):
    def __init__(self, enabled):
        super().__init__()
        self.enabled, self.linear = enabled, nn.Linear(8, 8)

    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.enabled):
            y = self.linear(x).relu_()
        with torch.no_grad():
            z = torch.sin(y.float()).mul_(2)
        return z + 1


def test_regions_of_autocast_and_no_grad():
    check(Autocast(enabled=False), [torch.randn(X)], {"addmm"})
    module = Autocast(enabled=True).eval().requires_grad_(False)
    with pytest.raises(CompileError, match=r"casts of 'wrap_with_autocast' are chosen in Python: export the program with run_decompositions\(\)"):
        compiled(module, [torch.randn(X)])
    call, _ = compiled(module, [x := torch.randn(X)], decompose=True)
    torch.testing.assert_close(call(x)[0], module(x))


def test_integers_of_any_sign():
    """torch.export promises a lower bound of 0 for each symbol, but nothing checks it for an integer that is no size."""
    program = Function(lambda x, n, m: x * n + max(n, -7) + n // 3 + n % 5 + x.new_ones(m).sum())
    shapes = ((({0: Dim.DYNAMIC}), Dim.DYNAMIC, Dim.DYNAMIC),)
    ours, _ = compiled(program, (torch.ones(3), 4, 5), dynamic_shapes=shapes)
    for n in (4, 0, -1, -8, 9):
        x = torch.randn(4)
        torch.testing.assert_close(ours(x, n, 2)[0], program(x, n, 2))
    with pytest.raises(RuntimeError, match="between 2 and"):
        ours(x, 4, -1)
