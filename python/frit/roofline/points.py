"""Where each kernel and each call of ATen stands under the roofs of the machine: what it computes and moves, the least time, and the measured one."""

from dataclasses import asdict, dataclass

from . import machine


@dataclass
class Point:
    """All launches of a kernel in a call, or all calls of an operator. `operations` and `seconds` are None where they are not known."""

    graph: str
    name: str
    kind: str
    launches: int
    bytes: int
    operations: int | None
    seconds: float | None
    bound: str | None = None
    least_seconds: float | None = None

    @property
    def intensity(self):
        """Operations a byte."""
        return None if self.operations is None or not self.bytes else self.operations / self.bytes

    @property
    def share(self):
        """The least time as a part of the measured one."""
        return self.least_seconds / self.seconds if self.seconds and self.least_seconds is not None else None

    def to_dict(self):
        return {**asdict(self), "intensity": self.intensity}


def points_of(graph, anatomy, device=None):
    """The Points of a graph, the one that takes longest first; with a Machine, they have bounds."""
    found = {}
    for step in anatomy.traffic.steps:
        key = step.kind, step.name
        operations, seconds = anatomy.operations_of(step), anatomy.seconds.get(step.number)
        if key not in found:
            found[key] = Point(graph, step.name, step.kind, step.uses, step.bytes, operations, seconds)
            continue
        point = found[key]
        point.launches, point.bytes = point.launches + step.uses, point.bytes + step.bytes
        point.operations, point.seconds = _sum(point.operations, operations), _sum(point.seconds, seconds)
    points = list(found.values())
    if device:
        for point in points:
            # The bytes of a launch lie in a cache or not, so each is bounded by itself; equal launches stand for all.
            each = max(1, point.launches)
            what, seconds = device.bound((point.operations or 0) / each, point.bytes / each)
            # Without the arithmetic only the bytes say how long it takes at least.
            point.bound, point.least_seconds = what, seconds and seconds * each
    return sorted(points, key=lambda point: -(point.seconds or point.least_seconds or point.bytes))


def _sum(one, other):
    return None if one is None or other is None else one + other


def machine_of(anatomies):
    """The Machine that graphs run on, with roofs above all that was measured of their steps; None if they do not run here."""
    device = _machine_of(anatomies)
    if device is None:
        return None
    peak, bandwidth, cached = 0.0, 0.0, 0.0
    for anatomy in filter(None, anatomies):
        for step in anatomy.traffic.steps:
            seconds = anatomy.seconds.get(step.number)
            if seconds:
                peak = max(peak, (anatomy.operations_of(step) or 0) / seconds)
                if step.kind == "kernel" and step.bytes > device.cache_bytes:
                    bandwidth = max(bandwidth, step.bytes / seconds)
                elif step.kind == "kernel":
                    cached = max(cached, step.bytes / seconds)
    return device.at_least(peak, bandwidth, cached)


def _machine_of(anatomies):
    targets = {anatomy.plan["target"] for anatomy in anatomies if anatomy}
    if targets == {"Cpu"}:
        return machine.measured("cpu")
    if targets == {"Gpu"}:
        import torch

        return machine.measured("cuda") if torch.cuda.is_available() else None
    return None


def in_count(number):
    """"12.3 M"."""
    for unit, name in ((1e12, " T"), (1e9, " G"), (1e6, " M"), (1e3, " k")):
        if number >= unit:
            return f"{number / unit:.3g}{name}"
    return f"{number:.3g}"


def in_time(seconds):
    """"12.3 us"."""
    for unit, name in ((1, "s"), (1e-3, "ms"), (1e-6, "us")):
        if seconds >= unit:
            return f"{seconds / unit:.3g} {name}"
    return f"{seconds / 1e-9:.3g} ns"
