"""The memory of a plan: exact at given sizes, and as a formula in the names of sizes.

Both follow the plan step by step, as the runtime does (`memory.py`): once with numbers in its int registers, once with polynomials.
"""

from dataclasses import dataclass

from . import workspaces
from .memory import timeline
from .polynomial import Polynomial, largest
from .sizes import NONE, computed, values_of
from .traffic import tensors_of, width

#: From this size on the runtime rounds temporaries of CPUs up to their bucket and caches them between calls (runtime/plan/PlanExecutor.cpp).
CACHED_BYTES = 8 << 20
_MOST_CANDIDATES_SHOWN = 6
_WORDS = {"FloorDiv": "floor({}/{})", "Mod": "({} mod {})", "Min": "min({}, {})", "Max": "max({}, {})"}


class _Amounts:
    """The `traffic` argument of `timeline`: a plan, the values of its int registers, and the bytes of its tensors."""

    def __init__(self, plan, values, is_symbolic=False):
        self.plan, self.values, self.is_symbolic = plan, values, is_symbolic
        self.unknown = set()  # tensor registers whose sizes follow from data

    def sizes(self, reg):
        """The sizes of a tensor; None for one that follows from data."""
        return [self.values.get(one) for one in self.plan["tensors"][reg]["sizes"]]

    def size(self, reg):
        tensor = self.plan["tensors"][reg]
        sizes = self.sizes(reg)
        if tensor["rank"] < 0 or None in sizes:
            self.unknown.add(reg)
            return 0
        total = width(tensor["dtype"])
        for dim, size in enumerate(sizes):
            repeated = tensor["strides"] and self.values.get(tensor["strides"][dim]) == 0
            total = total * (1 if repeated else size)
        return total

    def allocated(self, action):
        if action["bytes"] not in self.values:
            self.unknown.add(action["tensor"])
            return 0
        taken = self.values[action["bytes"]]
        on_cpu = self.plan["tensors"][action["tensor"]]["device"] == "Cpu"
        if on_cpu and action["capacity"] != NONE and not self.is_symbolic and taken >= CACHED_BYTES:
            return max(taken, self.values.get(action["capacity"], 0))
        return taken


def names_in(plan):
    """Name of a symbol -> from where its value is read, `x[0]` for a dimension of an argument, or the symbol's own name."""
    found = {}
    for symbol in plan["symbols"]:
        name, plain = plan["inputs"][symbol["input"]]["name"], symbol["scale"] == 1 and symbol["offset"] == 0 and not symbol["stride"]
        found[symbol["name"]] = (f"{name}[{symbol['dim']}]" if symbol["dim"] >= 0 else name) if plain and name else symbol["name"]
    return found


def _symbolic(plan, names):
    """Register -> Polynomial in the names of sizes, for the int registers that follow from the symbols."""
    values = {one["reg"]: Polynomial.of(one["value"]) for one in plan["int_constants"]}
    of_symbol = {}
    for symbol in plan["symbols"]:
        of_symbol[symbol["reg"]] = values[symbol["reg"]] = Polynomial.of(names.get(symbol["name"], symbol["name"]))
    for bucket in plan["buckets"]:
        values[bucket["dst"]] = Polynomial.of(f"bucket({of_symbol[bucket['symbol']]})")
    if plan["size_program"] != NONE:
        for one in plan["programs"][plan["size_program"]]["code"]:
            value = _symbol_of(one, values)
            if value is not None:
                values[one["dst"]] = value
    return values


def _symbol_of(one, values):
    given = [values.get(one[name]) for name in "abc"]
    numbers = {one[name]: value.number for name, value in zip("abc", given) if value is not None and value.number is not None}
    exact = computed(one, numbers)
    if exact is not None:
        return Polynomial.of(exact)
    left, right, _ = given
    if one["op"] == "Move":
        return left
    if left is None or right is None:
        return None
    if one["op"] in ("Add", "Sub", "Mul"):
        return {"Add": left + right, "Sub": left - right, "Mul": left * right}[one["op"]]
    if one["op"] in ("Min", "Max") and left == right:
        return left
    words = _WORDS.get(one["op"])
    return Polynomial.of(words.format(_bracketed(left), _bracketed(right)) if "/" in words or "mod" in words else words.format(left, right)) if words else None


def _bracketed(value):
    return f"({value})" if len(value.terms) > 1 else f"{value}"


@dataclass(frozen=True)
class Parts:
    """The bytes of a call at its peak, by purpose."""

    arguments: int
    constants: int
    results: int
    temporaries: int
    workspaces: int

    @property
    def total(self):
        """The peak in bytes."""
        return self.arguments + self.constants + self.results + self.temporaries + self.workspaces


