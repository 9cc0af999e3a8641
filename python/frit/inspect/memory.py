"""The memory that a call holds beyond its arguments, step by step, as the plan allocates and frees it."""

from dataclasses import dataclass

from .traffic import tensors_of


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


def timeline(traffic, bytes_of=None):
    """The Timeline of a plan. A result of ATen counts as a storage of its own.

    `traffic` has the plan, the values of its int registers and the size of a tensor register; `bytes_of(action)` is the bytes that an Alloc takes."""
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
        kind = action["kind"]
        if kind == "Alloc":
            begin(action["tensor"], number, bytes_of(action))
        elif kind == "Wrap":
            begin(action["tensor"], number, 0)
        elif kind == "Aten":
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
        live.append(held)
    end = len(plan["steps"])
    for owner in sorted({owner for owner in storage.values()}):
        blocks.append(Block(owner, size[owner], born[owner], end, True))
    blocks.sort(key=lambda block: (block.first, block.tensor))
    return Timeline(live, blocks)
