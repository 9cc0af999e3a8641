"""Follows one block of a kernel through its machine code: what it executes and moves at the sizes and addresses of a launch.

    trace = walk(code, Launch(...))       # code: sass.Listed of one entry

All threads of the block step together, and part where their branches do. Integers are computed (operations.py), so loops have the trips that they
have on a device, and every access has its addresses. What is loaded is not known. Where a branch depends on that, the way is taken that moves the most
bytes; of two ways that move as much both are taken, as by different threads of a warp, unless one leads to a trap or a called function; and no loop
goes round again. The trace counts these guesses.
"""

import re
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from . import sass
from .operations import MASK, ONE, WORD, known, low, operation

PARAMETERS = {80: 0x160, 90: 0x210, 100: 0x380}
LANES, SECTOR = 32, 32
MOST_STEPS = 300_000
READS, WRITES, BOTH = ("LDG", "LD", "LDGSTS"), ("STG", "ST"), ("RED", "REDG", "ATOM", "ATOMG")
REGISTER = re.compile(r"(U?R)(\d+|Z)((?:\.\w+)*)$")
#: Instructions without a result in a register.
WITHOUT_RESULT = frozenset((*WRITES, *(
    "LDGSTS STS STSM STL RED REDG BAR BRA EXIT BSSY BSYNC NOP WARPSYNC MEMBAR ERRBAR CCTL LDGDEPBAR DEPBAR CALL RET BPT YIELD UCGABAR_ARV UCGABAR_WAIT BREAK "
    "NANOSLEEP FENCE ACQBULK KILL").split()))  # fmt: skip


@dataclass(frozen=True)
class Launch:
    architecture: int
    threads: int
    grid: tuple
    #: Parameters: (bytes, value or None) in their order.
    parameters: tuple
    cluster: int = 1
    #: (block, how many are like it); none if all are like the one in the middle.
    samples: tuple = ()


class Operand:
    """An operand of an instruction."""

    def __init__(self, text):
        self.whole = text
        text = text.strip()
        self.inverted, self.negative = text.startswith(("~", "!")), text.startswith("-") and not re.match(r"-[\d.]", text)
        self.text = re.sub(r"\.reuse\b", "", text.lstrip("~!-" if self.negative or self.inverted else "~!"))
        self.is_predicate = re.fullmatch(r"U?P[\dT]", self.text) is not None
        found = REGISTER.match(self.text)
        self.register = (found.group(1), found.group(2)) if found and not found.group(3) else None
        constant = re.fullmatch(r"c\[0x0\]\[(?:(U?R\d+)\+?)?(-?0x[0-9a-f]+)?\]", self.text)
        self.constant = (constant.group(1), int(constant.group(2) or "0", 16)) if constant else None
        self.number = int(self.text, 16) if re.fullmatch(r"-?0x[0-9a-f]+", self.text) else None

    def next(self, n):
        """Returns the n-th register after this one."""
        if self.register is None or self.register[1] == "Z":
            return Operand("RZ")
        return Operand(f"{self.register[0]}{int(self.register[1]) + n}")


