"""Operators whose fake kernels or decompositions give another result dtype than eager if the operands' dtypes differ.

torch's rules promote the operands. Some of eager's kernels write into a result of the first tensor's dtype instead, and some promote where their fake
kernels do not. A plan relies on the traced dtypes, so they are corrected here. `tests/python/eager/test_eager_dtypes.py` compares them with eager's.
"""

import functools

import torch

aten = torch.ops.aten


def _of_self(rule, position, *args, **kwargs):
    """Corrects an operator whose kernel in eager computes in the promoted dtype and writes a result like `self`."""
    result = rule(*args, **kwargs)
    return result if result is NotImplemented or result.dtype == args[position].dtype else result.to(args[position].dtype)


def _promoted(op, rule, *args, **kwargs):
    """Corrects an operator whose kernel in eager computes in the promoted dtype and returns it."""
    tensors = [x for x in args if isinstance(x, torch.Tensor)]
    if len({x.dtype for x in tensors}) == 1:
        return rule(*args, **kwargs)
    dtype = functools.reduce(torch.promote_types, [x.dtype for x in tensors])
    args = [x.to(dtype) if isinstance(x, torch.Tensor) else x for x in args]
    result = rule(*args, **kwargs)
    return op(*args, **kwargs) if result is NotImplemented else result


def _power(base, exponent):
    """Eager's power of booleans to the power of a boolean is a boolean; torch's rule promotes to int64."""
    if base.dtype == torch.bool and isinstance(exponent, bool):
        return base.clone() if exponent else torch.ones_like(base)
    return NotImplemented


# operator -> the position of `self` among its arguments
OF_SELF = {
    aten.huber_loss.default: 0,
    aten.mish_backward.default: 1,
    aten.mse_loss_backward.default: 1,
    aten.smooth_l1_loss_backward.default: 1,
    aten.soft_margin_loss.default: 0,
    aten.soft_margin_loss_backward.default: 1,
}


def decompositions(table):
    """OpOverload -> decomposition. They replace entries of `table` and call the replaced rules."""
    corrected = {op: functools.partial(_of_self, table[op], position) for op, position in OF_SELF.items()}
    corrected[aten.pow.Tensor_Scalar] = _power
    return corrected | {op: functools.partial(_promoted, op, table[op]) for op in (aten.addr.default, aten.threshold_backward.default)}
