"""Bars (limits) for the machine code of GPU kernels, so that an H200 (132 processors, 1.98 GHz, 4.8 TB/s) is bound by its memory.

benchmarks/gpu_static/sass.py finds the hot path of a thread. The committed figures are in tests/golden/gpu-sass.json, written by scripts/gpu-table; a test
compares them. A kernel that misses a bar is listed in exceptions.py with a reason, and must be removed when it reaches the bar.
"""

import re
from dataclasses import dataclass, fields
from pathlib import Path

from benchmarks.gpu_static import sass

from .exceptions import EXCEPTIONS

GOLDEN = Path(__file__).resolve().parents[3] / "golden" / "gpu-sass.json"
#: 4.8 TB/s times 800 ns, over 132 processors (Little's law).
BYTES_IN_FLIGHT = 29_000
#: A processor issues four instructions of 32 threads a cycle: about 100 for 16 bytes at full bandwidth.
INSTRUCTIONS, INSTRUCTIONS_OF_SLOW_MATH = 60, 100
SLOW_MATH = ("math.erf", "frit.random")
BARRIERS = 2
#: The kinds whose code must not be longer when the number of rows is dynamic.
TWINS = ("bias_gelu_residual", "softmax", "layer_norm", "add_rms_norm", "masked_softmax", "split_and_gate", "every_second")
MOST_LONGER = 1.03
COMBINES = re.compile(r"_1\+*$")


@dataclass(frozen=True)
class Figures:
    """Figures of the hot path: bytes in flight on a processor; instructions and special functions for 16 bytes that it moves, except for
    loads that are the same in all blocks; resident blocks; bytes of the widest load and store; barriers of a pass."""

    in_flight: int
    instructions: float
    special: float
    blocks: int
    load: int
    store: int
    barriers: int

    def row(self):
        return [getattr(self, each.name) for each in fields(self)]

    def unlike(self, known, growth=1.1):
        """Describes the figures that are worse than in the committed row."""
        larger_is_better = {"in_flight", "blocks", "load", "store"}
        wrong = []
        for each, before in zip(fields(self), known):
            now = getattr(self, each.name)
            if now * growth < before if each.name in larger_is_better else now > before * growth:
                wrong.append(f"{each.name.replace('_', ' ')} {now}, {before} in the golden file")
        return wrong


@dataclass(frozen=True)
class Entry:
    registers: int
    shared: int
    figures: Figures
    length: int  # instructions of the hot path
    divisions: int
    slow_math: bool

    @staticmethod
    def of(architecture, registers, launched, ops, code):
        blocks = sass.resident_blocks(architecture, registers, launched["threads"], launched["shared_bytes"])
        path = code.figures()
        in_flight = path["in_flight"] * blocks * launched["threads"]
        figures = Figures(in_flight, path["per_16"], path["mufu"], blocks, path["load"], path["store"], path["barriers"])
        slow = any(op.startswith(SLOW_MATH) for op in ops)
        return Entry(registers, launched["shared_bytes"], figures, path["instructions"], path["divisions"], slow)

    def row(self):
        return [self.registers, self.shared, self.figures.row(), self.length, self.divisions, self.slow_math]

    @staticmethod
    def from_row(row):
        return Entry(*row[:2], Figures(*row[2]), *row[3:])

    def below(self):
        """Returns {bar: description} for the bars that it does not reach on sm_90."""
        figures, most = self.figures, INSTRUCTIONS_OF_SLOW_MATH if self.slow_math else INSTRUCTIONS
        found = {}
        if figures.in_flight < BYTES_IN_FLIGHT:
            found["in flight"] = f"{figures.in_flight} bytes in flight, {BYTES_IN_FLIGHT} are needed"
        if figures.instructions > most:
            found["instructions"] = f"{figures.instructions} instructions for 16 bytes, {most} are allowed"
        if figures.barriers > BARRIERS:
            found["barriers"] = f"{figures.barriers} barriers"
        if self.divisions:
            found["divisions"] = f"{self.divisions} calls of divisions"
        return found


def unlike_golden(known, found, growth=1.1):
    """Returns one line for each figure that is worse than the golden file's."""
    wrong = []
    for architecture, entries in found.items():
        for name, entry in entries.items():
            row = known.get(architecture, {}).get(name)
            if row is None:
                wrong.append(f"{architecture}: {name} is not in the golden file")
            else:
                wrong += [f"{name} on {architecture}: {line}" for line in entry.figures.unlike(row, growth)]
    return wrong


def unlike_bars(kind, entries):
    """Returns one line for each bar that an entry of a kind misses without an exception, or reaches with one."""
    wrong = []
    for name, entry in entries.items():
        # A launch that combines the parts of the first one moves few bytes.
        below = {} if COMBINES.search(name) else entry.below()
        excepted = {bar for one, each, bar in EXCEPTIONS if (one, each) == (kind, name)}
        wrong += [f"{name}: {said}" for bar, said in below.items() if bar not in excepted]
        wrong += [f"{name}: reaches the bar {bar!r}, so its exception is to go" for bar in sorted(excepted - set(below))]
    return wrong
