"""`numerics="batch-invariant"`: products, attention, convolutions and group norms whose rows have bits that do not depend on the other rows.

frit's own kernels add in an order that follows from a row alone in this mode (`frit.batch_invariant` in the compiler). Libraries do not: they choose an
algorithm by all sizes. So their operators are decomposed, before they are captured, into those of runtime/torch/RowOperators.cpp, and the rest into
operators that become kernels. The gradients of weights are sums over all rows, which no row owns; they stay as they are.
"""

import functools

import torch
from torch._prims_common import suggest_memory_format

from .decompositions import LazyTable, decomposition_table

aten = torch.ops.aten
_HALF = (torch.float16, torch.bfloat16)

#: What is left to ATen in other modes too, and works on each row or element by itself, in an order that does not depend on the others.
ROW_BY_ROW = frozenset(
    "sort argsort topk kthvalue cumsum cumprod cummax cummin logcumsumexp searchsorted bucketize nonzero masked_select index index_put index_put_ "
    "_index_put_impl_ index_select index_copy index_fill gather scatter take embedding one_hot repeat_interleave copy copy_ clone _to_copy view "
    "_unsafe_view as_strided expand permute transpose slice select split split_with_sizes cat stack pad constant_pad_nd im2col col2im unfold "
    "max_pool2d_with_indices max_pool2d_with_indices_backward avg_pool2d avg_pool2d_backward _adaptive_avg_pool2d adaptive_max_pool2d "
    "upsample_nearest2d upsample_bilinear2d grid_sampler_2d rand randn randint randperm rand_like randn_like bernoulli native_dropout "
    "exponential uniform normal item _local_scalar_dense sym_size scalar_tensor full fill detach alias sgn sign polygamma igamma erfinv".split()
)


def is_row_by_row(name):
    """Whether a call such as "aten.sort.default" or one of frit's keeps the contract."""
    namespace, operator, *_ = name.split(".")
    return namespace == "frit" or operator in ROW_BY_ROW


def has_kernel():
    """Whether the runtime's kernel for products runs on this machine."""
    return torch.backends.cpu.get_cpu_capability() in ("AVX2", "AVX512")


def _matrices(left, right):
    """left @ right of matrices or batches of them, with one rounding to the type of the operands; NotImplemented for types without rounding."""
    if left.device.type != "cpu" or not left.dtype.is_floating_point or left.dtype != right.dtype:
        return NotImplemented
    if left.dtype in _HALF:
        return _matrices(left.float(), right.float()).to(left.dtype)
    if left.dtype != torch.float64 and has_kernel():
        return torch.ops.frit.row_product(left, right)
    # Kernels add along the dim that is contiguous in the weight of an nn.Linear.
    if isinstance(right.stride(-2), int) and right.stride(-2) == 1:
        return (left.unsqueeze(-2) * right.transpose(-2, -1).unsqueeze(-3)).sum(-1)
    return (left.unsqueeze(-1) * right.unsqueeze(-3)).sum(-2)


def _with_addend(added, left, right, *, beta=1, alpha=1):
    if left.dtype in _HALF and left.dtype == right.dtype:
        # One rounding, as in eager.
        result = _with_addend(added.float(), left.float(), right.float(), beta=beta, alpha=alpha)
        return result if result is NotImplemented else result.to(left.dtype)
    product = _matrices(left, right)
    if product is NotImplemented:
        return NotImplemented
    product = product if alpha == 1 else product * alpha
    return product if beta == 0 else product + (added if beta == 1 else added * beta)


def _scores(query, key, causal, mask, scale):
    scores = _matrices(query, key.transpose(-2, -1))
    scores = scores * (query.shape[-1] ** -0.5 if scale is None else scale)
    if causal:
        rows, columns = (torch.arange(one.shape[-2], device=one.device) for one in (query, key))
        scores = torch.where(rows[:, None] >= columns, scores, float("-inf"))
    if mask is None:
        return scores
    return torch.where(mask, scores, float("-inf")) if mask.dtype == torch.bool else scores + mask


def _heads(shared, query):
    """Keys or values with a head for each of the query's, which may share one."""
    groups = query.shape[1] // shared.shape[1]
    return shared if groups == 1 else shared.unsqueeze(2).expand(-1, -1, groups, -1, -1).flatten(1, 2)


def _attention(query, key, value, dropout_p=0.0, is_causal=False, *, attn_mask=None, scale=None):
    """The result and the logarithms of the sums of exponentials, which nothing reads without gradients."""
    if dropout_p or not query.dtype.is_floating_point:
        return NotImplemented
    q, k, v = (one.float() if query.dtype in _HALF else one for one in (query, _heads(key, query), _heads(value, query)))
    scores = _scores(q, k, is_causal, attn_mask, scale)
    sums = scores.logsumexp(-1)
    if q.dtype == torch.float32 and has_kernel():
        mask = attn_mask
        if mask is not None:
            mask = torch.where(mask, 0.0, float("-inf")) if mask.dtype == torch.bool else mask.float()
        result = torch.ops.frit.row_attention(q, k, v, mask, is_causal, query.shape[-1] ** -0.5 if scale is None else scale)
    else:
        # A row without any key is 0 in eager, not NaN.
        result = _matrices(torch.where(sums.unsqueeze(-1) == float("-inf"), 0.0, (scores - sums.unsqueeze(-1)).exp()), v)
    return result.to(query.dtype), sums


