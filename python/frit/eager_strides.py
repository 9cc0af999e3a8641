"""Operators whose fake kernels promise other strides than eager gives, and decompositions that mend the promise.

Graph results, and every `as_strided` behind such an operator, mean eager's strides: with the fake ones an
`as_strided` reads other elements. Each decomposition keeps the operator and puts the layout behind it, as a copy in
another order between two permutes; legalisation makes a view of that and fusion nothing at all.
`tests/python/test_eager_strides.py` holds fake strides against eager's over all operators that are legalised, so a
torch that mends one of these, or breaks another, is seen.
"""

import functools
import threading

import torch

aten = torch.ops.aten
_nested = threading.local()


def _contiguous(_, x):
    return torch.empty_like(x, memory_format=torch.contiguous_format)


def _format(x):
    channels_last = x.dim() == 4 and x.is_contiguous(memory_format=torch.channels_last) and not x.is_contiguous()
    return torch.channels_last if channels_last else torch.contiguous_format


def _suggested(x, *_):
    return torch.empty_like(x, memory_format=_format(x))


def _rolled(x, shifts, dims=()):
    # Two pieces joined; over the flat tensor they are rows.
    return _suggested(x) if dims else _contiguous(None, x)


def _sum(x, y, **_):
    return x + y


def _angle(x):
    return _contiguous(None, x) if x.is_complex() else x


def _unpooled(x, indices, output_size):
    return torch.empty_like(x.new_empty((*x.shape[:-2], *output_size)), memory_format=_format(x))


# operator -> a function of its arguments whose (first) result has eager's strides
EAGER_LAYOUT = {
    aten.angle.default: _angle,
    aten.log_sigmoid_forward.default: functools.partial(_contiguous, None),
    aten.pow.Scalar: _contiguous,
    aten.heaviside.default: _sum,
    aten.logaddexp.default: _sum,
    aten.logaddexp2.default: _sum,
    aten.logical_and.default: _sum,
    aten.logical_or.default: _sum,
    aten.logical_xor.default: _sum,
    aten.div.Tensor_mode: _sum,
    aten.floor_divide.default: _sum,
    aten._native_batch_norm_legit_no_training.default: _suggested,
    aten.max_unpool2d.default: _unpooled,
    # As an operator of its own, and not as pieces whose lengths would be guarded.
    aten.roll.default: _rolled,
}


def _relaid(x, like):
    """`x` with the strides of `like`, which is dense."""
    from torch._prims_common import compute_elementwise_output_logical_to_physical_perm
    from torch.fx.experimental.proxy_tensor import disable_proxy_modes_tracing

    with disable_proxy_modes_tracing():
        order, _ = compute_elementwise_output_logical_to_physical_perm(like)
    back = sorted(range(x.dim()), key=order.__getitem__)
    return x.permute(order).contiguous().permute(back)


def _keeping(op, layout, *args, **kwargs):
    from torch.fx.experimental.proxy_tensor import disable_proxy_modes_tracing

    if getattr(_nested, "active", False):
        return NotImplemented
    with disable_proxy_modes_tracing():
        like = layout(*args, **kwargs)
    _nested.active = True
    try:
        result = op(*args, **kwargs)
    finally:
        _nested.active = False
    several = isinstance(result, (tuple, list))
    first = result[0] if several else result
    with disable_proxy_modes_tracing():  # symbolic strides of `like` have no place in the graph
        kept = first.dim() < 2 or first.stride() == like.stride()
    if kept:
        return result
    relaid = _relaid(first, like)
    return (relaid, *result[1:]) if several else relaid


def decompositions():
    """OpOverload -> decomposition, to be laid over torch's table."""
    table = {op: functools.partial(_keeping, op, layout) for op, layout in EAGER_LAYOUT.items()}
    return table
