"""Equal regions are one kernel: within a graph, between graphs of a process, and for the layers of a model."""

import pytest
import torch
from torch._dynamo.utils import counters

import frit


def scaled(x, y):
    return (x * y + 1).relu().sum(-1)


def rounded(x, y):
    return (x * y + 1).relu().sum(-1).round()


def kernels_of(layers):
    """Distinct kernels of a model of equal layers, and the launches of one call."""
    from frit import backend
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(n_layer=layers, n_head=2, n_embd=32, vocab_size=64, n_positions=32, attn_implementation="eager")
    model = GPT2LMHeadModel(config).eval()
    names = []
    observe = lambda name, stage, captured, report, executable: names.extend(kernel["name"] for kernel in report["kernels"])  # noqa: E731
    backend._OBSERVERS.append(observe)
    try:
        torch.compiler.reset()
        with torch.no_grad():
            torch.compile(model, backend="frit")(torch.arange(16)[None], use_cache=False)
    finally:
        backend._OBSERVERS.remove(observe)
    return set(names), frit.counts()["kernel_launches"]


def test_twelve_layers_have_the_kernels_of_two():
    two, few = kernels_of(2)
    twelve, many = kernels_of(12)
    assert len(twelve) <= 1.3 * len(two)
    assert many > 4 * few


def test_a_kernel_of_another_graph_is_not_compiled_again():
    torch.compiler.reset()
    x, y = torch.randn(8, 16), torch.randn(8, 16)
    first = torch.compile(scaled, backend="frit")
    torch.testing.assert_close(first(x, y), scaled(x, y))
    assert counters["frit"]["kernels_reused"] == 0
    again = torch.compile(lambda a, b: scaled(a, b), backend="frit")
    assert torch.equal(again(x, y), first(x, y))
    assert counters["frit"]["kernels_reused"] == 1
    other = torch.compile(rounded, backend="frit")
    assert torch.equal(other(x, y), first(x, y).round())
    assert counters["frit"]["kernels_reused"] == 1, "a kernel with a different end is another kernel"


def test_reset_forgets_them():
    torch.compiler.reset()
    x, y = torch.randn(8, 16), torch.randn(8, 16)
    torch.compile(scaled, backend="frit")(x, y)
    torch.compiler.reset()
    torch.compile(scaled, backend="frit")(x, y)
    assert counters["frit"]["kernels_reused"] == 0


@pytest.mark.parametrize("layers", [2, 12])
def test_a_region_that_the_user_names_is_compiled_once(layers):
    @torch.compiler.nested_compile_region
    def layer(x, weight):
        return ((x @ weight).sin() * 2 + x.cos()).softmax(-1)

    def model(x, weight):
        for _ in range(layers):
            x = layer(x, weight)
        return x

    torch.compiler.reset()
    x, weight = torch.randn(4, 8), torch.randn(8, 8)
    compiled = torch.compile(model, backend="frit", fullgraph=True)
    torch.testing.assert_close(compiled(x, weight), model(x, weight))
    assert counters["frit"]["kernels"] == 1


class Layer(torch.nn.Module):
    """A transformer's layer; its formula may be a region that the user names."""

    def __init__(self, width, region):
        super().__init__()
        self.norm1, self.norm2 = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.qkv, self.out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
        self.up, self.down = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)
        self.region = region

    def forward(self, x):
        return named(self, x) if self.region else formula(self, x)


def formula(layer, x):
    q, k, v = layer.qkv(layer.norm1(x)).chunk(3, -1)
    weights = torch.softmax(q @ k.transpose(1, 2) * 0.25, -1)
    x = x + layer.out(weights @ v)
    return x + layer.down(torch.nn.functional.gelu(layer.up(layer.norm2(x))))


named = torch.compiler.nested_compile_region(lambda layer, x: formula(layer, x))


def trained(count, region):
    """Kernels compiled for each stage and launches of a step of training a model of equal layers."""
    from frit import backend

    torch.manual_seed(0)
    model = torch.nn.Sequential(*(Layer(16, region) for _ in range(count)))
    x = torch.randn(2, 8, 16)
    model(x).square().mean().backward()
    expected = [parameter.grad.clone() for parameter in model.parameters()]
    model.zero_grad()
    kernels = {}
    observe = lambda name, stage, captured, report, executable: kernels.update({stage: len(report["kernels"])})  # noqa: E731
    backend._OBSERVERS.append(observe)
    try:
        torch.compiler.reset()
        torch.compile(model, backend="frit", fullgraph=True)(x).square().mean().backward()
    finally:
        backend._OBSERVERS.remove(observe)
    torch.testing.assert_close([parameter.grad for parameter in model.parameters()], expected, rtol=2e-4, atol=1e-6)
    return kernels, frit.counts()["kernel_launches"]


@pytest.mark.parametrize("region", [False, True], ids=["found", "named"])
def test_training_twelve_layers_compiles_the_kernels_of_three(region):
    """What compiling kernels costs follows their number, forward and backward. Three: the first and the last layer have neighbours of their own."""
    three, few = trained(3, region)
    twelve, many = trained(12, region)
    assert set(three) == set(twelve) == {"forward", "backward"}
    assert twelve == three
    assert many > 3 * few
