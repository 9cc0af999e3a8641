"""The bytes that each step of a plan reads and writes, and those that any implementation must move.

Each launch and each call of ATen counts every operand once: caches are ignored, and so is memory that a library uses inside a call.
"""

from dataclasses import dataclass, field

from .sizes import NONE, values_of

_WIDTHS = {"Bool": 1, "C32": 4, "C64": 8, "C128": 16}


def width(dtype):
    """Bytes of an element."""
    if dtype in _WIDTHS:
        return _WIDTHS[dtype]
    return 1 if dtype.startswith("F8") else int("".join(filter(str.isdigit, dtype))) // 8


@dataclass
class Step:
    """A step that moves data. `kind`: "kernel", "aten" or "copy"."""

    number: int
    kind: str
    name: str
    reads: list = field(default_factory=list)  # tensor registers
    writes: list = field(default_factory=list)
    bytes: int = 0
    reason: str = ""
    source: str = ""
    uses: int = 1


class Traffic:
    """The steps of a plan that move data, at given sizes (`values_of`)."""

    def __init__(self, artifact, plan, symbols=None):
        self.artifact, self.plan = artifact, plan
        self.values = values_of(plan, symbols)
        self.unknown = 0  # tensors whose size follows from data only
        self.steps = []
        self.root = {}  # register of a view -> register of which it is a view
        self._read = {}  # owner -> the bytes that all steps read of it
        for number, step in enumerate(plan["steps"]):
            action = step["action"]
            made = getattr(self, "_" + action["kind"].lower(), lambda number, action: None)(number, action)
            if made:
                made.bytes = self._bytes(made)
                self.steps.append(made)

    @property
    def moved(self):
        """The bytes that all steps of a call read and write."""
        return sum(step.bytes for step in self.steps)

    @property
    def mandatory(self):
        """The bytes of arguments and weights that are read, once each, and of results and arguments that are written, once each."""
        reads = {self.owner(reg) for step in self.steps for reg in step.reads}
        writes = {self.owner(reg) for step in self.steps for reg in step.writes}
        given = {one["reg"] for one in self.plan["inputs"] if one["kind"] in ("Tensor", "ScalarTensor") and one["reg"] != NONE}
        given |= {one["tensor"] for one in self.plan["constants"]}
        results = {one["reg"] for one in self.plan["outputs"] if one["kind"] == "Tensor"}
        total = sum(min(self.size(reg), self._read[reg]) for reg in given & reads) + sum(self.size(reg) for reg in given & writes)
        return total + sum(self.size(reg) for reg in results if self.owner(reg) not in given)

    def owner(self, reg):
        """The register that owns the storage of a view; any other register itself."""
        while reg in self.root:
            reg = self.root[reg]
        return reg

    def sizes(self, reg):
        """The sizes of a tensor register; an unknown one is None."""
        return [self.values.get(one) for one in self.plan["tensors"][reg]["sizes"]]

    def size(self, reg):
        """Bytes of the elements of a tensor register; repeated elements (stride 0) count once. 0 if it is not known."""
        tensor = self.plan["tensors"][reg]
        sizes = self.sizes(reg)
        if tensor["rank"] < 0 or None in sizes:
            self.unknown += 1
            return 0
        total = width(tensor["dtype"])
        for dim, size in enumerate(sizes):
            repeated = tensor["strides"] and self.values.get(tensor["strides"][dim]) == 0
            total *= 1 if repeated else size
        return total

    def describe(self, reg):
        """The type of a tensor register as text: "f32[2, 16]"."""
        tensor = self.plan["tensors"][reg]
        shown = "..." if tensor["rank"] < 0 else ", ".join("?" if size is None else str(size) for size in self.sizes(reg))
        return f"{tensor['dtype'].lower()}[{shown}]"

    def _bytes(self, step):
        reads, writes = ([self.size(reg) for reg in dict.fromkeys(regs)] for regs in (step.reads, step.writes))
        if step.kind == "kernel" and "gather" in step.name and writes:
            # A kernel that gathers reads as many rows as it writes, not the whole table.
            reads = [min(one, max(writes)) for one in reads]
        for reg, one in zip(dict.fromkeys(step.reads), reads):
            self._read[self.owner(reg)] = self._read.get(self.owner(reg), 0) + one
        return sum(reads) + sum(writes)

    def _view(self, number, action):
        self.root[action["tensor"]] = action["source"]

    def _launch(self, number, action):
        kernel = self.plan["kernels"][action["kernel"]]
        source = " | ".join(self.artifact["sources"][one] for one in kernel["sources"][:1])
        step = Step(number, "kernel", kernel["name"], source=source, uses=action["items"])
        letters = kernel["access"] * max(1, action["items"])
        for reg, letter in zip(action["tensors"], letters):
            if letter in "ru":
                step.reads.append(reg)
            if letter in "wu":
                step.writes.append(reg)
        return step

    def _aten(self, number, action):
        overload = action["overload"] or "default"
        name = action["name"].replace("::", ".") + "." + overload
        source = self.artifact["sources"][action["source"]] if action["source"] != NONE else ""
        return Step(number, "aten", name, tensors_of(action["arguments"]), tensors_of(action["results"]), 0, action["reason"], source)

    def _copyinto(self, number, action):
        return Step(number, "copy", "copy into an argument", [action["source"]], [action["tensor"]])


def tensors_of(values):
    """The tensor registers among the arguments or results of a call."""
    found = []
    for value in values:
        if value["kind"] == "Tensor" and value["reg"] != NONE:
            found.append(value["reg"])
        found.extend(tensors_of(value["items"]))
    return found
