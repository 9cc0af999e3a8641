"""Steps that only Python can run.

A node that the export schema cannot express (an unknown higher-order operator, a Python object among the arguments, a quantised result)
becomes an operator of its own, registered with torch under `frit_callback::`. The compiler and the runtime treat it like any unknown operator: it is
called through the dispatcher, and keeps its order among the operators with effects. Each step is counted and named, and lives as long as the compiled
graph that calls it.
"""

import functools
import itertools
import operator
import re

import torch
import torch.utils._pytree as pytree

from .opaque import Slot, current

_NUMBERS = itertools.count()
_SCALARS = {
    torch.SymInt: "SymInt",
    int: "SymInt",
    torch.SymFloat: "float",
    float: "float",
    torch.SymBool: "bool",
    bool: "bool",
}


def type_in_schema(value):
    """The schema's type name of a value that a plan can hold."""
    return "Tensor" if isinstance(value, torch.Tensor) else _SCALARS[type(value)]


class Operand:
    """Stands for a run-time operand among the leaves of a call."""

    def __init__(self, index):
        self.index = index


class Callback:
    """One Python step, registered as the operator `op`.

    `leaves` and `spec` are the arguments of `target` as a flat tree, in which Operand and Slot stand for run-time values; `operands` are the
    types of the Operands. `results` lists (path, what) of each value that is read: `what` is its type, or the Slot that gets it.
    """

    def __init__(self, target, why, leaves, spec, operands, results):
        self.why = why
        self.drops = ()  # numbers of the opaque values that are dead after this step
        self._target = target
        self._leaves = leaves
        self._spec = spec
        self._results = results
        returns = [what for _, what in results if not isinstance(what, Slot)]
        self._returns = len(returns)
        self.name = re.sub(r"\W", "_", str(getattr(target, "__name__", target)))
        signature = f"{self.name}_{next(_NUMBERS)}"
        arguments = ", ".join(f"{kind} a{number}" for number, kind in enumerate(operands))
        returned = returns[0] if len(returns) == 1 else f"({', '.join(returns)})"
        self._library = torch.library.Library("frit_callback", "FRAGMENT")
        self._library.define(f"{signature}({arguments}) -> {returned}")
        self._library.impl(signature, self._run, "CompositeExplicitAutograd")
        self.op = getattr(torch.ops.frit_callback, signature).default

    def _run(self, *operands):
        call = current()
        leaves = [self._at(leaf, operands, call.table) for leaf in self._leaves]
        args, kwargs = pytree.tree_unflatten(leaves, self._spec)
        with call.outside():
            value = self._target(*args, **kwargs)
            taken = {x for leaf in leaves for x in _storages(leaf)}
            given = []
            for path, what in self._results:
                part = _unaliased(functools.reduce(operator.getitem, path, value), taken)
                if isinstance(what, Slot):
                    call.table[what.number] = part
                else:
                    given.append(part)
        for number in self.drops:
            del call.table[number]
        if self._returns == 0:
            return None
        return given[0] if self._returns == 1 else tuple(given)

    @staticmethod
    def _at(leaf, operands, table):
        if isinstance(leaf, Operand):
            return operands[leaf.index]
        return table[leaf.number] if isinstance(leaf, Slot) else leaf


def writes_or_views(target, args, kwargs, is_held):
    """Whether an operator writes to, or returns a view of, a value that the plan holds (`is_held(node)`). It cannot become a Python step, which
    returns fresh results and writes nothing."""
    if not isinstance(target, torch._ops.OpOverload):
        return False
    given = dict(zip((argument.name for argument in target._schema.arguments), args)) | kwargs
    aliased = {argument.name for argument in target._schema.arguments if argument.alias_info is not None}
    return any(
        isinstance(leaf, torch.fx.Node) and is_held(leaf)
        for name in aliased & given.keys()
        for leaf in pytree.tree_leaves(given[name])
    )


def returns_views(target):
    """Whether an operator's results share the memory of its operands."""
    return isinstance(target, torch._ops.OpOverload) and any(result.alias_info is not None for result in target._schema.returns)


def _storages(value):
    """The storages of a value, as far as torch shows them."""
    if isinstance(value, torch.Tensor):
        try:
            return (value.untyped_storage()._cdata,)
        except (NotImplementedError, RuntimeError):
            pass
    return ()


def _unaliased(value, taken):
    """The value, copied if it shares memory with one of the storages `taken`: the step's schema promises fresh results, but a higher-order operator
    may return an operand, or one tensor twice."""
    mine = _storages(value)
    if taken.intersection(mine):
        return value.clone()
    taken.update(mine)
    return value
