"""Features that only graphs of torch.compile have: each is captured, compiled and run, natively and by the JSON interpreter.

Symbolic scalars and their arithmetic, sizes known only at run time, placeholders that are expressions or
constants, results that are not tensors, write-backs, and higher-order operators.
"""

import json

import checker
import pytest
import torch
from torch._dynamo.utils import counters


@pytest.fixture(autouse=True, params=["native", "interpreter"])
def runner(request):
    """Selects the native runtime or the JSON interpreter for the captured graphs."""
    if request.param == "interpreter":
        request.getfixturevalue("interpreted")
    return request.param


def nodes(captured):
    return json.loads(captured.json)["graph_module"]["graph"]["nodes"]


def inputs_of(captured):
    return json.loads(captured.json)["graph_module"]["graph"]["inputs"]


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


def quantised(x):
    return torch.quantize_per_tensor(x.float(), 0.1, 10, torch.quint8).dequantize().to(x.dtype)


def test_branches_with_a_value_that_no_plan_can_hold_become_callback_steps(graphs):
    def function(x):
        return torch.cond(x.sum() > 0, lambda x: quantised(x) + 1, lambda x: x - 1, (x,)) * 2

    compiled = checker.check(function, torch.ones(3))
    checker.check(function, -torch.ones(3), compiled=compiled)
    assert [step.name for step in graphs[0].callbacks] == ["cond"]
    assert counters["frit"]["callback:cond"] == 1


def test_several_results_of_a_callback(graphs):
    from torch._higher_order_ops.while_loop import while_loop

    def function(x):
        count, total = while_loop(lambda i, x: i < 4, lambda i, x: (i + 1, quantised(x) * 2), (torch.tensor(0), x))
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
            return model(x)

    checker.check(function, torch.randn(33, 6), training=True, module=model)


def test_random_numbers_follow_eager():
    def function(x):
        return torch.nn.functional.dropout(x, 0.5), torch.rand_like(x), torch.bernoulli(x.sigmoid())

    checker.check(function, torch.randn(20), compare="exact", seed=11)


def test_chains_of_symbolic_floats():
    def function(x, scale):
        n = x.shape[0]
        half = n / 2
        root = (half * scale + 1) ** 0.5
        return x * half, x + root - n * 0.25, torch.full((2,), root), int(half) + n, half

    compiled = torch.compile(function, backend="frit", dynamic=True)
    for n, scale in [(5, 0.5), (6, 1.25), (12, 3.0)]:
        checker.check(function, torch.randn(n), scale, compiled=compiled)


def test_chains_of_symbolic_booleans():
    def function(x, y):
        n, m = x.shape[0], y.shape[0]
        wide = n > 3
        both = wide and m % 2 == 0
        return x * (2 if both else 3), torch.full((2,), float(n >= m)), wide, torch.sym_max(n, m) - torch.sym_min(n, m)

    compiled = torch.compile(function, backend="frit", dynamic=True)
    for n, m in [(5, 4), (2, 4), (5, 7), (9, 9)]:
        checker.check(function, torch.randn(n), torch.randn(m), compiled=compiled)


