"""Composite operators of libraries in exported programs: they become the calls that the runtime and the passes know, and what eager computes in
another way stays a call of the operator itself."""

import checker
import pytest
import torch
import torch.nn.functional as F
from exported import ATTENTION, Function, compiled


def randn(*sizes, dtype=torch.float32):
    torch.manual_seed(sum(sizes))
    return torch.randn(*sizes, dtype=dtype)


BF16, F64 = torch.bfloat16, torch.float64
MASK = torch.ones(5, 7, dtype=torch.bool).tril(1)

#: A function, its arguments, and the operators that are left: for default numerics, and for those of eager if they differ.
CASES = {
    "linear": (F.linear, (randn(5, 8), randn(6, 8), randn(6)), "addmm"),
    "linear without a bias": (F.linear, (randn(5, 8), randn(6, 8)), "mm"),
    "linear of rank 3": (F.linear, (randn(2, 5, 8), randn(6, 8), randn(6)), "addmm"),
    "linear of rank 4": (F.linear, (randn(2, 3, 5, 8), randn(6, 8), randn(6)), "addmm", "linear"),
    "linear of rank 4 without a bias": (F.linear, (randn(2, 3, 5, 8), randn(6, 8)), "mm"),
    "linear of rank 1": (F.linear, (randn(8), randn(6, 8), randn(6)), "linear"),
    "linear of a vector": (F.linear, (randn(5, 8), randn(8)), "linear"),
    "linear of columns": (F.linear, (randn(2, 8, 5).mT, randn(6, 8), randn(6)), "addmm", "linear"),
    "linear of a slice": (F.linear, (randn(3, 5, 8)[:, 1:4], randn(8, 6).mT, randn(12)[::2]), "addmm", "linear"),
    "linear of nothing": (F.linear, (randn(0, 8), randn(6, 8), randn(6)), "addmm"),
    "linear without depth": (F.linear, (randn(3, 0), randn(6, 0), randn(6)), "addmm"),
    "linear of halves": (F.linear, (randn(2, 5, 8, dtype=BF16), randn(6, 8, dtype=BF16), randn(6, dtype=BF16)), "addmm"),
    "linear of doubles": (F.linear, (randn(1, 8, dtype=F64), randn(1, 8, dtype=F64)), "mm"),
    "linear of integers": (F.linear, (torch.arange(6).view(2, 3), torch.arange(12).view(4, 3)), "linear"),
    "linear of complex numbers": (F.linear, (randn(2, 3, dtype=torch.complex64), randn(4, 3, dtype=torch.complex64).conj()), "linear"),
    "matmul": (torch.matmul, (randn(3, 4), randn(4, 5)), "mm"),
    "matmul of rank 3 and 2": (torch.matmul, (randn(2, 3, 4), randn(4, 5)), "mm"),
    "matmul of columns and rank 2": (torch.matmul, (randn(2, 4, 3).mT, randn(4, 5)), "mm", "matmul"),
    "matmul of rank 2 and 3": (torch.matmul, (randn(3, 4), randn(2, 4, 5)), "bmm"),
    "matmul of batches": (torch.matmul, (randn(2, 3, 4), randn(2, 4, 5)), "bmm"),
    "matmul of heads": (torch.matmul, (randn(2, 3, 5, 4), randn(2, 3, 7, 4).mT), "bmm", "matmul"),
    "matmul of columns": (torch.matmul, (randn(50, 32, 1).mT, randn(50, 64, 32).mT), "bmm", "matmul"),
    "linear of one row of weights": (F.linear, (randn(3, 5, 32), randn(1, 32).expand(6, 32), randn(1).expand(6)), "addmm", "linear"),
    "matmul of broadcast batches": (torch.matmul, (randn(2, 1, 3, 4), randn(5, 4, 6)), "bmm"),
    "matmul of vectors": (torch.matmul, (randn(4), randn(4)), "matmul"),
    "matmul with a vector": (torch.matmul, (randn(2, 3, 4), randn(4)), "matmul"),
    "matmul of no batches": (torch.matmul, (randn(0, 3, 4), randn(0, 4, 5)), "bmm"),
    "conv1d": (F.conv1d, (randn(2, 3, 9), randn(4, 3, 3), randn(4)), "convolution"),
    "conv2d": (lambda *x: F.conv2d(*x, stride=2, padding=1), (randn(2, 3, 9, 8), randn(4, 3, 3, 3), randn(4)), "convolution"),
    "conv2d of groups": (lambda *x: F.conv2d(*x, padding=(1, 2), dilation=2, groups=3), (randn(2, 3, 9, 8), randn(6, 1, 3, 3)), "convolution"),
    "conv2d of an image": (F.conv2d, (randn(3, 9, 8), randn(4, 3, 3, 3), randn(4)), "conv2d"),
    "conv2d of the same size": (lambda *x: F.conv2d(*x, padding="same"), (randn(2, 3, 9, 8), randn(4, 3, 3, 3)), "conv2d"),
    "conv2d of channels-last": (F.conv2d, (randn(2, 3, 9, 8).to(memory_format=torch.channels_last), randn(4, 3, 3, 3)), "convolution"),
    "conv3d": (F.conv3d, (randn(1, 2, 5, 6, 4), randn(3, 2, 3, 3, 3)), "convolution"),
}
SELF = "scaled_dot_product_attention"
Q, K, V = randn(2, 3, 5, 8), randn(2, 3, 7, 8), randn(2, 3, 7, 8) + 1


