"""Steps that only Python can run.

A node the export schema cannot say (an unknown higher-order operator, a Python object among the
arguments) becomes an operator of its own, registered with torch under `frit_callback::`. The
compiler and the runtime then see one more opaque operator, called through the dispatcher like any
other. Each is counted and named, and lives as long as the compiled graph that calls it.
"""

import itertools
import re

import torch
import torch.utils._pytree as pytree

_NUMBERS = itertools.count()
_LEAF = {
    torch.Tensor: "Tensor",
    torch.SymInt: "SymInt",
    int: "SymInt",
    torch.SymFloat: "float",
    float: "float",
    torch.SymBool: "bool",
    bool: "bool",
}


def _leaf_type(value):
    if isinstance(value, torch.Tensor):
        return "Tensor"
    return _LEAF.get(type(value))


class Callback:
    """One such operator: how to call it (`op`, `operands`) and how its results map to the node's."""

    def __init__(self, node, owner):
        leaves, self._call_spec = pytree.tree_flatten((list(node.args), dict(node.kwargs)))
        self.operands = []
        self._leaves = []
        arguments = []
        for leaf in leaves:
            if isinstance(leaf, torch.fx.Node) and leaf.op == "get_attr":
                self._leaves.append(_attribute(owner, leaf.target))
            elif isinstance(leaf, torch.fx.Node):
                arguments.append(f"{_leaf_type(leaf.meta['val'])} a{len(self.operands)}")
                self._leaves.append(_Operand(len(self.operands)))
                self.operands.append(leaf)
            else:
                self._leaves.append(leaf)
        self._target = node.target
        results, self._result_spec = pytree.tree_flatten(node.meta.get("val"))
        self._kept = [i for i, value in enumerate(results) if _leaf_type(value)]
        returns = [_leaf_type(results[i]) for i in self._kept]
        shown = getattr(node.target, "__name__", str(node.target))
        self.name = re.sub(r"\W", "_", str(shown))
        signature = f"{self.name}_{next(_NUMBERS)}"
        returned = returns[0] if len(returns) == 1 else f"({', '.join(returns)})"
        self._library = torch.library.Library("frit_callback", "FRAGMENT")
        self._library.define(f"{signature}({', '.join(arguments)}) -> {returned}")
        self._library.impl(signature, self._run, "CompositeExplicitAutograd")
        self.op = getattr(torch.ops.frit_callback, signature).default

    def result_paths(self):
        """For each result of the operator its path inside the node's value."""
        spec = pytree.tree_unflatten(list(range(self._result_spec.num_leaves)), self._result_spec)
        paths = {}
        pending = [((), spec)]
        while pending:
            path, value = pending.pop()
            if isinstance(value, dict):
                pending.extend((path + (key,), item) for key, item in value.items())
            elif isinstance(value, (list, tuple)):
                pending.extend((path + (i,), item) for i, item in enumerate(value))
            else:
                paths[value] = path
        return [paths[i] for i in self._kept]

    def _run(self, *operands):
        leaves = [operands[leaf.index] if isinstance(leaf, _Operand) else leaf for leaf in self._leaves]
        args, kwargs = pytree.tree_unflatten(leaves, self._call_spec)
        results = pytree.tree_leaves(self._target(*args, **kwargs))
        kept = [_unaliased(results[i], operands) for i in self._kept]
        return kept[0] if len(kept) == 1 else tuple(kept)


class _Operand:
    """The place of a run-time operand among the leaves of a call."""

    def __init__(self, index):
        self.index = index


def _attribute(owner, path):
    for name in path.split("."):
        owner = getattr(owner, name)
    return owner


def _unaliased(value, operands):
    """The operator's schema promises fresh results; a higher-order operator may return an operand."""
    if not isinstance(value, torch.Tensor):
        return value
    taken = {x.untyped_storage()._cdata for x in operands if isinstance(x, torch.Tensor)}
    return value.clone() if value.untyped_storage()._cdata in taken else value
