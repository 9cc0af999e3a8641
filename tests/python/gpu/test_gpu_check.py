"""Preparations for a machine with a GPU, tested without one: the benchmark's kernels compile and assemble at their real sizes, the marked
tests are found, and the scripts say what is missing."""

import importlib.machinery
import importlib.util
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import emulation
import pytest
import torch
import torch.utils._pytree as pytree
from torch._dispatch.python import enable_python_dispatcher
from torch._dynamo.utils import counters
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

from benchmarks import gpu, gpu_kernels, ptx
from frit import backend, options
from frit.capture.graph import capture
from frit.eager.decompositions import decomposition_table
from frit.native import compiler

ROOT = Path(__file__).resolve().parents[3]
without_gpu = pytest.mark.skipif(torch.cuda.is_available(), reason="only where there is no GPU")


@pytest.mark.parametrize("name", list(gpu_kernels.kernels()))
def test_benchmark_kernels_compile_and_assemble(name):
    """With fake tensors of gigabytes: nothing is allocated, and everything is compiled."""
    kernel = gpu_kernels.kernels()[name]
    with FakeTensorMode(allow_non_fake_inputs=True):
        function, arguments = kernel.make(gpu_kernels.Sizes("cpu"))
        flat, spec = pytree.tree_flatten(arguments)
        flattened = lambda *values: pytree.tree_leaves(function(*pytree.tree_unflatten(values, spec)))  # noqa: E731
        with enable_python_dispatcher():  # operators that depend on the device are not decomposed, as under torch.compile
            graph = make_fx(flattened, decomposition_table=decomposition_table(), tracing_mode="real")(*flat)
    captured = capture(graph)
    # Not every operator can be traced on a device that torch was not built for.
    captured.json = captured.json.replace('"type":"cpu"', '"type":"cuda"')
    settings = options.resolve()
    result = compiler().compile(captured.json, json.dumps({**settings, "targets": ["sm_80", "sm_90", "sm_100"], "name": "b"}))
    report = json.loads(result.report)
    assert {call["op"] for call in report["aten_calls"]} == set(kernel.calls)
    assert len(report["kernels"]) == kernel.kernels
    if not kernel.kernels:
        return
    texts, usual = ptx.texts_of(result.artifact), ptx.usual_texts_of(result.artifact, report)
    assert len(usual) == 3
    for text in usual:
        # 16-byte accesses through the read-only path, and no division by unknown numbers. (Transposes use tiles, element by
        # element; pointers in a table may be equal, so their operands may be written.)
        if name == "foreach_adamw":
            for access in ("ld", "st"):
                assert f"{access}.global.v4.b32" in text or f"{access}.global.v2.b64" in text, text
        elif name not in ("odd_unaligned", "gelu_transposed", "both_orders"):
            assert "ld.global.nc.v4.b32" in text or "ld.global.nc.v2.b64" in text, text
    assert not any(".local" in text for text in texts)
    if emulation.PTXAS:
        rows = [row for text in texts for row in emulation.assemble(text)]
        assert not [row for row in rows if row[3]], rows


@pytest.mark.parametrize("name", list(gpu_kernels.kernels()))
def test_benchmark_kernels_compute_what_eager_computes(name):
    kernel = gpu_kernels.kernels()[name]
    torch.manual_seed(0)
    torch.compiler.reset()
    counters.clear()
    function, arguments = kernel.make(gpu_kernels.Sizes("cpu", small=True))
    with torch.no_grad():
        # Kernels generate random numbers, as on a GPU.
        compiled = torch.compile(function, backend="frit", fullgraph=True, dynamic=kernel.dynamic or None, options={"random": "philox"})
        expected, actual = function(*arguments), compiled(*arguments)
    kernels = kernel.kernels if kernel.on_a_cpu is None else kernel.on_a_cpu
    calls = kernel.calls if kernel.calls_on_a_cpu is None else kernel.calls_on_a_cpu
    assert counters["frit"]["kernels"] == kernels and {n[5:] for n in counters["frit"] if n.startswith("aten:")} == set(calls)
    assert gpu.bytes_of(kernel, arguments, expected) > 0
    if "rand" not in str(kernel.calls):
        assert gpu.error_of(actual, expected) < 0.05


