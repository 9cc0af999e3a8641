"""`make bench`: eager, Inductor and frit on every program, interleaved; JSON and a table.

    python -m benchmarks.run [--output benchmarks/results/NAME.json] [PROGRAM ...]

A first call is measured in a process of its own, with every cache off, for frit, Inductor and `aot_eager`; what a
compiler adds to a first call is its time beyond `aot_eager`'s, which both share.
"""

import argparse
import json
import os
import subprocess
import sys

from . import demo, measure
from .programs import programs

_FIRST_CALL = """
import sys, json, logging, warnings
warnings.filterwarnings("ignore"); logging.getLogger("transformers").setLevel(logging.ERROR)
import torch; torch.set_num_threads(2)
from benchmarks import measure
from benchmarks.programs import programs
name, backend = sys.argv[1:]
warm = torch.compile(lambda x: (x.sin() * 2).sum(), backend=backend)
x = torch.ones(8, requires_grad=True)
warm(x).backward(); torch.compiler.reset()
from torch._dynamo.utils import counters; counters["frit"].clear()
contender = measure.Contender(programs()[name], backend, "demo")
eager = measure.Contender(programs()[name], None, "demo"); eager.call()
contender.start()
print(json.dumps({"ms": contender.first_call, "kernels": measure.kernels_of_last_compilation()}))
"""


def first_call(program, backend):
    """Milliseconds of a first call in a fresh process, warmed up on another function."""
    environment = dict(os.environ, TORCHINDUCTOR_FORCE_DISABLE_CACHES="1")
    command = [sys.executable, "-c", _FIRST_CALL, program.name, backend]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        return {"ms": None, "kernels": None, "error": done.stderr.strip().splitlines()[-1]}
    return json.loads(done.stdout.strip().splitlines()[-1])


def compile_times(program, backends):
    """First calls, and for each compiler what it adds to aot_eager's; per kernel for frit."""
    calls = {backend: first_call(program, backend) for backend in ["aot_eager", *backends]}
    base = calls["aot_eager"]["ms"]
    beyond = {b: calls[b]["ms"] - base if calls[b]["ms"] and base else None for b in backends}
    kernels = calls["frit"]["kernels"] if "frit" in calls else None
    return {
        "first_call": {b: call["ms"] for b, call in calls.items()},
        "beyond_aot_eager": beyond,
        "per_kernel": beyond["frit"] / kernels if kernels and beyond.get("frit") is not None else None,
    }


def summary(rows):
    """The figures the project is held to."""
    ratios = {r["program"]: r["ms"]["inductor"] / r["ms"]["frit"] for r in rows if "inductor" in r["ms"]}
    compile_ratio = [
        r["compile_ms"]["beyond_aot_eager"]["inductor"] / r["compile_ms"]["beyond_aot_eager"]["frit"]
        for r in rows
        if r.get("compile_ms") and all(v and v > 0 for v in r["compile_ms"]["beyond_aot_eager"].values())
    ]
    return {
        "geometric_mean_over_inductor": demo.geometric_mean(ratios.values()) if ratios else None,
        "worst_over_inductor": min(ratios.items(), key=lambda item: item[1]) if ratios else None,
        "geometric_mean_over_eager": demo.geometric_mean(r["ms"]["eager"] / r["ms"]["frit"] for r in rows),
        "compile_time_less_than_inductor": demo.geometric_mean(compile_ratio) if compile_ratio else None,
        "peak_above_eager": [r["program"] for r in rows if r["peak_bytes"]["frit"] > r["peak_bytes"]["eager"]],
    }


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", help="where the JSON goes; standard output gets the table either way")
    parser.add_argument("--without-inductor", action="store_true")
    parser.add_argument("--without-compile-times", action="store_true")
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("programs", nargs="*", help="parts of program names; all by default")
    chosen = parser.parse_args(arguments)
    backends = ["frit"] if chosen.without_inductor else ["frit", "inductor"]
    rows = []
    with measure.threads(2):
        for program in programs().values():
            if not program.demo or (chosen.programs and not any(p in program.name for p in chosen.programs)):
                continue
            print(f"  {program.name} ...", file=sys.stderr, flush=True)
            try:
                row = demo.measured(program, backends, "demo", chosen.seconds)
            except Exception as error:
                print(f"  {program.name} FAILED: {type(error).__name__}: {error}", file=sys.stderr)
                continue
            if not chosen.without_compile_times:
                row["compile_ms"] = compile_times(program, backends)
            rows.append(row)
    if not rows:
        return 1
    report = {"machine": measure.machine(), "threads": 2, "summary": summary(rows), "programs": rows}
    print(measure.table(rows, demo.columns(backends)))
    print(json.dumps(report["summary"], indent=1))
    if chosen.output:
        os.makedirs(os.path.dirname(os.path.abspath(chosen.output)), exist_ok=True)
        with open(chosen.output, "w", encoding="utf-8") as file:
            json.dump(report, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
