"""frit-run on artifacts written by hand: arrays in and out, numbers, and one line for whatever is wrong."""
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from artifacts import Plan, tensor_value
from test_executable import add_one

ROOT = Path(__file__).resolve().parents[2]
TOOL = Path(os.environ.get("FRIT_BUILD_DIR", ROOT / "build")) / "bin" / "frit-run"


def run(*arguments):
    return subprocess.run([str(TOOL), *map(str, arguments)], capture_output=True, text=True)


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
    plan.aten("aten::mm", "", [tensor_value(x), tensor_value(x)], [tensor_value(y)], reason="library call")
    plan.output("Tensor", y)
    calls = write(tmp_path / "mm.frit", plan.bytes())
    good = f"--input=@{tmp_path}/x.npy"
    for arguments, message in [
        ((), "no model given"),
        ((model, "--inputs=3"), "unknown option '--inputs=3'"),
        ((model, "--device=tpu"), "unknown device 'tpu'"),
        ((model,), "takes 1 inputs, got 0"),
        ((model, "--input=abc"), "neither @file.npy nor a number"),
        ((model, f"--input=@{tmp_path}/none.npy"), "cannot open"),
        ((model, f"--input=@{tmp_path}/t.npy"), "its data ends before 12 bytes"),
        ((model, f"--input=@{model}"), "it does not start like one"),
        ((model, f"--input=@{tmp_path}/d.npy"), "dtype is float64, compiled for float32"),
        ((model, good, "--device=simt"), "has no plan for simt; compile it with --target=simt"),
        ((model, good, f"--output=@{tmp_path}/no/y.npy"), "cannot write"),
        ((tmp_path / "broken.frit", good), "not a usable .frit artifact"),
        ((calls, good), "calls aten::mm (library call), which needs torch"),
    ]:
        result = run(*arguments)
        assert result.returncode == 1 and message in result.stderr and result.stderr.count("\n") == 1, (arguments, result.stderr)
    assert not list(tmp_path.glob("*.partial"))


def test_code_of_files_others_can_write_is_not_run(tmp_path):
    model = write(tmp_path / "m.frit", add_one().bytes())
    np.save(tmp_path / "x.npy", np.zeros(3, "f4"))
    os.chmod(model, 0o666)
    result = run(model, f"--input=@{tmp_path}/x.npy")
    assert result.returncode == 1 and "can be written by others" in result.stderr
    assert run(model, f"--input=@{tmp_path}/x.npy", "--allow-host-code").returncode == 0
