"""The time of a kernel on an H200, estimated from what one of its blocks does (walk.py). Good for a ranking; +-25 %.

A kernel takes as long as the unit that it keeps busiest: DRAM, the L2 cache, the issue of instructions, one of the pipes, the load/store unit; or as
long as its blocks take one after the other, if too few bytes are on their way at once (latency). The sixth-power mean of these times is taken, so near
ties cost, and a launch is added.
"""

import math
from collections import OrderedDict
from dataclasses import dataclass

from . import sass
from .walk import LANES, LANES_OF, SECTOR, middle, walk

#: An H200.
PROCESSORS, CYCLES = 132, 1.98e3  # cycles of a microsecond
DRAM, REACHABLE, L2 = 4.8e6, 0.92, 7e6  # bytes of a microsecond
ISSUED = 3.4  # instructions of a processor in a cycle; the hardware's limit is 4
#: Microseconds until a block has started, memory answers, the L2 answers, the threads of a block have met, and a kernel has started.
START, LATENCY, L2_LATENCY, MEETING, LAUNCH = 0.2, 0.75, 0.3, 0.03, 1.5
FROM_L2 = 64  # bytes of a cycle that a processor gets
L2_KEEPS, L1_KEEPS = 40 << 20, 128 << 10
POWER = 6
MANY = 40_000  # instructions of warps for which blocks far away are followed


@dataclass(frozen=True)
class Work:
    """What all blocks of a launch do, and what one block does by itself."""

    blocks: int
    threads: int
    resident: int  # blocks on a processor
    alone: float  # microseconds
    instructions: float  # of warps
    pipes: dict  # unit -> instructions of warps
    special: float
    dram: float  # bytes
    l2: float
    in_flight: int  # bytes of a resident processor


@dataclass(frozen=True)
class Estimate:
    microseconds: float
    binds: str
    times: dict


def estimate(work):
    """Returns the time of a launch, and which limit binds."""
    processors = min(PROCESSORS, work.blocks)
    held = min(work.resident, math.ceil(work.blocks / PROCESSORS))
    rounds = work.blocks / (processors * held)
    # The last round of few is as long as a full one.
    rounds = rounds if rounds > 4 else math.ceil(rounds)
    clock = PROCESSORS * CYCLES
    pipes = dict(work.pipes)
    # Multiplications of integers go through a half of the floating-point unit.
    pipes["fma"] = pipes.get("fma", 0) + pipes.get("imad", 0)
    times = {
        "memory": work.dram / (DRAM * REACHABLE),
        "cache": work.l2 / L2,
        "latency": rounds * work.alone,
        "issue": work.instructions / ISSUED / clock,
        **{f"{name} unit": pipes.get(name, 0) * LANES / lanes / clock for name, lanes in LANES_OF.items()},
    }
    together = sum(each**POWER for each in times.values()) ** (1 / POWER)
    return Estimate(together + LAUNCH, max(times, key=times.get), times)


def of_operator(moved, launches=1):
    """Returns the microseconds of an operator that torch runs at the speed of memory."""
    return moved / (DRAM * REACHABLE) + launches * LAUNCH


def time_alone(trace, threads, shared=frozenset()):
    """Returns the microseconds of a block by itself: its first warp waits where it uses what it has loaded. `shared`: sectors that other blocks have
    brought into the L2."""
    warps = math.ceil(threads / LANES)
    step = max(warps / 4, 2) / CYCLES
    now, pending, copies = START, [], []
    for one, from_memory, share, sector in trace.first_warp:
        from_memory = from_memory and sector not in shared
        read = one.read_registers
        waited = [n for n, (_, registers) in enumerate(pending) if registers & read]
        if waited:
            # Loads come back in order.
            now = max(now, *(ready for ready, _ in pending[: waited[-1] + 1]))
            del pending[: waited[-1] + 1]
        if one.base == "DEPBAR" and copies:
            now, copies = max(now, *copies), []
        now += step
        if one.base == "BAR":
            now += MEETING
        elif one.base == "LDGSTS" and share:
            copies.append(now + (LATENCY if from_memory else L2_LATENCY))
        elif one.loads and share:
            pending.append((now + (LATENCY if from_memory else L2_LATENCY), one.written))
    return now + trace.lanes_read / (FROM_L2 * CYCLES)


