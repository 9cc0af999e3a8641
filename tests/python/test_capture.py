"""Capture, proven by running what was written: capture, interpret, compare with eager."""

import json
import time

import checker
import pytest
import torch
import torch._export.serde.schema as torch_schema
from torch._export.serde import serialize

from benchmarks.programs import programs
from frit import backend, capture, errors, schema
from frit.sources import innermost

pytestmark = pytest.mark.usefixtures("interpreted")


@pytest.fixture
def graphs(monkeypatch):
    """The captured programs of a test, parsed."""
    seen = []
    write = backend.capture

    def record(gm):
        captured = write(gm)
        seen.append(captured)
        return captured

    monkeypatch.setattr(backend, "capture", record)
    return seen


def nodes(captured):
    return json.loads(captured.json)["graph_module"]["graph"]["nodes"]


@pytest.mark.parametrize("name", programs())
def test_programs(name):
    program = programs()[name]
    function, inputs = program.make("test")
    checker.check(
        function,
        *inputs,
        compare=program.compare,
        training=program.training,
        seed=3 if program.random else None,
        fullgraph=program.fullgraph,
    )


@pytest.mark.parametrize("name", ["gpt2, training", "vit, training", "captioning, training"])
def test_models_with_dynamic_shapes(name):
    function, inputs = programs()[name].make("test")
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


def test_scalar_arithmetic_and_integer_results(graphs):
    def function(x):
        n = x.shape[0]
        return x.reshape(-1)[: n * x.shape[1] // 2] + (n % 3) / 2, n + 1, max(n, 4), None, 7

    checker.check(function, torch.randn(6, 5), dynamic=True)
    targets = {node["target"] for node in nodes(graphs[0])}
    assert {"_operator.floordiv", "_operator.mul", "_operator.mod"} <= targets


def test_python_floats_under_dynamic_shapes():
    checker.check(lambda x, scale: x * scale + scale**2, torch.randn(4), 0.3, dynamic=True)


def test_unbacked_sizes(graphs):
    def function(x):
        kept = x.nonzero().squeeze(1)
        return x[kept] * 2, kept.shape[0], torch.zeros(kept.shape[0] + 1)

    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        checker.check(function, torch.tensor([0.0, 3.0, 0.0, 1.0]))
    assert "u0" in json.loads(graphs[0].json)["range_constraints"]


def test_items_and_branches_on_unbacked_scalars():
    def function(x, n):
        count = n.item()
        torch._check(count >= 0)
        torch._check(count <= x.shape[0])
        return x.narrow(0, 0, count).sum() + count

    with torch._dynamo.config.patch(capture_scalar_outputs=True):
        checker.check(function, torch.arange(9.0), torch.tensor(4))


def test_graph_constants_are_captured_with_their_data(graphs):
    checker.check(lambda x: x + torch.tensor([1.0, 2.0, 3.0]), torch.randn(2, 3))
    (constant,) = graphs[0].constants
    assert constant.tolist() == [1.0, 2.0, 3.0]
    specs = json.loads(graphs[0].json)["graph_module"]["signature"]["input_specs"]
    assert [next(iter(s)) for s in specs] == ["tensor_constant", "user_input"]


def test_inputs_returned_and_mutated():
    def function(x, y):
        x.add_(1)
        y[1:].mul_(x[0])
        return x, y.t(), x + y

    checker.check(function, torch.randn(3, 3), torch.randn(3, 3))


def test_buffers_written_back_in_training(graphs):
    torch.manual_seed(0)
    norm = torch.nn.BatchNorm1d(4)
    x = torch.randn(8, 4)
    expected = torch.nn.BatchNorm1d(4)
    assert torch.allclose(torch.compile(norm, backend="frit", fullgraph=True)(x), expected(x), atol=1e-6)
    assert torch.allclose(norm.running_mean, expected.running_mean) and norm.num_batches_tracked == 1
    assert sum(node["target"] == "torch.ops.aten.copy_.default" for node in nodes(graphs[0])) == 3


def test_mutating_custom_operators():
    @torch.library.custom_op("frit_test::add_into", mutates_args=("out",))
    def add_into(x: torch.Tensor, out: torch.Tensor) -> None:
        out.add_(x)

    def function(x):
        out = x * 2
        add_into(x, out[1:].view(-1, x.shape[1])[: x.shape[0] - 1].new_zeros(x.shape))
        add_into(x, out)
        return out

    checker.check(function, torch.randn(4, 3))


def test_repeated_regions_are_subgraphs(graphs):
    @torch.compiler.nested_compile_region
    def block(x, w):
        return torch.relu(x @ w), x.sum()

    def function(x, w):
        for _ in range(3):
            x, total = block(x, w)
        return x * total

    checker.check(function, torch.randn(4, 4), torch.randn(4, 4))
    assert sum("invoke_subgraph" in node["target"] for node in nodes(graphs[0])) == 3


def test_unknown_higher_order_operators_become_callback_steps(graphs):
    def function(x):
        return torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,)) * 2

    from torch._dynamo.utils import counters

    compiled = checker.check(function, torch.ones(3))
    checker.check(function, -torch.ones(3), compiled=compiled)
    assert [step.name for step in graphs[0].callbacks] == ["cond"]
    assert counters["frit"]["callback:cond"] == 1


