"""Values that a plan cannot hold, and where they are while a graph runs.

A plan holds strided tensors of the schema's types on a CPU or a GPU, and numbers. A graph may hold more: quantised, sparse, mkldnn and
meta tensors, types of a few bits, generators, process groups and other objects of Python, sizes of ragged tensors that are no
numbers. Such a value stays in Python: it lies in the table of the call, under a number of its own, and the Python steps
(`callbacks.py`) that make or read it look there. The plan sees nothing in its place.
"""

import threading

import torch

from .schema import DEVICES, DTYPES, REFUSED_DTYPES

_CALLS = threading.local()
_OF_MODES = (torch._C.DispatchKey.Python, torch._C.DispatchKey.PythonTLSSnapshot)


def why_opaque(value):
    """Why a plan cannot hold a value of a graph, as traced; None where it can."""
    if isinstance(value, torch.Tensor):
        if value.layout is not torch.strided:
            return f"tensors of layout {value.layout} are not supported"
        if value.dtype not in DTYPES or value.dtype in REFUSED_DTYPES:
            return f"tensors of type {value.dtype} are not supported"
        if value.device.type not in DEVICES:
            return f"tensors on device {value.device.type!r} are not supported"
        return None
    if isinstance(value, torch.SymInt):
        return "sizes of ragged tensors are not numbers" if _is_ragged(value) else None
    if value is None or isinstance(value, (bool, int, float, str, torch.SymFloat, torch.SymBool)):
        return None
    return f"values of type {type(value).__name__} are not supported"


def _is_ragged(value):
    """Whether a size stands for the sizes of many rows (torch's nested integers)."""
    node = value.node
    if node.is_nested_int():
        return True
    return hasattr(node, "expr") and isinstance(getattr(node, "_hint", None), torch.SymInt)


class Inexpressible(Exception):
    """Why a node has no text in the export schema: it becomes a step in Python."""

    def __str__(self):
        return super().__str__() or "its arguments have no text in the export schema"


class Slot:
    """The place of an opaque value among the operands or results of a step. `is_quantised`: what torch says of it as traced is wrong."""

    def __init__(self, number, why, is_quantised=False):
        self.number = number
        self.why = why
        self.is_quantised = is_quantised


_QUANTISED = {torch.qint8, torch.quint8, torch.qint32, torch.quint4x2, torch.quint2x4}
_OF_QUANTISED = {"dequantize", "int_repr", "q_per_channel_scales", "q_per_channel_zero_points"}


def gives_quantised(target, leaves):
    """Whether an operator may return a quantised tensor: fake tensors have no such types and say that it is of floats. A wrong yes
    costs a step in Python."""
    name, _, _ = getattr(target, "_opname", getattr(target, "__name__", "")).partition(".")
    if name in _OF_QUANTISED:
        return False
    if any(isinstance(leaf, Slot) and leaf.is_quantised for leaf in leaves):
        return True
    return getattr(target, "namespace", "") == "quantized" or any(leaf in _QUANTISED for leaf in leaves if isinstance(leaf, torch.dtype))


class Call:
    """The table of one call, and what the dispatcher left out when it began: a step in Python runs as the graph would run by itself."""

    def __init__(self, table):
        self.table = table
        self.excluded = torch._C._dispatch_tls_local_exclude_set()

    def outside(self):
        """The dispatcher as it was when the compiled graph was called: below autograd, transforms of functions do not work. What a mode in Python
        that watches the step has switched off for its own time stays so."""
        included, excluded = torch._C._dispatch_tls_local_include_set(), self.excluded
        now = torch._C._dispatch_tls_local_exclude_set()
        for key in _OF_MODES:
            excluded = excluded.add(key) if now.has(key) else excluded.remove(key)
        return torch._C._ForceDispatchKeyGuard(included, excluded)


def current():
    """The innermost call of this thread."""
    return _CALLS.stack[-1]


def with_table(executable, captured):
    """`executable` for a graph with Python steps: the same boxed convention. Opaque arguments go into the table of the call and opaque
    results come from there. The steps live as long as the function, which is what calls them."""
    arguments, results = captured.opaque_inputs, captured.opaque_results

    def run(args, _callbacks=captured.callbacks):
        call = Call({**captured.opaque_constants, **{number: args[position] for position, number in arguments.items()}})
        for position in arguments:
            args[position] = None
        stack = _CALLS.__dict__.setdefault("stack", [])
        stack.append(call)
        try:
            values = executable(args)
        finally:
            stack.pop()
        if results:
            values = list(values)
            for position, number in results.items():
                values[position] = call.table[number]
        return values

    run._boxed_call = True
    return run
