"""Sizes that change at every step: training GPT-2 over caption lengths, and an MLP over batch sizes.

    python -m benchmarks.size_sweep [--scale demo|test] [--steps 120] [--output FILE.json] [length|batch ...]

Compares eager, Inductor and frit with `dynamic=True`, and frit with a ramp of buckets for the size that varies, without and with specialised
kernels for buckets. Each runs in a separate process with all disk caches off, and all get the same sizes.

*First steps.* The total time of the first steps, with compilation. Compilations cannot be interleaved, so the processes start one after the
other, and each runs its first steps while the others wait for input. One-time costs of a process (imports, Inductor's worker processes) are not
measured: a one-line function is compiled first. `--repeats` repeats all of this; the smallest total counts.

`processor_s` is the CPU time of those steps, of the process and of the compilers for which it has waited. Use it if the machine had other
load. (It does not include Inductor's worker processes.)

*Steady state.* The processes then run in turns: all run a step of one size before any runs the next, and the first one changes with each
step. Sizes are new draws, run once before they are timed. The figure is the median over the steps.

Lengths are those of image captions as published for training a captioning model (5 to 32: 90 %, 33 to 64: 9 %, 65 to 256: 1 %); a batch is
as long as its longest caption.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import time

from . import measure

#: The keyword arguments of torch.compile by contender, as functions of the key of the size that varies.
BACKENDS = {
    "eager": None,
    "inductor": lambda key: {"backend": "inductor", "dynamic": True},
    "frit": lambda key: {"backend": "frit", "dynamic": True},
    "frit, ramp": lambda key: {"backend": "frit", "dynamic": True, "options": {"buckets": {key: "ramp"}}},
    "frit, specialize": lambda key: {
        "backend": "frit",
        "dynamic": True,
        "options": {"buckets": {key: "ramp"}, "bucket_policy": "specialize"},
    },
}

#: Shares of the captions, and their lengths.
CAPTION_LENGTHS = ((0.90, 5, 32), (0.09, 33, 64), (0.01, 65, 256))


def caption_length(draw):
    """Draws one length from the published distribution; `draw` is a random.Random."""
    share = draw.random()
    for part, low, high in CAPTION_LENGTHS:
        if share < part:
            return draw.randint(low, high)
        share -= part
    return CAPTION_LENGTHS[-1][2]


class LengthSweep:
    """A small GPT-2 trained on batches of captions, each as long as its longest."""

    key = "tokens[1]"
    vocabulary = 101
    batch = 4

    def __init__(self, scale):
        from .programs import models

        demo = scale == "demo"
        self.model = models.gpt2(positions=256, **({"layers": 4, "width": 256} if demo else {}))

    @classmethod
    def sizes(cls, count, seed):
        draw = random.Random(seed)
        return [[caption_length(draw) for _ in range(cls.batch)] for _ in range(count)]

    def inputs(self, lengths):
        import torch

        generator = torch.Generator().manual_seed(sum(lengths))
        tokens = torch.randint(3, self.vocabulary, (self.batch, max(lengths)), generator=generator)
        labels = tokens.clone()
        for row, length in zip(labels, lengths):
            row[length:] = -100
        return tokens, labels

    def function(self):
        def loss(tokens, labels):
            return self.model(input_ids=tokens, labels=labels, return_dict=False)[0]

        return loss


class BatchSweep:
    """An MLP with normalisation, trained on batches of 1 to 64 rows."""

    key = "x[0]"

    def __init__(self, scale):
        import torch
        from torch import nn

        torch.manual_seed(0)
        width = 1024 if scale == "demo" else 32
        self.model = nn.Sequential(
            nn.Linear(64, width), nn.GELU(), nn.LayerNorm(width), nn.Linear(width, width), nn.GELU(), nn.LayerNorm(width), nn.Linear(width, 10)
        )

    @classmethod
    def sizes(cls, count, seed):
        draw = random.Random(seed)
        return [draw.randint(1, 64) for _ in range(count)]

    def inputs(self, rows):
        import torch

        generator = torch.Generator().manual_seed(rows)
        return torch.randn(rows, 64, generator=generator), torch.randint(0, 10, (rows,), generator=generator)

    def function(self):
        from torch.nn import functional as F

        def loss(x, target):
            return F.cross_entropy(self.model(x), target)

        return loss


SWEEPS = {"length": LengthSweep, "batch": BatchSweep}


# -- in the process of one backend -----------------------------------------------------------------


def contend(sweep, backend, scale, steps):
    """Runs the first steps, then one step for every size read from standard input; prints a line of JSON for each."""
    import logging
    import warnings

    import torch

    warnings.filterwarnings("ignore")
    logging.getLogger("transformers").setLevel(logging.ERROR)
    torch.set_num_threads(2)
    program = SWEEPS[sweep](scale)
    run = program.function()
    if BACKENDS[backend] is not None:
        how = BACKENDS[backend](program.key)
        torch.compile(lambda x: (x.sin() * 2).sum(), backend=how["backend"])(torch.ones(8, requires_grad=True)).backward()
        torch.compiler.reset()
        run = torch.compile(run, **how)

    def step(size):
        inputs = program.inputs(size)
        began = time.perf_counter()
        loss = run(*inputs)
        loss.backward()
        spent = time.perf_counter() - began
        program.model.zero_grad(set_to_none=True)
        return spent, loss.item()

    before = sum(os.times()[:4])
    first = [step(size) for size in program.sizes(steps, seed=1)]
    said = {"processor_s": sum(os.times()[:4]) - before, **_said(backend)}
    print(json.dumps({"steps_s": [spent for spent, _ in first], "losses": [loss for _, loss in first], **said}), flush=True)
    for line in sys.stdin:
        print(1e3 * step(json.loads(line))[0], flush=True)


def _said(backend):
    """Returns the compiler's counters after the first steps."""
    import torch

    said = {"graphs": torch._dynamo.utils.counters["stats"].get("unique_graphs", 0)}
    if backend.startswith("frit"):
        import frit

        counted = frit.counts()
        said["buckets"] = {name: {k: entry[k] for k in ("hits", "misses", "waste_percent")} for name, entry in counted["buckets"].items()}
        said["specialized_calls"] = counted["specialized_calls"]
    return said


