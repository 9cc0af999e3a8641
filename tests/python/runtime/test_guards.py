"""Assumptions at run time: the errors of violated guards, in Python and with frit-run, and the choice of a kernel's variant.

The artifacts of the first half are written by hand, one for each kind of guard; those of the second half are compiled.
"""
import json
import re
import subprocess

import numpy as np
import pytest
import torch
from artifacts import NONE, Plan
from exported import TOOLS
from test_frit_run import run as frit_run
from test_frit_run import write

import frit
from frit import _C

MAX = (1 << 63) - 1


def two_vectors(*guards, **symbol):
    """A plan with x of s0 elements, y of s1 elements, and guards (kind, op, operands, requirement) over them, which returns x."""
    plan = Plan("pair")
    s0, s1 = plan.int(), plan.int()
    x, y = plan.tensor([str(s0)], [1]), plan.tensor([str(s1)], [1])
    plan.input("Tensor", x, origin="aten.add.Tensor (model.py:7)")
    plan.input("Tensor", y)
    plan.plan["symbols"] = [{"name": "s0", "reg": s0, "input": 0, "dim": 0, **symbol}, {"name": "s1", "reg": s1, "input": 1, "dim": 0}]
    registers = [plan.int() for _ in guards]
    code, entries = [], []
    for register, (kind, op, operands, requirement) in zip(registers, guards):
        sizes = {"s0": s0, "s1": s1}
        code.append((op, register, *(sizes[o] if o in sizes else plan.int(o) for o in operands)))
        used = [index for index, name in enumerate(sizes) if name in operands]
        entries.append({"kind": kind, "holds": register, "symbols": used, "requirement": requirement,
                        "origin": "aten.view.default (model.py:12)"})
    plan.plan["guards"] = entries
    plan.plan["size_program"] = plan.program(*code)
    plan.output("Input", 0)
    return plan


EQUAL = ("Equal", "Eq", ("s0", "s1"), "s1 must equal s0")
RANGE = ("Range", "InRange", ("s0", 3, 6), "s0 must be between 3 and 6")
DIVISOR = ("Divisor", "Divides", ("s0", 3), "s0 must be a multiple of 3")
INDEX = ("Index32", "InRange", ("s1", 0, 7), "s1 must be below 8")


@pytest.mark.parametrize("guards, symbol, sizes, message", [
    ([EQUAL], {}, (5, 7), r"graph 'pair', input 0 \('a0'\): its size along dimension 0 \(s0\) is 5 with s1 = 7 \(input 1 \('a1'\), "
                          r"dimension 0\), but s1 must equal s0; assumed by aten.view.default \(model.py:12\)"),
    ([EQUAL, RANGE], {}, (7, 7), r"input 0 .*dimension 0 \(s0\) is 7, but s0 must be between 3 and 6; assumed by aten.view"),
    ([EQUAL, RANGE, DIVISOR], {}, (5, 5), r"input 0 .*dimension 0 \(s0\) is 5, but s0 must be a multiple of 3; assumed by aten.view"),
    ([INDEX], {}, (5, 9), r"input 1 .*dimension 0 \(s1\) is 9, but s1 must be below 8; assumed by aten.view"),
    ([], {"min": 2, "max": 8}, (9, 9), r"input 0 .*dimension 0 is 9, compiled for s0 between 2 and 8; assumed by aten.add.Tensor"),
    ([], {"divisor": 4}, (6, 6), r"input 0 .*dimension 0 is 6, compiled for s0, a multiple of 4; assumed by aten.add.Tensor \(model.py:7\)"),
])
def test_a_broken_guard_names_input_dimension_value_requirement_and_origin(tmp_path, guards, symbol, sizes, message):
    data = two_vectors(*guards, **symbol).bytes()
    run = _C.load(data, [])
    good = torch.zeros(6 if not symbol else 8), torch.zeros(6 if not symbol else 8)
    assert run(list(good))[0] is good[0]
    with pytest.raises(RuntimeError, match=message):
        run([torch.zeros(n) for n in sizes])
    # A failed call leaves no state that the next one with the same sizes would use.
    with pytest.raises(RuntimeError, match=message):
        run([torch.zeros(n) for n in sizes])
    assert run(list(good))[0] is good[0]
    for number, n in enumerate(sizes):
        np.save(tmp_path / f"{number}.npy", np.zeros(n, "f4"))
    result = frit_run(write(tmp_path / "m.frit", data), f"--input=@{tmp_path}/0.npy", f"--input=@{tmp_path}/1.npy")
    assert result.returncode == 1 and result.stderr.count("\n") == 1
    assert re.search(message, result.stderr), result.stderr


