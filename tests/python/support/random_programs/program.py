"""A program as data, its Python text, and its arguments."""

import contextlib
import dataclasses
import inspect
import linecache
import re

import torch
import torch.nn.functional as F

NAME = re.compile(r"\b(?:m\.[bp]\d+|[av]\d+)\b")
_FLOATS = re.compile(r"torch\.(?:float16|bfloat16|float32)\b")


def data(shape, dtype, seed, special=False):
    """Returns small integers, the same in every dtype; with `special` some are NaN, infinite or -0.0."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randint(-3, 4, shape, generator=generator)
    if dtype == torch.bool:
        return x > 0
    if dtype == torch.uint8:
        return x.abs().to(dtype)
    if dtype.is_complex:
        return torch.complex(x.double(), torch.randint(-3, 4, shape, generator=generator).double()).to(dtype)
    x = x.to(dtype)
    if special and dtype.is_floating_point:
        for number, stands in ((0, -0.0), (3, float("nan")), (2, float("inf")), (-3, -float("inf"))):
            x = torch.where(x == number, stands, x).to(dtype)
    return x


class State(torch.nn.Module):
    """The state of a program between calls: buffers and parameters."""

    def __init__(self, tensors):
        super().__init__()
        for name, tensor in tensors.items():
            if name.startswith("p"):
                setattr(self, name, torch.nn.Parameter(tensor))
            else:
                self.register_buffer(name, tensor)


def tangent(x):
    """Returns the weights of a result in the loss: integers that differ between elements."""
    return (torch.arange(x.numel(), dtype=torch.float64) % 5 - 1).reshape(x.shape)


@dataclasses.dataclass(frozen=True)
class Step:
    """One line. `kind`: a 'view' of an operand, a 'pure' result, or a 'write' into `writes`. `grade` says how exact its values are:
    'shape' reads no values, 'bits' copies them, 'exact' is exact for small integers, 'sum' is exact if sums of magnitudes are small too,
    'float' rounds."""

    line: str
    targets: tuple
    reads: tuple
    kind: str
    grade: str
    writes: tuple = ()
    op: str = ""


@dataclasses.dataclass(frozen=True)
class Input:
    """An argument `a0`, or state: a buffer `m.b0` or a parameter `m.p0`. `text` is Python over `n`, `k` and earlier arguments."""

    name: str
    text: str


@dataclasses.dataclass(frozen=True)
class Program:
    inputs: tuple
    steps: tuple
    results: tuple
    #: The size n of each call.
    calls: tuple
    dynamic: bool | None = False
    training: bool = False
    #: A half type, or nothing.
    autocast: str = ""
    #: The step before which the graph breaks; -1 for none.
    graph_break: int = -1
    #: Options of the backend.
    options: tuple = ()
    #: What the caller does after each call, lines of Python (actions.py).
    after: tuple = ()

    @property
    def state(self):
        return [x for x in self.inputs if x.name.startswith("m.")]

    @property
    def arguments(self):
        return [x for x in self.inputs if not x.name.startswith("m.")]

    def source(self):
        parameters = (["m"] if self.state else []) + [x.name for x in self.arguments]
        body = [step.line for step in self.steps]
        if 0 <= self.graph_break <= len(body):
            body.insert(self.graph_break, "torch._dynamo.graph_break()")
        body.append(f"return {', '.join(self.results)}" + ("," if len(self.results) == 1 else ""))
        if self.autocast:
            body = [f'with torch.autocast("cpu", dtype={self.autocast}):'] + ["    " + line for line in body]
        return "\n".join([f"def program({', '.join(parameters)}):"] + ["    " + line for line in body]) + "\n"

    def function(self):
        source = self.source()
        name = f"<program {abs(hash(source))}>"
        linecache.cache[name] = (len(source), None, source.splitlines(True), name)
        space = namespace()
        exec(compile(source, name, "exec"), space)
        return space["program"]

    def make_state(self, wide=False):
        return State({x.name[2:]: eval(text_of(x, wide), namespace()) for x in self.state}) if self.state else None

    def make(self, k, wide=False):
        """Returns the arguments of call `k`, by name."""
        space = namespace(n=self.calls[k], k=k)
        return {x.name: space.setdefault(x.name, eval(text_of(x, wide), space)) for x in self.arguments}

    def context(self, wide=False):
        if self.autocast and not wide:
            return torch.autocast("cpu", dtype=getattr(torch, self.autocast.removeprefix("torch.")))
        return contextlib.nullcontext()

    def backend_options(self):
        return dict(self.options)

    def snippet(self):
        """Returns a script that prints eager's results and frit's."""
        lines = ["import torch", "import torch.nn.functional as F", "", "", inspect.getsource(data), ""]
        if self.state:
            lines += [inspect.getsource(State), ""]
        lines += [self.source(), ""]
        given = "".join(f"    {x.name} = {x.text}\n" for x in self.arguments)
        lines.append(f"def make(n, k):\n{given}    return [{', '.join(x.name for x in self.arguments)}]\n\n")
        keywords = f"backend=backend, dynamic={self.dynamic}, fullgraph={self.graph_break < 0}"
        if self.options:
            keywords += f", options={self.backend_options()!r} if backend == 'frit' else None"
        state = "State({" + ", ".join(f'"{x.name[2:]}": {x.text}' for x in self.state) + "})"
        lines.append("for backend in (None, 'aot_eager', 'frit'):")
        lines.append("    torch.compiler.reset()")
        lines.append(f"    call = torch.compile(program, {keywords}) if backend else program")
        if self.state:
            lines.append(f"    m = {state}")
        lines.append(f"    for k, n in enumerate({self.calls!r}):")
        lines.append("        arguments = make(n, k)")
        lines.append(f"        result = call({'m, ' if self.state else ''}*arguments)")
        lines.append("        print(backend, n, result, arguments" + (", dict(m.state_dict()))" if self.state else ")"))
        if self.after or self.training:
            lines += self._snippet_after()
        return "\n".join(lines) + "\n"

    def _snippet_after(self):
        """Returns the part of the script that does what the caller does after a call."""
        lines = ["        def backward(results):", "            loss = sum("]
        lines.append("                (torch.view_as_real(r).sum(-1) if r.is_complex() else r).double().sum() for r in results if r.requires_grad)")
        lines.append("            loss.backward(retain_graph=True)")
        lines.append("            print([a.grad for a in arguments if isinstance(a, torch.Tensor)])")
        for i in range(len(self.results)):
            lines.append(f"        r{i} = result[{i}]")
        for i, x in enumerate(self.arguments):
            lines.append(f"        {x.name} = arguments[{i}]")
        for line in self.after + (("backward(result)",) if self.training else ()):
            lines += ["        try:", f"            {line}", "        except Exception as error:", "            print(type(error), error)"]
        return lines + ["        print('after', result, arguments)"]

    def to_json(self):
        return dataclasses.asdict(self)

    @staticmethod
    def from_json(given):
        """Reads a program, and converts lists back to tuples."""
        steps = tuple(Step(**{k: tuple(v) if isinstance(v, list) else v for k, v in step.items()}) for step in given["steps"])
        rest = {k: tuple(v) if isinstance(v, list) else v for k, v in given.items() if k not in ("inputs", "steps", "options")}
        options = tuple((name, value) for name, value in given["options"])
        return Program(inputs=tuple(Input(**x) for x in given["inputs"]), steps=steps, options=options, **rest)


def namespace(**more):
    return {"torch": torch, "F": F, "data": data, **more}


def widened(text):
    """Replaces the types in a text by fp64."""
    return _FLOATS.sub("torch.float64", text).replace("torch.complex64", "torch.complex128").replace(".float()", ".double()")


def text_of(given, wide):
    return widened(given.text) if wide else given.text


def lookup(name, space):
    """Returns the value of a slot."""
    return eval(name, space)
