"""Compile time grows with the graph, not with its square: by work done and, generously, by time spent."""

import json
import time

import torch
from torch.fx.experimental.proxy_tensor import make_fx

from frit import options
from frit.backend import _native
from frit.capture import capture


def compiled(length):
    """CPU seconds and the artifact of a chain in which no two operators are the same."""

    def chain(x):
        for k in range(length // 2):
            x = torch.tanh(x) if k % 16 == 15 else x * (1 + k / 4096)
            x = x + k / 512
        return x

    text = capture(make_fx(chain, tracing_mode="fake")(torch.ones(64))).json
    settings = json.dumps({**options.resolve(None, None), "name": f"chain{length}"})
    best, result = float("inf"), None
    for _ in range(3):
        began = time.thread_time()
        result = _native().compile(text, settings)
        best = min(best, time.thread_time() - began)
    return best, result


def test_compile_time_is_linear_in_a_chain():
    compiled(16)
    (short_time, short), (long_time, long) = compiled(500), compiled(2000)
    kernels = [len(json.loads(result.report)["kernels"]) for result in (short, long)]
    assert 2 <= kernels[0] and 3 * kernels[0] <= kernels[1] <= 5 * kernels[0]
    assert len(long.artifact) <= 5 * len(short.artifact)
    # Four times the work; sixteen times would be its square.
    assert long_time <= 9 * short_time, (short_time, long_time)
