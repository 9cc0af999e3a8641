"""Finds CPU schedules that are faster than the default: compares each candidate of each kernel with the first one, within its graph.

    python -m benchmarks.schedules [--output FILE.json] [--seconds S] [PROGRAM ...]

Every graph of the benchmark's programs, and of the hottest kernels of transformers at their usual sizes, is compiled with each candidate of each
kernel in turn, as `mode="max-autotune"` does. The two graphs run in turns, and minimum times are compared. A candidate that seems to win by
the margin of `max-autotune` is measured again for ten times as long; only one that wins twice counts. The table has a line for each field of a
schedule that candidates change.
"""

import argparse
import collections
import itertools
import logging
import re
import sys
import time
import warnings

import torch
import torch.nn.functional as F

from frit.modes import autotune

from . import measure
from .programs import programs

#: Words in the description of a schedule, by which a changed field is recognised (`passes/schedule/DescribeSchedule.cpp`).
_FIELDS = {
    "bypass": "stores that bypass the cache",
    "a unit": "elements of a unit",
    "a step": "vectors of a step",
    "accumulators": "accumulators",
    "recomputes": "costly values recomputed",
    "shared out": "elements of a part",
    "tiles of": "tile",
}


def kernels():
    """Returns {name: (function, arguments)}: kernels between the matrix products of transformers in the zoo, at their sizes."""
    shapes = {"bert": (8, 128, 384), "gpt2": (2, 512, 768), "one token": (1, 1, 2048)}
    made = {}
    for name, (batch, length, width) in shapes.items():
        x, w, b = torch.randn(batch, length, width), torch.randn(width), torch.randn(width)
        made[f"layer norm, {name}"] = (lambda x, w, b: F.layer_norm(x + 1, x.shape[-1:], w, b), (x, w, b))
        made[f"RMS norm, {name}"] = (lambda x, w: x * (x.square().mean(-1, keepdim=True) + 1e-5).rsqrt() * w, (x, w))
        made[f"bias and GELU, {name}"] = (lambda x, b: F.gelu(x + b), (torch.randn(batch, length, 4 * width), torch.randn(4 * width)))
        made[f"gradient of a bias, {name}"] = (lambda x, y: (x * y).sum((0, 1)), (x, torch.randn_like(x)))
        made[f"softmax, {name}"] = (lambda x: torch.softmax(x * 0.125, -1), (torch.randn(batch, 12, length, max(length, 128)),))
        made[f"residual, {name}"] = (lambda x, y: x + y, (x, torch.randn_like(x)))
        made[f"cross-entropy, {name}"] = (
            lambda x, t: F.cross_entropy(x, t),
            (torch.randn(batch * min(length, 128), 16384), torch.zeros(batch * min(length, 128), dtype=torch.int64)),
        )
    big = torch.randn(4096, 4096)
    made["sum of all, 64 MiB"] = (lambda x: (x * x).sum(), (big,))
    made["sums of columns, 64 MiB"] = (lambda x: x.sum(0), (big,))
    made["transposed sum, 64 MiB"] = (lambda x, y: x + y.t(), (big, big))
    made["scale, 64 MiB"] = (lambda x: x * 2, (big,))
    return made


class _Recorder:
    """Replaces max-autotune's comparison: records what each candidate changed and its time ratio, and accepts none."""

    def __init__(self, seconds):
        self.seconds, self.rows, self._schedules = seconds, [], {}

    def compiled(self, search, choices, report):
        schedules = [kernel["schedule"] for kernel in report["kernels"]]
        if choices == "list":
            self._first = schedules
        self._latest = schedules

    def compare(self, tried, best, device):
        changed = [(a, b) for a, b in itertools.zip_longest(self._first, self._latest) if a != b]
        first, candidate = changed[0] if changed else ("", "")
        ratio = _ratio(tried, best, device, self.seconds)
        if ratio < autotune.MARGIN:
            ratio = max(ratio, _ratio(tried, best, device, 10 * self.seconds))
        self.rows.append({"first": first, "candidate": candidate, "change": _change(first, candidate), "ratio": ratio})
        return False


def _ratio(tried, best, device, seconds):
    times = ([], [])
    end = time.perf_counter() + seconds
    while len(times[0]) < 6 or (time.perf_counter() < end and len(times[0]) < 2000):
        for run, found in zip((tried, best), times):
            found.append(autotune.milliseconds(run, device))
    return min(times[0][1:]) / min(times[1][1:])


def _change(first, candidate):
    """Describes a change: the family, the field, and whether it became more or fewer."""
    family = candidate.split(":")[0] or "none"
    before, after = (set(re.split(r"[:,] ", words)) for words in (first, candidate))
    for words in sorted(before ^ after):
        for sign, field in _FIELDS.items():
            if sign in words:
                numbers = [[int(n) for part in side - other for n in re.findall(r"(?<!d)\b\d+", part)] for side, other in ((before, after), (after, before))]
                more = "" if len(numbers[0]) != len(numbers[1]) or not numbers[0] else ", more" if numbers[1] > numbers[0] else ", fewer"
                return f"{family}: {field}{more}"
    return f"{family}: something else"


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output")
    parser.add_argument("--seconds", type=float, default=0.05, help="for each candidate; ten times as long if it seems to win")
    parser.add_argument("names", nargs="*", help="parts of the names of programs and kernels; all by default")
    chosen = parser.parse_args(arguments)
    warnings.filterwarnings("ignore")
    logging.getLogger("transformers").setLevel(logging.ERROR)
    recorder = _Recorder(chosen.seconds)
    compile_plain = autotune._Search._compile

    def compile_noted(search, choices):
        executable, report = compile_plain(search, choices)
        recorder.compiled(search, choices, report)
        return executable, report

    autotune._Search._compile, autotune.is_faster = compile_noted, recorder.compare
    cases = {name: program for name, program in programs().items() if program.demo} | kernels()
    rows = []
    with measure.threads(2):
        for name, case in cases.items():
            if chosen.names and not any(part in name for part in chosen.names):
                continue
            print(f"  {name} ...", file=sys.stderr, flush=True)
            recorder.rows = []
            torch.compiler.reset()
            if isinstance(case, tuple):
                torch.compile(case[0], backend="frit", mode="max-autotune-no-cudagraphs")(*case[1])
            else:
                contender = measure.Contender(case, None, "demo")
                contender._run = torch.compile(contender.function, backend="frit", fullgraph=case.fullgraph, mode="max-autotune-no-cudagraphs")
                contender.call()
            rows += [{"program": name, **row} for row in recorder.rows]
    by_change = collections.defaultdict(list)
    for row in rows:
        by_change[row["change"]].append(row)
    shown = [("change", lambda c: c), ("tried", lambda c: str(len(by_change[c])))]
    shown.append(("wins", lambda c: str(sum(row["ratio"] < autotune.MARGIN for row in by_change[c]))))
    shown.append(("best", lambda c: f"{min(row['ratio'] for row in by_change[c]):.3f}"))
    shown.append(("where", lambda c: min(by_change[c], key=lambda row: row["ratio"])["program"]))
    print(measure.table(sorted(by_change), shown))
    if chosen.output:
        measure.write(chosen.output, margin=autotune.MARGIN, rows=rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
