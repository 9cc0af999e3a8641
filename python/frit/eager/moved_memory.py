"""Operators that give a tensor other memory, as `untyped_storage().resize_()` and `x.data = y` do.

A plan holds the address of each argument from the beginning of a call to its end, and returns views of memory that it knows. Neither holds after
such an operator, so a graph with one runs as it was traced.
"""

import functools

import torch

# torch.Tag.inplace_view marks ATen's. These are registered from Python, without the tag.
_OF_OTHERS = {"resize_storage_bytes_", "set_"}


@functools.lru_cache(maxsize=4096)
def moves_memory(target):
    """Whether the target of a node of a functional graph is an operator that gives its first argument other memory."""
    if not isinstance(target, torch._ops.OpOverload):
        return False
    return torch.Tag.inplace_view in target.tags or target._schema.name.rpartition("::")[2] in _OF_OTHERS
