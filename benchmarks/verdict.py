"""Compares the figures of `benchmarks.gpu` with their targets: one row for each target, passed or not, with the reason.

The verdict depends only on the JSON, so a stored file can be judged again, and the rules are tested without a GPU. A figure that is missing,
because a contender failed or because it was not measured, never passes.

    python -m benchmarks.verdict FILE.json
"""

import json
import math
import statistics
import sys

from . import gpu_kernels

#: Item of the list of benchmarks -> the kernels that are measured for it; items 23 to 25 are measured separately.
ITEMS = {
    1: ("mul_add",), 2: ("bias_gelu_residual",), 3: ("swiglu",), 4: ("odd_unaligned",), 5: ("dropout_residual",),
    6: ("row_sum_long", "row_sum_short"), 7: ("column_sum",), 8: ("full_sum_max",), 9: ("softmax",), 10: ("softmax_long",),
    11: ("layer_norm",), 12: ("add_rms_norm",), 13: ("rms_norm_short",), 14: ("layer_norm_backward",), 15: ("cross_entropy",),
    16: ("gelu_transposed", "both_orders"), 17: ("cat_scale",), 18: ("embedding_scale",), 19: ("index_add_random", "index_add_equal"),
    20: ("foreach_adamw",), 21: ("group_norm_silu",), 22: ("llama_block",),
}  # fmt: skip
#: Targets of kernels on devices without clusters, where rows that exceed a block's shared memory are read twice.
WITHOUT_CLUSTERS = {"softmax_long": 0.63}
GEOMETRIC_MEAN, WORST = 1.15, 0.95
#: "Not slower" allows this ratio: so much does the same kernel, measured twice in turns, differ.
NOISE = 0.97
MOST_LAUNCHES = {"foreach_adamw": 2}
FIRST_KERNEL_US, FURTHER_KERNEL_US = 4.0, 1.4
HOST_KERNELS = (1, 4, 20)
SINGLE_KERNELS = ("bias_gelu_residual", "softmax", "layer_norm")
COLD_MS, COLD_TWENTY_MS, WARM_MS, CPU_COLD_MS = 40.0, 300.0, 2.0, 15.0
CPU_KERNELS = ("cpu_gelu", "cpu_softmax", "cpu_layer_norm")
#: What a result must say about the machine.
DESCRIPTION = ("device", "capability", "driver", "cuda", "torch", "commit")


def share_of(name, capability):
    """Returns the target of a kernel on a device; None for a kernel with another target."""
    if name in WITHOUT_CLUSTERS and (capability or [0])[0] < 9:
        return WITHOUT_CLUSTERS[name]
    known = gpu_kernels.kernels()
    return known[name].target or None if name in known else None


def verdict(found):
    """Returns {"passed": whether all rows passed, "rows": [{"item", "what", "target", "measured", "passed", "why"}]}."""
    rows = []

    def hold(item, what, measured, least=None, most=None, why=""):
        good = _number(measured) and (least is None or measured >= least) and (most is None or measured <= most)
        target = f">= {least:g}" if least is not None else f"<= {most:g}"
        missing = "" if _number(measured) else (why or "not measured")
        rows.append({"item": item, "what": what, "target": target, "measured": measured if _number(measured) else None, "passed": bool(good), "why": missing})

    ratios = {}
    for item, names in ITEMS.items():
        for name in names:
            row = found.get("kernels", {}).get(name, {})
            _hold_kernel(item, name, row, found.get("capability"), hold)
            ratios[name] = _ratio(row.get("milliseconds", {}), "inductor")
            hold(item, f"{name}: Inductor's time over frit's", ratios[name], least=WORST, why=_why(row, "inductor"))
    known = [ratio for ratio in ratios.values() if ratio]
    lacking = sorted(name for name, ratio in ratios.items() if not ratio)
    mean = statistics.geometric_mean(known) if known and not lacking else None
    hold(None, "Inductor's time over frit's, geometric mean", mean, least=GEOMETRIC_MEAN, why=f"lacks {', '.join(lacking)}")
    for count in HOST_KERNELS:
        row = found.get("host", {}).get(str(count), {})
        most = FIRST_KERNEL_US + FURTHER_KERNEL_US * (count - 1)
        hold(23, f"host, {count} kernels: us of a call", row.get("microseconds", {}).get("frit"), most=round(most, 1), why=_why(row, "frit"))
    _hold_compilation(found.get("compile", {}), hold)
    for name in CPU_KERNELS:
        row = found.get("cpu", {}).get(name, {})
        hold(25, f"{name}: Inductor's time over frit's", _ratio(row.get("milliseconds", {}), "inductor"), least=1.0, why=_why(row, "inductor"))
        hold(25, f"{name}: ms to compile", row.get("cold_ms"), most=CPU_COLD_MS, why=row.get("error", ""))
    for what in DESCRIPTION:
        value = found.get(what) or found.get("machine", {}).get(what)
        rows.append({"item": None, "what": f"{what} is recorded", "target": "recorded", "measured": None if value is None else str(value),
                     "passed": bool(value), "why": "" if value else "not recorded"})  # fmt: skip
    return {"passed": all(row["passed"] for row in rows), "rows": rows}


