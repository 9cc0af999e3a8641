"""The kinds of GPU kernels: each as a torch function, at the sizes of a device and at sizes for the emulation.

`Kind.make(sizes)` returns (function, arguments). At the sizes of a device nothing is allocated: the arguments are fake, and the compiled code
is assembled. Under emulation, the same function runs on fewer rows, and every byte that its kernels move is counted. A kind must move only
every argument and every result of its graph once, up to 2 % more (`traffic`); one that moves more gives its ratio, and the reason in `why`.
"""

import contextlib
import functools
import json
import mmap
import os
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import torch
import torch.nn.functional as F
from one_trace import OneTrace
from torch._decomp import decompositions
from torch._functorch.aot_autograd import aot_module_simplified
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils import _pytree as pytree

from benchmarks import gpu_kernels
from benchmarks.programs.giou import loss_padded
from frit import backend
from frit.capture.graph import capture
from frit.eager.decompositions import decomposition_table

BF16, F32 = torch.bfloat16, torch.float32
MOST_TRAFFIC = 1.02
MAP_NORESERVE = 0x4000  # missing from Python's mmap
ROOT = Path(__file__).resolve().parents[3]
TABLE = ROOT / "tests" / "golden" / "gpu-kernels.json"
#: The FileCheck tests of each kind's code, for its graph at the sizes of a device.
LIT = ROOT / "tests" / "codegen" / "kinds"
LIT_ELSEWHERE = {"foreach_adamw": ROOT / "tests" / "codegen" / "lists.mlir"}  # its graph is too long to read


@dataclass(frozen=True)
class Kind:
    name: str
    make: Callable
    #: The largest ratios of moved bytes to the minimum of the graph, and to the sum of its kernels' minimums.
    traffic: float = MOST_TRAFFIC
    of_kernels: float = MOST_TRAFFIC
    older: tuple = ()  # both ratios on sm_80, if it has other schedules there
    #: The reason, required if a ratio is above MOST_TRAFFIC.
    why: str = ""
    dynamic: bool = False
    #: Whether the emulation runs the same code at some size.
    emulated: bool = True
    #: Whether it changes its arguments.
    writes: bool = False
    calls: tuple = ()  # operators that torch runs, such as the draw of a seed


def apart(sizes, strides, dtype):
    """Returns a tensor whose elements are so far apart that offsets exceed 32 bits; memory is only reserved, and pages are allocated by writes."""
    count = 1 + sum((size - 1) * stride for size, stride in zip(sizes, strides))
    span = mmap.mmap(-1, count * dtype.itemsize, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_NORESERVE)
    tensor = torch.frombuffer(span, dtype=dtype).as_strided(sizes, strides)
    return tensor.copy_(torch.randn(sizes) if dtype.is_floating_point else torch.randint(-8, 8, sizes))


