"""Compares this tree with another built tree of frit: speed, compile time and warm start of every demo program.

    python -m benchmarks.trees BEFORE [--rounds 2] [--seconds 0.5] [--output FILE.json] [PROGRAM ...]

BEFORE is the root of the other tree, built and with a virtual environment in `.venv`. Each sample is a separate process,
and the trees take turns (before, after, after, before), so that a slow minute of the machine affects both. The
figures are ratios after / before of each tree's smallest sample: run time of a call, also relative to eager's in the same
process; time inside frit's backend with all caches off (CPU time of all threads, and wall time); and CPU time from
AOTAutograd's call to the loaded code if the graph is on disk.
"""

import argparse
import json
import os
import subprocess
import sys

from . import demo, measure, warm_start
from .programs import programs

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

_SAMPLE = """
import json, logging, sys, time, warnings
warnings.filterwarnings("ignore"); logging.getLogger("transformers").setLevel(logging.ERROR)
import torch; torch.set_num_threads(2)
import frit.backend
from benchmarks import demo, measure
from benchmarks.programs import programs
name, seconds = sys.argv[1], float(sys.argv[2])
row = demo.measured(programs()[name], ["frit"], "demo", seconds)
compile_graph, spent = frit.backend.compile_graph, []
def timed(*arguments, **settings):
    cpu, wall = time.process_time(), time.perf_counter()
    try:
        return compile_graph(*arguments, **settings)
    finally:
        spent.append((time.process_time() - cpu, time.perf_counter() - wall))
frit.backend.compile_graph = timed
compilations = []
for _ in range(5):
    torch.compiler.reset()
    spent.clear()
    measure.Contender(programs()[name], "frit", "demo").start()
    compilations.append([1e3 * sum(column) for column in zip(*spent)])
cpu, wall = (min(column) for column in zip(*compilations))
print(json.dumps({"call": row["ms"]["frit"], "eager": row["ms"]["eager"], "compile cpu": cpu, "compile wall": wall}))
"""


def _process(tree, code, *arguments, **environment):
    environment = dict(os.environ, PYTHONPATH=os.path.join(tree, "python") + os.pathsep + tree, **environment)
    interpreter = os.path.join(tree, ".venv", "bin", "python")
    done = subprocess.run([interpreter, "-c", code, *arguments], cwd=tree, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{tree}: {(done.stderr.strip().splitlines() or ['ended without a message'])[-1]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def _turns(rounds):
    return [which for number in range(rounds) for which in (("before", "after") if number % 2 == 0 else ("after", "before"))]


def compare(name, trees, rounds, seconds):
    """Returns the samples of one program in both trees, and the ratios after / before."""
    samples = {"before": [], "after": []}
    for which in _turns(rounds):
        samples[which].append(_process(trees[which], _SAMPLE, name, str(seconds), FRIT_CACHE="0", TORCHINDUCTOR_FORCE_DISABLE_CACHES="1"))
    least = {
        which: {
            "call": min(own["call"] for own in rows),
            "call over eager": min(own["call"] / own["eager"] for own in rows),
            **{key: min(own[key] for own in rows) for key in ("compile cpu", "compile wall")},
        }
        for which, rows in samples.items()
    }
    return {"program": name, "samples": samples, "ratio": {key: least["after"][key] / least["before"][key] for key in least["after"]}}


_WARM = "import json, sys; from benchmarks import warm_start; print(json.dumps(warm_start.measure_one(sys.argv[1], 2)))"


def compare_warm(name, trees, rounds):
    """Returns the milliseconds to load a program's graphs from disk, summed over the graphs: the smallest of all processes."""
    least = {"before": float("inf"), "after": float("inf")}
    for which in _turns(rounds):
        graphs = _process(trees[which], _WARM, name)["graphs"]
        least[which] = min(least[which], sum(graph["least_ms"] for graph in graphs))
    return {"program": name, "ms": least, "ratio": least["after"] / least["before"]}


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--output")
    parser.add_argument("programs", nargs="*", help="parts of program names; all of the demo by default")
    chosen = parser.parse_intermixed_args(arguments)
    trees = {"before": os.path.abspath(chosen.before), "after": ROOT}
    rows, warm = [], []
    for program in programs().values():
        if program.demo and (not chosen.programs or any(part in program.name for part in chosen.programs)):
            rows.append(compare(program.name, trees, chosen.rounds, chosen.seconds))
            print(f"{program.name:24}" + "".join(f"  {key} {value:.3f}" for key, value in rows[-1]["ratio"].items()), flush=True)
    for name in () if chosen.programs else warm_start.PROGRAMS:
        warm.append(compare_warm(name, trees, chosen.rounds))
        print(f"warm start, {name:24}  {warm[-1]['ratio']:.3f}", flush=True)
    means = {key: demo.geometric_mean(row["ratio"][key] for row in rows) for key in rows[0]["ratio"]} if rows else {}
    if warm:
        means["warm start"] = demo.geometric_mean(row["ratio"] for row in warm)
    print("geometric means, after / before: " + ", ".join(f"{key} {value:.3f}" for key, value in means.items()))
    if chosen.output:
        commits = {which: measure.commit(tree) for which, tree in trees.items()}
        measure.write(chosen.output, commits=commits, means=means, programs=rows, warm_start=warm)
    return 0


if __name__ == "__main__":
    sys.exit(main())
