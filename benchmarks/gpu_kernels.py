"""The kernels and small graphs that `benchmarks.gpu` measures: the parts of memory-bound models, at sizes several times a GPU's L2.

`small` divides the sizes, so that the same functions run on a CPU in the tests. `kernels` is the number of kernels that the compiler makes for a
GPU (`on_a_cpu` for a CPU, if it differs), and `calls` lists the operators that torch runs; the tests check all of these. `target` is the
share of the device's copy bandwidth to reach, 0 for kernels with another target (`verdict.py`).
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F

BF16, F32 = torch.bfloat16, torch.float32
_ALL = {}


@dataclass(frozen=True)
class Kernel:
    """A benchmark: `make(sizes)` returns (function, arguments); `moved(arguments, results)` the minimum traffic in bytes, None for every
    tensor once. `dynamic`: every contender compiles it with dynamic sizes. `counted`: the launches of a call are counted."""

    name: str
    make: Callable
    target: float
    kernels: int = 1
    on_a_cpu: int = None
    calls: tuple = ()
    calls_on_a_cpu: tuple = None
    moved: Callable = None
    dynamic: bool = False
    counted: bool = False


class Sizes:
    """Sizes as written for a GPU, or divided for a test (rows by more than columns)."""

    def __init__(self, device, small=False):
        self.device, self.small = device, small

    def rows(self, n):
        return max(n // 2048, 3) if self.small else n

    def columns(self, n):
        return max(n // 64, 4) if self.small else n

    def randn(self, *sizes, dtype=BF16):
        return torch.randn(*sizes, device=self.device, dtype=dtype)

    def ids(self, count, limit):
        return torch.randint(0, limit, (count,), device=self.device)


def kernel(target, **more):
    def register(make):
        name = make.__name__.lstrip("_")
        _ALL[name] = Kernel(name, make, target, **more)
        return make

    return register


def kernels():
    """Returns {name: Kernel} in the order of the table."""
    return dict(_ALL)


@kernel(0.97)
def mul_add(s):
    shape = s.rows(16384), s.columns(8192)
    return lambda x, y: x * y + x, [s.randn(*shape), s.randn(*shape)]


@kernel(0.95)
def bias_gelu_residual(s):
    rows, columns = s.rows(16384), s.columns(8192)
    return lambda x, b, r: F.gelu(x + b, approximate="tanh") + r, [s.randn(rows, columns), s.randn(columns), s.randn(rows, columns)]


@kernel(0.95)
def swiglu(s):
    shape = s.rows(16384), s.columns(14336)
    return lambda g, u: F.silu(g) * u, [s.randn(*shape), s.randn(*shape)]


@kernel(0.88, dynamic=True)
def odd_unaligned(s):
    rows, columns = s.rows(16384) - 1, s.columns(8192) - 1
    x = s.randn(rows * columns + 1, dtype=F32).narrow(0, 1, rows * columns).view(rows, columns)
    return lambda x: 2.5 * x + 1, [x]


@kernel(0.93, calls=("aten.randint.low",))
def dropout_residual(s):
    shape = s.rows(16384), s.columns(8192)
    # torch draws the seed; the kernel generates the numbers.
    return lambda x, r: F.dropout(x, 0.1) + r, [s.randn(*shape), s.randn(*shape)]


@kernel(0.95)
def row_sum_long(s):
    return lambda x: x.sum(-1), [s.randn(s.rows(16384), s.columns(8192), dtype=F32)]


@kernel(0.88)
def row_sum_short(s):
    return lambda x: x.float().sum(-1), [s.randn(s.rows(1048576), 128)]


@kernel(0.88)
def column_sum(s):
    return lambda x: x.float().sum(0), [s.randn(s.rows(16384), s.columns(8192))]


@kernel(0.95)
def full_sum_max(s):
    return lambda x: (x.sum(), x.amax()), [s.randn(s.rows(1 << 28), dtype=F32)]


@kernel(0.95)
def softmax(s):
    return lambda x: torch.softmax(x, -1), [s.randn(s.rows(32768), s.columns(4096))]


@kernel(0.93)
def softmax_long(s):
    return lambda x: torch.softmax(x, -1), [s.randn(s.rows(4096), s.columns(131072))]


@kernel(0.94)
def layer_norm(s):
    columns = s.columns(4096)
    function = lambda x, w, b: torch.native_layer_norm(x, [columns], w, b, 1e-5)  # noqa: E731
    return function, [s.randn(s.rows(32768), columns), s.randn(columns), s.randn(columns)]


@kernel(0.94)
def add_rms_norm(s):
    rows, columns = s.rows(16384), s.columns(8192)

    def function(x, residual, weight):
        h = x + residual
        f = h.float()
        return (f * torch.rsqrt(f.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype) * weight, h

    return function, [s.randn(rows, columns), s.randn(rows, columns), s.randn(columns)]


@kernel(0.80)
def rms_norm_short(s):
    columns = s.columns(512)

    def function(x, weight):
        f = x.float()
        return (f * torch.rsqrt(f.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype) * weight

    return function, [s.randn(s.rows(262144), columns), s.randn(columns)]


@kernel(0.80, on_a_cpu=2)
def layer_norm_backward(s):
    rows, columns = s.rows(32768), s.columns(4096)
    x, w, b = s.randn(rows, columns), s.randn(columns), s.randn(columns)
    # torch keeps statistics in f32 on a GPU and in the type of x on a CPU, where only small sizes run.
    kept = x.dtype if s.small and s.device == "cpu" else F32
    mean, rstd = x.float().mean(-1, keepdim=True).to(kept), torch.rsqrt(x.float().var(-1, keepdim=True) + 1e-5).to(kept)

    def function(dy, x, mean, rstd, w, b):
        return torch.ops.aten.native_layer_norm_backward(dy, x, [columns], mean, rstd, w, b, [True, True, True])

    return function, [s.randn(rows, columns), x, mean, rstd, w, b]


@kernel(0.92, kernels=2)
def cross_entropy(s):
    rows, classes = s.rows(8192), s.columns(128256)
    return lambda x, t: F.cross_entropy(x, t, reduction="none"), [s.randn(rows, classes), s.ids(rows, classes)]


@kernel(0.88)
def gelu_transposed(s):
    return lambda x: F.gelu(x).t().contiguous(), [s.randn(s.rows(16384), s.columns(8192))]


@kernel(0.82)
def both_orders(s):
    return lambda x: (x * 2, (x + 1).t().contiguous()), [s.randn(s.rows(16384), s.columns(8192))]


@kernel(0.93)
def cat_scale(s):
    pieces = [s.randn(s.rows(16384), s.columns(2048)) for _ in range(4)]
    return lambda *x: torch.cat(x, 1) * 0.5, pieces


@kernel(0.88, moved=lambda arguments, results: 2 * results.nbytes + arguments[1].nbytes)
def embedding_scale(s):
    rows = s.rows(128256)
    return lambda t, i: F.embedding(i, t) * 2, [s.randn(rows, s.columns(4096)), s.ids(s.rows(32768), rows)]


def _index_add(s, ids):
    columns = s.columns(256)
    rows = s.rows(65536)
    arguments = [s.randn(rows, columns, dtype=F32), ids(s.rows(262144), rows), s.randn(s.rows(262144), columns, dtype=F32)]
    return lambda x, i, y: torch.index_add(x, 0, i, y), arguments


#: The operators by which torch sorts the rows; on a CPU it adds them itself.
SORTS = {"kernels": 4, "on_a_cpu": 1, "calls": ("aten.sort.stable", "aten.searchsorted.Tensor"), "calls_on_a_cpu": ("aten.index_add_.default",)}


@kernel(0.50, **SORTS)
def index_add_random(s):
    return _index_add(s, s.ids)


@kernel(0.0, **SORTS)
def index_add_equal(s):
    return _index_add(s, lambda count, limit: torch.zeros(count, dtype=torch.long, device=s.device))


#: GPT-2 small: 148 tensors, 124 million numbers.
GPT2 = [(50257, 768), (1024, 768), *([(768,), (768,), (768, 2304), (2304,), (768, 768), (768,), (768,), (768,), (768, 3072), (3072,),
                                     (3072, 768), (768,)] * 12), (768,), (768,)]


@kernel(0.92, kernels=2, counted=True, moved=lambda arguments, results: 7 * sum(t.nbytes for t in arguments[0]))
def foreach_adamw(s):
    from benchmarks.programs.optimizer import adamw_step

    shapes = [tuple(max(n // 64, 1) for n in shape) for shape in GPT2] if s.small else GPT2
    state = [[s.randn(*shape, dtype=F32) for shape in shapes] for _ in range(3)]
    state.append([torch.rand(*shape, device=s.device) for shape in shapes])
    return adamw_step, [*state, torch.tensor(3.0)]


@kernel(0.0)
def group_norm_silu(s):
    channels = 320
    return (lambda x, w, b: F.silu(F.group_norm(x, 32, w, b)),
            [s.randn(1, channels, 8 if s.small else 64, 8 if s.small else 64), s.randn(channels), s.randn(channels)])


@kernel(0.0, kernels=3, on_a_cpu=4, counted=True, calls=("aten.mm.default", "aten.addmm_.default"), calls_on_a_cpu=("aten.mm.default",))
def llama_block(s):
    """A Llama block without attention: matrix products with norms, rotation, gated activation and residuals between them."""
    tokens, width, hidden, heads = s.rows(8192), s.columns(4096), s.columns(14336), 4 if s.small else 32
    size = width // heads

    def norm(x, weight):
        f = x.float()
        return (f * torch.rsqrt(f.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype) * weight

    def rotate(x, cos, sin):
        first, second = x.chunk(2, -1)
        return x * cos + torch.cat([-second, first], -1) * sin

    def block(x, w1, wq, wk, cos, sin, w2, wg, wu, wd):
        h = norm(x, w1)
        q = rotate((h @ wq).view(tokens, heads, size), cos, sin)
        k = rotate((h @ wk).view(tokens, heads, size), cos, sin)
        x = x + (q + k).reshape(tokens, width)
        h = norm(x, w2)
        return x + (F.silu(h @ wg) * (h @ wu)) @ wd

    small = {"w1": (width,), "wq": (width, width), "wk": (width, width), "cos": (tokens, 1, size), "sin": (tokens, 1, size), "w2": (width,),
             "wg": (width, hidden), "wu": (width, hidden), "wd": (hidden, width)}
    return block, [s.randn(tokens, width), *(s.randn(*shape) * 0.05 for shape in small.values())]


def tiny(count, device):
    """A graph of `count` kernels of 4 KB each, to measure the host time of a call."""

    def function(*tensors):
        return [torch.softmax(x, -1) for x in tensors]

    # Every kernel has another size and reduces rows: equal kernels would be merged, and pointwise ones would be one launch over a list.
    return function, [torch.randn(1024 - number, device=device) for number in range(count)]
