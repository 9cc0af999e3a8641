"""Compares `frit-compile` and `frit.load` with AOTInductor's packages, for the same exported programs.

    python -m benchmarks.offline [--output benchmarks/results/offline.json] [--seconds 1.5] [PROGRAM ...]

Each program (of `programs/exported.py`) is exported once with dynamic sizes and saved. frit's compile time is that of the whole process
of `frit-compile`, archive to artifact, least of three. AOTInductor's is the call of `aoti_compile_and_package` alone, in a
separate process with its caches off. Load times are medians of five in this process. Run times are medians of interleaved rounds of
eager, AOTInductor and frit at sizes other than the example's; results are first compared with eager. `--output` writes the table next
to the JSON.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import torch

from . import measure
from .programs.exported import EXPORTED

PROGRAMS = ("resnet", "vit", "bert", "gpt2")

_PACKAGE = """
import sys, time, torch
torch.set_num_threads(2)
program = torch.export.load(sys.argv[1])
began = time.perf_counter()
torch._inductor.aoti_compile_and_package(program, package_path=sys.argv[2])
print("\\nms", 1e3 * (time.perf_counter() - began))
"""


def _frit(saved, target, rounds=3):
    samples = []
    for _ in range(rounds):
        began = time.perf_counter()
        subprocess.run([measure.TOOLS / "frit-compile", saved, "-o", target], check=True, capture_output=True, text=True)
        samples.append(1e3 * (time.perf_counter() - began))
    os.chmod(target, 0o600)
    return min(samples)


def _package(saved, target, seconds=400):
    """Returns the milliseconds, or the reason why there is no package."""
    environment = dict(os.environ, TORCHINDUCTOR_FORCE_DISABLE_CACHES="1")
    command = [sys.executable, "-W", "ignore", "-c", _PACKAGE, str(saved), str(target)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return f"not done after {seconds} s"
    if done.returncode:
        return (done.stderr.strip().splitlines() or ["ended without a message"])[-1]
    return float(done.stdout.split("\nms ")[-1])


def _loading(load, rounds=5):
    samples = []
    for _ in range(rounds):
        began = time.perf_counter()
        model = load()
        samples.append(1e3 * (time.perf_counter() - began))
    return model, statistics.median(samples)


class _Runner:
    """A loaded program with its inputs, as a contender for `measure.interleaved`."""

    def __init__(self, function, inputs):
        self.function, self.inputs = function, inputs

    def call(self):
        return self.function(*self.inputs)


def _runs(runners, program, seconds):
    """Returns the medians at each size, and the largest difference from eager."""
    rows = []
    for sizes in program.demo_sizes[1:]:
        torch.manual_seed(2)
        inputs = program.inputs(*sizes)
        expected = runners["eager"](*inputs)
        errors = {name: measure.largest_error(function(*inputs), expected) for name, function in runners.items() if name != "eager"}
        medians = measure.interleaved([_Runner(function, inputs) for function in runners.values()], seconds=seconds)
        rows.append({"sizes": sizes, "ms": dict(zip(runners, medians)), "largest_error": errors})
    return rows


def compare(name, folder, seconds):
    """Returns all figures of one program."""
    import frit

    program = EXPORTED[name]
    module = program.module("demo")
    exported = program.export(module, sizes=program.demo_sizes[0])
    saved, artifact, package = folder / "model.pt2", folder / "model.frit", folder / "package.pt2"
    torch.export.save(exported, saved)
    row = {"program": name, "archive_bytes": saved.stat().st_size, "compile_ms": {"frit": _frit(saved, artifact)}}
    model, loading = _loading(lambda: frit.load(artifact))
    row["load_ms"], row["bytes"] = {"frit": loading}, {"frit": artifact.stat().st_size}
    row["aten_calls"] = len(model.report()["aten_calls"])
    runners = {"eager": module, "frit": model}
    compiled = _package(saved, package)
    if isinstance(compiled, str):
        row["package"] = compiled
    else:
        packaged, loading = _loading(lambda: torch._inductor.aoti_load_package(str(package)))
        row["compile_ms"]["aoti"], row["load_ms"]["aoti"], row["bytes"]["aoti"] = compiled, loading, package.stat().st_size
        runners = {"eager": module, "aoti": packaged, "frit": model}
    with torch.no_grad():
        row["runs"] = _runs(runners, program, seconds)
    return row


def _number(value, form="{:.1f}"):
    return "-" if value is None else form.format(value)


def _ratio(values, other):
    return None if values.get(other) is None else values[other] / values["frit"]


def summary(rows):
    """Returns geometric means of the others' times over frit's."""

    def mean(values):
        values = [value for value in values if value]
        return math.exp(sum(map(math.log, values)) / len(values)) if values else None

    runs = [run["ms"] for row in rows for run in row["runs"]]
    return {
        "compile_aoti": mean([_ratio(row["compile_ms"], "aoti") for row in rows]),
        "load_aoti": mean([_ratio(row["load_ms"], "aoti") for row in rows]),
        "run_aoti": mean([_ratio(ms, "aoti") for ms in runs]),
        "run_eager": mean([_ratio(ms, "eager") for ms in runs]),
    }


def tables(rows, means):
    files = [
        ("program", lambda r: r["program"]),
        ("compile: frit ms", lambda r: _number(r["compile_ms"]["frit"], "{:.0f}")),
        ("AOTI ms", lambda r: _number(r["compile_ms"].get("aoti"), "{:.0f}")),
        ("AOTI/frit", lambda r: _number(_ratio(r["compile_ms"], "aoti"), "{:.0f}x")),
        ("load: frit ms", lambda r: _number(r["load_ms"]["frit"], "{:.2f}")),
        ("AOTI ms", lambda r: _number(r["load_ms"].get("aoti"), "{:.2f}")),
        ("AOTI/frit", lambda r: _number(_ratio(r["load_ms"], "aoti"), "{:.0f}x")),
        ("file: frit KiB", lambda r: _number(r["bytes"]["frit"] / 1024, "{:.0f}")),
        ("AOTI KiB", lambda r: _number(r["bytes"].get("aoti") and r["bytes"]["aoti"] / 1024, "{:.0f}")),
        ("archive KiB", lambda r: _number(r["archive_bytes"] / 1024, "{:.0f}")),
    ]
    runs = [
        ("program", lambda r: r["program"]),
        ("sizes", lambda r: "x".join(map(str, r["sizes"]))),
        ("eager ms", lambda r: _number(r["ms"]["eager"], "{:.3f}")),
        ("AOTI ms", lambda r: _number(r["ms"].get("aoti"), "{:.3f}")),
        ("frit ms", lambda r: _number(r["ms"]["frit"], "{:.3f}")),
        ("eager/frit", lambda r: _number(_ratio(r["ms"], "eager"), "{:.2f}x")),
        ("AOTI/frit", lambda r: _number(_ratio(r["ms"], "aoti"), "{:.2f}x")),
    ]
    flat = [{"program": row["program"], **run} for row in rows for run in row["runs"]]
    lines = [measure.table(rows, files), "", measure.table(flat, runs), ""]
    lines += [f"{row['program']}: no package of AOTInductor: {row['package']}" for row in rows if "package" in row]
    shown = {key: _number(value, "{:.2f}x") for key, value in means.items()}
    lines.append(
        "geometric means, theirs over frit's: compile {compile_aoti}, load {load_aoti}, run {run_aoti}; eager's run {run_eager}".format(**shown)
    )
    return "\n".join(lines)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", help="path of the JSON, next to which the table is written; the table is always printed")
    parser.add_argument("--seconds", type=float, default=1.5, help="measurement time of a contender at a size")
    parser.add_argument("programs", nargs="*", help="parts of program names; all four by default")
    chosen = parser.parse_args(arguments)
    warnings.filterwarnings("ignore")
    rows, before = [], os.getloadavg()[0]
    with measure.threads(2), tempfile.TemporaryDirectory() as folder:
        for number, name in enumerate(PROGRAMS):
            if chosen.programs and not any(part in name for part in chosen.programs):
                continue
            print(f"  {name} ...", file=sys.stderr, flush=True)
            place = Path(folder) / str(number)
            place.mkdir()
            rows.append(compare(name, place, chosen.seconds))
    means = summary(rows)
    text = tables(rows, means)
    print(text)
    if chosen.output:
        report = {"machine": measure.machine(), "threads": 2, "load_before": before, "means": means, "programs": rows}
        Path(chosen.output).parent.mkdir(parents=True, exist_ok=True)
        Path(chosen.output).write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
        Path(chosen.output).with_suffix(".txt").write_text(text + "\n", encoding="utf-8")
    return 0 if rows else 1


if __name__ == "__main__":
    sys.exit(main())
