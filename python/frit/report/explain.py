"""`frit.explain(fn)(*args)`: shows what a function compiles to.

It compiles `fn` anew, whatever the cache has, and runs it once with frit under a fresh Dynamo state, and its backward if results need gradients (no
`.grad` is written). A summary comes first. The report of each graph lists its kernels by the bytes they move, with their operators, the operators
left to ATen or Python with the reason, the user's source lines, and the memory that the run took beyond its arguments. Hints come last.
`to_html(path)` writes everything, with the code of each kernel, into one page.
"""

import collections
import functools
import json
import tempfile

from .. import backend as _backend
from ..logs import counted
from ..modes import cuda_graphs
from ..modes.cuda_graphs import in_bytes
from ..roofline import points as roofline
from ..roofline import timing
from ..sizes.buckets import waste
from ..sizes.specialize import wait_for_background
from . import hints
from .collected import Collected, breaks_of
from .recompiles import Watch, sizes_of

#: How many graph breaks the summary names; the others follow it.
SHOWN_BREAKS = 2


class Explanation:
    """The reports of all graphs of one run, as text (`print`), JSON (`to_json`) or a page (`to_html`)."""

    def __init__(self, graphs, recompiles=(), breaks=(), anatomies=(), title="program", others=()):
        self.graphs = graphs
        self.others = list(others)  # (graph, Anatomy) of what a file has for more targets, beside `graphs` for the first
        self.title = title
        self._anatomies = list(anatomies)
        self.recompiles = list(recompiles)
        self.breaks = list(breaks)  # graph breaks: {"reason", "source"}

    @property
    def kernels(self):
        return [kernel for graph in self.graphs for kernel in graph["kernels"]]

    @property
    def aten_calls(self):
        return [call for graph in self.graphs for call in graph["aten_calls"]]

    @property
    def callbacks(self):
        return [step for graph in self.graphs for step in graph["callbacks"]]

    @property
    def buckets(self):
        return [entry for graph in self.graphs for entry in graph["buckets"]]

    def each(self):
        """(graph, Anatomy or None) of all graphs."""
        return zip(self.graphs, self._anatomies or [None] * len(self.graphs))

    @property
    def hints(self):
        """The sentences of `report.hints` about all graphs."""
        return hints.of_program(self)

    def to_json(self):
        """Everything as JSON text: graphs, breaks, recompilations, hints."""
        recompiles = [one.to_dict() for one in self.recompiles]
        others = {"other_targets": [graph for graph, _ in self.others]} if self.others else {}
        return json.dumps({"graphs": self.graphs, **others, "breaks": self.breaks, "recompiles": recompiles, "hints": self.hints}, indent=1)

    @functools.cached_property
    def _machine(self):
        return roofline.machine_of(self._anatomies)

    def machine(self):
        """What the device of the graphs can do, measured at the first call (`roofline.machine.Machine`); None if it is not here."""
        return self._machine

    def roofline(self):
        """A dict for each kernel and operator of each graph: what it computes and moves, what bounds it, the least time and the measured one."""
        points = [roofline.points_of(graph["name"], anatomy, self.machine()) for graph, anatomy in self.each() if anatomy]
        return [point.to_dict() for each in points for point in each]

    def to_html(self, path):
        """Writes one self-contained page: no network, light and dark."""
        from .html import write

        write(self, path)

    def summary(self):
        """At most five lines: how the operators run, what is left to ATen and Python, where Dynamo broke the graph, the time of compiling, the memory."""
        kernels, calls = self.kernels, self.aten_calls
        launches = sum(kernel.get("uses", 1) for kernel in kernels)
        parts = [
            f"{counted(sum(graph['nodes'] for graph in self.graphs), 'operator')} in {counted(len(self.graphs), 'graph')}",
            f"{counted(len(self.breaks), 'graph break')}: {counted(len(kernels), 'kernel')} ({counted(launches, 'launch', 'launches')})",
            f"{counted(len(calls), 'ATen call')}",
            f"{counted(len(self.callbacks), 'Python step')}",
        ]
        if branches := sum(len(graph["control_flow"]) for graph in self.graphs):
            parts.append(counted(branches, "branch or loop", "branches and loops"))
        lines = [", ".join(parts)]
        left = []
        for place, names in (("ATen", [call["op"] for call in calls]), ("Python", self.callbacks)):
            if names:
                left.append(f"left to {place}: " + ", ".join(f"{name}{_times(count)}" for name, count in collections.Counter(names).most_common()))
                left[-1] += self._run_by_frit() if place == "ATen" else ""
        whole = [graph["name"] for graph in self.graphs if graph["whole_graph"]]
        if whole:
            left.append(f"not compiled, run operator by operator: {', '.join(whole)}")
        if left:
            lines.append("; ".join(left))
        breaks = self._breaks()
        if breaks:
            more = f"; {len(breaks) - SHOWN_BREAKS} more, listed below" if len(breaks) > SHOWN_BREAKS else ""
            lines.append("; ".join(breaks[:SHOWN_BREAKS]) + more)
        phases = collections.Counter()
        for graph in self.graphs:
            phases.update(graph["phases_ms"])
        spent = ", ".join(f"{name} {milliseconds:.0f}" for name, milliseconds in phases.most_common(4))
        lines.append(f"compiled in {sum(phases.values()):.0f} ms ({spent})" if phases else "nothing was compiled")
        ran = [graph for graph in self.graphs if graph.get("runs")]
        if ran:
            temporaries, peak = (max(graph[key] for graph in ran) for key in ("temporary_bytes", "peak_bytes"))
            moves = _moves(self.graphs)
            predicted = max((graph.get("peak_of_plan", 0) for graph in ran), default=0)
            shown = f"{in_bytes(peak)} at the peak with results" + (f" ({in_bytes(predicted)} predicted, with what ATen allocates)" if predicted else "")
            lines.append(f"memory of the largest graph: {in_bytes(temporaries)} of temporaries, {shown}{moves}")
        return "\n".join(lines)

    def _run_by_frit(self):
        """How many of ATen's calls were runs of frit's own kernels instead, which each call decides by its sizes."""
        kinds = {"own_products": "product", "own_attention": "attention", "own_convolutions": "convolution", "own_orders": "sort"}
        ran = [(sum(graph.get(key) or 0 for graph in self.graphs), what) for key, what in kinds.items()]
        said = ", ".join(counted(number, what) for number, what in ran if number)
        # The counts are those of all calls.
        calls = counted(max((graph.get("runs") or 0 for graph in self.graphs), default=0), "call")
        return f" (frit's own kernels ran {said} of them in {calls})" if said else ""

    def _breaks(self):
        return [f"graph break at {one['source'] or 'an unknown line'} ({one['reason']})" for one in self.breaks]

    def __str__(self):
        lines = [self.summary(), *self._breaks()[SHOWN_BREAKS:], ""]
        for graph in [*self.graphs, *(graph for graph, _ in self.others)]:
            head = f"{graph['name']}: {counted(graph['nodes'], 'node')}, {counted(len(graph['kernels']), 'kernel')}"
            lines.append(f"{head}, {counted(len(graph['aten_calls']), 'ATen call')}, {counted(len(graph['callbacks']), 'Python step')}")
            if graph["whole_graph"]:
                lines.append(f"  runs as it was traced, operator by operator: {graph['whole_graph']}")
                continue
            lines.append(f"  {_memory(graph)}")
            if graph.get("own_products"):
                lines.append(f"  {graph['own_products']} matrix products in frit's own kernel, in {counted(graph['runs'], 'call')}")
            if graph.get("own_attention"):
                lines.append(f"  attention in frit's own kernel {counted(graph['own_attention'], 'time')}, in {counted(graph['runs'], 'call')}")
            if graph.get("own_convolutions"):
                lines.append(f"  {graph['own_convolutions']} convolutions in frit's own kernel, in {counted(graph['runs'], 'call')}")
            if graph.get("own_orders"):
                lines.append(f"  {graph['own_orders']} sorts and topks in frit's own kernel, in {counted(graph['runs'], 'call')}")
            if graph.get("overlap_copies"):
                lines.append(f"  {graph['overlap_copies']} arguments written to on a copy: they share memory with other arguments")
            for op, count in graph.get("stride_copies", {}).items():
                lines.append(f"  {count} results of {op} copied: their strides or their memory were not those the graph was traced with")
            for kernel in graph["kernels"]:
                moves = f" ({', '.join(_costs(kernel))})" if kernel.get("bytes") else ""
                place = f" of {kernel['graph']}" if "graph" in kernel else ""
                lines.append(f"  kernel {kernel['name']}{place}{_times(kernel.get('uses', 1))}: {', '.join(kernel.get('ops', ())) or 'copy'}{moves}")
                if kernel.get("schedule"):
                    lines.append(f"    schedule {kernel['schedule']}")
                lines.extend(f"    {source}" for source in kernel.get("sources", ()))
            lines.extend(_calls(graph))
            lines.extend(_control_flow(graph))
            if graph["random"]:
                lines.append(f"  random numbers generated by kernels, not eager's: {', '.join(graph['random'])}")
            lines.extend(_guards(graph))
            lines.extend(f"  {_bucket(entry)}" for entry in graph["buckets"])
            lines.extend(_padding(graph))
            lines.extend(_specialized(graph))
            lines.extend(cuda_graphs.lines(graph))
            lines.extend(f"  python {step}: {why}" for step, why in zip(graph["callbacks"], graph["callback_reasons"]))
        lines.extend(map(str, self.recompiles))
        lines.extend(f"hint: {hint}" for hint in self.hints)
        return "\n".join(lines)


