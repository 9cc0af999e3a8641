"""The memory that calls of ATen allocate on the CPU beside the results that the plan has, where it is known.

Tests measure each entry (tests/python/sizes/test_workspaces.py, test_library_workspaces.py). Those of attention, dropout and operators that take nothing
are exact. The others are the most that a call takes: what oneDNN does depends on the CPU, what LAPACK asks for on its version, and whether an operand is
copied on its strides. Memory that a library takes from the system itself (MKL) is not torch's and is not counted. The workspace of an operator that is not
listed is unknown; `frit.memory` names such operators.
"""

import math

from . import traffic

_FLOATS, _HALVES, _INTEGERS = ("F32", "F64"), ("F16", "BF16"), ("I64", "I32", "I16", "I8", "U8", "Bool")
_COMPLEX = ("C64", "C128")
#: The block sizes of torch's attention (`aten/src/ATen/native/cpu/FlashAttentionKernel.cpp`): (from this number of rows on, rows of a block), and
#: keys.
_ROWS = ((768, 256), (192, 64), (0, 32))
_KEYS = 512



def _names(text):
    return frozenset("aten." + name for name in text.split())


#: Operators that allocate their results and nothing else, whatever the types.
_NOTHING = _names("""
    _conj.default _to_copy.default alias.default arange.start_step as_strided.default as_strided_copy.default as_strided_scatter.default
    bernoulli.p cat.default clone.default complex.default constant_pad_nd.default cummax.default cummin.default cumprod.default cumsum.default
    diagonal_scatter.default empty.memory_format full.default linspace.default linspace.Scalar_Tensor linspace.Tensor_Scalar linspace.Tensor_Tensor
    logcumsumexp.default logspace.default logspace.Scalar_Tensor logspace.Tensor_Scalar logspace.Tensor_Tensor nonzero_static.default permute.default
    rand.default randint.low randn.default select_scatter.default slice.Tensor slice_scatter.default squeeze.dims take.default topk.default
    tril_indices.default triu_indices.default unbind_copy.int unfold.default view_as_real.default
""")
#: Operators that do so if their operands are contiguous and indices have 64 bits; otherwise they copy operands.
_CONTIGUOUS = _names("""
    avg_pool2d.default embedding.default gather.default index.Tensor index_select.default max_pool2d_with_indices.default
    max_pool2d_with_indices_backward.default
""")
#: Elementwise operators: nothing, if all operands have one type of floats. Other operands are converted first.
_ELEMENTWISE = _names("""
    _conj_physical.default angle.default copysign.Tensor digamma.default erfinv.default fmax.default fmin.default frexp.Tensor hypot.default i0.default
    igamma.default igammac.default nextafter.default polar.default polygamma.default signbit.default special_airy_ai.default
    special_bessel_j0.default special_bessel_j1.default special_bessel_y0.default special_bessel_y1.default special_chebyshev_polynomial_t.default
    special_chebyshev_polynomial_u.default special_chebyshev_polynomial_v.default special_chebyshev_polynomial_w.default special_erfcx.default
    special_hermite_polynomial_h.default special_hermite_polynomial_he.default special_i0e.default special_i1.default special_i1e.default
    special_laguerre_polynomial_l.default special_legendre_polynomial_p.default special_modified_bessel_i0.default special_modified_bessel_i1.default
    special_modified_bessel_k0.default special_modified_bessel_k1.default special_ndtri.default special_scaled_modified_bessel_k0.default
    special_scaled_modified_bessel_k1.default special_shifted_chebyshev_polynomial_t.default special_shifted_chebyshev_polynomial_u.default
    special_shifted_chebyshev_polynomial_v.default special_shifted_chebyshev_polynomial_w.default special_spherical_bessel_j0.default special_zeta.default
""")
#: Operators that take at most so many bytes for each byte of their operands and results, and `_SMALL` beside it, for operands of f32, f64, integers and
#: booleans: copies of operands that are not contiguous, and what libraries (LAPACK, pocketfft) ask for.
_SMALL = 64 << 10
_COPIES = {
    1: _names("""
        _adaptive_avg_pool2d.default _adaptive_avg_pool3d.default _embedding_bag_forward_only.default _histogramdd_bin_edges.default
        _histogramdd_from_bin_cts.default _histogramdd_from_bin_tensors.default _linalg_check_errors.default _linalg_det.default _linalg_slogdet.default
        _linalg_solve_ex.default _pdist_forward.default _trilinear.default _upsample_bilinear2d_aa.default adaptive_max_pool2d.default
        adaptive_max_pool3d.default addbmm.default avg_pool3d.default binary_cross_entropy.default bucketize.Tensor cholesky.default
        cholesky_inverse.default cholesky_solve.default dist.default geqrf.default grid_sampler_2d.default grid_sampler_3d.default histc.default
        histogram.bin_ct histogram.bins_tensor im2col.default index_add_.default index_copy_.default index_fill_.int_Scalar index_fill_.int_Tensor
        index_put_.default linalg_cholesky_ex.default linalg_householder_product.default linalg_inv_ex.default linalg_ldl_factor_ex.default
        linalg_ldl_solve.default linalg_lu.default linalg_lu_factor_ex.default linalg_lu_solve.default linalg_solve_triangular.default log_sigmoid_forward.default
        lu_unpack.default masked_scatter_.default max_pool3d_with_indices.default max_unpool2d.default ormqr.default narrow_copy.default put_.default scatter_.reduce
        scatter_.src scatter_add_.default scatter_reduce_.two searchsorted.Tensor sort.default sort.stable triangular_solve.default
    """),
    2: _names("""
        _cdist_forward.default _fft_c2c.default _fft_c2r.default _fft_r2c.default _linalg_eigh.default _linalg_svd.default bincount.default index_reduce.default
        linalg_pinv.atol_rtol_tensor linalg_qr.default median.default median.dim mode.default nanmedian.default nanmedian.dim segment_reduce.default
    """),
    3: _names("kthvalue.default linalg_eig.default"),
    7: _names("linalg_matrix_exp.default"),
}  # fmt: skip
_FACTORS = {name: factor for factor, names in _COPIES.items() for name in names}
#: Operators that do so for f32 and f64; half types go to oneDNN, which may copy them, at most into f32.
_PRODUCTS = frozenset(f"aten.{name}.default" for name in ("mm", "addmm", "bmm", "baddbmm", "mv", "addmv"))
#: oneDNN stores channels in blocks of at most so many, by type; what a thread needs is below this number of bytes.
_CHANNELS, _PER_THREAD = {"F32": 16, "F16": 64, "BF16": 64}, 256 << 10


