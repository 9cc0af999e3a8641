"""A call that raises an error raises eager's first one, and leaves arguments, random numbers and Python as eager does."""

import pytest
import torch
import torch.nn.functional as F
from torch._dynamo.utils import counters

NOTES = []


@torch.library.custom_op("error_order::note", mutates_args=())
def note(x: torch.Tensor) -> torch.Tensor:
    NOTES.append(float(x.sum()))
    return x.clone()


@note.register_fake
def _(x):
    return torch.empty_like(x)


def written_twice(x, i):
    c = x * 2
    x.add_(1)
    y = c[:, i % 4]
    x.add_(y.sum())
    return c[i]


def written_after(x, failing):
    u = x * 2
    y = failing(u)
    x.add_(1)
    return y


def batch_norm_and_loss(x, i):
    """The statistics are written before the loss is computed, a counter in between."""
    mean, variance, steps = x[0], x[1], x[2]
    y = F.batch_norm(x[3:] * 2, mean, variance, training=True)
    steps.add_(1)
    return F.cross_entropy(y, i - 1)


def two_layers(x, i):
    """As two layers with a cache each: the second index is checked before the first layer writes."""
    a, b = x[:2], x[2:4]
    a.add_(1)
    y = a.sum() * x[i - 3]
    b.mul_(2)
    return y, torch.zeros(3).gather(0, i - 2)


#: Each gets x (5 x 3, random) and i.
PROGRAMS = {
    "random numbers after an index": lambda x, i: x[i] + torch.rand(2, 3),
    "random numbers around an index": lambda x, i: torch.rand(3) + x[i] + torch.rand(2, 3),
    "dropout of an embedding": lambda x, i: F.dropout(F.embedding(i, x), 0.5, True),
    "division, then index": lambda x, i: (i // (i - i), x[i]),
    "index, then division": lambda x, i: (F.embedding(i, x), i // (i - i)),
    "two rows of errors": lambda x, i: F.embedding(i, x) * (i // (i - i))[:, None],
    "index, then inverse": lambda x, i: (x[i].sum(), torch.linalg.inv(x[:3] * 0), torch.rand(1)),
    "inverse, then index": lambda x, i: (torch.linalg.inv(x[:3] * 0), x[i].sum(), torch.rand(1)),
    "Python reads the value": lambda x, i: note(x[i] * 0 + 1) + x[i],
    "Python after an index": lambda x, i: note(x).sum() + x[i],
    "Python before an index": lambda x, i: (note(x).sum(), x[i]),
    "Python around an index": lambda x, i: (note(x).sum() + x[i].sum(), note(x * 2)),
    "index before a write": lambda x, i: (x[i], x.add_(1))[0],
    "index after a write": lambda x, i: (x.add_(1), x[i])[1],
    "indices of what is written": lambda x, i: x.index_copy_(0, i, torch.ones(2, 3)) * 2,
    "index of an operator of ATen": lambda x, i: written_after(x, lambda u: u.index_fill(0, i, 5.0)),
    "inverse": lambda x, i: written_after(x[:3], lambda u: torch.linalg.inv(u * 0)),
    "sum of rows": lambda x, i: written_after(x, lambda u: u.index_add(0, i, u[:2])),
    "batch norm and a loss": batch_norm_and_loss,
    "loss of an image": lambda x, i: F.cross_entropy(x[:4].reshape(1, 3, 2, 2), i.remainder(49).reshape(1, 2, 1).expand(1, 2, 2)),
    "written twice": written_twice,
    "two layers": two_layers,
}


def outcome(function, indices):
    torch.manual_seed(0)
    NOTES.clear()
    x = torch.arange(15.0).reshape(5, 3) + 1
    try:
        result = str(function(x, torch.tensor(indices)))
    except (RuntimeError, IndexError) as error:
        result = type(error).__name__, str(error).splitlines()[0]
    return result, x.tolist(), list(NOTES), torch.rand(1).item()


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_first_error_and_nothing_after_it(name, dynamic):
    function = PROGRAMS[name]
    reference = torch.compile(function, backend="aot_eager", dynamic=dynamic)
    calls = [1, 2], [1, 50], [-9, 1], [1, 50], [2, 3]
    # An operator that fails while it writes leaves a part behind in eager, where "aot_eager" writes after the last operator.
    expected = [(outcome(reference, indices), outcome(function, indices)) for indices in calls]
    torch.compiler.reset()
    compiled = torch.compile(function, backend="frit", dynamic=dynamic)
    for indices, theirs in zip(calls, expected):
        assert outcome(compiled, indices) in theirs, indices


def test_failed_calls_are_counted():
    counters.clear()
    compiled = torch.compile(PROGRAMS["dropout of an embedding"], backend="frit")
    for indices in [1, 50], [1, 2]:
        outcome(compiled, indices)
    assert counters["frit"]["calls_as_traced"] == counters["frit"]["call_as_traced:a step raised an error"] == 1


def test_without_a_fallback_the_error_is_the_same():
    compiled = torch.compile(lambda x, i: x[i] * 2, backend="frit", options={"fallback": "error"})
    counters.clear()
    assert outcome(compiled, [1, 50])[0] == ("IndexError", "index 50 is out of bounds for dimension 0 with size 5")
    assert "calls_as_traced" not in counters["frit"]


def test_gradients_after_a_failed_call():
    """The failed call leaves nothing behind: the next one has the gradients of eager."""
    weight = torch.randn(5, 3, requires_grad=True)
    compiled = torch.compile(lambda w, i: (w[i] * torch.rand(2, 3)).sum(), backend="frit")
    with pytest.raises(IndexError):
        compiled(weight, torch.tensor([1, 50]))
    torch.manual_seed(1)
    compiled(weight, torch.tensor([1, 2])).backward()
    torch.manual_seed(1)
    expected = torch.zeros(5, 3).index_put((torch.tensor([1, 2]),), torch.rand(2, 3))
    assert torch.equal(weight.grad, expected)


def test_arguments_do_not_outlive_a_failed_call():
    weight = torch.randn(5, 3)
    compiled = torch.compile(lambda w, i: w[i] + torch.rand(2, 3), backend="frit")
    users = _users(weight)
    for indices in [1, 50], [1, 2], [7, 1]:
        try:
            compiled(weight, torch.tensor(indices))
        except IndexError:
            pass
        assert _users(weight) == users


def _users(tensor):
    return torch._C._storage_Use_Count(tensor.untyped_storage()._cdata)
