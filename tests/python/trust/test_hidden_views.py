"""Operators of exported programs whose results lie in the memory of their arguments, also where torch's schema does not say so: whatever is written
there is seen everywhere, or the program is refused."""

import functools
import re

import checker
import operator_comparison
import operator_database
import pytest
import torch
from exported import Function, compiled, compiled_program
from torch.utils import _pytree as pytree

#: What the compiler says of a program that it does not take.
REFUSALS = "may share or copy|no functional form|cannot be inverted|run_decompositions|cannot be written"


@functools.cache
def sharing():
    """Returns the cases of torch's database in which a result shares memory with an argument in eager."""
    found = []
    for name in operator_database.operators():
        if "float32" not in operator_database.types(name, "inference"):
            continue
        for case in operator_database.cases(name, "float32", "inference", 0, 6):
            if case.label.endswith("plain, as it is") and [one for one, _ in found].count(name) < 3 and all(leaf.layout is torch.strided for leaf in case.leaves):
                leaves = operator_comparison._copied(case.leaves)
                try:
                    results = pytree.tree_leaves(case.function(*leaves))
                except Exception:
                    continue
                if any(isinstance(one, torch.Tensor) and any(_shares(one, leaf) for leaf in leaves) for one in results):
                    found.append((name, case))
    return found


def _shares(one, other):
    return one.layout is torch.strided and one.untyped_storage()._cdata == other.untyped_storage()._cdata


def written(function):
    """Writes to each result that lies in an argument's memory, and to each argument."""

    def run(*leaves):
        results = [x for x in pytree.tree_leaves(function(*leaves)) if isinstance(x, torch.Tensor)]
        before = [x + 0 for x in results]
        for x in results[:1]:
            x.add_(1)
        return (*results, *before, *(x * 2 for x in leaves))

    return run


def read(function):
    """Writes to the first argument after the operator."""

    def run(*leaves):
        results = [x for x in pytree.tree_leaves(function(*leaves)) if isinstance(x, torch.Tensor)]
        leaves[0].add_(1)
        return (*results, *(x * 2 for x in results))

    return run


@pytest.mark.parametrize("program", [written, read], ids=["result written", "argument written"])
def test_memory_that_results_share(program):
    names, right, refused = set(), 0, 0
    for name, case in sharing():
        module, leaves = Function(program(case.function)), [x.detach() for x in operator_comparison._copied(case.leaves)]
        expected_leaves = operator_comparison._copied(leaves)
        try:
            torch.manual_seed(0)
            expected = module(*expected_leaves)
            exported_program = torch.export.export(module, tuple(operator_comparison._copied(leaves)))
        except Exception:
            continue
        try:
            call, _ = compiled_program(exported_program)
        except Exception as error:
            assert re.search(REFUSALS, str(error)), f"{name}, {case.label}: {error}"
            refused += 1
            continue
        torch.manual_seed(0)
        found = call(*leaves)
        for number, (one, other) in enumerate(zip([*found, *leaves], [*expected, *expected_leaves], strict=True)):
            assert torch.equal(one, other), f"{name}, {case.label}: tensor {number}"
        assert checker.sharing([*found, *leaves]) == checker.sharing([*expected, *expected_leaves]), f"{name}, {case.label}"
        names.add(name)
        right += 1
    assert len(names) > 40 and right > 2 * refused


SQUARE = torch.arange(4.0).view(2, 2)
#: Results in memory of their own, although their operators also return views; then writes behind two views.
PROGRAMS = {
    "a copy": (lambda x: x.to(torch.float32, copy=True), SQUARE),
    "a copy of a part": (lambda x: x[1:].to(torch.float32, copy=True)[:1], SQUARE),
    "repeated": (lambda x: x.expand(2, 2, 2).contiguous()[:1], SQUARE),
    "contiguous": (lambda x: x.contiguous()[:1], SQUARE),
    "columns": (lambda x: x.t().contiguous()[:1], SQUARE),
    "every second": (lambda x: x[::2].ravel()[:1], torch.arange(4.0)),
    "columns, ravelled": (lambda x: x[:, ::2].ravel()[:1], SQUARE),
    "columns, reshaped": (lambda x: (x.t().reshape(-1)[:3], x.t().reshape(2, 1, 2), x[:, :1].reshape(-1), x.flatten()), SQUARE),
    "another order of dims": (lambda x: (x.to(memory_format=torch.channels_last), x.contiguous(memory_format=torch.channels_last)), torch.randn(2, 3, 4, 4)),
    "the same order of dims": (lambda x: x.to(memory_format=torch.channels_last)[:1], torch.randn(2, 3, 4, 4).to(memory_format=torch.channels_last)),
    "a slice of a view of columns": (lambda x: (t := x * 1, y := t.view(2, 2)[:1], y.add_(1))[:2], SQUARE.t()),
    "a slice of columns": (lambda x: (t := x * 1, y := t.t()[:1], y.add_(1))[:2], SQUARE),
    "a part of a part": (lambda x: (t := x + 1, y := t.unflatten(0, (2, 1))[1:, 0], y.mul_(3))[:2], SQUARE.t()),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_copies_and_views_of_views(name):
    function, x = PROGRAMS[name]
    call, _ = compiled(Function(function), [x.clone()], strict=True)
    given, own = x.clone(), x.clone()
    found, expected = call(given), pytree.tree_leaves(function(own))
    for one, other in zip([*found, given], [*expected, own], strict=True):
        assert torch.equal(one, other) and one.stride() == other.stride()
    assert checker.sharing([*found, given]) == checker.sharing([*expected, own])


def test_an_operand_whose_strides_a_fake_kernel_does_not_know():
    """torch traces this dropout with the strides of new memory. Eager returns the slice."""

    def function(x):
        t = x * 2
        y = torch.nn.functional.dropout(t[:, ::2], 0.0, True)
        return y.mul_(3), t

    with pytest.raises(Exception, match="may share or copy"):
        compiled(Function(function), [torch.ones(2, 4)])


def test_a_result_that_is_an_operand_against_all_words():
    """The compiler does not know that this operator may return its operand. The runtime sees it, and copies."""

    def function(x, at, more):
        return torch.ops.aten._cast_Float(x).index_add(0, at, more), x * 2

    given = torch.arange(6.0), torch.tensor([1, 3]), torch.ones(2)
    call, _ = compiled(Function(function), [x.clone() for x in given])
    for _ in range(2):
        x = given[0].clone()
        for one, other in zip(call(x, *given[1:]), function(*given), strict=True):
            assert torch.equal(one, other)
        assert torch.equal(x, given[0])
