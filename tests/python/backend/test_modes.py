"""torch.compile's modes on a machine without a GPU: calls without the requested CUDA graphs are counted and reported. CUDA graphs are tested with a
scripted driver (`unit/runtime/cuda/CudaGraphs.cpp`), measured schedules in `test_autotune.py`."""

import logging

import pytest
import torch
from torch._dynamo.utils import counters

import frit
from frit import backend
from frit.modes import cuda_graphs

NO_PLAN = "no GPU plan: it runs on the CPU"


def chain(x, y):
    return (x * y + 1).relu().sum(1)


@pytest.mark.parametrize("target", ["auto", "simt"])
def test_calls_without_a_gpu_are_counted_as_not_captured(target, caplog):
    torch.compiler.reset()
    compiled = torch.compile(chain, backend="frit", options={"mode": "reduce-overhead", "target": target})
    x, y = torch.randn(3, 5), torch.randn(3, 5)
    with caplog.at_level(logging.INFO, logger="frit"):
        for _ in range(4):
            torch.testing.assert_close(compiled(x, y), chain(x, y))
    counted = frit.counts()
    assert counted["not_captured"] == {NO_PLAN: 4}
    assert (counted["graph_updates"], counted["graphs_of_one_size"]) == (0, {})
    assert (counted["graph_captures"], counted["graph_replays"], counted["calls"]) == (0, 0, 4)
    assert counters["frit"][f"not_captured: {NO_PLAN}"] == 4
    said = [record.getMessage() for record in caplog.records if "not captured" in record.getMessage()]
    assert said == [f"graph 'graph0_inference' is not captured in a CUDA graph: {NO_PLAN}"]


def test_the_default_mode_asks_for_nothing():
    torch.compiler.reset()
    torch.compile(chain, backend="frit")(torch.randn(3, 5), torch.randn(3, 5))
    assert frit.counts()["not_captured"] == {}
    assert not [name for name in counters["frit"] if name.startswith(("not_captured", "not_measured"))]


@pytest.mark.parametrize("mode", ["max-autotune", "max-autotune-no-cudagraphs"])
def test_the_report_says_what_became_of_a_mode(mode):
    explained = str(frit.explain(chain, mode=mode)(torch.randn(3, 5), torch.randn(3, 5))).split("\n")
    assert (f"  1 calls without a CUDA graph: {NO_PLAN}" in explained) == (mode == "max-autotune")
    assert [line for line in explained if line.startswith("  autotune: ")]


def test_the_report_counts_graphs_of_one_size_and_other_sizes_by_reason():
    stats = {"graph_captures": 3, "graph_replays": 9, "graph_updates": 4, "graph_evictions": 1, "graph_kept_bytes": 3 << 19, "not_captured": {"it is too small": 2},
             "graphs_of_one_size": {"it calls aten::mm": 2}}
    assert list(cuda_graphs.lines(stats)) == [
        "  CUDA graphs: 3 captured, 9 replays (4 with other sizes than before), 1 evicted",
        "  CUDA graphs hold 1.5 MiB of results that forwards save for their backwards",
        "  2 CUDA graphs for one size each: it calls aten::mm",
        "  2 calls without a CUDA graph: it is too small",
    ]
    total = {"it calls aten::mm": 1}
    cuda_graphs.merge_reasons(total, stats, "graphs_of_one_size")
    assert total == {"it calls aten::mm": 3}


def test_parameters_and_buffers_are_static_in_forward_and_backward(monkeypatch):
    torch.compiler.reset()
    seen = {}
    original = cuda_graphs.static_inputs

    def watched(gm, stage):
        numbers = original(gm, stage)
        names = [node.name for node in gm.graph.nodes if node.op == "placeholder"]
        seen[stage] = ([names[number] for number in numbers], names)
        return numbers

    monkeypatch.setattr(cuda_graphs, "static_inputs", watched)
    net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4))
    compiled = torch.compile(net, backend="frit", mode="reduce-overhead")
    x = torch.randn(3, 4)
    compiled(x).sum().backward()
    static, names = seen["forward"]
    # weight, bias and x, then the normalisation's two parameters and three buffers
    assert static == [name for name in names if name != "primals_3"]
    static, names = seen["backward"]
    assert static == [name for name in names if name.startswith("primals") and name != "primals_3"]
    assert static and "tangents_1" in names and "addmm" in names
    with torch.no_grad():
        net.eval()(x)
        compiled(x)
    assert len(seen["inference"][0]) == len(seen["inference"][1]) - 1


@pytest.mark.parametrize("dynamic", [False, True])
def test_what_only_the_backward_sees_is_kept_in_graphs(monkeypatch, dynamic):
    torch.compiler.reset()
    seen = {}

    def watch(what, original):
        def watched(gm, stage):
            seen[stage, what] = original(gm, stage), gm
            return seen[stage, what][0]

        monkeypatch.setattr(cuda_graphs, what, watched)

    watch("kept_results", cuda_graphs.kept_results)
    watch("kept_inputs", cuda_graphs.kept_inputs)

    def step(x, w, v):
        shown = (x @ w).relu()
        return (shown @ v).exp().sin().sum(), shown

    x, w, v = torch.randn(3, 4), torch.randn(4, 4, requires_grad=True), torch.randn(4, 4, requires_grad=True)
    compiled = torch.compile(step, backend="frit", mode="reduce-overhead", dynamic=dynamic)
    compiled(x, w, v)[0].backward()
    if dynamic:
        compiled(torch.randn(5, 4), w, v)[0].backward()
    results, gm = seen["forward", "kept_results"]
    (given,) = next(node for node in gm.graph.nodes if node.op == "output").args
    kept = [given[number].name for number in results]
    # The loss and other visible results are not among them, nor are sizes.
    assert 0 not in results and 1 not in results
    assert all(isinstance(given[number].meta["val"], torch.Tensor) for number in results)
    assert "exp" in kept, kept
    inputs, gm = seen["backward", "kept_inputs"]
    names = [node.name for node in gm.graph.nodes if node.op == "placeholder"]
    arrive = [names[number] for number in inputs]
    assert set(kept) - {name for name in names if name.startswith("primals")} <= set(arrive)
    assert not [name for name in arrive if name.startswith(("primals", "tangents"))]
    assert seen["forward", "kept_inputs"][0] == seen["backward", "kept_results"][0] == ()


def test_wrong_static_arguments_are_errors():
    torch.compiler.reset()
    found = []
    backend._OBSERVERS.append(lambda name, stage, captured, report, executable: found.append(executable))
    try:
        torch.compile(chain, backend="frit")(torch.randn(3, 5), torch.randn(3, 5))
    finally:
        backend._OBSERVERS.pop()
    with pytest.raises(TypeError, match="a tuple of their numbers"):
        found[0].capture_graphs([1])
    with pytest.raises((OverflowError, TypeError)):
        found[0].capture_graphs((-1,))
    with pytest.raises(TypeError, match="the kept results are a tuple of their numbers"):
        found[0].capture_graphs((), None, 3)
