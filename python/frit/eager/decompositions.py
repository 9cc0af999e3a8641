"""The decomposition table that frit passes to AOTAutograd.

It is torch's core-ATen table without the entries below, with those of `strides.py` and `dtypes.py` and a shorter `unbind`. An entry is
removed if the operator is better not decomposed: torch has a fast kernel for it, its parts draw random numbers in another order than eager,
or tracing them takes longer than the compiler's own rule. An operator that is not decomposed and has no rule is called through the dispatcher,
with eager's own result. `tests/python/eager/test_decompositions.py` compares the resulting names with a committed file, so that a change in a
new torch is noticed.
"""

import collections
import functools
import math
import operator
import re

import torch
from torch._prims_common import is_contiguous_or_false
from torch.fx.experimental.symbolic_shapes import statically_known_true as known
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils._pytree import tree_map_only

from .. import planted
from .dtypes import decompositions as with_eager_dtypes
from .promotion import operand_dtype
from .refusals import REFUSED
from .strides import decompositions as with_eager_strides

KEPT_WHOLE = {
    # attention: torch picks the fused kernel, and its backward needs the fused forward's results
    "aten._scaled_dot_product_flash_attention_for_cpu.default",
    # library calls, and scatters for which torch has a kernel
    "aten.baddbmm.default",
    "aten.embedding_dense_backward.default",
    "aten.index_add.default",
    "aten.index_copy.default",
    "aten.im2col.default",
    "aten.col2im.default",
    "aten.grid_sampler.default",
    # eager's error for a target out of range: the decomposed forms would raise gather's
    "aten.nll_loss_forward.default",
    "aten.nll_loss_backward.default",
    # eager's errors for a probability or an index out of range, which no part of the decomposed forms raises
    "aten.binary_cross_entropy.default",
    "aten.index_fill.int_Scalar",
    "aten.index_fill.int_Tensor",
    "aten.take.default",
    # eager's rounding: the decomposed forms compute the points in another order
    *(f"aten.{name}space.{form}" for name in ("lin", "log") for form in ("default", "Tensor_Tensor", "Tensor_Scalar", "Scalar_Tensor")),
    # eager preserves the strides if the sizes do not change, the decomposed form does not
    "aten.resize_as.default",
    # random numbers in eager's order
    "aten.bernoulli.default",
}

# The compiler has rules for these, and tracing torch's decompositions takes time: a backward formula has ten to twenty operators of a
# millisecond each, a view two. Forward formulas stay decomposed: the partitioner recomputes operators that it knows, but saves the result
# of an operator that it does not know.
LEGALISED_WHOLE = {
    "aten._log_softmax_backward_data.default",
    "aten._softmax_backward_data.default",
    # eager's kernels round once where two operators would round twice; torch's partitioner knows these
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
    # the variance may overflow a float where its root does not
    "aten.std.correction",
    "aten.std_mean.correction",
    "aten.t.default",
    "aten.tanh_backward.default",
    "aten.threshold_backward.default",
    # a view that autograd does not take for one; decomposed it would be one
    "aten._unsafe_view.default",
}


#: Norms. Their arguments are the input, parameters and running statistics, then values that are not tensors; their results are the normalised tensor,
#: then statistics.
NORMS = (
    torch.ops.aten.native_layer_norm.default,
    torch.ops.aten.native_group_norm.default,
    torch.ops.aten.native_batch_norm.default,
    torch.ops.aten._native_batch_norm_legit.default,
    torch.ops.aten._native_batch_norm_legit.no_stats,
    torch.ops.aten._native_batch_norm_legit_functional.default,
    torch.ops.aten._native_batch_norm_legit_no_training.default,
)
#: Types in which frit's kernels do not compute. Complex types are not listed, because kernels compute their parts.
CALLED = {torch.uint16, torch.uint32, torch.uint64} | {x for name, x in vars(torch).items() if name.startswith("float8_")}

ONE_SIXTH = torch.tensor(1 / 6, dtype=torch.float32, device="cpu").item()


