"""Measures the time to make GPU code, without a GPU: from a captured graph to PTX, and from PTX to the cubin that a device runs.

    python -m benchmarks.gpu_cold [--output benchmarks/results/gpu-cold.json] [--arch 90] [--rounds 9] [NAME ...]

The graphs are those of `compile_cost` at the sizes of a device; no tensor of that size is allocated. Before each sample the compiler drops its
cached kernels; `first` is the first sample, which also loads the code of the libraries. Cubins are made by nvJitLink as in the runtime: the kernels
are divided into several links that run in parallel, one for each thread of the machine, 16 at most. `parts` are the links of a machine with 16
threads, made one after the other: the CPU time of all, and of the longest, which is the time that such a machine waits. For comparison, all
kernels are also linked at once: by one thread, and by nvJitLink's own threads (`shared`), of which `main` is the calling thread's share. CPU time
is that of all threads. Figures are minima over the rounds, which run in turns, because other load disturbs minima least. `wall` is the time that a
first call waits; it needs an idle machine.
"""

import argparse
import concurrent.futures
import contextlib
import ctypes
import glob
import json
import os
import sys
import time

import torch
from torch._functorch.aot_autograd import aot_module_simplified
from torch._subclasses.fake_tensor import FakeTensorMode

from . import compile_cost, gpu_kernels, measure, ptx

#: Graphs of one kernel, of a block of a model, and of twenty kernels.
NAMES = ("bias_gelu_residual", "softmax", "layer_norm", "llama_block", "twenty")
_PTX = 2
#: The line before each of several kernels, and the largest number of threads on which the runtime links.
_MARK, _MOST = "\n// frit: another kernel\n", 16


def captured(name):
    """Returns the named graph as JSON for the compiler."""
    from frit.capture.graph import capture
    from frit.eager.decompositions import decomposition_table

    graphs = []

    def compiler(gm, inputs):
        def keep(graph, _):
            graphs.append(capture(graph).json)
            return graph.forward

        return aot_module_simplified(gm, inputs, fw_compiler=keep, inference_compiler=keep, decompositions=decomposition_table())

    torch.compiler.reset()
    with FakeTensorMode(allow_non_fake_inputs=True), torch.no_grad():
        function, arguments = compile_cost.make(name, "cpu", False)
        torch.compile(function, backend=compiler, fullgraph=True)(*arguments)
    (graph,) = graphs
    return graph


def parts_of(text, most):
    """Splits PTX into the parts that the runtime links in parallel (splitPtx in runtime/artifact/GpuCode.cpp)."""
    head, *kernels = text.split(_MARK)
    if most < 2 or len(kernels) < 2:
        return [text]
    shares = [[] for _ in range(min(most, len(kernels)))]
    for kernel in sorted(kernels, key=len, reverse=True):
        min(shares, key=lambda share: sum(map(len, share))).append(kernel)
    return ["".join([head, *(_MARK + kernel for kernel in share)]) for share in shares]


def linker_library():
    """Loads nvJitLink from where the runtime would find it; None if there is none."""
    named = os.environ.get("FRIT_NVJITLINK")
    wheels = os.path.join(os.path.dirname(torch.__file__), "..", "nvidia")
    found = [named] if named else glob.glob(os.path.join(wheels, "cu13/lib/libnvJitLink.so.13")) + ["libnvJitLink.so.13", "libnvJitLink.so.12"]
    for library in found:
        with contextlib.suppress(OSError):
            return ctypes.CDLL(library)
    return None


def link(library, text, *options):
    """Returns the cubin of PTX."""
    source, handle, size = text.encode(), ctypes.c_void_p(), ctypes.c_size_t()
    given = (ctypes.c_char_p * len(options))(*[option.encode() for option in options])
    if code := library.nvJitLinkCreate(ctypes.byref(handle), len(options), given):
        raise RuntimeError(f"nvJitLink takes no {options}: error {code}")
    try:
        code = library.nvJitLinkAddData(handle, _PTX, source, ctypes.c_size_t(len(source)), b"frit") or library.nvJitLinkComplete(handle)
        code = code or library.nvJitLinkGetLinkedCubinSize(handle, ctypes.byref(size))
        cubin = ctypes.create_string_buffer(size.value)
        code = code or library.nvJitLinkGetLinkedCubin(handle, cubin)
        if code:
            raise RuntimeError(f"nvJitLink refuses the PTX: error {code}")
        return cubin.raw
    finally:
        library.nvJitLinkDestroy(ctypes.byref(handle))


