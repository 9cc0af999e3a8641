"""Tests capture by running its text: capture, interpret, compare with eager."""

import json
import time

import checker
import pytest
import torch
import torch._export.serde.schema as torch_schema
from torch._export.serde import serialize

from benchmarks.programs import programs
from frit import backend
from frit.capture import schema
from frit.capture.graph import capture
from frit.capture.sources import innermost

pytestmark = pytest.mark.usefixtures("interpreted")


def nodes(captured):
    return json.loads(captured.json)["graph_module"]["graph"]["nodes"]


# The larger models are captured in test_programs.py and test_training.py; one represents them here.
@pytest.mark.parametrize("name", [n for n, p in programs().items() if p.section != "4" or n == "gpt2, forward"])
def test_programs(name):
    checker.check_program(programs()[name])


def test_a_model_trained_with_dynamic_shapes():
    function, inputs = programs()["gpt2, training"].make("test")
    checker.check(function, *inputs, training=True, dynamic=True)


def test_dynamic_sizes_are_expressions_with_hints_and_ranges(graphs):
    def function(x):
        return torch.cat([x, x * 2]).sum(0, keepdim=True).expand(x.shape[0] * 3, -1)

    checker.check(function, torch.randn(5, 3), dynamic=True)
    program = json.loads(graphs[0].json)
    value = program["graph_module"]["graph"]["tensor_values"]["cat"]["sizes"][0]["as_expr"]
    assert value["expr_str"].startswith("Mul(Integer(2), Symbol('s") and value["hint"] == {"as_int": 10}
    bounds = list(program["range_constraints"].values())
    assert bounds and all(b["min_val"] == 2 and b["max_val"] is None for b in bounds)


def test_marked_ranges_are_written(graphs):
    x = torch.randn(6, 3)
    torch._dynamo.mark_dynamic(x, 0, min=4, max=64)
    torch.compile(lambda x: x + 1, backend="frit")(x)
    assert list(json.loads(graphs[0].json)["range_constraints"].values()) == [{"min_val": 4, "max_val": 64}]


def test_sources_name_the_innermost_user_line(graphs):
    checker.check(lambda x: x.sin() + 1, torch.randn(3))
    (source,) = {node["metadata"]["source"] for node in nodes(graphs[0])}
    assert source.startswith("test_capture.py:") and "x.sin() + 1" in source
    assert innermost("no frames here") == ""


def test_what_dynamo_makes_of_a_float_has_a_users_line(graphs):
    """Its nodes have no stack trace: converting the float, and the operation with it."""

    def function(x, by):
        return (x.sin() * by + by).cos() - by

    torch.compile(function, backend="frit", dynamic=True)(torch.randn(5, 7), 0.1)
    sources = [(node["target"], node["metadata"].get("source", "")) for node in nodes(graphs[0])]
    assert any("convert_element_type" in target or "_to_copy" in target for target, _ in sources), sources
    assert all(source.startswith("test_capture.py:") and "x.sin() * by" in source for _, source in sources), sources


def test_the_codes_are_those_of_the_installed_torch():
    assert schema.SCHEMA_VERSION[0] == torch_schema.SCHEMA_VERSION[0]
    assert schema.DTYPES == {d: int(c) for d, c in serialize._TORCH_TO_SERIALIZE_DTYPE.items()}
    assert schema.MEMORY_FORMATS == {f: int(c) for f, c in serialize._TORCH_TO_SERIALIZE_MEMORY_FORMAT.items()}
    torch_layouts = {f: int(c) for f, c in serialize._TORCH_TO_SERIALIZE_LAYOUT.items()}
    assert schema.LAYOUTS.items() <= torch_layouts.items()
    assert set(schema.SCALAR_OPERATORS) == serialize._SYM_OPS


def test_torchs_own_serializer_writes_the_same_graph(monkeypatch):
    """Compares node by node on graphs that both support; keys that only one of them writes are left out."""
    from torch.export.graph_signature import ExportGraphSignature

    compared = []
    write = backend.capture

    def compare(gm):
        captured = write(gm)
        for node in gm.graph.nodes:
            node.meta.pop("nn_module_stack", None)
        theirs = serialize.GraphModuleSerializer(ExportGraphSignature([], []), []).serialize_graph(gm)
        theirs = json.loads(serialize._to_json_bytes(theirs))
        ours = json.loads(captured.json)["graph_module"]["graph"]
        for node in ours["nodes"] + theirs["nodes"]:
            node.pop("metadata")
        for key in ("inputs", "outputs", "nodes", "tensor_values", "sym_int_values"):
            assert ours[key] == theirs[key], key
        compared.append(len(ours["nodes"]))
        return captured

    monkeypatch.setattr(backend, "capture", compare)
    for name, dynamic in [("giou, padded, backward", False), ("giou, padded", True), ("adamw step", False), ("gpt2, forward", True)]:
        torch.compiler.reset()
        program = programs()[name]
        function, inputs = program.make("test")
        checker.check(function, *inputs, training=program.training, dynamic=dynamic)
    assert sum(compared) > 200


def test_cost_is_small_and_linear():
    def chain(length):
        graph = torch.fx.Graph()
        x = graph.placeholder("x")
        x.meta["val"] = torch.empty(4, 4)
        y = x
        for _ in range(length):
            y = graph.call_function(torch.ops.aten.mul.Tensor, (y, x))
            y.meta["val"] = torch.empty(4, 4)
        graph.output((y,))
        return torch.fx.GraphModule(torch.nn.Module(), graph)

    def seconds(gm):
        best = float("inf")
        for _ in range(3):
            start = time.perf_counter()
            capture(gm)
            best = min(best, time.perf_counter() - start)
        return best

    small, large = chain(1_000), chain(10_000)
    short, long = seconds(small), seconds(large)
    assert long / 10_000 < 120e-6, f"{1e6 * long / 10_000:.0f} us a node"
    assert long / short < 25, (short, long)
