"""Prints the table: frit's kernels beside Inductor's, by their machine code.

    python -m benchmarks.gpu_static [--output FILE.json] [--triton PYTHON] [--kept FOLDER] [PROGRAM ...]

Inductor's side needs an interpreter with torch and the triton of its release: this one, or the one that --triton names. Without it the columns of
Inductor are empty. --kept keeps its kernels in a folder, and takes from there what a run before has left. --short only prints the short table of
docs/Gpu.md from a file of results.
"""

import argparse
import importlib.util
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from . import sides
from .model import DRAM
from .programs import programs

HEAD = ("program", "MB", "side", "us", "of peak", "binds", "KB in flight", "instructions / 16 B", "MUFU / 16 B", "registers", "blocks", "load / store", "barriers",
        "launches")  # fmt: skip


def fill(folder, names, python):
    """Lets Inductor compile the programs that the folder lacks."""
    missing = [name for name in names if not (folder / name / "launches.json").exists()]
    for name in missing:
        # A process for each: a failure takes no other program with it.
        command = [python, "-W", "ignore", "-m", "benchmarks.gpu_static.inductor", folder, name]
        subprocess.run(command, cwd=Path(__file__).resolve().parents[2], check=False, stdout=sys.stderr)


def lines(one):
    for side in ("frit", "inductor"):
        found = one[side]
        if found:
            peak = f"{found['bytes'] / found['microseconds'] / DRAM:.0%}"
            shown = (one["program"], round(found["bytes"] / 1e6), side, found["microseconds"], peak, found["binds"], found["kb_in_flight"], found["instructions"],
                     found["mufu"], found["registers"], found["blocks"], f"{found['load']}/{found['store']}", found["barriers"], found["launches"])  # fmt: skip
            yield "| " + " | ".join(map(str, shown)) + " |"


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu_static", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output")
    parser.add_argument("--triton", default=sys.executable if importlib.util.find_spec("triton") else None)
    parser.add_argument("--kept")
    parser.add_argument("--short", metavar="FILE.json")
    parser.add_argument("names", nargs="*", metavar="PROGRAM")
    options = parser.parse_args()
    if options.short:
        return print("\n".join(sides.short(one) for one in json.loads(Path(options.short).read_text())["rows"]))
    known = programs()
    unknown = [name for name in options.names if name not in known]
    if unknown:
        parser.error(f"no such program: {', '.join(unknown)}; there are {', '.join(known)}")
    names = options.names or list(known)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(options.kept or scratch).resolve()
        if options.triton:
            fill(folder, names, options.triton)
        print("| " + " | ".join(HEAD) + " |\n" + "|---" * len(HEAD) + "|", flush=True)
        rows = []
        for name in names:
            least = sides.least_bytes(known[name])
            one = {"program": name, "benchmark": known[name].benchmark, "frit": sides.of_frit(known[name], least)}
            one["inductor"] = sides.of_inductor(folder / name, one["frit"]["bytes"])
            one["ratio"] = round(one["inductor"]["microseconds"] / one["frit"]["microseconds"], 3) if one["inductor"] else None
            rows.append(one)
            print("\n".join(lines(one)), flush=True)
    total = sides.summary(rows)
    print(f"\nInductor's time over frit's: {json.dumps(total)}")
    if options.output:
        text = ",\n".join(f"  {json.dumps(one)}" for one in rows)
        Path(options.output).write_text(f'{{"device": "H200", "summary": {json.dumps(total)}, "rows": [\n{text}\n]}}\n')


if __name__ == "__main__":
    main()
