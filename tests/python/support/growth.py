"""Tests for leaks: calls ten programs many times, and counts memory, file handles, threads, tensors and Python objects after the first tenth of the
calls and at the end.

`scripts/growth 100000` writes tests/golden/growth.json; test_growth.py checks a short run against the same limits.
"""

import collections
import ctypes
import gc
import json
import os
import sys
from pathlib import Path

import torch

#: The allowed growth of a run: for pages that an allocator takes late, but not for anything that grows with each call.
LIMITS = {"kibibytes": 1024, "handles": 0, "threads": 0, "tensors": 0, "objects": 64, "temporary_bytes": 0}


def pointwise():
    return lambda x: (x * 2).sin() + 1, lambda call: (torch.rand(64),)


def reduction():
    return lambda x: torch.softmax(x, -1).sum(0), lambda call: (torch.rand(16, 32),)


def product():
    return lambda x, y: torch.relu(x @ y + 1), lambda call: (torch.rand(8, 16), torch.rand(16, 8))


def mutation():
    kept = torch.zeros(32)
    return lambda x: x.mul_(0.5).add_(1), lambda call: (kept,)


def views():
    def function(x):
        y = x.t() + 1
        return y, y[1:], x[2:]

    return function, lambda call: (torch.rand(8, 4),)


def random():
    return lambda x: torch.nn.functional.dropout(x, 0.5) + torch.rand(64), lambda call: (torch.ones(64),)


def sizes():
    return lambda x: (x.exp() / x.shape[0]).sum(0), lambda call: (torch.rand(2 + call % 31, 8),)


def training():
    layer = torch.nn.Linear(8, 8)

    def step(x):
        layer.zero_grad(set_to_none=True)
        layer(x).tanh().sum().backward()
        return layer.weight.grad

    layer.forward = torch.compile(layer.forward, backend="frit", dynamic=False)
    return step, lambda call: (torch.rand(4, 8),)


def convolution():
    layer = torch.nn.Conv2d(2, 4, 3).requires_grad_(False)
    return lambda x: torch.relu(layer(x)), lambda call: (torch.rand(1, 2, 8, 8),)


def refused():
    def function(x, index):
        return x[index] * 2

    return function, lambda call: (torch.rand(8), torch.tensor([0, 9 if call % 2 else 3]))


PROGRAMS = (pointwise, reduction, product, mutation, views, random, sizes, training, convolution, refused)


def measured(executables):
    """Returns the current counts. The list of all objects takes some megabytes, so memory is measured last, after the allocator has returned unused
    pages."""
    gc.collect()
    types = collections.Counter(map(type, gc.get_objects()))
    tensors, number = sum(count for kind, count in types.items() if issubclass(kind, torch.Tensor)), types.total()
    del types
    temporary = sum(json.loads(executable.stats())["temporary_bytes"] for executable in executables)
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/statm", encoding="ascii") as file:
        pages = int(file.read().split()[1])
    return {
        "kibibytes": pages * os.sysconf("SC_PAGE_SIZE") // 1024,
        "handles": len(os.listdir("/proc/self/fd")),
        "threads": len(os.listdir("/proc/self/task")),
        "tensors": tensors,
        "objects": number,
        "temporary_bytes": temporary,
    }


def growth(program, calls):
    """Returns the growth between the first tenth of the calls and the end, by name."""
    from frit import backend

    torch.compiler.reset()
    # What is there before is not counted: after thousands of tests, it takes seconds to count.
    gc.collect()
    gc.freeze()
    executables = []

    def observe(*what):
        executables.append(what[-1])

    backend._OBSERVERS.append(observe)
    function, arguments = program()
    compiled = function if program is training else torch.compile(function, backend="frit", dynamic=program is sizes)
    before = None
    try:
        for call in range(calls):
            if call == max(calls // 10, 10):
                measured(executables)  # excludes memory that the first measurement takes
                before = measured(executables)
            try:
                compiled(*arguments(call))
            except IndexError:
                assert program is refused
        after = measured(executables)
    finally:
        backend._OBSERVERS.remove(observe)
    return {name: after[name] - before[name] for name in LIMITS}


def beyond(found):
    """Returns the counts that grew beyond their limits."""
    return {name: number for name, number in found.items() if number > LIMITS[name]}


def main():
    calls = int(sys.argv[1])
    names = sys.argv[2:] or [program.__name__ for program in PROGRAMS]
    rows = {}
    for name in names:
        rows[name] = growth(globals()[name], calls)
        print(name, rows[name], f"beyond the limits: {beyond(rows[name])}" if beyond(rows[name]) else "", flush=True)
    ledger = Path(__file__).resolve().parents[2] / "golden" / "growth.json"
    if len(rows) == len(PROGRAMS):
        with open(ledger, "w", encoding="utf-8") as file:
            file.write(json.dumps({"calls": calls, "torch": torch.__version__, "growth": rows}, indent=1) + "\n")
    return 1 if any(map(beyond, rows.values())) else 0


if __name__ == "__main__":
    sys.exit(main())
