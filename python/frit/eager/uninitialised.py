"""Operators that return uninitialised memory. The compiler fills it with zeros; with `torch.use_deterministic_algorithms` eager fills it with other
values."""

import torch

_aten = torch.ops.aten
_OPERATORS = (
    _aten.empty.memory_format,
    _aten.empty_like.default,
    _aten.empty_permuted.default,
    _aten.empty_strided.default,
    _aten.new_empty.default,
    _aten.new_empty_strided.default,
)
_BY_ID = frozenset(map(id, _OPERATORS))


def is_filled(node):
    """Whether eager may fill the uninitialised memory of the node's result, which it decides at each call. Dynamo guards the setting."""
    return id(node.target) in _BY_ID and torch.are_deterministic_algorithms_enabled()
