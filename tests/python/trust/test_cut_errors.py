"""An error of an element that no result needs is still the program's error."""

import pytest
import torch
import torch.nn.functional as F

import frit

W = torch.arange(20.0).view(5, 4)
INDEX = torch.tensor([1, 2, 9])
ZERO = torch.tensor([3, 0, 0])
NO = torch.zeros(3, dtype=torch.bool)

PROGRAMS = {
    "slice": lambda w, i, z: w[i][:1] + 1,
    "select": lambda w, i, z: w[i][0] + 1,
    "negative": lambda w, i, z: w[-i][:1] + 1,
    "embedding": lambda w, i, z: F.embedding(i, w)[:1] * 2,
    "index_select": lambda w, i, z: w.index_select(0, i)[1:2] * 2,
    "index of an index": lambda w, i, z: w[i][torch.tensor([0, 0])] * 2,
    "two indices": lambda w, i, z: w[i, i][:1] + 1,
    "the second index": lambda w, i, z: w[torch.tensor([0, 1, 2]), i][:1] + 1,
    "concatenation": lambda w, i, z: torch.cat([w[i], w])[:1] * 2,
    "repeated no times": lambda w, i, z: w[i].expand(0, 3, 4) * 2,
    "negative pad": lambda w, i, z: F.pad(w[i], (0, 0, 0, -1)) * 2,
    "gather": lambda w, i, z: torch.gather(w, 1, i[:, None])[:2] * 2,
    "take": lambda w, i, z: torch.take(w, i + 12)[:1] * 2,
    "empty slice": lambda w, i, z: w[i][:0] * 2,
    "row of a sum": lambda w, i, z: w[i].sum(1)[:1],
    "targets": lambda w, i, z: F.nll_loss(w[:3], i, reduction="none")[:1] * 2,
    "scattered": lambda w, i, z: torch.zeros(5, 4).scatter(0, i[:, None], 1.0)[:1] * 2,
    "one step of three": lambda w, i, z: w[i][::2][:1] * 2,
}

DIVISIONS = {
    "division": lambda w, i, z: (z // z)[:1] * 2,
    "truncation": lambda w, i, z: torch.div(z, z, rounding_mode="trunc")[:1] * 2,
    "remainder": lambda w, i, z: (z % z)[:1] * 2,
    "fmod": lambda w, i, z: torch.fmod(z, z)[:1] * 2,
    "bytes": lambda w, i, z: (z.to(torch.uint8) // z.to(torch.uint8))[:1] * 2,
    "power 0": lambda w, i, z: (z // z) ** 0,
    "times 0": lambda w, i, z: (z // z) * 0,
    "minus itself": lambda w, i, z: (z // z) - (z // z),
    "and 0": lambda w, i, z: (z // z) & 0,
    "never selected": lambda w, i, z: torch.where(NO, z // z, z),
}


def error_of(call, *arguments):
    try:
        call(*arguments)
    except (RuntimeError, IndexError) as error:
        return type(error), str(error)
    return None


def check(program, dynamic):
    reference = error_of(torch.compile(program, backend="aot_eager", dynamic=dynamic), W, INDEX, ZERO)
    assert reference
    torch.compiler.reset()
    compiled = torch.compile(program, backend="frit", dynamic=dynamic)
    found = error_of(compiled, W, INDEX, ZERO)
    assert found == reference
    # Arguments without a fault give eager's result from the same kernels.
    good = (W, torch.tensor([1, 2, 0]), torch.tensor([3, 1, 2]))
    if error_of(program, *good) is None:
        assert torch.equal(compiled(*good), program(*good))


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_indices_that_are_cut_away(name, dynamic):
    check(PROGRAMS[name], dynamic)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", DIVISIONS)
def test_divisions_that_are_cut_away(name, dynamic):
    check(DIVISIONS[name], dynamic)


def test_what_is_read_whole_costs_no_kernel():
    """An embedding whose every element reaches a product or a norm is checked where it is read."""
    model = torch.nn.Sequential(torch.nn.Embedding(5, 8), torch.nn.LayerNorm(8), torch.nn.GELU(), torch.nn.LayerNorm(8))
    ids = torch.tensor([[1, 2, 4]])
    compiled = torch.compile(model, backend="frit")
    with torch.no_grad():
        compiled(ids)
        before = frit.counts()["kernel_launches"]
        torch.testing.assert_close(compiled(ids), model(ids))
    assert frit.counts()["kernel_launches"] - before == 1


# What may raise, of operands that are the same at each of `x`'s places: `x` may have none.
REPEATED = {
    "divisor": lambda x, n: ((n - n).expand_as(x).clone() // n.expand_as(x).clone()).sum(1),
    "remainder of constants": lambda x, n: (torch.zeros_like(x).long() % torch.zeros_like(x).long()).sum() + n,
    "rows": lambda x, n: (x[:, :1].long().expand_as(x).clone() // n.expand_as(x).clone()).sum(1),
    "index": lambda x, n: torch.arange(3.0)[(n + 9).expand_as(x).clone()].sum(1),
    "embedding": lambda x, n: F.embedding((n + 9).expand_as(x), torch.ones(4, 3)).sum((1, 2)),
}


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("name", REPEATED)
def test_an_empty_tensor_raises_nothing(name, dynamic):
    program = REPEATED[name]
    compiled = torch.compile(program, backend="frit", dynamic=dynamic)
    reference = torch.compile(program, backend="aot_eager", dynamic=dynamic)
    for shape in ((5, 6), (4, 0), (0, 4), (3, 4)):
        for n in (0, 2):
            arguments = torch.rand(shape), torch.tensor(n)
            expected = error_of(reference, *arguments)
            assert error_of(compiled, *arguments) == expected
            if not expected:
                assert torch.equal(compiled(*arguments), program(*arguments))
