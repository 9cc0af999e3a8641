"""The type to which the operands of an operator promote."""

import torch
from torch._prims_common import ELEMENTWISE_TYPE_PROMOTION_KIND, elementwise_dtypes

_NUMBERS = (bool, int, float, complex, torch.SymInt, torch.SymFloat, torch.SymBool)


def operand_dtype(op, args, kwargs, scalars=True):
    """The type in which an ATen call computes: its argument `dtype`, or the promoted type of its positional tensors and scalars (`Scalar` in the
    schema, not `int` and the like); None without tensors. Keyword-only scalars (`alpha`, `value`) do not take part in promotion; with
    `scalars=False` no scalar does."""
    if kwargs.get("dtype") is not None:
        return kwargs["dtype"]
    operands = []
    for argument, value in zip(op._schema.arguments, args):
        if isinstance(value, torch.Tensor):
            operands.append(value)
        elif isinstance(value, (list, tuple)):
            operands += [one for one in value if isinstance(one, torch.Tensor)]
        elif scalars and isinstance(value, _NUMBERS) and str(argument.type) in ("number", "Scalar", "Optional[number]", "Optional[Scalar]"):
            operands.append(value)
    if not any(isinstance(one, torch.Tensor) for one in operands):
        return None
    return elementwise_dtypes(*operands, type_promotion_kind=ELEMENTWISE_TYPE_PROMOTION_KIND.NO_OPMATH)[1]
