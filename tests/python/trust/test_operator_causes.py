"""The causes in tests/golden/operator-causes.txt that say "Checked": torch without frit does what they say."""

import operator_comparison as comparison
import operator_database as database
import pytest
import torch
from functorch.compile import aot_function
from torch._dynamo.backends.debugging import aot_eager

aten = torch.ops.aten


def strided(x):
    wide = torch.zeros(*x.shape, 2, dtype=x.dtype)
    wide[..., 1] = x
    return wide[..., 1]


@pytest.mark.parametrize("name, number", [("abs", 1), ("flip", 1), ("index_put", 1), ("lerp", 2), ("nn.functional.normalize", 1), ("slice_scatter", 2)])
def test_gradients_have_the_layout_that_is_traced(name, number, monkeypatch):
    cases = [case for case in database.cases(name, "float32", "training layouts", count=1) if case.label.endswith("plain, permuted")]

    def strides(outcome):
        return [x.stride() for x in outcome.leaves]

    given = strides(comparison.eager_outcome(cases[0], training=True))
    traced = strides(comparison.compiled_outcomes(aot_eager, cases, training=True, dynamic=False)[0])
    plain = comparison._cotangent
    monkeypatch.setattr(comparison, "_cotangent", lambda x: torch.empty_strided(x.size(), x.stride(), dtype=x.dtype).copy_(plain(x)))
    assert given[number] != traced[number] and strides(comparison.eager_outcome(cases[0], training=True)) == traced


def scaled(**out):
    one, x = torch.tensor(1.0), torch.arange(256.0).reshape(16, 16).to(torch.float8_e4m3fn)
    return aten._scaled_mm.out(x, x.t(), one, one, None, None, torch.float32, **out) if out else aten._scaled_mm(x, x.t(), one, one, None, None, torch.float32)


def pooled(**out):
    x = torch.arange(64.0, dtype=torch.float64).reshape(1, 1, 4, 4, 4)
    return aten.avg_pool3d.out(x, [2, 2, 2], [2, 2, 2], **out) if out else aten.avg_pool3d(x, [2, 2, 2], [2, 2, 2])


def narrowed(**out):
    x = torch.arange(12.0).reshape(3, 4)
    return aten.narrow_copy.out(x, 1, 1, 2, **out) if out else aten.narrow_copy(x, 1, 1, 2)


@pytest.mark.parametrize("function", [scaled, pooled, narrowed])
def test_eager_ignores_the_strides_of_out(function):
    expected = function()
    out = strided(torch.zeros_like(expected))
    function(out=out)
    assert out.stride() == strided(expected).stride() and not torch.equal(out, expected)


def test_the_rank_of_a_matrix_is_not_written_under_functionalization():
    seen = []
    x, out = torch.randn(5, 5), torch.zeros((), dtype=torch.int64)
    aot_function(lambda x, out: torch.linalg.matrix_rank(x, out=out), fw_compiler=lambda graph, _: seen.append(graph) or graph)(x, out)
    assert not [node for node in seen[0].graph.nodes if node.op == "call_function"] and out == 0


def test_random_numbers_depend_on_the_layout():
    def drawn(x):
        torch.manual_seed(0)
        return x.normal_()

    x = torch.zeros(40, dtype=torch.float64)
    assert not torch.equal(drawn(x), drawn(strided(x)))


@pytest.mark.parametrize("view", [lambda x: x.chunk(2)[0], lambda x: x.flatten(), lambda x: x.view_as(x)])
@pytest.mark.parametrize("dynamic, writes, place", [(True, True, 0), (False, True, 3), (True, False, 3)])
def test_a_view_of_a_written_argument_loses_its_offset_when_sizes_vary(view, dynamic, writes, place):
    def program(x):
        result = view(x)
        return (result, x.mul_(2)) if writes else result

    result = torch.compile(program, backend="aot_eager", dynamic=dynamic)(torch.arange(11.0)[3:].view(4, 2))
    assert (result[0] if writes else result).storage_offset() == place


def test_a_view_of_an_argument_gets_the_gradient_of_as_strided_when_sizes_vary():
    argument = torch.randn(4, 1).expand(4, 6).detach().requires_grad_()
    given = torch.randn(4, 3)

    def gradient(program):
        return torch.autograd.grad(program(argument), argument, given)[0]

    def split(x):
        return torch.hsplit(x, 2)[0]

    traced = gradient(torch.compile(split, backend="aot_eager", dynamic=True))
    assert torch.equal(traced, gradient(lambda x: x.as_strided((4, 3), x.stride(), 0))) and not torch.equal(traced, gradient(split))