def _copies(call):
    """The bytes of copies of the operands and results, and of what does not depend on their sizes."""
    operands = sum(math.prod(sizes) * traffic.width(dtype) for sizes, dtype in zip(call.sizes, call.dtypes))
    results = sum(map(math.prod, filter(None, call.results))) * traffic.width(call.dtypes[0]) if call.dtypes else 0
    return _FACTORS[call.operator] * (operands + results) + _SMALL


def _converted(call):
    """The bytes of operands that are made contiguous, and of indices that are made 64 bits wide."""
    needed = zip(call.sizes, call.dtypes, call.is_contiguous)
    return sum(math.prod(sizes) * max(traffic.width(dtype), 8 if dtype == "I32" else 0) for sizes, dtype, whole in needed if not whole or dtype == "I32")


def _unused(call):
    """The bytes of results that the plan does not have: at most 64 bits for each element of the first operand, whose matrices may be made square."""
    sizes = call.sizes[0]
    elements = math.prod(sizes[:-2]) * max(sizes[-2:]) ** 2 if "linalg" in call.operator and len(sizes) > 1 else math.prod(sizes)
    return 8 * elements * call.results.count(None)


def _attention(call):
    """The bytes of the logsumexp if no result is made of it, and of each thread's block of rows and keys. The runtime's own attention needs
    neither."""
    (batch, heads, rows, width), keys = call.sizes[0], call.sizes[1][2]
    held = min(rows, next(split for least, split in _ROWS if rows >= least))
    element = traffic.width(call.dtypes[0])
    own = call.threads * held * (min(keys, _KEYS) + 2 + width) * element
    return own + (0 if call.results[1] is not None else batch * heads * rows * element)


