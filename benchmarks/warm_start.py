"""Measures the load of a graph from disk in new processes: from AOTAutograd's call of frit until it returns the callable.

    python -m benchmarks.warm_start [--output FILE.json] [--processes N] [NAME ...]

The first process of a program compiles and stores it; the others load it from the cache. The first graph of a process also loads the
native libraries, determines the build and the CPU, and digests frit's sources, once; that time is shown separately. Times are the CPU time of the
calling thread, which other load disturbs less: per graph, the minimum and the median of the processes.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

PROGRAMS = ["gpt2, training", "vit, forward", "mlp chain"]

_PROCESS = """
import json, sys, time
started = time.thread_time()
import torch
from frit import backend
from frit.cache import graph_key
from frit.native import compiler
from benchmarks import warm_start
calls, real = [], backend.compile_graph
def timed(gm, inputs, **more):
    start = time.thread_time()
    compiler().identity()
    graph_key.sources_digest()
    loaded = time.thread_time()
    result = real(gm, inputs, **more)
    calls.append({"nodes": len(gm.graph.nodes), "libraries_ms": 1e3 * (loaded - start), "ms": 1e3 * (time.thread_time() - loaded)})
    return result
backend.compile_graph = timed
warm_start.run(sys.argv[1])
from torch._dynamo.utils import counters
print(json.dumps({"calls": calls, "hits": counters["frit"]["cache_hits"], "compiled": counters["frit"]["cache_misses"]}))
"""


def run(name):
    """Compiles a program and calls it once, with gradients where it trains."""
    import torch

    from benchmarks import measure
    from benchmarks.programs import programs

    if name == "mlp chain":
        # 396 nodes of one kind, forward only.
        def chain(x):
            for number in range(99):
                x = torch.relu(x * 1.5 + number).sin()
            return x

        torch.compile(chain, backend="frit")(torch.randn(64, 64))
    else:
        measure.Contender(programs()[name], "frit", "demo").start()


def measure_one(name, processes):
    with tempfile.TemporaryDirectory() as folder:
        # Disables AOTAutograd's results, which would hide the loads of graphs (`second_process.py` measures whole calls).
        environment = dict(os.environ, FRIT_CACHE_DIR=folder, FRIT_CACHE="1", TORCHINDUCTOR_AUTOGRAD_CACHE="0")
        environment.pop("TORCHINDUCTOR_FORCE_DISABLE_CACHES", None)
        samples = []
        for number in range(processes + 1):
            done = subprocess.run([sys.executable, "-c", _PROCESS, name], env=environment, capture_output=True, text=True)
            if done.returncode:
                sys.exit(f"warm_start: {name}: {done.stderr[-2000:]}")
            found = json.loads(done.stdout.splitlines()[-1])
            if number:
                assert found["compiled"] == 0 and found["hits"] == len(found["calls"]), f"{name}: not from the cache: {found}"
                samples.append(found["calls"])
        graphs = []
        for calls in zip(*samples):
            times = [call["ms"] for call in calls]
            nodes = calls[0]["nodes"]
            graphs.append({"nodes": nodes, "least_ms": min(times), "median_ms": statistics.median(times),
                           "least_ms_of_400_nodes": min(times) * 400 / nodes})
        return {"graphs": graphs, "libraries_ms": min(calls[0]["libraries_ms"] for calls in samples)}


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output")
    parser.add_argument("--processes", type=int, default=7)
    parser.add_argument("names", nargs="*", default=PROGRAMS)
    chosen = parser.parse_args(arguments)
    rows = {}
    for name in chosen.names:
        rows[name] = row = measure_one(name, chosen.processes)
        for graph in row["graphs"]:
            print(f"{name:20} {graph['nodes']:6} nodes  least {graph['least_ms']:7.2f} ms  median {graph['median_ms']:7.2f}  "
                  f"of 400 nodes {graph['least_ms_of_400_nodes']:6.2f}  (libraries once: {row['libraries_ms']:.1f})")
    if chosen.output:
        from benchmarks.measure import write

        write(chosen.output, programs=rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
