"""A report as one HTML page: the summary and the hints, then each graph with its drawing, memory, kernels, calls, guards and sizes."""

import collections
import os

from ..modes.cuda_graphs import in_bytes
from ..pages.chart import memory
from ..pages.drawing import MOST_BOXES, Box, draw, figure, legend
from ..pages.text import BREAK, code, element, folded, join, page, table
from ..roofline import section
from ..roofline.points import in_count, in_time, points_of
from ..sizes.buckets import waste


def write(explanation, path, note=""):
    """Writes the page of an Explanation; the folder of `path` is made if it is missing."""
    path = os.fspath(path)
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text_of(explanation, note))


def text_of(explanation, note=""):
    """The page of an Explanation as HTML text."""
    device = explanation.machine()
    shown = [*((graph, anatomy, device) for graph, anatomy in explanation.each()), *((graph, anatomy, None) for graph, anatomy in explanation.others)]
    sections = [_graph(number, *one) for number, one in enumerate(shown)]
    found = explanation.hints
    parts = [
        element("h1", explanation.title),
        element("p", "compiled by frit" + (f"; {note}" if note else ""), class_="soft"),
        _cards(explanation),
        element("nav", join(element("a", graph["name"], href=f"#g{number}") for number, (graph, _, _) in enumerate(shown))),
        element("h3", "Hints") if found else "",
        element("ul", *(element("li", hint) for hint in found), class_="hints") if found else "",
        _breaks(explanation),
        _recompiles(explanation),
        *sections,
        folded("The summary as text", code(str(explanation))),
    ]
    return page(f"frit: {explanation.title}", element("main", *parts))


def _cards(explanation):
    graphs = explanation.graphs
    moved, mandatory = (sum(graph.get(key, 0) for graph in graphs) for key in ("bytes_moved", "bytes_mandatory"))
    launches = sum(kernel.get("uses", 1) for kernel in explanation.kernels)
    library = sum("a library has the kernel" in call.get("reason", "") for call in explanation.aten_calls)
    compiled = sum(sum(graph["phases_ms"].values()) for graph in graphs)
    peak = max((anatomy.timeline.peak for _, anatomy in explanation.each() if anatomy), default=0)
    cards = [
        (len(graphs), _words(len(graphs), "graph")),
        (len(explanation.breaks), _words(len(explanation.breaks), "graph break")),
        (len(explanation.kernels), f"{_words(len(explanation.kernels), 'kernel')}, {launches} {_words(launches, 'launch', 'launches')}"),
        (library, _words(library, "library call")),
        (len(explanation.aten_calls) - library, _words(len(explanation.aten_calls) - library, "other call of ATen", "other calls of ATen")),
        (len(explanation.recompiles), _words(len(explanation.recompiles), "recompilation")),
        (in_bytes(moved), f"moved by a call, {moved / mandatory:.2g} × what it must ({in_bytes(mandatory)})" if mandatory else "moved by a call"),
        (in_bytes(peak), "of memory at the peak"),
        _operations(explanation),
        (f"{compiled:.0f} ms" if compiled else "unknown", "to compile"),
    ]
    return element("div", *(element("div", element("b", value), element("span", what), class_="card") for value, what in cards), class_="cards")


def _operations(explanation):
    """The card of what a call computes."""
    counted = [anatomy.operations_of(step) for _, anatomy in explanation.each() if anatomy for step in anatomy.traffic.steps]
    unknown = counted.count(None)
    words = "operations" + (f", unknown for {unknown} {_words(unknown, 'step')}" if unknown else "")
    return in_count(sum(filter(None, counted))), words


def _words(count, one, several=None):
    return one if count == 1 else several or one + "s"


def _breaks(explanation):
    if not explanation.breaks:
        return ""
    return join([element("h3", "Graph breaks"), table(["line", "reason"], [(one["source"] or "unknown", one["reason"]) for one in explanation.breaks])])


def _recompiles(explanation):
    if not explanation.recompiles:
        return ""
    rows = [(one.function, one.source, one.reason, one.remedy) for one in explanation.recompiles]
    return join([element("h3", "Recompilations"), table(["function", "where", "why", "remedy"], rows)])