def _attention_backward(call):
    """The bytes of each thread's block of scores and of their gradients, of a row of sums, and of the gradient in the order of heads."""
    (batch, heads, rows, width), keys = call.sizes[1], call.sizes[2][2]
    held = min(rows, next(split for least, split in _ROWS if rows >= least))
    element = traffic.width(call.dtypes[0])
    return element * (2 * call.threads * held * min(keys, _KEYS) + batch * heads * rows * width + held)


def _dropout(call):
    """The bytes of the mask before it is multiplied with the factor."""
    return math.prod(call.sizes[0]) * traffic.width(call.dtypes[0])


def _embedding_backward(call):
    """The bytes of 64-bit indices, and of the gradient if it is not contiguous."""
    indices = 0 if call.dtypes[1] == "I64" else 8 * math.prod(call.sizes[1])
    return indices + (0 if call.is_contiguous[0] else math.prod(call.sizes[0]) * traffic.width(call.dtypes[0]))


def _product(call):
    """The bytes of copies of the operands and of the result."""
    return 4 * sum(map(math.prod, (*call.sizes, *filter(None, call.results)))) + call.threads * _PER_THREAD


def _blocks(call, channels):
    """The channels of whole blocks."""
    block = _CHANNELS[call.dtypes[0]]
    return -(-channels // block) * block


def _convolution_operands(call, image, filters, result):
    """The bytes of the image, with the zeros around it, of the filters and of the result in oneDNN's layout, at most. Channels fill whole blocks; those
    of filters do in each group, unless it has one channel. Half types may be stored as f32."""
    padding = call.padding or [0]
    padded = [size + 2 * padding[min(dim, len(padding) - 1)] for dim, size in enumerate(image[2:])]
    outer, inner = filters[0] // max(1, call.groups), filters[1]
    pairs = _blocks(call, call.groups) if outer == inner == 1 else call.groups * _blocks(call, outer) * _blocks(call, inner)
    sizes = (
        image[0] * _blocks(call, image[1]) * math.prod(padded), pairs * math.prod(filters[2:]), result[0] * _blocks(call, result[1]) * math.prod(result[2:])
    )  # fmt: skip
    return [4 * size for size in sizes]


def _columns(image, filters, result):
    """The bytes of what torch's own kernel needs for f64: each element under each position of the filters, and copies of the groups' operands."""
    return 8 * (image[0] * image[1] * math.prod(filters[2:]) * math.prod(result[2:]) + sum(map(math.prod, (image, filters, result))))


def _convolution(call):
    operands = call.sizes[0], call.sizes[1], call.results[0]
    if call.dtypes[0] == "F64":
        return _columns(*operands)
    library = sum(_convolution_operands(call, *operands)) + call.threads * _PER_THREAD
    return max(library, _columns(*operands)) if call.dtypes[0] in _HALVES else library  # a CPU may have no kernel of oneDNN for them


def _own_convolution(call):
    """Where ATen computes it, zeros are written around the image, and the result is limited into another tensor."""
    image, _, result = _convolution_operands(call, call.sizes[0], call.sizes[1], call.results[0])
    return _convolution(call) + image + result


def _convolution_backward(call):
    """Each gradient is computed in oneDNN's layout from two operands, and that of the filters by each thread."""
    gradient, image, filters = call.sizes[:3]
    if call.dtypes[0] == "F64":
        return _columns(image, filters, gradient) + 8 * sum(map(math.prod, (image, filters, gradient)))
    own = _columns(image, filters, gradient) if call.dtypes[0] in _HALVES else 0
    image, filters, gradient = _convolution_operands(call, image, filters, gradient)
    return max(own, 2 * (image + gradient) + (2 + call.threads) * filters + call.threads * _PER_THREAD)


_OF_FLOATS = {
    "aten._scaled_dot_product_flash_attention_for_cpu.default": _attention,
    "aten._scaled_dot_product_flash_attention_for_cpu_backward.default": _attention_backward,
    "aten.embedding_dense_backward.default": _embedding_backward,
    "aten.native_dropout.default": _dropout,
}
#: What counts their memory, and the number of the argument that says how many zeros are around the image.
_CONVOLUTIONS = {
    "aten.convolution.default": (_convolution, 4),
    "aten.convolution_backward.default": (_convolution_backward, 5),
    "frit.convolution.default": (_own_convolution, 4),
}


class Call:
    """A call of ATen at the sizes of its tensors.

    `sizes`, `dtypes` and `is_contiguous` are of the tensors that it reads, `results` are the sizes of its results, None for those that the plan does
    not have, and `threads` are those of torch. `padding` says how many zeros a convolution has around its image, for each dim.
    """

    def __init__(self, operator, sizes, dtypes, results, threads, is_contiguous=None, padding=(), groups=1):
        self.operator, self.sizes, self.dtypes, self.results, self.threads = operator, sizes, dtypes, results, threads
        self.is_contiguous, self.padding, self.groups = is_contiguous or [True] * len(sizes), list(padding), groups


def is_known(operator, dtypes):
    """Whether the workspace of an operator is known for operands of these types."""
    if operator in _NOTHING or operator in _CONTIGUOUS:
        return True
    if operator in _ELEMENTWISE:
        return len(set(dtypes)) == 1 and dtypes[0] in (*_FLOATS, *_HALVES, *_COMPLEX)
    if operator in _FACTORS:
        return set(dtypes) <= {*_FLOATS, *_COMPLEX, *_INTEGERS}
    kinds = set(dtypes[:1] if operator == "aten.embedding_dense_backward.default" else dtypes[:3])
    if operator in _PRODUCTS or operator in _CONVOLUTIONS:
        return len(kinds) == 1 and kinds <= {*_FLOATS, *_HALVES}
    return operator in _OF_FLOATS and kinds <= set(_FLOATS)


def is_fixed(operator, dtypes, is_contiguous, results):
    """Whether the workspace is nothing, whatever the sizes. `results` holds None for those that the plan does not have."""
    if operator in _PRODUCTS:
        return set(dtypes) <= set(_FLOATS)
    if None in results:
        return False
    return operator in _NOTHING or operator in _ELEMENTWISE or operator in _CONTIGUOUS and all(is_contiguous) and "I32" not in dtypes


def options_of(operator, arguments):
    """The `padding` and `groups` of a Call, from the arguments of a step of the plan."""
    if operator not in _CONVOLUTIONS:
        return {}
    number = _CONVOLUTIONS[operator][1]
    return {"padding": [one["integer"] for one in arguments[number]["items"]], "groups": arguments[number + 4]["integer"]}


def workspace(call):
    """The bytes of a call whose workspace is known."""
    if is_fixed(call.operator, call.dtypes, call.is_contiguous, call.results):
        return 0
    if call.operator in _PRODUCTS:
        return _product(call)
    if call.operator in _FACTORS:
        return _copies(call) + _unused(call)
    if call.operator in _CONTIGUOUS:
        return _converted(call) + _unused(call)
    if call.operator in _NOTHING or call.operator in _ELEMENTWISE:
        return _unused(call)
    return _CONVOLUTIONS[call.operator][0](call) if call.operator in _CONVOLUTIONS else _OF_FLOATS[call.operator](call)
