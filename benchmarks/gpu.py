"""Memory-bound kernels on a GPU: eager, Inductor (default and max-autotune) and frit against the device's own copy, interleaved, medians.

    python -m benchmarks.gpu [--output FILE.json] [--seconds S] [--parts kernels host compile cpu] [--resume] [NAME ...]

Measures the kernels of `gpu_kernels.py`, the host time of a call (1, 4 and 20 kernels of 4 KB), compile times (`compile_cost.py`) and three
CPU kernels. Bytes are the minimum traffic: every input read once, every result written once. Bandwidth is given as a share of the better of
a device-to-device copy and torch's copy kernel in the same run. Before every call the L2 is overwritten, then filled with clean lines, and
the device is kept busy until the host has submitted everything, so that only device time is measured. A contender that fails is a row of the
table, and the run continues. `--output` is rewritten after every row, and a table is written next to it. `--resume` skips rows that this
file already has, so a run can be made in parts. `verdict.py` compares the figures with their targets.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import time

import torch

from . import compile_cost, gpu_kernels, verdict
from .measure import interleaved, machine

CONTENDERS = {
    "inductor": {"backend": "inductor"},
    "inductor-max": {"backend": "inductor", "options": {"max_autotune_pointwise": True}},
    "frit": {"backend": "frit"},
}
PARTS = ("kernels", "host", "compile", "cpu")
COMPILED = (*verdict.SINGLE_KERNELS, "twenty", "llama_block", "same_bucket")
#: Longer than the host needs to submit a timed call.
BUSY_CYCLES = 2_000_000


def _flush():
    """Overwrites the L2, whatever its size, then reads as much, so that the timed call does not write back lines of the flush."""
    if not hasattr(_flush, "memory"):
        properties = torch.cuda.get_device_properties(torch.cuda.current_device())
        size = 2 * getattr(properties, "L2_cache_size", 1 << 26)
        _flush.memory = [torch.zeros(size, device="cuda", dtype=torch.uint8) for _ in range(2)]
    written, read = _flush.memory
    written.zero_()
    read.view(torch.int64).amax()


def _time(call):
    """Returns the device time of one call in milliseconds."""
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    _flush()
    torch.cuda._sleep(BUSY_CYCLES)
    start.record()
    call()
    end.record()
    end.synchronize()
    return start.elapsed_time(end)


def _rounds(calls, seconds, time_one=_time):
    """Returns medians, in the unit of `time_one`, of at least 20 rounds with every contender in each."""
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


def _capability():
    return list(torch.cuda.get_device_capability())


def driver_version():
    """Returns the version of the GPU's driver; empty if it is unknown."""
    try:
        command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=30).stdout.split()[0]
    except (OSError, subprocess.SubprocessError, IndexError):
        pass
    try:
        with open("/proc/driver/nvidia/version", encoding="utf-8") as file:
            return file.readline().split("Module")[-1].split()[0]
    except (OSError, IndexError):
        return ""


def copy_bandwidth(seconds):
    """Returns the GB/s, read and written, of copying one GiB."""
    source = torch.empty(1 << 30, device="cuda", dtype=torch.uint8).random_()
    target = torch.empty_like(source)
    words, result = source.view(torch.int64), target.view(torch.int64)
    times = _rounds({"copy": lambda: target.copy_(source), "kernel": lambda: torch.add(words, 0, out=result)}, seconds)
    return 2 * source.numel() / min(times.values()) / 1e6


def tensors_of(values):
    return [t for t in torch.utils._pytree.tree_leaves(values) if isinstance(t, torch.Tensor)]


def bytes_of(kernel, arguments, results):
    """Returns the minimum traffic: every argument read once, every result written once, unless the kernel defines `moved`."""
    if kernel.moved:
        return kernel.moved(arguments, results)
    return sum(t.numel() * t.element_size() for t in tensors_of([arguments, results]))


#: Elements that are compared at once: copies in fp64 of tensors of several GiB do not fit beside them.
_COMPARED = 1 << 26