@functools.cache
def decomposition_table():
    """OpOverload -> decomposition; computed once per process, never modified."""
    from torch._decomp import core_aten_decompositions

    # Only aten, because the other namespaces depend on what the process has imported. Torch's table has aten from the beginning, and looks
    # through all namespaces when it is read.
    found = core_aten_decompositions()
    table = {
        op: rule
        for op, rule in getattr(found, "decomp_table", found).items()
        if op.namespace == "aten" and str(op) not in KEPT_WHOLE | LEGALISED_WHOLE
    }
    table[torch.ops.aten.hardsigmoid_backward.default] = _hardsigmoid_backward
    table[torch.ops.aten.logit_backward.default] = _logit_backward
    table[torch.ops.aten.smooth_l1_loss_backward.default] = _smooth_l1_loss_backward
    if _forgets_negative_dims():
        table[torch.ops.aten.linalg_vector_norm.default] = _vector_norm
    table[torch.ops.aten.logsumexp.default] = functools.partial(_logsumexp, table[torch.ops.aten.logsumexp.default])
    table.update(with_eager_strides(table))
    table[torch.ops.aten.soft_margin_loss_backward.default] = _soft_margin_loss_backward
    table.update(with_eager_dtypes(table))
    table[torch.ops.aten.unbind.int] = _unbind
    table[torch.ops.aten.split.Tensor] = functools.partial(_split, table[torch.ops.aten.split.Tensor])
    table[torch.ops.aten.nll_loss2d_forward.default] = _nll_loss2d_forward
    table[torch.ops.aten.as_strided_scatter.default] = _as_strided_scatter
    for op in NORMS:
        table[op] = functools.partial(_in_the_type_of_parameters, op, table.get(op))
    table[torch.ops.aten.native_dropout_backward.default] = _native_dropout_backward
    table = {op: functools.partial(_unless_refused, op, rule, *_refused(op)) for op, rule in table.items()}
    planted.plant_decompositions(table)
    return table


def _nll_loss2d_forward(self, target, weight, reduction, ignore_index):
    """Stays whole, because decomposed forms would raise gather's error for a target out of range. Losses of single elements are contiguous in eager; the
    fake kernel gives them the strides of the target."""
    if is_contiguous_or_false(target):
        return NotImplemented
    return torch.ops.aten.nll_loss2d_forward.default(self, target.contiguous(), weight, reduction, ignore_index)


def _logsumexp(rule, x, dim, keepdim=False):
    """Eager reduces all dims if `dim` is empty, and then refuses the shape of its result."""
    return NotImplemented if x.dim() and not dim and not keepdim else rule(x, dim, keepdim)


class LazyTable(collections.UserDict):
    """`decomposition_table()`, made when AOTAutograd first looks an operator up: if nothing is traced, making it would take most of the time."""

    def __init__(self):
        pass  # `data` is the property

    @functools.cached_property
    def data(self):
        """The table."""
        return decomposition_table()


def _refused(op):
    """Whether scalars promote, and the types that eager's kernel refuses."""
    scalars, names = REFUSED.get(str(op), (True, ""))
    return scalars, frozenset(getattr(torch, name) for name in names.split())


def _unless_refused(op, rule, scalars, refused, /, *args, **kwargs):
    """Applies a decomposition, with two exceptions. If eager's kernel refuses the type, the operator is not decomposed, and raises eager's error. For
    types in which frit's kernels do not compute, all parts would be calls, and eager has no kernels for some of them."""
    tensors = [x for x in args if isinstance(x, torch.Tensor)]
    if any(x.dtype in CALLED for x in tensors) or _refuses_mixed_types(op, tensors, args, kwargs):
        return NotImplemented
    if refused and tensors and tensors[0].device.type == "cpu" and operand_dtype(op, args, kwargs, scalars) in refused:
        return NotImplemented
    return rule(*args, **kwargs)


#: What was found, by operator and by type and sizes of each tensor of the probe: whether eager's kernel refuses it.
_PROBED = {}


def _refuses_mixed_types(op, tensors, args, kwargs):
    """Whether eager's kernel refuses operands of several types, which decompositions and fake kernels promote. The kernel itself is asked, with tensors of
    at most three elements along each dim."""
    if len({x.dtype for x in tensors}) < 2 or tensors[0].device.type != "cpu" or torch.Tag.nondeterministic_seeded in op.tags:
        return False
    key = (op, *((x.dtype, *map(_few, x.shape)) for x in tensors))
    if key not in _PROBED:
        with _disable_current_modes(), torch.no_grad():
            # A kernel that got a symbol would put a guard on it.
            small, named = tree_map_only((torch.SymInt, torch.SymFloat, torch.SymBool), _few, tree_map_only(torch.Tensor, _small, (args, kwargs)))
            try:
                op(*small, **named)
                _PROBED[key] = False
            except Exception as error:
                _PROBED[key] = _OF_TYPES.search(str(error)) is not None
    return _PROBED[key]


#: What eager's errors about types say.
_OF_TYPES = re.compile(r"expected (scalar type|.*dtype)|(same|have|different) dtype", re.I)


def _few(number):
    """A number or symbol as a number of at most 3."""
    hint = number.node.hint if isinstance(number, (torch.SymInt, torch.SymFloat, torch.SymBool)) else number
    return 3 if hint is None else min(hint, 3)


