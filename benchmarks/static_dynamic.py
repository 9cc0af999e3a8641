"""Measures the cost of dynamic sizes: each program compiled for its sizes and with `dynamic=True`, at the same sizes.

    python -m benchmarks.static_dynamic [--output FILE.json] [PROGRAM ...]

The two run in separate processes (Dynamo would use the code of one for the other) and in turns, call by call, on the same CPU: a virtual CPU
may share its core with other guests for seconds, and on two of them the times of the same loop differed by a factor of 1.4. Kernels run
on one thread, and the CPU time of calls is measured; the figure of a program is the ratio of the fastest calls.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time

from . import measure
from .programs import programs

_CONTENDER = """
import os, sys, time, logging, warnings
os.sched_setaffinity(0, {int(sys.argv[3])})
warnings.filterwarnings("ignore"); logging.getLogger("transformers").setLevel(logging.ERROR)
import torch; torch.set_num_threads(1)
from benchmarks import measure
from benchmarks.programs import programs
program = programs()[sys.argv[1]]
one = measure.Contender(program, None, "demo")
one._run = torch.compile(one.function, backend="frit", fullgraph=program.fullgraph, dynamic=sys.argv[2] == "dynamic")
one.call(); one.call()
print("ready", flush=True)
for _ in sys.stdin:
    start = time.process_time(); one.call()
    print(1e3 * (time.process_time() - start), flush=True)
"""


class Contender:
    """One program in a separate process; `turn` makes one call and returns its milliseconds."""

    def __init__(self, program, kind):
        processor = max(os.sched_getaffinity(0))
        command = [sys.executable, "-c", _CONTENDER, program.name, kind, str(processor)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline().strip() != "ready":
            raise RuntimeError(f"'{program.name}', {kind}, does not run")

    def turn(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def stop(self):
        self.process.stdin.close()
        self.process.wait()


def fastest(contenders, seconds):
    best = [float("inf")] * len(contenders)
    began = time.perf_counter()
    rounds = 0
    while rounds < 20 or time.perf_counter() - began < seconds:
        for i, one in enumerate(contenders):
            best[i] = min(best[i], one.turn())
        rounds += 1
    return best


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output")
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("programs", nargs="*", help="parts of program names; all by default")
    chosen = parser.parse_args(arguments)
    rows = []
    for program in programs().values():
        if not program.demo or (chosen.programs and not any(p in program.name for p in chosen.programs)):
            continue
        pair = [Contender(program, kind) for kind in ("static", "dynamic")]
        static, dynamic = fastest(pair, chosen.seconds)
        for one in pair:
            one.stop()
        rows.append({"program": program.name, "static": static, "dynamic": dynamic, "ratio": dynamic / static})
        print(f"{program.name:32} {static:9.3f} {dynamic:9.3f} {dynamic / static:6.3f}", flush=True)
    if rows:
        ratios = [row["ratio"] for row in rows]
        print(f"median {statistics.median(ratios):.3f}, worst {max(ratios):.3f}")
    if chosen.output:
        measure.write(chosen.output, threads=1, programs=rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
