"""Opaque values: values that a plan cannot hold, and the table that holds them while a graph runs.

A plan can hold strided tensors of the schema's types on a CPU or a GPU, and numbers. A graph may contain more: quantised, sparse, mkldnn and
meta tensors, types of a few bits, generators, process groups and other Python objects, and the nested integers that stand for sizes of ragged
tensors. Such a value stays in Python, in a table of the call under a number of its own; Python steps (`callbacks.py`) write and read it there. The
plan has None instead.
"""

import threading

import torch

from .schema import DEVICES, DTYPES, REFUSED_DTYPES

_CALLS = threading.local()
_OF_MODES = (torch._C.DispatchKey.Python, torch._C.DispatchKey.PythonTLSSnapshot)


def why_opaque(value):
    """Why a plan cannot hold a value of a graph, as traced; None if it can."""
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
    """Raised if the export schema cannot express a node, with the reason; the node becomes a Python step."""

    def __str__(self):
        return super().__str__() or "torch's export format cannot describe its arguments"


class Slot:
    """Stands for an opaque value among the operands or results of a step. `is_quantised`: the tensor is quantised, unlike its fake value."""

    def __init__(self, number, why, is_quantised=False):
        self.number = number
        self.why = why
        self.is_quantised = is_quantised


_QUANTISED = {torch.qint8, torch.quint8, torch.qint32, torch.quint4x2, torch.quint2x4}
_OF_QUANTISED = {"dequantize", "int_repr", "q_per_channel_scales", "q_per_channel_zero_points"}


def gives_quantised(target, leaves):
    """Whether an operator may return a quantised tensor. Fake tensors do not show this, because they have float types. A false positive costs only
    a Python step."""
    name, _, _ = getattr(target, "_opname", getattr(target, "__name__", "")).partition(".")
    if name in _OF_QUANTISED:
        return False
    if any(isinstance(leaf, Slot) and leaf.is_quantised for leaf in leaves):
        return True
    return getattr(target, "namespace", "") == "quantized" or any(leaf in _QUANTISED for leaf in leaves if isinstance(leaf, torch.dtype))


class Call:
    """The table of opaque values of one call, and the dispatch keys that were excluded when it began, under which Python steps run."""

    def __init__(self, table):
        self.table = table
        self.excluded = torch._C._dispatch_tls_local_exclude_set()

    def outside(self):
        """Restores the dispatcher's state at the beginning of the call, because function transforms do not work below autograd. Keys of Python modes
        keep their present state, since a mode that observes the step has disabled its own keys."""
        included, excluded = torch._C._dispatch_tls_local_include_set(), self.excluded
        now = torch._C._dispatch_tls_local_exclude_set()
        for key in _OF_MODES:
            excluded = excluded.add(key) if now.has(key) else excluded.remove(key)
        return torch._C._ForceDispatchKeyGuard(included, excluded)


def current():
    """The innermost call of this thread."""
    return _CALLS.stack[-1]


def with_table(executable, captured):
    """Wraps the executable of a graph with Python steps, with the same boxed convention. Opaque arguments go into the table of the call, and
    opaque results come from it. The returned function keeps the steps alive."""
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
