"""frit-run on artifacts written by hand: arrays, numbers, and one line for each error."""
import os
import subprocess

import numpy as np
import pytest
import torch
from artifacts import Plan, tensor_value
from exported import TOOLS
from test_executable import add_one

RUNNERS = ["frit-run", "frit-run-torch"]


def run(*arguments, tool="frit-run"):
    return subprocess.run([TOOLS / tool, *map(str, arguments)], capture_output=True, text=True)


def write(path, data):
    path.write_bytes(data)
    os.chmod(path, 0o600)
    return path


@pytest.mark.parametrize("n", [0, 1, 3, 5000])
def test_arrays_in_and_out(tmp_path, n):
    model = write(tmp_path / "m.frit", add_one(grain=64).bytes())
    x = np.random.rand(n).astype("f4")
    np.save(tmp_path / "x.npy", x)
    result = run(model, f"--input=@{tmp_path}/x.npy", f"--output=@{tmp_path}/y.npy")
    assert result.returncode == 0, result.stderr
    assert np.array_equal(np.load(tmp_path / "y.npy"), x + 1)
    assert run(model, f"--input=@{tmp_path}/x.npy").stdout == f"result 0: float32 ({n})\n"


def test_fortran_order_and_numbers(tmp_path):
    plan = Plan()
    x, n, f = plan.tensor([2, 3], [1, 2]), plan.int(), plan.float()
    plan.input("Tensor", x)
    plan.input("Int", n)
    plan.input("Float", f)
    plan.output("Input", 0)
    plan.output("Int", n)
    plan.output("Float", f)
    model = write(tmp_path / "m.frit", plan.bytes())
    array = np.asfortranarray(np.arange(6, dtype="f4").reshape(2, 3))
    np.save(tmp_path / "x.npy", array)
    result = run(model, f"--input=@{tmp_path}/x.npy", "--input=-4", "--input=2.5", f"--output=@{tmp_path}/y.npy")
    assert result.stdout == "result 1: -4\nresult 2: 2.500000\n", result.stderr
    assert np.array_equal(np.load(tmp_path / "y.npy"), array)


def test_one_line_for_each_mistake(tmp_path):
    model = write(tmp_path / "m.frit", add_one().bytes())
    np.save(tmp_path / "x.npy", np.zeros(3, "f4"))
    np.save(tmp_path / "d.npy", np.zeros(3, "f8"))
    (tmp_path / "t.npy").write_bytes((tmp_path / "x.npy").read_bytes()[:-1])
    (tmp_path / "broken.frit").write_bytes(model.read_bytes()[:-1])
    plan = Plan()
    x, y = plan.tensor([2, 2], [2, 1]), plan.tensor([2, 2], [2, 1])
    plan.input("Tensor", x)
    z = plan.tensor([2, 2], [2, 1])
    plan.aten("aten::mm", "", [tensor_value(x), tensor_value(x)], [tensor_value(y)], reason="library call")
    plan.aten("aten::mm", "", [tensor_value(x), tensor_value(x)], [tensor_value(z)], reason="library call")
    plan.output("Tensor", y)
    calls = write(tmp_path / "mm.frit", plan.bytes())
    good = f"--input=@{tmp_path}/x.npy"
    for status, arguments, message in [
        (2, (), "no model given"),
        (2, (model, "--inputs=3"), "unknown option '--inputs=3'"),
        (2, (model, model), "unknown option"),
        (2, (model, "--device=tpu"), "unknown device 'tpu'"),
        (2, (model, "--input"), "--input needs a value"),
        (2, (model, "--output=y.npy"), "--output cannot be 'y.npy'"),
        (2, (model, "--rtol=-1"), "--rtol cannot be '-1'"),
        (2, (model, "--threads=x"), "--threads cannot be 'x'"),
        (2, (model, good, good.replace("input", "output"), good.replace("input", "expected-output"), "--output=@z"), "has 1 results, 2"),
        (4, (model, "--device=cuda:0"), "no usable CUDA driver"),
        (1, (model,), "takes 1 inputs, got 0"),
        (1, (model, "--input=abc"), "neither @file.npy nor a number"),
        (1, (model, f"--input=@{tmp_path}/none.npy"), "cannot open"),
        (1, (model, f"--input=@{tmp_path}/t.npy"), "its data ends before 12 bytes"),
        (1, (model, f"--input=@{model}"), "it does not start like one"),
        (1, (model, f"--input=@{tmp_path}/d.npy"), "dtype is float64, compiled for float32"),
        (1, (model, good, "--device=simt"), "has no plan for simt; compile it with --target=simt"),
        (1, (model, good, f"--output=@{tmp_path}/no/y.npy"), "cannot write"),
        (1, (tmp_path / "broken.frit", good), "not a usable .frit artifact"),
        (1, (calls, good), "calls aten::mm (library call) 2 times, so it needs libtorch: run it with frit-run-torch"),
    ]:
        result = run(*arguments)
        assert result.returncode == status and message in result.stderr and result.stderr.count("\n") == 1, (arguments, result.stderr)
    assert not list(tmp_path.glob("*.partial"))


