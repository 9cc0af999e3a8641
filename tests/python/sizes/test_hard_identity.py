"""Hard programs 16, 17, 18 and 20: effects other than values. Generators, memory beyond the logical size, stored results, errors, equal sizes."""

import checker
import pytest
import torch
import torch.nn.functional as F
from hard_programs import BUCKET, randn
from test_hard_sizes import Counting

SETTINGS = {"plain": {}, "padded and poisoned": {"padding": "force", "poison": True}}
pytestmark = pytest.mark.parametrize("options", SETTINGS.values(), ids=SETTINGS)


def compiled_with(options, function, dynamic=True):
    counting = Counting("frit", options)
    return torch.compile(function, backend=counting, dynamic=dynamic, fullgraph=True), counting


def test_16_the_generator_moves_by_the_logical_size(options):
    def function(x):
        return F.dropout(x, 0.5), torch.rand(3)

    graphs = {}
    for backend in ("aot_eager", "frit"):
        torch.compiler.reset()
        counting = Counting(backend, options if backend == "frit" else None)
        compiled = torch.compile(function, backend=counting, dynamic=True, fullgraph=True)
        for n in (5, BUCKET - 1, BUCKET, BUCKET + 1):
            states = []
            for call in (function, compiled):
                torch.manual_seed(n)
                call(randn(n, 5))
                states.append(torch.get_rng_state())
            assert torch.equal(*states)
        graphs[backend] = counting.graphs
    assert graphs["frit"] == graphs["aot_eager"]


@pytest.mark.parametrize("n", [1, 2, 5, BUCKET - 1])
def test_17_memory_beside_a_slice_is_not_written(options, n):
    """`x` is a part of a larger tensor, and the user still needs the elements after it."""

    def function(x, w):
        x.add_(1)
        x[:, -1] = 0
        return x @ w

    def call(run):
        big = randn(BUCKET, 6)
        return run(big[:n], randn(6, 4)), big

    compiled, _ = compiled_with(options, function)
    expected, actual = call(function), call(compiled)
    torch.testing.assert_close(actual[0], expected[0])
    assert torch.equal(actual[1], expected[1])


def test_17_aliases_expanded_and_shifted_arguments(options):
    def function(a, b):
        return a[: b.shape[0]] * b, (a + 1).sum(), b.exp()

    compiled, _ = compiled_with(options, function)
    for n in (5, 3, BUCKET, BUCKET + 1):
        base = randn(n + 1, 4)
        checker.check(function, base, base[1:], compiled=compiled)
        checker.check(function, randn(1, 4).expand(n + 1, 4), randn(n, 4), compiled=compiled)
        storage = randn(4 * n + 5)
        checker.check(function, storage[1 : 4 * n + 5].view(n + 1, 4), randn(n, 4), compiled=compiled)


def test_18_results_are_kept_over_later_calls(options):
    def function(x, w):
        y = (x @ w).relu()
        return y.t(), y[1:], y, x * 2

    compiled, counting = compiled_with(options, function)
    kept = []
    for n in (5, BUCKET, 3, BUCKET + 1, 24):
        inputs = randn(n, 6), randn(6, 4)
        results = compiled(*inputs)
        kept.append((results, [x.clone() for x in results], function(*inputs)))
        for actual, expected in zip(results, function(*inputs)):
            assert actual.stride() == expected.stride() and actual.storage_offset() == expected.storage_offset()
            assert actual.untyped_storage().nbytes() == expected.untyped_storage().nbytes()
    for results, copies, expected in kept:
        for actual, then, right in zip(results, copies, expected):
            assert torch.equal(actual, then)
            torch.testing.assert_close(actual, right)
    assert counting.graphs == 1


def test_20_sizes_of_one_bucket_are_not_equal(options):
    """5 and 7 both fit a bucket of 8; adding them is an error, as in eager."""
    compiled, counting = compiled_with(options, lambda x, y: x + y)
    compiled(randn(5, 2), randn(5, 2))
    with pytest.raises(Exception, match="must match|Cannot broadcast|The size of tensor"):
        compiled(randn(5, 2), randn(7, 2))
    torch.testing.assert_close(compiled(randn(7, 2), randn(7, 2)), randn(7, 2) * 2)
    assert counting.graphs == 1


def test_20_contracted_sizes_of_one_bucket_are_not_equal(options):
    compiled, _ = compiled_with(options, lambda x, y: x.t() @ y)
    compiled(randn(5, 2), randn(5, 3))
    with pytest.raises(Exception, match="a and b must have same reduction dim|cannot be multiplied"):
        compiled(randn(5, 2), randn(7, 3))


def test_20_sizes_equal_by_chance_and_one_that_is_broadcast(options):
    def function(x, y):
        return x.sum(0) + y.sum(0), x[:1] + y

    graphs = {}
    for backend in ("aot_eager", "frit"):
        torch.compiler.reset()
        counting = Counting(backend, options if backend == "frit" else None)
        compiled = torch.compile(function, backend=counting, dynamic=True, fullgraph=True)
        for n, m in ((5, 5), (5, 7), (1, 5), (BUCKET, BUCKET), (BUCKET - 1, BUCKET + 1)):
            checker.check(function, randn(n, 4), randn(m, 4), compiled=compiled)
        graphs[backend] = counting.graphs
    assert graphs["frit"] == graphs["aot_eager"]


def test_20_elements_that_pass_the_32_bit_limit_only_when_padded(options):
    """65 rows have fewer than 2^31 elements, but the 72 of their bucket have more."""
    width = 33_000_000
    assert 65 * width < 2**31 < 72 * width
    y = torch.arange(width).to(torch.uint8)
    compiled, counting = compiled_with({**options, "buckets": {"x[0]": "ramp"}}, lambda x, y: x[:, None] ^ y)
    for rows in (3, 65):
        x = torch.arange(rows, dtype=torch.uint8) * 7
        result = compiled(x, y)
        for row in (0, 1, rows - 1):
            assert torch.equal(result[row], x[row] ^ y)
        del result
    assert counting.graphs == 1
