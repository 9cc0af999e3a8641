"""The codes of the torch.export schema that capture writes.

They belong to the file format (`torch/_export/serde/schema.py`) and not to torch's Python API, so they are
repeated here; a test compares them with the installed torch.
"""

import math
import operator

import torch

SCHEMA_VERSION = (8, 20)

DTYPES = {
    torch.uint8: 1,
    torch.int8: 2,
    torch.int16: 3,
    torch.int32: 4,
    torch.int64: 5,
    torch.float16: 6,
    torch.float32: 7,
    torch.float64: 8,
    torch.complex32: 9,
    torch.complex64: 10,
    torch.complex128: 11,
    torch.bool: 12,
    torch.bfloat16: 13,
    torch.uint16: 28,
    torch.float8_e4m3fn: 29,
    torch.float8_e5m2: 30,
    torch.float8_e4m3fnuz: 31,
    torch.float8_e5m2fnuz: 32,
    torch.float8_e8m0fnu: 33,
    torch.uint32: 34,
    torch.uint64: 35,
}

# Types of the schema that a plan cannot hold.
REFUSED_DTYPES = {torch.float8_e8m0fnu}

# The types of devices on which a plan can run.
DEVICES = ("cpu", "cuda")

LAYOUTS = {
    torch.sparse_coo: 1,
    torch.sparse_csr: 2,
    torch.sparse_csc: 3,
    torch.sparse_bsr: 4,
    torch.sparse_bsc: 5,
    torch.strided: 7,
}

MEMORY_FORMATS = {
    torch.contiguous_format: 1,
    torch.channels_last: 2,
    torch.channels_last_3d: 3,
    torch.preserve_format: 4,
}

# Functions on symbolic scalars that the schema names, with their argument names (None: those of the Python function).
SCALAR_OPERATORS = dict.fromkeys(
    [
        operator.eq,
        operator.ne,
        operator.le,
        operator.ge,
        operator.lt,
        operator.gt,
        operator.neg,
        operator.pos,
        operator.mul,
        operator.add,
        operator.sub,
        operator.floordiv,
        operator.mod,
        operator.pow,
        operator.truediv,
        operator.and_,
        operator.or_,
        operator.lshift,
        operator.rshift,
        math.trunc,
        torch.sym_not,
        torch.sym_int,
        torch.sym_float,
        torch.sym_ite,
        torch.sym_max,
        torch.sym_min,
        torch.sym_sqrt,
    ]
)

# Further functions that frit's importer accepts.
OTHER_SCALAR_OPERATORS = dict.fromkeys([math.floor, math.ceil, round, abs], ("x",)) | {
    getattr(torch, f"_sym_{name}"): None for name in ("cos", "cosh", "sin", "sinh", "tan", "tanh", "asin", "acos", "atan", "log2")
}


def tensor_text(quoted):
    """The argument that is a tensor with this name, which is JSON already."""
    return f'{{"as_tensor":{{"name":{quoted}}}}}'
