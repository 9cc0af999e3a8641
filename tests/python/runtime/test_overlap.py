"""A compiled graph that writes to an argument, called again with arguments that share memory.

torch traces with disjoint arguments and has no guard for it: `f(a, a[1:])` runs the graph of `f(x, y)`. Eager itself
refuses some of these calls (`x.add_(y)` on partly overlapping tensors), so the expected result is the graph's
meaning: every argument is read as it was at entry, as in torch's "aot_eager".
"""

import json
import logging

import checker
import pytest
import torch
from exported import Function, compiled

import frit

# Sizes with several blocks of every vector width, split among threads, with a tail.
LARGE = 3 * (1 << 17) + 5


def copies(seen):
    return sum(json.loads(executable.stats())["overlap_copies"] for executable in seen)


def reused(function, apart, *overlapping, **options):
    """Compiles `function` for `apart`, calls it with `overlapping` without a recompilation, and returns the number of copies."""
    with checker.executables() as seen:
        fast = torch.compile(function, backend="frit", fullgraph=True, options=options)
        fast(*apart)
        assert copies(seen) == 0
        with torch.compiler.set_stance("fail_on_recompile"):
            result = fast(*overlapping)
    return result, copies(seen)


def scaled(x, y):
    x.add_(y * 2)


def plain(x, y):
    x.add_(y)


def flipped(x, y):
    x.add_(y.flip(0))


def normalised(x, y):
    x.copy_(torch.softmax(y, -1))


WINDOWS = {"ahead": (slice(1, None), slice(None, -1)), "behind": (slice(None, -1), slice(1, None)), "same": (slice(None, -1),) * 2}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64], ids=str)
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("function", [scaled, flipped], ids=lambda f: f.__name__)
def test_one_argument_is_a_shifted_view_of_the_other(function, window, dtype):
    written, read = WINDOWS[window]
    data = torch.randint(-9, 9, (LARGE + 1,)).to(dtype)
    expected, actual = data.clone(), data.clone()
    function(expected[written], expected[read])
    made = reused(function, (data[1:].clone(), data[1:].clone()), actual[written], actual[read])[1]
    assert torch.equal(actual, expected) and made == 1


@pytest.mark.parametrize("window", WINDOWS)
def test_where_eager_refuses_arguments_are_read_as_they_were(window):
    written, read = WINDOWS[window]
    data = torch.randn(LARGE + 1)
    if window != "same":
        with pytest.raises(RuntimeError, match="written-to tensor refer to a single memory location"):
            plain(data[written], data[read])
    expected, actual = data.clone(), data.clone()
    plain(expected[written], data[read])
    assert reused(plain, (torch.randn(LARGE), torch.randn(LARGE)), actual[written], actual[read])[1] == 1
    assert torch.equal(actual, expected)


@pytest.mark.parametrize("target", ["auto", "simt"])
def test_rows_of_a_matrix(target):
    data = torch.randn(65, 70)
    expected, actual = data.clone(), data.clone()
    normalised(expected[1:], expected[:-1])
    assert reused(normalised, (torch.randn(64, 70), torch.randn(64, 70)), actual[1:], actual[:-1], target=target)[1] == 1
    torch.testing.assert_close(actual, expected)


def test_both_are_written():
    def both(x, y):
        x.mul_(3)
        y.add_(1)

    data = torch.randn(LARGE + 1)
    expected, actual = data.clone(), data.clone()
    apart = torch.randn(LARGE), torch.randn(LARGE)
    reference = torch.compile(both, backend="aot_eager", fullgraph=True)
    reference(*apart)
    reference(expected[:-1], expected[1:])
    torch.compiler.reset()
    assert reused(both, apart, actual[:-1], actual[1:])[1] == 2
    assert torch.equal(actual, expected)


def test_columns_of_one_tensor_are_written_in_place():
    data = torch.randn(100, 8)
    expected, actual = data.clone(), data.clone()
    plain(expected[:, 1:4], expected[:, 4:7])
    apart = torch.randn(100, 8)[:, 1:4], torch.randn(100, 8)[:, 4:7]
    assert reused(plain, apart, actual[:, 1:4], actual[:, 4:7])[1] == 0
    assert torch.equal(actual, expected)


def test_a_buffer_and_a_view_of_it():
    class Memory(torch.nn.Module):
        def __init__(self, state):
            super().__init__()
            self.register_buffer("state", state[:-1])

        def forward(self, x):
            self.state.add_(x * 2)
            return self.state.sum()

    data = torch.randint(-9, 9, (LARGE + 1,)).double()
    eager, ours = data.clone(), data.clone()
    expected = Memory(eager)(eager[1:])
    module = Memory(ours)
    result, made = reused(module, (torch.randn(LARGE).double(),), ours[1:])
    # The first call added noise; only the second one, from the same state, is compared.
    ours.copy_(data)
    with torch.compiler.set_stance("fail_on_recompile"):
        result = torch.compile(module, backend="frit", fullgraph=True)(ours[1:])
    assert made == 1 and torch.equal(ours, eager) and result == expected


def test_the_result_is_the_argument():
    def function(x, y):
        x.add_(y * 2)
        return x

    data = torch.randn(101)
    call, _ = compiled(Function(function), [torch.randn(100), torch.randn(100)])
    eager, ours = data.clone(), data.clone()
    function(eager[:-1], eager[1:])
    x = ours[:-1]
    (whole,) = call(x, ours[1:])
    assert torch.equal(ours, eager)
    assert whole.data_ptr() == ours.data_ptr()
    before = x._version
    call(x, ours[1:])
    assert x._version > before


def test_it_is_logged_and_explained(caplog):
    data = torch.randn(9)
    with caplog.at_level(logging.INFO, logger="frit"):
        fast = torch.compile(scaled, backend="frit")
        fast(torch.randn(8), torch.randn(8))
        assert "shares memory" not in caplog.text
        fast(data[:-1], data[1:])
        fast(data[:-1], data[1:])
    assert caplog.text.count("shares memory") == 1
    explanation = frit.explain(scaled)(torch.randn(8), torch.randn(8))
    assert explanation.graphs[0]["overlap_copies"] == 0 and "on a copy" not in str(explanation)
    explanation.graphs[0]["overlap_copies"] = 2
    assert "2 arguments written to on a copy" in str(explanation)


def test_writing_to_an_expanded_argument_is_refused():
    fast = torch.compile(scaled, backend="frit")
    fast(torch.randn(3, 4), torch.randn(3, 4))
    with pytest.raises(Exception, match="more than one element of the written-to tensor"):
        fast(torch.randn(1, 4).expand(3, 4), torch.randn(3, 4))
