"""Programs that change what memory a tensor has, and errors of eager that must not be lost where a value needs no computation."""

import pytest
import torch
import torch.nn.functional as F
from exported import Function, compile_file
from torch._dynamo.utils import counters

import frit


def outcome(function, *arguments):
    try:
        return str(function(*arguments))
    except (RuntimeError, IndexError) as error:
        return type(error).__name__, str(error).splitlines()[0]


def freed(x):
    y = x * 2
    x.untyped_storage().resize_(0)
    return y


def grown(x):
    x.untyped_storage().resize_(x.numel() * 400)
    return x + 1


@pytest.mark.parametrize("function", [freed, grown])
@pytest.mark.usefixtures("lenient")
def test_a_storage_of_another_size(function):
    counters.clear()
    x = torch.arange(6.0) + 1
    theirs = x.clone()
    result, expected = torch.compile(function, backend="frit")(x), function(theirs)
    assert torch.equal(result, expected)
    assert x.untyped_storage().nbytes() == theirs.untyped_storage().nbytes()
    assert any("it gives a tensor other memory" in reason for reason in counters["frit"])


@pytest.mark.usefixtures("lenient")
def test_data_of_another_tensor():
    def function(x, y):
        x.data = y
        return x * 2

    x, y = torch.randn(4), torch.randn(4)
    result = torch.compile(function, backend="frit")(x, y)
    assert torch.equal(result, y * 2) and x.data_ptr() == y.data_ptr()


UNIFORM = {
    "index": lambda w, i: torch.full((3, 2), 2.0)[i],
    "embedding": lambda w, i: F.embedding(i, torch.ones(3, 2)),
    "gather": lambda w, i: torch.zeros(3).gather(0, i),
    "index_select": lambda w, i: torch.zeros_like(w).index_select(0, i),
    "expanded": lambda w, i: w[:1].expand(3, 2)[i],
    "sum of expanded": lambda w, i: (w[:1].expand(3, 2)[i] * 2).sum(0),
    "two indices": lambda w, i: torch.full((3, 2), 2.0)[i, i],
    "one of two indices": lambda w, i: w[:1].expand(3, 2)[i, i],
    "cross_entropy": lambda w, i: F.cross_entropy(torch.ones(2, 3), i),
}


@pytest.mark.parametrize("indices", [[1, 0], [1, 5], [-4, 1], [2, 2]])
@pytest.mark.parametrize("name", UNIFORM)
def test_indices_of_what_is_the_same_everywhere(name, indices):
    """An index out of range is an error, even where every index reads the same."""
    if name == "cross_entropy" and min(indices) < 0:
        indices = [-100, 1]
    w, i = torch.randn(3, 2), torch.tensor(indices)
    assert outcome(torch.compile(UNIFORM[name], backend="frit"), w, i) == outcome(UNIFORM[name], w, i)


REPEATED = {
    "expanded": lambda w, i, n: w[i][None].expand(n, -1, -1) * 2,
    "broadcast": lambda w, i, n: w[i][:, None] * torch.ones(n)[:, None],
    "divided": lambda w, i, n: (7 // (i - i))[:, None].expand(-1, n) + 1,
}


@pytest.mark.parametrize("indices", [[1, 2], [1, 50], [-1, 1], [-6, 1]])
@pytest.mark.parametrize("name", REPEATED)
@torch._dynamo.config.patch(capture_scalar_outputs=True)
def test_errors_of_what_is_repeated_zero_times(name, indices):
    """A value that is repeated along an empty dimension has no element left, but its error remains."""

    def function(w, i, count):
        return REPEATED[name](w, i, count.item())

    compiled = torch.compile(function, backend="frit")
    w, i = torch.randn(5, 3), torch.tensor(indices)
    for count in 4, 0, 1:
        assert outcome(compiled, w, i, torch.tensor(count)) == outcome(function, w, i, torch.tensor(count))


@pytest.mark.parametrize("dtype", [torch.int64, torch.float32, torch.bool])
@pytest.mark.parametrize("function", [lambda x: True - x, lambda x: x - True, lambda x: torch.rsub(x, True)])
def test_booleans_are_not_subtracted(function, dtype):
    x = torch.tensor([1, 0, 3]).to(dtype)
    assert outcome(torch.compile(function, backend="frit"), x) == outcome(function, x)


@pytest.mark.parametrize("dtype", [torch.int64, torch.float32, torch.bool])
@pytest.mark.parametrize("alpha", [True, 2.5, 2])
@pytest.mark.parametrize("function", [torch.add, torch.sub, torch.rsub])
def test_a_factor_of_another_kind_is_refused(function, alpha, dtype):
    def scaled(x):
        return function(x, x, alpha=alpha), function(x, 1, alpha=alpha)

    x = torch.tensor([1, 0, 3]).to(dtype)
    # Dynamo refuses some of them itself, with another type of error than eager's.
    expected = outcome(torch.compile(scaled, backend="aot_eager"), x)
    assert isinstance(expected, tuple) == isinstance(outcome(scaled, x), tuple)
    torch.compiler.reset()
    assert outcome(torch.compile(scaled, backend="frit"), x) == expected


@pytest.mark.parametrize("exponent", [True, False])
def test_the_power_of_booleans_is_boolean(exponent):
    x = torch.tensor([True, False])
    result = torch.compile(lambda x: x**exponent, backend="frit")(x)
    assert result.dtype == torch.bool and torch.equal(result, x**exponent)


@pytest.mark.usefixtures("lenient")
def test_integers_beyond_64_bits():
    def function(x, s):
        return x + s, x.float() * s

    compiled = torch.compile(function, backend="frit")
    x = torch.arange(4)
    for s in 1, 2, 3, 2**63, 2**64 - 1, 4:
        torch.testing.assert_close(compiled(x, s), function(x, s), rtol=0, atol=0)


def test_strides_of_empty_results():
    x = torch.randn(4, 0, 3).permute(2, 1, 0)
    compiled = torch.compile(lambda x: torch.cat([x, x], 1), backend="frit")
    assert compiled(x).stride() == torch.cat([x, x], 1).stride()


def test_files_whose_arguments_share_memory(tmp_path):
    """The program sees a write to one argument in the other; its plan would not."""

    def function(x, y):
        x.add_(1)
        return x + y

    model = frit.load(compile_file(tmp_path, Function(function), (torch.ones(4), torch.ones(4))))
    memory = torch.arange(8.0)
    for x, y in (memory[:4], memory[:4]), (memory[:4], memory[2:6]):
        with pytest.raises(RuntimeError, match=r"input 0 \('inputs_0'\): the program writes to it, and it shares memory"):
            model(x, y)
    assert torch.equal(memory, torch.arange(8.0))
    assert torch.equal(model(memory[:4], memory[4:]), torch.tensor([5.0, 7.0, 9.0, 11.0]))


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("shape", [(), (3,), (2, 3)])
def test_logsumexp_over_no_named_dim(shape, keep):
    """Eager reduces all dims, and without keepdim refuses the shape of the result."""

    def program(x):
        return torch.logsumexp(x, (), keep)

    x = torch.randn(shape)
    try:
        expected = program(x)
    except RuntimeError as error:
        with pytest.raises(RuntimeError) as found:
            torch.compile(program, backend="frit")(x)
        assert str(found.value) == str(error)
    else:
        torch.testing.assert_close(torch.compile(program, backend="frit")(x), expected)