def link_beside(library, texts, *options):
    """Returns the cubins of PTX texts, each linked on a separate thread."""
    if len(texts) == 1:
        return [link(library, texts[0], *options)]
    with concurrent.futures.ThreadPoolExecutor(len(texts)) as pool:
        return list(pool.map(lambda text: link(library, text, *options), texts))


class Samples:
    """Minimum times by name."""

    def __init__(self):
        self.least = {}

    def take(self, name, function):
        wall, main, all_threads = time.perf_counter(), time.thread_time(), time.process_time()
        made = function()
        taken = {"wall": time.perf_counter() - wall, "main": time.thread_time() - main, "cpu": time.process_time() - all_threads}
        milliseconds = {clock: 1e3 * seconds for clock, seconds in taken.items()}
        least = self.least.setdefault(name, {"first": milliseconds["cpu"], **milliseconds})
        least.update({clock: min(least[clock], ms) for clock, ms in milliseconds.items()})
        return made


def cost(name, arch=90, rounds=9):
    """Returns all figures of one graph."""
    from frit import native as frit_native

    native, library, graph = frit_native.compiler(), linker_library(), captured(name)
    options = json.dumps({"targets": [f"sm_{arch}"], "name": name})
    samples, links, phases, target = Samples(), Samples(), {}, f"-arch=sm_{arch}"
    for _ in range(rounds):
        native.release_memory()
        result = samples.take("ptx", lambda: native.compile(graph, options))
        report = json.loads(result.report)
        for phase, milliseconds in report["phases_ms"].items():
            phases[phase] = min(phases.get(phase, milliseconds), milliseconds)
        (text,) = ptx.usual_texts_of(result.artifact, report)
        entries = text.count(".entry ")
        if library:
            samples.take("cubin", lambda text=text: link_beside(library, parts_of(text, min(os.cpu_count(), _MOST)), target))
            samples.take("cubin, one link", lambda text=text: link(library, text, target))
            several = [f"-Xptxas=-split-compile={_MOST}"] if entries > 1 else []
            samples.take("cubin, one link shared", lambda text=text, several=several: link(library, text, target, *several))
            for number, part in enumerate(parts_of(text, _MOST)):
                links.take(number, lambda part=part: link(library, part, target))
    every = [least["cpu"] for least in links.least.values()]
    parts = {"links": len(every), "cpu": sum(every), "longest": max(every, default=0)}
    return {"graph": name, "kernels": len(report["kernels"]), "entries": entries, "lines": text.count("\n"), "ms": samples.least,
            "parts": parts, "phases_ms": phases}  # fmt: skip


def columns():
    def of(sample, clock):
        return lambda row: f"{row['ms'][sample][clock]:.1f}" if sample in row["ms"] else "-"

    def part(figure):
        return lambda row: f"{row['parts'][figure]:.1f}" if row["parts"]["links"] else "-"

    return [("graph", lambda row: row["graph"]), ("kernels", lambda row: str(row["kernels"])), ("lines", lambda row: str(row["lines"])),
            ("PTX ms CPU", of("ptx", "cpu")), ("wall", of("ptx", "wall")), ("cubin ms CPU", of("cubin", "cpu")), ("wall", of("cubin", "wall")),
            ("parts ms CPU", part("cpu")), ("longest", part("longest")), ("one link ms CPU", of("cubin, one link", "cpu")),
            ("shared ms CPU", of("cubin, one link shared", "cpu")), ("main", of("cubin, one link shared", "main"))]  # fmt: skip


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", help="path of the JSON; the table is always printed")
    parser.add_argument("--arch", type=int, default=90, choices=[80, 90, 100])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("names", nargs="*", help="names of `compile_cost` and `gpu_kernels`")
    chosen = parser.parse_args(arguments)
    unknown = set(chosen.names) - {"twenty", *compile_cost.CPU, *gpu_kernels.kernels()}
    if unknown:
        parser.error(f"no such graph: {', '.join(sorted(unknown))}")
    cost("mul_add", chosen.arch, 1)
    rows = []
    for name in chosen.names or NAMES:
        print(f"  {name} ...", file=sys.stderr, flush=True)
        rows.append(cost(name, chosen.arch, chosen.rounds))
    print(measure.table(rows, columns()))
    if chosen.output:
        measure.write(chosen.output, arch=chosen.arch, load=os.getloadavg()[0], graphs=rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