@pytest.mark.skipif(torch.cuda.is_available(), reason="has a GPU")
def test_no_gpu_for_libtorch(tmp_path):
    model = write(tmp_path / "m.frit", add_one().bytes())
    result = run(model, "--device", "cuda", tool="frit-run-torch")
    assert result.returncode == 4 and "no device 'cuda': this libtorch finds no GPU" in result.stderr


def test_the_help_names_every_status(tmp_path):
    text = run("--help").stdout
    for status in ("0 success", "1 a file or a call that failed", "2 a wrong command line", "3 a result that", "4 no device"):
        assert status in text
    assert run("--version").stdout.startswith("frit-run 0.")


@pytest.mark.parametrize("tool", RUNNERS)
def test_values_after_the_flag_and_statistics(tmp_path, tool):
    model = write(tmp_path / "m.frit", add_one().bytes())
    np.save(tmp_path / "x.npy", np.zeros(3, "f4"))
    words = ["--input", f"@{tmp_path}/x.npy", "--output", f"@{tmp_path}/y.npy", "--threads", "1", "--print-statistics"]
    result = run(model, *words, tool=tool)
    assert result.returncode == 0 and "kernel_launches 1\n" in result.stderr and "load_ms" in result.stderr and not result.stdout
    assert np.array_equal(np.load(tmp_path / "y.npy"), np.ones(3, "f4"))


@pytest.mark.parametrize("tool", RUNNERS)
def test_expected_outputs(tmp_path, tool):
    model = write(tmp_path / "m.frit", add_one().bytes())
    np.save(tmp_path / "x.npy", np.array([0, 1, np.nan, np.inf], "f4"))
    good = np.array([1, 2, np.nan, np.inf], "f4")

    def expect(array, *more):
        np.save(tmp_path / "y.npy", array)
        return run(model, f"--input=@{tmp_path}/x.npy", f"--expected-output=@{tmp_path}/y.npy", *more, tool=tool)

    assert expect(good).returncode == 0 and expect(good).stdout == ""
    assert expect(good * np.float32(1.000005)).returncode == 0
    for array, message in [
        (good + [0, 0.25, 0, 0], "is float32 (4), expected float64 (4)"),
        (good[:3], "is float32 (4), expected float32 (3)"),
        (np.array([1, 2.25, 0, np.inf], "f4"), "2 of 4 numbers differ, most at [2]: got nan, expected 0 (rtol 1e-05, atol 1e-06)"),
        (np.array([1, 2.25, np.nan, np.inf], "f4"), "1 of 4 numbers differ, most at [1]: got 2, expected 2.25"),
    ]:
        result = expect(array)
        assert result.returncode == 3 and message in result.stderr and result.stderr.count("\n") == 1, result.stderr
    assert expect(np.array([1, 2.25, np.nan, np.inf], "f4"), "--atol=0.25").returncode == 0
    assert expect(np.array([1, 2.25, np.nan, np.inf], "f4"), "--rtol", "0.25").returncode == 0


def test_operators_of_aten_run_over_libtorch(tmp_path):
    plan = Plan()
    x, y = plan.tensor([2, 2], [2, 1]), plan.tensor([2, 2], [2, 1])
    plan.input("Tensor", x)
    plan.aten("aten::mm", "", [tensor_value(x), tensor_value(x)], [tensor_value(y)])
    plan.output("Tensor", y)
    model = write(tmp_path / "mm.frit", plan.bytes())
    array = np.arange(4, dtype="f4").reshape(2, 2)
    np.save(tmp_path / "x.npy", array)
    result = run(model, f"--input=@{tmp_path}/x.npy", f"--output=@{tmp_path}/y.npy", tool="frit-run-torch")
    assert result.returncode == 0, result.stderr
    assert np.array_equal(np.load(tmp_path / "y.npy"), array @ array)
    libraries = subprocess.run(["ldd", TOOLS / "frit-run-torch"], capture_output=True, text=True).stdout
    assert "libtorch_cpu" in libraries and "libpython" not in libraries and "libtorch_python" not in libraries


def test_code_of_files_others_can_write_is_not_run(tmp_path):
    model = write(tmp_path / "m.frit", add_one().bytes())
    np.save(tmp_path / "x.npy", np.zeros(3, "f4"))
    os.chmod(model, 0o666)
    result = run(model, f"--input=@{tmp_path}/x.npy")
    assert result.returncode == 1 and "can be written by others" in result.stderr
    assert run(model, f"--input=@{tmp_path}/x.npy", "--allow-host-code").returncode == 0