def _small(x):
    """Ones; zeros for integers, which may be indices: some kernels do not check these."""
    make = torch.ones if x.is_floating_point() else torch.zeros
    return make([_few(size) for size in x.shape], dtype=x.dtype)


def _unbind(x, dim=0):
    """Decomposes to selects; torch's own rule reaches them through splits and squeezes, twice as many operators."""
    return [x.select(dim, number) for number in range(x.shape[dim])]


def _split(rule, x, size, dim=0):
    """The only part of an empty dim is a view in eager; torch's own rule detaches it."""
    return [torch.ops.aten.alias.default(x)] if size >= 0 and x.shape[dim] == 0 else rule(x, size, dim)


def _as_strided_scatter(x, source, size, stride, storage_offset=None):
    """Copies `source` if it replaces all of a vector, as in the backward of `adaptive_avg_pool2d(x, 1)` for images that are channels-last."""
    steps = [math.prod(size[dim + 1 :]) for dim in range(len(size))]
    lies_dense = len(stride) == len(size) and all(known(n == 1) or known(a == b) for n, a, b in zip(size, stride, steps))
    starts = known(x.storage_offset() == 0) and (storage_offset is None or known(storage_offset == 0))
    if x.ndim != 1 or not (lies_dense and starts and known(x.stride(0) == 1) and known(math.prod(size) == x.shape[0])):
        return NotImplemented
    if x.dtype != source.dtype or x.device != source.device or source.ndim != len(size) or not all(map(known, map(operator.eq, source.shape, size))):
        return NotImplemented
    return source.clone(memory_format=torch.contiguous_format).view(x.shape)


def _forgets_negative_dims():
    """Whether torch's shape of a vector norm is wrong for a negative dim of size 1, as in torch 2.11."""
    with _disable_current_modes():
        return torch._refs.linalg.vector_norm(torch.empty(1, 1, device="meta"), dim=[-1]).ndim == 2


def _vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None):
    if dim is None or x.ndim == 0 or all(each >= 0 for each in dim):
        return NotImplemented
    return torch.ops.aten.linalg_vector_norm.default(x, ord, [each % x.ndim for each in dim], keepdim, dtype=dtype)


def _soft_margin_loss_backward(grad_output, x, target, reduction):
    """Eager's formula; torch's rule subtracts 1 from a sigmoid, which cancels if the margin is large."""
    z = (-target * x).exp()
    norm = 1 / x.numel() if reduction == 1 and x.numel() else 1  # 1: the mean
    return (target * z * -norm / (z + 1)) * grad_output


def _hardsigmoid_backward(grad_output, x):
    """Eager's formula, in which 1/6 has single precision for double inputs too."""
    return torch.where((x > -3) & (x < 3), grad_output * ONE_SIXTH, 0.0)


def _logit_backward(grad_output, x, eps=None):
    """Eager's formula, whose infinity at 0 and 1 has the sign of the gradient; torch's rule divides by a zero, which may be -0."""
    slope = grad_output / (x * (1 - x))
    if eps is not None:
        return torch.where((x < eps) | (x > 1 - eps), 0.0, slope)
    return torch.where((x < 0) | (x > 1), float("nan"), torch.where((x == 0) | (x == 1), grad_output * float("inf"), slope))


def _smooth_l1_loss_backward(grad_output, x, target, reduction, beta):
    """Eager's formula, which gives NaN for NaN; torch's rule takes the sign of the NaN, which is 0."""
    difference = x - target
    norm = 1 / x.numel() if reduction == 1 and x.numel() else 1  # 1: the mean
    scaled = norm * grad_output
    inner = norm * difference * grad_output / beta if beta else torch.full_like(difference, float("nan"))
    return torch.where(difference <= -beta, -scaled, torch.where(difference >= beta, scaled, inner))


def _in_the_type_of_parameters(op, rule, x, *args, **kwargs):
    """Corrects a norm of a half-precision input with f32 parameters (autocast). On CPUs eager's statistics have the parameters' type, which its
    backward requires, but fake tensors have the input's."""
    dtype = next((one.dtype for one in args if isinstance(one, torch.Tensor)), x.dtype)
    if dtype == x.dtype or x.device.type != "cpu":
        return NotImplemented if rule is None else rule(x, *args, **kwargs)
    if x.dtype not in (torch.bfloat16, torch.float16) or dtype != torch.float32:
        return NotImplemented  # eager refuses these types
    result, *statistics = op(x.to(dtype), *args, **kwargs)
    return result.to(x.dtype), *statistics


def _native_dropout_backward(grad, mask, scale):
    """Eager's formula on CPUs, with its strides and roundings; torch's rule follows the CUDA kernel."""
    return grad * mask * scale
