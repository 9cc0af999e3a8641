"""Measures the steps of graphs while they run, with torch's profiler."""

import torch

from .points import points_of

#: What runs an operator of ATen in a kernel of the runtime.
_OWN = {"frit::product", "frit::attention", "frit::convolution"}


def timed(call, times, collected):
    """Calls `call` `times` times; the anatomies and kernels that are Collected get the least seconds of their steps."""
    anatomies = {graph["name"]: anatomy for graph, anatomy in zip(collected.graphs, collected.anatomies) if anatomy}
    activities = [torch.profiler.ProfilerActivity.CPU]
    if torch.cuda.is_available():
        activities.append(torch.profiler.ProfilerActivity.CUDA)
    with torch.profiler.profile(activities=activities) as profile:
        for _ in range(times):
            call()
    for event in profile.events():
        anatomy = anatomies.get(event.name.removeprefix("frit::"))
        if anatomy and event.name.startswith("frit::"):
            for number, seconds in steps_of(event.cpu_children, anatomy.traffic.steps, anatomy.plan["target"]):
                anatomy.seconds[number] = min(seconds, anatomy.seconds.get(number, seconds))
    for graph, anatomy in zip(collected.graphs, collected.anatomies):
        if anatomy:
            found = {point.name: point.seconds for point in points_of(graph["name"], anatomy)}
            for kernel in graph["kernels"]:
                kernel["seconds"] = found.get(kernel["name"])


def steps_of(events, steps, target):
    """(number of the step, seconds) for the steps that the events of one call show. Both are in order; events beside the steps are skipped."""
    events = sorted(events, key=lambda event: event.time_range.start)
    at = 0
    for step in steps:
        names = {step.name} if step.kind == "kernel" else {"aten::copy_"} if step.kind == "copy" else _OWN | {_operator(step.name)}
        found = next((number for number in range(at, len(events)) if events[number].name in names), None)
        if found is not None:
            at = found + 1
            microseconds = events[found].device_time_total if target == "Gpu" else events[found].cpu_time_total
            if microseconds:
                yield step.number, microseconds * 1e-6


def _operator(name):
    """"aten::mm" for "aten.mm.default"."""
    namespace, operator, _ = name.split(".", 2)
    return f"{namespace}::{operator}"
