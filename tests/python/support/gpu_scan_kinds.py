"""The kinds of GPU kernels that scan; the others, and the functions for all of them, are in gpu_kinds.py."""

import torch
from gpu_kinds import F32, kind, shape


@kind()
def cumsum_rows(s):
    return lambda x: x.cumsum(-1), [s.randn(*shape(s, 16384, 4096))]


@kind()
def cumsum_short_rows(s):
    """A scan with elementwise operators before and after it."""
    return lambda x, w: (x * w).cumsum(-1) * 0.5 + x, [s.randn(*shape(s, 1048576, 256), dtype=F32), s.randn(256, dtype=F32)]


@kind()
def cumsum_odd_rows(s):
    return lambda x: x.cumsum(-1), [s.randn(*shape(s, 16384, 4095), dtype=F32)]


@kind()
def cumsum_columns(s):
    return lambda x: x.cumsum(1), [s.randn(8 if s.small else 1024, 64, 512, dtype=F32)]


@kind()
def cumsum_of_integers(s):
    return lambda x: x.cumsum(-1), [torch.ones(shape(s, 16384, 4096), dtype=torch.int32)]


@kind(dynamic=True)
def dynamic_cumsum(s):
    return lambda x: x.cumsum(-1), [s.randn(*shape(s, 16384, 4096), dtype=F32)]
