"""`frit.explain(fn)(*args)`: what a function compiles to, without reading logs.

It compiles and runs `fn` once under a fresh Dynamo state with the real backend and collects each graph's
report: the kernels and the operators they hold, the operators left to ATen or Python with the
reason, and the user's source lines.
"""

import functools
import json

from . import backend as _backend


class Explanation:
    """Reports of all graphs of one run; printable, and as JSON."""

    def __init__(self, graphs):
        self.graphs = graphs

    @property
    def kernels(self):
        return [kernel for graph in self.graphs for kernel in graph["kernels"]]

    @property
    def aten_calls(self):
        return [call for graph in self.graphs for call in graph["aten_calls"]]

    @property
    def callbacks(self):
        return [step for graph in self.graphs for step in graph["callbacks"]]

    def to_json(self):
        return json.dumps({"graphs": self.graphs}, indent=1)

    def __str__(self):
        lines = []
        for graph in self.graphs:
            head = f"{graph['name']}: {graph['nodes']} nodes, {len(graph['kernels'])} kernels"
            lines.append(f"{head}, {len(graph['aten_calls'])} ATen calls, {len(graph['callbacks'])} Python steps")
            for kernel in graph["kernels"]:
                lines.append(f"  kernel {kernel['name']}: {', '.join(kernel.get('ops', ()))}")
                lines.extend(f"    {source}" for source in kernel.get("sources", ()))
            for call in graph["aten_calls"]:
                lines.append(f"  aten {call['op']}: {call.get('reason', '')}".rstrip(": "))
                lines.extend(f"    {source}" for source in [call.get("source")] if source)
            lines.extend(f"  python {step}: not expressible in the export schema" for step in graph["callbacks"])
        return "\n".join(lines)


def explain(fn, *, mode=None, options=None, dynamic=None, fullgraph=False):
    """A function that takes `fn`'s arguments, runs it once compiled, and returns an Explanation."""

    def run(*args, **kwargs):
        import torch

        graphs = []

        def observe(name, stage, captured, report):
            graphs.append(
                {
                    "name": name,
                    "stage": stage,
                    "nodes": captured.nodes,
                    "kernels": list(report.get("kernels", ())),
                    "aten_calls": list(report.get("aten_calls", ())),
                    "callbacks": [step.name for step in captured.callbacks],
                }
            )

        torch.compiler.reset()
        _backend._OBSERVERS.append(observe)
        try:
            chosen = functools.partial(_backend.frit, mode=mode, options=options)
            compiled = torch.compile(fn, backend=chosen, dynamic=dynamic, fullgraph=fullgraph)
            compiled(*args, **kwargs)
        finally:
            _backend._OBSERVERS.remove(observe)
            torch.compiler.reset()
        return Explanation(graphs)

    return run
