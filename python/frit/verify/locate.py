"""Locates a difference: finds the first operator whose value differs from ATen's, and the kernel or call that computes it.

All values that the wrong one depends on become results of the graph, which is compiled and compared again; the first that differs is named. The
difference may disappear then, because there are more kernels or memory is not reused. In that case graphs that end at one of the values are compiled,
by bisection, to find the shortest wrong one. If all of them are right, only the whole graph is wrong.
"""

import copy
from dataclasses import dataclass

import torch

from ..capture.sources import of_node
from ..logs import log
from . import reference

#: The most values that become results; for longer graphs, the last ones.
_MOST = 512


@dataclass
class Place:
    """`node`: the FX node; `how`: how it was found; `runs`: the kernel or ATen call that computes it."""

    node: object = None
    how: str = ""
    runs: str = ""

    @property
    def operator(self):
        """The operator as text, or ""."""
        return str(self.node.target) if self.node is not None else ""

    @property
    def source(self):
        """The user's source line of the operator, or ""."""
        return of_node(self.node) if self.node is not None else ""

    def lines(self):
        """The lines of a message."""
        if self.node is None:
            return [self.how] if self.how else []
        source = f" at {self.source}" if self.source else ""
        yield f"first operator: {self.operator} (node {self.node.name}){source}{', ' + self.how if self.how else ''}"
        if self.runs:
            yield f"it runs in {self.runs}"


def first(check, found, before):
    """The Place of the first difference of a call."""
    origin = _origin(check.gm, found[0])
    if origin is None or not found[0].is_value:
        return Place(origin, "", _runner(check.report, origin))
    try:
        node, how = _search(check, origin, before)
    except Exception as error:  # a failure of the search must not hide the difference
        log.info("%s: the first operator is not known: %s: %s", check.name, type(error).__name__, error)
        return Place(origin, "which computes the value; its operands could not be compared", _runner(check.report, origin))
    return Place(node, how, _runner(check.report, node))


def _origin(gm, difference):
    """The operator that makes the value; None for an argument that the graph does not write to."""
    node = next((x for x in difference.nodes if isinstance(x, torch.fx.Node)), None)
    if node is not None and node.op == "placeholder":
        writers = [x for x in gm.graph.nodes if node in reference.mutated(x)]
        node = writers[-1] if writers else None
        if node is not None and reference.name_of(node) == "copy_" and isinstance(node.args[1], torch.fx.Node):
            node = node.args[1]
    return node if node is not None and node.op == "call_function" else None


def _search(check, origin, before):
    values = _values_before(check.gm, origin)[-_MOST:]
    found, failure = check.again(part(check.gm, values, whole=True), before)
    if failure is None and found:
        return values[_number(found[0])], ""
    if not _is_wrong(check, origin, before):
        return origin, "the last of the values; parts of the graph alone are right"
    right, wrong = -1, len(values) - 1
    while wrong - right > 1:
        middle = (right + wrong) // 2
        if _is_wrong(check, values[middle], before):
            wrong = middle
        else:
            right = middle
    return values[wrong], "where the shortest wrong part of the graph ends; it is right where its values are results"


def _number(difference):
    return int(difference.place.split()[1]) if difference.place.startswith("result ") else -1


def _is_wrong(check, node, before):
    found, failure = check.again(part(check.gm, [node]), before)
    return failure is None and any(x.place == "result 0" for x in found)


def _values_before(gm, origin):
    """The tensors that `origin` depends on, with itself, in the order of the graph."""
    needed = ancestors([origin])
    return [
        node
        for node in gm.graph.nodes
        if node in needed and node.op == "call_function" and isinstance(node.meta.get("val"), torch.Tensor) and not reference.mutated(node)
    ]


def ancestors(nodes, ends=()):
    """These nodes and all nodes on which they depend; the search stops at `ends`."""
    needed, pending = set(), list(nodes)
    while pending:
        node = pending.pop()
        if node not in needed:
            needed.add(node)
            pending.extend(() if node in ends else node.all_input_nodes)
    return needed


def part(gm, results, whole=False):
    """The graph with other results. `whole`: with all operators, including those that write to arguments; else only those that the results need."""
    needed = set(gm.graph.nodes) if whole else ancestors(results)
    placeholders = [node for node in gm.graph.nodes if node.op == "placeholder"]
    return _graph(gm, results, needed, placeholders)


def cut(gm, results, inputs):
    """(the part of the graph that computes `results` from `inputs`, the nodes that became its arguments). `inputs` may be any nodes; arguments and
    sizes that the part uses are added."""
    needed = ancestors(results, inputs)
    symbols = set()
    for node in needed:
        for value in torch.utils._pytree.tree_leaves(node.meta.get("val")):
            strided = isinstance(value, torch.Tensor) and value.layout is torch.strided
            sizes = [*value.shape, *value.stride(), value.storage_offset()] if strided else [value]
            symbols.update(*(x.node.expr.free_symbols for x in sizes if isinstance(x, torch.SymInt)))
    taken = []
    for node in gm.graph.nodes:
        meta = node.meta.get("val")
        is_size = isinstance(meta, torch.SymInt) and meta.node.expr in symbols
        if node in needed and (node in inputs or node.op == "placeholder") or node.op == "placeholder" and is_size:
            taken.append(node)
    taken.sort(key=lambda node: not isinstance(node.meta.get("val"), torch.SymInt))
    return _graph(gm, results, needed, taken), taken


def _graph(gm, results, needed, arguments):
    graph = torch.fx.Graph()
    copies = {}
    for node in arguments:
        copies[node] = graph.node_copy(node) if node.op == "placeholder" else graph.placeholder(f"value_{node.name}")
        copies[node].meta = copy.copy(node.meta)
    for node in gm.graph.nodes:
        if node.op not in ("output", "placeholder") and node in needed and node not in copies:
            copies[node] = graph.node_copy(node, lambda x: copies[x])
    output = graph.output(tuple(copies[node] for node in results))
    output.meta["val"] = tuple(node.meta.get("val") for node in results)
    return torch.fx.GraphModule(gm, graph)


def _runner(report, node):
    """The kernel or ATen call that computes a node, found in the report by operator and source line."""
    if node is None:
        return ""
    operator, source = str(node.target), of_node(node)
    for call in report.get("aten_calls", ()):
        if call.get("op") == operator and (not source or source in (call.get("source"), *call.get("sources", ()))):
            return f"a call of ATen's {operator}"
    kernels = [kernel["name"] for kernel in report.get("kernels", ()) if source and source in kernel.get("sources", ())]
    if len(kernels) > 1:
        return f"one of the kernels {', '.join(kernels)}"
    return f"kernel {kernels[0]}" if kernels else ""
