"""Runs one small kernel of each family on a GPU under compute-sanitizer (scripts/gpu-check), with torch's caching allocator off, so that every tensor
is a separate allocation. It is a plain program, without pytest and with fewer kernels than a test run.

    python tests/python/support/gpu_smoke.py [--device cuda]
"""

import argparse
import sys

import gpu_kinds
import on_device
import torch
import torch.nn.functional as F

KINDS = ("mul_add", "odd_unaligned", "bias_gelu_residual", "row_sum_short", "column_sum", "softmax", "layer_norm", "layer_norm_backward",
         "cross_entropy", "argmax_rows", "argmax_columns", "transposed", "cat_scale", "embedding_scale", "gathered_elements", "lower_triangle",
         "numbered", "group_norm_silu")  # fmt: skip


class Smallest(on_device.Small):
    """The smallest sizes, because compute-sanitizer slows a kernel down by a factor of hundreds."""

    def rows(self, n):
        return min(n, 33)


def everything(device):
    """A full reduction, rows of a cluster and a list of tensors: families whose blocks cooperate."""
    torch.compiler.reset()
    x, rows = torch.randn(70001, device=device), torch.randn(2, 40960, device=device)
    lists = [torch.randn(n, device=device) for n in (5, 1030, 77, 4097)]

    def function(x, rows, *lists):
        return x.sum(), x.amax(), torch.softmax(rows, -1), torch._foreach_add(torch._foreach_mul(list(lists), 0.5), 1.0)

    actual, expected = torch.compile(function, backend="frit", fullgraph=True)(x, rows, *lists), function(x, rows, *lists)
    torch.testing.assert_close(actual, expected, rtol=1e-3, atol=1e-2)


def trained(device):
    torch.compiler.reset()
    w, x = torch.randn(33, 65, device=device, requires_grad=True), torch.randn(17, 33, device=device)

    def loss(w):
        return F.layer_norm(F.gelu(x @ w), (65,)).square().mean()

    (expected,), (actual,) = (torch.autograd.grad(run(w), w) for run in (loss, torch.compile(loss, backend="frit")))
    torch.testing.assert_close(actual, expected, rtol=1e-3, atol=1e-4)


def added(device):
    """Segments of several lengths, chunks among them."""
    torch.compiler.reset()
    x, y = torch.randn(33, 40, device=device), torch.randn(1100, 40, device=device)
    index = torch.arange(1100, device=device) // 3 % 33
    index[:700] = 7

    def function(x, i, y):
        return x.index_add(0, i, y)

    actual = torch.compile(function, backend="frit", fullgraph=True, options={"deterministic": True})(x, index, y)
    torch.testing.assert_close(actual, function(x, index, y), rtol=1e-3, atol=1e-3)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda")
    device = parser.parse_args(arguments).device
    known = gpu_kinds.kinds()
    for name in KINDS:
        on_device.check_kind(known[name], device, Smallest(device))
    everything(device)
    trained(device)
    added(device)
    if device == "cuda":
        torch.cuda.synchronize()
    print(f"gpu_smoke: {len(KINDS) + 3} programs agree with eager")
    return 0


if __name__ == "__main__":
    sys.exit(main())
