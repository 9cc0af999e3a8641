"""Dynamic sizes: correct at 0, 1, 2 and odd sizes, with exactly as many compilations as `aot_eager`."""

import checker
import pytest
import torch
import torch.nn.functional as F
from torch._dynamo.utils import counters

from benchmarks.programs import giou, programs
from benchmarks.programs.array_way import pairwise_distance
from benchmarks.programs.fused import bias_gelu_residual, residual_layer_norm, softmax
from benchmarks.programs.memory import similarity

SWEEP = (7, 5, 2, 1, 0, 3, 64, 33, 8)


def compilations(backend, function, arguments, **settings):
    """Returns the number of graphs that a backend compiles in a sequence of calls."""
    from torch._dynamo.testing import CompileCounterWithBackend

    torch.compiler.reset()
    counter = CompileCounterWithBackend(backend)
    compiled = torch.compile(function, backend=counter, **settings)
    for inputs in arguments:
        compiled(*inputs)
    return counter.frame_count


def rows(n):
    torch.manual_seed(n)
    return torch.randn(n, 12)


FUNCTIONS = {
    "softmax": (softmax, lambda n: (rows(n),)),
    "softmax over the dynamic dim": (lambda x: torch.softmax(x, 0), lambda n: (rows(n),)),
    "bias gelu residual": (bias_gelu_residual, lambda n: (rows(n), torch.randn(12), rows(n))),
    "layer norm": (residual_layer_norm, lambda n: (rows(n), rows(n), torch.randn(12), torch.randn(12))),
    "pairwise distance": (pairwise_distance, lambda n: (rows(n), torch.randn(9, 12))),
    "column sums": (lambda x: (x.sum(0), x.sum(), x.mean(1)), lambda n: (rows(n),)),
    "both dims": (lambda x: (x @ x.t()).relu().sum(-1), lambda n: (rows(n),)),
    "views": (
        lambda x: torch.cat([x[: x.shape[0] // 2], x.flip(0)]).reshape(-1, 4).t().contiguous(),
        lambda n: (rows(n),),
    ),
    "padding": (lambda x: F.pad(x, (1, 2, 3, 0)) * x.shape[0], lambda n: (rows(n),)),
    "comparison with iota": (lambda x: torch.where(torch.arange(x.shape[0]) < 3, x.sum(1), -1), lambda n: (rows(n),)),
    "triangle": (lambda x: torch.tril(x.new_ones(x.shape[0], x.shape[0])), lambda n: (rows(n),)),
    "transposed input": (lambda x: (x * 2).reshape(-1) + 1, lambda n: (rows(n).t(),)),
    "integer results": (lambda x: (x.shape[0] * 3, x.sum(), x.numel() % 5), lambda n: (rows(n),)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_dynamic_true(name):
    function, make = FUNCTIONS[name]
    compiled = torch.compile(function, backend="frit", dynamic=True)
    for n in SWEEP:
        checker.check(function, *make(n), compiled=compiled)


@pytest.mark.parametrize("name", ["softmax", "layer norm", "views", "column sums"])
def test_automatic_dynamic_compiles_as_often_as_aot_eager(name):
    function, make = FUNCTIONS[name]
    arguments = [make(n) for n in SWEEP]
    assert compilations("frit", function, arguments) == compilations("aot_eager", function, arguments)
    torch.compiler.reset()
    compiled = torch.compile(function, backend="frit")
    for inputs in arguments:
        checker.check(function, *inputs, compiled=compiled)


def test_marked_dimensions_compile_once():
    def function(x):
        return torch.softmax(x * 2, -1).sum(0)

    arguments = []
    for n in (5, 9, 30, 17):
        x = rows(n)
        torch._dynamo.mark_dynamic(x, 0, min=2, max=64)
        arguments.append((x,))
    assert compilations("frit", function, arguments, fullgraph=True) == 1
    torch.compiler.reset()
    compiled = torch.compile(function, backend="frit", fullgraph=True)
    for inputs in arguments:
        checker.check(function, *inputs, compiled=compiled)


def test_a_size_used_in_arithmetic():
    def function(x, y):
        n, m = x.shape[0], y.shape[0]
        return x.sum() * (n + m), torch.full((n, m), n / m), x[:, None].expand(n, m) + y

    compiled = torch.compile(function, backend="frit", dynamic=True)
    for n, m in [(3, 4), (4, 4), (2, 9), (17, 5)]:
        checker.check(function, torch.randn(n), torch.randn(m), compiled=compiled)


def test_similarity_over_sizes():
    compiled = torch.compile(similarity, backend="frit", dynamic=True)
    for k, n in [(4, 9), (3, 17), (8, 33), (2, 2)]:
        checker.check(similarity, torch.randn(k, n), torch.randn(k, n + 1), compare="exact", compiled=compiled)


def test_concatenated_boxes_of_varying_number():
    compiled = torch.compile(giou.loss_concatenated, backend="frit", dynamic=True)
    for n in (11, 5, 64, 33):
        checker.check(
            giou.loss_concatenated, giou.boxes(n).requires_grad_(), giou.boxes(n), training=True, compiled=compiled
        )


def test_static_sampling_over_sizes():
    function, _ = programs()["sampling, static"].make("test")
    compiled = torch.compile(function, backend="frit", dynamic=True)
    for n in (100, 250, 131):
        items, labels = torch.randn(n, 16), torch.randint(0, 2, (n,))
        checker.check(function, items, labels, compare="exact", seed=n, compiled=compiled)


def test_training_under_dynamic_shapes():
    layer = torch.nn.Sequential(torch.nn.Linear(12, 8), torch.nn.LayerNorm(8), torch.nn.GELU(), torch.nn.Linear(8, 3))
    compiled = torch.compile(layer, backend="frit", dynamic=True)
    for n in (4, 7, 3, 16):
        expected = torch.autograd.grad(layer(rows(n)).square().sum(), list(layer.parameters()))
        actual = torch.autograd.grad(compiled(rows(n)).square().sum(), list(layer.parameters()))
        for a, e in zip(actual, expected):
            torch.testing.assert_close(a, e)


def test_python_floats_and_ints_as_arguments():
    def function(x, scale, n):
        return x * scale + n, x.sum() / (scale + 1), torch.full((3,), scale)

    compiled = torch.compile(function, backend="frit", dynamic=True)
    for scale, n in [(0.5, 3), (1.25, 4), (-2.0, 9)]:
        checker.check(function, torch.randn(5), scale, n, compiled=compiled)


def test_unbacked_sizes():
    def function(x):
        kept = x[x > 0]
        return kept * 2, kept.sum(), torch.cat([kept, kept]).shape[0]

    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        compiled = torch.compile(function, backend="frit", fullgraph=True)
        for x in (torch.tensor([1.0, -1.0, 2.0]), torch.ones(5), -torch.ones(4), torch.randn(33)):
            checker.check(function, x, compiled=compiled)


def test_an_index_that_the_host_reads_orders_kernels():
    """The kernel that writes at the index depends on the kernel that computes it, although it is not an operand."""

    def function(x):
        index = x.argmax().item()
        torch._check(index >= 0)
        torch._check(index < x.numel())
        x[index] = 0
        return x * 2

    with torch._dynamo.config.patch(capture_scalar_outputs=True):
        x = torch.tensor([1.0, 3.0, 2.0])
        result = torch.compile(function, backend="frit", fullgraph=True, options={"strict": True})(x)
    assert x.tolist() == [1, 0, 2] and result.tolist() == [2, 0, 4]


@pytest.mark.parametrize(
    "function, shapes",
    [
        (lambda a: a.diagonal(1, 0, 1) + a, [(2, 2)]),
        (lambda a: a[..., ::3] % (a.abs() + 1), [(2, 2), (3, 3)]),
        (lambda a: torch.tensor_split(a, 3)[0] + a, [(2, 2), (3, 3)]),
        (lambda a: a[: a.shape[0] // 2] * a, [(2, 2), (3, 3)]),
        (lambda a: a[1::2].roll((1, -1), (0, -1)) + a[0], [(2, 2), (3, 3)]),
        (lambda a: a[: a.shape[0] // 2] * a if a.shape[0] < 4 else a, [(2, 5), (3, 5)]),
        (lambda a: F.conv2d(a[None, None], torch.ones(1, 1, 2, 2), stride=2) + a, [(3, 3), (2, 2)]),
        (lambda a: a.view(a.shape[0] // 3, 3, -1).sum(0) + a.view(-1, 3, a.shape[1])[0], [(3, 4)]),
    ],
)
def test_sizes_that_torch_guards_to_be_a_number(function, shapes):
    """`s // 2` that is guarded to be 1 stays `s // 2` in torch's sizes, beside a 1 in others."""
    counters.clear()
    compiled = torch.compile(function, backend="frit", dynamic=True)
    for shape in shapes:
        a = torch.randn(shape)
        torch.testing.assert_close(compiled(a), function(a))
    assert counters["frit"]["aten_calls"] == ("conv2d" in function.__code__.co_names)
