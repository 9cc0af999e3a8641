"""The programs of the comparison: the kernels of `benchmarks.gpu`, and others that a model's training and serving consist of.

`Program.make(device)` returns (function, arguments); the arguments are to be made of fake tensors. `moved` is the least traffic in bytes where it is
not every tensor once.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F

from .. import gpu_kernels

BF16, F32 = torch.bfloat16, torch.float32
#: Kernels of torch, which have no machine code here.
WITHOUT = ("index_add_random", "index_add_equal")
_MORE = {}


@dataclass(frozen=True)
class Program:
    name: str
    make: Callable
    dynamic: bool | None = None
    moved: Callable | None = None
    #: Whether `benchmarks.gpu` measures it: a row of the geometric mean.
    benchmark: bool = False
    #: Whether there are products of matrices in it. Both sides leave them to a library, and they are left out; what they read and write is no traffic.
    products: bool = False


def programs():
    """Returns {name: Program}, those of the benchmark first."""
    found = {}
    for one in gpu_kernels.kernels().values():
        if one.name not in WITHOUT:
            make = lambda device, one=one: one.make(gpu_kernels.Sizes(device))  # noqa: E731
            found[one.name] = Program(one.name, make, one.dynamic or None, one.moved, True, "aten.mm.default" in one.calls)
    return {**found, **_MORE}


def program(**more):
    def register(make):
        name = make.__name__
        _MORE[name] = Program(name, lambda device: make(lambda *shape, dtype=BF16: torch.empty(*shape, dtype=dtype, device=device)), **more)
        return make

    return register


def any_rows(x):
    torch._dynamo.mark_dynamic(x, 0)
    return x


def _rows_of_softmax(name, rows, columns, dtype=BF16):
    _MORE[name] = Program(name, lambda device: (lambda x: torch.softmax(x, -1), [torch.empty(rows, columns, dtype=dtype, device=device)]))


_rows_of_softmax("softmax_1024", 65536, 1024)
_rows_of_softmax("softmax_32768", 16384, 32768)
_rows_of_softmax("softmax_f32", 16384, 4096, F32)


@program()
def softmax_any_rows(t):
    return lambda x: torch.softmax(x, -1), [any_rows(t(16383, 4096))]


@program(dynamic=True)
def softmax_any_sizes(t):
    return lambda x: torch.softmax(x, -1), [t(16383, 4096)]


@program()
def softmax_backward(t):
    return lambda g, y: torch.ops.aten._softmax_backward_data(g, y, -1, BF16), [t(16384, 4096), t(16384, 4096)]


@program()
def masked_softmax(t):
    return lambda x, m: torch.softmax(x.masked_fill(~m, float("-inf")) * 0.125, -1), [t(32768, 2048), t(32768, 2048, dtype=torch.bool)]


@program()
def logsumexp(t):
    return lambda x: torch.logsumexp(x, -1), [t(8192, 32768)]


@program(moved=lambda arguments, results: arguments[0].nbytes)
def cross_entropy_mean(t):
    return lambda x, y: F.cross_entropy(x, y), [t(8192, 32768), t(8192, dtype=torch.int64)]


@program()
def layer_norm_any_rows(t):
    return lambda x, w, b: F.layer_norm(x, [4096], w, b), [any_rows(t(16383, 4096)), t(4096), t(4096)]


@program(dynamic=True)
def layer_norm_any_sizes(t):
    return lambda x, w, b: F.layer_norm(x, [x.shape[1]], w, b), [t(16383, 4096), t(4096), t(4096)]


@program()
def residual_layer_norm(t):
    def function(x, r, w, b):
        h = x + r
        return F.layer_norm(h, [4096], w, b), h

    return function, [t(4096, 4096), t(4096, 4096), t(4096), t(4096)]


@program()
def rms_norm(t):
    def function(x, w):
        f = x.float()
        return (f * torch.rsqrt(f.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype) * w

    return function, [t(4096, 4096), t(4096)]


@program()
def layer_norm_backward_few_rows(t):
    def function(dy, x, mean, rstd, w, b):
        return torch.ops.aten.native_layer_norm_backward(dy, x, [4096], mean, rstd, w, b, [True, True, True])

    return function, [t(4096, 4096), t(4096, 4096), t(4096, 1, dtype=F32), t(4096, 1, dtype=F32), t(4096), t(4096)]


def _gelu(approximate):
    return lambda x, b, r: F.gelu(x + b, approximate=approximate) + r


@program()
def bias_gelu_erf(t):
    return _gelu("none"), [t(4096, 4096), t(4096), t(4096, 4096)]


@program()
def bias_gelu_erf_f32(t):
    return _gelu("none"), [t(4096, 4096, dtype=F32), t(4096, dtype=F32), t(4096, 4096, dtype=F32)]


@program()
def bias_gelu_erf_any_rows(t):
    return _gelu("none"), [any_rows(t(4097, 4104)), t(4104), any_rows(t(4097, 4104))]


@program(dynamic=True)
def bias_gelu_erf_any_sizes(t):
    return _gelu("none"), [t(4097, 4104), t(4104), t(4097, 4104)]


@program(dynamic=True)
def flatten_any_sizes(t):
    """Where an element is follows from sizes that are not known."""
    return lambda x, b: (x * b[:, None]).flatten() * 2 + 1, [t(16383, 4097, dtype=F32), t(16383, dtype=F32)]


@program()
def int8_dequantised(t):
    return lambda q, s: (q.to(F32) * s).to(BF16), [t(16384, 8192, dtype=torch.int8), t(16384, 1, dtype=F32)]


@program()
def channels_last(t):
    return lambda x: F.relu(x.permute(0, 2, 3, 1).contiguous() * 2), [t(256, 64, 56, 56)]


@program()
def box_loss(t):
    from ..programs.giou import loss_padded

    return loss_padded, [t(65536, 64, 4, dtype=F32), t(65536, 64, 4, dtype=F32)]