def _attention_backward(gradient, query, key, value, out, logsumexp, dropout_p, is_causal, *, attn_mask=None, scale=None):
    if dropout_p or not query.dtype.is_floating_point:
        return NotImplemented
    half = query.dtype in _HALF
    gradient, q, k, v, o = (one.float() if half else one for one in (gradient, query, _heads(key, query), _heads(value, query), out))
    scores = _scores(q, k, is_causal, attn_mask, scale)
    sums = logsumexp.to(scores.dtype).unsqueeze(-1)
    weights = torch.where(sums == float("-inf"), 0.0, (scores - sums).exp())
    of_value = _matrices(weights.transpose(-2, -1), gradient)
    of_weights = _matrices(gradient, v.transpose(-2, -1))
    of_scores = weights * (of_weights - (gradient * o).sum(-1, keepdim=True)) * (query.shape[-1] ** -0.5 if scale is None else scale)
    of_query, of_key = _matrices(of_scores, k), _matrices(of_scores.transpose(-2, -1), q)
    of_key, of_value = (one.unflatten(1, (key.shape[1], -1)).sum(2) for one in (of_key, of_value))
    return of_query.to(query.dtype), of_key.to(query.dtype), of_value.to(query.dtype)


def _convolution(images, weight, bias, *how):
    if images.device.type != "cpu" or not images.dtype.is_floating_point:
        return NotImplemented
    result = torch.ops.frit.row_convolution(images, weight, bias, *how)
    order = suggest_memory_format(images)
    return result if order == torch.contiguous_format else result.contiguous(memory_format=order)


def _convolution_backward(gradient, images, weight, bias_sizes, stride, padding, dilation, transposed, output_padding, groups, wanted):
    if images.device.type != "cpu" or not images.dtype.is_floating_point or not wanted[0]:
        return NotImplemented
    how = stride, padding, dilation, transposed, output_padding, groups
    # The gradient of a convolution is a transposed one, and the other way round.
    rest = [
        size - ((after - 1) * step - 2 * border + apart * (width - 1) + 1)
        for size, after, width, step, border, apart in zip(images.shape[2:], gradient.shape[2:], weight.shape[2:], stride, padding, dilation, strict=True)
    ]
    of_images = _convolution(gradient, weight, None, stride, padding, dilation, not transposed, [0] * len(rest) if transposed else rest, groups)
    of_weight = of_bias = None
    if any(wanted[1:]):
        _, of_weight, of_bias = aten.convolution_backward(gradient, images, weight, bias_sizes, *how, [False, *wanted[1:]])
    return of_images, of_weight, of_bias


def _group_norm(images, weight, bias, samples, channels, pixels, groups, eps):
    """The compiler has a rule, but leaves the operator to ATen where sizes vary and it cannot prove that the groups are equal and the memory in order. Here
    both are guards, so graphs for all sizes compute alike."""
    if any(one is not None and one.dtype != images.dtype for one in (weight, bias)):
        return decomposition_table()[aten.native_group_norm.default](images, weight, bias, samples, channels, pixels, groups, eps)
    order = suggest_memory_format(images) if images.dim() == 4 else torch.contiguous_format
    refused = channels % groups != 0 or not images.is_contiguous(memory_format=order) or images.numel() == 0
    if images.device.type != "cpu" or not images.dtype.is_floating_point or refused:
        return NotImplemented
    x = (images.float() if images.dtype in _HALF else images).reshape(samples, groups, channels // groups, pixels)
    variance, mean = torch.var_mean(x, (2, 3), correction=0, keepdim=True)
    rstd = (variance + eps).rsqrt()
    result = ((x - mean) * rstd).reshape(images.shape)
    for parameter, combine in ((weight, torch.mul), (bias, torch.add)):
        if parameter is not None:
            result = combine(result, parameter.reshape(-1, *[1] * (images.dim() - 2)))
    return result.to(images.dtype).contiguous(memory_format=order), *(one.reshape(samples, groups).to(images.dtype) for one in (mean, rstd))


DECOMPOSITIONS = {
    aten.mm.default: _matrices,
    aten.bmm.default: _matrices,
    aten.addmm.default: _with_addend,
    aten.baddbmm.default: _with_addend,
    aten._scaled_dot_product_flash_attention_for_cpu.default: _attention,
    aten._scaled_dot_product_flash_attention_for_cpu_backward.default: _attention_backward,
    aten.native_group_norm.default: _group_norm,
    aten.convolution.default: _convolution,
    aten.convolution_backward.default: _convolution_backward,
}


class RowTable(LazyTable):
    """The table of decompositions, with those of this file."""

    @functools.cached_property
    def data(self):
        """The table."""
        register_shapes()
        return {**decomposition_table(), **DECOMPOSITIONS}


@functools.cache
def register_shapes():
    """Tells torch the shapes of the runtime's operators, which the native library must have registered."""

    @torch.library.register_fake("frit::row_product")
    def _(left, right):
        return left.new_empty([*left.shape[:-1], right.shape[-1]])

    @torch.library.register_fake("frit::row_attention")
    def _(query, *_):
        return torch.empty_like(query)

    @torch.library.register_fake("frit::row_convolution")
    def _(images, weight, bias, *how):
        return images.new_empty(aten.convolution(images, weight, bias, *how).shape)
