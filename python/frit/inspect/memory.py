"""The memory that a call holds beyond its arguments, step by step, as the plan allocates and frees it. A branch or loop holds the peak of its
graphs while it runs, and a loop also what it carries from one iteration to the next."""

from dataclasses import dataclass

from .reader import read
from .sizes import NONE
from .traffic import Traffic, tensors_of


@dataclass(frozen=True)
class Block:
    """A storage: the register that got it first, when it lives (numbers of steps), and whether the caller keeps it."""

    tensor: int
    bytes: int
    first: int
    last: int
    kept: bool


@dataclass(frozen=True)
class Timeline:
    """The memory over the steps of a plan, and its storages (Blocks)."""

    live: list  # bytes after each step
    blocks: list

    @property
    def peak(self):
        """The most bytes after any step."""
        return max(self.live, default=0)

    @property
    def peak_step(self):
        """The number of the first step after which the peak is reached."""
        return self.live.index(self.peak) if self.live else 0


def timeline(traffic, bytes_of=None, inside=None):
    """The Timeline of a plan. A result of ATen counts as a storage of its own.

    `traffic` has the plan, the values of its int registers and the size of a tensor register; `bytes_of(action)` is the bytes that an Alloc takes,
    `inside(action)` the most bytes that a call of ATen holds, results included."""
    plan = traffic.plan
    bytes_of = bytes_of or (lambda action: traffic.values.get(action["bytes"], 0))
    storage, users, born, size = {}, {}, {}, {}
    blocks, live, held = [], [], 0

    def begin(reg, number, size_of):
        nonlocal held
        storage[reg], users[reg], born[reg], size[reg] = reg, {reg}, number, size_of
        held += size_of

    def drop(reg, number):
        nonlocal held
        owner = storage.pop(reg, None)
        if owner is None:
            return
        users[owner].discard(reg)
        if not users[owner]:
            blocks.append(Block(owner, size[owner], born[owner], number, False))
            held -= size[owner]

    for number, step in enumerate(plan["steps"]):
        action = step["action"]
        kind, most = action["kind"], 0
        if kind == "Alloc":
            begin(action["tensor"], number, bytes_of(action))
        elif kind == "Wrap":
            begin(action["tensor"], number, 0)
        elif kind == "Aten":
            most = held + inside(action) if inside else 0
            for reg in tensors_of(action["results"]):
                begin(reg, number, traffic.size(reg))
        elif kind in ("View", "Reuse"):
            owner = storage.get(action["source" if kind == "View" else "from"])
            if owner is not None:
                storage[action["tensor"]] = owner
                users[owner].add(action["tensor"])
                if kind == "Reuse":
                    users[owner].discard(storage.pop(action["from"], None) and action["from"])
        elif kind == "Free":
            drop(action["tensor"], number)
        live.append(max(held, most) if most else held)
    end = len(plan["steps"])
    for owner in sorted({owner for owner in storage.values()}):
        blocks.append(Block(owner, size[owner], born[owner], end, True))
    blocks.sort(key=lambda block: (block.first, block.tensor))
    return Timeline(live, blocks)


def whole_timeline(traffic):
    """The Timeline of a plan with the memory of its branches and loops."""
    graphs = {}
    return timeline(traffic, inside=lambda action: _inside(traffic, action, graphs))


def _inside(traffic, action, graphs):
    """The most bytes that a call of control flow holds; 0 for other calls."""
    if not action["graphs"]:
        return 0
    peak = 0
    for name in action["graphs"]:
        if name not in graphs:
            graphs[name] = next(read(one["bytes"]) for one in traffic.artifact["subgraphs"] if one["name"] == name)
        artifact = graphs[name]
        plan = artifact["plans"][0]
        peak = max(peak, whole_timeline(Traffic(artifact, plan, _symbols(traffic, action, plan))).peak)
    is_loop = not action["name"].endswith("::cond")
    return peak + (sum(map(traffic.size, tensors_of(action["results"]))) if is_loop else 0)


def _symbols(traffic, action, plan):
    """Name -> value of the symbols of a graph, from the operands of the call; those that only data or strides tell are absent."""
    is_cond, is_scan = (action["name"].endswith(f"::{kind}") for kind in ("cond", "scan"))
    lists = [one["items"] for one in action["arguments"]]
    operands = lists[1] if is_cond else [one for each in lists for one in each]
    scanned = range(len(lists[0]), len(lists[0]) + len(lists[1])) if is_scan else ()
    found = {}
    for symbol in plan["symbols"]:
        if symbol["stride"]:
            continue
        operand = operands[symbol["input"]]
        if symbol["dim"] < 0:
            value = traffic.values.get(operand["reg"]) if operand["kind"] == "IntReg" else operand["integer"]
        else:
            sizes = traffic.sizes(operand["reg"]) if operand["kind"] == "Tensor" and operand["reg"] != NONE else []
            at = symbol["dim"] + (symbol["input"] in scanned)
            value = sizes[at] if at < len(sizes) else None
        if value is not None:
            found[symbol["name"]] = (value - symbol["offset"]) // symbol["scale"]
    return found
