"""Convolutions on the CPU by frit's kernel, with their epilogues: their values, and that no weight is ever stale."""

import copy
import json

import pytest
import torch
from torch import nn
from weight_writes import WRITES

import frit

pytestmark = pytest.mark.skipif(
    torch.backends.cpu.get_cpu_capability() not in ("AVX2", "AVX512"), reason="counts what is chosen on machines with AVX2 or AVX-512"
)


def own(executables):
    return sum(json.loads(one.stats())["own_convolutions"] for one in executables)


def compiled(function, **arguments):
    return torch.compile(function, backend="frit", fullgraph=True, **arguments)


def check(function, x, depth, fast=None):
    """Checks values within the error bound of a sum of `depth` products and a few operations; `function` consists of modules without gradients."""
    with torch.no_grad():
        got = (fast or compiled(function))(x)
        exact = copy.deepcopy(function).double()(x.double())
        # The same sum with the absolute value of every number.
        sizes = copy.deepcopy(function).double()
        for tensor in (*sizes.parameters(), *sizes.buffers()):
            if tensor.is_floating_point():
                tensor.data.abs_()
        magnitude = sizes(x.double().abs())
    assert got.dtype == torch.float32 and got.shape == exact.shape and got.stride() == function(x).stride()
    assert ((got.double() - exact).abs() <= magnitude * (depth + 8) * 2.0**-24).all()
    return got


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(
    "channels, outputs, kernel, options",
    [
        (3, 32, 7, {"stride": 2, "padding": 3}),
        (16, 16, 3, {"padding": 1}),
        (5, 17, 3, {"padding": (1, 0), "stride": (1, 2)}),
        (64, 70, 1, {}),
        (1, 8, (1, 5), {"padding": (0, 2)}),
        (32, 24, 3, {"dilation": 2, "padding": 2}),
        (32, 64, 3, {"groups": 4, "padding": 1}),
        (130, 40, 3, {"padding": 1}),
        (16, 16, 3, {"groups": 16, "padding": 1}),
        (17, 17, 3, {"groups": 17, "padding": 1, "stride": 2}),
        (40, 40, (1, 5), {"groups": 40, "padding": (1, 4), "dilation": 2}),
        (100, 100, 7, {"groups": 100, "padding": 3}),
    ],
)
def test_values(channels, outputs, kernel, options, bias, seen):
    torch.manual_seed(0)
    module = nn.Conv2d(channels, outputs, kernel, bias=bias, **options)
    check(module, torch.randn(3, channels, 11, 9), module.weight[0].numel())
    assert own(seen) == 1


@pytest.mark.parametrize(
    "make",
    [
        lambda: nn.Conv2d(8, 8, 3, groups=4),
        # Fewer channels than any vector has lanes.
        lambda: nn.Conv2d(8, 4, 3, groups=4),
        lambda: nn.Conv2d(8, 16, 3, groups=8),
        lambda: nn.Conv2d(8, 4, 3),
        lambda: nn.ConvTranspose2d(8, 16, 3),
    ],
)
def test_what_is_left_to_aten(make, seen):
    torch.manual_seed(0)
    check(make(), torch.randn(2, 8, 7, 7), 8 * 9)
    assert own(seen) == 0


def test_other_dims_and_types(seen):
    torch.manual_seed(0)
    check(nn.Conv1d(8, 16, 3), torch.randn(2, 8, 7), 24)
    check(nn.Conv3d(8, 16, 3), torch.randn(2, 8, 7, 5, 4), 8 * 27)
    x = torch.randn(2, 8, 7, 7, dtype=torch.float64)
    module = nn.Conv2d(8, 16, 3).double()
    with torch.no_grad():
        torch.testing.assert_close(compiled(module)(x), module(x))
    assert own(seen) == 0


def test_no_images(seen):
    module = nn.Conv2d(8, 16, 3)
    with torch.no_grad():
        assert compiled(module)(torch.randn(0, 8, 7, 7)).shape == (0, 16, 5, 5)


