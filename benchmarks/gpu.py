"""Memory-bound kernels on a GPU: eager, Inductor (default and max-autotune) and frit against the device's own copy, interleaved, medians.

    python -m benchmarks.gpu [--output FILE.json] [--seconds S] [NAME ...]

The kernels are those of `gpu_kernels.py`, then what a call costs the host (1, 4 and 20 kernels of 4 KB) and what the first call costs
(compiled, from the disk cache, with a new size). Bytes are the mandatory traffic: every input read once, every result written once; the
denominator is the better of a device-to-device copy and torch's own copy kernel in the same run. The L2 is overwritten before every call.
A contender that fails is a row of the table, not the end of it; `--output` is rewritten after every row.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time

import torch

from . import gpu_kernels
from .measure import machine

CONTENDERS = {
    "inductor": {"backend": "inductor"},
    "inductor-max": {"backend": "inductor", "options": {"max_autotune_pointwise": True}},
    "frit": {"backend": "frit"},
}
HOST_KERNELS = (1, 4, 20)


def _flush():
    """Overwrites the L2, whatever its size."""
    if not hasattr(_flush, "memory"):
        properties = torch.cuda.get_device_properties(torch.cuda.current_device())
        _flush.memory = torch.empty(2 * getattr(properties, "L2_cache_size", 1 << 26), device="cuda", dtype=torch.uint8)
    _flush.memory.zero_()


def _time(call):
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    _flush()
    start.record()
    call()
    end.record()
    end.synchronize()
    return start.elapsed_time(end)


def _rounds(calls, seconds, time_one=_time):
    """Medians, in the unit of `time_one`; at least 20 rounds, every contender in each."""
    for call in calls.values():
        for _ in range(3):
            call()
    torch.cuda.synchronize()
    samples = {name: [] for name in calls}
    end = time.monotonic() + seconds * max(len(calls), 1)
    while min(map(len, samples.values())) < 20 or time.monotonic() < end:
        for name, call in calls.items():
            samples[name].append(time_one(call))
    return {name: statistics.median(found) for name, found in samples.items()}


def copy_bandwidth(seconds):
    """GB/s of one GiB, read and written."""
    source = torch.empty(1 << 30, device="cuda", dtype=torch.uint8).random_()
    target = torch.empty_like(source)
    words, result = source.view(torch.int64), target.view(torch.int64)
    times = _rounds({"copy": lambda: target.copy_(source), "kernel": lambda: torch.add(words, 0, out=result)}, seconds)
    return 2 * source.numel() / min(times.values()) / 1e6


def tensors_of(values):
    return [t for t in torch.utils._pytree.tree_leaves(values) if isinstance(t, torch.Tensor)]


def bytes_of(kernel, arguments, results):
    """What must be moved: every argument read once, every result written once, unless the kernel says otherwise."""
    if kernel.moved:
        return kernel.moved(arguments, results)
    return sum(t.numel() * t.element_size() for t in tensors_of([arguments, results]))


def error_of(actual, expected):
    """How far results are from eager's, in units of eager's largest number."""
    worst = 0.0
    for a, e in zip(tensors_of(actual), tensors_of(expected)):
        if a.shape != e.shape or a.dtype != e.dtype:
            return math.inf
        scale = e.double().abs().max().item() if e.numel() else 0
        worst = max(worst, (a.double() - e.double()).abs().max().item() / scale if scale else 0)
    return worst


def _contenders(function, arguments, expected, random, row):
    calls = {"eager": lambda: function(*arguments)}
    for name, how in CONTENDERS.items():
        torch.compiler.reset()
        compiled = torch.compile(function, fullgraph=True, **how)
        try:
            started = time.perf_counter()
            actual = compiled(*arguments)
            torch.cuda.synchronize()
            row["first_call_s"][name] = time.perf_counter() - started
            row["distance"][name] = error_of(actual, expected)
            if not random and not row["distance"][name] < 0.05:
                raise ValueError(f"results differ from eager's by {row['distance'][name]} of the largest number")
            del actual
            calls[name] = lambda compiled=compiled: compiled(*arguments)
        except Exception as error:
            row["errors"][name] = f"{type(error).__name__}: {str(error).splitlines()[0][:200]}"
    return calls


def measure(kernel, seconds):
    function, arguments = kernel.make(gpu_kernels.Sizes("cuda"))
    expected = function(*arguments)
    row = {"errors": {}, "first_call_s": {}, "distance": {}, "target": kernel.target, "bytes": bytes_of(kernel, arguments, expected)}
    calls = _contenders(function, arguments, expected, "rand" in str(kernel.calls), row)
    del expected
    row["milliseconds"] = _rounds(calls, seconds)
    return row


def host_cost(count, seconds):
    """Microseconds of the host for a call of `count` kernels, eight calls in a row, waiting outside of the clock."""
    function, arguments = gpu_kernels.tiny(count, "cuda")
    row = {"errors": {}, "first_call_s": {}, "distance": {}, "kernels": count}
    calls = _contenders(function, arguments, function(*arguments), False, row)

    def time_one(call):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(8):
            call()
        elapsed = time.perf_counter() - start
        torch.cuda.synchronize()
        return 1e6 * elapsed / 8

    row["microseconds"] = _rounds(calls, seconds, time_one)
    return row


_FIRST_CALL = """
import json, sys, time, torch
from benchmarks import gpu_kernels
name, backend = sys.argv[1:]
torch.cuda.init()
if backend == "frit":
    from frit import backend as b
    b._native()
