"""Convolutions run channels-last on a CPU; what a user sees keeps eager's strides."""

import frit.backend
import pytest
import torch
import torch.nn.functional as F
from checker import check


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
    # The last result is the user's, with eager's strides, from the kernel that makes it.
    assert forward["copies"] == 0
    # Gradients of weights come channels-last from the library, and are promised as the weights lie.
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


def test_symbolic_sizes_stay_as_traced(graphs):
    compiled = torch.compile(blocks, backend="frit", fullgraph=True, dynamic=True)
    x, *weights = inputs()
    compiled(x, *weights).sum().backward()
    assert all(report["channels_last_results"] == [] for _, report in graphs)


def test_eager_numerics_keep_the_order_of_the_trace(graphs):
    compiled = torch.compile(blocks, backend="frit", fullgraph=True, options={"numerics": "eager"})
    x, *weights = inputs()
    compiled(x, *weights)
    assert graphs[0][1]["channels_last_results"] == []