def _graph(number, graph, anatomy, device):
    counts = ((graph["nodes"], "operator", None), (len(graph["kernels"]), "kernel", None), (len(graph["aten_calls"]), "call of ATen", "calls of ATen"))
    kinds = ", ".join(f"{count} {_words(count, *words)}" for count, *words in counts)
    parts = [element("h2", graph["name"], id=f"g{number}"), element("p", f"{graph['stage']} graph: {kinds}", class_="soft")]
    if graph["whole_graph"]:
        return element("section", *parts, element("p", f"It runs as it was traced, operator by operator: {graph['whole_graph']}"))
    if anatomy:
        points = points_of(graph["name"], anatomy, device)
        parts += [_drawing(number, anatomy), _memory(anatomy), section.section_of(number, points, anatomy, device)]
        parts += [element("h3", "Kernels by the bytes they move"), *_kernels(number, graph, anatomy, points)]
    parts += [_calls(graph, anatomy), _sizes(graph, anatomy), _guards(graph), _phases(graph)]
    if anatomy:
        stages = [folded(title, code(text)) for title, text in anatomy.stages]
        if stages:
            parts += [element("h3", "Stages of the whole graph"), *stages]
    return element("section", *parts)


def _title(step):
    """A short name: a kernel without its digest, an operator as torch's users write it."""
    if step.kind == "kernel":
        return step.name.removeprefix("frit_").rsplit("_", 1)[0].replace("_", " ")
    return step.name.removesuffix(".default")


def _drawing(number, anatomy):
    traffic = anatomy.traffic
    if len(traffic.steps) > MOST_BOXES:
        return element("p", f"The graph has {len(traffic.steps)} steps, too many for a drawing.", class_="soft")
    kernels = {kernel["name"]: index for index, kernel in enumerate(anatomy.plan["kernels"])}
    copies = {kernel["name"] for kernel in anatomy.plan["kernels"] if not kernel["operators"]}
    inputs, folded_inputs = _inputs(anatomy)
    boxes, edges, maker = [], [], {}
    for reg, name in inputs.items():
        maker[reg] = len(boxes)
        boxes.append(Box("value", name, traffic.describe(reg)))
    largest = max((step.bytes for step in traffic.steps), default=0) or 1
    for step in traffic.steps:
        here = len(boxes)
        known = folded_inputs.get(step.number, [])
        hover = [f"{step.name}: {in_bytes(step.bytes)}", step.reason, step.source]
        hover += [f"reads {traffic.describe(reg)}" for reg in dict.fromkeys(step.reads)] + [f"writes {traffic.describe(reg)}" for reg in step.writes]
        subtitle = in_bytes(step.bytes) + (f" + {', '.join(known)}" if known else "") + (f" · {step.source.split(' in ')[0]}" if step.source else "")
        link = f"#k{number}-{kernels[step.name]}" if step.kind == "kernel" else None
        kind = "copy" if step.kind == "copy" or step.name in copies else step.kind
        boxes.append(Box(kind, _title(step), subtitle, step.bytes / largest, link, "\n".join(filter(None, hover))))
        for reg in dict.fromkeys(step.reads):
            source = maker.get(traffic.owner(reg))
            if source is not None:
                edges.append((source, here, traffic.describe(reg)))
        for reg in step.writes:
            maker[traffic.owner(reg)] = here
    for place, output in enumerate(anatomy.plan["outputs"]):
        source = maker.get(traffic.owner(output["reg"])) if output["kind"] == "Tensor" else None
        if source is None:
            continue
        described = traffic.describe(output["reg"])
        if output["kept"]:
            # A forward saves dozens of values; boxes of their own would hide the program.
            boxes[source].subtitle += " · saved" if " · saved" not in boxes[source].subtitle else ""
            boxes[source].hover += f"\n{described} is saved for the backward"
        else:
            boxes.append(Box("value", f"result {place}", described))
            edges.append((source, len(boxes) - 1, described))
    drawn = draw(boxes, edges)
    hint = element("p", "Drag to move, Ctrl and wheel to zoom; a click on a kernel leads to its code. The bar in a box is its share of bytes.", class_="small soft")
    words = [("kernel", "kernel of frit"), ("aten", "call of ATen"), ("copy", "copy"), ("value", "argument or result")]
    return join([element("h3", "Graph"), legend(words), figure(drawn), hint])


