"""Generates random programs. Every step is executed eagerly at all sizes of the program during generation; steps that torch refuses are dropped.

`programs()` is a hypothesis strategy, which shrinks; `generate(Choices(random.Random(seed)))` generates the program of a seed.
"""

import dataclasses
import math
import random

import torch
from hypothesis import strategies as st

from . import operators, views, writes
from .actions import draw_actions
from .compare import eager_calls
from .levels import ROUNDED, Refused, Run, is_rounded_type, real
from .program import Input, Program

LARGEST = 4_200
#: The largest magnitude of rounded values that further steps may use.
MAGNITUDE = {torch.float16: 200.0, torch.bfloat16: 1e4}
SIZES = (5, 2, 3, 7, 1, 0, 8, 9, 16, 17, 33, 130, 1030)
DTYPES = (
    ("torch.float32", 12),
    ("torch.float64", 2),
    ("torch.bfloat16", 3),
    ("torch.float16", 3),
    ("torch.int64", 5),
    ("torch.int32", 2),
    ("torch.uint8", 2),
    ("torch.int8", 1),
    ("torch.int16", 1),
    ("torch.bool", 2),
    ("torch.complex64", 2),
    ("torch.complex128", 1),
)
#: Layouts of inputs: text over a dense tensor `x`, whose shape is larger by the part that is cut off.
LAYOUTS = (
    ("dense", 8),
    ("offset", 3),
    ("step", 2),
    ("transposed", 3),
    ("expanded", 1),
    ("columns", 2),
    ("conjugated", 2),
    ("negated", 1),
    ("aliased", 2),
    ("special", 1),
)


class Skip(Exception):
    """Raised for a step that is not possible with the current slots."""


class Choices:
    """A source of choices: a `random.Random`, or hypothesis' `draw`. The first option is the simplest."""

    def __init__(self, source):
        self.source = source

    def integer(self, low, high):
        if isinstance(self.source, random.Random):
            return self.source.randint(low, high)
        return self.source(st.integers(low, high))

    def choice(self, options):
        if not options:
            raise Skip
        return options[self.integer(0, len(options) - 1)]

    def weighted(self, pairs):
        """Chooses from pairs (option, weight)."""
        at = self.integer(0, sum(weight for _, weight in pairs) - 1)
        for thing, weight in pairs:
            if at < weight:
                return thing
            at -= weight

    def chance(self, percent):
        return self.integer(0, 99) >= 100 - percent