def test_the_errors_and_sums_of_the_benchmark():
    one = torch.ones(3)
    assert gpu.error_of([one], [one]) == 0 and gpu.error_of([one * 1.5], [one]) == 0.5
    assert gpu.error_of([one.double()], [one]) == gpu.error_of([one[:2]], [one]) == float("inf")
    assert gpu.error_of([one * math.nan], [one]) == gpu.error_of([one], [one * math.nan]) == math.inf
    assert gpu.error_of([one * math.nan], [one * math.nan]) == 0
    rows = {"a": {"milliseconds": {"frit": 1.0, "inductor": 4.0}}, "b": {"milliseconds": {"frit": 2.0, "inductor": 2.0}},
            "c": {"milliseconds": {"eager": 1.0}}}
    assert gpu.summary(rows) == {"inductor": {"geometric_mean": pytest.approx(2.0), "worst": 1.0, "worst_kernel": "b"}}


def test_a_cuda_graph_is_compiled_for_its_device(monkeypatch):
    settings = options.resolve()
    captured = type("Captured", (), {"devices": {torch.device("cpu"): True, torch.device("cuda", 0): True}})
    for capability, target in [((8, 6), "sm_80"), ((9, 0), "sm_90"), ((12, 1), "sm_100")]:
        monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device, capability=capability: capability)
        assert backend._targets(captured, settings) == [target]
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (7, 5))
    with pytest.raises(backend.CompileError, match="sm_75 device; frit generates code for sm_80 and newer"):
        backend._targets(captured, settings)
    assert backend._targets(captured, {**settings, "target": "simt"}) == ["simt"]
    captured.devices = {torch.device("cpu"): True}
    assert backend._targets(captured, settings) == ["cpu"]


def test_the_emulation_as_an_option():
    compiled = torch.compile(lambda x: torch.softmax(x, -1), backend="frit", options={"target": "simt"})
    x = torch.randn(3, 40)
    torch.testing.assert_close(compiled(x), torch.softmax(x, -1))


@without_gpu
def test_marked_tests_are_found_and_ask_for_a_gpu():
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rs", "-m", "gpu", "-p", "no:xdist", str(ROOT / "tests/python/gpu/test_gpu.py")],
        capture_output=True, text=True, cwd=ROOT, env=dict(os.environ, PYTHONPATH=str(ROOT / "python")),
    )
    assert done.returncode == 0 and "needs a GPU" in done.stdout and " passed" not in done.stdout, done.stdout


@without_gpu
def test_scripts_say_that_there_is_no_gpu():
    for command in (["-m", "benchmarks.gpu"], ["scripts/gpu-check"]):
        done = subprocess.run([sys.executable, *command], capture_output=True, text=True, cwd=ROOT)
        assert done.returncode == 1 and "torch sees no GPU" in done.stderr, done.stderr


def test_the_parts_of_gpu_check():
    loader = importlib.machinery.SourceFileLoader("gpu_check", str(ROOT / "scripts/gpu-check"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("gpu_check", loader))
    loader.exec_module(module)
    found = module.describe()
    assert found["torch"] == torch.__version__ and isinstance(found["devices"], list)
    assert module.crypto().exists()
    step = module.run([sys.executable, "-c", "print('seen')"])
    assert step["status"] == 0 and step["output"] == "seen\n"


def test_the_ledger_of_the_last_sweep():
    """It has the registers of every kernel on each architecture, and the tests per file. scripts/gpu-sweep writes it, and fails on local memory."""
    ledger = json.loads((ROOT / "tests/golden/gpu-sweep.json").read_text())
    assert ledger["tests"] and all(count > 0 for count in ledger["tests"].values())
    assert ledger["tests"].keys() <= {path.name for path in (ROOT / "tests/python").rglob("test_*.py")}
    assert ledger["kernels"]
    for name, registers in ledger["kernels"].items():
        # sm_80 may lack a schedule.
        newer = registers[1:] if registers[0] is None else registers
        assert len(registers) == 3 and all(0 < count < 255 for count in newer), f"{name}: {registers}"
