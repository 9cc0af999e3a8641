"""Convolutions run channels-last on a CPU; results have eager's strides."""

import pytest
import torch
import torch.nn.functional as F
from checker import check

import frit.backend


@pytest.fixture
def graphs():
    seen = []

    def observe(name, stage, captured, report, executable):
        seen.append((stage, report))

    frit.backend._OBSERVERS.append(observe)
    yield seen
    frit.backend._OBSERVERS.remove(observe)


def blocks(x, *weights):
    for weight in weights:
        x = F.relu(F.max_pool2d(F.conv2d(torch.sin(x), weight, padding=1), 2))
    return x


def inputs(grad=True):
    torch.manual_seed(0)
    x = torch.randn(2, 3, 16, 16)
    weights = [torch.randn(8, 3, 3, 3), torch.randn(5, 8, 3, 3)]
    return x, *(w.requires_grad_(grad) for w in weights)


def test_no_copies_between_convolutions_and_none_for_the_backward(graphs):
    compiled = torch.compile(blocks, backend="frit", fullgraph=True)
    x, *weights = inputs()
    compiled(x, *weights).sum().backward()
    forward, backward = (report for _, report in graphs)
    assert len(forward["channels_last_results"]) >= 4
    # The kernel of the last result, which the user gets, writes it with eager's strides.
    assert forward["copies"] == 0
    # The library returns gradients of weights channels-last, but the promised strides are those of the weights.
    assert backward["copies"] <= 2 and backward["channels_last_results"] == []


def test_results_and_gradients_are_as_in_eager():
    check(blocks, *inputs(), training=True)


def test_one_channel_and_one_pixel():
    def call(x, w, v):
        return F.conv2d(torch.cos(F.conv2d(x, w, padding=1)), v)

    torch.manual_seed(0)
    check(call, torch.randn(2, 1, 3, 3), torch.randn(4, 1, 3, 3).requires_grad_(), torch.randn(1, 4, 3, 3).requires_grad_(), training=True)


def test_a_saved_result_that_the_user_gets_too_keeps_its_strides(graphs):
    def call(x, w, v):
        y = F.conv2d(x, w, padding=1)
        return y, F.conv2d(y.exp(), v, padding=1)

    torch.manual_seed(0)
    check(call, torch.randn(2, 3, 8, 8), torch.randn(4, 3, 3, 3).requires_grad_(), torch.randn(2, 4, 3, 3).requires_grad_(), training=True)


def test_strided_views_of_saved_results_in_the_backward():
    def call(x, w):
        y = F.conv2d(x, w, padding=1)
        return y.as_strided((4, 8), (9, 2), 1).sin() * y.flatten()[:8]

    torch.manual_seed(0)
    check(call, torch.randn(2, 3, 8, 8), torch.randn(4, 3, 3, 3).requires_grad_(), training=True)


class Blocks(torch.nn.Module):
    """`blocks` with weights whose sizes are never symbolic."""

    def __init__(self):
        super().__init__()
        _, *weights = inputs()
        self.weights = torch.nn.ParameterList(weights)

    def forward(self, x):
        return blocks(x, *self.weights)


def marking(mark, dims, function):
    """`function`, whose first argument has symbolic sizes along `dims`."""

    def call(x, *rest):
        for dim in dims:
            mark(x, dim)
        return function(x, *rest)

    return call


@pytest.mark.parametrize("symbolic", ["batch", "sizes"])
def test_symbolic_sizes_run_channels_last_as_well(graphs, symbolic):
    module = Blocks()
    if symbolic == "batch":
        compiled = marking(torch._dynamo.mark_dynamic, [0], torch.compile(module, backend="frit", fullgraph=True))
        shapes = [(4, 3, 16, 18), (7, 3, 16, 18)]
    else:
        compiled = torch.compile(module, backend="frit", fullgraph=True, dynamic=True)
        shapes = [(4, 3, 16, 18), (7, 3, 33, 40), (5, 3, 40, 17)]
    for shape in shapes:
        check(module, torch.randn(*shape), training=True, module=module, compiled=compiled)
    (_, forward), (_, backward) = graphs
    assert len(forward["channels_last_results"]) >= 4
    # The kernel of the user's result writes eager's strides; gradients of weights are copied to eager's strides.
    assert forward["copies"] == 0 and backward["copies"] <= 2
    assert [step for step in backward["order"] if "copy" in step] == backward["order"][-backward["copies"] :]


