"""`_foreach_` lists and steps of optimizers: one launch for all tensors of a formula, whatever their shapes, on the CPU and on a GPU (emulated with
all checks, and assembled by ptxas)."""

import functools
import os
import subprocess
import sys

import emulation as emulator
import pytest
import torch
from checker import compare_floats
from test_kernels import compilations

import frit
from benchmarks.gpu_kernels import GPT2
from benchmarks.programs.optimizer import torch_adamw_step

# Sizes around the elements of an access, of a warp, of a block, and of a block's share.
SIZES = [0, 1, 3, 4, 5, 127, 129, 1023, 1024, 1025, 2049, 4099]


@pytest.fixture(params=["cpu", "gpu"])
def target(request, monkeypatch):
    """Runs compiled code on the CPU or under GPU emulation; at the end every kernel must assemble without local memory."""
    emulation = emulator.Emulation() if request.param == "gpu" else None
    if emulation:
        emulation.install(monkeypatch)
    yield request.param
    if emulation and emulator.PTXAS:
        emulation.assemble()


def numbers(size, seed, dtype=torch.float32):
    generator = torch.Generator().manual_seed(seed)
    return (torch.rand(size, generator=generator, dtype=torch.float64) + 0.5).to(dtype)


def lists(count, sizes=SIZES, dtype=torch.float32):
    return [[numbers(size, seed=10 * i + k, dtype=dtype) for i, size in enumerate(sizes)] for k in range(count)]


def run(function, *arguments):
    """Returns the results and the report of the only graph."""
    torch.compiler.reset()
    with compilations() as reports:
        results = torch.compile(function, backend="frit", fullgraph=True)(*arguments)
    (report,) = reports["inference"]
    return results, report


def uses(report):
    return {kernel["name"]: (kernel["launches"], kernel["uses"]) for kernel in report["kernels"]}


def assert_equal(actual, expected, limit=2e-6):
    torch.testing.assert_close(
        torch.utils._pytree.tree_leaves(actual), torch.utils._pytree.tree_leaves(expected), rtol=limit, atol=limit
    )


def test_sizes_around_every_edge(target):
    def function(xs, ys):
        return torch._foreach_addcmul(xs, ys, ys, 0.5)

    results, report = run(function, *lists(2))
    assert_equal(results, function(*lists(2)))
    assert list(uses(report).values()) == [(1, len(SIZES))]


def test_unaligned_tensors_beside_aligned_ones(target):
    def function(xs, ys):
        return torch._foreach_add(xs, ys)

    xs, ys = lists(2, [66, 1026, 1027, 2051])
    xs = [xs[0][1:], xs[1][1:], xs[2], xs[3][3:]]
    ys = [ys[0][:65], ys[1][1:], ys[2], ys[3][:2048]]
    results, report = run(function, xs, ys)
    assert_equal(results, function(xs, ys))
    assert list(uses(report).values()) == [(1, 4)]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64, torch.int64, torch.uint8, torch.bool], ids=str)
def test_types(target, dtype):
    def function(xs, ys):
        return [torch.where(x == y, x, y) for x, y in zip(xs, ys)]

    xs, ys = lists(2, [7, 33, 1025], dtype)
    results, report = run(function, xs, ys)
    assert_equal(results, function(xs, ys), limit=0)
    assert list(uses(report).values()) == [(1, 3)]


def test_one_launch_for_each_signature(target):
    """Updates and copies in a half type: two formulas and two launches, however the tensors alternate."""

    def function(xs, ys):
        torch._foreach_mul_(xs, 0.9)
        torch._foreach_copy_(ys, xs)
        return xs[0].sum()

    (xs,), (same,) = lists(1, [5, 40, 1025]), lists(1, [5, 40, 1025])
    (ys,), (others,) = lists(1, [5, 40, 1025], torch.bfloat16), lists(1, [5, 40, 1025], torch.bfloat16)
    result, report = run(function, xs, ys)
    assert_equal((result, xs, ys), (function(same, others), same, others))
    assert sorted(count for _, count in uses(report).values()) == [1, 3] or len(report["order"]) <= 3


