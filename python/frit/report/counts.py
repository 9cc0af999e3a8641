"""`frit.counts()`: counts of calls, launches, buckets and CUDA graphs since the last reset."""

import json

from torch._dynamo.utils import counters

from .. import backend
from ..modes.cuda_graphs import merge_reasons
from ..sizes.buckets import waste

#: The counters of buckets and padding of a graph; `frit.explain` shows them for each graph.
COUNTED = (
    "padded_elements",
    "logical_elements",
    "specialized_buckets",
    "specialized_kernels",
    "specialized_calls",
    "specialize_failures",
    "subgraph_calls",
    "restrided_arguments",
)
#: The counters of CUDA graphs.
GRAPHS = ("graph_captures", "graph_replays", "graph_updates", "graph_evictions", "graph_kept_bytes")
#: Calls that the runtime's own kernels computed instead of ATen's.
OWN = ("own_products", "own_attention", "own_convolutions", "own_orders")
_SUMMED = ("calls", "kernel_launches", "aten_calls", *OWN, "bucket_hits", "bucket_misses", *GRAPHS, *COUNTED)


def counts():
    """Counts since the last reset, summed over all live graphs, as a dict; some are also in torch's counters["frit"] afterwards."""
    total = dict.fromkeys(_SUMMED, 0)
    each, without_graph, of_one_size = {}, {}, {}
    for reference, report in backend._EXECUTABLES:
        executable = reference()
        if executable is None:
            continue
        stats = json.loads(executable.stats())
        for name in _SUMMED:
            total[name] += stats.get(name, 0)
        merge_reasons(without_graph, stats, "not_captured")
        merge_reasons(of_one_size, stats, "graphs_of_one_size")
        for entry in report.get("buckets", ()):
            if entry["index"] >= 0:
                name = " = ".join(entry["names"])
                sums = each.setdefault(name, {"hits": 0, "misses": 0, "logical": 0, "padded": 0})
                for key, value in stats["buckets"][entry["index"]].items():
                    sums[key] += value
    for name in ("bucket_hits", "bucket_misses", *GRAPHS, *COUNTED):
        counters["frit"][name] = total[name]
    for why, calls in without_graph.items():
        counters["frit"][f"not_captured: {why}"] = calls
    total["not_captured"] = without_graph
    total["graphs_of_one_size"] = of_one_size
    total["padding_waste_percent"] = round(waste({"logical": total["logical_elements"], "padded": total["padded_elements"]}), 2)
    total["buckets"] = {name: {**sums, "waste_percent": round(waste(sums), 2)} for name, sums in each.items()}
    return total
