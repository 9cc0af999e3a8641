"""`make demo`: every program, eager against frit, in one table.

    python -m benchmarks.demo [--compare inductor] [--scale test] [PROGRAM ...]
"""

import argparse
import logging
import math
import sys
import warnings

import torch

from . import measure
from .programs import programs


def measured(program, backends, scale, seconds):
    """Returns one row of the table: eager first, then each backend. A backend other than frit that cannot compile the program is only named."""
    contenders = [measure.Contender(program, None, scale)]
    results = [contenders[0].start()]
    kernels, failed = None, {}
    for backend in backends:
        contender = measure.Contender(program, backend, scale)
        try:
            results.append(contender.start())
        except torch._dynamo.exc.BackendCompilerFailed as error:
            if backend == "frit":
                raise
            failed[backend] = str(error).splitlines()[1 if "\n" in str(error) else 0]
            continue
        contenders.append(contender)
        if backend == "frit":
            kernels = measure.kernels_of_last_compilation()
    row = {
        "program": program.name,
        "section": program.section,
        "kernels": kernels,
        "first_call_ms": {c.backend: c.first_call for c in contenders[1:]},
        "failed": failed,
        "max_error": {c.backend: measure.largest_error(r, results[0]) for c, r in zip(contenders[1:], results[1:])},
    }
    del results
    row["ms"] = dict(zip([c.backend or "eager" for c in contenders], measure.interleaved(contenders, seconds)))
    row["peak_bytes"] = {c.backend or "eager": measure.peak_bytes(c.call) for c in contenders}
    return row


def columns(backends):
    """Returns the columns of the table for these backends."""

    def number(value, form="{:.2f}"):
        return "-" if value is None else form.format(value)

    def mebibytes(key):
        return lambda row: number(row["peak_bytes"][key] / 2**20, "{:.1f}") if key in row["peak_bytes"] else "-"

    shown = [("program", lambda r: r["program"]), ("eager ms", lambda r: number(r["ms"]["eager"], "{:.3f}"))]
    for b in backends:
        shown += [
            (f"{b} ms", lambda r, b=b: number(r["ms"].get(b), "{:.3f}") if b not in r["failed"] else "fails"),
            ("speed-up", lambda r, b=b: number(r["ms"]["eager"] / r["ms"][b]) + "x" if b in r["ms"] else "-"),
            ("first call ms", lambda r, b=b: number(r["first_call_ms"].get(b), "{:.0f}")),
        ]
        if b == "frit":
            shown.append(("kernels", lambda r: number(r["kernels"], "{}")))
    shown.append(("peak MiB eager", mebibytes("eager")))
    shown += [(f"peak MiB {b}", mebibytes(b)) for b in backends]
    shown += [(f"max error {b}" if b != "frit" else "max error", lambda r, b=b: number(r["max_error"].get(b), "{:.1e}")) for b in backends]
    return shown


def geometric_mean(values):
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compare", action="append", default=[], choices=["inductor", "aot_eager"])
    parser.add_argument("--scale", default="demo", choices=["demo", "test"])
    parser.add_argument("--seconds", type=float, default=0.25, help="measurement time per contender and program")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("programs", nargs="*", help="parts of program names; all by default")
    chosen = parser.parse_args(arguments)
    warnings.filterwarnings("ignore")
    logging.getLogger("transformers").setLevel(logging.ERROR)
    backends = ["frit", *chosen.compare]
    rows, failed = [], []
    with measure.threads(chosen.threads):
        for program in programs().values():
            if not program.demo or (chosen.programs and not any(p in program.name for p in chosen.programs)):
                continue
            print(f"  {program.name} ...", file=sys.stderr, flush=True)
            try:
                rows.append(measured(program, backends, chosen.scale, chosen.seconds))
            except Exception as error:
                failed.append((program.name, f"{type(error).__name__}: {str(error).splitlines()[0]}"))
            torch.compiler.reset()
    if rows:
        print(measure.table(rows, columns(backends)))
        mean = geometric_mean(row["ms"]["eager"] / row["ms"]["frit"] for row in rows)
        print(f"\n{len(rows)} programs, geometric mean speed-up over eager {mean:.2f}x")
        similarity = next((row for row in rows if row["program"] == "similarity"), None)
        if similarity:
            print("\npeak memory of similarity\n" + bars(similarity["peak_bytes"]))
    for name, reason in failed:
        print(f"FAILED {name}: {reason}")
    return 1 if failed or not rows else 0


def bars(sizes, width=60):
    """Plots one bar of characters for each contender, to scale."""
    largest = max(sizes.values()) or 1
    return "\n".join(
        f"  {name:<9} {'#' * max(1, round(width * size / largest))} {size / 2**20:.1f} MiB" for name, size in sizes.items()
    )


if __name__ == "__main__":
    sys.exit(main())
