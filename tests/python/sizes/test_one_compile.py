"""One compilation for all sizes: in every sweep frit compiles exactly as many graphs as `aot_eager`, and is correct at each size."""

import os

import checker
import pytest
import torch
import torch.nn.functional as F
from remembered import remembered

from benchmarks.programs import models
from frit import backend


def graphs_of_aot_eager(function, calls, **settings):
    """Returns the number of graphs that AOTAutograd compiles for the calls: forward, backward and inference."""
    from torch._dynamo.backends.common import aot_autograd

    compiled = []

    def count(gm, example_inputs):
        from functorch.compile import make_boxed_func

        compiled.append(gm)
        return make_boxed_func(gm.forward)

    return _sweep(function, calls, aot_autograd(fw_compiler=count), settings, lambda: len(compiled))


def graphs_of_frit(function, calls, **settings):
    seen = []

    def observe(name, *rest):
        seen.append(name)

    backend._OBSERVERS.append(observe)
    try:
        return _sweep(function, calls, "frit", settings, lambda: len(seen))
    finally:
        backend._OBSERVERS.remove(observe)


def _sweep(function, calls, chosen, settings, count):
    """Returns the number of graphs after each call, and the compiled function; results that require gradients are differentiated."""
    torch.compiler.reset()
    compiled = torch.compile(function, backend=chosen, **settings)
    counts = []
    for make in calls:
        result = compiled(*make())
        if isinstance(result, torch.Tensor) and result.requires_grad:
            result.sum().backward()
        counts.append(count())
    return counts, compiled


def compiles_as_aot_eager(function, calls, most=None, **settings):
    """Returns the function compiled for all calls, so that values can be compared."""
    question = f"graphs of {os.environ['PYTEST_CURRENT_TEST'].rpartition(' (')[0].rpartition('/')[2]}"
    theirs = remembered(question, (__file__, models.__file__), lambda: graphs_of_aot_eager(function, calls, **settings)[0])
    mine, compiled = graphs_of_frit(function, calls, **settings)
    assert mine == theirs
    assert most is None or mine[-1] <= most, mine
    return compiled


LENGTHS = [2 + (37 * k) % 60 for k in range(60)]
BATCHES = range(1, 65)
IMAGES = [(8 + (5 * k) % 23, 9 + (7 * k) % 19) for k in range(16)]


def test_sixty_caption_lengths_through_gpt2():
    model = models.gpt2().eval()

    def logits(ids):
        return model(ids).logits

    calls = [lambda n=n: (torch.arange(2 * n).reshape(2, n) % 101,) for n in LENGTHS]
    with torch.no_grad():
        compiled = compiles_as_aot_eager(logits, calls, dynamic=True)
        for make in calls[::6]:
            checker.check(logits, *make(), compiled=compiled, module=model)


def test_training_gpt2_at_many_lengths():
    model = models.gpt2(layers=1)

    def loss(ids):
        return model(ids, labels=ids).loss

    calls = [lambda n=n: (torch.arange(2 * n).reshape(2, n) % 101,) for n in LENGTHS[:12]]
    compiled = compiles_as_aot_eager(loss, calls, dynamic=True)
    for make in calls[:6]:
        model.zero_grad()
        expected = loss(*make())
        expected.backward()
        wanted = [p.grad.clone() for p in model.parameters()]
        model.zero_grad()
        actual = compiled(*make())
        actual.backward()
        torch.testing.assert_close(actual, expected)
        torch.testing.assert_close([p.grad for p in model.parameters()], wanted)


@pytest.mark.parametrize("settings", [{"dynamic": True}, {}], ids=["dynamic", "automatic"])
@pytest.mark.parametrize("train", [False, True], ids=["inference", "training"])
def test_every_batch_size_through_an_mlp(settings, train):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(12, 32), torch.nn.GELU(), torch.nn.LayerNorm(32), torch.nn.Linear(32, 3))
    model.requires_grad_(train)
    calls = [lambda n=n: (torch.sin(torch.arange(12.0 * n)).reshape(n, 12),) for n in BATCHES]
    # Size 1 has a separate graph and, without dynamic=True, so has the first size.
    compiled = compiles_as_aot_eager(model, calls, most=(2 if train else 1) * 3, **settings)
    for make in calls[::9]:
        torch.testing.assert_close(compiled(*make()), model(*make()))


def test_marked_batches_are_one_graph():
    model = torch.nn.Sequential(torch.nn.Linear(12, 32), torch.nn.ReLU(), torch.nn.Linear(32, 3)).requires_grad_(False)

    def batch(n):
        x = torch.randn(n, 12)
        torch._dynamo.mark_dynamic(x, 0, min=2, max=64)
        return (x,)

    calls = [lambda n=n: batch(n) for n in range(2, 65, 3)]
    compiles_as_aot_eager(model, calls, most=1, fullgraph=True)


