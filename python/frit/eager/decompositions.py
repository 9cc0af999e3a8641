"""The decomposition table frit hands to AOTAutograd.

It is torch's core-ATen table without the entries below, with those of `eager_strides` and `eager_dtypes` and a shorter `unbind`. An
entry is removed when the whole operator is worth more than its parts: torch has a fast kernel for it that the
parts would not meet again, the parts draw random numbers in another order than eager does, or tracing them costs
more than the compiler's own rule. What stays whole and has no rule is called through the dispatcher, with eager's own
result. `tests/python/eager/test_decompositions.py` holds the resulting list of names against a committed file, so that a new
torch cannot change it unseen.
"""

import functools

import torch

from .. import planted
from .dtypes import decompositions as with_eager_dtypes
from .promotion import operand_dtype
from .refusals import REFUSED
from .strides import decompositions as with_eager_strides

KEPT_WHOLE = {
    # attention: torch picks the fused kernel, and its backward needs the fused forward's results
    "aten._scaled_dot_product_flash_attention_for_cpu.default",
    # library calls and scatters with a kernel of their own
    "aten.baddbmm.default",
    "aten.embedding_dense_backward.default",
    "aten.index_add.default",
    "aten.index_copy.default",
    "aten.im2col.default",
    "aten.col2im.default",
    "aten.grid_sampler.default",
    # eager's error for a target out of range: the decomposed forms gather
    "aten.nll_loss_forward.default",
    "aten.nll_loss_backward.default",
    # eager's error for a probability out of range, and its words for an index: no part of the decomposed forms knows them
    "aten.binary_cross_entropy.default",
    "aten.index_fill.int_Scalar",
    "aten.index_fill.int_Tensor",
    "aten.take.default",
    # eager's rounding: the decomposed forms compute the points in another order
    *(f"aten.{name}space.{form}" for name in ("lin", "log") for form in ("default", "Tensor_Tensor", "Tensor_Scalar", "Scalar_Tensor")),
    # eager leaves strides alone where sizes stay, the decomposed form does not
    "aten.resize_as.default",
    # random numbers in eager's order
    "aten.bernoulli.default",
}

# The compiler has rules for these, and torch's take time: each backward formula would be traced as ten to twenty operators at a
# millisecond apiece, a view as two. Forward formulas are left to torch, whose partitioner recomputes the parts that it knows but
# saves the results of wholes.
LEGALISED_WHOLE = {
    "aten._log_softmax_backward_data.default",
    "aten._softmax_backward_data.default",
    # one rounding of eager's kernels that two operators would not have; torch's partitioner knows both
    "aten.addcmul.default",
    "aten.lerp.Scalar",
    "aten.lerp.Tensor",
    "aten.detach.default",
    "aten.elu_backward.default",
    "aten.gelu_backward.default",
    "aten.hardtanh_backward.default",
    "aten.leaky_relu_backward.default",
    "aten.select_scatter.default",
    "aten.native_layer_norm_backward.default",
    "aten.sigmoid_backward.default",
    "aten.silu_backward.default",
    "aten.softplus_backward.default",
    # the root of a variance that a float does not hold
    "aten.std.correction",
    "aten.std_mean.correction",
    "aten.t.default",
    "aten.tanh_backward.default",
    "aten.threshold_backward.default",
}


#: Elementwise operators that eager computes for operands of one type alone.
OF_ONE_TYPE = {torch.ops.aten.heaviside.default}
#: Input, then parameters and running statistics, then what is no tensor; the result, then statistics.
NORMS = (
    torch.ops.aten.native_layer_norm.default,
    torch.ops.aten.native_group_norm.default,
    torch.ops.aten.native_batch_norm.default,
    torch.ops.aten._native_batch_norm_legit.default,
    torch.ops.aten._native_batch_norm_legit.no_stats,
    torch.ops.aten._native_batch_norm_legit_functional.default,
    torch.ops.aten._native_batch_norm_legit_no_training.default,
)
#: Types that kernels of frit's do not compute in, but for complex numbers, whose parts they do.
CALLED = {torch.uint16, torch.uint32, torch.uint64} | {x for name, x in vars(torch).items() if name.startswith("float8_")}

ONE_SIXTH = torch.tensor(1 / 6, dtype=torch.float32, device="cpu").item()


