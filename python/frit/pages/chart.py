"""Memory over the steps of a plan as SVG: each storage is a bar from the step that makes it to the step that frees it."""

from .text import element

_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM = 1120, 250, 78, 26, 30
#: Storages beyond this number are part of the outline only.
_MOST_BLOCKS = 600


def _stack(blocks):
    """(block, offset) of each block: the lowest offset at which it overlaps no block that lives at the same time; the largest are placed first."""
    placed = []
    for block in sorted(blocks, key=lambda block: (-block.bytes, block.first)):
        at = 0
        for other, offset in sorted(placed, key=lambda pair: pair[1]):
            if other.first < block.last and block.first < other.last:
                if at + block.bytes <= offset:
                    break
                at = max(at, offset + other.bytes)
        placed.append((block, at))
    return placed


def memory(timeline, shown_bytes, name_of, label_of):
    """The chart of a Timeline as an <svg>. `shown_bytes(n)`, `name_of(block)` and `label_of(step)` return texts."""
    steps = max(1, len(timeline.live))
    blocks = sorted((block for block in timeline.blocks if block.bytes), key=lambda block: -block.bytes)[:_MOST_BLOCKS]
    placed = _stack(blocks)
    top = max([timeline.peak, 1] + [offset + block.bytes for block, offset in placed])
    across = (_WIDTH - _LEFT - 16) / steps
    up = (_HEIGHT - _TOP - _BOTTOM) / top

    def x(step):
        return _LEFT + step * across

    def y(count):
        return _HEIGHT - _BOTTOM - count * up

    parts = []
    for part in range(0, 5):
        count = top * part / 4
        parts.append(element("line", class_="axis", x1=_LEFT, x2=_WIDTH - 16, y1=f"{y(count):.1f}", y2=f"{y(count):.1f}"))
        parts.append(element("text", shown_bytes(count), class_="sub", x=_LEFT - 8, y=f"{y(count) + 4:.1f}", text_anchor="end"))
    for block, offset in placed:
        parts.append(
            element(
                "rect",
                element("title", f"{name_of(block)}: {shown_bytes(block.bytes)}, steps {block.first} to {block.last}"),
                class_="kept" if block.kept else "block",
                x=f"{x(block.first):.1f}",
                y=f"{y(offset + block.bytes):.1f}",
                width=f"{max(1.0, (block.last - block.first) * across - 0.6):.1f}",
                height=f"{max(1.0, block.bytes * up - 0.6):.1f}",
            )
        )
    outline = [f"M{x(0):.1f} {y(0):.1f}"]
    for step, count in enumerate(timeline.live):
        outline.append(f"V{y(count):.1f}H{x(step + 1):.1f}")
    parts.append(element("path", d="".join(outline), fill="none", stroke="currentColor", stroke_width="1.2", opacity="0.55"))
    at = timeline.peak_step
    parts.append(element("line", class_="peak", x1=f"{x(at):.1f}", x2=f"{x(at):.1f}", y1=_TOP - 6, y2=_HEIGHT - _BOTTOM))
    end = at > steps / 2
    text = f"peak {shown_bytes(timeline.peak)} at step {at}: {label_of(at)}"
    parts.append(element("text", text, class_="peak-text", x=f"{x(at) + (-6 if end else 6):.1f}", y=_TOP - 10, text_anchor="end" if end else "start"))
    for part in range(0, 5):
        step = round((steps - 1) * part / 4)
        parts.append(element("text", f"step {step}", class_="sub", x=f"{x(step):.1f}", y=_HEIGHT - 12, text_anchor="middle" if part < 4 else "end"))
    return element("svg", *parts, viewBox=f"0 0 {_WIDTH} {_HEIGHT}", role="img", aria_label="memory over the plan")