def _hold_kernel(item, name, row, capability, hold):
    share = share_of(name, capability)
    times = row.get("milliseconds", {})
    if share is not None:
        hold(item, f"{name}: share of the copy's bandwidth", row.get("of_copy", {}).get("frit"), least=share, why=_why(row, "frit"))
    if item == 19:
        hold(item, f"{name}: eager's time over frit's", _ratio(times, "eager"), least=NOISE, why=_why(row, "frit"))
    if item == 21:
        others = [times.get(who) for who in ("eager", "inductor", "inductor-max")]
        best = times.get("frit") / min(others) if all(map(_number, [*others, times.get("frit")])) else None
        hold(item, f"{name}: frit's time over the best of the others", best, most=1.1, why=_why(row, "frit"))
    if item == 22:
        hold(item, f"{name}: Inductor's time over frit's, whole graph", _ratio(times, "inductor"), least=1.0, why=_why(row, "inductor"))
        launches = row.get("launches", {})
        theirs, ours = launches.get("inductor"), launches.get("frit")
        fewer = theirs - ours if _number(theirs) and _number(ours) else None
        hold(item, f"{name}: launches fewer than Inductor's", fewer, least=1, why=row.get("launches_error", ""))
    if name in MOST_LAUNCHES:
        hold(item, f"{name}: launches", row.get("launches", {}).get("frit"), most=MOST_LAUNCHES[name], why=row.get("launches_error", ""))


def _hold_compilation(compiled, hold):
    """Item 24: compile times of single kernels and of twenty, loads from disk, and recompilations within a bucket."""
    for name in (*SINGLE_KERNELS, "twenty"):
        row = compiled.get(name, {})
        kernels = 20 if name == "twenty" else 1
        hold(24, f"{name}: ms to compile, code loaded", row.get("cold_ms") if _number(row.get("kernels")) and row["kernels"] == kernels else None,
             most=COLD_TWENTY_MS if name == "twenty" else COLD_MS, why=row.get("error", "not measured as so many kernels"))  # fmt: skip
    for name in (*SINGLE_KERNELS, "twenty", "llama_block"):
        row = compiled.get(name, {})
        hold(24, f"{name}: ms from the disk", row.get("warm_ms"), most=WARM_MS, why=row.get("error", ""))
    row = compiled.get("same_bucket", {})
    hold(24, "another size of a bucket: compilations", row.get("recompiles"), most=0, why=row.get("error", ""))


def _number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _ratio(times, rival):
    ours, theirs = times.get("frit"), times.get(rival)
    return theirs / ours if _number(ours) and _number(theirs) and ours > 0 and theirs > 0 else None


def _why(row, rival):
    errors = row.get("errors", {})
    return errors.get("frit") or errors.get(rival) or row.get("error", "")


def markdown(found):
    """Returns the table that is written next to the JSON."""
    judged = found.get("verdict") or verdict(found)
    passed = sum(row["passed"] for row in judged["rows"])
    place = {**found.get("machine", {}), **found}
    lines = ["# GPU benchmarks", "", *(f"- {what}: {place.get(what) or 'not recorded'}" for what in DESCRIPTION)]
    copy = found.get("copy_gb_s")
    lines += [f"- copy: {copy:.0f} GB/s" if copy else "- copy: not measured", "", f"{passed} of {len(judged['rows'])} targets are met.", ""]
    lines += ["| item | what | target | measured | |", "|---|---|---|---|---|"]
    for row in judged["rows"]:
        measured = row["measured"]
        shown = row["why"].replace("|", "/")[:160] if measured is None else measured if isinstance(measured, str) else f"{measured:.4g}"
        lines.append(f"| {row['item'] or ''} | {row['what']} | {row['target']} | {shown} | {'yes' if row['passed'] else '**no**'} |")
    names = ("eager", "inductor", "inductor-max", "frit")
    lines += ["", "| kernel, ms | " + " | ".join(names) + " | frit, of copy |", "|---" * (len(names) + 2) + "|"]
    for name, row in found.get("kernels", {}).items():
        cells = [row.get("milliseconds", {}).get(who) for who in names] + [row.get("of_copy", {}).get("frit")]
        lines.append(f"| {name} | " + " | ".join("" if cell is None else f"{cell:.3f}" for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def main(arguments=None):
    (path,) = sys.argv[1:] if arguments is None else arguments
    with open(path, encoding="utf-8") as file:
        found = json.load(file)
    found["verdict"] = verdict(found)
    print(markdown(found), end="")
    return 0 if found["verdict"]["passed"] else 1


if __name__ == "__main__":
    sys.exit(main())