def test_sizes_strides_and_dtypes_name_who_assumes_them():
    plan = two_vectors()
    plan.plan["tensors"][1]["sizes"] = [plan.plan["symbols"][0]["reg"]]
    plan.plan["symbols"].pop()
    plan.plan["inputs"][1]["origin"] = "aten.mul.Tensor (model.py:9)"
    run = _C.load(plan.bytes(), [])
    for y, message in [
        (torch.zeros(4), r"input 1 \('a1'\): its size along dimension 0 is 4, compiled for 3 \(s0, input 0 \('a0'\), dimension 0\); "
                         r"assumed by aten.mul.Tensor \(model.py:9\)"),
        (torch.zeros(6)[::2], r"stride along dimension 0 is 2, compiled for 1; assumed by aten.mul.Tensor \(model.py:9\)"),
        (torch.zeros(3).double(), r"dtype is float64, compiled for float32; assumed by aten.mul.Tensor \(model.py:9\)"),
    ]:
        with pytest.raises(RuntimeError, match=message):
            run([torch.zeros(3), y])


def test_addresses_are_looked_at_in_every_call():
    plan = two_vectors()
    plan.plan["guards"].append({"kind": "Aligned", "input": 0, "bytes": 16, "origin": "a kernel (model.py:3)"})
    run = _C.load(plan.bytes(), [])
    storage = torch.zeros(9)
    run([storage[:8], storage])
    with pytest.raises(RuntimeError, match=r"input 0 \('a0'\): its address is no multiple of 16 bytes; assumed by a kernel \(model.py:3\)"):
        run([storage[1:], storage])
    run([storage[:8], storage])


@pytest.mark.parametrize("change, message", [
    (lambda guard: guard.update(holds=NONE), "guard 1"),
    (lambda guard: guard.update(holds=0), "guard 1: its register does not follow"),
    (lambda guard: guard.update(symbols=[2]), "guard 1: symbol 2 is not there"),
    (lambda guard: guard.update(kind="Aligned", input=9), "guard 1: input 9 is no tensor"),
])
def test_guards_that_make_no_sense_are_refused(change, message):
    plan = two_vectors(EQUAL, RANGE)
    change(plan.plan["guards"][1])
    with pytest.raises(RuntimeError, match=message):
        _C.load(plan.bytes(), [])


def add_by_variant():
    """y = x + 1 if the address of x is a multiple of 16 bytes and s0 a multiple of 4, x + 2 if s0 is below 100, else x + 3."""
    plan = Plan("variants")
    s0 = plan.int()
    x, y = plan.tensor([str(s0)], [1]), plan.tensor([str(s0)], [1])
    plan.input("Tensor", x)
    plan.plan["symbols"] = [{"name": "s0", "reg": s0, "input": 0, "dim": 0}]
    size, fours, small = plan.int(), plan.int(), plan.int()
    plan.plan["size_program"] = plan.program(("Mul", size, s0, plan.int(4)), ("NoBits", fours, s0, plan.int(3)),
                                             ("InRange", small, s0, plan.int(0), plan.int(99)))
    kernels = [plan.kernel("const float *x = c->pointers[0]; float *y = c->pointers[1];"
                           f"int added = {n + 1}; __asm__(\"\" : \"+r\"(added)); for (int64_t i = begin; i < end; ++i) y[i] = x[i] + added; return 0;")
               for n in range(3)]
    launches = [plan.plan["kernels"][k]["variants"][0] for k in kernels]
    plan.plan["kernels"] = [{"name": "add", "variants": launches}]
    plan.alloc(y, str(size))
    one = [{"x": s0}]
    plan.step("Launch", kernel=0, tensors=[x, y], ints=[], floats=[],
              variants=[{"guard": fours, "aligned": [{"tensor": 0, "mask": 15}], "launches": one},
                        {"guard": small, "launches": one}, {"launches": one}])
    plan.output("Tensor", y)
    return plan


def test_the_first_variant_whose_guards_hold_runs_and_is_counted():
    run = _C.load(add_by_variant().bytes(), [])
    storage = torch.zeros(1001)
    for start, n, added in [(0, 8, 1), (1, 8, 2), (0, 9, 2), (0, 1000, 1), (1, 1000, 3), (0, 999, 3), (0, 0, 1)]:
        assert set(run([storage[start:start + n]])[0].tolist()) <= {added}, (start, n)
    assert json.loads(run.stats())["variants"] == {"add": [3, 2, 2]}


def test_the_last_variant_must_run_always():
    plan = add_by_variant()
    plan.plan["steps"][-1]["action"]["variants"][2]["guard"] = 0
    with pytest.raises(RuntimeError, match="the last variant must run always"):
        _C.load(plan.bytes(), [])