class Decoded:
    """An instruction with its results and operands told apart."""

    def __init__(self, one):
        self.opcode, self.base, self.width = one.opcode, one.base, one.width
        self.loads, self.read_registers, self.written = one.loaded(), one.read(), one.written()
        self.guard = Operand(one.predicate) if one.predicate else None
        parts = [Operand(part) for part in one.parts() if part]
        results = []
        if self.base not in WITHOUT_RESULT and parts:
            results.append(parts.pop(0))
            if results[0].is_predicate:
                two = "SETP" in self.base or "PLOP3" in self.base or (parts and parts[0].register and self.base not in ("FCHK", "VOTE"))
                results += [parts.pop(0)] if two and parts else []
            else:
                while parts and parts[0].is_predicate and not parts[0].inverted and len(parts) > 1 and self.base not in ("P2R", "SEL"):
                    results.insert(-1, parts.pop(0))
        self.results, self.operands = results, parts
        self.apply = operation(self)
        loads = self.base in ("LDG", "LD", "LDS", "LDSM", "LDL", "ATOM", "ATOMG")
        self.words = max(one.width() // 4, 1) if loads else 2 if self.base.startswith("D") or ".64" in self.opcode else 1
        self.target = sass.TARGET.search(one.operands)
        self.pipe = pipe_of(self)


def decoded(listed):
    """Returns the instructions of an entry with their operands told apart, once for all its blocks."""
    if "decoded" not in listed.__dict__:
        listed.decoded = [Decoded(one) for one in listed.instructions]
    return listed.decoded


#: How many lanes a processor serves in a cycle, by unit. Instructions are issued at four times 32.
LANES_OF = {"fma": 128, "imad": 64, "alu": 64, "special": 16, "memory": 32, "double": 64}
PIPES = (
    ("imad", r"U?IMAD"), ("fma", r"FADD|FMUL|FFMA|FADD2|FMUL2|FFMA2|HADD2|HMUL2|HFMA2|FSWZADD"), ("special", r"MUFU|I2F|F2I|F2F|I2I|FRND|POPC|FLO|BREV"),
    ("double", r"D[A-Z]+"),
    ("memory", r"LD\w*|ST\w*|ATOM\w*|RED|REDG|SHFL|MATCH|CCTL|MEMBAR"),
    ("none", r"BRA|BRX|EXIT|CALL|RET|BSSY|BSYNC|BREAK|NOP|BAR|WARPSYNC|YIELD|DEPBAR|LDGDEPBAR|S2R|CS2R|S2UR|LDC|BMOV|ERRBAR|NANOSLEEP|U[A-Z]\w*|R2UR|BPT"),
)  # fmt: skip


def pipe_of(one):
    return next((name for name, pattern in PIPES[::-1] if re.fullmatch(pattern, one.base)), "alu") if one.base != "DEPBAR" else "none"


@dataclass
class Trace:
    """What one block has done. Accesses are counted in sectors of 32 bytes, which one instruction of a warp asks for once."""

    threads: int
    issued: Counter = field(default_factory=Counter)  # Decoded's number -> warps
    pipes: Counter = field(default_factory=Counter)
    special: int = 0  # MUFU, by warps
    barriers: int = 0
    meetings: Counter = field(default_factory=Counter)  # a barrier's number -> how often
    lanes_read: int = 0  # bytes that threads read or write
    lanes_written: int = 0
    unknown: int = 0  # bytes at addresses that are not known
    read: set = field(default_factory=set)
    written: set = field(default_factory=set)
    loads: Counter = field(default_factory=Counter)  # bytes of an access -> warps
    stores: Counter = field(default_factory=Counter)
    first_warp: list = field(default_factory=list)  # (Decoded, whether this block reads it for the first time, share of lanes, a sector)
    touched: list = field(default_factory=list)  # (sectors of one instruction, whether it only reads), in order
    guesses: int = 0

    @property
    def instructions(self):
        return sum(self.issued.values())


class Machine:
    """The registers of all threads of a block."""

    def __init__(self, listed, launch, block):
        self.listed, self.launch, self.block = listed, launch, block
        self.decoded = decoded(listed)
        self.lanes, self.lane_count = np.arange(launch.threads, dtype=np.uint64), min(LANES, launch.threads)
        self.registers, self.active = {}, None
        self.trace = Trace(launch.threads)
        self.known_parameters = {}
        at = PARAMETERS[launch.architecture]
        for size, value in launch.parameters:
            at = -(-at // min(size, 8)) * min(size, 8)
            for n in range(0, size, 4):
                part = None if value is None else (value >> (8 * n)) & 0xFFFFFFFF if isinstance(value, int) else value[n // 4]
                self.known_parameters[at + n] = part
            at += size
        for n, size in enumerate((launch.threads, 1, 1, *launch.grid)):
            self.known_parameters[4 * n] = size

    # Values of operands.
    def bank(self, operand, more=0):
        if operand.constant is None:
            return None
        register, offset = operand.constant
        if register is None:
            value = self.known_parameters.get(offset + more)
            return None if value is None else np.array([value], np.uint64)
        index = self.registers.get(register)
        if index is None:
            return None
        found = [self.known_parameters.get(int(np.int32(each)) + offset + more) for each in index.astype(np.uint32).view(np.int32)]
        return None if None in found else np.array(found, np.uint64)

    def word(self, operand, unwrapped=False):
        if operand.register is not None:
            value = np.zeros(1, np.uint64) if operand.register[1] == "Z" else self.registers.get("".join(operand.register))
        elif operand.constant is not None:
            value = self.bank(operand)
        elif operand.number is not None:
            value = np.array([operand.number & 0xFFFFFFFF], np.uint64)
        else:
            return None
        if value is None:
            return None
        if operand.negative and operand.number is None:
            return (~value & MASK) + ONE if unwrapped else low(~value + ONE)
        if operand.negative:
            return low(~value + ONE)
        return ~value & MASK if operand.inverted else value

    def pair(self, operand):
        if operand.register is not None and operand.register[1] != "Z":
            lower, upper = self.registers.get("".join(operand.register)), self.registers.get("".join(operand.next(1).register))
        elif operand.constant is not None:
            lower, upper = self.bank(operand), self.bank(operand, 4)
        else:
            lower = self.word(operand)
            upper = None if lower is None else np.zeros(1, np.uint64)
        if not known(lower, upper):
            return None
        both = (upper << WORD) | lower
        return ~both + ONE if operand.negative and operand.register else both

    def predicate(self, operand):
        value = np.ones(1, bool) if operand.text.endswith("T") else self.registers.get(operand.text)
        return None if value is None else ~value if operand.inverted else value

    def special(self, name):
        x, y, z = self.block
        kind, _, axis = name.partition(".")
        by_axis = {"SR_CTAID": (x, y, z), "SR_NTID": (self.launch.threads, 1, 1), "SR_NCTAID": self.launch.grid, "SR_CLUSTERID": (x // self.launch.cluster, y, z)}
        if kind == "SR_TID":
            return self.lanes if axis == "X" else np.zeros(1, np.uint64)
        if kind in by_axis:
            return np.array([by_axis[kind]["XYZ".index(axis)]], np.uint64)
        if name in ("SR_LANEID", "SRZ"):
            return self.lanes % np.uint64(LANES) if name != "SRZ" else np.zeros(1, np.uint64)
        if name in ("SR_CgaCtaId", "SR_CLUSTER_CTARANK") or kind == "SR_CLUSTER_CTAID":
            return np.array([x % self.launch.cluster], np.uint64)
        return None

    # Results.
    def _write(self, name, value):
        if self.active is not None and not self.active.all():
            before = self.registers.get(name)
            value = None if value is None or before is None and not self.fresh(name) else np.where(self.active, value, 0 if before is None else before)
        self.registers[name] = value

    def fresh(self, name):
        """A register that was never written has no number that matters."""
        return name not in self.registers

    def put(self, operand, value):
        if operand.register is not None and operand.register[1] != "Z":
            self._write("".join(operand.register), value)

    def put_pair(self, operand, value):
        self.put(operand, low(value))
        self.put(operand.next(1), value >> WORD)

    def set_predicate(self, operand, value):
        if not operand.text.endswith("T"):
            self.set_predicate_named(operand.text, value)

    def set_predicate_named(self, name, value):
        self._write(name, value if value is None else np.asarray(value, bool))

    def forget(self, results, wide=False):
        for each in results:
            if each.is_predicate:
                self.set_predicate(each, None)
            else:
                self.put(each, None)
                if wide:
                    self.put(each.next(1), None)

    # Memory.
    def address(self, operand):
        """Returns the addresses of an access, None if they are not known."""
        inside = re.findall(r"\[([^\[\]]*)\]", operand.whole)[-1]
        total = np.zeros(1, np.uint64)
        parts = re.findall(r"[+-]?[^+-]+", inside)
        for part in parts:
            part = part.lstrip("+")
            if re.fullmatch(r"-?0x[0-9a-f]+", part):
                total = total + np.array([int(part, 16)], np.int64).view(np.uint64)
                continue
            name = Operand(re.sub(r"\.\w+", "", part))
            uniform = name.register is not None and name.register[0] == "UR"
            value = self.pair(name) if ".64" in part or uniform else self.word(name)
            if value is None:
                return None
            total = total + value
        return total

    def access(self, one, mask):
        """Counts an access to global memory; returns whether the block has not touched that before, the share of the first warp's lanes, and the
        first sector."""
        lanes = np.broadcast_to(mask, self.lanes.shape)
        if one.base == "LDGSTS" and one.operands[-1].is_predicate:
            flag = self.predicate(one.operands[-1])
            lanes = lanes if flag is None else lanes & flag
        width, count = one.width(), int(lanes.sum())
        if not count:
            return False, 0.0, None
        warps = int(lanes.reshape(-1, self.lane_count).any(1).sum())
        where = [each for each in one.operands if "[" in each.whole]
        address = self.address(where[-1] if one.base == "LDGSTS" else where[0])
        reads, writes = one.base in READS + BOTH, one.base in WRITES + BOTH
        share = float(lanes[: self.lane_count].mean())
        if reads:
            self.trace.loads[width] += warps
            self.trace.lanes_read += count * width
        if writes:
            self.trace.stores[width] += warps
            self.trace.lanes_written += count * width
        if address is None:
            self.trace.unknown += count * width
            return True, share, None
        sectors = np.broadcast_to(address, self.lanes.shape)[lanes] >> np.uint64(5)
        found = np.unique(sectors).tolist()
        self.trace.touched.append((found, reads and not writes))
        # What the block itself has written does not come from memory.
        fresh = [each for each in found if each not in self.trace.read and each not in self.trace.written]
        if reads:
            self.trace.read.update(fresh)
        if writes:
            self.trace.written.update(found)
        return bool(fresh), share, found[0]

    # Steps.
    def run(self):
        everyone = np.ones(self.launch.threads, bool)
        groups, steps = [(0, everyone)], 0
        end = len(self.decoded)
        while groups:
            steps += 1
            if steps > MOST_STEPS:
                raise RuntimeError("a kernel without an end")
            first = min(groups, key=lambda group: group[0])
            at, mask = first
            groups.remove(first)
            for other in [group for group in groups if group[0] == at]:
                groups.remove(other)
                mask = mask | other[1]
            if at >= end:
                continue
            groups += self.step(at, mask, everyone)
        return self.trace

    def step(self, at, mask, everyone):
        """Executes one instruction for the threads of a mask; returns where they go on."""
        one, trace = self.decoded[at], self.trace
        by_warp = mask.reshape(-1, self.lane_count)
        warps = int(by_warp[:, 0].sum()) if mask is everyone or mask.all() else int(by_warp.any(1).sum())
        trace.issued[at] += warps
        trace.pipes[one.pipe] += warps
        trace.special += warps if one.base == "MUFU" else 0
        if one.base == "BAR":
            trace.barriers += 1
            trace.meetings[at] += 1
        guard = np.ones(1, bool) if one.guard is None else self.predicate(one.guard)
        accessed = (False, 1.0, None)
        if one.base in READS + WRITES + BOTH:
            accessed = self.access(one, mask if guard is None else mask & guard)
        if by_warp[0].any():
            trace.first_warp.append((one, *accessed))
        if one.base in ("BRA", "BRX", "EXIT", "RET", "CALL", "BPT"):
            return self.leave(one, at, mask, guard)
        if one.results:
            both = mask if guard is None else mask & guard
            if guard is None or both.any():
                self.active = None if both.all() else both
                if guard is None or one.apply is None:
                    for n in range(one.words):
                        self.forget([each.next(n) if n else each for each in one.results if each.register or not n])
                else:
                    one.apply(self, one, list(one.results), list(one.operands))
        return [(at + 1, mask)]

    def leave(self, one, at, mask, guard):
        if one.base == "BRX":
            raise RuntimeError("a jump through a table")
        if one.base == "CALL" and (not one.target or one.target.group(1) not in self.listed.labels):
            return [(at + 1, mask)]
        for each in one.operands:
            if each.is_predicate and guard is not None:
                flag = self.predicate(each)
                guard = None if flag is None else guard & flag
        if "BRA.DIV" in one.opcode:
            return [(at + 1, mask)]
        if one.base in ("EXIT", "BPT"):
            rest = mask if guard is None else mask & ~guard
            return [(at + 1, rest)] if rest.any() else []
        if one.base == "RET":
            self.active = None
            back = self.word(Operand(one.operands[0].text.split()[0]))
            to = self.listed.addresses.index(int(np.broadcast_to(back, mask.shape)[mask.argmax()]))
        else:
            to = self.listed.labels[one.target.group(1)]
        if guard is None:
            return self.guess(at, to, mask)
        taken, rest = mask & guard, mask & ~guard
        return [(where, group) for where, group in ((to, taken), (at + 1, rest)) if group.any()]


    def comes_back(self, start, to):
        """Whether what begins at `start` does nothing but go to `to`, or round again before it."""
        for at in range(start, min(start + sass.RARE // 2, len(self.decoded))):
            one = self.decoded[at]
            if one.base == "BRA" and one.guard is None:
                return at > to and self.listed.labels[one.target.group(1)] == to
            if one.base in READS + WRITES + BOTH + ("EXIT", "RET", "CALL", "BAR"):
                return False
        return False

    def guess(self, at, to, mask):
        """Returns where the threads go if a branch depends on data."""
        self.trace.guesses += 1
        ahead = self.listed.ahead()
        (moved, length), (moved_there, length_there) = ahead[at + 1], ahead[to]
        # A loop has ended, or a wait has: the code that waits again often lies behind the kernel's end.
        if to <= at or self.comes_back(to, at + 1):
            return [(at + 1, mask)]
        if moved != moved_there or abs(length - length_there) >= sass.RARE // 2:
            return [(to if ahead[to] > ahead[at + 1] else at + 1, mask)]
        # Some threads of each warp take the one way, some the other.
        return [(at + 1, mask), (to, mask)]


def walk(listed, launch, block=None):
    """Returns the Trace of one block: the middle one of the grid if none is named."""
    if block is None:
        block = middle(launch.grid)
    return Machine(listed, launch, block).run()


def middle(grid):
    return tuple(each // 2 for each in grid)