class Builder:
    """A program during generation, run at all of its sizes."""

    def __init__(self, choices, program, avoided=()):
        self.c = choices
        self.program = program
        self.avoided = avoided
        self.count = 0
        self.used = set()
        #: The last step, if it raises in one of the calls.
        self.last = None
        self.restart()

    # Queries of the operator tables.

    def fresh(self):
        self.count += 1
        return f"v{self.count - 1}"

    def value(self, name):
        """Returns the value of a slot in the first call."""
        return self._lookup(self.runs[0], name)

    def rank(self, name):
        return self.value(name).dim()

    def tensor(self, test=None, like=None):
        """Chooses a slot, preferably a late one, whose tensor passes a test; `like`: with this slot's shape in every call."""
        names = [name for name in reversed(self.slots()) if self._fits(name, test, like)]
        if not names:
            raise Skip
        last = len(names) - 1
        return names[min(self.c.integer(0, last), self.c.integer(0, last)) if last else 0]

    def steady(self, test=None, like=None):
        """Chooses a slot whose values are not rounded in any call, so that decisions may depend on them."""
        names = [n for n in reversed(self.slots()) if self.is_steady(n) and self._fits(n, test, like)]
        return self.c.choice(names)

    def is_steady(self, name):
        return all(run.level_of(name) < ROUNDED for run in self.runs)

    def is_finite(self, name):
        return all(bool(real(self._lookup(run, name).detach()).isfinite().all()) for run in self.runs)

    def dim(self, name, least=1):
        """Chooses a dimension of a slot, sometimes a negative one."""
        rank = self.rank(name)
        if rank < least:
            raise Skip
        d = self.c.integer(0, rank - 1)
        return d - rank if self.c.chance(30) else d

    def slots(self):
        names = [x.name for x in self.program.inputs if x.name not in self.numbers]
        return names + [name for step in self.program.steps for name in step.targets if name not in self.numbers]

    def _lookup(self, run, name):
        return eval(name, run.space)

    def _fits(self, name, test, like):
        x = self.value(name)
        if test is not None and not test(x):
            return False
        if like is None:
            return True
        return all(self._lookup(run, name).shape == self._lookup(run, like).shape for run in self.runs)

    # Growing.

    def restart(self):
        """Runs all steps again from the beginning, at all sizes."""
        self.runs, state, levels = [], self.program.make_state(), {}
        for k in range(len(self.program.calls)):
            run = Run(self.program, k, state, levels)
            for step in self.program.steps:
                run.step(step)
            self.runs.append(run)
        space = self.runs[0].space
        named = [x.name for x in self.program.arguments] + [name for step in self.program.steps for name in step.targets]
        self.numbers = {name for name in named if not isinstance(space[name], torch.Tensor)}

    def add(self, step):
        """Adds a step if possible, and returns whether it did. With state, which persists between calls, every step is run from the beginning."""
        before = self.program
        self.program = dataclasses.replace(before, steps=before.steps + (step,))
        good = 0
        try:
            if self.program.state:
                self.restart()
            else:
                for run in self.runs:
                    run.step(step)
                    good += 1
                space = self.runs[0].space
                self.numbers |= {name for name in step.targets if not isinstance(space[name], torch.Tensor)}
            self._demand(step)
        except Exception as error:
            self.program = before
            self.restart()
            # A step that raises only at a later size is allowed as the last one.
            if good and not isinstance(error, Refused) and self.c.chance(10):
                self.last = step
            return False
        self.used |= set(step.reads)
        return True

    def _demand(self, step):
        """Raises Refused if sizes or magnitudes are too large for further steps."""
        for run in self.runs:
            for name in step.targets + step.writes:
                x = self._lookup(run, name)
                if not isinstance(x, torch.Tensor):
                    continue
                if x.numel() > LARGEST or x.dim() > 6:
                    raise Refused
                if is_rounded_type(x) and run.level(x) == ROUNDED and x.numel():
                    values = real(x.detach())
                    values = values[values.isfinite()]
                    if values.numel() and values.abs().max().item() > MAGNITUDE.get(x.dtype, 1e5):
                        raise Refused

    def grow(self, tries):
        tables = ((operators.TABLE, 6), (views.TABLE, 4), (writes.TABLE, 3))
        for _ in range(tries):
            table = self.c.weighted(tables)
            name, make = self.c.weighted([((name, entry.make), entry.weight) for name, entry in table.items()])
            if name in self.avoided:
                continue
            # All steps of the operator are made before the first is added.
            try:
                steps = make(self)
            except (Skip, IndexError, ZeroDivisionError):
                continue
            for step in steps:
                if not self.add(dataclasses.replace(step, op=name)):
                    break
            if self.last is not None:
                return


def sizes(c):
    count = c.weighted(((2, 5), (1, 3), (3, 1)))
    return tuple(c.choice(SIZES[:5] if c.chance(45) else SIZES) for _ in range(count))


def shape_text(c, rank=None):
    dims = []
    for _ in range(c.weighted(((2, 6), (1, 3), (3, 4), (0, 1), (4, 1))) if rank is None else rank):
        dims.append(c.weighted((("n", 5), ("4", 3), ("3", 2), ("1", 1), ("6", 2), ("2", 1), ("2 * n", 1), ("n + 1", 1))))
    return dims


def input_text(c, program, training, largest, earlier, fixed=False):
    """Returns one tensor as text over n and earlier arguments; `earlier` are the dims of those."""
    dtype = c.weighted(DTYPES)
    dims = shape_text(c)
    if dims and c.chance(45) and earlier:
        # Often repeats an earlier shape, so that binary operators apply.
        dims = list(c.choice(earlier))
    if fixed:
        dims = ["4" if "n" in d else d for d in dims]
    for i in reversed(range(len(dims))):
        if math.prod(eval(d, {"n": largest}) for d in dims) > LARGEST:
            dims[i] = "2"
    earlier.append(dims)
    seed = len(program)
    grad = training and ("float" in dtype or "complex" in dtype) and c.chance(70)
    layout = c.weighted(LAYOUTS)
    if layout == "aliased" and not grad and not fixed and program:
        other = c.choice([x.name for x in program if not x.name.startswith("m.")] or [None])
        if other is not None:
            return f"{other}.reshape(-1)[{c.choice(['1:', ':', ':1', '::2', '-2:'])}]"
    text = laid_out(c, layout, dims, dtype, seed)
    return text + (".requires_grad_()" if grad else "")


