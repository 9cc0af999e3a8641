"""Classes of silent errors, part two: shapes, strides, aliasing, order, growth. Names of tests contain the number of the class."""

import checker
import pytest
import torch
import torch.nn.functional as F
from torch._dynamo.utils import counters

from frit import backend


def both(function, *inputs, **settings):
    """Checks with static and dynamic shapes."""
    for dynamic in (False, True):
        torch.compiler.reset()
        checker.check(function, *inputs, dynamic=dynamic, **settings)


def test_class_01_offsets_beyond_32_bits():
    """An expanded operand has a domain beyond element 2^31 + 63 without the memory for it."""
    base = torch.zeros(2**31 + 64, dtype=torch.uint8)
    base[-64:] = torch.arange(64, dtype=torch.uint8)

    def function(x):
        return torch.cat([x[-70:], x[:6]]) + 1, x[2**31 - 3 :: 5] * 2, x.view(-1, 64)[-1].sum()

    checker.check(function, base, compare="exact")


def test_class_17_empty_tensors():
    for shape in [(0,), (0, 3), (3, 0), (2, 0, 4)]:
        x = torch.randn(shape)

        def function(x):
            return (
                x + 1,
                x.sum(),
                x.sum(-1),
                x.sum(0),
                x.mean(0),
                x.prod(-1),
                x.any(),
                x.all(-1),
                torch.cat([x, x]),
                torch.softmax(x, -1),
                x.reshape(-1),
                x.var(0),
                torch.linalg.vector_norm(x),
                torch.logsumexp(x, 0),
                F.pad(x, (1, 1)),
                x.flip(0),
                torch.where(x > 0, x, 0),
            )

        both(function, x)
        if len(shape) == 2:
            both(function, x.bfloat16())


def test_class_17_reductions_without_identity_raise_as_eager():
    for function in (lambda x: x.amax(0), lambda x: x.argmax(), lambda x: x.max(0).values, lambda x: x.min()):
        torch.compiler.reset()
        for call in (function, torch.compile(function, backend="frit")):
            with pytest.raises((RuntimeError, IndexError), match="(?i)numel|non-zero|dim"):
                call(torch.empty(0))


def test_class_18_rank_zero_with_a_dim():
    def function(x):
        return (
            x.sum(0),
            x.mean(-1),
            x.amax(0),
            x.argmax(0),
            torch.cumsum(x, 0),
            x.max(-1),
            torch.sort(x, 0),
            torch.softmax(x, 0),
            x.unsqueeze(0),
            x.expand(3) + 1,
            x.any(0),
            torch.var(x, 0, correction=0),
        )

    both(function, torch.tensor(2.5))
    both(function, torch.tensor(2.5, dtype=torch.bfloat16))


def test_class_19_overlapping_inputs():
    base = torch.randn(9)
    expanded = base[:1].expand(4)
    windows = base.as_strided((4, 3), (2, 1))

    def function(x, w):
        return x * 2 + w.sum(1), w.reshape(-1), (w + 1).t().contiguous()

    both(function, expanded, windows)


def test_class_19_writing_to_an_expanded_tensor_raises():
    def function(x):
        x.add_(1)
        return x

    for call in (function, torch.compile(function, backend="frit")):
        with pytest.raises(RuntimeError):
            call(torch.randn(1).expand(4))


def test_class_20_views_of_non_contiguous_inputs():
    x = torch.randn(4, 6, 8)
    for view in (x.permute(2, 0, 1), x[:, ::2], x.transpose(0, 1)[1:], x[1:3, :, 2:7]):

        def function(x):
            return (
                x.reshape(-1) * 2,
                x.reshape(x.shape[0], -1).sum(1),
                x.unsqueeze(1) + 1,
                x.flatten(1).t() * 3,
                x.contiguous().view(-1, x.shape[-1])[1:],
            )

        both(function, view)
    both(function, x.bfloat16().permute(2, 0, 1))