class Emulated(gpu_kernels.Sizes):
    """Sizes for the emulation: fewer rows than on a device, but enough that bytes shared by all rows are negligible."""

    def __init__(self):
        super().__init__("cpu", small=True)

    def rows(self, n):
        # Small numbers of rows are for long rows.
        return min(n, 16 if n <= 4096 else max(n // 2048, 64 if n <= 8192 else 128))

    def columns(self, n):
        return n

    def ids(self, count, limit):
        # No index twice, because a row with two readers is counted once in the minimum.
        return torch.randperm(limit)[:count] if count <= limit else super().ids(count, limit)


_ALL = {}


def kind(**more):
    def register(make):
        _ALL[make.__name__] = Kind(make.__name__, make, **more)
        return make

    return register


def kinds():
    return dict(_ALL)


NORM_BACKWARD = {"traffic": 2.66, "older": (2.66, MOST_TRAFFIC)}
NORM_BACKWARD["why"] = "few rows, as emulated, take two kernels, with what they share in f32 between; norm_backward_many_rows is one pass"
BLOCKS = {"older": (MOST_TRAFFIC, MOST_TRAFFIC)}  # other numbers of blocks on sm_80, with the same limits
NO_CLUSTERS = {"older": (2.01, 2.01), "why": "no registers of a block keep such a row, and sm_80 has no clusters: it is swept twice"}
# The kernels of the benchmarks, except for index_add, which torch runs, and the block of a model, which consists of other kinds.
MORE = {
    **dict.fromkeys(("column_sum", "full_sum_max", "odd_unaligned"), BLOCKS),
    "softmax_long": NO_CLUSTERS,
    "layer_norm_backward": NORM_BACKWARD,
    "cross_entropy": NO_CLUSTERS,
}
ELSEWHERE = ("index_add_random", "index_add_equal", "llama_block", "group_norm_silu")
for _one in gpu_kernels.kernels().values():
    if _one.name not in ELSEWHERE:
        _ALL[_one.name] = Kind(_one.name, _one.make, writes=_one.name == "foreach_adamw", calls=_one.calls, **MORE.get(_one.name, {}))


def shape(s, rows, columns):
    return s.rows(rows), columns


@kind(older=(1.52, 1.52), why="no registers of a block keep such a row, and sm_80 has no clusters: its mean and variance take one sweep, what they normalise another")
def group_norm_silu(s):
    return lambda x, w, b: F.silu(F.group_norm(x, 32, w, b)), [s.randn(1, 320, 64, 64), s.randn(320), s.randn(320)]


# Arg-reductions, and reductions fused with reductions of other kinds.
@kind()
def argmax_rows(s):
    return lambda x: (x.argmax(-1), x.amax(-1)), [s.randn(*shape(s, 16384, 8192), dtype=F32)]


@kind()
def argmin_short_rows(s):
    return lambda x: x.argmin(-1), [s.randn(*shape(s, 1048576, 32))]


@kind(**BLOCKS)
def argmax_columns(s):
    return lambda x: x.argmax(0), [s.randn(*shape(s, 16384, 8192))]


@kind(**BLOCKS)
def argmax_all(s):
    return lambda x: x.argmax(), [s.randn(s.rows(1 << 28), dtype=F32)]


@kind()
def max_with_indices(s):
    return lambda x: x.max(-1), [s.randn(*shape(s, 32768, 1024), dtype=F32)]


@kind()
def any_and_count(s):
    return lambda x: ((x > 1).any(-1), (x > 0).sum(-1)), [s.randn(*shape(s, 16384, 4096))]


@kind()
def sum_of_integers(s):
    return lambda x: x.sum(-1), [torch.ones(shape(s, 16384, 4096), dtype=torch.int32)]


@kind()
def var_mean_rows(s):
    return lambda x: torch.var_mean(x, -1), [s.randn(*shape(s, 16384, 8192), dtype=F32)]


VARIANCES = {
    "var_mean_columns": lambda s: (lambda x: torch.var_mean(x, 0), [s.randn(*shape(s, 16384, 8192), dtype=F32)]),
    "std_columns": lambda s: (lambda x: x.std(0), [s.randn(*shape(s, 16384, 8192))]),
    "var_of_all": lambda s: (lambda x: x.var(), [s.randn(s.rows(1 << 28), dtype=F32)]),
}
_ALL |= {name: Kind(name, make, **BLOCKS) for name, make in VARIANCES.items()}


@kind(traffic=1.5, of_kernels=1.5, older=(1.5, 1.5), why="no registers keep a channel of all images: once for its mean and variance, once for what they normalise")
def batch_norm_channels(s):
    n, c = (84, 16) if s.small else (256, 64)  # enough channels to be one kernel, each longer than a cluster's shared memory
    return lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True), [s.randn(*size, dtype=F32) for size in ((n, c, 56, 56), (c,), (c,))]


@kind(**BLOCKS)
def mean_squared_error(s):
    return lambda x, y: (x - y).square().mean(), [s.randn(s.rows(1 << 27), dtype=F32), s.randn(s.rows(1 << 27), dtype=F32)]


@kind(**BLOCKS)
def box_loss(s):
    """The corners of a box are neighbours, and boxes lie beside each other."""
    return loss_padded, [s.randn(s.rows(1 << 22), 4, dtype=F32), s.randn(s.rows(1 << 22), 4, dtype=F32)]


@kind(**BLOCKS)
def sum_of_channels(s):
    return lambda x: x.sum((0, 2, 3)), [s.randn(8 if s.small else 256, 64, 56, 56, dtype=F32)]


@kind()
def pairwise_distance(s):
    """The differences of all pairs are never stored; the operands are read many times, from the cache."""
    n = 512 if s.small else 16384
    return lambda a, b: (a[:, None, :] - b[None, :, :]).square().sum(-1), [s.randn(n, 4, dtype=F32), s.randn(n, 4, dtype=F32)]


# Rows: short, of odd lengths, wide, and few long ones.
@kind()
def softmax_short(s):
    return lambda x: torch.softmax(x, -1), [s.randn(*shape(s, 1048576, 64), dtype=F32)]


@kind()
def softmax_odd(s):
    return lambda x: torch.softmax(x, -1), [s.randn(*shape(s, 32768, 1023), dtype=F32)]


@kind(**BLOCKS)
def softmax_wide(s):
    return lambda x: torch.softmax(x, -1), [s.randn(*shape(s, 16384, 32768), dtype=F32)]


@kind(**NO_CLUSTERS)
def softmax_few_rows(s):
    return lambda x: torch.softmax(x, -1), [s.randn(16, 131072, dtype=F32)]


@kind(**NO_CLUSTERS)
def softmax_long_odd(s):
    return lambda x: torch.softmax(x, -1), [s.randn(*shape(s, 4096, 50257))]


@kind(emulated=False)
def softmax_endless(s):
    """Rows too long for any cluster, which are swept like those of dynamic_softmax, whose bytes are counted. Few rows would be split, and many are too
    large for the emulation."""
    return lambda x: torch.softmax(x, -1), [s.randn(4096, 600000)]


@kind(**NO_CLUSTERS)
def log_softmax_long(s):
    return lambda x: torch.log_softmax(x, -1), [s.randn(*shape(s, 4096, 128256))]


@kind(**BLOCKS)
def sum_few_rows(s):
    return lambda x: x.sum(-1), [s.randn(16, 1 << 17, dtype=F32)]


@kind()
def layer_norm_wide(s):
    return lambda x, w, b: F.layer_norm(x, [16384], w, b), [s.randn(*shape(s, 8192, 16384)), s.randn(16384), s.randn(16384)]


@kind(older=(1.5, 1.5), why=NO_CLUSTERS["why"])
def rms_norm_long(s):
    return lambda x, w: F.rms_norm(x, [65536], w), [s.randn(*shape(s, 8192, 65536), dtype=F32), s.randn(65536, dtype=F32)]


@kind()
def masked_softmax(s):
    mask = torch.ones(s.rows(8192), 2048, dtype=torch.bool)
    return lambda x, m: torch.softmax(x.masked_fill(~m, float("-inf")) * 0.125, -1), [s.randn(s.rows(8192), 2048), mask]


# Gradients.
@kind()
def softmax_backward(s):
    return lambda g, y: torch.ops.aten._softmax_backward_data(g, y, -1, BF16), [s.randn(*shape(s, 32768, 4096)), s.randn(*shape(s, 32768, 4096))]


@kind(**NORM_BACKWARD)
def rms_norm_backward(s):
    def function(dy, x, w, rstd):
        n = x.float() * rstd
        g = dy.float() * w.float()
        return ((g - n * (g * n).mean(-1, keepdim=True)) * rstd).to(x.dtype), (dy.float() * n).sum(0)

    rows, columns = shape(s, 16384, 4096)
    return function, [s.randn(rows, columns), s.randn(rows, columns), s.randn(columns), s.randn(rows, 1, dtype=F32)]


@kind(**BLOCKS)
def norm_backward_many_rows(s):
    """Reductions over rows and over columns in one pass, with several rows in a block."""
    rows, columns = (32768, 64) if s.small else (262144, 512)

    def function(dy, x, w, mean, rstd):
        n = (x.float() - mean) * rstd
        g = dy.float() * w.float()
        dx = (g - g.mean(-1, keepdim=True) - n * (g * n).mean(-1, keepdim=True)) * rstd
        return dx.to(x.dtype), (dy.float() * n).sum(0), dy.float().sum(0)

    return function, [s.randn(rows, columns), s.randn(rows, columns), s.randn(columns), s.randn(rows, 1, dtype=F32), s.randn(rows, 1, dtype=F32)]


@kind(**BLOCKS)
def norm_backward_few_rows(s):
    """As few rows as are read in one pass: a block takes one at a time, and loads the next one meanwhile."""
    rows, columns = (32768, 64) if s.small else (4096, 4096)

    def function(dy, x, mean, rstd, w, b):
        # Eager's kernel for CPUs sums columns in bf16.
        return decompositions.native_layer_norm_backward(dy, x, [columns], mean, rstd, w, b, [True, True, True])

    return function, [*(s.randn(rows, columns) for _ in range(2)), *(s.randn(rows, 1, dtype=F32) for _ in range(2)), *(s.randn(columns) for _ in range(2))]


@kind(**BLOCKS)
def gelu_backward_bias(s):
    def function(g, x):
        d = torch.ops.aten.gelu_backward(g, x, approximate="tanh")
        return d, d.sum(0)

    return function, [s.randn(*shape(s, 16384, 4096)), s.randn(*shape(s, 16384, 4096))]


# Elementwise kernels: mixed types, broadcasts, strides, dynamic sizes.
@kind()
def mixed_types(s):
    rows, columns = shape(s, 16384, 4096)
    arguments = [s.randn(rows, columns), s.randn(rows, columns, dtype=F32), s.randn(rows, columns, dtype=torch.float64),
                 torch.ones(rows, columns, dtype=torch.int64), torch.ones(rows, columns, dtype=torch.bool)]
    return lambda a, b, c, i, m: (torch.where(m, a + b, -b), c * a, i + m, (a > b) & m), arguments


@kind()
def many_operands(s):
    return lambda *x: sum(x) * 0.125, [s.randn(*shape(s, 16384, 4096)) for _ in range(8)]


@kind()
def transcendental(s):
    return lambda x: torch.sin(x) * torch.erf(x) + torch.log1p(torch.exp(x)) / torch.sqrt(1 + x * x), [s.randn(*shape(s, 16384, 4096), dtype=F32)]


@kind()
def outer_sum(s):
    return lambda a, b: a[:, None] + b[None, :], [s.randn(s.rows(16384)), s.randn(8192)]


@kind(**BLOCKS)
def channels(s):
    n = 8 if s.small else 256
    return lambda x, w: F.relu(x * w[None, :, None, None]), [s.randn(n, 64, 56, 56), s.randn(64)]


@kind()
def image_to_float(s):
    image = torch.ones(2 if s.small else 64, 224, 224, 3, dtype=torch.uint8)
    return lambda x, m: (x.to(F32) / 255 - m).to(BF16), [image, s.randn(3, dtype=F32)]


@kind()
def every_second(s):
    return lambda x: x[:, ::2] * 2, [s.randn(*shape(s, 16384, 8192), dtype=F32)]


@kind()
def inner_slice(s):
    return lambda x: x[1:-1, 1:-1] + 1, [s.randn(*shape(s, 16384, 8192), dtype=F32)]


@kind()
def unaligned_sum(s):
    rows, columns = shape(s, 16384, 8191)
    return lambda x: x.sum(-1), [s.randn(rows * columns + 1, dtype=F32).narrow(0, 1, rows * columns).view(rows, columns)]


@kind()
def strided_rows(s):
    return lambda x: torch.softmax(x, -1), [s.randn(*shape(s, 16384, 8192))[:, :4096]]


def is_few(s):
    return s.small and s.device == "cpu"


# More than 2^32 elements on a device; under emulation only a few, equally far apart.
def wide(s, rows, columns, far=1 << 29, few=8):
    return apart((few, columns), (far, 1), BF16) if is_few(s) else s.randn(rows, columns)


@kind()
def beyond_32_bits(s):
    return lambda x, y: x * y + 1, [wide(s, 1 << 17, 1 << 16), wide(s, 1 << 17, 1 << 16)]


@kind()
def row_sums_beyond_32_bits(s):
    return lambda x: torch.logsumexp(x, -1), [wide(s, 1 << 20, 8192)]


@kind(**BLOCKS)
def column_sums_beyond_32_bits(s):
    return lambda x: x.float().sum(0), [wide(s, 1 << 20, 8192, 1 << 25, 128)]


@kind()
def gather_beyond_32_bits(s):
    return lambda t, i: F.embedding(i, t), [wide(s, 1 << 21, 4096), s.ids(8, 8) if is_few(s) else s.ids(32768, 1 << 21)]


# Data movement.
@kind()
def cat_rows(s):
    return lambda *x: torch.cat(x) * 0.5, [s.randn(*shape(s, 16384, 2048)) for _ in range(3)]


@kind()
def cat_odd(s):
    return lambda *x: torch.cat(x, 1), [s.randn(s.rows(16384), n) for n in (2047, 1, 1000)]


@kind()
def stacked(s):
    return lambda x, y: torch.stack([x, y], -1), [s.randn(*shape(s, 16384, 4096)), s.randn(*shape(s, 16384, 4096))]


@kind()
def split_and_gate(s):
    return lambda x: (lambda g, u: F.silu(g) * u)(*x.chunk(2, -1)), [s.randn(*shape(s, 16384, 8192))]


@kind()
def rotated(s):
    return lambda x: torch.cat([-x[..., 64:], x[..., :64]], -1) * 2, [s.randn(s.rows(65536), 128)]


@kind()
def padded(s):
    return lambda x: F.pad(x, (1, 2, 3, 4), value=1.0), [s.randn(*shape(s, 16384, 4096))]


@kind()
def flipped(s):
    return lambda x: x.flip(-1) + 1, [s.randn(*shape(s, 16384, 4096))]


@kind(**BLOCKS)
def lower_triangle(s):
    return lambda x: torch.tril(x), [s.randn(s.rows(16384), s.rows(16384), dtype=F32)]


@kind()
def transposed(s):
    return lambda x: x.t().contiguous(), [s.randn(*shape(s, 16384, 8192), dtype=F32)]


@kind()
def transposed_bytes(s):
    return lambda x: x.t().contiguous() + 1, [torch.ones(shape(s, 16384, 8192), dtype=torch.uint8)]


@kind()
def channels_last(s):
    n = 4 if s.small else 256
    return lambda x: x.permute(0, 2, 3, 1).contiguous() * 2, [s.randn(n, 64, 56, 56)]


@kind()
def transposed_sum(s):
    return lambda x, y: x + y.t(), [s.randn(*shape(s, 8192, 8192), dtype=F32), s.randn(8192, s.rows(8192), dtype=F32)]


@kind()
def gathered_elements(s):
    rows, columns = shape(s, 65536, 1024)
    return lambda x, i: torch.gather(x, 1, i[:, None]), [s.randn(rows, columns), s.ids(rows, columns)]


@kind(**BLOCKS)
def gathered_rows_sum(s):
    return lambda t, i: F.embedding(i, t).float().sum(-1), [s.randn(s.rows(128256), 1024), s.ids(s.rows(65536), s.rows(128256))]


@kind(**BLOCKS)
def numbered(s):
    return lambda x: x + torch.arange(x.shape[1], device=x.device) * 0.5, [s.randn(*shape(s, 16384, 4096), dtype=F32)]


def lit_test(name):
    """Returns the path of the lit test with the code of a kind."""
    return LIT_ELSEWHERE.get(name, LIT / f"{name}.mlir")


def imported(one):
    """Returns the imported graph of a kind at the sizes of a device, as in its lit test."""
    (graph,) = captured_on_a_device(one)
    tool = Path(os.environ.get("FRIT_BUILD_DIR", ROOT / "build")) / "bin" / "frit-compile"
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "graph.json"
        file.write_text(graph)
        return subprocess.run([tool, "--emit=imported", file], check=True, capture_output=True, text=True).stdout


def with_graph(test, graph):
    """Replaces the graph in the text of a lit test."""
    return test[: test.index("\nmodule {") + 1] + graph


@functools.cache
def captured_on_a_device(one, any_rows=False):
    """Returns the graphs of a kind at the sizes of a device as JSON for the compiler, with fake tensors. `any_rows`: with a dynamic number of rows."""
    graphs = []

    def compiler(gm, inputs):
        def keep(graph, _):
            graphs.append(capture(graph).json)
            return graph.forward

        return aot_module_simplified(gm, inputs, fw_compiler=keep, inference_compiler=keep, decompositions=decomposition_table(), keep_inference_input_mutations=True)

    with FakeTensorMode(allow_non_fake_inputs=True), torch.no_grad():
        function, arguments = one.make(gpu_kernels.Sizes("cpu"))
        for x in arguments if any_rows else ():
            if x.dim() > 1:
                torch._dynamo.mark_dynamic(x, 0)
        torch.compile(function, backend=compiler, fullgraph=True, dynamic=one.dynamic)(*arguments)
    return graphs


@dataclass(frozen=True)
class Traffic:
    """Bytes of global memory: moved by the kernels; the sum of the kernels' minimums; and the minimum of the graph, which counts each byte that is
    read of its arguments or written to its results once, so intermediates do not count and arguments with several readers count once."""

    moved: int
    of_kernels: int
    of_graph: int

    def ratios(self):
        return [round(self.moved / self.of_graph, 3), round(self.moved / self.of_kernels, 3)]


def written(before, arguments, results):
    """Returns the bytes of fresh results and of changed arguments."""
    inputs = [x for x in pytree.tree_leaves(arguments) if isinstance(x, torch.Tensor)]
    lie = {x.untyped_storage().data_ptr() for x in inputs}
    fresh = {x.untyped_storage().data_ptr(): x.nbytes for x in pytree.tree_leaves(results) if isinstance(x, torch.Tensor)}
    changed = sum(x.nbytes for old, x in zip(before, inputs) if not torch.equal(old, x))
    return changed + sum(count for at, count in fresh.items() if at not in lie)


def emulated(one, architecture=90):
    """Runs a kind with the schedules of an architecture; returns (results, expected results, Traffic)."""
    return emulated_for_each(one, (architecture,))[architecture]


def emulated_for_each(one, architectures):
    """Does the same for several architectures: one trace is compiled for each."""
    executables = {architecture: [] for architecture in architectures}

    @contextlib.contextmanager
    def compiling_for(architecture):
        observe = lambda *seen: executables[architecture].append(seen[-1])  # noqa: E731
        backend._OBSERVERS.append(observe)
        try:
            with mock.patch.object(backend, "_targets", lambda *_: ["simt", f"sm_{architecture}"]):
                yield
        finally:
            backend._OBSERVERS.remove(observe)

    options = {"target": "simt", "random": "philox"}
    trace = OneTrace(dict.fromkeys(architectures, options), {each: functools.partial(compiling_for, each) for each in architectures})
    compiled, found = None, {}
    for trace.way in architectures:
        torch.manual_seed(0)
        function, arguments = one.make(Emulated())
        before = [x.clone() for x in pytree.tree_leaves(arguments) if isinstance(x, torch.Tensor)] if one.writes else []
        with torch.no_grad():
            compiled = compiled or torch.compile(function, backend=trace, fullgraph=True, dynamic=one.dynamic)
            torch.manual_seed(1)
            results = compiled(*arguments)
            bytes_written = written(before, arguments, results)
            # Random numbers of kernels are compared with those of CPU kernels (test_random.py) for the same seed.
            torch.manual_seed(1)
            expected = (torch.compile(function, backend="frit", options={"random": "philox"}) if one.calls else function)(*arguments)
        stats = [json.loads(executable.stats()) for executable in executables[trace.way]]
        assert {op for each in stats for op in each["aten"]} == set(one.calls), f"{one.name}: torch runs a part of it"
        moved, of_kernels, read = (sum(each[what] for each in stats) for what in ("bytes_moved", "bytes_mandatory", "bytes_read_first"))
        found[trace.way] = results, expected, Traffic(moved, of_kernels, read + bytes_written)
    assert trace.graphs == 1, f"{one.name}: {trace.graphs} graphs"
    return found


import gpu_dynamic_kinds  # noqa: E402, F401
import gpu_scan_kinds  # noqa: E402, F401
