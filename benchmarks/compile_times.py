"""Measures what compilers add to a first call.

    python -m benchmarks.compile_times [--without-inductor] [--rounds 9] [PROGRAM ...]

One process per program measures first calls of `aot_eager` and frit in turns, after `torch.compiler.reset()`, with all
caches off. Both do the same tracing, so the difference is the compiler's time. The first round is cold (library code
has not run yet). Figures are minima over all rounds, which other load disturbs least, and every sample is in the JSON.
Inductor caches loaded code for the life of a process, so each of its samples needs a separate process. Long traces
differ by tens of milliseconds of noise, by less in CPU time, so the difference is shown in both. The table also shows
the time inside frit: wall and CPU time of its backend from the captured graph to the loaded code, and the compiler's
phases.
"""

import argparse
import collections
import json
import os
import statistics
import subprocess
import sys
import time

import torch

from . import measure
from .programs import programs

_SAMPLES = """
import json, logging, sys, warnings
warnings.filterwarnings("ignore"); logging.getLogger("transformers").setLevel(logging.ERROR)
import torch; torch.set_num_threads(2)
from benchmarks import compile_times
print(json.dumps(compile_times.samples(**json.loads(sys.argv[1]))))
"""


def samples(program, backends, scale, rounds, seconds):
    """Measures first calls in this process, in turns: milliseconds by backend, and the times that frit reports."""
    program = programs()[program]
    inside = _inside_frit() if "frit" in backends else None
    x = torch.ones(8, requires_grad=True)
    for backend in backends:
        torch.compile(lambda x: (x.sin() * 2).sum(), backend=backend)(x).backward()
        torch.compiler.reset()
    measure.Contender(program, None, scale).call()
    calls = {backend: [] for backend in backends}
    cpu = {backend: [] for backend in backends}
    own = []
    kernels = None
    began = time.perf_counter()
    for done in range(rounds):
        if done > 2 and time.perf_counter() - began > seconds:
            break
        for backend in backends:
            contender = measure.Contender(program, backend, scale)
            if inside is not None:
                inside.clear()
            contender.start()
            calls[backend].append(contender.first_call)
            cpu[backend].append(contender.first_call_cpu)
            if backend == "frit":
                own.append(dict(inside))
                kernels = measure.kernels_of_last_compilation()
    return {"calls": calls, "cpu": cpu, "inside": own, "kernels": kernels}


def _inside_frit():
    """Returns a counter of the time in frit's backend, to which every later compilation adds."""
    import frit.backend

    tally = collections.Counter()
    compile_graph = frit.backend.compile_graph

    def timed(*arguments, **settings):
        wall, cpu = time.perf_counter(), time.thread_time()
        try:
            return compile_graph(*arguments, **settings)
        finally:
            tally["wall"] += 1e3 * (time.perf_counter() - wall)
            tally["cpu"] += 1e3 * (time.thread_time() - cpu)

    def observe(name, stage, captured, report, executable):
        for phase, milliseconds in report["phases_ms"].items():
            tally[phase] += milliseconds

    frit.backend.compile_graph = timed
    frit.backend._OBSERVERS.append(observe)
    return tally


def _in_a_process(**arguments):
    environment = dict(os.environ, TORCHINDUCTOR_FORCE_DISABLE_CACHES="1")
    done = subprocess.run(
        [sys.executable, "-c", _SAMPLES, json.dumps(arguments)], env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or ["ended without a message"])[-1])
    return json.loads(done.stdout.strip().splitlines()[-1])


def compile_times(name, *, scale="demo", rounds=9, seconds=60.0, inductor_samples=1):
    """Returns the figures of one program; Inductor's are missing if it was not requested or failed."""
    taken = _in_a_process(program=name, backends=["aot_eager", "frit"], scale=scale, rounds=rounds, seconds=seconds)
    for _ in range(inductor_samples):
        try:
            once = _in_a_process(program=name, backends=["inductor"], scale=scale, rounds=1, seconds=seconds)
        except RuntimeError as error:
            print(f"  {name}: Inductor: {error}", file=sys.stderr)
            break
        taken["calls"].setdefault("inductor", []).extend(once["calls"]["inductor"])
    return figures(taken)