@pytest.mark.parametrize("dims", [(0,), (0, 2, 3)], ids=str)
def test_sizes_that_become_zero_or_one(graphs, dims):
    def call(x, w, v):
        return F.conv2d(torch.cos(F.conv2d(torch.sin(x), w, padding=1)), v)

    torch.manual_seed(0)
    w, v = torch.randn(4, 2, 3, 3).requires_grad_(), torch.randn(1, 4, 1, 1).requires_grad_()
    compiled = marking(torch._dynamo.decorators.mark_unbacked, dims, torch.compile(call, backend="frit", fullgraph=True))
    shapes = [(3, 2, 4, 5), (1, 2, 4, 5), (0, 2, 4, 5)]
    if len(dims) > 1:
        shapes += [(1, 2, 1, 1), (2, 2, 1, 7), (0, 2, 1, 1), (2, 2, 6, 1)]
    for shape in shapes:
        check(call, torch.randn(*shape), w, v, training=True, compiled=compiled)
    assert [stage for stage, _ in graphs] == ["forward", "backward"]
    assert graphs[0][1]["channels_last_results"]


def test_a_symbolic_saved_result_that_the_user_gets_too_keeps_its_strides():
    def call(x, w, v):
        y = F.conv2d(torch.sin(x), w, padding=1)
        return y, F.conv2d(y.exp(), v, padding=1)

    torch.manual_seed(0)
    w, v = torch.randn(4, 3, 3, 3).requires_grad_(), torch.randn(2, 4, 3, 3).requires_grad_()
    check(call, torch.randn(2, 3, 8, 9), w, v, training=True, dynamic=True)


@pytest.mark.parametrize("dynamic", [False, True])
@torch._functorch.config.patch(donated_buffer=False)  # required by torch
def test_a_backward_that_runs_twice(dynamic):
    compiled = torch.compile(blocks, backend="frit", fullgraph=True, dynamic=dynamic)
    x, *weights = inputs()
    result, expected = compiled(x, *weights), blocks(x, *weights)
    for _ in range(2):
        torch.testing.assert_close(
            torch.autograd.grad(result.sin().sum(), weights, retain_graph=True),
            torch.autograd.grad(expected.sin().sum(), weights, retain_graph=True),
            rtol=1e-4,
            atol=1e-4,
        )


def test_two_compilations_of_one_function_whose_backwards_come_late():
    """The backward for static sizes is compiled at its first run; each finds the layouts of its own forward."""
    compiled = torch.compile(blocks, backend="frit", fullgraph=True, dynamic=False)
    _, *weights = inputs()
    images = [torch.randn(2, 3, size, 16) for size in (16, 20, 24)]
    results = [compiled(x, *weights) for x in images]
    torch.compiler.reset()
    for x, result in reversed(list(zip(images, results))):
        torch.testing.assert_close(
            torch.autograd.grad(result.sin().sum(), weights),
            torch.autograd.grad(blocks(x, *weights).sin().sum(), weights),
            rtol=1e-4,
            atol=1e-4,
        )


@pytest.mark.parametrize("dynamic", [False, True])
def test_eager_numerics_keep_the_order_of_the_trace(graphs, dynamic):
    compiled = torch.compile(blocks, backend="frit", fullgraph=True, dynamic=dynamic, options={"numerics": "eager"})
    x, *weights = inputs()
    compiled(x, *weights).sum().backward()
    assert all(report["channels_last_results"] == [] for _, report in graphs)


def test_a_network_in_eval_at_symbolic_sizes(graphs):
    """Batch normalisation, whose strides frit corrects, after a convolution whose result's sizes are expressions."""
    from benchmarks.programs.exported import EXPORTED

    program = EXPORTED["resnet"]
    module = program.module()
    compiled = torch.compile(module, backend="frit", fullgraph=True, dynamic=True)
    for sizes in ((4, 40, 48), (2, 33, 47), (3, 63, 64)):
        check(module, *program.inputs(*sizes), compiled=compiled, module=module)
    assert len(graphs) == 1
