"""The memory that calls of ATen allocate on the CPU beside the results that the plan has, where it is known.

A test measures each entry (tests/python/sizes/test_memory.py). Memory that a library takes from the system itself (MKL, oneDNN) is not torch's and is
not counted. The workspace of an operator that is not listed is unknown; `frit.memory` names such operators.
"""

_FLOATS = ("F32", "F64")
#: The block sizes of torch's attention (`aten/src/ATen/native/cpu/FlashAttentionKernel.cpp`): (from this number of rows on, rows of a block), and
#: keys.
_ROWS = ((768, 256), (192, 64), (0, 32))
_KEYS = 512

#: Operators that allocate their results and nothing else, whatever the types.
_NOTHING = frozenset(
    "aten." + name
    for name in (
        "alias.default", "arange.start_step", "cat.default", "clone.default", "cumsum.default", "embedding.default", "empty.memory_format",
        "full.default", "gather.default", "index_select.default", "rand.default", "randn.default",
    )
)
#: Operators that do so for f32 and f64; half types go to oneDNN, which takes scratch memory from torch.
_PRODUCTS = frozenset(("aten.mm.default", "aten.addmm.default", "aten.bmm.default", "aten.baddbmm.default"))


def _attention(call):
    """The bytes of the logsumexp if no result is made of it, and of each thread's block of rows and keys. The runtime's own attention needs
    neither."""
    (batch, heads, rows, width), keys = call.sizes[0], call.sizes[1][2]
    held = min(rows, next(split for least, split in _ROWS if rows >= least))
    element = 8 if call.dtypes[0] == "F64" else 4
    own = call.threads * held * (min(keys, _KEYS) + 2 + width) * element
    return own + (0 if call.has_result[1] else batch * heads * rows * element)


_OF_FLOATS = {"aten._scaled_dot_product_flash_attention_for_cpu.default": _attention}


class Call:
    """A call of ATen at the sizes of its tensors: `sizes` and `dtypes` of the tensors that it reads, and which results the plan has."""

    def __init__(self, operator, sizes, dtypes, has_result, threads):
        self.operator, self.sizes, self.dtypes, self.has_result, self.threads = operator, sizes, dtypes, has_result, threads


def is_known(operator, dtypes):
    """Whether the workspace of an operator is known for operands of these types."""
    return operator in _NOTHING or (operator in _PRODUCTS or operator in _OF_FLOATS) and all(dtype in _FLOATS for dtype in dtypes[:3])


def is_fixed(operator):
    """Whether the workspace is nothing, whatever the sizes."""
    return operator in _NOTHING or operator in _PRODUCTS


def workspace(call):
    """The bytes of a call whose workspace is known."""
    return 0 if is_fixed(call.operator) else _OF_FLOATS[call.operator](call)
