"""Estimates the speed of a kernel from its machine code: finds the hot path in nvdisasm's output, and computes its figures.

    kernels = listing(nvdisasm's text)          # {entry: Code}
    figures = kernels[entry].figures()          # of the hot path

The hot path is found from the control flow alone. Among all paths from the entry to an exit that run each loop once, it is the one that
moves the most bytes of global memory (in 16-byte accesses, if the kernel has them), and among equal ones the shortest. So code for rare
cases (a partial chunk, element by element; the slow path of a division) is not on it. On this path, the innermost loop that loads the most
such bytes is hot. If a path without loops loads no less (except for loads that are the same in all blocks), that path is hot instead: in a
kernel that keeps rows in registers and sweeps longer ones, it is the one with registers. But if it leads to a loop that loads as much
and stores, those are the loads of the loop's first step, and the loop is hot. Predicated instructions count as executed.
"""

import re
from collections import Counter
from dataclasses import dataclass, field

LOADS, STORES = ("LDG", "LD"), ("STG", "ST", "RED")
VECTOR = 16
WIDTH = re.compile(r"\.(?:U|S)?(8|16|64|128)\b")
LINE = re.compile(r"\s*/\*([0-9a-f]+)\*/\s+(?:@(!?U?P\w+)\s+)?([A-Z][\w.]*)\s*(.*?)\s*;")
LABEL = re.compile(r"\s*([.$]?[\w.$]+):\s*$")
TARGET = re.compile(r"`\(([.$\w]+)\)")
#: The limits of one multiprocessor: registers, threads, blocks, bytes of shared memory.
PROCESSOR = {80: (65536, 2048, 32, 164 << 10), 90: (65536, 2048, 32, 228 << 10), 100: (65536, 2048, 32, 228 << 10)}
RESERVED_SHARED = 1 << 10  # of each block
RARE = 10_000  # what counts as the length of code that hardly ever runs


