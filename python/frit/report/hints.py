"""Hints on how to make a compiled graph faster: one sentence each, with the finding and its number, the cause, and what to do."""

import collections

from ..modes.cuda_graphs import in_bytes
from ..sizes.buckets import waste

#: The reason of calls that need no hint: the library has a faster kernel than a compiler would generate.
_LIBRARY = "a library has the kernel"
#: The waste by padding, in percent, above which there is a hint.
_MUCH_WASTE = 25
#: The ratio of the bytes that a graph moves to those that it must move, above which there is a hint.
_MUCH_TRAFFIC = 3

#: What helps where torch's own operators run in Python.
_REMEDIES = {"flex_attention": "it computes all scores, unfused; scaled_dot_product_attention with attn_mask has a kernel"}


def of_graph(graph, anatomy):
    """The sentences about one graph: an entry of an Explanation, and its Anatomy (or None)."""
    found = []
    if anatomy:
        found += _copies(anatomy)
        found += _traffic(anatomy)
        found += _saved(graph, anatomy)
    found += _calls(graph)
    found += [f"Python runs {step} at each call ({why}); {_REMEDIES.get(step, 'register it with torch.library to keep it in the plan')}"
              for step, why in zip(graph["callbacks"], graph["callback_reasons"])]
    for entry in graph["buckets"]:
        if entry.get("hits") and waste(entry) > _MUCH_WASTE:
            found.append(f"{waste(entry):.0f} % of the elements along {' = '.join(entry['names'])} are padding; "
                         "give sizes that occur: options={'buckets': ...}, counted by frit.record_sizes")
    if graph.get("whole_graph"):
        found.append(f"{graph['name']} runs operator by operator because {graph['whole_graph']}")
    return found


def _copies(anatomy):
    """Kernels that only copy a value to another layout."""
    traffic = anatomy.traffic
    readers = {}
    for step in traffic.steps:
        for reg in step.reads:
            readers.setdefault(traffic.owner(reg), []).append(step)
    groups = collections.defaultdict(list)
    without = {kernel["name"] for kernel in anatomy.plan["kernels"] if not kernel["operators"]}
    for step in traffic.steps:
        if step.kind == "kernel" and step.name in without and step.reads and step.writes:
            following = [one for reg in step.writes for one in readers.get(traffic.owner(reg), ()) if one.number > step.number]
            groups[following[0].name if following else "the result"].append(step)
    for reader, steps in groups.items():
        total = in_bytes(sum(step.bytes for step in steps))
        lines = list(dict.fromkeys(step.source for step in steps if step.source))
        head = f"{len(steps)} {'copy moves' if len(steps) == 1 else 'copies move'} {total} a call"
        yield f"{head} because {reader} needs another layout than the value has{_at(lines)}"


def _at(lines):
    return f" ({'; '.join(lines[:2])}{' ...' if len(lines) > 2 else ''})" if lines else ""


def _traffic(anatomy):
    traffic = anatomy.traffic
    if traffic.mandatory and traffic.moved > _MUCH_TRAFFIC * traffic.mandatory and len(traffic.steps) > 2:
        largest = max(traffic.steps, key=lambda step: step.bytes)
        yield (f"values between kernels are {in_bytes(traffic.moved - traffic.mandatory)} of the {in_bytes(traffic.moved)} that a call moves; "
               f"the most, {in_bytes(largest.bytes)}, is {largest.name}'s{_at([largest.source] if largest.source else [])}")


def _saved(graph, anatomy):
    if graph.get("stage") != "forward":
        return
    kept = [one["reg"] for one in anatomy.plan["outputs"] if one["kind"] == "Tensor" and one["kept"]]
    if kept:
        largest = max(kept, key=anatomy.traffic.size)
        total = sum(map(anatomy.traffic.size, kept))
        yield (f"{in_bytes(total)} are saved for the backward pass, the largest {anatomy.traffic.describe(largest)}; "
               "torch.utils.checkpoint computes them again instead")


def _calls(graph):
    counted = collections.Counter((call["op"], call.get("reason", "")) for call in graph["aten_calls"] if _LIBRARY not in call.get("reason", ""))
    for (op, reason), count in counted.most_common():
        yield f"{op} {'runs' if count == 1 else f'runs {count} times'} in ATen: {reason or 'no rule makes a kernel of it'}"


def of_program(explanation):
    """The sentences about all graphs of an Explanation, each once, with those about graph breaks and recompilations first."""
    found = [f"the graph breaks at {one['source'] or 'an unknown line'}: {one['reason']}; nothing is fused across it" for one in explanation.breaks]
    reasons = {}
    for one in explanation.recompiles:
        reasons.setdefault((one.function, one.remedy), []).append(one.reason)
    for (function, remedy), each in reasons.items():
        often = f" {len(each)} times: {each[0]}, and so on" if len(each) > 1 else f": {each[0]}"
        found.append(f"{function} was compiled again{often}; {remedy}")
    for graph, anatomy in explanation.each():
        found += of_graph(graph, anatomy)
    return [f"{sentence} (x{count})" if count > 1 else sentence for sentence, count in collections.Counter(found).items()]