def test_what_eager_refuses(seen):
    module = nn.Conv2d(8, 16, 3)
    with torch.no_grad(), pytest.raises(RuntimeError):
        compiled(module)(torch.randn(1, 8, 2, 2))


class Block(nn.Module):
    """A convolution with all operators that follow it in a residual network."""

    def __init__(self, channels=24, limit=torch.relu):
        super().__init__()
        self.first, self.second = (nn.Conv2d(channels, channels, 3, padding=1, bias=bias) for bias in (False, True))
        self.norms = nn.ModuleList(nn.BatchNorm2d(channels) for _ in range(2))
        self.limit = limit
        for norm in self.norms:
            nn.init.normal_(norm.running_mean)
            nn.init.uniform_(norm.running_var, 0.5, 2)
            nn.init.uniform_(norm.weight, 0.5, 2)
            nn.init.normal_(norm.bias)
        self.eval()

    def forward(self, x):
        y = self.limit(self.norms[0](self.first(x)))
        return self.limit(self.norms[1](self.second(y)) + x)


LIMITS = [torch.relu, nn.functional.relu6, lambda x: x.clamp(max=0.5), nn.functional.hardtanh]


@pytest.mark.parametrize("limit", LIMITS)
def test_what_follows(limit, seen):
    torch.manual_seed(1)
    block, x = Block(limit=limit), torch.randn(2, 24, 10, 10)
    with torch.no_grad():
        got, exact = compiled(block)(x), copy.deepcopy(block).double()(x.double())
        error = (block(x).double() - exact).abs().max()
    assert (got.double() - exact).abs().max() <= 2 * error + 1e-6
    assert own(seen) == 2


@pytest.mark.parametrize("dynamic", [True, False])
def test_sizes_that_vary(dynamic, seen):
    torch.manual_seed(2)
    block = Block()
    fast = compiled(block, dynamic=dynamic)
    for shape in ((2, 24, 10, 10), (5, 24, 7, 12), (3, 24, 10, 10), (1, 24, 3, 3)):
        with torch.no_grad():
            x = torch.randn(shape)
            torch.testing.assert_close(fast(x), block(x), rtol=1e-4, atol=1e-4)
    assert own(seen) == 8