def test_booleans_as_values_of_the_graph():
    """torch.sym_not and comparisons that stay in the graph, because a tensor is made from them."""

    def function(x):
        n = x.shape[0]
        return torch.where(torch.arange(n) < n // 2, x, -x) * torch.sym_float(n), torch.sym_int(n / 3)

    compiled = torch.compile(function, backend="frit", dynamic=True)
    for n in (4, 7, 10):
        checker.check(function, torch.randn(n), compiled=compiled)


def test_unbacked_values_through_several_operators():
    def function(x, counts):
        a, b = counts.tolist()
        torch._check(a >= 0)
        torch._check(b >= 0)
        torch._check(a + b == x.shape[0])
        first, second = x.split([a, b])
        return first.sum() * a, second * 2, torch.zeros(a + 2 * b)

    with torch._dynamo.config.patch(capture_scalar_outputs=True):
        compiled = torch.compile(function, backend="frit", fullgraph=True)
        for a, b in [(3, 4), (0, 7), (6, 1)]:
            checker.check(function, torch.randn(7), torch.tensor([a, b]), compiled=compiled)


def test_placeholders_that_are_expressions(graphs):
    """A backward graph receives the sizes that the forward graph computed."""

    def function(x):
        n = x.shape[0]
        return (x.reshape(n // 2, 2).cumsum(1).reshape(-1) * (n * 3)).cos()[: n - 1].sum()

    compiled = torch.compile(function, backend="frit", dynamic=True)
    for n in (6, 8, 14):
        checker.check(function, torch.randn(n, requires_grad=True), training=True, compiled=compiled)
    tensors = json.loads(graphs[-1].json)["graph_module"]["graph"]["tensor_values"].values()
    assert any("FloorDiv" in json.dumps(value["sizes"]) or "Add" in json.dumps(value["sizes"]) for value in tensors)


def test_placeholders_that_became_constants(graphs):
    """A size that became a constant while tracing keeps its position in the call."""

    def function(x, n):
        torch._check(n == 4)
        return x.sum() * n, x[:n] + 1

    checker.check(function, torch.randn(4, 3), 4, dynamic=True)
    checker.check(function, torch.randn(6, 3), 4, dynamic=True)
    assert graphs


def test_results_that_are_not_tensors():
    def function(x, y):
        n = x.shape[0]
        return None, n, n * 2 + 1, x, {"sum": x.sum(), "none": None, "list": [y.t(), 3, True, 2.5]}

    compiled = torch.compile(function, backend="frit", dynamic=True)
    for n in (3, 5):
        checker.check(function, torch.randn(n, 2), torch.randn(2, n), compiled=compiled)


def test_gradients_that_are_none():
    """Backward graphs return None for inputs without gradients, and forward graphs save integers and flags."""

    def function(x, index, w):
        return x[index] * w.detach() + (w > 0).float()

    checker.check(
        function, torch.randn(5, 3, requires_grad=True), torch.tensor([0, 4, 4]), torch.randn(3, 3), training=True
    )
    torch.compiler.reset()
    checker.check(
        function,
        torch.randn(5, 3, requires_grad=True),
        torch.tensor([0, 4, 4]),
        torch.randn(3, 3),
        training=True,
        dynamic=True,
    )


def test_mutated_inputs_in_training():
    """The write-back is a copy_ at the end of the forward graph, also if the input is a view of another."""

    def function(x, buffer, w):
        buffer.mul_(0.9).add_(x.detach().sum(0), alpha=0.1)
        return (x * w + buffer).relu()

    for dynamic in (False, True):
        torch.compiler.reset()
        checker.check(
            function, torch.randn(4, 3), torch.randn(3), torch.randn(3, requires_grad=True), training=True, dynamic=dynamic
        )


def test_operators_that_mutate_several_arguments(graphs):
    @torch.library.custom_op("frit_test::swap_scaled", mutates_args=("a", "b"))
    def swap_scaled(a: torch.Tensor, b: torch.Tensor, scale: float) -> torch.Tensor:
        kept = a.clone()
        a.copy_(b * scale)
        b.copy_(kept)
        return kept.sum()

    @swap_scaled.register_fake
    def _(a, b, scale):
        return a.new_empty(())

    def function(x, y):
        x = x + 1
        total = swap_scaled(x, y, 0.5)
        return x * 2, y + total

    checker.check(function, torch.randn(3, 4), torch.randn(3, 4))
    assert any("auto_functionalized_v2" in node["target"] for node in nodes(graphs[0]))


def test_mutated_operands_are_copied_only_where_something_reads_them_again(runner):
    @torch.library.custom_op("frit_test::halve", mutates_args=("x",))
    def halve(x: torch.Tensor) -> None:
        x.mul_(0.5)

    def function(x, kept):
        a = x + 1
        halve(a)
        b = kept * 3
        before = b.sum()
        halve(b)
        halve(kept)
        return a * 2, before, b, kept.sum()

    checker.check(function, torch.randn(5, 7), torch.randn(3))
    if runner == "native":
        # `kept` belongs to the caller; `b` is read by the sum and may be copied, `a` is not.
        assert counters["frit"]["aten:aten.clone.default"] <= 2


def test_operators_that_return_lists():
    @torch.library.custom_op("frit_test::pieces", mutates_args=())
    def pieces(x: torch.Tensor) -> list[torch.Tensor]:
        return [x[:1] * 2, x[1:] * 3]

    @pieces.register_fake
    def _(x):
        return [torch.empty_like(x[:1]), torch.empty_like(x[1:])]

    def function(x):
        first, rest = pieces(x * 2)
        return first + 1, rest

    checker.check(function, torch.randn(4, 3))


def test_repeated_regions_in_training():
    @torch.compiler.nested_compile_region
    def block(x, w):
        return torch.nn.functional.gelu(x @ w) + x

    def function(x, w):
        for _ in range(3):
            x = block(x, w)
        return x

    for dynamic in (False, True):
        torch.compiler.reset()
        checker.check(
            function, torch.randn(4, 4, requires_grad=True), torch.randn(4, 4, requires_grad=True), training=True, dynamic=dynamic
        )


def test_the_same_region_with_different_sizes():
    @torch.compiler.nested_compile_region
    def block(x):
        return torch.softmax(x * 2, -1), x.sum(0)

    def function(x, y):
        return block(x)[0].sum() + block(y)[1].sum(), block(x.t())[0]

    checker.check(function, torch.randn(4, 3), torch.randn(7, 5))
