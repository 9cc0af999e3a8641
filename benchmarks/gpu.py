"""Memory-bound kernels on a GPU: eager, Inductor and frit against the device's own copy, interleaved, medians.

    python -m benchmarks.gpu [--output FILE.json] [--seconds S] [NAME ...]

A working set is several times the L2. Bytes are the mandatory traffic: every input read once, every result written once; the
denominator is the better of a device-to-device copy and torch's own copy kernel in the same run.
"""

import argparse
import json
import statistics
import sys

import torch
import torch.nn.functional as F


def _randn(*sizes, dtype=torch.bfloat16):
    return torch.randn(*sizes, device="cuda", dtype=dtype)


def kernels():
    """name -> (function, arguments)."""
    rows, columns = 16384, 8192
    return {
        "mul_add": (lambda x, y: x * y + x, [_randn(rows, columns), _randn(rows, columns)]),
        "bias_gelu_residual": (lambda x, b, r: F.gelu(x + b, approximate="tanh") + r,
                               [_randn(rows, columns), _randn(columns), _randn(rows, columns)]),
        "swiglu": (lambda g, u: F.silu(g) * u, [_randn(rows, 14336), _randn(rows, 14336)]),
        "odd_unaligned": (lambda x: 2.5 * x + 1, [_randn(16383 * 8191 + 1, dtype=torch.float32).narrow(0, 1, 16383 * 8191).view(16383, 8191)]),
        "row_sum_long": (lambda x: x.sum(-1), [_randn(rows, columns, dtype=torch.float32)]),
        "row_sum_short": (lambda x: x.float().sum(-1), [_randn(1048576, 128)]),
        "column_sum": (lambda x: x.float().sum(0), [_randn(rows, columns)]),
        "full_sum_max": (lambda x: (x.sum(), x.amax()), [_randn(1 << 28, dtype=torch.float32)]),
        "softmax": (lambda x: torch.softmax(x, -1), [_randn(32768, 4096)]),
        "layer_norm": (lambda x, w, b: torch.native_layer_norm(x, [4096], w, b, 1e-5),
                       [_randn(32768, 4096), _randn(4096), _randn(4096)]),
        "add_rms_norm": (lambda x, r, w: _add_rms_norm(x, r, w), [_randn(rows, columns), _randn(rows, columns), _randn(columns)]),
        "embedding_scale": (lambda t, i: F.embedding(i, t) * 2,
                            [_randn(128256, 4096), torch.randint(0, 128256, (32768,), device="cuda")]),
    }


def _add_rms_norm(x, residual, weight):
    h = x + residual
    f = h.float()
    return (f * torch.rsqrt(f.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype) * weight, h


def _bytes(arguments, results, name):
    tensors = [*arguments, *(results if isinstance(results, (tuple, list)) else [results])]
    if name == "embedding_scale":
        tensors = [results, results, arguments[1]]
    return sum(t.numel() * t.element_size() for t in tensors)


def _time(call):
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    call()
    end.record()
    end.synchronize()
    return start.elapsed_time(end)


def copy_bandwidth(seconds):
    source = torch.empty(1 << 30, device="cuda", dtype=torch.uint8).random_()
    target = torch.empty_like(source)
    times = _rounds({"copy": lambda: target.copy_(source)}, seconds)
    return 2 * source.numel() / times["copy"] / 1e6


def _rounds(calls, seconds):
    for call in calls.values():
        for _ in range(3):
            call()
    torch.cuda.synchronize()
    samples = {name: [] for name in calls}
    while min(sum(s) for s in samples.values()) < 1e3 * seconds or min(map(len, samples.values())) < 20:
        for name, call in calls.items():
            samples[name].append(_time(call))
    return {name: statistics.median(s) for name, s in samples.items()}


def measure(name, function, arguments, seconds):
    expected = function(*arguments)
    contenders, row = {"eager": lambda: function(*arguments)}, {"errors": {}}
    for backend in ("inductor", "frit"):
        torch.compiler.reset()
        compiled = torch.compile(function, backend=backend, fullgraph=True)
        try:
            actual = compiled(*arguments)
            torch.testing.assert_close(actual, expected, rtol=2e-2, atol=2e-2)
            contenders[backend] = lambda compiled=compiled: compiled(*arguments)
        except Exception as error:  # a contender that fails is a row of the table, not the end of it
            row["errors"][backend] = f"{type(error).__name__}: {str(error).splitlines()[0][:200]}"
    row["bytes"] = _bytes(arguments, expected, name)
    row["milliseconds"] = _rounds(contenders, seconds)
    return row


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output")
    parser.add_argument("--seconds", type=float, default=0.3)
    parser.add_argument("names", nargs="*")
    chosen = parser.parse_args(arguments)
    if not torch.cuda.is_available():
        sys.exit("benchmarks.gpu: torch sees no GPU; this measures nothing without one")
    copy = copy_bandwidth(chosen.seconds)
    print(f"copy {copy:.0f} GB/s")
    rows = {}
    with torch.no_grad():
        for name in kernels():
            if chosen.names and not any(part in name for part in chosen.names):
                continue
            rows[name] = row = measure(name, *kernels()[name], chosen.seconds)
            row["of_copy"] = {who: row["bytes"] / ms / 1e6 / copy for who, ms in row["milliseconds"].items()}
            print(name.ljust(20), " ".join(f"{who} {share:.2f}" for who, share in row["of_copy"].items()), *row["errors"].items())
            torch.cuda.empty_cache()
    if chosen.output:
        with open(chosen.output, "w") as file:
            json.dump({"copy_gb_s": copy, "kernels": rows}, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