def _moves(graphs):
    """The bytes that a call of all graphs moves, and how that compares with what it must move."""
    moved, mandatory = (sum(graph.get(key, 0) for graph in graphs) for key in ("bytes_moved", "bytes_mandatory"))
    if not mandatory:
        return ""
    return f"; a call moves {in_bytes(moved)}, {moved / mandatory:.2g} times the {in_bytes(mandatory)} of arguments and results"


def _costs(kernel):
    yield in_bytes(kernel["bytes"])
    if kernel.get("operations") is not None:
        yield f"{roofline.in_count(kernel['operations'])} operations"
    if kernel.get("seconds"):
        yield f"{roofline.in_time(kernel['seconds'])} measured"


def _times(count):
    return f" x{count}" if count > 1 else ""


def _calls(graph):
    """The calls of ATen: one entry for all calls of an operator that have the same reason, with their source lines."""
    folded = collections.defaultdict(list)
    for call in graph["aten_calls"]:
        reason = call.get("reason", "") + ("; frit's own kernel where it is faster" if call.get("own_product") or call.get("own_attention") else "")
        folded[call["op"], reason].append(call.get("source"))
    for (op, reason), sources in folded.items():
        yield f"  aten {op}{_times(len(sources))}: {reason}".rstrip(": ")
        for source, count in collections.Counter(source for source in sources if source).items():
            yield f"    {source}{_times(count)}"