def test_class_21_strides_of_results():
    x = torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last)
    w = torch.randn(6, 3, 3, 3)

    def function(x, w):
        return (
            x + 1,
            x.permute(0, 2, 3, 1) * 2,
            torch.relu(F.conv2d(x, w, padding=1)),
            x.sum(1, keepdim=True),
            x.clone(memory_format=torch.contiguous_format),
            torch.empty_like(x).fill_(1),
            x.mT + 1,
            x[:, 1:],
            torch.cat([x, x], 1),
        )

    both(function, x, w)
    both(function, x.bfloat16(), w.bfloat16())


def test_class_22_as_strided_on_relaid_tensors():
    x = torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last)

    def function(x):
        rolled = x.roll(1, 2)
        return rolled.as_strided((2, 5), (60, 3)) * 2, x.as_strided((3, 4), (1, 15), 2) + 1

    checker.check(function, x)

    # A compiler need not preserve eager's order of dims.
    def turned(x):
        return (x * 2).as_strided((3, 4), (1, 15), 2) + 1, (x + 1).relu().as_strided((2, 5), (60, 3))

    both(turned, x.permute(3, 0, 2, 1))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.uint8], ids=str)
def test_class_23_every_storage_offset(dtype):
    base = torch.arange(120).to(dtype)

    def function(*views):
        return [v * 2 for v in views] + [v.sum() for v in views]

    checker.check(function, *[base[i : i + 67] for i in range(16)], compare="exact")
    torch.compiler.reset()
    compiled = torch.compile(lambda x: x * 2 + 1, backend="frit", dynamic=True)
    for offset in range(16):
        checker.check(lambda x: x * 2 + 1, base[offset : offset + 40], compare="exact", compiled=compiled)


def test_class_24_order_of_mutations():
    def function(x, y):
        before = x * 2
        x[1:] = y[:-1]
        between = x + 1
        x.view(-1)[::2].mul_(3)
        y.copy_(x)
        x.add_(y)
        joined = torch.cat([x, y])
        x.zero_()
        return before, between, joined, x.view(torch.int32) + 1

    both(function, torch.randn(6), torch.randn(6))
    both(function, torch.randn(6).half(), torch.randn(6).half(), compare="exact")


def test_class_24_arguments_that_change_places():
    def rotate(x, y, z):
        old = x.clone()
        x.copy_(y)
        y.copy_(z * 2)
        z.copy_(old)
        return x + z

    both(rotate, torch.randn(6), torch.randn(6), torch.randn(6), compare="exact")


def test_class_24_reading_a_shifted_input_that_is_overwritten():
    def function(x):
        x.copy_(x.flip(0) + x.roll(1, 0))
        return x.sum()

    both(function, torch.randn(37, 5))


def test_class_25_aliasing_of_inputs_and_outputs():
    def function(x, y):
        return x, x.view(-1), x[1:], y.t(), y.t() + 0, x.expand(2, *x.shape)

    both(function, torch.randn(3, 4), torch.randn(2, 5))

    def clones(x):
        y = x + 1
        return y, y.clone(), y.view(-1), y

    both(clones, torch.randn(3, 4))


@pytest.mark.parametrize("begin", [4, 2], ids=["side by side", "overlapping"])
def test_class_25_inputs_of_one_storage(begin):
    def mutated(x, y):
        x.mul_(2)
        return x + y

    compiled = torch.compile(mutated, backend="frit")
    base = torch.randn(8)
    for arguments in [(torch.randn(4), torch.randn(4)), (base[:4], base[begin : begin + 4])]:
        checker.check(mutated, *arguments, compiled=compiled)


def test_class_26_reused_buffers():
    def function(x):
        for _ in range(6):
            y = torch.sort(x * 1.5, dim=-1).values
            x = (y - y.mean(-1, keepdim=True)).tanh() + torch.cumsum(x, 0)[-1]
        return x, x.sum()

    both(function, torch.randn(7, 33))
    both(function, torch.randn(7, 33).bfloat16())

    # A value that is read again after other values of its size were computed.
    def kept(x):
        first = x.sin()
        part = first - first.sum(0)
        return torch.sort(part, -1).values + first, torch.cumsum(first, 1)

    both(kept, torch.randn(70, 33))