# -- in the process that measures ------------------------------------------------------------------


class Contender:
    """One backend in a separate process, which has run its first steps when the constructor returns."""

    def __init__(self, sweep, backend, scale, steps):
        self.backend = backend
        environment = dict(os.environ, TORCHINDUCTOR_FORCE_DISABLE_CACHES="1", FRIT_CACHE="0")
        command = [sys.executable, "-m", "benchmarks.size_sweep", "--contend", backend, "--scale", scale, "--steps", str(steps), sweep]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"'{backend}' does not run the {sweep} sweep; its message is above")
        self.first = json.loads(line)

    def turn(self, size):
        self.process.stdin.write(json.dumps(size) + "\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def stop(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def measured(sweep, backends, scale, steps, steady, repeats=1):
    """Returns the row of one sweep: totals of the first steps and steady times by backend."""
    totals = {backend: [] for backend in backends}
    for repeat in range(repeats):
        contenders = []
        for backend in backends:
            print(f"  {sweep}: first {steps} steps of {backend} ...", file=sys.stderr, flush=True)
            contenders.append(Contender(sweep, backend, scale, steps))
            totals[backend].append(sum(contenders[-1].first["steps_s"]))
        if repeat + 1 < repeats:
            for one in contenders:
                one.stop()
    sizes = SWEEPS[sweep].sizes(steady, seed=2)
    samples = {backend: [] for backend in backends}
    for timed in (False, True):
        for number, size in enumerate(sizes):
            for one in contenders[number % len(contenders) :] + contenders[: number % len(contenders)]:
                spent = one.turn(size)
                if timed:
                    samples[one.backend].append(spent)
    for one in contenders:
        one.stop()
    return figures(sweep, totals, samples, {one.backend: one.first for one in contenders})


def figures(sweep, totals, samples, first):
    """Returns the smallest totals of the repeats, the medians of steady times, and the medians of the ratios to Inductor, step by step."""
    row = {
        "sweep": sweep,
        "first_steps_s": {backend: min(all_of) for backend, all_of in totals.items()},
        "totals_s": totals,
        "steady_ms": {backend: statistics.median(all_of) for backend, all_of in samples.items()},
        "said": {
            backend: {key: value for key, value in one.items() if key not in ("steps_s", "losses")} for backend, one in first.items()
        },
        "largest_difference_of_losses": max(
            abs(a - b) for one in first.values() for a, b in zip(one["losses"], next(iter(first.values()))["losses"])
        ),
    }
    if "inductor" in totals:
        theirs = samples["inductor"]
        row["first_steps_over_inductor"] = {b: s / row["first_steps_s"]["inductor"] for b, s in row["first_steps_s"].items()}
        row["steady_over_inductor"] = {
            backend: statistics.median(a / b for a, b in zip(all_of, theirs)) for backend, all_of in samples.items()
        }
    return row


def lines(rows):
    """Returns one line per backend for the table."""
    for row in rows:
        for backend in row["steady_ms"]:
            yield {
                "name": f"{row['sweep']}, {backend}",
                "first": row["first_steps_s"][backend],
                "first_ratio": row.get("first_steps_over_inductor", {}).get(backend),
                "processor": row["said"][backend]["processor_s"],
                "steady": row["steady_ms"][backend],
                "steady_ratio": row.get("steady_over_inductor", {}).get(backend),
                "graphs": row["said"][backend]["graphs"],
            }


def columns():
    def ratio(value):
        return "-" if value is None else f"{value:.2f}"

    return [
        ("sweep", lambda r: r["name"]),
        ("first steps s", lambda r: f"{r['first']:.2f}"),
        ("of Inductor's", lambda r: ratio(r["first_ratio"])),
        ("processor s", lambda r: f"{r['processor']:.2f}"),
        ("steady ms", lambda r: f"{r['steady']:.2f}"),
        ("of Inductor's", lambda r: ratio(r["steady_ratio"])),
        ("graphs", lambda r: str(r["graphs"])),
    ]


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", help="path of the JSON; the table is always printed")
    parser.add_argument("--scale", default="demo", choices=["demo", "test"])
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--steady", type=int, default=60, help="steps of the steady state")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--backend", action="append", choices=list(BACKENDS), help="one contender, repeat for several; all by default")
    parser.add_argument("--contend", choices=list(BACKENDS), help=argparse.SUPPRESS)
    parser.add_argument("sweeps", nargs="*", help="length, batch; both by default")
    chosen = parser.parse_args(arguments)
    unknown = [name for name in chosen.sweeps if name not in SWEEPS]
    if unknown:
        parser.error(f"no sweep '{unknown[0]}'; known: {', '.join(SWEEPS)}")
    if chosen.contend:
        contend(chosen.sweeps[0], chosen.contend, chosen.scale, chosen.steps)
        return 0
    rows = [
        measured(sweep, chosen.backend or list(BACKENDS), chosen.scale, chosen.steps, chosen.steady, chosen.repeats)
        for sweep in chosen.sweeps or SWEEPS
    ]
    print(measure.table(list(lines(rows)), columns()))
    if chosen.output:
        os.makedirs(os.path.dirname(os.path.abspath(chosen.output)), exist_ok=True)
        measure.write(chosen.output, threads=2, scale=chosen.scale, steps=chosen.steps, sweeps=rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