def _control_flow(graph):
    """Branches and loops, with the user's lines."""
    for one in graph["control_flow"]:
        place = f" of {one['graph']}" if "graph" in one else ""
        yield f"  {one['op'].partition('.')[2]}{place}: a step with {counted(len(one['graphs']), 'graph')}".rstrip(": ")
        if one.get("source"):
            yield f"    {one['source']}"
    if graph["control_flow"]:
        yield f"  {counted(graph.get('subgraph_calls', 0), 'call')} of graphs of branches and loops"


def _guards(graph):
    """The graph's assumptions about sizes, one line each; those about strides and separate memory are only counted, in one line."""
    quiet = ("strides", "disjoint")
    for guard in graph["guards"]:
        if guard["kind"] not in quiet:
            where = f"variant {guard['variant']} of {guard['kernel']}" if "kernel" in guard else "guard"
            yield f"  {where}: {guard['requirement']}, for {guard['origin']}"
    counts = [sum(guard["kind"] == kind for guard in graph["guards"]) for kind in quiet]
    if any(counts):
        yield f"  guards: the strides of {counts[0]} arguments, {counts[1]} pairs of arguments that do not overlap"
    for kernel, launches in graph.get("variants", {}).items():
        yield f"  {kernel} ran {sum(launches)} times, {launches[-1]} of them the generic variant"


def _bucket(entry):
    """One line: the buckets of a size, whether they are used, and their waste."""
    sizes = entry["sizes"]
    shown = f"{sizes[0]} to {sizes[-1]}, {len(sizes)} sizes" if entry["policy"] == "ramp" or len(sizes) > 12 else f"{sizes}"
    head = f"buckets {' = '.join(entry['names'])}: {entry['policy']} {shown}"
    if entry["index"] < 0:
        return f"{head}; not used: {entry['why']}"
    if "hits" not in entry:
        return f"{head}; not run"
    gain = f"; predicted gain: {in_bytes(entry['warm_bytes'])} a call without page faults" if "warm_bytes" in entry else ""
    return f"{head}; {entry['hits']} hits, {entry['misses']} misses, {waste(entry):.1f} % waste{gain}"