def _inputs(anatomy):
    """(register -> name of each argument that gets a box, step -> names of the arguments that only this step reads, which are shown in its box)."""
    traffic = anatomy.traffic
    readers = collections.defaultdict(list)
    for step in traffic.steps:
        for reg in step.reads:
            if step not in readers[traffic.owner(reg)]:
                readers[traffic.owner(reg)].append(step)
    names = {one["reg"]: one["name"] for one in anatomy.plan["inputs"] if one["kind"] == "Tensor"}
    names.update({one["tensor"]: one["name"] for one in anatomy.plan["constants"]})
    shown, inside = {}, collections.defaultdict(list)
    for reg, name in names.items():
        found = readers.get(reg, [])
        alone = len(found) == 1 and any(traffic.owner(one) not in names for one in found[0].reads)
        if alone:
            inside[found[0].number].append(name)
        elif found:
            shown[reg] = name
    return shown, inside


def _memory(anatomy):
    line = anatomy.timeline
    if not line.peak:
        return ""
    by_number = {step.number: step for step in anatomy.traffic.steps}

    def label(step):
        found = by_number.get(step)
        action = anatomy.plan["steps"][step]["action"]
        if found:
            return _title(found)
        return f"{action['kind'].lower()} {anatomy.traffic.describe(action['tensor'])}" if "tensor" in action else action["kind"].lower()

    chart = memory(line, in_bytes, lambda block: anatomy.traffic.describe(block.tensor), label)
    words = legend([("block", "temporary"), ("kept", "result, kept by the caller")])
    text = element("p", "Beyond the arguments, without memory that a library uses inside a call.", class_="small soft")
    return join([element("h3", "Memory over the plan"), words, element("div", chart, class_="figure"), text])


def _kernels(number, graph, anatomy, points):
    described = {kernel["name"]: kernel for kernel in graph["kernels"]}
    points = {point.name: point for point in points}
    order = sorted(enumerate(anatomy.plan["kernels"]), key=lambda pair: -anatomy.bytes_by_kernel.get(pair[1]["name"], 0))
    most = max(anatomy.bytes_by_kernel.values(), default=0) or 1
    for index, kernel in order:
        name, known = kernel["name"], described.get(kernel["name"], {})
        moved, uses = anatomy.bytes_by_kernel.get(name, 0), known.get("uses", 1)
        head = [element("span", name, class_="mono"), f" ×{uses}" if uses > 1 else "", element("span", in_bytes(moved), class_="bytes")]
        bar = element("div", class_="bar", style=f"width:{100 * moved / most:.1f}%")
        launch = next((step for step in anatomy.traffic.steps if step.name == name), None)
        rows = [("operators", ", ".join(kernel["operators"]) or "none: it copies"), ("schedule", known.get("schedule", "not known"))]
        if launch:
            rows.append(("reads", ", ".join(map(anatomy.traffic.describe, launch.reads)) or "nothing"))
            rows.append(("writes", ", ".join(map(anatomy.traffic.describe, launch.writes))))
        lines = [anatomy.artifact["sources"][source] for source in kernel["sources"]]
        rows.append(("source", join((element("code", line) for line in lines), BREAK) if lines else "not known"))
        if known.get("entries"):
            shown = "; ".join(f"{one['entry']}: {one['threads']} threads, {one['shared_bytes']} B shared" for one in known["entries"])
            rows.append(("launches", shown))
        if name in points:
            rows += _cost(points[name])
        texts = [folded(title, code(text)) for title, text in anatomy.texts_of(kernel)]
        yield folded(join([*head, bar]), table(["", ""], rows), *texts, id=f"k{number}-{index}")


