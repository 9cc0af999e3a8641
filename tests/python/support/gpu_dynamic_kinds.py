"""The kinds of GPU kernels with dynamic sizes; the others, and the functions for all of them, are in gpu_kinds.py."""

import torch
import torch.nn.functional as F
from gpu_kinds import BLOCKS, F32, kind, shape


@kind(dynamic=True)
def dynamic_gelu(s):
    return lambda x, b: F.gelu(x + b), [s.randn(*shape(s, 16384, 4096)), s.randn(4096)]


@kind(dynamic=True)
def dynamic_channels(s):
    """Rows of odd length and a number for each row: an element has three indices."""
    return lambda x, w: F.relu(x * w[None, :, None]), [s.randn(8 if s.small else 256, 64, 55 * 55), s.randn(64)]


@kind(dynamic=True, **BLOCKS)
def dynamic_pairs(s):
    """Sums of all pairs of rows, flattened: a row of the result has two indices."""
    rows = 40 if s.small else 512
    return lambda x, y, z: (x[:, None] + y).flatten(0, 1) * z, [s.randn(rows, 257), s.randn(rows + 1, 257), s.randn(rows * (rows + 1), 257)]


@kind(dynamic=True)
def dynamic_repeat(s):
    """Repeated rows, so many copies of each that reading a row again costs nothing."""
    rows = s.rows(16384)
    return lambda x, y, n: x.repeat(1, n.shape[0]) * y, [s.randn(rows, 63), s.randn(rows, 63 * 65), s.randn(65)]


@kind(dynamic=True)
def dynamic_flat(s):
    """A number for each row with a flat operand: the row comes from dividing the only index."""
    rows, columns = shape(s, 16384, 4095)
    return lambda x, b, w: F.relu(x * b[:, None]).flatten() * w, [s.randn(rows, columns), s.randn(rows), s.randn(rows * columns)]


@kind(dynamic=True)
def dynamic_flat_transpose(s):
    rows, columns = shape(s, 8192, 4096)
    return lambda x, y: x.t().flatten() + y, [s.randn(rows, columns, dtype=F32), s.randn(rows * columns, dtype=F32)]


@kind(dynamic=True)
def dynamic_softmax(s):
    return lambda x: torch.softmax(x, -1), [s.randn(*shape(s, 16384, 4096))]


@kind(dynamic=True)
def dynamic_sums(s):
    return lambda x: (x.sum(-1), x.amax(-1)), [s.randn(*shape(s, 16384, 4096), dtype=F32)]


@kind(dynamic=True, **BLOCKS)
def dynamic_column_sum(s):
    return lambda x: x.sum(0), [s.randn(*shape(s, 16384, 4096), dtype=F32)]


@kind(dynamic=True, **BLOCKS)
def dynamic_full_channels(s):
    """A full reduction over elements with three indices."""
    return lambda x, w: (x * w[None, :, None]).sum(), [s.randn(8 if s.small else 256, 64, 55 * 55, dtype=F32), s.randn(64, dtype=F32)]


@kind(dynamic=True)
def dynamic_rows_of_channels(s):
    """Reduced dims on both sides of the kept dim."""
    return lambda x, w: (x * w[:, None]).sum((0, 2)), [s.randn(16, s.rows(16384), 255, dtype=F32), s.randn(s.rows(16384), dtype=F32)]


@kind(dynamic=True)
def dynamic_softmax_of_channels(s):
    return lambda x, w: torch.softmax((x * w[:, None]).flatten(1), -1), [s.randn(s.rows(16384), 64, 63, dtype=F32), s.randn(64, dtype=F32)]


@kind(dynamic=True, **BLOCKS)
def dynamic_column_sum_of_channels(s):
    return lambda x, w: (x * w[:, None]).sum((0, 1)), [s.randn(s.rows(256), 64, 4096, dtype=F32), s.randn(s.rows(256), 4096, dtype=F32)]


@kind(dynamic=True, **BLOCKS)
def dynamic_argmax(s):
    return lambda x: x.argmax(), [s.randn(*shape(s, 16384, 64), dtype=F32)]


# Rows that are read several times: of odd length, of several operands, in more sweeps.
@kind(dynamic=True)
def dynamic_softmax_odd(s):
    return lambda x: torch.softmax(x, -1), [s.randn(*shape(s, 16384, 4095))]


@kind(dynamic=True)
def dynamic_softmax_wide(s):
    return lambda x: torch.softmax(x, -1), [s.randn(*shape(s, 16384, 16384))]


@kind(dynamic=True)
def dynamic_layer_norm_odd(s):
    return lambda x, w, b: F.layer_norm(x, x.shape[-1:], w, b), [s.randn(*shape(s, 16384, 5001)), s.randn(5001), s.randn(5001)]


def add_rms_norm(s, columns):
    def function(x, y, w):
        z = x + y
        return z, F.rms_norm(z, z.shape[-1:], w)

    return function, [s.randn(*shape(s, 16384, columns)), s.randn(*shape(s, 16384, columns)), s.randn(columns)]


@kind(dynamic=True)
def dynamic_add_rms_norm(s):
    return add_rms_norm(s, 4096)


@kind(dynamic=True)
def dynamic_add_rms_norm_odd(s):
    return add_rms_norm(s, 4095)


@kind(dynamic=True)
def dynamic_masked_softmax(s):
    rows, columns = shape(s, 16384, 8192)
    mask = torch.ones(rows, columns, dtype=torch.bool)
    return lambda x, m: torch.softmax(x.masked_fill(~m, float("-inf")) * 0.125, -1), [s.randn(rows, columns), mask]


# The same without the first column: full vectors at odd strides and addresses.
@kind(dynamic=True)
def dynamic_softmax_of_slice(s):
    return lambda x: torch.softmax(x, -1), [s.randn(*shape(s, 16384, 4097))[:, 1:]]


@kind(dynamic=True)
def dynamic_softmax_of_wide_slice(s):
    return lambda x: torch.softmax(x, -1), [s.randn(*shape(s, 16384, 16385))[:, 1:]]


@kind(dynamic=True)
def dynamic_layer_norm_of_slice(s):
    return lambda x, w, b: F.layer_norm(x, x.shape[-1:], w, b), [s.randn(*shape(s, 16384, 5001))[:, 1:], s.randn(5000), s.randn(5000)]


@kind(dynamic=True)
def dynamic_masked_softmax_of_slice(s):
    rows, columns = shape(s, 16384, 8193)
    mask = torch.ones(rows, columns, dtype=torch.bool)
    return lambda x, m: torch.softmax(x.masked_fill(~m, float("-inf")) * 0.125, -1), [s.randn(rows, columns)[:, 1:], mask[:, 1:]]
