"""What the launches of a program take on each side, as rows of the table."""

import json
import math

import torch

from . import model, ours, sass
from .walk import LANES, Launch

VECTOR = 16


def least_bytes(program):
    """Returns the bytes that any implementation of a program moves: arguments and results once, unless the program says otherwise. None if there are
    products of matrices between its kernels: then what frit's kernels move counts."""
    if program.products:
        return None
    function, arguments = program.make("meta")
    with torch.no_grad():
        results = function(*arguments)
    if program.moved:
        return program.moved(arguments, results)
    tensors = {id(x): x.nbytes for x in torch.utils._pytree.tree_leaves([arguments, results]) if isinstance(x, torch.Tensor)}
    return sum(tensors.values())


def of_launch(kernel):
    """Returns (Estimate, Work, Trace) of one launch."""
    work, trace = model.work_of(kernel.listed, kernel.launch, kernel.registers, kernel.shared)
    return model.estimate(work), work, trace


def row(found, least, operators=()):
    """Returns the row of one side: sums over its launches, and the figures of the slowest. `operators`: (bytes, launches) of each operator that torch runs."""
    main = max(range(len(found)), key=lambda n: found[n][1][0].microseconds)
    kernel, (estimate, work, trace) = found[main]
    total = sum(each[0].microseconds for _, each in found) + sum(model.of_operator(*each) for each in operators)
    least = least or sum(each[1].dram for _, each in found)
    per_16 = lambda count: round(count * LANES / (least / VECTOR), 1)  # noqa: E731
    return {
        "bytes": round(least), "microseconds": round(total, 1), "binds": estimate.binds, "launches": len(found) + sum(count for _, count in operators),
        "kernel": kernel.name, "config": kernel.config,
        "kb_in_flight": round(work.in_flight / 1024), "instructions": per_16(sum(each[1].instructions for _, each in found)),
        "mufu": per_16(sum(each[1].special for _, each in found)), "registers": kernel.registers, "blocks": work.resident, "threads": kernel.launch.threads,
        "load": max(trace.loads, default=0), "store": max(trace.stores, default=0),
        "barriers": round(trace.barriers / max(passes(trace), 1)),
        "moved": round(sum(each[1].dram for _, each in found) / least, 2), "guesses": sum(each[2].guesses for _, each in found),
    }  # fmt: skip


def passes(trace):
    """Returns how often the instruction with a barrier that ran the most did so: the rows that a block takes one after the other."""
    return max(trace.meetings.values(), default=0)


def of_frit(program, least):
    kernels, operators = ours.launches_of(program)
    return row([(kernel, of_launch(kernel)) for kernel in kernels], least, operators)


def of_inductor(folder, least):
    """Returns the row of what inductor.py has left in a folder, with the best configuration of each launch; None if Inductor has no such program."""
    path = folder / "launches.json"
    said = json.loads(path.read_text()) if path.exists() else {"failed": "not compiled"}
    if "failed" in said:
        return None
    chosen, known = [], {}
    for launch in said["launches"]:
        key = json.dumps([launch["kernel"], launch["numbers"], [each[1] for each in launch["tensors"].values()]])
        if key not in known:
            tried = [(kernel, of_launch(kernel)) for kernel in kernels_in(folder, launch)]
            known[key] = min(tried, key=lambda each: each[1][0].microseconds)
        chosen.append(known[key])
    return row(chosen, least, [each[1:] for each in said["operators"]])


def kernels_in(folder, launch):
    """Yields a launch with each of its configurations."""
    bases = {}
    for _, _, _, storage in launch["tensors"].values():
        bases.setdefault(storage, ours.FIRST + (1 + len(bases)) * ours.APART)
    for one in launch["configurations"]:
        values = [launch["numbers"].get(name, None) if name not in launch["tensors"] else bases[launch["tensors"][name][3]] + launch["tensors"][name][1]
                  for name in one["parameters"]]  # fmt: skip
        # Behind its parameters triton passes memory of its own, here none.
        values += [0] * (len(one["bytes"]) - len(values))
        ((name, listed),) = sass.listed(ours.disassembled(folder / one["cubin"])).items()
        config = ", ".join(f"{key} {value}" for key, value in one["config"].items())
        start = Launch(ours.ARCHITECTURE, one["threads"], tuple(one["grid"]), tuple(zip(one["bytes"], values)))
        yield ours.Kernel(name, listed, start, one["registers"], one["shared"], config)


def short(one):
    """Returns the line of a program in the short table of docs/Gpu.md."""
    frit, other = one["frit"], one["inductor"]
    binds = frit["binds"] if frit["binds"] == other["binds"] else f"{frit['binds']}, {other['binds']}"
    return f"| `{one['program']}` | {frit['microseconds']:.0f}, {other['microseconds']:.0f} | {one['ratio']:.2f} | {binds} |"


def summary(rows):
    """Returns the geometric mean and the worst of the ratios of the rows that `benchmarks.gpu` measures, and those below 1."""
    ratios = {each["program"]: each["ratio"] for each in rows if each["benchmark"] and each["ratio"]}
    if not ratios:
        return {}
    worst = min(ratios, key=ratios.get)
    mean = math.exp(sum(math.log(each) for each in ratios.values()) / len(ratios))
    return {"rows": len(ratios), "geometric_mean": round(mean, 3), "worst": [worst, ratios[worst]], "below_1": sorted(name for name, each in ratios.items() if each < 1)}