def laid_out(c, layout, dims, dtype, seed):
    def make(shape, more=""):
        return f"data(({', '.join(shape)}{',' if len(shape) == 1 else ''}), {dtype}, {seed}{more})"

    last = dims[-1] if dims else None
    if layout == "offset" and dims:
        return make(dims[:-1] + [f"{last} + 3"]) + f"[..., 1:{last} + 1]"
    if layout == "step" and dims:
        return make(dims[:-1] + [f"2 * ({last})"]) + "[..., ::2]"
    if layout == "transposed" and len(dims) > 1:
        return make(dims[::-1]) + f".permute({', '.join(str(i) for i in reversed(range(len(dims))))})"
    if layout == "expanded" and dims:
        return make(["1"] + dims[1:]) + f".expand({', '.join(dims)})"
    if layout == "columns" and dims:
        return make([f"{dims[0]} + 2"] + dims[1:]) + f"[1:{dims[0]} + 1]"
    if layout == "conjugated" and "complex" in dtype:
        return make(dims) + ".conj()"
    if layout == "negated" and dtype in ("torch.float32", "torch.float64"):
        wide = {"torch.float32": "torch.complex64", "torch.float64": "torch.complex128"}[dtype]
        return make(dims).replace(dtype, wide) + ".conj().imag"
    return make(dims, ", True") if layout == "special" else make(dims)


def draw_program(c, mode="", avoided=()):
    """`mode`: '', 'padded' or 'simt'."""
    training = c.chance(25)
    calls = sizes(c)
    if mode == "simt":
        calls = tuple(min(n, 17) for n in calls[:2])
    inputs, earlier, largest = [], [], max(calls)
    for number in range(c.integer(1, 4)):
        inputs.append(Input(f"a{number}", input_text(c, inputs, training, largest, earlier)))
    if c.chance(20):
        for number in range(c.integer(1, 2)):
            inputs.append(Input(f"m.b{number}", input_text(c, inputs, False, largest, earlier, fixed=True)))
    if training and c.chance(40):
        inputs.append(Input("m.p0", f"data(({c.choice(['4, 4', '4', '3, 4'])},), torch.float32, 9)"))
    if c.chance(12):
        inputs.append(Input(f"a{len([x for x in inputs if x.name[0] == 'a'])}", c.choice([
            "(3, 5, -1)[k]", "(2, 0, 1)[k]", "(1.5, -2.0, 4.0)[k]", "n", "(True, False, True)[k]",
        ])))
    options = {"padded": (("padding", "force"), ("poison", True)), "simt": (("target", "simt"),)}.get(mode, ())
    autocast = c.weighted((("", 12), ("torch.bfloat16", 1), ("torch.float16", 1))) if mode != "simt" else ""
    dynamic = c.weighted(((False, 4), (True, 6), (None, 1)))
    program = Program(tuple(inputs), (), (), calls, dynamic, training, autocast, -1, options)
    builder = Builder(c, program, avoided)
    builder.grow(c.integer(2, 14))
    return finished(c, builder)


def finished(c, builder):
    """Chooses the results: slots without readers, and sometimes other slots, arguments, and views of both."""
    program = builder.program
    names = builder.slots()
    made = [name for name in names if name[0] == "v"]
    results = [name for name in made if name not in builder.used][-4:]
    for _ in range(c.integer(0, 2)):
        name = c.choice(names)
        text = c.weighted(
            ((name, 5), (f"{name}[1:]", 2), (f"{name}[..., :1]", 2), (f"{name}.t()", 1), (f"{name}.shape[0]", 1), (f"{name}.unsqueeze(0)", 1)),
        )
        try:
            for run in builder.runs:
                eval(text, run.space)
        except Exception:
            continue
        results.append(text)
    if not results:
        results = [names[-1]]
    if builder.last is not None:
        program = dataclasses.replace(program, steps=program.steps + (builder.last,), training=False)
        results += builder.last.targets
    if program.training and not differentiable(dataclasses.replace(program, results=tuple(results))):
        inputs = tuple(Input(x.name, x.text.removesuffix(".requires_grad_()")) for x in program.inputs)
        program = dataclasses.replace(program, training=False, inputs=inputs)
    graph_break = c.integer(1, len(program.steps)) if program.steps and c.chance(8) else -1
    program = dataclasses.replace(program, results=tuple(results), graph_break=graph_break)
    return dataclasses.replace(program, after=draw_actions(c, program)) if builder.last is None else program


def differentiable(program):
    return all(call.error is None for call in eager_calls(program))


def generate(choices, mode="", avoided=()):
    """Generates a program from a source of choices; inputs that torch refuses are chosen again."""
    while True:
        try:
            return draw_program(choices, mode, avoided)
        except (RuntimeError, ValueError, IndexError, TypeError, NotImplementedError):
            if not isinstance(choices.source, random.Random):
                from hypothesis import reject

                reject()


@st.composite
def programs(draw, mode="", avoided=()):
    return generate(Choices(draw), mode, avoided)


__all__ = ["Builder", "Choices", "Skip", "generate", "programs"]


def mode_of(number):
    """Returns the mode of a program: of ten, one runs under SIMT emulation, and two padded and poisoned."""
    return {9: "simt", 4: "padded", 7: "padded"}.get(number % 10, "")