def most_in_flight(trace):
    """Returns the most bytes that a thread of the first warp has asked of memory before it waits for the oldest."""
    pending, most = [], 0.0
    for one, _, share, _ in trace.first_warp:
        waited = [n for n, (_, registers) in enumerate(pending) if registers & one.read_registers]
        if waited:
            del pending[: waited[-1] + 1]
        if one.base == "DEPBAR":
            pending = [each for each in pending if each[1]]
        if one.loads or one.base == "LDGSTS":
            pending.append((one.width() * share, one.written if one.loads else set()))
        most = max(most, sum(width for width, _ in pending))
    return most


def work_of(listed, launch, registers, shared):
    """Returns (Work, Trace) of a launch. Sectors that blocks far away read as well are read once for all blocks; those that only a neighbour touches
    are shared by two. Blocks are like the one in the middle, unless the launch has samples."""
    at = max(launch.samples, key=lambda each: each[1])[0] if launch.samples else middle(launch.grid)
    trace = walk(listed, launch, at)
    near, *rest = [walk(listed, launch, each) for each in beside(at, launch.grid, max(1, min(16, MANY // trace.instructions)))] or [None]
    far = set().union(*(each.read for each in rest))
    blocks = math.prod(launch.grid)
    resident = sass.resident_blocks(launch.architecture, registers, launch.threads, shared)
    held = min(resident, math.ceil(blocks / PROCESSORS))
    by_all = len(trace.read & far)
    by_some = len((trace.read & near.read) - far) if near else 0
    both_write = len(trace.written & near.written) if near else 0
    own, written = len(trace.read) - by_all - by_some, len(trace.written)
    again, lost = repeated(trace.touched, L1_KEEPS // held), repeated(trace.touched, L2_KEEPS // (held * min(PROCESSORS, blocks)))
    dram = ((own + by_some / 2 + written - both_write / 2 + lost) * blocks + by_all) * SECTOR + trace.unknown * blocks
    l2 = ((own + by_some + written + again) * blocks + by_all * min(PROCESSORS, blocks)) * SECTOR + trace.unknown * blocks
    # Where blocks are unlike each other, all do so much of what all would do if they were like this one.
    others = [(walk(listed, launch, block), count) for block, count in launch.samples]
    share = sum(count * each.instructions for each, count in others) / (blocks * trace.instructions) if others else 1
    share_moved = sum(count * len(each.read | each.written) for each, count in others) / (blocks * len(trace.read | trace.written)) if others else 1
    done = blocks * share
    work = Work(
        blocks, launch.threads, resident, time_alone(trace, launch.threads, far), trace.instructions * done, {name: n * done for name, n in trace.pipes.items()},
        trace.special * done, dram * share_moved, l2 * share_moved, int(most_in_flight(trace) * launch.threads * held),
    )  # fmt: skip
    return work, trace


def repeated(touched, keeps):
    """Returns how many sectors are read again after a cache of so many bytes, which drops what was used the longest ago, has lost them."""
    if sum(len(sectors) for sectors, _ in touched) == len(set().union(*(sectors for sectors, _ in touched))):
        return 0
    kept, ever, missed, most = OrderedDict(), set(), 0, max(keeps // SECTOR, 1)
    for sectors, reads in touched:
        for each in sectors:
            if each in kept:
                kept.move_to_end(each)
                continue
            missed += reads and each in ever
            ever.add(each)
            kept[each] = None
            if len(kept) > most:
                kept.popitem(last=False)
    return missed


def beside(at, grid, count):
    """Returns a neighbour of a block, and `count` blocks in a row far from it; none if there is no other."""
    axis = next((axis for axis, size in enumerate(grid) if size > 1), None)
    if axis is None:
        return []
    put = lambda by: tuple((each + by) % grid[n] if n == axis else each for n, each in enumerate(at))  # noqa: E731
    far = [put(max(grid[axis] // 3, 1) + n) for n in range(count)]
    return [put(1), *(each for each in far if each != at)]
