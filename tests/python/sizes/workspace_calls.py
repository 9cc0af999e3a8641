"""What calls of ATen's operators allocate, beside what the table of workspaces says."""

import torch
from torch.utils import _pytree as pytree

from benchmarks.measure import peak_bytes
from frit.inspect import workspaces

NAMES = {
    torch.float32: "F32", torch.float64: "F64", torch.float16: "F16", torch.bfloat16: "BF16", torch.int64: "I64", torch.int32: "I32", torch.bool: "Bool",
    torch.uint8: "U8", torch.complex64: "C64",
}  # fmt: skip


def tensors(values):
    return [one for one in pytree.tree_leaves(values) if isinstance(one, torch.Tensor)]


def taken_and_said(function, args, kwargs, **options):
    """What a call allocates beside its results, and what the table says; None if it does not know the operator for these operands."""
    given = tensors((args, kwargs))
    if str(function) == "aten._pdist_forward.default" and not given[0].is_contiguous():
        return None  # torch refuses it
    storages = {one.untyped_storage().data_ptr() for one in given}
    results = function(*args, **kwargs)
    own = {one.untyped_storage().data_ptr(): one.untyped_storage().nbytes() for one in tensors(results)}
    kept = sum(size for place, size in own.items() if place not in storages)
    sizes = [list(one.shape) for one in tensors(results)]
    del results
    operator, dtypes = str(function), [NAMES[one.dtype] for one in given]
    if not workspaces.is_known(operator, dtypes):
        return None
    call = workspaces.Call(operator, [list(one.shape) for one in given], dtypes, sizes, torch.get_num_threads(), [one.is_contiguous() for one in given], **options)
    return peak_bytes(lambda: function(*args, **kwargs)) - kept, workspaces.workspace(call)
