"""Operators that give a tensor other memory, as `untyped_storage().resize_()` and `x.data = y` do.

A plan holds the address of each argument from the beginning of a call to its end, and returns views of memory that it knows. Neither holds after
such an operator, so a graph with one runs as it was traced.
"""

import torch

from .by_operator import by_operator

# torch.Tag.inplace_view marks ATen's. These are registered from Python, without the tag.
_OF_OTHERS = {"resize_storage_bytes_", "set_"}


@by_operator
def moves_memory(op):
    """Whether an operator of a functional graph gives its first argument other memory."""
    return torch.Tag.inplace_view in op.tags or op._schema.name.rpartition("::")[2] in _OF_OTHERS