def test_class_27_repeated_runs_agree_bit_for_bit():
    compiled = torch.compile(lambda x: (torch.softmax(x, 0), x.sum(), x.sum(0), x.var(1)), backend="frit")
    x = torch.randn(511, 130)
    first = compiled(x)
    for _ in range(50):
        assert all(torch.equal(a, b) for a, b in zip(compiled(x), first))


INDEXED = {
    "embedding": lambda table, index: F.embedding(index, table) + 1,
    "gather": lambda table, index: table.gather(0, index[:, None].expand(-1, table.shape[1])) * 2,
    "gather, dim 1": lambda table, index: table.gather(1, index[None].expand(table.shape[0], -1)) * 2,
    "index_select": lambda table, index: table.index_select(0, index) * 2,
    "index_select, dim 1": lambda table, index: table.index_select(1, index) * 2,
    "index": lambda table, index: table[index] * 2,
    "index, dim 1": lambda table, index: table[:, index] * 2,
    "index, two": lambda table, index: table[index.clamp(0, 6), index] * 2,
    "scatter": lambda table, index: (table * 2).scatter(1, index[:, None], 1.0)[:, :4],
    "nll_loss": lambda table, index: F.nll_loss(table, index),
    "cross_entropy": lambda table, index: F.cross_entropy(table, index, ignore_index=-1) + 1,
}


@pytest.mark.parametrize("name", INDEXED)
def test_class_28_indices_out_of_range(name):
    """Indices are accepted or refused as in eager, with eager's exception type and message, and nothing is read out of bounds."""
    function, table = INDEXED[name], torch.randn(3, 7) if "1" in name or name in ("scatter", "nll_loss", "cross_entropy") else torch.randn(7, 5)
    for bad in ([0, 7, 1], [2, -8, 0], [1 << 40, 0, 0], [-1, 0, 6]):
        for half in (False, True):
            x, index = table.bfloat16() if half else table, torch.tensor(bad)
            compiled = torch.compile(function, backend="frit")
            try:
                function(x, index)
            except (IndexError, RuntimeError):
                checker.check_raises_as_eager(function, x, index, compiled=compiled)
                good = torch.tensor([0, 4, 3])
                checker.check(function, x, good, compiled=compiled)
            else:
                checker.check(function, x, index, compiled=compiled)


def test_class_29_specialisation_does_not_outlive_its_guard():
    def function(x):
        return x.sum() + (10 if x.shape[0] > 6 else 20), x.reshape(-1, 2).sum(1) if x.shape[0] % 2 == 0 else x

    compiled = torch.compile(function, backend="frit")
    for n in (4, 5, 6, 7, 8, 1, 0, 16, 2):
        checker.check(function, torch.randn(n), compiled=compiled)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("poison", [float("nan"), 3e38, -3e38], ids=str)
def test_class_30_what_lies_beside_a_tensor_is_never_seen(poison, dtype):
    """Inputs are inside of storage full of poison, at sizes around the widths of vectors and tiles: no lane beyond the logical size
    may affect a result."""

    def function(x, y):
        masked = x.masked_fill(y > 1, -1.0)
        return (
            x.sum(),
            x.sum(0),
            x.mean(-1),
            x.amax(1),
            x.argmin(0),
            x.argmax(),
            torch.softmax(x, -1),
            torch.softmax(y, 0),
            torch.logsumexp(x, 1),
            torch.linalg.vector_norm(x, dim=1),
            x.var(1),
            torch.nn.functional.layer_norm(x, x.shape[-1:]),
            torch.cumsum(masked, 1),
            (x - y).abs().lt(1).sum(0),
            x.t() @ y,
            (x > 5).any(),
        )

    compiled = torch.compile(function, backend="frit", dynamic=True)
    for rows, columns in [(3, 2), (7, 17), (16, 33), (5, 255), (65, 31)]:
        storage = torch.full((2, rows + 6, columns + 9), poison, dtype=dtype)
        inputs = storage[:, 3 : 3 + rows, 5 : 5 + columns]
        torch.manual_seed(rows)
        inputs.copy_(torch.randint(-9, 10, (2, rows, columns)))
        checker.check(function, inputs[0], inputs[1], compiled=compiled)