def _cost(point):
    known = point.operations is not None
    per = "" if point.intensity is None else f", {point.intensity:.3g} a byte"
    yield "operations", f"{in_count(point.operations)}{per}" if known else "unknown: the file has no kernel programs, a dump has"
    if point.least_seconds:
        yield "time", f"at least {in_time(point.least_seconds)}, bound by {point.bound}" + (f"; {in_time(point.seconds)} measured" if point.seconds else "")


def _calls(graph, anatomy):
    """Fallbacks by operator with the reason, and Python steps."""
    folds = collections.defaultdict(list)
    for call in graph["aten_calls"]:
        folds[call["op"], call.get("reason", "")].append(call.get("source"))
    moved = anatomy.bytes_by_call if anatomy else {}
    rows = []
    for (op, reason), sources in sorted(folds.items(), key=lambda item: -moved.get(item[0][0], 0)):
        lines = collections.Counter(source for source in sources if source)
        where = join((element("code", f"{source}{f' ×{count}' if count > 1 else ''}") for source, count in lines.items()), BREAK)
        rows.append((element("span", op, class_="mono"), (len(sources), len(sources)), (moved.get(op, 0), in_bytes(moved.get(op, 0))), reason, where))
    for step, why in zip(graph["callbacks"], graph["callback_reasons"]):
        rows.append((element("span", step, class_="mono"), (1, 1), (0, "?"), f"Python: {why}", ""))
    if not rows:
        return element("p", "No operator is left to ATen.", class_="soft")
    return join([element("h3", "Left to ATen or Python"), table(["operator", "calls", "bytes", "reason", "source"], rows, class_="sorts")])


def _sizes(graph, anatomy):
    symbols = anatomy.plan["symbols"] if anatomy else []
    parts = []
    if symbols:
        inputs = anatomy.plan["inputs"]
        rows = []
        for one in symbols:
            at = f".stride({one['dim']})" if one["stride"] else f"[{one['dim']}]" if one["dim"] >= 0 else ""
            where = inputs[one["input"]]["name"] + at
            high = "no limit" if one["max"] > 2**62 else one["max"]
            rows.append((element("code", one["name"]), where, f"{one['min']} to {high}", anatomy.traffic.values.get(one["reg"], "?")))
        parts += [element("h3", "Sizes that vary"), table(["size", "of", "range", "in this report"], rows)]
    rows = []
    for entry in graph["buckets"]:
        used = f"not used: {entry['why']}" if entry["index"] < 0 else f"{entry.get('hits', 0)} hits, {entry.get('misses', 0)} misses"
        share = waste(entry) if "logical" in entry else 0
        shown = join([f"{share:.1f} %", element("div", class_="bar", style=f"width:{share:.0f}%")]) if "logical" in entry else ""
        sizes = entry["sizes"]
        listed = ", ".join(map(str, sizes)) if len(sizes) <= 12 else f"{sizes[0]} to {sizes[-1]}, {len(sizes)} sizes"
        rows.append((" = ".join(entry["names"]), entry["policy"], listed, used, shown))
    if rows:
        parts += [element("h3", "Buckets and padding"), table(["size", "policy", "buckets", "use", "waste"], rows)]
    rows = [(note["op"], note["sizes"], note["padded"], note["why"]) for note in graph["padding"]]
    if rows:
        parts += [element("h3", "Padded library calls"), table(["call", "sizes", "padded to", "why"], rows)]
    return join(parts)


def _guards(graph):
    if not graph["guards"]:
        return ""
    rows = []
    for guard in graph["guards"]:
        where = f"variant {guard['variant']} of {guard['kernel']}" if "kernel" in guard else "graph"
        rows.append((guard["kind"], guard["requirement"], guard["origin"], where))
    return folded(f"{len(rows)} guards", table(["kind", "requirement", "needed by", "where"], rows))


def _phases(graph):
    if not graph["phases_ms"]:
        return ""
    shown = ", ".join(f"{name} {spent:.1f} ms" for name, spent in sorted(graph["phases_ms"].items(), key=lambda item: -item[1]))
    return element("p", f"Compiled in {sum(graph['phases_ms'].values()):.0f} ms: {shown}.", class_="soft")