def error_of(actual, expected):
    """Returns the largest difference from eager's results, relative to eager's largest number; infinity where one is a NaN or infinite alone."""
    worst = 0.0
    for a, e in zip(tensors_of(actual), tensors_of(expected)):
        if a.shape != e.shape or a.dtype != e.dtype:
            return math.inf
        scale = off = 0.0
        for mine, theirs in zip(a.reshape(-1).split(_COMPARED), e.reshape(-1).split(_COMPARED)):
            mine, theirs = mine.double(), theirs.double()
            same = (mine == theirs) | (mine.isnan() & theirs.isnan())
            distance = torch.where(same, 0.0, (mine - theirs).abs()).nan_to_num(nan=math.inf)
            if mine.numel():
                scale = max(scale, theirs.nan_to_num(0.0, 0.0, 0.0).abs().max().item())
                off = max(off, distance.max().item())
        worst = max(worst, off / scale if scale else off)
    return worst


def launches(call):
    """Counts the kernels that one call runs on the device, with the driver's tracing."""
    call()
    torch.cuda.synchronize()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        call()
        torch.cuda.synchronize()
    names = [event.name for event in profile.events() if event.device_type == torch.autograd.DeviceType.CUDA]
    count = sum(not name.startswith(("Memcpy", "Memset")) for name in names)
    if not count:
        raise RuntimeError("the profiler saw no kernel")
    return count


def _contenders(function, arguments, expected, random, row, dynamic=None):
    calls = {"eager": lambda: function(*arguments)}
    for name, how in CONTENDERS.items():
        torch.compiler.reset()
        compiled = torch.compile(function, fullgraph=True, dynamic=dynamic, **how)
        try:
            started = time.perf_counter()
            actual = compiled(*arguments)
            if torch.cuda.is_available():
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
    row = {"errors": {}, "first_call_s": {}, "distance": {}, "target": verdict.share_of(kernel.name, _capability()), "bytes": bytes_of(kernel, arguments, expected)}
    calls = _contenders(function, arguments, expected, "rand" in str(kernel.calls), row, kernel.dynamic or None)
    del expected
    row["milliseconds"] = _rounds(calls, seconds)
    if kernel.counted:
        row["launches"] = {}
        for name, call in calls.items():
            try:
                row["launches"][name] = launches(call)
            except Exception as error:
                row["launches_error"] = f"{type(error).__name__}: {str(error).splitlines()[0][:200]}"
    return row


def host_cost(count, seconds):
    """Returns the host's microseconds for a call of `count` kernels: eight calls in a row, without the final wait."""
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


def compilation(name, device="cuda", small=False, limit=240):
    """Measures the compile time of a graph in a new process; returns its last line of standard error if it failed."""
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.compile_cost", name, f"--device={device}", *(["--small"] if small else [])]
    environment = dict(os.environ, TORCHINDUCTOR_FORCE_DISABLE_CACHES="0", CUDA_CACHE_DISABLE="1")
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    try:
        done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, timeout=limit)
        if done.returncode == 0:
            return json.loads(done.stdout.splitlines()[-1])
        return {"error": (done.stderr.strip().splitlines() or [f"ended with status {done.returncode}"])[-1][:300]}
    except subprocess.TimeoutExpired:
        return {"error": f"not done after {limit} seconds"}


def cpu_kernel(name, seconds, small=False):
    """Measures eager, Inductor and frit on all cores of the CPU, in turns, and frit's compile time."""
    function, arguments = compile_cost.make(name, "cpu", small)
    row = {"errors": {}, "first_call_s": {}, "distance": {}}
    calls = _contenders(function, arguments, function(*arguments), False, row)
    medians = interleaved([Call(call) for call in calls.values()], seconds)
    return {**row, "milliseconds": dict(zip(calls, medians)), **compilation(name, "cpu", small)}


class Call:
    """A contender for `measure.interleaved`."""

    def __init__(self, call):
        self.call = call