class PlanMemory:
    """The memory of one plan. `names`: symbol -> the name that a user knows the size by."""

    def __init__(self, name, plan, names=None):
        self.name, self.plan = name, plan
        self.names = names_in(plan) if names is None else {one["name"]: names.get(one["name"], one["name"]) for one in plan["symbols"]}

    def renamed(self, names):
        """The same with other names of sizes; `names`: the present name -> the new one."""
        return PlanMemory(self.name, self.plan, {symbol: names.get(name, name) for symbol, name in self.names.items()})

    @property
    def sizes(self):
        """Name -> (least, most, divisor) of each size that varies."""
        return {self.names[one["name"]]: (one["min"], one["max"], one["divisor"]) for one in self.plan["symbols"]}

    def at(self, sizes, threads=1):
        """The Parts at the peak. `sizes`: name -> number, for each name in `sizes`."""
        values = values_of(self.plan, {symbol: sizes[name] for symbol, name in self.names.items()})
        amounts = _Amounts(self.plan, values)
        line = timeline(amounts, amounts.allocated)
        held = [(live + self._workspace(step["action"], amounts, threads), number) for number, (live, step) in enumerate(zip(line.live, self.plan["steps"]))]
        peak, number = max(held, key=lambda one: one[0], default=(0, 0))
        live = line.live[number] if line.live else 0
        results = sum(block.bytes for block in line.blocks if block.kept and block.first <= number)
        arguments, constants = self._given(amounts)
        return Parts(arguments, constants, results, live - results, peak - live)

    def candidates(self):
        """Polynomials whose maximum is the peak of a call."""
        amounts = _Amounts(self.plan, _symbolic(self.plan, self.names), True)
        line = timeline(amounts, amounts.allocated)
        given = sum(self._given(amounts), Polynomial.of(0))
        held = [live + self._workspace(step["action"], amounts, 1) + given for live, step in zip(line.live, self.plan["steps"])]
        return largest(held or [given], self.least())

    def formula(self):
        """The peak as text, in the names of the sizes."""
        return as_text(self.candidates())

    def least(self):
        """Name -> least value of each size that varies."""
        return {name: low for name, (low, _, _) in self.sizes.items()}

    def _given(self, amounts):
        """The bytes of arguments and of constants, for the whole call."""
        inputs = [one["reg"] for one in self.plan["inputs"] if one["kind"] in ("Tensor", "ScalarTensor") and one["reg"] != NONE]
        return sum(map(amounts.size, inputs)), sum(amounts.size(one["tensor"]) for one in self.plan["constants"])

    def _workspace(self, action, amounts, threads):
        """The bytes that a step needs while it runs, beyond its operands and results."""
        if action["kind"] == "Launch":
            # Which of the variants runs depends on sizes and addresses, so the largest counts.
            needed = [0, *(amounts.values.get(one["workspace"], 0) for one in action["variants"] if one["workspace"] != NONE)]
            if not amounts.is_symbolic:
                return max(needed)
            most = largest(needed, self.least())
            return most[0] if len(most) == 1 else Polynomial.of(f"max({', '.join(map(str, most))})")
        if action["kind"] != "Aten":
            return 0
        operator, regs = operator_of(action), tensors_of(action["arguments"])
        dtypes = [self.plan["tensors"][reg]["dtype"] for reg in regs]
        contiguous = [not self.plan["tensors"][reg]["strides"] for reg in regs]
        kept = [one["reg"] if one["kind"] == "Tensor" and one["reg"] != NONE else None for one in action["results"]]
        if workspaces.is_fixed(operator, dtypes, contiguous, kept) or not workspaces.is_known(operator, dtypes):
            return 0
        if amounts.is_symbolic:
            return Polynomial.of(f"workspace({operator.split('.')[1].strip('_')})")
        sizes = [amounts.sizes(reg) for reg in regs]
        results = [reg if reg is None else amounts.sizes(reg) for reg in kept]
        if any(None in each for each in (*sizes, *filter(None, results))):
            return 0
        options = workspaces.options_of(operator, action["arguments"])
        return workspaces.workspace(workspaces.Call(operator, sizes, dtypes, results, threads, contiguous, **options))

    def not_bounded(self):
        """A sentence for each operator whose memory is not, or not fully, in the numbers."""
        amounts = _Amounts(self.plan, _symbolic(self.plan, self.names), True)
        timeline(amounts, amounts.allocated)
        found = {}
        for step in self.plan["steps"]:
            action = step["action"]
            if action["kind"] != "Aten":
                continue
            operator, regs = operator_of(action), tensors_of(action["arguments"])
            if any(reg in amounts.unknown for reg in tensors_of(action["results"])):
                found[f"{operator}: the size of its result follows from data"] = True
            elif self.plan["target"] != "Cpu" or not workspaces.is_known(operator, [self.plan["tensors"][reg]["dtype"] for reg in regs]):
                found[f"{operator}: its own workspace"] = True
        if amounts.unknown and not found:
            found["tensors whose sizes follow from data"] = True
        return list(found)


def as_text(candidates):
    """The maximum of some polynomials as text."""
    if len(candidates) == 1:
        return str(candidates[0])
    shown = ", ".join(map(str, candidates[:_MOST_CANDIDATES_SHOWN]))
    return f"max({shown}{f', and {len(candidates) - _MOST_CANDIDATES_SHOWN} more' if len(candidates) > _MOST_CANDIDATES_SHOWN else ''})"


def operator_of(action):
    """The name of the operator that an Aten step calls, as in `aten.add.Tensor`."""
    return f"{action['name'].replace('::', '.')}.{action['overload'] or 'default'}"
