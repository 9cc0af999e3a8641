"""Rows of the table "GPU faults" (tests/README.md) that concern a whole process; the others are in `unit/runtime/cuda/CudaFaults.cpp`."""

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import artifacts
import fresh
import numpy
import pytest
import torch
from exported import TOOLS

import frit
from frit.cache.disk_cache import DiskCache, pack
from frit.errors import ArtifactError
from frit.native import compiler

ROOT = Path(__file__).resolve().parents[3]
without_driver = pytest.mark.skipif(torch.cuda.is_available(), reason="only where there is no GPU")


def in_a_process(code):
    done = fresh.run(["-c", code], timeout=300)
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


def test_row_03_the_fuzzers_corpus_has_a_cubin(tmp_path):
    """The reader accepts a seed that ptxas made from a kernel that adds 1, and fails only for lack of a driver. `Row03...` and a GPU test damage it."""
    good = (ROOT / "tests/fuzz/corpus/artifact/gpu-cubin").read_bytes()
    header = good[good.index(b"\x7fELF") :][:64]
    assert header[4:6] == b"\2\1" and int.from_bytes(header[18:20], "little") == 190
    assert artifacts.frame(good[128:]) == good
    path = tmp_path / "kernels.frit"
    path.write_bytes(good)
    path.chmod(0o600)
    if not torch.cuda.is_available():
        with pytest.raises(ArtifactError, match="no usable CUDA driver"):
            frit.load(path)


def test_row_08_compiling_for_a_gpu_never_calls_the_driver(tmp_path):
    """A forked child of a process that has used CUDA may compile, because that does not open the driver's library (here a fake that would be noticed)."""
    library = next(line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if "/libm.so" in line)
    (tmp_path / "libcuda.so.1").write_bytes(Path(library).read_bytes())
    code = (
        "import json, os, subprocess, sys, frit\n"
        "from frit.native import compiler\n"
        "native = compiler()\n"
        f"graph = open({str(ROOT / 'docs/tour/similarity.json')!r}).read()\n"
        "seen = lambda: 'libcuda.so.1' in open('/proc/self/maps').read()\n"
        "if os.fork() == 0:\n"
        "    result = native.compile(graph, json.dumps({'targets': ['sm_80', 'sm_90', 'sm_100'], 'name': 'g'}))\n"
        "    print('compiled', len(result.artifact) > 0, seen(), flush=True)\n"
        "    open('kernels.frit', 'wb').write(result.artifact)\n"
        "    os._exit(0)\n"
        "os.wait()\n"
        "os.chmod('kernels.frit', 0o600)\n"
        "try:\n"
        "    frit.load('kernels.frit')\n"
        "except Exception as error:\n"
        "    print('loaded', 'driver' in str(error))\n"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=300, cwd=tmp_path,
                          env={**os.environ, "LD_LIBRARY_PATH": str(tmp_path)})  # fmt: skip
    assert done.stdout.splitlines() == ["compiled True False", "loaded True"], done.stdout + done.stderr


def test_row_12_first_calls_of_many_threads_compile_once(monkeypatch, tmp_path):
    """Dynamo traces for each thread that calls before the first is done, one after the other; frit compiles only for the first one. There are fewer
    threads than Dynamo's limit of traces."""
    monkeypatch.setenv("FRIT_CACHE", "1")
    monkeypatch.setenv("FRIT_CACHE_DIR", str(tmp_path))
    native = compiler()
    compiled, compile_native = [], native.compile
    monkeypatch.setattr(native, "compile", lambda *arguments: (compiled.append(1), compile_native(*arguments))[1])
    run = torch.compile(lambda x: torch.softmax(x * 3, -1) + x.sum(), backend="frit", fullgraph=True)
    together, results = threading.Barrier(7), {}

    def first_call(number):
        x = torch.full((5, 9), float(number)) + torch.arange(9)
        together.wait()
        results[number] = run(x), torch.softmax(x * 3, -1) + x.sum()

    threads = [threading.Thread(target=first_call, args=(number,)) for number in range(7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(compiled) == 1 and sorted(results) == list(range(7))
    for actual, expected in results.values():
        torch.testing.assert_close(actual, expected)


def test_row_12_other_threads_run_while_one_compiles():
    """Threads do not switch by themselves here, so another thread runs only if the compiler releases the interpreter's lock."""
    native, graph = compiler(), (ROOT / "docs/tour/similarity.json").read_text()
    turns, ended = [0], threading.Event()

    def other():
        while not ended.is_set():
            turns[0] += 1
            time.sleep(0)

    thread = threading.Thread(target=other)
    before = sys.getswitchinterval()
    thread.start()
    try:
        sys.setswitchinterval(1000)
        held = turns[0]
        sum(range(100000))
        assert turns[0] == held, "Python alone gives nothing up here"
        native.compile(graph, json.dumps({"targets": ["sm_90"], "name": "g"}))
        assert turns[0] > held
    finally:
        sys.setswitchinterval(before)
        ended.set()
        thread.join()


def test_row_13_frit_is_imported_again_beside_what_it_compiled():
    code = (
        "import importlib, sys, torch, frit\n"
        "first = torch.compile(lambda a: a * 2 + 1, backend='frit')\n"
        "assert first(torch.ones(3)).tolist() == [3, 3, 3]\n"
        "importlib.reload(frit)\n"
        "importlib.reload(sys.modules['frit.backend'])\n"
        "assert first(torch.ones(3)).tolist() == [3, 3, 3]\n"
        "for name in [name for name in sys.modules if name.partition('.')[0] == 'frit']:\n"
        "    del sys.modules[name]\n"
        "import frit\n"
        "second = torch.compile(lambda a: a * 3 + 1, backend='frit')\n"
        "assert second(torch.ones(3)).tolist() == [4, 4, 4]\n"
        "assert first(torch.ones(3)).tolist() == [3, 3, 3]\n"
        "print('done')\n"
    )
    status, shown, said = in_a_process(code)
    assert (status, shown) == (0, "done"), said[-2000:]


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
