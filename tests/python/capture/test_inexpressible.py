"""Features that the export schema or a plan cannot express: they run uncompiled in Python, and are counted with a reason.

Random numbers that a backward draws again, ordered effects, values whose type a plan lacks, higher-order operators, and calls that a plan was not
compiled for.
"""

import checker
import pytest
import torch
import torch.nn.functional as F
from torch._dynamo.utils import counters
from torch.utils.checkpoint import checkpoint

from frit import backend, explain

# -- random numbers that a backward draws again ----------------------------------------------------


def recomputed(block):
    return lambda x, w: checkpoint(block, x, w, use_reentrant=False)


def heads(x, w):
    q = (x @ w).view(2, 4, 2, 8).transpose(1, 2)
    return F.scaled_dot_product_attention(q, q, q, dropout_p=0.25).sum((0, 1))


@pytest.mark.parametrize(
    "block",
    [
        lambda x, w: F.dropout(F.dropout(torch.sin(x @ w), 0.5), 0.25),
        lambda x, w: (x @ w).sin() * torch.rand(16) + torch.randn_like(x).cos() * x,
        heads,
    ],
    ids=["dropout", "rand", "attention"],
)
def test_a_backward_draws_what_its_forward_drew(block):
    inputs = torch.randn(8, 16, requires_grad=True), torch.randn(16, 16, requires_grad=True)
    checker.check(recomputed(block), *inputs, training=True, seed=5)
    assert counters["frit"]["callback:run_and_save_rng_state"] and counters["frit"]["callback:run_with_rng_state"]


def test_a_backward_draws_again_at_other_sizes():
    function = recomputed(lambda x, w: F.dropout(x * w, 0.5))
    compiled = torch.compile(function, backend="frit", dynamic=True)
    for n in (4, 7):
        checker.check(function, torch.randn(n, 3, requires_grad=True), torch.ones(3), training=True, seed=n, compiled=compiled)


# -- effects ---------------------------------------------------------------------------------------


def test_effect_tokens_pass_as_nothing():
    def function(a, b):
        return torch.linalg.solve(a, b) + torch.linalg.inv(a @ a.mT + torch.eye(3))[:, :2]

    checker.check(function, torch.eye(3) + 0.1, torch.randn(3, 2))
    checker.check(
        function, (torch.eye(3) + 0.1).requires_grad_(), torch.randn(3, 2, requires_grad=True), training=True
    )


def test_operators_with_effects_raise_as_eager():
    checker.check_raises_as_eager(torch.linalg.inv, torch.zeros(3, 3))


def test_operators_with_effects_run_in_order():
    from torch._higher_order_ops.effects import _EffectType, _register_effectful_op

    seen = []

    @torch.library.custom_op("frit_test::see", mutates_args=())
    def see(x: torch.Tensor, number: int) -> torch.Tensor:
        seen.append(number)
        return x + number

    see.register_fake(lambda x, number: torch.empty_like(x))
    handle = _register_effectful_op(torch.ops.frit_test.see.default, _EffectType.ORDERED)
    try:
        # The second result has no reader; the third is ready before the first.
        torch.compile(lambda x: (see(x.exp().sum(), 1), see(x, 2), see(x, 3))[0], backend="frit", fullgraph=True)(torch.ones(3))
    finally:
        handle.destroy()
    assert seen == [1, 2, 3]


# -- values that no plan holds ---------------------------------------------------------------------


def quantised(x):
    q = torch.quantize_per_tensor(x * 2, 0.1, 0, torch.qint8)
    return torch.relu(q).dequantize() + 1, x.cos()


def narrowed(x):
    return (x * 2).to(torch.float8_e8m0fnu).to(torch.float32) + 1


def measured(x):
    y = (x * 2).to("meta")
    return x + (y @ y).shape[0], x.cos()


@pytest.mark.filterwarnings("ignore:torch.quantize")
@pytest.mark.parametrize("function", [quantised, narrowed, measured])
def test_such_values_pass_between_steps_in_python(function):
    checker.check(function, torch.randn(4, 4).abs() + 0.5, compare="exact")