def _padding(graph):
    """The library calls with padded operands, and how many padded elements were written."""
    for note in graph["padding"]:
        yield f"  padded {note['op']}: {note['sizes']} to {note['padded']} ({note['why']})"
    if graph.get("padded_elements"):
        share = waste({"logical": graph["logical_elements"], "padded": graph["padded_elements"]})
        yield f"  pads wrote {graph['padded_elements']} elements, {graph['logical_elements']} of them logical: {share:.1f} % waste"


def _specialized(graph):
    if graph.get("specialized_buckets") or graph.get("specialize_failures"):
        yield (
            f"  specialised kernels for {counted(graph['specialized_buckets'], 'bucket')} ({counted(graph['specialized_kernels'], 'kernel')}, "
            f"{counted(graph['specialized_calls'], 'call')}), {graph['specialize_failures']} could not be compiled"
        )


def _memory(graph):
    if not graph.get("runs"):
        return "memory: not known, the graph did not run"
    return f"memory: {in_bytes(graph['temporary_bytes'])} of temporaries, {in_bytes(graph['peak_bytes'])} at the peak with results"


def _differentiate(results):
    """Runs the backward graphs, without leaving gradients behind."""
    import torch
    import torch.utils._pytree as pytree

    roots = [x for x in pytree.tree_leaves(results) if isinstance(x, torch.Tensor) and x.grad_fn is not None]
    leaves, seen, pending = [], set(), [x.grad_fn for x in roots]
    while pending:
        function = pending.pop()
        if function is None or function in seen:
            continue
        seen.add(function)
        if hasattr(function, "variable"):
            leaves.append(function.variable)
        pending.extend(following for following, _ in function.next_functions)
    if leaves:
        torch.autograd.grad(roots, leaves, [torch.ones_like(x) for x in roots], allow_unused=True)


def explain(fn, *, mode=None, options=None, dynamic=None, fullgraph=False, timed=0):
    """Returns a function that takes `fn`'s arguments, compiles `fn`, runs it once, and returns an Explanation.

    With `timed=n`, the last call runs n times more, and each kernel and operator has the least time that it took.

    `explain(fn).over([(x, y), ...])` makes several calls, each with the arguments in a tuple (or keywords in a dict), and
    also says why Dynamo recompiled for some of them.
    """

    def run(*args, **kwargs):
        return over([(args, kwargs)])

    def over(calls):
        calls = [call if _is_full(call) else ((), call) if isinstance(call, dict) else (tuple(call), {}) for call in calls]
        return _explain(fn, calls, mode, options, dynamic, fullgraph, timed)

    run.over = over
    return run


def _is_full(call):
    return isinstance(call, tuple) and len(call) == 2 and isinstance(call[0], tuple) and isinstance(call[1], dict)


def _explain(fn, calls, mode, options, dynamic, fullgraph, timed):
    import torch

    breaks = []
    watch = Watch()
    # Graphs of the cache have no stages to show, so the graphs are compiled anew, with a dump.
    named = (options or {}).get("dump_dir")
    temporary = None if named else tempfile.TemporaryDirectory(prefix="frit-explain-")
    collected = Collected(named or temporary.name)
    options = {**(options or {}), "dump_dir": named or temporary.name}

    def chosen(gm, inputs, **others):
        breaks.extend(breaks_of(gm))
        return _backend.frit(gm, inputs, mode=mode, options=options, **others)

    torch.compiler.reset()
    _backend._OBSERVERS.append(collected.observe)
    try:
        chosen.reset = _backend.reset
        compiled = torch.compile(fn, backend=chosen, dynamic=dynamic, fullgraph=fullgraph)
        for args, kwargs in calls:
            _differentiate(watch.call(compiled, args, kwargs, sizes_of(fn, args, kwargs)))
        wait_for_background()
        collected.finish()
        if timed and calls:
            timing.timed(lambda: _differentiate(compiled(*args, **kwargs)), timed, collected)
    finally:
        _backend._OBSERVERS.remove(collected.observe)
        torch.compiler.reset()
        if temporary:
            temporary.cleanup()
    title = getattr(fn, "__qualname__", type(fn).__qualname__)
    return Explanation(collected.graphs, watch.found, breaks, collected.anatomies, title)
