"""How the demo and the benchmark measure.

Times are medians of interleaved rounds: every contender runs once, then every contender again, so that a
machine that slows down slows all of them. Peak memory is what torch's CPU allocator hands out during
one call, read from the profiler's allocation events.
"""

import contextlib
import gc
import json
import os
import platform
import statistics
import subprocess
import time

import torch
import torch.utils._pytree as pytree


class Contender:
    """One way to run a program: prepared inputs, a call, and what its first call cost."""

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
        """One call, with the backward pass where the program trains; returns results and gradients."""
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
        """The first call, compilation included, in milliseconds of time and of all threads' processor time."""
        torch.compiler.reset()
        gc.collect()  # what other calls left behind would be collected at this one's expense
        began, began_cpu = time.perf_counter(), time.process_time()
        result = self.call()
        self.first_call = 1e3 * (time.perf_counter() - began)
        self.first_call_cpu = 1e3 * (time.process_time() - began_cpu)
        return result


def interleaved(contenders, seconds=1.0, rounds=(5, 200)):
    """Median milliseconds of each contender, measured round by round."""
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


def peak_bytes(call):
    """The most bytes torch's CPU allocator held at once during a call, above what it held before."""
    call()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
        result = call()
    held = peak = 0
    events = profile.profiler.kineto_results.events()
    for event in sorted((e for e in events if e.name() == "[memory]"), key=lambda e: e.start_ns()):
        held += event.nbytes()
        peak = max(peak, held)
    del result
    return peak


def largest_error(actual, expected):
    """The largest absolute difference over all tensors of two results."""
    worst = 0.0
    for a, e in zip(pytree.tree_leaves(actual), pytree.tree_leaves(expected)):
        if isinstance(e, torch.Tensor) and e.numel():
            difference = (a.detach().double() - e.detach().double()).abs()
            worst = max(worst, difference.nan_to_num(nan=0.0).max().item())
    return worst


def kernels_of_last_compilation():
    """How many kernels frit made, from its counters."""
    from torch._dynamo.utils import counters

    return counters["frit"]["kernels"]


@contextlib.contextmanager
def threads(count):
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def machine():
    """What a committed result must say about where it was measured."""
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
    """What the sources were when they were measured: in a tree that `make portable` left, a file says it, which may lie within another
    repository; elsewhere git does. Changes that are not committed are said too."""
    with contextlib.suppress(OSError), open(os.path.join(root, "COMMIT"), encoding="utf-8") as file:
        return file.read().strip()
    said = subprocess.run(["git", "describe", "--always", "--abbrev=12", "--dirty", "--exclude=*"], cwd=root, capture_output=True, text=True)
    return said.stdout.strip()


def table(rows, columns):
    """Plain text columns, numbers to the right."""
    cells = [[title for title, _ in columns]] + [[show(row) for _, show in columns] for row in rows]
    widths = [max(len(line[i]) for line in cells) for i in range(len(columns))]
    lines = []
    for line in cells:
        padded = [line[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(line[1:], widths[1:])]
        lines.append("  ".join(padded).rstrip())
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines)