def attention(**options):
    return lambda *x: F.scaled_dot_product_attention(*x, **options)


CASES |= {
    "attention": (attention(), (Q, K, V), ATTENTION),
    "attention, causal": (attention(is_causal=True), (Q, K, V), ATTENTION),
    "attention, scaled": (attention(scale=0.25), (Q, K, V), ATTENTION),
    "attention, masked": (attention(), (Q, K, V, MASK), ATTENTION),
    "attention, masked by numbers": (attention(), (Q, K, V, randn(2, 1, 5, 7)), ATTENTION),
    "attention, masked for all queries": (attention(), (Q, K, V, randn(2, 3, 1, 7) > 0), ATTENTION),
    "attention, a mask of rank 3": (attention(), (Q, K, V, randn(3, 5, 7)), SELF),
    "attention of rows that are masked out": (attention(), (Q, K, V, torch.zeros(5, 7, dtype=torch.bool)), ATTENTION),
    "attention of heads that were split": (attention(), tuple(x.transpose(1, 2).contiguous().transpose(1, 2) for x in (Q, K, V)), ATTENTION),
    "attention of columns": (attention(), (Q.mT.contiguous().mT, K, V), SELF),
    "attention of halves": (attention(is_causal=True), (Q.bfloat16(), K.bfloat16(), V.bfloat16()), ATTENTION),
    "attention of doubles": (attention(), (Q.double(), K.double(), V.double()), ATTENTION),
    "attention of groups": (attention(enable_gqa=True), (Q, K[:, :1], V[:, :1]), SELF),
    "attention of other depths": (attention(), (Q, K, V[..., :6]), SELF),
    "attention of rank 3": (attention(), (Q[0], K[0], V[0]), SELF),
    "attention without keys": (attention(), (Q, K[:, :, :0], V[:, :, :0]), SELF),
}


@pytest.mark.parametrize("numerics", ["default", "eager"])
@pytest.mark.parametrize("name", CASES)
def test_call(name, numerics):
    function, inputs, *left = CASES[name]
    module = Function(function)
    call, report = compiled(module, inputs, numerics=numerics)
    calls = {one["op"].removeprefix("aten.").removeprefix("frit.").split(".")[0] for one in report["aten_calls"]}
    assert calls == {left[-1] if numerics == "eager" else left[0]}
    if numerics == "eager":
        with torch.no_grad():
            torch.testing.assert_close(call(*inputs)[0], module(*inputs), rtol=0, atol=0, equal_nan=True)
    else:
        checker.check(module, *inputs, compiled=call)


@pytest.mark.parametrize("name", ["linear of rank 3", "matmul of heads", "conv2d", "attention, masked by numbers"])
def test_sizes_that_vary(name):
    function, inputs, *left = CASES[name]
    batch = torch.export.Dim("batch", min=1, max=64)
    shapes = tuple({0: batch} if x.shape[0] == 2 else None for x in inputs)
    module = Function(function)
    call, report = compiled(module, inputs, dynamic_shapes=(shapes,))
    assert {one["op"].split(".")[1] for one in report["aten_calls"]} == {left[0]}
    for count in (1, 2, 5):
        checker.check(module, *(x[:1].expand(count, *x.shape[1:]) * 1 if x.shape[0] == 2 else x for x in inputs), compiled=call)