def figures(taken):
    """Computes minima and the excess over `aot_eager`, per kernel and compared with Inductor."""
    calls = {backend: all_of for backend, all_of in taken["calls"].items() if all_of}
    least = {backend: min(all_of) for backend, all_of in calls.items()}
    beyond = {backend: ms - least["aot_eager"] for backend, ms in least.items() if backend != "aot_eager"}
    inside = {key: min(one.get(key, 0.0) for one in taken["inside"]) for key in taken["inside"][0]}
    kernels = taken["kernels"]
    beyond_cpu = min(taken["cpu"]["frit"]) - min(taken["cpu"]["aot_eager"])
    return {
        "first_call": least,
        "samples": calls,
        "spread": {b: (statistics.median(all_of) - min(all_of)) for b, all_of in calls.items()},
        "beyond_aot_eager": beyond,
        "inside": inside,
        "kernels": kernels,
        "beyond_aot_eager_cpu": beyond_cpu,
        "cpu_per_kernel": beyond_cpu / kernels if kernels else None,
        "per_kernel": beyond["frit"] / kernels if kernels else None,
        "inside_per_kernel": inside["wall"] / kernels if kernels else None,
        "inside_cpu_per_kernel": inside["cpu"] / kernels if kernels else None,
        "less_than_inductor": beyond["inductor"] / max(beyond["frit"], inside["wall"]) if "inductor" in beyond else None,
    }


def columns():
    def number(value, form="{:.0f}"):
        return "-" if value is None else form.format(value)

    return [
        ("program", lambda r: r["program"]),
        ("kernels", lambda r: number(r["compile_ms"]["kernels"], "{}")),
        ("aot_eager ms", lambda r: number(r["compile_ms"]["first_call"]["aot_eager"])),
        ("frit ms", lambda r: number(r["compile_ms"]["first_call"]["frit"])),
        ("inductor ms", lambda r: number(r["compile_ms"]["first_call"].get("inductor"))),
        ("frit beyond", lambda r: number(r["compile_ms"]["beyond_aot_eager"]["frit"])),
        ("per kernel", lambda r: number(r["compile_ms"]["per_kernel"], "{:.1f}")),
        ("CPU beyond", lambda r: number(r["compile_ms"]["beyond_aot_eager_cpu"])),
        ("per kernel", lambda r: number(r["compile_ms"]["cpu_per_kernel"], "{:.1f}")),
        ("spread", lambda r: number(r["compile_ms"]["spread"]["frit"])),
        ("inside per kernel", lambda r: number(r["compile_ms"]["inside_per_kernel"], "{:.1f}")),
        ("CPU", lambda r: number(r["compile_ms"]["inside_cpu_per_kernel"], "{:.1f}")),
        ("less than Inductor", lambda r: number(r["compile_ms"]["less_than_inductor"], "{:.0f}x")),
    ]


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", help="path of the JSON; the table is always printed")
    parser.add_argument("--without-inductor", action="store_true")
    parser.add_argument("--inductor-samples", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=60.0, help="start no further round of a program after this time")
    parser.add_argument("--scale", default="demo", choices=["demo", "test"])
    parser.add_argument("programs", nargs="*", help="parts of program names; all of the demo by default")
    chosen = parser.parse_args(arguments)
    rows = []
    for program in programs().values():
        if not program.demo or (chosen.programs and not any(p in program.name for p in chosen.programs)):
            continue
        print(f"  {program.name} ...", file=sys.stderr, flush=True)
        taken = compile_times(
            program.name,
            scale=chosen.scale,
            rounds=chosen.rounds,
            seconds=chosen.seconds,
            inductor_samples=0 if chosen.without_inductor else chosen.inductor_samples,
        )
        rows.append({"program": program.name, "compile_ms": taken})
    print(measure.table(rows, columns()))
    if chosen.output:
        os.makedirs(os.path.dirname(os.path.abspath(chosen.output)), exist_ok=True)
        measure.write(chosen.output, threads=2, programs=rows)
    return 0 if rows else 1


if __name__ == "__main__":
    sys.exit(main())