function, arguments = gpu_kernels.kernels()[name].make(gpu_kernels.Sizes("cuda", small=True))
torch.compile(lambda x: x + 1, backend="aot_eager")(torch.ones(1, device="cuda"))
started = time.perf_counter()
torch.compile(function, backend=backend, fullgraph=True)(*arguments)
torch.cuda.synchronize()
print(json.dumps(1e3 * (time.perf_counter() - started)))
"""


def first_calls(name):
    """Milliseconds of a first call in a new process: aot_eager, frit compiling, frit from disk, Inductor."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ, FRIT_CACHE_DIR=folder, TORCHINDUCTOR_CACHE_DIR=os.path.join(folder, "inductor"))
        for who in ("aot_eager", "frit", "frit again", "inductor"):
            command = [sys.executable, "-c", _FIRST_CALL, name, who.split()[0]]
            done = subprocess.run(command, env=environment, capture_output=True, text=True)
            found[who] = json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else done.stderr[-300:]
    return found


def summary(rows):
    """Over the kernels both ran: the geometric mean of Inductor's time over frit's, and the worst."""
    found = {}
    for rival in ("eager", "inductor", "inductor-max"):
        ratios = {name: row["milliseconds"][rival] / row["milliseconds"]["frit"] for name, row in rows.items()
                  if {rival, "frit"} <= row.get("milliseconds", {}).keys()}
        if ratios:
            worst = min(ratios, key=ratios.get)
            found[rival] = {"geometric_mean": statistics.geometric_mean(ratios.values()), "worst": ratios[worst], "worst_kernel": worst}
    return found


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output")
    parser.add_argument("--seconds", type=float, default=0.2)
    parser.add_argument("names", nargs="*")
    chosen = parser.parse_args(arguments)
    if not torch.cuda.is_available():
        sys.exit("benchmarks.gpu: torch sees no GPU; this measures nothing without one")
    wanted = lambda name: not chosen.names or any(part in name for part in chosen.names)  # noqa: E731
    found = {"machine": machine(), "device": torch.cuda.get_device_name(), "copy_gb_s": copy_bandwidth(chosen.seconds), "kernels": {},
             "host": {}, "first_calls": {}}
    print(f"copy {found['copy_gb_s']:.0f} GB/s")

    def keep():
        found["summary"] = summary(found["kernels"])
        if chosen.output:
            with open(f"{chosen.output}.partial", "w") as file:
                json.dump(found, file, indent=1)
            os.replace(f"{chosen.output}.partial", chosen.output)

    with torch.no_grad():
        for name, kernel in gpu_kernels.kernels().items():
            if wanted(name):
                found["kernels"][name] = row = measure(kernel, chosen.seconds)
                row["of_copy"] = {who: row["bytes"] / ms / 1e6 / found["copy_gb_s"] for who, ms in row["milliseconds"].items()}
                shares = " ".join(f"{who} {share:.2f}" for who, share in row["of_copy"].items())
                print(name.ljust(20), f"target {kernel.target:.2f} ", shares, *row["errors"].items(), flush=True)
                torch.cuda.empty_cache()
                keep()
        for count in HOST_KERNELS:
            if wanted("host"):
                found["host"][count] = row = host_cost(count, chosen.seconds)
                print(f"host, {count} kernels".ljust(20), " ".join(f"{who} {us:.1f} us" for who, us in row["microseconds"].items()), flush=True)
                keep()
    for name in ("bias_gelu_residual", "softmax", "layer_norm", "llama_block"):
        if wanted("first call"):
            found["first_calls"][name] = row = first_calls(name)
            print(f"first call, {name}".ljust(32), row, flush=True)
            keep()
    print(json.dumps(found.get("summary"), indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