@functools.cache
def decomposition_table():
    """OpOverload -> decomposition; computed once a process, never modified."""
    from torch._decomp import core_aten_decompositions

    # Other namespaces come and go with what the process has imported.
    table = {
        op: rule
        for op, rule in core_aten_decompositions().items()
        if op.namespace == "aten" and str(op) not in KEPT_WHOLE | LEGALISED_WHOLE
    }
    table[torch.ops.aten.hardsigmoid_backward.default] = _hardsigmoid_backward
    table[torch.ops.aten.smooth_l1_loss_backward.default] = _smooth_l1_loss_backward
    table.update(with_eager_strides(table))
    table[torch.ops.aten.soft_margin_loss_backward.default] = _soft_margin_loss_backward
    table.update(with_eager_dtypes(table))
    table[torch.ops.aten.unbind.int] = _unbind
    for op in NORMS:
        table[op] = functools.partial(_in_the_type_of_parameters, op, table.get(op))
    table[torch.ops.aten.native_dropout_backward.default] = _native_dropout_backward
    table = {op: functools.partial(_where_it_helps, op, rule, *_refused(op)) for op, rule in table.items()}
    planted.plant_decompositions(table)
    return table


def _refused(op):
    """Whether scalars promote, and the types that eager's kernel refuses."""
    scalars, names = REFUSED.get(str(op), (True, ""))
    return scalars, frozenset(getattr(torch, name) for name in names.split())


def _where_it_helps(op, rule, scalars, refused, /, *args, **kwargs):
    """Not where eager's kernel refuses the type: its error is the program's. Nor of types that no kernel of frit's computes in: all parts would be
    calls, and eager lacks some of those calls."""
    tensors = [x for x in args if isinstance(x, torch.Tensor)]
    if any(x.dtype in CALLED for x in tensors) or (op in OF_ONE_TYPE and len({x.dtype for x in tensors}) > 1):
        return NotImplemented
    if refused and tensors and tensors[0].device.type == "cpu" and operand_dtype(op, args, kwargs, scalars) in refused:
        return NotImplemented
    return rule(*args, **kwargs)


def _unbind(x, dim=0):
    """The selects that torch's own rule arrives at by way of splits and squeezes, twice as many operators."""
    return [x.select(dim, number) for number in range(x.shape[dim])]


def _soft_margin_loss_backward(grad_output, x, target, reduction):
    """As eager's kernel computes it: torch's rule takes 1 from a sigmoid, which cancels where the margin is large."""
    z = (-target * x).exp()
    norm = 1 / x.numel() if reduction == 1 and x.numel() else 1  # 1: the mean
    return (target * z * -norm / (z + 1)) * grad_output


def _hardsigmoid_backward(grad_output, x):
    """With eager's sixth, which is of single precision in double precision, too."""
    return torch.where((x > -3) & (x < 3), grad_output * ONE_SIXTH, 0.0)


def _smooth_l1_loss_backward(grad_output, x, target, reduction, beta):
    """As eager's kernel computes it, NaN for NaN: torch's rule takes the sign of a difference that is none, which is 0."""
    difference = x - target
    norm = 1 / x.numel() if reduction == 1 and x.numel() else 1  # 1: the mean
    scaled = norm * grad_output
    inner = norm * difference * grad_output / beta if beta else torch.full_like(difference, float("nan"))
    return torch.where(difference <= -beta, -scaled, torch.where(difference >= beta, scaled, inner))


def _in_the_type_of_parameters(op, rule, x, *args, **kwargs):
    """Low precision in, parameters of higher precision (autocast): eager's statistics on CPUs have the parameters' type, and its backward asks for
    that, but fake tensors say the input's."""
    dtype = next((one.dtype for one in args if isinstance(one, torch.Tensor)), x.dtype)
    if dtype == x.dtype or x.device.type != "cpu":
        return NotImplemented if rule is None else rule(x, *args, **kwargs)
    if x.dtype not in (torch.bfloat16, torch.float16) or dtype != torch.float32:
        return NotImplemented  # which eager refuses
    result, *statistics = op(x.to(dtype), *args, **kwargs)
    return result.to(x.dtype), *statistics


def _native_dropout_backward(grad, mask, scale):
    """Eager's formula on CPUs, with its strides and roundings; torch's rule has those of the CUDA kernel."""
    return grad * mask * scale
