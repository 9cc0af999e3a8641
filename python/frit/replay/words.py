"""The functions that a repro.py calls (`tensor`, `size`, `constant`, `put`), and the graph and arguments that are made from a script."""

import functools
import re

import torch

_FRAME = re.compile(r' *File "(?P<file>[^"]+)", line .*\n(?:    .*\n?)?')


class tensor:  # noqa: N801 (called in scripts)
    """The description of a strided tensor, without data. Sizes, strides and offset are in elements, as numbers or expressions of symbols. `low` and
    `high`: the range of integers; `storage`: the number of a storage that several tensors share; `bytes`: its size."""

    def __init__(self, sizes, strides, offset, dtype, device="cpu", requires_grad=False, conj=False, neg=False, low=0, high=1, storage=None, bytes=None):
        self.sizes, self.strides, self.offset, self.dtype, self.device = sizes, strides, offset, dtype, device
        self.requires_grad, self.conj, self.neg, self.low, self.high, self.storage, self.bytes = requires_grad, conj, neg, low, high, storage, bytes

    def fake(self, values):
        """The tensor under a fake mode; `values`: name of a symbol -> its SymInt."""
        sizes, strides = ([_evaluate(x, values) for x in numbers] for numbers in (self.sizes, self.strides))
        span = _evaluate(self.offset, values) + 1 + sum((n - 1) * s for n, s in zip(sizes, strides))
        memory = torch.empty((torch.sym_max(span, 0),), dtype=self.dtype, device=self.device)
        return torch.as_strided(memory, sizes, strides, _evaluate(self.offset, values)).requires_grad_(self.requires_grad)

    def made(self, values=None, number=0, storages=None):
        """A real tensor with random data. `values`: name of a symbol -> number; `number` seeds the data; `storages`: the shared storages so far."""
        sizes, strides = ([int(_evaluate(x, values or {})) for x in numbers] for numbers in (self.sizes, self.strides))
        offset = int(_evaluate(self.offset, values or {}))
        span = offset + 1 + sum((n - 1) * s for n, s in zip(sizes, strides)) if 0 not in sizes else offset
        span = max(span, (self.bytes or 0) // self.dtype.itemsize)
        key = self.storage if self.storage is not None else ("own", number)
        storages = {} if storages is None else storages
        if key not in storages:
            storages[key] = self._drawn(span, number).untyped_storage()
        result = torch.empty(0, dtype=self.dtype, device=self.device).set_(storages[key], offset, sizes, strides)
        if self.conj:
            torch._C._set_conj(result, True)
        if self.neg:
            torch._C._set_neg(result, True)
        return result

    def _drawn(self, count, number):
        generator = torch.Generator("cpu").manual_seed(number)
        if self.dtype is torch.bool:
            memory = torch.randint(0, 2, (count,), generator=generator).bool()
        elif self.dtype.is_floating_point or self.dtype.is_complex:
            drawn = torch.complex64 if self.dtype.is_complex else torch.float32
            memory = torch.randn(count, generator=generator, dtype=drawn).to(self.dtype)
        else:
            low, high = max(self.low, -(2**62)), min(self.high, 2**62)
            memory = torch.randint(low, high + 1, (count,), generator=generator).to(self.dtype)
        return memory.to(self.device)


class size:  # noqa: N801
    """A dynamic size, as an expression of symbols."""

    def __init__(self, expression):
        self.expression = expression


def constant(listed, dtype, device, sizes, strides, offset):
    """A small constant with its data."""
    values = torch.tensor(listed, dtype=dtype, device=device).reshape(sizes)
    span = offset + (0 if 0 in sizes else 1 + sum((n - 1) * s for n, s in zip(sizes, strides)))
    result = torch.zeros(span, dtype=dtype, device=device).as_strided(sizes, strides, offset)
    return result.copy_(values) if all(s or n < 2 for n, s in zip(sizes, strides)) else values.as_strided(sizes, strides)


def put(module, target, value):
    """Sets an attribute by its dotted path."""
    *path, last = target.split(".")
    for name in path:
        if not hasattr(module, name):
            setattr(module, name, torch.nn.Module())
        module = getattr(module, name)
    setattr(module, last, value)


_FUNCTIONS = {
    "Max": lambda *x: functools.reduce(torch.sym_max, x),
    "Min": lambda *x: functools.reduce(torch.sym_min, x),
    "Mod": lambda a, b: a % b,
    "PythonMod": lambda a, b: a % b,
    "FloorDiv": lambda a, b: a // b,
    "CleanDiv": lambda a, b: a // b,
    "Identity": lambda a: a,
    "CeilToInt": lambda a: torch.sym_int(a),
}


def _evaluate(expression, values):
    return eval(expression, {"__builtins__": {}}, {**_FUNCTIONS, **values}) if isinstance(expression, str) else expression


def made(module):
    """The arguments of the failed call, or arguments like those the graph was traced with."""
    hints = {name: hint for name, (hint, *_) in module.SYMBOLS.items()}
    storages, given = {}, module.CALL if module.CALL is not None else module.INPUTS
    return [
        x.made(hints, number, storages) if isinstance(x, tensor) else _evaluate(x.expression, hints) if isinstance(x, size) else x
        for number, x in enumerate(given)
    ]


class _Tracer(torch.fx.Tracer):
    record_stack_traces = True


def traced(module):
    """(GraphModule with a fake value for each node, fake arguments, the present name of each symbol) of a script."""
    from torch._dynamo.source import ConstantSource
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv
    from torch.utils._sympy.numbers import int_oo

    env = ShapeEnv()
    values = {}
    for name, (hint, least, greatest) in module.SYMBOLS.items():
        source = ConstantSource(name)
        positive = True if least is not None and least >= 0 else None
        symbol = env.create_symbol(hint, source, DimDynamic.DYNAMIC, positive=positive, do_not_specialize_zero_one=True)
        env.constrain_symbol_range(symbol, -int_oo if least is None else least, int_oo if greatest is None else greatest)
        values[name] = env.create_symintnode(symbol, hint=hint, source=source)
    owner = module.Graph()
    gm = torch.fx.GraphModule(owner, _Tracer().trace(owner))
    with FakeTensorMode(shape_env=env, allow_non_fake_inputs=True):
        fakes = [
            x.fake(values) if isinstance(x, tensor) else _evaluate(x.expression, values) if isinstance(x, size) else x for x in module.INPUTS
        ]
        with torch.no_grad():
            _Propagate(gm, module.__file__).run(*fakes)
    return gm, fakes, {name: str(value.node.expr) for name, value in values.items()}


class _Propagate(torch.fx.Interpreter):
    """Gives each node its fake value and its line in the script."""

    def __init__(self, gm, path):
        super().__init__(gm)
        self._path = path

    def run_node(self, n):
        value = super().run_node(n)
        n.meta["val"] = value
        mine = [frame[0] for frame in _FRAME.finditer(n.meta.get("stack_trace") or "") if frame["file"] == self._path]
        n.meta["stack_trace"] = mine[-1] if mine else None
        return value