@dataclass
class Instruction:
    predicate: str
    opcode: str
    operands: str

    @property
    def base(self):
        return self.opcode.split(".")[0]

    def jumps(self):
        """Whether it jumps inside of the kernel; ptxas makes calls of some of these jumps."""
        return self.base == "BRA" or (self.base == "CALL" and "`(.L_" in self.operands)

    def width(self):
        """Returns the bytes of a memory access."""
        found = WIDTH.search(self.opcode)
        return int(found.group(1)) // 8 if found else 4

    def moved(self):
        return self.width() if self.base in LOADS + STORES else 0

    def loaded(self):
        return self.width() if self.base in LOADS else 0

    def parts(self):
        return [part.strip() for part in re.split(r",(?![^\[]*\])", self.operands)]

    def written(self):
        """Returns the registers that a load writes."""
        target = next((part for part in self.parts() if re.fullmatch(r"R\d+", part)), None)
        if self.base not in LOADS or target is None:
            return set()
        return set(range(int(target[1:]), int(target[1:]) + max(self.width() // 4, 1)))

    def read(self):
        """Returns the registers for which it waits; for a load, those of its address."""
        parts = self.parts()
        if self.base in LOADS:
            parts = parts[next((n + 1 for n, part in enumerate(parts) if re.fullmatch(r"R\d+", part)), 0) :]
        elif self.base not in STORES + ("STS", "BAR", "BRA"):
            # A written register must not be pending either, but compilers do not overwrite registers before they are read.
            parts = parts[1:]
        registers = set()
        for part in parts:
            for number, wide in re.findall(r"\bR(\d+)(?:\.reuse)?(\.64)?", part):
                count = 2 if wide else 1
                if self.base in STORES + ("STS",) and "[" not in part:
                    count = max(self.width() // 4, 1)
                registers |= set(range(int(number), int(number) + count))
        return registers


@dataclass
class Block:
    instructions: list = field(default_factory=list)
    next: list = field(default_factory=list)


def in_flight(instructions):
    """Returns the most bytes of global memory that a thread has requested before it waits for the oldest; loads return in order."""
    pending, most = [], 0
    for each in instructions:
        read = each.read()
        waits = [n for n, (_, registers) in enumerate(pending) if registers & read]
        if waits:
            del pending[: waits[-1] + 1]
        if each.loaded():
            pending.append((each.loaded(), each.written()))
        most = max(most, sum(bytes_ for bytes_, _ in pending))
    return most


def shared_loads(path):
    """Returns the bytes that are the same in every block (a row of weights): their addresses do not depend on the block's number."""
    numbered, shared, knows = set(), 0, False
    for each in path:
        parts = each.parts()
        names = [set(re.findall(r"\bU?R\d+", part)) for part in parts]
        if each.base in LOADS:
            where = next((n for n, part in enumerate(parts) if "[" in part), len(parts) - 1)
            pairs = {f"R{int(name[1:]) + 1}" for name in names[where] if name.startswith("R") and ".64" in parts[where]}
            own, target = bool((names[where] | pairs) & numbered), {f"R{number}" for number in each.written()}
            shared += 0 if own else each.width()
            numbered = numbered | target if own else numbered - target
            continue
        if not parts or each.base in STORES + ("STS", "BAR", "BRA", "EXIT") or not names[0]:
            continue
        own = re.search(r"SR_(CTAID|CLUSTER)", each.operands) is not None
        knows |= own
        target = set(names[0])
        if ".WIDE" in each.opcode or ".64" in each.opcode:
            target |= {re.sub(r"\d+", lambda found: str(int(found.group()) + 1), name) for name in names[0]}
        if own or set().union(*names[1:]) & numbered:
            numbered |= target
        elif not each.predicate:
            numbered -= target
    return shared if knows else 0


class Code:
    """The instructions of one kernel as a control flow graph."""

    def __init__(self, instructions, labels):
        """`labels` maps names to numbers of instructions."""
        starts = {0, *labels.values()}
        starts |= {n + 1 for n, each in enumerate(instructions) if each.jumps() or each.base in ("EXIT", "BRX", "RET", "BREAK")}
        order = sorted(n for n in starts if n < len(instructions))
        number = {start: n for n, start in enumerate(order)}
        self.blocks = []
        for n, start in enumerate(order):
            end = order[n + 1] if n + 1 < len(order) else len(instructions)
            block = Block(instructions[start:end])
            last = block.instructions[-1]
            always = not last.predicate and not re.match(r"!?U?P\d", last.operands)
            if last.jumps():
                to = TARGET.search(last.operands)
                if to and to.group(1) in labels and labels[to.group(1)] in number:
                    block.next.append(number[labels[to.group(1)]])
                always = always and last.opcode in ("BRA", "BRA.U", "CALL.REL.NOINC")
            leaves = (last.jumps() or last.base in ("EXIT", "RET")) and always
            if not leaves and n + 1 < len(order):
                block.next.append(n + 1)
            self.blocks.append(block)
        widest = {kind: max((each.width() for each in instructions if each.base in kind), default=0) for kind in (LOADS, STORES)}
        #: The least access width that counts on a hot path.
        self.least = widest if VECTOR in widest.values() else dict.fromkeys(widest, 0)

    def _wide(self, block, kinds=(LOADS, STORES)):
        """Returns the bytes that a block moves; in a kernel with vectors, only in its widest accesses."""
        return sum(each.moved() for kind in kinds for each in self.blocks[block].instructions
                   if each.base in kind and each.width() >= self.least[kind])  # fmt: skip

    def _loops(self):
        """Returns {header: blocks} of the natural loops, by a depth-first search; ptxas makes no others."""
        back, state = [], {}
        stack = [(0, iter(self.blocks[0].next))]
        state[0] = "open"
        while stack:
            block, rest = stack[-1]
            for to in rest:
                if state.get(to) == "open":
                    back.append((block, to))
                elif to not in state:
                    state[to] = "open"
                    stack.append((to, iter(self.blocks[to].next)))
                    break
            else:
                state[block] = "done"
                stack.pop()
        before = {}
        for n in state:
            for to in self.blocks[n].next:
                before.setdefault(to, []).append(n)
        loops = {}
        for tail, header in back:
            body, todo = {header}, [tail]
            while todo:
                block = todo.pop()
                if block not in body:
                    body.add(block)
                    todo += before.get(block, [])
            loops.setdefault(header, set()).update(body)
        return loops, set(back)

    def _from_the_end(self, start, inside, back):
        """Returns the blocks that `start` reaches through blocks of `inside`, each behind all that follow it; edges of `back` are not taken."""
        order, seen, stack = [], {start}, [(start, iter(self.blocks[start].next))]
        while stack:
            block, rest = stack[-1]
            for to in rest:
                if (block, to) not in back and to in inside and to not in seen:
                    seen.add(to)
                    stack.append((to, iter(self.blocks[to].next)))
                    break
            else:
                order.append(block)
                stack.pop()
        return order

    def _best(self, start, inside, back, empty=frozenset(), ends=None):
        """Returns the path from `start` that moves the most bytes, and is the shortest such; `empty` blocks count as moving none, and `ends` are
        the possible last blocks."""
        best = {}
        for block in self._from_the_end(start, inside, back):
            following = [best[to] for to in self.blocks[block].next if (block, to) not in back and to in best]
            if ends is not None and block in ends:
                following.append((0, 0, ()))
            elif ends is None and (not self.blocks[block].next or self.blocks[block].instructions[-1].base == "EXIT"):
                following.append((0, 0, ()))
            if following:
                moved, length, way = max(following, key=lambda found: found[:2])
                own = 0 if block in empty else self._wide(block)
                best[block] = moved + own, length - len(self.blocks[block].instructions), (block, *way)
        return best[start][2] if start in best else ()

    def scores(self):
        """Returns {block: (bytes, negative length)} of the best path from each block. A trap and a function that is called are very long."""
        if not self.blocks:
            return {}
        loops, back = self._loops()
        best = {}
        for block in self._from_the_end(0, range(len(self.blocks)), back):
            own = self.blocks[block]
            length = sum(RARE if each.base == "BPT" or (each.base == "CALL" and not each.jumps()) else 1 for each in own.instructions)
            after = [best[to] for to in own.next if (block, to) not in back and to in best]
            moved, rest = max(after, default=(0, 0))
            best[block] = moved + self._wide(block), rest - length
        return best

    def _leads(self, start, end):
        """Whether a path leads from one block to another."""
        seen, todo = {start}, [start]
        while todo:
            for to in self.blocks[todo.pop()].next:
                if to not in seen:
                    seen.add(to)
                    todo.append(to)
        return end in seen

    def hot(self):
        """Returns (instructions of the hot path, whether it is a loop)."""
        loops, back = self._loops()
        everything = set(range(len(self.blocks)))
        way = self._best(0, everything, back)
        innermost = {}
        for header in sorted(loops, key=lambda header: -len(loops[header])):
            innermost.update(dict.fromkeys(loops[header], header))
        loaded = Counter()
        for block in way:
            # Stores count only if there are no loads.
            loaded[innermost.get(block)] += self._wide(block, (LOADS,)) + self._wide(block) / 1024
        # The path that avoids loops as far as possible.
        straight = self._best(0, everything, back, empty=set(innermost))
        straight = [block for block in straight if block not in innermost]
        loaded[None] = sum(self._wide(block, (LOADS,)) + self._wide(block) / 1024 for block in straight)
        loaded[None] -= shared_loads([each for block in straight for each in self.blocks[block].instructions])
        header = max(loaded, key=lambda header: (loaded[header], header is None))
        if header is None:
            ahead = [block for block in straight if self._wide(block, (LOADS,))]
            stores = {innermost.get(block) for block in way if self._wide(block, (STORES,))}
            equal = [each for each in stores - {None} if int(loaded[each]) == int(loaded[None]) > 0]
            header = next((each for each in equal if any(self._leads(block, each) for block in ahead)), None)
        if header is None:
            way = straight
        else:
            body = {block for block in loops[header] if innermost[block] == header}
            ends = {tail for tail, to in back if to == header}
            # Instructions of an inner loop do not count for this loop.
            found = self._best(header, loops[header], back, empty=loops[header] - body, ends=ends)
            way = [block for block in found if block in body]
        return [each for block in way for each in self.blocks[block].instructions], header is not None

    def figures(self):
        """Returns the figures of the hot path for one thread and pass."""
        path, is_loop = self.hot()
        moved = sum(each.moved() for each in path)
        if not is_loop:
            moved -= shared_loads(path)
        loads = [each.width() for each in path if each.base in LOADS]
        stores = [each.width() for each in path if each.base in STORES]
        count = Counter(each.base for each in path)
        per_16 = lambda number: round(16 * number / moved, 1) if moved else 0  # noqa: E731
        return {
            "loop": is_loop, "instructions": len(path), "moved": moved, "in_flight": in_flight(path * (2 if is_loop else 1)),
            "per_16": per_16(len(path)), "mufu": per_16(count["MUFU"]), "load": max(loads, default=0), "store": max(stores, default=0),
            "barriers": count["BAR"], "divisions": sum(each.base == "CALL" and not each.jumps() and "slowpath" not in each.operands for each in path),
        }  # fmt: skip


@dataclass
class Listed:
    """All instructions of an entry, with the functions that it calls, whose labels begin with `$`."""

    instructions: list = field(default_factory=list)
    labels: dict = field(default_factory=dict)
    addresses: list = field(default_factory=list)
    own: int = 0  # the instructions before those functions

    def code(self):
        return Code(self.instructions[: self.own], {name: at for name, at in self.labels.items() if at <= self.own and not name.startswith("$")})

    def ahead(self):
        """Returns for each instruction (bytes that the best way from there to an exit moves, its length, negative), without going round a loop."""
        if not hasattr(self, "_ahead"):
            code = Code(self.instructions, self.labels)
            self._ahead, first = [(0, 0)] * (len(self.instructions) + 1), 0
            best = code.scores()
            for number, block in enumerate(code.blocks):
                for n in range(len(block.instructions)):
                    self._ahead[first + n] = best.get(number, (-1, 0))
                first += len(block.instructions)
        return self._ahead


def listed(text):
    """Parses the output of `nvdisasm -c` for a cubin to {entry: Listed}."""
    found = {}
    for name, body in re.findall(r"//-+ \.text\.(\w+)\s+-+\n(.*?)(?=//-+ \.|\Z)", text, re.S):
        one = found[name] = Listed()
        for line in body.splitlines():
            label = LABEL.match(line)
            if label and label.group(1).startswith("$"):
                one.own = one.own or len(one.instructions)
            if label:
                one.labels[label.group(1)] = len(one.instructions)
            elif code := LINE.match(line):
                one.instructions.append(Instruction(code.group(2) or "", code.group(3), code.group(4)))
                one.addresses.append(int(code.group(1), 16))
        one.own = one.own or len(one.instructions)
    return found


def listing(text):
    """Parses the output of `nvdisasm -c` for a cubin to {entry: Code}; called functions have `$` labels and are left out."""
    return {name: one.code() for name, one in listed(text).items()}


def resident_blocks(architecture, registers, threads, shared):
    """Returns the number of blocks of a kernel that are resident on a multiprocessor."""
    all_registers, all_threads, most, all_shared = PROCESSOR[architecture]
    warps = -(-threads // 32)
    # Registers of a warp are allocated in units of 256; each quarter of the register file serves a quarter of the warps.
    per_warp = -(-max(registers, 1) * 32 // 256) * 256
    by_registers = all_registers // 4 // per_warp * 4 // warps
    return max(min(most, all_threads // 32 // warps, by_registers, all_shared // (shared + RESERVED_SHARED)), 1)