@pytest.mark.filterwarnings("ignore:torch.quantize")
def test_such_values_are_arguments_and_results():
    q = torch.compile(lambda x: (x * 2, torch.quantize_per_tensor(x, 0.5, 0, torch.qint8)), backend="frit")(torch.ones(3))[1]
    assert q.dtype == torch.qint8 and q.int_repr().tolist() == [2, 2, 2]
    meta = torch.compile(lambda x, y: (x + 1, y * 2), backend="frit")(torch.ones(3, device="meta"), torch.ones(2))
    assert meta[0].device.type == "meta" and meta[1].tolist() == [2, 2]


def test_a_step_says_why_it_runs_in_python():
    shown = str(explain(narrowed)(torch.ones(3)))
    assert "python _to_copy_default: tensors of type torch.float8_e8m0fnu are not supported" in shown


def test_ragged_sizes_are_arguments_and_results():
    rows = [torch.randn(2, 3), torch.randn(4, 3)]
    compiled = torch.compile(lambda x: (x * 2).sin(), backend="frit")
    given = torch.nested.nested_tensor(rows, layout=torch.jagged, requires_grad=True)
    for ours, row in zip(compiled(given).unbind(), rows, strict=True):
        assert torch.allclose(ours, (row * 2).sin())


def test_generators_are_arguments_of_graphs():
    """The form of torch's graphs with random numbers on GPUs."""

    def draw(op, *args, rng_state=None, **kwargs):
        return op(*args, generator=rng_state, **kwargs)

    graph = torch.fx.Graph()
    x, generator = graph.placeholder("x"), graph.placeholder("generator")
    x.meta["val"], generator.meta["val"] = torch.empty(3), torch.Generator()
    noise = graph.call_function(draw, (torch.ops.aten.rand.generator, [3]), {"rng_state": generator})
    noise.meta["val"] = torch.empty(3)
    total = graph.call_function(torch.ops.aten.add.Tensor, (x, noise))
    total.meta["val"] = torch.empty(3)
    graph.output((total,))
    gm = torch.fx.GraphModule(torch.nn.Module(), graph)
    from frit import options

    run = backend.compile_graph(gm, [], settings=options.resolve(), stage="inference")
    seeded = torch.Generator().manual_seed(7)
    expected = torch.ones(3) + torch.rand(3, generator=torch.Generator().manual_seed(7))
    assert torch.equal(run([torch.ones(3), seeded])[0], expected)


# -- whole graphs ----------------------------------------------------------------------------------


def test_a_view_between_both_worlds_runs_the_graph_as_it_is(lenient):
    def function(x):
        return x.view(torch.bits16).view(torch.int16) + 1

    checker.check(function, torch.arange(4, dtype=torch.int16))
    (reason,) = [name for name in counters["frit"] if name.startswith("whole_graph:")]
    assert counters["frit"]["whole_graphs"] == 1 and "torch.bits16" in reason and "test_inexpressible.py" in reason
    assert "operator by operator: cannot capture node view" in str(explain(function)(torch.arange(4, dtype=torch.int16)))


def test_a_quotient_of_a_quotient_by_a_negative_number(lenient):
    """torch writes `n // 2 // -3` as `n // -6`."""

    def function(x, n):
        return x + n // 2 // -3, x + n // 2 // 3

    compiled = torch.compile(function, backend="frit", dynamic=True)
    for n in (7, -7, 9, 20):
        for one, other in zip(compiled(torch.zeros(2, dtype=torch.long), n), function(torch.zeros(2, dtype=torch.long), n), strict=True):
            assert torch.equal(one, other)
    (reason,) = [name for name in counters["frit"] if name.startswith("whole_graph:")]
    assert "quotient of a quotient" in reason and "test_inexpressible.py" in reason


