"""Measures frit's overhead besides the kernels: host time of a call, and compile time by graph size.

    python -m benchmarks.overhead [--output FILE.json]

Host time: calls on tensors of 64 elements, whose kernels take tens of nanoseconds, so that nearly all of the time is checks,
allocation, launches and wrapping of results; also with sizes that change at every call, with and without buckets. Growth: the
compiler alone (import to artifact) on chains of elementwise operators; `per_node_us` is constant if compile time is linear.
"""

import argparse
import json
import statistics
import sys
import time

import torch
from torch.fx.experimental.proxy_tensor import make_fx

from . import measure


def _captured(function, *inputs):
    from frit.capture.graph import capture

    return capture(make_fx(function, tracing_mode="fake")(*inputs))


def _settings():
    from frit import options

    return options.resolve(None, None)


def independent_kernels(count):
    """A function of `count` tensors of different sizes, which only horizontal fusion could put into one kernel."""
    inputs = [torch.ones(64 + 16 * k) for k in range(count)]
    return lambda *tensors: tuple(x.sum() * 2 for x in tensors), inputs


def host_cost(counts=(1, 2, 4, 8), rounds=15, calls=4000):
    """Returns the microseconds of a call by its number of kernels; the minimum of the rounds, since noise only adds."""
    from frit.backend import build

    rows = []
    for count in counts:
        function, inputs = independent_kernels(count)
        run, report = build(_captured(function, *inputs), _settings(), f"host{count}")
        run(list(inputs))
        samples = []
        for _ in range(rounds):
            arguments = [list(inputs) for _ in range(calls)]
            began = time.perf_counter()
            for boxed in arguments:
                run(boxed)
            samples.append(1e6 * (time.perf_counter() - began) / calls)
        rows.append({"kernels": len(report["kernels"]), "us": min(samples), "median_us": statistics.median(samples)})
    return rows


def bucket_cost(rounds=15, calls=4000):
    """Returns the microseconds of a call with changing sizes: without buckets, with a ramp of 64 entries, and with specialised kernels for
    each bucket."""
    from frit.backend import build
    from frit.capture.graph import capture
    from frit.sizes import specialize

    def function(x):
        return x * 2

    graph = make_fx(function, tracing_mode="symbolic")(torch.ones(64))
    tensors = [torch.ones(64 + 16 * k) for k in range(4)]
    runs = []
    for policy in ("off", "ramp", "specialize"):
        captured, settings = capture(graph), {**_settings(), "bucket_policy": policy}
        run, report = build(captured, settings, policy)
        if policy == "specialize":
            specialize.attach(run, captured, settings, report, policy)
        runs.append(run)
    for tensor in 2 * tensors:
        runs[-1]([tensor])
    specialize.wait_for_background()
    best = [float("inf")] * len(runs)
    for _ in range(rounds):
        for number, run in enumerate(runs):
            arguments = [[tensors[k % 4]] for k in range(calls)]
            began = time.perf_counter()
            for boxed in arguments:
                run(boxed)
            best[number] = min(best[number], 1e6 * (time.perf_counter() - began) / calls)
    return {
        "without_us": best[0],
        "with_us": best[1],
        "choosing_us": best[1] - best[0],
        "specialized_us": best[2],
        "choosing_kernels_us": best[2] - best[1],
    }


def growth(sizes=(1250, 2500, 5000, 10000)):
    """Returns compile times of chains of elementwise operators, the compiler alone."""
    from frit.native import compiler

    def chain(length):
        def function(x):
            for k in range(length // 2):
                x = torch.tanh(x) if k % 8 == 7 else x * 1.001
                x = x + 0.5
            return x

        return function

    rows = []
    for size in sizes:
        captured = _captured(chain(size), torch.ones(64))
        samples = []
        for _ in range(3):
            began = time.perf_counter()
            compiler().compile(captured.json, json.dumps({**_settings(), "name": f"chain{size}"}))
            samples.append(time.perf_counter() - began)
        rows.append({"nodes": size, "ms": 1e3 * min(samples), "per_node_us": 1e6 * min(samples) / size})
    return rows


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", help="path of the JSON, which is also printed")
    chosen = parser.parse_args(arguments)
    with measure.threads(2):
        report = {"machine": measure.machine(), "host_cost": host_cost(), "bucket_cost": bucket_cost(), "growth": growth()}
    text = json.dumps(report, indent=1)
    print(text)
    if chosen.output:
        with open(chosen.output, "w", encoding="utf-8") as file:
            file.write(text + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
