"""The two cache keys of a graph, fast and canonical. Each covers everything that can change the compiled artifact.

The fast key is a digest of the graph's text: targets, arguments and names of nodes, descriptions of placeholders, constants and results,
facts about symbolic sizes, and the settings. It takes about a microsecond a node; a capture takes thirty. Graphs with the same fast key compile
to the same artifact. Graphs of the same meaning may differ in their fast keys but share a canonical key. That key contains the compiler's digest
of the canonical form; computing it takes a capture and the first fifth of a compilation. Hints of sizes are rounded to powers of two, as schedules
read them. Source lines are not covered: a cached artifact names the lines of the program that was compiled first.
"""

import functools
import hashlib
import os

import torch
import torch.utils._pytree as pytree
from torch._subclasses.fake_tensor import FakeTensor

from .. import native
from ..capture.sources import parts_of_operators

_FORMAT = "frit graph key 9"


class Uncacheable(Exception):
    """Raised if another process could not compute the same key of a graph; the text says why."""


def graph_key(gm, settings, identity):
    """The fast key of a graph under `settings`, a SHA-256 in hexadecimal digits; raises Uncacheable. `identity` is the compiler's (`_C.identity`)."""
    lines = _head(settings, identity)
    symbols = _Symbols()
    _graph_lines(gm, lines, symbols)
    lines.extend(symbols.lines())
    text = "\n".join(lines)
    if " at 0x" in text:
        text = _with_names(text)
    if " at 0x" in text:
        raise Uncacheable("an argument has no text of its own")
    return hashlib.sha256(text.encode()).hexdigest()


def _with_names(text):
    """The text with the names of higher-order operators, which auto_functionalized_v2 gets as arguments, in the place of their addresses."""
    for name, op in torch._ops._higher_order_ops.items():
        text = text.replace(repr(op), f"<{name}>")
    return text


def canonical_key(digest, settings, identity):
    """The canonical key of a graph. `digest` is the compiler's, of the canonical form; it covers the bucket lists, under canonical names of sizes."""
    settings = {name: value for name, value in settings.items() if name != "symbol_buckets"}
    return hashlib.sha256("\n".join(["canonical", *_head(settings, identity), digest]).encode()).hexdigest()


def _head(settings, identity):
    # Not JSON, because its first use in a process takes thirty microseconds.
    asked = repr(sorted(settings.items()))
    return [_FORMAT, identity, sources_digest(), torch.__version__, _flags(), asked]