def test_what_cannot_be_compiled_runs_as_it_is(lenient, monkeypatch):
    from frit.errors import CompileError

    def refuse(captured, settings, name, match):
        raise CompileError("no such thing\nand more")

    monkeypatch.setattr(backend, "build", refuse)
    x = torch.randn(3, 3, requires_grad=True)
    checker.check(lambda x: (x @ x).sin(), x, training=True)
    assert counters["frit"]["whole_graph:no such thing"] == 2


def test_whole_graphs_are_errors_where_fallbacks_are(lenient):
    with pytest.raises(Exception, match="torch.bits16"):
        torch.compile(lambda x: x.view(torch.bits16), backend="frit", options={"fallback": "error"})(torch.ones(2, dtype=torch.int16))


# -- graphs that are not plain ---------------------------------------------------------------------


def test_compiled_autograd():
    x, w = torch.ones(3, 4, requires_grad=True), torch.randn(4, 4, requires_grad=True)
    (x @ w).sin().sum().backward()
    expected = x.grad, w.grad
    x.grad = w.grad = None
    with torch._dynamo.compiled_autograd._enable(lambda gm: torch.compile(gm, backend="frit", fullgraph=True)):
        (x @ w).sin().sum().backward()
    torch.testing.assert_close((x.grad, w.grad), expected)
    assert counters["frit"]["graphs"] == 1


def test_distributed_tensors(tmp_path):
    import torch.distributed as dist
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor

    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    try:
        mesh = init_device_mesh("cpu", (1,))
        a, b = torch.randn(4, 3), torch.randn(3, 4)
        compiled = torch.compile(lambda a, b: ((a @ b).sin(), (a * 2).redistribute(placements=[Replicate()]).to_local()), backend="frit")
        ours, doubled = compiled(distribute_tensor(a, mesh, [Shard(0)]), distribute_tensor(b, mesh, [Replicate()]))
    finally:
        dist.destroy_process_group()
    torch.testing.assert_close(ours.to_local(), (a @ b).sin())
    assert torch.equal(doubled, a * 2)


def test_flex_attention_with_a_score_and_a_mask():
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    mask = create_block_mask(lambda b, h, i, j: i >= j, 1, 1, 64, 64, device="cpu", BLOCK_SIZE=32)
    q = torch.randn(1, 2, 64, 16)

    def attend(q):
        return flex_attention(q, q, q, score_mod=lambda s, b, h, i, j: s + (i - j) * 0.1, block_mask=mask)

    torch.testing.assert_close(torch.compile(attend, backend="frit")(q), torch.compile(attend, backend="aot_eager")(q))
    explanation = explain(attend)(q)
    assert "left to Python: flex_attention" in explanation.summary()
    hint = "Python runs flex_attention at each call (flex_attention is not in torch's export format); it computes all scores, unfused; "
    assert [one for one in explanation.hints if one.startswith(hint)]


# -- calls that a plan was not compiled for --------------------------------------------------------


@pytest.mark.parametrize("dynamic", [True, None])
def test_integers_have_any_sign(dynamic):
    def function(x, n):
        return x * n + n // 2, torch.arange(n, n + 3), n % 3

    compiled = torch.compile(function, backend="frit", dynamic=dynamic)
    for n in (3, 5, -1, 0, -7, 2**40):
        checker.check(function, torch.randn(4), n, compiled=compiled)
    assert counters["frit"]["calls_as_traced"] == 0


def test_arguments_that_no_plan_takes_run_the_graph_as_it_was_traced(lenient):
    x = torch.randn(4, 4)
    compiled = torch.compile(lambda x, n: x + n, backend="frit", dynamic=True)
    assert torch.equal(compiled(x, 3), x + 3) and torch.equal(compiled(x, -(2**63)), x - (2**63))
    compiled = torch.compile(lambda s: s.to_dense() * 2, backend="frit")
    assert torch.equal(compiled(x.to_mkldnn()).to_dense(), x * 2)
    with torch._subclasses.FakeTensorMode():
        fake = torch.ones(3)
    assert torch.compile(lambda x: x * 2, backend="frit")(fake).shape == (3,)
    assert counters["frit"]["calls_as_traced"] == 3
    assert sum("layout is not strided" in name for name in counters["frit"]) == 1