def compile_file(path, *options):
    """Returns the artifact of a .mlir, .json or .pt2 file, and its report."""
    out = path.with_suffix(".frit")
    done = subprocess.run([str(TOOLS / "frit-compile"), str(path), "-o", str(out), "--report", *options],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    out.chmod(0o600)
    return out, json.loads(done.stdout)


def run_offline(tmp_path, model, *arrays):
    for number, array in enumerate(arrays):
        np.save(tmp_path / f"{number}.npy", array)
    return frit_run(model, *(f"--input=@{tmp_path}/{number}.npy" for number in range(len(arrays))))


class Pair(torch.nn.Module):
    def forward(self, x, y):
        return (x + y).relu() * 2


def test_an_exported_program_says_what_is_wrong_with_its_arguments(tmp_path):
    n = torch.export.Dim("n", min=2, max=60)
    program = torch.export.export(Pair(), (torch.ones(5, 3), torch.ones(5, 3)), dynamic_shapes={"x": {0: n}, "y": {0: n}})
    torch.export.save(program, tmp_path / "pair.pt2")
    model, report = compile_file(tmp_path / "pair.pt2")
    here = r"arith.addf \(.*test_guards.py:\d+"

    def ones(*shape):
        return np.ones(shape, "f4")

    assert run_offline(tmp_path, model, ones(7, 3), ones(7, 3)).returncode == 0
    for arrays, message in [
        ((ones(7, 3), ones(5, 3)), r"input 1 \('y'\): its size along dimension 0 is 5, compiled for 7 \(s\d+, input 0 \('x'\), dimension 0\); "
                                   "assumed by " + here),
        ((ones(61, 3), ones(61, 3)), r"input 0 \('x'\): its size along dimension 0 is 61, compiled for s\d+ between 2 and 60; assumed by " + here),
        ((ones(7, 4), ones(7, 4)), r"input 0 \('x'\): its size along dimension 1 is 4, compiled for 3; assumed by " + here),
        ((np.asfortranarray(ones(7, 3)), ones(7, 3)), r"input 0 \('x'\): its stride along dimension 0 is 1, compiled for 3; assumed by " + here),
    ]:
        result = run_offline(tmp_path, model, *arrays)
        assert result.returncode == 1 and re.search(message, result.stderr), result.stderr
        run = _C.load(model.read_bytes(), [])
        with pytest.raises(RuntimeError, match=message):
            run([torch.from_numpy(array) for array in arrays])
    assert [guard["kind"] for guard in report["guards"]] == ["strides", "strides"]


HALVES = """
!x = tensor<?xf32, #frit.dims<[s0]>>
!y = tensor<?x2xf32, #frit.dims<[floordiv(s0, 2), 2]>>
frit.graph @halves(%x: !x {frit.name = "x"}) -> !y attributes {symbols = [#frit.symbol<"s0", min = 2>]} {
  %0 = frit.aten "aten.exp.default"(%x) [#frit.operand<0>] {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (!x) -> !x
  %1 = frit.aten "aten.view.default"(%0) [#frit.operand<0>, [-1 : i64, 2 : i64]]
       {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]} : (!x) -> !y
  frit.return %1 : !y
}
"""


def test_a_size_that_must_divide(tmp_path):
    (tmp_path / "halves.mlir").write_text(HALVES)
    for target in ("cpu", "simt"):
        model, report = compile_file(tmp_path / "halves.mlir", f"--target={target}")
        assert {"kind": "divisor", "requirement": "s0 must be a multiple of 2"}.items() <= report["guards"][-1 if target == "cpu" else 1].items()
        device = f"--device={target}"
        np.save(tmp_path / "x.npy", np.ones(6, "f4"))
        assert frit_run(model, device, f"--input=@{tmp_path}/x.npy").returncode == 0
        np.save(tmp_path / "x.npy", np.ones(7, "f4"))
        result = frit_run(model, device, f"--input=@{tmp_path}/x.npy")
        assert re.search(r"graph 'halves', input 0 \('x'\): its size along dimension 0 \(s0\) is 7, but s0 must be a multiple of 2; "
                         r"assumed by frit.reshape \(-:\d+\)", result.stderr), result.stderr


def test_a_gpu_kernel_of_unbounded_sizes_counts_its_variants(tmp_path):
    (tmp_path / "halves.mlir").write_text(HALVES)
    model, report = compile_file(tmp_path / "halves.mlir", "--target=simt")
    (variant,) = [guard for guard in report["guards"] if "kernel" in guard]
    assert variant["kind"] == "index32" and variant["requirement"] == "2 * s0 must fit into 32 bits" and variant["variant"] == 0
    run = _C.load(model.read_bytes(), [])
    for _ in range(3):
        run([torch.zeros(8)])
    run([torch.zeros(9)[1:]])  # not a multiple of 16 bytes
    # The variants for aligned pointers, for any pointers, and for sizes beyond 32 bits.
    assert json.loads(run.stats())["variants"] == {variant["kernel"]: [3, 1, 0]}


def test_explain_shows_guards():
    def f(x, y):
        return (x + y).exp().sum(-1)

    shown = frit.explain(f, dynamic=True)(torch.ones(6, 5), torch.ones(6, 5))
    (graph,) = shown.graphs
    assert {"strides"} <= {guard["kind"] for guard in graph["guards"]}
    assert "test_guards.py" in graph["guards"][0]["origin"]
    assert "guards: the strides of 2 arguments" in str(shown)
