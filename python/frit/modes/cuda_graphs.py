"""Applies the modes other than "default" to an executable: CUDA graphs (`cuda_graphs`) and measured schedules (`autotune`).

Calls that run without a CUDA graph (`not_captured` in an executable's counters, in `frit.explain` and in torch's `counters["frit"]`), and graphs
whose schedules were not measured, are counted by reason.
"""

import re

import torch
from torch._dynamo.utils import counters

from . import cuda_capture


def apply(executable, gm, stage, settings, report, tuned):
    """Applies the modes before the first call of an executable. `tuned`: the outcome of autotuning in words, and whether schedules were measured."""
    if settings["cuda_graphs"] and hasattr(executable, "capture_graphs"):
        executable.capture_graphs(static_inputs(gm, stage), cuda_capture, kept_results(gm, stage), kept_inputs(gm, stage))
    if tuned:
        told, is_measured = tuned
        report["autotune"] = told if is_measured else f"not measured, the first schedule of each region is taken: {told}"
        if not is_measured:
            counters["frit"][f"not_measured: {told}"] += 1


def static_inputs(gm, stage):
    """Numbers of the arguments that are parameters or buffers. Dynamo knows those of the forward; in the backward they have the same names."""
    context = torch._guards.TracingContext.try_get()
    fixed = set(context.fw_metadata.static_input_indices or ()) if context is not None and context.fw_metadata is not None else set()
    names = [node.name for node in gm.graph.nodes if node.op == "placeholder"]
    if stage != "backward":
        return tuple(number for number in range(len(names)) if number in fixed)
    primals = [re.fullmatch(r"primals_(\d+)", name) for name in names]
    return tuple(number for number, primal in enumerate(primals) if primal and int(primal.group(1)) - 1 in fixed)


def kept_results(gm, stage):
    """Numbers of the results that only autograd holds, until the backward has run. Results saved without a version check may be held longer
    and do not count."""
    context = torch._guards.TracingContext.try_get()
    if stage != "forward" or context is None or context.fw_metadata is None:
        return ()
    known = context.fw_metadata
    saved = getattr(known, "tensors_saved_for_backwards_with_vc_check_slice", None) or known.tensors_saved_for_backwards_slice
    (results,) = next(node for node in gm.graph.nodes if node.op == "output").args
    return tuple(range(*saved.indices(len(results))))


def kept_inputs(gm, stage):
    """Numbers of a backward's arguments that its forward has computed: neither arguments of the forward nor gradients."""
    names = [node.name for node in gm.graph.nodes if node.op == "placeholder"] if stage == "backward" else []
    return tuple(number for number, name in enumerate(names) if not re.match(r"(primals|tangents)_\d+$", name))


def merge_reasons(total, stats, name):
    """Adds the counters `name` of an executable to `total`, by reason: calls without a graph (`not_captured`), graphs that serve one size only."""
    for why, number in stats.get(name, {}).items():
        total[why] = total.get(why, 0) + number


def in_bytes(count):
    """A number of bytes as text, such as "1.5 MiB"."""
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.4g} {unit}"
        count /= 1024
    return f"{count:.4g} GiB"


def lines(graph):
    """The lines of `frit.explain` on CUDA graphs and autotuning."""
    if graph.get("graph_captures") or graph.get("graph_replays"):
        replays = f"{graph['graph_replays']} replays ({graph['graph_updates']} with other sizes than before)"
        yield f"  CUDA graphs: {graph['graph_captures']} captured, {replays}, {graph['graph_evictions']} evicted"
    if graph.get("graph_kept_bytes"):
        yield f"  CUDA graphs hold {in_bytes(graph['graph_kept_bytes'])} of results that forwards save for their backwards"
    for why, graphs in sorted(graph.get("graphs_of_one_size", {}).items()):
        yield f"  {graphs} CUDA graphs for one size each: {why}"
    for why, calls in sorted(graph.get("not_captured", {}).items()):
        yield f"  {calls} calls without a CUDA graph: {why}"
    if graph.get("autotune"):
        yield f"  autotune: {graph['autotune']}"
