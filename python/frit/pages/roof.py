"""A roofline as SVG: operations a second over operations a byte, on logarithmic axes, below the roofs of the machine."""

import math

from .text import element

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 1120, 340, 84, 20, 18, 46
#: Pixels that the number beside a dot needs.
_LABEL_WIDTH, _LABEL_HEIGHT = 20, 12


class Dot:
    """`x`: operations a byte, `y`: operations a second; a hollow one stands at its bound because it was not measured."""

    def __init__(self, label, kind, x, y, hollow, hover, link=None):
        self.label, self.kind, self.x, self.y, self.hollow, self.hover, self.link = label, kind, x, y, hollow, hover, link


def roofline(dots, roofs, peak, shown):
    """`roofs`: (name, bytes a second), the lowest first; `shown(n)` writes operations a second."""
    xs = [dot.x for dot in dots] + [peak / bandwidth for _, bandwidth in roofs]
    low_x, high_x = 10 ** math.floor(math.log10(min(xs) / 2)), 10 ** math.ceil(math.log10(max(xs) * 2))
    ys = [dot.y for dot in dots] + [roofs[0][1] * low_x, peak]
    low_y, high_y = 10 ** math.floor(math.log10(min(ys))), max(ys) * 2

    def x(value):
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * math.log(value / low_x) / math.log(high_x / low_x)

    def y(value):
        return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * math.log(value / low_y) / math.log(high_y / low_y)

    parts = _axes(x, y, (low_x, high_x), (low_y, high_y), shown)
    for number, (name, bandwidth) in enumerate(roofs):
        ridge = peak / bandwidth
        # Where the roof leaves the picture at the bottom it begins there.
        start = max(low_x, low_y / bandwidth)
        flat = f"H{x(high_x):.1f}" if number == 0 else ""
        style = None if number == 0 else "5 4"
        parts.append(element("path", class_="roof", d=f"M{x(start):.1f} {y(bandwidth * start):.1f}L{x(ridge):.1f} {y(peak):.1f}{flat}", stroke_dasharray=style))
        slope = math.degrees(math.atan2(y(peak) - y(bandwidth * start), x(ridge) - x(start)))
        at = start * (ridge / start) ** 0.3
        turn = f"rotate({slope:.1f} {x(at):.1f} {y(bandwidth * at):.1f})"
        parts.append(element("text", name, class_="sub", x=f"{x(at):.1f}", y=f"{y(bandwidth * at) - 6:.1f}", text_anchor="middle", transform=turn))
    parts.append(element("text", f"peak: {shown(peak)} operations a second", class_="sub", x=_WIDTH - _RIGHT - 4, y=f"{y(peak) - 13:.1f}", text_anchor="end"))
    taken = []
    for dot in dots:
        parts.append(_dot(dot, x(dot.x), y(dot.y), taken))
    return element("svg", *parts, viewBox=f"0 0 {_WIDTH} {_HEIGHT}", role="img", aria_label="roofline of the kernels")


def _axes(x, y, across, up, shown):
    parts = []
    for power in range(round(math.log10(across[0])), round(math.log10(across[1])) + 1):
        at = x(10.0**power)
        parts.append(element("line", class_="axis", x1=f"{at:.1f}", x2=f"{at:.1f}", y1=_TOP, y2=_HEIGHT - _BOTTOM))
        parts.append(element("text", f"{10.0**power:g}", class_="sub", x=f"{at:.1f}", y=_HEIGHT - _BOTTOM + 15, text_anchor="middle"))
    for power in range(round(math.log10(up[0])), math.floor(math.log10(up[1])) + 1):
        at = y(10.0**power)
        parts.append(element("line", class_="axis", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=f"{at:.1f}", y2=f"{at:.1f}"))
        parts.append(element("text", f"{shown(10.0**power)}/s", class_="sub", x=_LEFT - 8, y=f"{at + 4:.1f}", text_anchor="end"))
    parts.append(element("text", "operations a byte", class_="sub", x=(_LEFT + _WIDTH - _RIGHT) / 2, y=_HEIGHT - 10, text_anchor="middle"))
    return parts


def _dot(dot, x, y, taken):
    place = [x + 8, y + 4]
    # A number that would lie on another one moves up.
    while any(abs(place[0] - other[0]) < _LABEL_WIDTH and abs(place[1] - other[1]) < _LABEL_HEIGHT for other in taken):
        place[1] -= _LABEL_HEIGHT
    taken.append(place)
    parts = [
        element("title", dot.hover),
        element("circle", class_=f"{dot.kind}{' hollow' if dot.hollow else ''}", cx=f"{x:.1f}", cy=f"{y:.1f}", r=5),
        element("text", dot.label, class_="sub number", x=f"{place[0]:.1f}", y=f"{place[1]:.1f}"),
    ]
    return element("a", *parts, href=dot.link) if dot.link else element("g", *parts)
