"""Measurement functions of the demo and the benchmarks.

Times are medians of interleaved rounds: every contender runs once, then every contender again, so that a
machine that slows down slows all of them. Peak memory is the most that torch's CPU allocator has allocated
at once during one call, read from the profiler's allocation events.
"""

import contextlib
import gc
import json
import os
import platform
import statistics
import subprocess
import time
from pathlib import Path

import torch
import torch.utils._pytree as pytree

#: The folder of frit's programs.
TOOLS = Path(os.environ.get("FRIT_BUILD_DIR", Path(__file__).resolve().parents[1] / "build")) / "bin"


class Contender:
    """A program with one backend: prepared inputs, a call, and the time of its first call."""

    def __init__(self, program, backend, scale):
        self.program = program
        self.function, self.inputs = program.make(scale)
        self.module = getattr(self.function, "module", None)
        self.backend = backend
        self.first_call = self.first_call_cpu = None
        run = self.function
        if backend is not None:
            run = torch.compile(run, backend=backend, fullgraph=program.fullgraph)
        self._run = run

    def call(self):
        """Runs one call, with the backward pass if the program trains; returns results and gradients."""
        if self.program.random:
            torch.manual_seed(7)
        if not self.program.training:
            with torch.no_grad():
                return self._run(*self.inputs)
        loss = self._run(*self.inputs)
        leaves = pytree.tree_leaves(self.inputs)
        sources = [x for x in leaves if isinstance(x, torch.Tensor) and x.requires_grad]
        sources += [] if self.module is None else list(self.module.parameters())
        return loss, torch.autograd.grad(loss, sources, allow_unused=True)

    def start(self):
        """Runs the first call, with compilation; stores its milliseconds of wall time and of all threads' CPU time."""
        torch.compiler.reset()
        gc.collect()  # otherwise garbage of other calls could be collected during this one
        began, began_cpu = time.perf_counter(), time.process_time()
        result = self.call()
        self.first_call = 1e3 * (time.perf_counter() - began)
        self.first_call_cpu = 1e3 * (time.process_time() - began_cpu)
        return result


def interleaved(contenders, seconds=1.0, rounds=(5, 200)):
    """Returns the median milliseconds of each contender, measured round by round."""
    samples = [[] for _ in contenders]
    for contender in contenders:
        contender.call()
    began = time.perf_counter()
    done = 0
    while done < rounds[0] or (done < rounds[1] and time.perf_counter() - began < seconds * len(contenders)):
        for contender, own in zip(contenders, samples):
            start = time.perf_counter()
            contender.call()
            own.append(1e3 * (time.perf_counter() - start))
        done += 1
    return [statistics.median(own) for own in samples]


def _allocations(events):
    """Yields the allocations and frees in a tree of profiled events."""
    for event in events:
        if event.tag == torch._C._profiler._EventType.Allocation:
            yield event
        yield from _allocations(event.children)


def peak_bytes(call):
    """Returns the peak of bytes that torch's CPU allocator has allocated during a call, relative to its start. What was allocated
    before the call does not count when the call frees it."""
    call()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
        result = call()
    sizes, held, peak = {}, 0, 0
    # Torch records the free of an earlier block if an earlier profile knew its address. So addresses tell whose block is freed.
    for event in sorted(_allocations(profile.profiler.kineto_results.experimental_event_tree()), key=lambda e: e.start_time_ns):
        address, size = event.extra_fields.ptr, event.extra_fields.alloc_size
        if size > 0:
            sizes[address] = size
            held += size
            peak = max(peak, held)
        else:
            held -= sizes.pop(address, 0)
    del result
    return peak


def largest_error(actual, expected):
    """Returns the largest absolute difference over all tensors of two results."""
    worst = 0.0
    for a, e in zip(pytree.tree_leaves(actual), pytree.tree_leaves(expected)):
        if isinstance(e, torch.Tensor) and e.numel():
            difference = (a.detach().double() - e.detach().double()).abs()
            worst = max(worst, difference.nan_to_num(nan=0.0).max().item())
    return worst


def kernels_of_last_compilation():
    """Returns the number of kernels that frit made, from its counters."""
    from torch._dynamo.utils import counters

    return counters["frit"]["kernels"]


@contextlib.contextmanager
def threads(count):
    """Sets torch's number of threads for a block."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def machine():
    """Describes the machine and versions, as every committed result must."""
    name = platform.processor() or platform.machine()
    with contextlib.suppress(OSError), open("/proc/cpuinfo", encoding="utf-8") as file:
        name = next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), name)
    return {"cpu": name, "cores": os.cpu_count(), "torch": torch.__version__, "commit": commit()}


def write(path, **figures):
    """Writes the JSON of a benchmark: the machine first, then its figures."""
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"machine": machine(), **figures}, file, indent=1)
        file.write("\n")


_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def commit(root=_ROOT):
    """Returns the commit of the measured sources, with "-dirty" for uncommitted changes: from the file that `make portable` leaves in a tree,
    which may be inside another repository, or else from git."""
    with contextlib.suppress(OSError), open(os.path.join(root, "COMMIT"), encoding="utf-8") as file:
        return file.read().strip()
    said = subprocess.run(["git", "describe", "--always", "--abbrev=12", "--dirty", "--exclude=*"], cwd=root, capture_output=True, text=True)
    return said.stdout.strip()


def table(rows, columns):
    """Formats rows as columns of plain text, numbers aligned to the right."""
    cells = [[title for title, _ in columns]] + [[show(row) for _, show in columns] for row in rows]
    widths = [max(len(line[i]) for line in cells) for i in range(len(columns))]
    lines = []
    for line in cells:
        padded = [line[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(line[1:], widths[1:])]
        lines.append("  ".join(padded).rstrip())
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines)
