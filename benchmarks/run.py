"""`make bench`: eager, Inductor and frit on every program, interleaved; JSON and a table.

    python -m benchmarks.run [--output benchmarks/results/NAME.json] [PROGRAM ...]

`benchmarks.compile_times` measures the first calls, in separate processes.
"""

import argparse
import json
import os
import sys

from . import compile_times, demo, measure
from .programs import programs


def summary(rows):
    """Returns the figures for which the project has goals."""
    ratios = {r["program"]: r["ms"]["inductor"] / r["ms"]["frit"] for r in rows if "inductor" in r["ms"]}
    compile_ratio = {
        r["program"]: r["compile_ms"]["less_than_inductor"]
        for r in rows
        if r.get("compile_ms") and r["compile_ms"]["less_than_inductor"]
    }
    per_kernel = {r["program"]: r["compile_ms"]["per_kernel"] for r in rows if r.get("compile_ms") and r["compile_ms"]["per_kernel"]}
    return {
        "geometric_mean_over_inductor": demo.geometric_mean(ratios.values()) if ratios else None,
        "worst_over_inductor": min(ratios.items(), key=lambda item: item[1]) if ratios else None,
        "geometric_mean_over_eager": demo.geometric_mean(r["ms"]["eager"] / r["ms"]["frit"] for r in rows),
        "compile_time_less_than_inductor": demo.geometric_mean(compile_ratio.values()) if compile_ratio else None,
        "least_less_than_inductor": min(compile_ratio.items(), key=lambda item: item[1]) if compile_ratio else None,
        "most_compile_ms_per_kernel": max(per_kernel.items(), key=lambda item: item[1]) if per_kernel else None,
        "peak_above_eager": [r["program"] for r in rows if r["peak_bytes"]["frit"] > r["peak_bytes"]["eager"]],
    }


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", help="path of the JSON; the table is always printed")
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
                row["compile_ms"] = compile_times.compile_times(program.name, inductor_samples=int("inductor" in backends))
            rows.append(row)
    if not rows:
        return 1
    report = {"machine": measure.machine(), "threads": 2, "summary": summary(rows), "programs": rows}
    print(measure.table(rows, demo.columns(backends)))
    if not chosen.without_compile_times:
        print(measure.table(rows, compile_times.columns()))
    print(json.dumps(report["summary"], indent=1))
    if chosen.output:
        os.makedirs(os.path.dirname(os.path.abspath(chosen.output)), exist_ok=True)
        with open(chosen.output, "w", encoding="utf-8") as file:
            json.dump(report, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
