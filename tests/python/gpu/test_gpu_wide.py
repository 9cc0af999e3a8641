"""Tensors whose elements are more than 2^31 elements apart, in emulated GPU kernels with every access checked; memory is only reserved until it is
written. A 32-bit index would be outside of the tensor, or hit a zero. test_gpu.py tests the same on a device."""
import json

import pytest
import torch
import torch.nn.functional as F
from gpu_kinds import apart

from frit import backend

FAR = 1 << 29  # eight rows: 2^32 elements
F32 = torch.float32


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


def compiled(function, dynamic=False):
    return torch.compile(function, backend="frit", fullgraph=True, dynamic=dynamic, options={"target": "simt"})


def rows(columns=130, count=8, dtype=F32):
    return apart((count, columns), (FAR, 1), dtype)


PROGRAMS = {
    "pointwise": (lambda x: x * 2 + 1, rows),
    "bytes": (lambda x: x + 1, lambda: apart((5, 130), (1 << 30, 1), torch.int8)),
    "turned": (lambda x: x.t().contiguous() + 1, lambda: rows(40)),
    "inner stride": (lambda x: x + 1, lambda: apart((130, 5), (1, 1 << 30), F32)),
    "row sums": (lambda x: (x.sum(-1), x.argmax(-1)), rows),
    "softmax": (lambda x: torch.softmax(x, -1), rows),
    "column sums": (lambda x: (x.sum(0), x.amax(0)), lambda: apart((256, 40), (1 << 24, 1), F32)),
    "everything": (lambda x: x.sum(), rows),
    "concatenation": (lambda x: torch.cat([x, x * 2], 1), rows),
    "slice": (lambda x: x[3:, 5:70] + 1, rows),
    "rows by index": (lambda x: F.embedding(torch.tensor([7, 0, 4, 7]), x), rows),
    "elements by index": (lambda x: x.gather(1, torch.arange(8)[:, None] * 3), rows),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
def test_reads(name, dynamic):
    function, make = PROGRAMS[name]
    x = make()
    assert sum((size - 1) * stride for size, stride in zip(x.shape, x.stride())) >= 1 << 31
    torch.testing.assert_close(compiled(function, dynamic)(x), function(x), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
def test_writes(dynamic):
    x, y = rows(), rows()
    expected = x.clone() * 2 + y.clone()

    def function(x, y):
        x.mul_(2)
        x.add_(y)

    compiled(function, dynamic)(x, y)
    torch.testing.assert_close(x.clone(), expected)


def test_one_graph_takes_near_and_far_rows():
    """The width of indices is chosen at each call."""
    executables = []
    observe = lambda *seen: executables.append(seen[-1])  # noqa: E731
    backend._OBSERVERS.append(observe)
    try:
        function = compiled(lambda x: x * 2 + 1, dynamic=True)
        for stride in (200, 300, FAR, 400):
            x = apart((8, 130), (stride, 1), F32)
            torch.testing.assert_close(function(x), x * 2 + 1)
    finally:
        backend._OBSERVERS.remove(observe)
    assert len(executables) <= 2
    stats = [json.loads(executable.stats()) for executable in executables]
    assert sum(each["bytes_moved"] for each in stats) == 4 * 2 * 8 * 130 * 4
