"""Graphs that are stored as code are rebuilt call by call: nothing runs, and the code is the same."""

import math
import pickle
import threading

import pytest
import torch
import torch.nn.functional as F
from torch._dynamo.backends.common import aot_autograd

from frit.stored_code import StoredCode

CONSTANT = torch.arange(3.0)


def branches(x, i):
    return torch.cond(x.sum() > 0, lambda x: x[i] + torch.rand(2, 4), lambda x: x[:2] * 2, (x,))


def loop(x, i):
    return torch.while_loop(lambda k, y: k < 3, lambda k, y: (k + 1, y * 2 + torch.rand(1)), (torch.tensor(0), x))


PROGRAMS = {
    "random numbers": lambda x, i: torch.rand(2) + x[i, :2] + torch.randn(x.shape[1])[:2] + torch.randperm(4)[:2],
    "numbers of the host": lambda x, i: x[i] * math.ceil(x.shape[0] / 3) + int(x.shape[0] * 0.7) + math.sqrt(x.shape[1]),
    "sizes": lambda x, i: x.sum() + x.new_zeros(x.shape[0] // 2, max(x.shape[1], 3) - 1).sum() + x.shape[0] % 3 + float(x.shape[1] > 2),
    "interpolation": lambda x, i: F.interpolate(x[None, None], scale_factor=1.7, mode="bilinear", align_corners=True),
    "constants": lambda x, i: x[:, :3] * torch.tensor([1.0, 2.0, 3.0]) + CONSTANT + torch.full((3,), -math.inf).exp() + torch.tensor(float("nan")),
    "types and devices": lambda x, i: x.to(torch.float64, memory_format=torch.preserve_format).to(torch.device("cpu")) + torch.ones(4, dtype=torch.int8)[None],
    "several results": lambda x, i: (*x.sort(-1), x.split([1, 3], 1)[1], x.topk(2), torch.linalg.slogdet(x[:2, :2]), None, 3),
    "complex": lambda x, i: torch.fft.fft(x).abs() + (x + 1j).real * (2 + 3j).real,
    "writes": lambda x, i: (x.mul_(2), x[i])[1] + 1,
    "branches": branches,
    "loop": loop,
}


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_code_is_the_same(name, training, dynamic):
    if training and name in ("writes", "loop"):
        pytest.skip("torch has no gradient for it")
    graphs = []

    def compiler(gm, example_inputs):
        graphs.append(gm)
        return gm

    torch.manual_seed(0)
    x = torch.randn(5, 4, requires_grad=training)
    result = torch.compile(PROGRAMS[name], backend=aot_autograd(fw_compiler=compiler), dynamic=dynamic)(x, torch.tensor([1, 2]))
    if training:
        first = next(each for each in (result if isinstance(result, tuple) else (result,)) if isinstance(each, torch.Tensor) and each.requires_grad)
        first.real.sum().backward()
    before = torch.get_rng_state()
    assert graphs
    for gm in graphs:
        again = pickle.loads(pickle.dumps(StoredCode(gm))).graph_module()
        check_same(again, gm)
    assert torch.equal(torch.get_rng_state(), before)


def check_same(again, gm):
    assert calls_of(again) == calls_of(gm)
    for name, module in gm.named_children():
        check_same(getattr(again, name), module)


def calls_of(gm):
    """Each node with the numbers of its operands; as text, because NaN is not equal to itself."""
    numbers = {node: number for number, node in enumerate(gm.graph.nodes)}

    def named(value):
        return torch.fx.node.map_arg(value, lambda node: f"%{numbers[node]}")

    return [repr((node.op, node.target if node.op == "get_attr" or callable(node.target) else "", named(node.args), named(node.kwargs))) for node in numbers]


def test_other_threads_notice_nothing():
    graph = torch.fx.Graph()
    graph.output(graph.call_function(torch.add, (graph.placeholder("x"), graph.call_function(torch.rand, (2,)))))
    gm = torch.fx.GraphModule(torch.nn.Module(), graph)
    stored, compiled, errors = StoredCode(gm), torch.compile(lambda x: x + 1, backend="eager"), []
    compiled(torch.ones(2))
    call = torch.nn.Module.__call__

    def build():
        try:
            for _ in range(50):
                stored.graph_module()
                compiled(torch.ones(2))
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=build) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors and torch.nn.Module.__call__ is call