def test_members_that_write_what_others_read(target):
    """A ring, too long for one kernel: every member reads the old value of its neighbour."""

    def function(xs):
        torch._foreach_copy_(xs, [x - y for x, y in zip(xs, [*xs[1:], xs[0]])])

    (one,), (two,) = lists(1, [1025] * 80), lists(1, [1025] * 80)
    run(function, one)
    function(two)
    assert_equal(one, two)


def test_sizes_that_vary(target):
    def function(xs, ys):
        return torch._foreach_lerp(xs, ys, 0.25)

    torch.compiler.reset()
    compiled = torch.compile(function, backend="frit", fullgraph=True, dynamic=True)
    for sizes in ([5, 7, 1025], [33, 2, 2048], [1024, 1023, 4]):
        launches = frit.counts()["kernel_launches"]
        assert_equal(compiled(*lists(2, sizes)), function(*lists(2, sizes)))
        assert frit.counts()["kernel_launches"] == launches + 1


def test_blocks_that_come_back(target):
    """So many elements that each block processes two shares."""

    def function(xs):
        return torch._foreach_neg(xs)

    sizes = [(1 << 20) + 5, (1 << 20) + 8201, 2047, 2048, 2049]
    (xs,) = lists(1, sizes, torch.bfloat16)
    results, report = run(function, xs)
    assert_equal(results, function(xs), limit=0)
    assert list(uses(report).values()) == [(1, 5)]


def optimizer_course(backend, shapes, foreach, steps=2, dtype=torch.float32):
    """Returns the parameters after these steps; uncompiled without a backend."""
    torch.compiler.reset()
    parameters = [torch.nn.Parameter(numbers(shape, seed=i)) for i, shape in enumerate(shapes)]
    for i, parameter in enumerate(parameters):
        parameter.grad = numbers(parameter.shape, seed=1000 + i) - 1
    if dtype != torch.float32:
        gradients = [p.grad.to(dtype) for p in parameters]
        parameters = [torch.nn.Parameter(p.detach().to(dtype)) for p in parameters]
        for parameter, gradient in zip(parameters, gradients):
            parameter.grad = gradient
    step = torch_adamw_step(torch.optim.AdamW(parameters, lr=1e-2, foreach=foreach))
    step = torch.compile(step, backend=backend) if backend else step
    for _ in range(steps):
        step()
    return [p.detach() for p in parameters]


@functools.cache
def expected_course(foreach):
    """Returns eager's parameters, and those of an fp64 run."""
    return [optimizer_course(None, ADAMW_SHAPES, foreach, dtype=dtype) for dtype in (torch.float32, torch.float64)]


ADAMW_SHAPES = [tuple(max(n // 64, 1) for n in shape) for shape in GPT2]


@pytest.mark.parametrize("foreach", [True, False])
def test_adamw_over_the_parameters_of_gpt2(target, foreach):
    """torch's step over 148 tensors: one launch increments the step counts, and one does the rest."""
    assert len(ADAMW_SHAPES) == 148
    with compilations() as reports:
        actual = optimizer_course("frit", ADAMW_SHAPES, foreach)
    (report,) = reports["inference"][-1:]
    assert sorted(uses(report).values()) == [(1, 148), (1, 148)] and len(report["order"]) == 2
    # The first step creates the state, and is a separate graph.
    assert frit.counts()["kernel_launches"] <= 4
    expected, reference = expected_course(foreach)
    for i, (a, e, r) in enumerate(zip(actual, expected, reference)):
        compare_floats(a, e, r, f"parameter {i}")


def test_many_tensors_that_are_written_in_place():
    """Free memory has arbitrary contents here. Regression test: results that share memory with arguments were copied from a table that had just moved."""
    program = "\n".join([
        "import torch",
        "def step(xs): torch._foreach_add_(xs, 1); return ()",
        "xs = [torch.zeros(3 + i) for i in range(60)]",
        "torch.compile(step, backend='frit', fullgraph=True)(xs)",
        "assert all(bool((x == 1).all()) for x in xs)",
    ])  # fmt: skip
    environment = dict(os.environ, MALLOC_PERTURB_="90")
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.returncode}: {done.stderr[-2000:]}"