def test_unbacked_batches_are_one_graph_with_sizes_zero_and_one():
    def function(x):
        return torch.softmax(x * 2, -1).sum(1)

    def batch(n):
        x = torch.randn(n, 12)
        torch._dynamo.decorators.mark_unbacked(x, 0)
        return (x,)

    compiles_as_aot_eager(function, [lambda n=n: batch(n) for n in (5, 1, 0, 9, 64)], most=1, fullgraph=True)


def test_images_of_varying_size_through_a_cnn():
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3, padding=1),
        torch.nn.BatchNorm2d(8),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(2),
        torch.nn.Conv2d(8, 8, 3, stride=2),
        torch.nn.SiLU(),
        torch.nn.AdaptiveAvgPool2d(1),
        torch.nn.Flatten(),
        torch.nn.Linear(8, 5),
    ).eval()
    calls = [lambda h=h, w=w: (torch.sin(torch.arange(2.0 * 3 * h * w)).reshape(2, 3, h, w),) for h, w in IMAGES]
    with torch.no_grad():
        compiled = compiles_as_aot_eager(model, calls, dynamic=True)
        for make in calls[::4]:
            torch.testing.assert_close(compiled(*make()), model(*make()))


def test_training_a_cnn_at_many_batches_and_image_sizes():
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3, padding=1),
        torch.nn.MaxPool2d(2),
        torch.nn.ReLU(),
        torch.nn.Conv2d(8, 8, 3, padding=1),
        torch.nn.AvgPool2d(2),
        torch.nn.SiLU(),
        torch.nn.Conv2d(8, 4, 3, padding=1),
        torch.nn.AdaptiveAvgPool2d(1),
        torch.nn.Flatten(),
    )
    calls = [lambda n=n, h=h, w=w: (torch.sin(torch.arange(3.0 * n * h * w)).reshape(n, 3, h, w),) for n, (h, w) in enumerate(IMAGES, 2)]
    compiles_as_aot_eager(model, calls, dynamic=True)


def test_products_of_two_sizes():
    def function(x):
        return (x.reshape(-1) * x.numel()).reshape(x.shape[1], x.shape[0]).sum(0), torch.arange(x.numel()) % x.shape[0]

    sizes = [(3, 4), (4, 9), (7, 2), (5, 6), (17, 33), (2, 2), (1, 8), (6, 5)]
    calls = [lambda a=a, b=b: (torch.sin(torch.arange(float(a * b))).reshape(a, b),) for a, b in sizes]
    compiled = compiles_as_aot_eager(function, calls, dynamic=True)
    for make in calls:
        checker.check(function, *make(), compiled=compiled)


def test_concatenation_of_two_pieces_that_vary():
    def function(x, y):
        whole = torch.cat([x * 2, F.relu(y)])
        return whole * torch.arange(whole.shape[0])[:, None], whole.sum(0), whole[x.shape[0] :]

    sizes = [(5, 7), (7, 5), (2, 9), (30, 3), (8, 8), (64, 33), (1, 4)]
    calls = [lambda a=a, b=b: (torch.sin(torch.arange(4.0 * a)).reshape(a, 4), torch.cos(torch.arange(4.0 * b)).reshape(b, 4)) for a, b in sizes]
    compiled = compiles_as_aot_eager(function, calls, dynamic=True)
    for make in calls:
        checker.check(function, *make(), compiled=compiled)


@pytest.mark.parametrize("buckets", [{}, {"x[0]": [8], "y[0]": [8]}], ids=["plain", "one bucket"])
def test_sizes_in_one_bucket_are_not_equal(buckets):
    """Both 5 and 7 are rounded up to 8; adding them is an error as in eager, whether or not the graph was compiled for equal sizes."""

    def function(x, y):
        return x + y

    options = {"options": {"buckets": buckets}} if buckets else {}
    compiled = torch.compile(function, backend="frit", dynamic=True, **options)
    assert torch.equal(compiled(torch.ones(5), torch.ones(5)), torch.full((5,), 2.0))
    for a, b in [(5, 7), (7, 5), (8, 7)]:
        with pytest.raises(RuntimeError) as eager:
            function(torch.ones(a), torch.ones(b))
        with pytest.raises(Exception) as mine:
            compiled(torch.ones(a), torch.ones(b))
        assert "must match the size of tensor b" in str(eager.value) and "must match the size of tensor b" in str(mine.value)
    assert torch.equal(compiled(torch.ones(7), torch.ones(7)), torch.full((7,), 2.0))