@pytest.mark.parametrize("channels, outputs, groups", [(8, 16, 1), (20, 20, 20)])
def test_images_with_strides(channels, outputs, groups, seen):
    torch.manual_seed(3)
    module, whole = nn.Conv2d(channels, outputs, 3, padding=1, groups=groups), torch.randn(3, channels + 2, 9, 20)
    for x in (
        whole[:, 1 : channels + 1],
        whole[:, :channels, ::2, 1:15],
        whole[:, :channels].transpose(2, 3),
        whole[:, :channels].to(memory_format=torch.channels_last),
        whole[:1, :channels].expand(4, channels, 9, 20),
        whole[:, :1].expand(3, channels, 9, 20),
    ):
        torch.compiler.reset()
        check(module, x, channels // groups * 9)
    assert own(seen) == 6


class Padded(nn.Module):
    """Zeros around the image that the program writes itself: left, right, above and below."""

    def __init__(self, pad, value=0.0, padding=0, groups=1, columns=3):
        super().__init__()
        self.pad, self.value, self.columns = pad, value, columns
        self.convolution = nn.Conv2d(16, 16, 3, stride=2, padding=padding, groups=groups)

    def forward(self, x):
        one = self.convolution
        x = nn.functional.pad(x, self.pad, value=self.value)
        return nn.functional.conv2d(x, one.weight[..., : self.columns], one.bias, one.stride, one.padding, one.dilation, one.groups)


@pytest.mark.parametrize("groups", [1, 16])
@pytest.mark.parametrize(
    "pad, value, padding, is_taken",
    [
        ((0, 1, 0, 1), 0.0, 0, True),
        ((1, 2, 3, 0), 0.0, 0, True),
        ((0, 1, 2, 0), 0.0, (1, 0), True),
        ((2, 2, 1, 1), 0.0, 1, True),
        ((0, 1, 0, 1), 0.5, 0, False),
        ((0, 1, -1, 1), 0.0, 0, False),
        ((0, 0, 0, 0, 0, 0, 1, 0), 0.0, 1, False),
    ],
)
def test_zeros_around_the_image(pad, value, padding, is_taken, groups, seen):
    torch.manual_seed(3)
    module, whole = Padded(pad, value, padding, groups), torch.randn(3, 18, 9, 20)
    for x in (whole[:, :16], whole[:, 2:, ::2].contiguous(), whole[:, 2:, 1:, ::2].to(memory_format=torch.channels_last)):
        torch.compiler.reset()
        check(module, x, 16 // groups * 9)
    assert own(seen) == 3
    with torch.no_grad():
        (graph,) = frit.explain(module)(whole[:, :16]).graphs
    assert ("with padding" in json.dumps(graph)) == is_taken


def test_zeros_around_images_whose_sizes_vary(seen):
    torch.manual_seed(3)
    module = Padded((0, 1, 0, 1))
    fast = compiled(module, dynamic=True)
    for shape in ((2, 16, 10, 10), (5, 16, 7, 12), (1, 16, 2, 3)):
        check(module, torch.randn(shape), 144, lambda x: fast(x))
    assert own(seen) == 3


def test_zeros_around_an_image_where_aten_has_to_compute(seen):
    torch.manual_seed(3)
    module = Padded((0, 2, 1, 0), columns=2)
    check(module, torch.randn(2, 16, 7, 8), 96)
    assert own(seen) == 0


def test_a_filter_with_strides(seen):
    torch.manual_seed(4)
    x, weight = torch.randn(2, 8, 9, 9), torch.randn(16, 8, 3, 3)
    fast = compiled(lambda x, weight: nn.functional.conv2d(x, weight))
    for other in (weight.to(memory_format=torch.channels_last), torch.randn(32, 8, 3, 3)[::2], weight[..., :2], weight.flip(0)):
        torch.testing.assert_close(fast(x, other), nn.functional.conv2d(x, other), rtol=1e-4, atol=1e-4)


def test_what_the_kernel_refuses_at_the_call(seen):
    """A filter with gaps: ATen runs the convolution and the epilogue."""
    torch.manual_seed(4)
    x, weight, factor, residual = torch.randn(2, 8, 9, 9), torch.randn(16, 8, 3, 3), torch.randn(16, 1, 1), torch.randn(2, 16, 7, 8)

    def function(x, weight, factor, residual):
        return torch.relu(nn.functional.conv2d(x, weight[..., :2]) * factor + factor + residual)

    torch.testing.assert_close(compiled(function)(x, weight, factor, residual), function(x, weight, factor, residual), rtol=1e-4, atol=1e-4)
    assert own(seen) == 0


def test_not_finite(seen):
    torch.manual_seed(5)
    block, x = Block(), torch.randn(2, 24, 10, 10)
    x[0, 3, 4, 5], x[1, 7, 0, 0], x[1, 2, 9, 9] = torch.nan, torch.inf, -torch.inf
    with torch.no_grad():
        got, expected = compiled(block)(x), block(x)
    assert torch.equal(got.isnan(), expected.isnan()) and torch.equal(got.isinf(), expected.isinf()) and own(seen) == 2


@pytest.mark.parametrize("written", [False, True], ids=["padding", "zeros"])
@pytest.mark.parametrize("channels, groups", [(16, 16), (32, 1)])
def test_filters_that_are_not_finite_at_borders(seen, channels, groups, written):
    """A tap outside of the image is no product; a zero that the program writes is a factor."""
    torch.manual_seed(5)
    module = nn.Sequential(nn.ZeroPad2d((1, 1, 0, 1) if written else 0), nn.Conv2d(channels, 2 * channels, 3, padding=0 if written else 1, groups=groups))
    weight, x = module[1].weight.data, torch.randn(4, channels, 20, 20)
    weight[2, 0, 0, 0], weight[3, 0, 2, 1] = torch.inf, torch.nan
    for image in (x, x.to(memory_format=torch.channels_last), x.transpose(2, 3)):
        torch.compiler.reset()
        with torch.no_grad():
            got, expected = compiled(module)(image), module(image)
        assert torch.equal(got.isnan(), expected.isnan()) and torch.equal(got.isinf(), expected.isinf())
    assert own(seen) == 0


CHAINS = {
    "factors that overflow": lambda y: (y * 0) * 1e30 * 1e30,
    "summands that overflow": lambda y: (y * 0 - 3e38) + 3e38 + 3e38,
    "summands alone": lambda y: y - 3e38 + 1e38 + 3e38,
    "factors that vanish": lambda y: (y * 1e30) * 1e-25 * 1e-25 * 1e25,
    "a sum before a factor": lambda y: (y * 0 * 2 + 1e30) * 1e-30 * 1e30,
}


@pytest.mark.parametrize("name", CHAINS)
def test_factors_and_summands_meet_the_sum_one_after_the_other(name, seen):
    torch.manual_seed(5)
    module, x = nn.Sequential(nn.Conv2d(16, 16, 3)), torch.randn(2, 16, 6, 6)
    with torch.no_grad():
        got, expected = compiled(lambda x: CHAINS[name](module(x)))(x), CHAINS[name](module(x))
    torch.testing.assert_close(got, expected, rtol=1e-5, atol=1e-5 * expected.abs().max().item())


@pytest.mark.parametrize("options", [{"convolutions": False}, {"numerics": "eager"}, {"relay": False}, {"fusion": False}])
def test_switched_off(options, seen):
    module, x = nn.Conv2d(8, 16, 3), torch.randn(2, 8, 9, 9)
    with torch.no_grad():
        torch.testing.assert_close(compiled(module, options=options)(x), module(x))
    assert own(seen) == 0


def statistics(block, other, x):
    block.norms[0].running_var.data.mul_(4)


def share(block, other, x):
    block.second.weight = block.first.weight


@pytest.mark.parametrize("write", [*WRITES, statistics, share])
def test_a_weight_is_never_stale(write, seen):
    torch.manual_seed(6)
    block, other, x = Block(), Block(), torch.randn(2, 24, 8, 8)
    fast = compiled(block)
    with torch.no_grad():
        before = fast(x)
        torch.testing.assert_close(before, block(x), rtol=1e-4, atol=1e-4)
    write(block, other, x)
    with torch.no_grad():
        after = fast(x)
        torch.testing.assert_close(after, block(x), rtol=1e-4, atol=1e-4)
    assert not torch.equal(before, after) and own(seen) >= 4


def test_gradients(seen):
    torch.manual_seed(7)
    block, x = Block().train(), torch.randn(2, 24, 8, 8, requires_grad=True)
    leaves = [x, *block.parameters()]
    expected = torch.autograd.grad(copy.deepcopy(block)(x).square().sum(), [x])
    got = torch.autograd.grad(compiled(block)(x).square().sum(), leaves)
    torch.testing.assert_close(got[0], expected[0], rtol=1e-3, atol=1e-3)
    assert own(seen) == 0


def test_the_same_bits_for_every_number_of_threads_and_images(seen):
    torch.manual_seed(8)
    block, x = Block(40), torch.randn(7, 40, 13, 13)
    fast = compiled(block, dynamic=True)
    before, results = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            with torch.no_grad():
                results.append(fast(x))
    finally:
        torch.set_num_threads(before)
    with torch.no_grad():
        assert torch.equal(fast(x[2:5]), results[0][2:5])
    assert torch.equal(results[0], results[1]) and torch.equal(results[0], results[2]) and own(seen) == 8


def test_they_are_counted_and_explained(seen):
    block, x = Block().requires_grad_(False), torch.randn(2, 24, 8, 8)
    explanation = frit.explain(block)(x)
    (graph,) = explanation.graphs
    assert graph["own_convolutions"] == 2
    text = str(explanation)
    assert "2 convolutions in frit's own kernel, in 1 call" in text
    assert "a factor and a summand of channels, a residual, limits" in text
    frit.reset()
    compiled(block)(x)
    assert frit.counts()["own_convolutions"] == 2 and frit.counts()["aten_calls"] == 2
