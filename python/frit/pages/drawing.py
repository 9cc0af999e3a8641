"""The graph of a plan as SVG: a box for each kernel, call of ATen and copy, a line for each value between them."""

import statistics

from .layout import HEIGHT, WIDTH, place
from .text import Markup, element, escape, join

#: Pixels of the figure; a small graph gets less.
_HIGHEST = 560
#: Larger graphs are not drawn, because the drawing would not be readable.
MOST_BOXES = 1500


class Box:
    """A node of the drawing: `kind` is its CSS class, `share` the bytes that it moves as a fraction of the most of any node, `link` the target of a
    click."""

    def __init__(self, kind, title, subtitle="", share=0.0, link=None, hover=""):
        self.kind, self.title, self.subtitle, self.share, self.link, self.hover = kind, title, subtitle, share, link, hover


def draw(boxes, edges):
    """An <svg> of the boxes; `edges` are (from, to, label) by number, from < to."""
    labels = {}
    for source, target, label in edges:
        labels.setdefault((source, target), []).append(label)
    positions, paths = place(len(boxes), [edge[:2] for edge in edges])
    left = min((x for x, _ in positions), default=0) - WIDTH / 2 - 20
    every = [point for _, _, points in paths for point in points] + positions
    left = min([left] + [x - 20 for x, _ in every])
    right = max([x + 20 for x, _ in every] + [x + WIDTH / 2 + 20 for x, _ in positions] + [0])
    bottom = max((y for _, y in positions), default=0) + HEIGHT / 2 + 20
    lines = [_line(points, ", ".join(labels[source, target])) for source, target, points in paths]
    shapes = [_box(box, *position) for box, position in zip(boxes, positions)]
    view = f"{left:.0f} -20 {right - left:.0f} {bottom + 20:.0f}"
    # A reader begins in the middle of the first steps.
    steps = [x for box, (x, _) in zip(boxes, positions) if box.kind != "value"][:12]
    begin = statistics.median(steps or [left])
    high = f"height:{min(_HIGHEST, bottom + 40):.0f}px"
    return element("svg", *lines, *shapes, viewBox=view, role="img", aria_label="graph of the plan", data_x=f"{begin:.0f}", style=high)


def _line(points, label):
    (x, y), last = points[0], points[-1]
    path = [f"M{x:.0f} {y + HEIGHT / 2:.0f}"]
    for number in range(1, len(points)):
        (ax, ay), (bx, by) = points[number - 1], points[number]
        ay = ay + HEIGHT / 2 if number == 1 else ay
        by = by - HEIGHT / 2 - 5 if number == len(points) - 1 else by
        middle = (ay + by) / 2
        path.append(f"C{ax:.0f} {middle:.0f} {bx:.0f} {middle:.0f} {bx:.0f} {by:.0f}")
    tip_x, tip_y = last[0], last[1] - HEIGHT / 2
    tip = element("path", class_="arrow", d=f"M{tip_x - 4:.0f} {tip_y - 6:.0f}L{tip_x + 4:.0f} {tip_y - 6:.0f}L{tip_x:.0f} {tip_y:.0f}z")
    return element("g", element("title", label), element("path", class_="edge", d=" ".join(path)), tip)


def _box(box, x, y):
    left, top = x - WIDTH / 2, y - HEIGHT / 2
    parts = [
        element("title", box.hover or box.title),
        element("rect", class_=box.kind, x=f"{left:.0f}", y=f"{top:.0f}", width=WIDTH, height=HEIGHT, rx=18 if box.kind == "value" else 7),
        element("text", _short(box.title, 33), x=f"{left + 12:.0f}", y=f"{top + 21:.0f}"),
        element("text", _short(box.subtitle, 36), class_="sub", x=f"{left + 12:.0f}", y=f"{top + 38:.0f}"),
    ]
    if box.share > 0.005:
        parts.append(element("rect", class_="heat", x=f"{left + 12:.0f}", y=f"{top + HEIGHT - 5:.0f}", width=f"{(WIDTH - 24) * box.share:.1f}", height=3))
    return element("a", *parts, href=box.link) if box.link else element("g", *parts)


def _short(text, most):
    return text if len(text) <= most else text[: most - 1] + "…"


def figure(svg):
    """A drawing with its buttons."""
    buttons = [("+", "0.8", "zoom in"), ("−", "1.25", "zoom out"), ("1:1", "home", "readable size"), ("all", "all", "the whole graph")]
    tools = join(element("button", shown, type="button", value=value, title=what) for shown, value, what in buttons)
    return element("div", element("div", tools, class_="tools"), svg, class_="figure drawing", tabindex="0")


def legend(entries):
    """The legend of a drawing; `entries` are (CSS class, text)."""
    return element("div", join(Markup(f'<i class="{escape(kind)}"></i>{escape(text)}') for kind, text in entries), class_="legend")
