"""The number and order of kernels of programs, from frit's reports, and their peak memory.

A library call is a matrix product that frit leaves to ATen. Torch's allocator counts memory, so it does not depend on
the machine.
"""

import contextlib

import pytest
import torch

from benchmarks import measure
from benchmarks.programs import programs
from frit import backend

PRODUCTS = {f"aten.{name}.default" for name in ("addmm", "mm", "bmm", "baddbmm")}


@contextlib.contextmanager
def compilations():
    """Collects the reports of the test's graphs by stage."""
    reports = {}

    def observe(name, stage, captured, report, *_):
        reports.setdefault(stage, []).append(report)

    backend._OBSERVERS.append(observe)
    try:
        yield reports
    finally:
        backend._OBSERVERS.remove(observe)


def reports_of(name, scale="test"):
    program = programs()[name]
    contender = measure.Contender(program, "frit", scale)
    with compilations() as reports:
        contender.call()
    return reports


def order_of(name, stage="inference"):
    (report,) = reports_of(name)[stage]
    return report["order"]


def is_kernel(step):
    return step.startswith("kernel ")


@pytest.mark.parametrize(
    "name",
    [
        "five multiplications",
        "bias gelu residual",
        "softmax",
        "residual layer norm",
        "similarity",
        "pairwise distance",
        "giou, padded",
    ],
)
def test_one_launch_and_no_intermediate(name):
    (report,) = reports_of(name)["inference"]
    assert len(report["order"]) == 1 and is_kernel(report["order"][0])
    results = len(torch.utils._pytree.tree_leaves(programs()[name].make("test")[0](*programs()[name].make("test")[1])))
    assert report["step_kinds"]["Alloc"] == results


def test_layer_norm_with_saved_statistics():
    def block(x, residual, weight, bias):
        return torch.nn.functional.layer_norm(x + residual, x.shape[-1:], weight, bias)

    inputs = [torch.randn(6, 40, requires_grad=True) for _ in range(2)]
    inputs += [torch.randn(40, requires_grad=True) for _ in range(2)]
    with compilations() as reports:
        torch.compile(block, backend="frit", fullgraph=True)(*inputs).sum().backward()
    (forward,), (backward,) = reports["forward"], reports["backward"]
    assert len(forward["order"]) == 1 and is_kernel(forward["order"][0])
    # Row results and column results (gradients of weight and bias) need sweeps in different orders.
    assert len(backward["order"]) <= 2 and all(map(is_kernel, backward["order"]))


def test_the_padded_loss_and_its_gradient():
    reports = reports_of("giou, padded, backward")
    (forward,), (backward,) = reports["forward"], reports["backward"]
    assert [len(r["order"]) for r in (forward, backward)] == [1, 1]
    assert backward["step_kinds"]["Alloc"] == 1


def between_products(order):
    """Returns the number of kernels between each two library calls, with the names of the two."""
    gaps, last, count = [], None, 0
    for step in order:
        if is_kernel(step):
            count += 1
        elif step in PRODUCTS or "attention" in step:
            gaps.append((last, step, count))
            last, count = step, 0
    return gaps[1:]


@pytest.mark.parametrize("name", ["gpt2, eager attention", "gpt2, forward", "vit, forward"])
def test_kernels_between_library_calls(name):
    gaps = between_products(order_of(name))
    assert gaps
    for before, after, count in gaps:
        allowed = 2 if (before, after) == ("aten.addmm.default", "aten.bmm.default") else 1
        assert count <= allowed, f"{count} kernels between {before} and {after}"


def test_one_formula_over_many_shapes_is_one_kernel():
    (report,) = reports_of("adamw step")["inference"]
    formulas = {kernel["name"]: (kernel["launches"], kernel["uses"]) for kernel in report["kernels"]}
    assert len(formulas) <= 2 and max(formulas.values()) == (1, 3)


def test_equal_calls_run_once():
    def function(x):
        return torch.logcumsumexp(x, 0) + 1, torch.logcumsumexp(x, 0) * 2

    with compilations() as reports:
        torch.compile(function, backend="frit", fullgraph=True)(torch.randn(4, 3))
    assert reports["inference"][0]["order"].count("aten.logcumsumexp.default") == 1


HEAVY = [name for name, program in programs().items() if program.fullgraph and program.demo]


@pytest.mark.parametrize("name", HEAVY)
def test_peak_memory_is_not_above_eagers(name):
    peaks = []
    for compiler in (None, "frit"):
        contender = measure.Contender(programs()[name], compiler, "demo")
        contender.call()  # models of transformers recompile once, whatever the backend
        peaks.append(measure.peak_bytes(contender.call))
    assert peaks[1] <= peaks[0], f"{peaks[1]} bytes instead of at most {peaks[0]}"