def summary(rows):
    """Returns, for each rival, the geometric mean and the worst of its time over frit's, over the kernels that both ran."""
    found = {}
    for rival in ("eager", "inductor", "inductor-max"):
        ratios = {name: row["milliseconds"][rival] / row["milliseconds"]["frit"] for name, row in rows.items()
                  if {rival, "frit"} <= row.get("milliseconds", {}).keys()}
        if ratios:
            worst = min(ratios, key=ratios.get)
            found[rival] = {"geometric_mean": statistics.geometric_mean(ratios.values()), "worst": ratios[worst], "worst_kernel": worst}
    return found


def resumed_figures(output, resume):
    """Returns the figures of an earlier run on the same device with the same sources, or empty ones."""
    where = {"machine": machine(), "device": torch.cuda.get_device_name(), "capability": _capability(), "driver": driver_version(),
             "cuda": torch.version.cuda}  # fmt: skip
    found = {**where, "kernels": {}, "host": {}, "compile": {}, "cpu": {}}
    if resume and output and os.path.exists(output):
        with open(output, encoding="utf-8") as file:
            earlier = json.load(file)
        other = [name for name, value in where.items() if earlier.get(name) != value]
        if other:
            sys.exit(f"benchmarks.gpu: {output} is of another run ({', '.join(other)} differ); leave out --resume")
        found = {**found, **earlier}
    return found


def write_figures(found, output):
    """Writes the figures with their verdict, and the table next to them."""
    found["summary"] = summary(found["kernels"])
    found["verdict"] = verdict.verdict(found)
    if output:
        for path, text in ((output, json.dumps(found, indent=1)), (os.path.splitext(output)[0] + ".md", verdict.markdown(found))):
            with open(f"{path}.partial", "w", encoding="utf-8") as file:
                file.write(text)
            os.replace(f"{path}.partial", path)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output")
    parser.add_argument("--seconds", type=float, default=0.2)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("names", nargs="*")
    chosen = parser.parse_args(arguments)
    if not torch.cuda.is_available():
        sys.exit("benchmarks.gpu: torch sees no GPU; this measures nothing without one")
    found = resumed_figures(chosen.output, chosen.resume)

    def measured(part, names, one, show):
        if part not in chosen.parts:
            return
        for name in names:
            if name in found[part] or (chosen.names and not any(wanted in name for wanted in chosen.names)):
                continue
            try:
                found[part][name] = row = one(name)
                print(f"{part}, {name}".ljust(28), show(row), *row.get("errors", {}).items(), flush=True)
            except Exception as error:
                found[part][name] = {"error": f"{type(error).__name__}: {str(error).splitlines()[0][:200]}"}
                print(f"{part}, {name}".ljust(28), found[part][name]["error"], flush=True)
            torch.cuda.empty_cache()
            write_figures(found, chosen.output)

    def kernel_row(name):
        row = measure(gpu_kernels.kernels()[name], chosen.seconds)
        row["of_copy"] = {who: row["bytes"] / ms / 1e6 / found["copy_gb_s"] for who, ms in row["milliseconds"].items()}
        return row

    if "kernels" in chosen.parts:
        # Shares refer to the copy bandwidth that this process measures.
        found["copy_gb_s"] = copy_bandwidth(chosen.seconds)
        print(f"copy {found['copy_gb_s']:.0f} GB/s")
    with torch.no_grad():
        shares = lambda row: f"target {row['target'] or 0:.2f}  " + " ".join(f"{who} {share:.2f}" for who, share in row["of_copy"].items())  # noqa: E731
        measured("kernels", gpu_kernels.kernels(), kernel_row, shares)
        times = lambda unit: lambda row: " ".join(f"{who} {time:.3g}" for who, time in row[unit].items())  # noqa: E731
        measured("host", map(str, verdict.HOST_KERNELS), lambda count: host_cost(int(count), chosen.seconds), times("microseconds"))
        measured("compile", COMPILED, compilation, lambda row: {name: value for name, value in row.items() if name != "samples"})
        measured("cpu", compile_cost.CPU, lambda name: cpu_kernel(name, 2.0), times("milliseconds"))
    write_figures(found, chosen.output)
    print(verdict.markdown(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