def test_several_results_of_a_callback(graphs):
    from torch._higher_order_ops.while_loop import while_loop

    def function(x):
        count, total = while_loop(lambda i, x: i < 4, lambda i, x: (i + 1, x * 2), (torch.tensor(0), x))
        return count, total + 1

    checker.check(function, torch.ones(3))
    assert [step.name for step in graphs[0].callbacks] == ["while_loop"]


def test_lists_splits_and_unused_results():
    def function(x):
        a, _, c = x.split([1, 2, 3])
        values, _ = torch.topk(x, 2)
        return torch.stack([a, c[:1]]), values, torch._foreach_mul([a, c], 2)[1]

    checker.check(function, torch.randn(6), compare="exact")


def test_optional_tensor_lists_and_special_floats():
    def function(x, index):
        return x[:, index], x.masked_fill(x > 0, float("-inf")), torch.full((2,), float("nan")), torch.clamp(x, max=float("inf"))

    checker.check(function, torch.randn(3, 4), torch.tensor([2, 0]), compare="exact")


def test_autocast_and_a_training_step():
    model = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.GELU(), torch.nn.LayerNorm(8), torch.nn.Linear(8, 2))

    def function(x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return model(x).float().square().mean()

    checker.check(function, torch.randn(5, 6), training=True, module=model)


def test_random_numbers_follow_eager():
    def function(x):
        return torch.nn.functional.dropout(x, 0.5), torch.rand_like(x), torch.bernoulli(x.sigmoid())

    checker.check(function, torch.randn(20), compare="exact", seed=11)


def test_sources_name_the_innermost_user_line(graphs):
    checker.check(lambda x: x.sin() + 1, torch.randn(3))
    (source,) = {node["metadata"]["source"] for node in nodes(graphs[0])}
    assert source.startswith("test_capture.py:") and "x.sin() + 1" in source
    assert innermost("no frames here") == ""


def test_a_layout_without_a_place_in_the_schema_is_named():
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    x.meta["val"] = torch.ones(2, 2).to_sparse()
    graph.output((x,))
    with pytest.raises(errors.CaptureError, match="torch.sparse_coo are not supported; convert with .to_dense"):
        capture.capture(torch.fx.GraphModule(torch.nn.Module(), graph))


def test_the_codes_are_those_of_the_installed_torch():
    assert schema.SCHEMA_VERSION[0] == torch_schema.SCHEMA_VERSION[0]
    assert schema.DTYPES == {d: int(c) for d, c in serialize._TORCH_TO_SERIALIZE_DTYPE.items()}
    assert schema.MEMORY_FORMATS == {f: int(c) for f, c in serialize._TORCH_TO_SERIALIZE_MEMORY_FORMAT.items()}
    torch_layouts = {f: int(c) for f, c in serialize._TORCH_TO_SERIALIZE_LAYOUT.items()}
    assert schema.LAYOUTS.items() <= torch_layouts.items()
    assert set(schema.SCALAR_OPERATORS) == serialize._SYM_OPS


def test_torchs_own_serializer_writes_the_same_graph(monkeypatch):
    """On graphs both can take, node by node; values of keys only one of them writes are left out."""
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
    for name, dynamic in [("giou, padded, backward", False), ("giou, padded", True), ("adamw step", False), ("gpt2, training", True)]:
        torch.compiler.reset()
        program = programs()[name]
        function, inputs = program.make("test")
        checker.check(function, *inputs, training=program.training, dynamic=dynamic)
    assert sum(compared) > 500


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
            capture.capture(gm)
            best = min(best, time.perf_counter() - start)
        return best

    small, large = chain(1_000), chain(10_000)
    short, long = seconds(small), seconds(large)
    assert long / 10_000 < 120e-6, f"{1e6 * long / 10_000:.0f} us a node"
    assert long / short < 25, (short, long)