@functools.cache
def sources_digest():
    """The digest of frit's Python sources: capture and decompositions decide what the compiler gets."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    digest = hashlib.sha256()
    for folder, rooms, names in os.walk(package):
        rooms.sort()
        for name in sorted(names):
            if name.endswith(".py"):
                path = os.path.join(folder, name)
                with open(path, "rb") as file:
                    digest.update(path[len(package) :].encode() + b"\0" + file.read())
    return digest.hexdigest()


#: Settings of torch that may change operators, types or strides after capture began, or that a kernel may depend on. The graph's text already shows
#: the effect of most (autocast has become casts, a default dtype a dtype); they are listed anyway, because a miss is cheap.
#: Omitted, because ATen reads them at each call of its operators: cudnn's `enabled`, `benchmark` and `allow_*_reduced_precision_reduction`, and the
#: number of threads. `torch.get_float32_matmul_precision` is another name of the precisions below, and raises if they were set one by one.
#: Also omitted: settings that choose operators before there is a graph (gradient mode, the enabled kinds of attention).
FLAGS = {
    "deterministic": torch.are_deterministic_algorithms_enabled,
    "deterministic_warn_only": torch.is_deterministic_algorithms_warn_only_enabled,
    "fill_uninitialized_memory": lambda: torch.utils.deterministic.fill_uninitialized_memory,
    "default_dtype": torch.get_default_dtype,
    "fp32_cuda_matmul": functools.partial(torch._C._get_fp32_precision_getter, "cuda", "matmul"),
    "fp32_cudnn_conv": functools.partial(torch._C._get_fp32_precision_getter, "cuda", "conv"),
    "fp32_cudnn_rnn": functools.partial(torch._C._get_fp32_precision_getter, "cuda", "rnn"),
    "fp32_mkldnn_matmul": functools.partial(torch._C._get_fp32_precision_getter, "mkldnn", "matmul"),
    "fp32_mkldnn_conv": functools.partial(torch._C._get_fp32_precision_getter, "mkldnn", "conv"),
    "autocast_cpu": lambda: torch.is_autocast_enabled("cpu"),
    "autocast_cpu_dtype": lambda: torch.get_autocast_dtype("cpu"),
    "autocast_cuda": lambda: torch.is_autocast_enabled("cuda"),
    "autocast_cuda_dtype": lambda: torch.get_autocast_dtype("cuda"),
}


def _flags():
    devices = ()
    if torch.cuda.is_initialized():
        devices = tuple(torch.cuda.get_device_capability(i) for i in range(torch.cuda.device_count()))
    return f"{[read() for read in FLAGS.values()]} devices {devices}"


def _graph_lines(gm, lines, symbols):
    others = []
    describe = functools.partial(_description, symbols=symbols)
    lines.append(native.compiler().describe_graph(gm.graph.nodes, torch.fx.Node, FakeTensor, torch._ops.OpOverload, _target, describe, others))
    lines.extend(f"{node.name} part of {operator}" for node, operator in parts_of_operators(gm.graph).items())
    for node in others:
        if node.op != "get_attr":
            raise Uncacheable(f"it has a node of kind {node.op}")
        value = gm
        for name in node.target.split("."):
            value = getattr(value, name)
        if isinstance(value, torch.fx.GraphModule):
            lines.append(f"{node.name}=graph {node.target} {{")
            _graph_lines(value, lines, symbols)
            lines.append("}")
        elif isinstance(value, torch.Tensor):
            lines.append(f"{node.name}=constant {node.target} {_description(value, symbols)}")
        elif isinstance(value, pytree.TreeSpec) and getattr(value.type, "__name__", "") == "SchemaHolder":
            # auto_functionalized_v2 gets the schema of a branch or a loop that writes.
            lines.append(f"{node.name}=schema {pytree.tree_unflatten([], value).schema}")
        else:
            raise Uncacheable(f"{node.target} is a Python object")


def _target(target):
    """The text of a call's target that is not one of torch's operators. Native code keys those by name alone, because torch's version defines
    them."""
    if isinstance(target, torch._ops.OpOverload):
        return f"{target._schema}"
    return f"{getattr(target, '__module__', '')}.{getattr(target, '__name__', target)}"


def _description(value, symbols):
    if isinstance(value, torch.Tensor):
        # A fake tensor's `device` is a Python property.
        device = value.fake_device if isinstance(value, FakeTensor) else value.device
        layout = value.layout
        sizes = [*value.shape, *value.stride(), value.storage_offset()] if layout is torch.strided else value.shape
        shown = f"{[size if type(size) is int else symbols.text(size) for size in sizes]} {value.ndim}"
        return f"{value.dtype} {shown} {device} {layout} {value.requires_grad} {_kind(type(value))}"
    if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        return symbols.text(value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return f"{type(value).__name__} {value!r}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_description(x, symbols) for x in value)}]"
    raise Uncacheable(f"a value of type {type(value).__name__} passes through it")


@functools.lru_cache(maxsize=64)
def _kind(cls):
    return f"{cls.__module__}.{cls.__qualname__}"


@functools.lru_cache(maxsize=65536)
def _expression(expr):
    return str(expr)


class _Symbols:
    """The symbolic sizes of the graph, and torch's facts about them."""

    def __init__(self):
        self._env = None
        self._symbols = {}

    def text(self, value):
        node = value.node
        if not hasattr(node, "expr"):
            return f"{type(value).__name__} {node}"
        expr = node.expr
        self._env = node.shape_env
        for symbol in expr.free_symbols:
            self._symbols.setdefault(symbol.name, symbol)
        hint = node.hint if node.has_hint() else None
        size_class = hint.bit_length() if type(hint) is int else "?"
        return f"{type(value).__name__} {_expression(expr)} ~{size_class}"

    def lines(self):
        """Ranges, replacements and guards, which determine which sizes are equal, divisible or in range."""
        env = self._env
        if env is None:
            return
        for name, symbol in sorted(self._symbols.items()):
            bounds = env.var_to_range.get(symbol)
            yield f"{name} in {bounds.lower}..{bounds.upper}" if bounds is not None else name
        yield from sorted(f"{_expression(old)} is {_expression(new)}" for old, new in env.replacements.items())
        yield from sorted(_expression(expr) for expr in getattr(env, "divisible", ()))
        yield from (_expression(guard.expr) for guard in env.guards)