def test_class_31_random_numbers():
    def function(x):
        return torch.rand_like(x), F.dropout(x, 0.3), torch.randn(5), torch.bernoulli(x.sigmoid()), torch.randperm(9), torch.randn(5), torch.rand(3) - torch.rand(3)

    both(function, torch.randn(33), compare="exact", seed=5)
    compiled = torch.compile(lambda x: F.dropout(x * 2, 0.5), backend="frit")
    torch.manual_seed(1)
    first, second = compiled(torch.ones(64)), compiled(torch.ones(64))
    assert not torch.equal(first, second)
    torch.manual_seed(1)
    assert torch.equal(compiled(torch.ones(64)), first)


def test_class_31_dropout_masks_agree_between_forward_and_backward():
    x = torch.ones(257, requires_grad=True)
    y = torch.compile(lambda x: F.dropout(x.sin(), 0.5), backend="frit")(x)
    y.sum().backward()
    assert torch.equal(x.grad != 0, y != 0)


def test_class_32_gradients_on_ties():
    x = torch.tensor([[1.0, 3.0, 3.0, 2.0], [2.0, 2.0, 2.0, 2.0]], requires_grad=True)

    def function(x):
        return x.amax(1), x.amin(0), x.max(1).values, torch.maximum(x, x.flip(1)), x.abs(), x.clamp(2, 3), torch.relu(x - 2)

    both(function, x, training=True)


def test_class_33_complex_values_are_left_to_aten():
    def function(x):
        z = torch.fft.fft(x)
        return (z * z.conj()).real.sum(-1), torch.view_as_real(z * 2) + 1, z.abs() * 3

    both(function, torch.randn(4, 16))

    # Results that share memory and are lazily conjugated or negated.
    def lazy(x):
        z = torch.fft.fft(x)
        return z, z.conj(), z.mT.conj()

    both(lazy, torch.randn(4, 16))
    both(lambda x: (torch.fft.fft(x).conj().imag, torch.fft.fft(x).conj().real * 2), torch.randn(4, 16))
    assert any(key.startswith("aten:") and "fft" in key for key in counters["frit"])


def test_class_34_rewrites_on_and_off_agree_on_integer_values():
    def function(x, y):
        z = (x * y + x).relu()
        return z.sum(1), (z - z.amax(1, keepdim=True)).clamp(-50, 50), z.flip(0)[1:] * 2, torch.cat([z, x]).sum(0), F.pad(z, (2, 3), value=7.0)[:, 1:] + 1

    x, y = (torch.randint(-9, 9, (17, 33)).float() for _ in range(2))
    results = []
    for fusion in (True, False):
        torch.compiler.reset()
        results.append(torch.compile(function, backend="frit", options={"fusion": fusion})(x, y))
    for a, b, expected in zip(*results, function(x, y)):
        assert torch.equal(a, b) and torch.equal(a, expected)


def test_class_35_results_survive_later_runs():
    compiled = torch.compile(lambda x: torch.sort(x * 2).values + 1, backend="frit")
    held = [(compiled(torch.full((50,), float(i))), i) for i in range(20)]
    assert all((result == 2 * i + 1).all() for result, i in held)


def test_class_36_deep_and_wide_graphs():
    from torch.fx.experimental.proxy_tensor import make_fx

    from frit import options

    def wide(x):
        return tuple(x * i + 1 for i in range(1000))

    gm = make_fx(wide, tracing_mode="fake")(torch.ones(5))
    run = backend.compile_graph(gm, [], settings=options.resolve(), stage="inference")
    results = run([torch.arange(5.0)])
    assert all(torch.equal(r, torch.arange(5.0) * i + 1) for i, r in enumerate(results))
