"""The part of a page that shows kernels and calls under the roofs of the machine."""

from ..modes.cuda_graphs import in_bytes
from ..pages.drawing import legend
from ..pages.roof import Dot, roofline
from ..pages.text import element, folded, join, table
from .points import in_count, in_time
from .work import FUNCTION

#: Rows that are shown at once; the others are folded.
_ROWS = 12
_HEAD = ["", "kernel or call", "launches", "operations", "bytes", "per byte", "bound by", "at least", "measured", "of the bound"]


def section_of(number, points, anatomy, device):
    """Picture and table of a graph's Points; `number` is the graph's on the page."""
    index = {kernel["name"]: place for place, kernel in enumerate(anatomy.plan["kernels"])}
    links = {point.name: f"#k{number}-{index[point.name]}" for point in points if point.kind == "kernel" and point.name in index}
    if not points:
        return ""
    dots = [_dot(place, point, links) for place, point in enumerate(points, 1) if _is_drawn(point)]
    parts = [element("h3", "Roofline")]
    if device and dots:
        roofs = [(f"memory: {in_bytes(device.bandwidth)} a second", device.bandwidth)]
        if device.cache_bandwidth > 1.1 * device.bandwidth:
            roofs.append((f"caches: {in_bytes(device.cache_bandwidth)} a second", device.cache_bandwidth))
        words = [("kernel", "kernel of frit"), ("aten", "call of ATen")]
        if any(dot.hollow for dot in dots):
            words.append(("hollow", "hollow: not measured, it stands at its bound"))
        parts += [legend(words), element("div", roofline(dots, roofs, device.peak, in_count), class_="figure")]
    rows = [_row(place, point, links) for place, point in enumerate(points, 1)]
    parts.append(table(_HEAD, rows[:_ROWS], class_="sorts"))
    if rows[_ROWS:]:
        parts.append(folded(f"{len(rows) - _ROWS} more", table(_HEAD, rows[_ROWS:], class_="sorts")))
    return join([*parts, element("p", _words(device), class_="small soft")])


def _is_drawn(point):
    return bool(point.operations and point.bytes and point.least_seconds)


def _dot(place, point, links):
    seconds = point.seconds or point.least_seconds
    hover = f"{point.name}: {in_count(point.operations)} operations, {in_bytes(point.bytes)}, {_bound(point)}"
    hover += f", {in_time(point.seconds)} measured" if point.seconds else ""
    return Dot(str(place), point.kind, point.intensity, point.operations / seconds, not point.seconds, hover, links.get(point.name))


def _bound(point):
    return f"at least {in_time(point.least_seconds)} ({point.bound})" if point.least_seconds else "no bound is known"


def _row(place, point, links):
    name = element("span", point.name, class_="mono")
    name = element("a", name, href=links[point.name]) if point.name in links else name
    known = point.operations is not None
    bound = point.bound or "unknown"
    if not known and point.bound:
        bound += " (arithmetic unknown)"
    return (
        (place, place),
        name,
        (point.launches, point.launches),
        (point.operations, in_count(point.operations)) if known else (-1, "unknown"),
        (point.bytes, in_bytes(point.bytes)),
        (-1, "unknown" if not known else "") if point.intensity is None else (point.intensity, f"{point.intensity:.3g}"),
        bound,
        (point.least_seconds, in_time(point.least_seconds)) if point.least_seconds else (-1, "unknown"),
        (point.seconds, in_time(point.seconds)) if point.seconds else (-1, ""),
        (point.share, f"{100 * point.share:.0f} %") if point.share is not None else (-1, ""),
    )


def _words(device):
    counted = (
        f"Operations are counted from the programs of kernels: each value once for each index that it depends on; a function such as exp counts {FUNCTION}, "
        "a conversion nothing. Those of ATen follow from torch's formulas; for operators without one they are unknown. "
    )
    if device is None:
        return counted + "The device is not here, so its roofs are unknown."
    cached = f", {in_bytes(device.cache_bandwidth)} a second for steps that move at most {in_bytes(device.cache_bytes)}" if device.cache_bytes else ""
    return (
        f"{counted}A step takes at least its bytes by the bandwidth, or its operations by the peak. {device.name}, measured with {device.how}: "
        f"{in_bytes(device.bandwidth)} a second from memory{cached}, {in_count(device.peak)} operations a second."
    )
