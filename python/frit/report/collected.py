"""Collects the report of each graph as it is compiled, and the counts of its executable afterwards."""

import json
import os

from ..cache.summary import entries_of
from ..errors import FritError
from ..inspect import stages
from ..logs import log
from .counts import COUNTED, GRAPHS, OWN


class Collected:
    """The graphs of a run: `observe` is called for each compiled graph, `finish` once after the calls. `folder`: where the compiler dumps its
    stages."""

    def __init__(self, folder):
        self.graphs = []
        self.anatomies = []
        self._folder = folder
        self._executables = []

    def observe(self, name, stage, captured, report, executable):
        """An observer of the backend: adds a graph."""
        self._executables.append(executable)
        anatomy = self._anatomy(name, captured)
        self.anatomies.append(anatomy)
        steps = [(step.name, step.why) for step in captured.callbacks]
        self.graphs.append(graph_entry(name, stage, captured.nodes, report, anatomy, steps))

    def _anatomy(self, name, captured):
        try:
            return stages.of_graph(getattr(captured, "artifact", None), stages.folder_of(self._folder, name), names=getattr(captured, "input_names", ()))
        except FritError as error:
            log.warning("the report of %s has no code and no memory: %s", name, error)
            return None

    def finish(self):
        """Adds what the executables counted."""
        for graph, executable in zip(self.graphs, self._executables):
            stats = json.loads(executable.stats()) if hasattr(executable, "stats") else {"calls": 0}
            graph["runs"] = stats["calls"]
            for name in ("peak_bytes", "temporary_bytes", "overlap_copies", *OWN, *GRAPHS, *COUNTED):
                graph[name] = stats.get(name, 0)
            for name in ("not_captured", "graphs_of_one_size", "variants", "stride_copies"):
                graph[name] = stats.get(name, {})
            for entry in graph["buckets"]:
                if entry["index"] >= 0 and graph["runs"]:
                    entry.update(stats["buckets"][entry["index"]])


def breaks_of(gm):
    """Why Dynamo ended the graph `gm`, and the user's line, as [{"reason", "source"}]; [] if it did not."""
    reason = getattr(gm, "compile_subgraph_reason", None)
    if reason is None or not reason.graph_break:
        return []
    frame = reason.user_stack[-1] if reason.user_stack else None
    source = f"{os.path.basename(frame.filename)}:{frame.lineno} in {frame.name}: {frame.line}" if frame else ""
    return [{"reason": str(reason.reason).strip().split("\n")[0], "source": source}]


def graph_entry(name, stage, nodes, report, anatomy, python_steps=()):
    """The entry of a graph in an Explanation, a dict; `python_steps` are (name, reason)."""
    graph = {
        "name": name,
        "stage": stage,
        "nodes": nodes,
        "kernels": [dict(kernel) for kernel in entries_of(report, "kernels")],
        # A Python step is an operator of its own for the compiler (`capture/callbacks.py`); users know it by the name in `callbacks`.
        "aten_calls": [call for call in entries_of(report, "aten_calls") if not call["op"].startswith("frit_callback.")],
        "control_flow": entries_of(report, "control_flow"),
        "guards": list(report.get("guards", ())),
        "buckets": [dict(entry) for entry in report.get("buckets", ())],
        "padding": list(report.get("padding", ())),
        "random": dict(report.get("random", {})),
        "callbacks": [step for step, _ in python_steps],
        "callback_reasons": [why for _, why in python_steps],
        "whole_graph": report.get("whole_graph", ""),
        "autotune": report.get("autotune", ""),
        "phases_ms": dict(report.get("phases_ms", {})),
    }
    if anatomy:
        graph["bytes_moved"], graph["bytes_mandatory"] = anatomy.traffic.moved, anatomy.traffic.mandatory
        graph["peak_of_plan"] = anatomy.timeline.peak
        moved, operations = anatomy.bytes_by_kernel, anatomy.operations_by_kernel
        for kernel in graph["kernels"]:
            kernel["bytes"], kernel["operations"] = moved.get(kernel["name"], 0), operations.get(kernel["name"])
        graph["kernels"].sort(key=lambda kernel: -kernel["bytes"])
        graph["guards"] = [{**guard, "requirement": anatomy.in_users_names(guard["requirement"])} for guard in graph["guards"]]
    return graph
