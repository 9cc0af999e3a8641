"""Measures the compile time of one graph in a separate process: cold with its code loaded, and from the disk cache.

    python -m benchmarks.compile_cost NAME [--device cuda] [--small] [--rounds N]

Cold: all caches are off, and the process has compiled another graph before. The figure is the time from AOTAutograd's call of frit until it
returns the callable, plus the excess of the first call over the second, since GPU code is made and loaded in the first call. Warm: the
same with the graph on disk, without the first call. Figures are medians of the rounds; all samples are stored. `same_bucket` compiles a graph
with dynamic sizes and counts the compilations for other sizes of the same bucket.

torch reads TORCHINDUCTOR_FORCE_DISABLE_CACHES once, and if it is set nothing is warm: it must be 0 in this process.
"""

import argparse
import gc
import json
import os
import statistics
import sys
import tempfile
import time

import torch
import torch.nn.functional as F

from . import gpu_kernels


def _cpu(function):
    return lambda s: (function, [s.randn(s.rows(4096), s.columns(4096), dtype=torch.float32)])


#: The graphs that are measured on all cores of a CPU.
CPU = {
    "cpu_gelu": _cpu(F.gelu),
    "cpu_softmax": _cpu(lambda x: torch.softmax(x, -1)),
    "cpu_layer_norm": _cpu(lambda x: F.layer_norm(x, (x.shape[-1],))),
}


def twenty(s):
    """A graph of twenty different kernels: each has a tensor of another size."""
    kinds = (lambda x: torch.softmax(x, -1), lambda x: F.layer_norm(x, (x.shape[-1],)), lambda x: x.sum(0), lambda x: F.gelu(x).amax(-1))

    def function(*tensors):
        return [kinds[number % len(kinds)](x) for number, x in enumerate(tensors)]

    return function, [s.randn(s.rows(4096) + number, 64 * (number + 4)) for number in range(20)]


def make(name, device, small):
    sizes = gpu_kernels.Sizes(device, small)
    if name == "twenty":
        return twenty(sizes)
    return CPU[name](sizes) if name in CPU else gpu_kernels.kernels()[name].make(sizes)


class _Watched:
    """frit's backend with timers for compilations and for calls of their results."""

    def __init__(self, device):
        from frit import backend
        from frit.cache import graph_key
        from frit.native import compiler

        compiler()
        graph_key.sources_digest()
        self.compiled, self.called, self.kernels, self._device = [], [], 0, device
        self._real, backend.compile_graph = backend.compile_graph, self._timed

    def wait(self):
        if self._device == "cuda":
            torch.cuda.synchronize()

    def _timed(self, gm, inputs, **more):
        began = time.perf_counter()
        run = self._real(gm, inputs, **more)
        self.compiled.append(1e3 * (time.perf_counter() - began))

        def watched(arguments):
            began = time.perf_counter()
            results = run(arguments)
            self.wait()
            self.called.append(1e3 * (time.perf_counter() - began))
            return results

        watched._boxed_call = True
        return watched

    def round(self, function, arguments):
        """Returns (ms of compiling, ms of the first call minus the second)."""
        from torch._dynamo.utils import counters

        torch.compiler.reset()
        gc.collect()
        self.compiled.clear()
        self.called.clear()
        run = torch.compile(function, backend="frit", fullgraph=True)
        with torch.no_grad():
            run(*arguments)
            self.kernels = counters["frit"]["kernels"]
            run(*arguments)
        return sum(self.compiled), max(self.called[0] - self.called[1], 0.0)


def cost(name, device="cuda", small=False, rounds=5):
    """Returns {"kernels", "cold_ms", "warm_ms", "samples"} of a graph, measured with temporary caches."""
    from torch._dynamo.utils import counters

    watched = _Watched(device)
    function, arguments = make(name, device, small)
    saved = {name: os.environ.get(name) for name in ("FRIT_CACHE", "FRIT_CACHE_DIR")}
    try:
        caches = torch.compiler.config.patch(force_disable_caches=False), torch._functorch.config.patch(enable_autograd_cache=False)
        with tempfile.TemporaryDirectory() as folder, caches[0], caches[1]:
            os.environ.update(FRIT_CACHE="0", FRIT_CACHE_DIR=folder)
            watched.round(lambda x: x.sin() * 3 + 1, [torch.ones(77, device=device)])
            cold = [watched.round(function, arguments) for _ in range(rounds)]
            kernels = watched.kernels
            os.environ["FRIT_CACHE"] = "1"
            watched.round(function, arguments)
            warm = []
            for _ in range(rounds):
                warm.append(watched.round(function, arguments))
                if not counters["frit"]["cache_hits"]:
                    raise RuntimeError(f"the graph was not found in the cache that it had just been written to: {dict(counters['frit'])}")
    finally:
        for variable, value in saved.items():
            os.environ.pop(variable, None) if value is None else os.environ.update({variable: value})
    return {"kernels": kernels, "cold_ms": statistics.median(map(sum, cold)), "warm_ms": statistics.median(ms for ms, _ in warm),
            "samples": {"compiled, code loaded": cold, "from the disk, code loaded": warm}}  # fmt: skip


def same_bucket(device="cuda"):
    """Counts how often a graph with dynamic sizes is recompiled for another size of the same bucket."""
    from torch._dynamo.utils import counters

    torch.compiler.reset()
    run = torch.compile(lambda x: torch.softmax(x, -1) + 1, backend="frit", dynamic=True)
    with torch.no_grad():
        run(torch.randn(1000, 768, device=device))
        before = counters["frit"]["graphs"]
        for rows in (1001, 1010, 1024):
            x = torch.randn(rows, 768, device=device)
            torch.testing.assert_close(run(x), torch.softmax(x, -1) + 1, rtol=1e-4, atol=1e-5)
    return {"recompiles": counters["frit"]["graphs"] - before, "graphs": before}


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    chosen = parser.parse_args(arguments)
    found = same_bucket(chosen.device) if chosen.name == "same_bucket" else cost(chosen.name, chosen.device, chosen.small, chosen.rounds)
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
