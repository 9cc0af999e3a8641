"""Rows of the table "GPU faults" (tests/README.md) that are about a whole process; the others are in `unit/runtime/cuda/CudaFaults.cpp`."""

import os
import subprocess
import sys
from pathlib import Path

import numpy
import pytest
import torch
from exported import TOOLS

import frit
from frit.disk_cache import DiskCache, pack
from frit.errors import ArtifactError

ROOT = Path(__file__).resolve().parents[2]
without_driver = pytest.mark.skipif(torch.cuda.is_available(), reason="only where there is no GPU")


def in_a_process(code):
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout.strip(), done.stderr.strip()


def test_row_01_import_and_calls_on_the_cpu_never_touch_cuda():
    code = (
        "import torch, frit\n"
        "x = torch.ones(3)\n"
        "assert torch.compile(lambda a: a * 2 + 1, backend='frit')(x).tolist() == [3, 3, 3]\n"
        "maps = open('/proc/self/maps').read()\n"
        "print([name for name in ('libcuda.so', 'nvJitLink') if name in maps])"
    )
    status, shown, _ = in_a_process(code)
    assert (status, shown) == (0, "[]")


def similarity(folder, *targets):
    path = folder / "similarity.frit"
    command = [TOOLS / "frit-compile", ROOT / "docs/tour/similarity.json", "-o", path, *(f"--target={target}" for target in targets)]
    subprocess.run(command, check=True, capture_output=True)
    os.chmod(path, 0o600)
    return path


@without_driver
def test_row_01_a_file_for_gpus_alone_says_that_there_is_no_driver(tmp_path):
    path = similarity(tmp_path, "sm_90")
    with pytest.raises(ArtifactError, match="no usable CUDA driver: .*; compile for the CPU or fix the driver"):
        frit.load(path)


@without_driver
def test_row_01_a_file_for_both_runs_on_the_cpu(tmp_path):
    a, b = torch.randn(5, 8), torch.randn(7, 8)
    model = frit.load(similarity(tmp_path, "sm_90", "cpu"))
    # Sizes and their tensors, in the order of the graph that Dynamo made.
    result = model(5, 8, a, 7, b)
    expected = numpy.exp(-((a[:, None, :] - b[None, :, :]) ** 2).sum(2).numpy())
    torch.testing.assert_close(result, torch.from_numpy(expected))


def test_row_13_an_interrupted_write_leaves_nothing(tmp_path, monkeypatch):
    cache = DiskCache(str(tmp_path / "cache"))
    key = "a" * 64

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        cache.write(key, pack(key, {}, b"artifact"))
    monkeypatch.undo()
    assert cache.read(key) is None
    assert not [name for _, _, names in os.walk(tmp_path) for name in names]


@pytest.mark.parametrize("end", ["", "raise KeyboardInterrupt", "sys.exit(0)"])
def test_row_13_the_process_ends_cleanly_with_live_executables(end):
    code = (
        "import sys, torch, frit\n"
        "compiled = torch.compile(lambda a: a * 2 + 1, backend='frit')\n"
        "class Holder: pass\n"
        "holder = Holder(); holder.self, holder.compiled = holder, compiled\n"
        "sys.kept = [compiled, compiled(torch.ones(3))]\n"
        f"{end}"
    )
    status, _, said = in_a_process(code)
    assert status == (0 if "Interrupt" not in end else -2)
    assert said.endswith("KeyboardInterrupt") if end.startswith("raise") else not said, said
