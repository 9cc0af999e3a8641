"""The memory that calls of ATen allocate on the CPU beside the results that the plan has, where it is known.

A test measures each entry (tests/python/sizes/test_workspaces.py). Entries are exact, but for those of convolutions, of products of half types and of
lookups' gradients with 32-bit indices: they are the most that oneDNN or torch needs, because what they do depends on the CPU. Memory that a library
takes from the system itself (MKL) is not torch's and is not counted. The workspace of an operator that is not listed is unknown; `frit.memory`
names such operators.
"""

import math

from . import traffic

_FLOATS, _HALVES = ("F32", "F64"), ("F16", "BF16")
#: The block sizes of torch's attention (`aten/src/ATen/native/cpu/FlashAttentionKernel.cpp`): (from this number of rows on, rows of a block), and
#: keys.
_ROWS = ((768, 256), (192, 64), (0, 32))
_KEYS = 512

#: Operators that allocate their results and nothing else, whatever the types.
_NOTHING = frozenset(
    "aten." + name
    for name in (
        "alias.default", "arange.start_step", "avg_pool2d.default", "bernoulli.p", "bincount.default", "cat.default", "clone.default",
        "cummax.default", "cumprod.default", "cumsum.default", "embedding.default", "empty.memory_format", "full.default", "gather.default",
        "index.Tensor", "index_select.default", "logcumsumexp.default", "max_pool2d_with_indices.default",
        "max_pool2d_with_indices_backward.default", "rand.default", "randint.low", "randn.default", "topk.default",
    )
)
#: Operators that do so for f32 and f64; half types go to oneDNN, which may copy them, at most into f32.
_PRODUCTS = frozenset(f"aten.{name}.default" for name in ("mm", "addmm", "bmm", "baddbmm", "mv", "addmv"))
#: oneDNN stores channels in blocks of at most so many, by type; what a thread needs is below this number of bytes.
_CHANNELS, _PER_THREAD = {"F32": 16, "F16": 64, "BF16": 64}, 256 << 10


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
    if operator in _NOTHING:
        return True
    kinds = set(dtypes[:1] if operator == "aten.embedding_dense_backward.default" else dtypes[:3])
    if operator in _PRODUCTS or operator in _CONVOLUTIONS:
        return len(kinds) == 1 and kinds <= {*_FLOATS, *_HALVES}
    return operator in _OF_FLOATS and kinds <= set(_FLOATS)


def is_fixed(operator, dtypes):
    """Whether the workspace is nothing, whatever the sizes."""
    return operator in _NOTHING or operator in _PRODUCTS and set(dtypes) <= set(_FLOATS)


def options_of(operator, arguments):
    """The `padding` and `groups` of a Call, from the arguments of a step of the plan."""
    if operator not in _CONVOLUTIONS:
        return {}
    number = _CONVOLUTIONS[operator][1]
    return {"padding": [one["integer"] for one in arguments[number]["items"]], "groups": arguments[number + 4]["integer"]}


def workspace(call):
    """The bytes of a call whose workspace is known."""
    if is_fixed(call.operator, call.dtypes):
        return 0
    if call.operator in _PRODUCTS:
        return _product(call)
    return _CONVOLUTIONS[call.operator][0](call) if call.operator in _CONVOLUTIONS else _OF_FLOATS[call.operator](call)
