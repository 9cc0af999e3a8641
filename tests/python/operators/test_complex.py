"""Complex values: literals in a graph, and lazily conjugated or negated tensors (x.conj(), x.conj().imag) as arguments, results and
intermediates. ATen computes complex operators; these tests check the transitions between them and kernels."""

import json

import pytest
import torch
from checker import check

from frit import backend


def z(*sizes):
    return torch.randn(*sizes, dtype=torch.complex64)


def negated_whole(*sizes):
    """The same with integers, whose sums are exact."""
    return torch.complex(torch.randn(sizes), torch.randint(-9, 9, sizes).float()).conj().imag


def negated(*sizes):
    """Real, with the negative bit, strides of 2 and an offset of 1."""
    return z(*sizes).conj().imag


def literals(a, where):
    return (
        a * (2 + 3j),
        (1 - 2j) * a,
        a - 3j,
        3j - a,
        a / 2j,
        2j / a,
        a ** (1 + 1j),
        torch.add(a, a, alpha=1j),
        a.clone().fill_(2j),
        torch.full((2,), 1 + 2j) + a[0, :2],
        torch.where(where, a, 1j),
        a.masked_fill(where, 3j),
        torch.addcmul(a, a, a, value=1j),
        a * complex(-0.0, float("inf")),
        a == 1j,
        a.real * 1j,
        torch._foreach_mul([a, a], [2j, 1.0]),
    )


@pytest.mark.parametrize("dynamic", [False, True])
def test_complex_literals(dynamic):
    a = z(5, 3)
    check(literals, a, a.real > 0, dynamic=dynamic)


VIEWS = {
    "conj_mul_real": (lambda a: (a.conj() * 1j).real, z(5, 3)),
    "conj_imag": (lambda a: a.conj().imag + 1, z(5, 3)),
    "imag_of_conj": (lambda a: a.imag * 2, z(5, 3).conj()),
    "returned": (lambda a: (a.conj(), a.conj().imag, a.imag, a.real, a), z(5, 3).conj()),
    "returned_fresh": (lambda a: (lambda b: (b.conj(), b.conj().imag, b.imag, b))(a * 2), z(5, 3)),
    "cloned": (lambda a: (a.conj().imag.clone(), a.conj().imag.contiguous(), a.conj().clone()), z(5, 3)),
    "resolved": (lambda a: (a.resolve_conj(), a.resolve_conj() * 2, a.mH + 1), z(8, 4).conj()[2:7, 1:]),
    "views_of_negated": (lambda a: (a[1:], a.t(), a.t() + 1, a.reshape(-1) * 2, a.unsqueeze(0).expand(2, 5, 3) + 1), negated(5, 3)),
    "overlapping": (lambda a: a.exp(), negated(1, 3).expand(5, 3)),
    "sums": (lambda a: (a.sum(0), a.softmax(-1), a @ a.t(), torch.cat([a, a]), a.sum().item()), negated_whole(5, 3)),
}


@pytest.mark.parametrize("name", VIEWS)
def test_lazy_conjugates_and_negatives(name):
    check(VIEWS[name][0], VIEWS[name][1], fullgraph=name != "sums")


def test_lazy_negatives_of_varying_sizes():
    compiled = check(lambda a: (a[1:] * 2, a.t()), negated(5, 3), dynamic=True)
    for sizes in ((2, 3), (7, 5)):
        check(lambda a: (a[1:] * 2, a.t()), negated(*sizes), compiled=compiled)


WRITES = {
    "add": lambda a: a.add_(1),
    "copy": lambda a: a.copy_(torch.ones(5, 3)),
    "row": lambda a: (a[1:].mul_(3), a * 2)[1],
    "transposed": lambda a: (a.t().add_(1), a.sum())[1],
    "returned": lambda a: (a.add_(1), a[1:], a * 3)[1:],
}


@pytest.mark.parametrize("name", WRITES)
def test_writes_to_what_is_negated_lazily(name):
    check(WRITES[name], negated(5, 3))
    check(lambda a: (WRITES[name](a.conj().imag), a * 1)[1], z(5, 3))


def test_writes_to_lazy_arguments_that_share_memory():
    a = z(5, 3)
    check(lambda x, y: (x.mul_(2), y + 1)[1], a.conj(), a)


@pytest.mark.parametrize(
    "function, inputs",
    [
        (lambda x, y: torch.polar(x.abs(), y), (torch.rand(4) + 1, torch.rand(4))),
        (lambda x, y: torch.complex(x, y).angle(), (torch.rand(4) + 1, torch.rand(4))),
        (lambda x, y: (torch.complex(x, y).conj() * (1 + 2j)).imag * 2, (torch.rand(4), torch.rand(4))),
    ],
    ids=["polar", "angle", "conj"],
)
def test_gradients_of_complex_functions(function, inputs):
    def real(x, y):
        result = function(x, y)
        return torch.view_as_real(result).sum(-1) if result.is_complex() else result

    check(real, *(x.requires_grad_() for x in inputs), training=True)


def test_a_kernel_gets_a_copy_and_the_copy_is_counted():
    torch.compiler.reset()
    seen = []
    backend._OBSERVERS.append(lambda name, stage, captured, report, executable: seen.append(executable))
    try:
        compiled = torch.compile(lambda x: x * 2, backend="frit")
        x = negated(5)
        assert torch.equal(compiled(x), x * 2)
        assert json.loads(seen[-1].stats())["lazy_copies"] == 1
        torch.compiler.reset()
        torch.compile(lambda x: x * 2, backend="frit")(x.resolve_neg())
        assert json.loads(seen[-1].stats())["lazy_copies"] == 0
    finally:
        backend._OBSERVERS.pop()


def test_constants_with_lazy_bits():
    weight = negated(5)
    check(lambda x: x * weight + 1, torch.randn(5))
