"""The backend as users meet it: boxed calls, mutation and aliasing, explain, counters, errors at run time."""

import json
import logging
import threading
import time

import checker
import pytest
import torch
from torch._dynamo.utils import counters
from torch.fx.experimental.proxy_tensor import make_fx

import frit
from frit import backend, logs, options
from frit.sizes.specialize import wait_for_background


@pytest.fixture
def executables(monkeypatch):
    """Collects the executables of a test's graphs."""
    seen = []
    build = backend.build

    def record(*arguments):
        result = build(*arguments)
        seen.append(result[0])
        return result

    monkeypatch.setattr(backend, "build", record)
    return seen


def test_the_executable_is_boxed_and_clears_its_list(executables):
    torch.compile(lambda x, y: x + y, backend="frit")(torch.ones(3), torch.ones(3))
    (run,) = executables
    assert run._boxed_call
    arguments = [torch.ones(3), torch.full((3,), 2.0)]
    assert run(arguments)[0].tolist() == [3, 3, 3]
    assert arguments == []


@pytest.mark.parametrize(
    "arguments, message",
    [
        ([torch.ones(3)], "2"),
        ([torch.ones(3), torch.ones(3), torch.ones(3)], "2"),
        ([torch.ones(4), torch.ones(3)], "size|shape"),
        ([torch.ones(3, dtype=torch.int32), torch.ones(3)], "dtype|type|Float|int"),
        ([torch.ones(3, 1), torch.ones(3)], "rank|dim"),
        ([None, torch.ones(3)], "tensor|Tensor"),
    ],
)
def test_wrong_arguments_at_run_time_are_errors(executables, arguments, message):
    torch.compile(lambda x, y: x + y, backend="frit")(torch.ones(3), torch.ones(3))
    with pytest.raises((RuntimeError, TypeError, ValueError), match=message):
        executables[0](list(arguments))
    assert executables[0]([torch.ones(3), torch.ones(3)])[0].tolist() == [2, 2, 2]


def test_what_a_plan_does_not_fit_runs_as_it_was_traced(executables, lenient):
    torch.compile(lambda x, y: x + y, backend="frit")(torch.ones(3), torch.ones(3))
    before = counters["frit"]["calls_as_traced"]
    assert executables[0]([torch.ones(3, 1), torch.ones(3)])[0].tolist() == [[2.0] * 3] * 3
    assert counters["frit"]["calls_as_traced"] == before + 1
    with pytest.raises(RuntimeError, match="takes 2 inputs, got 1"):
        executables[0]([torch.ones(3)])


def test_mutation_and_aliasing():
    def function(x, y):
        view = x[1:]
        x.mul_(2)
        y.t().add_(view.sum())
        return view, x, y.t(), x.clone(), x + 1

    checker.check(function, torch.randn(4, 3), torch.randn(2, 5))


def test_the_same_tensor_twice_is_never_confused_with_two():
    def function(x, y):
        x.mul_(2)
        return x * y

    compiled = torch.compile(function, backend="frit")
    checker.check(function, torch.randn(4), torch.randn(4), compiled=compiled)
    shared = torch.randn(4)
    checker.check(function, shared, shared, compiled=compiled)


def test_overlapping_tensors_after_separate_ones():
    """torch runs the graph that was traced for separate tensors."""

    def function(x, y):
        x.mul_(2)
        return x * y

    compiled = torch.compile(function, backend="frit")
    checker.check(function, torch.randn(4), torch.randn(4), compiled=compiled)
    base = torch.randn(6)
    checker.check(function, base[1:5], base[2:6], compiled=compiled)


def test_results_outlive_the_next_call():
    compiled = torch.compile(lambda x: (x * 2, (x + 1).sum(0)), backend="frit")
    first = compiled(torch.ones(5, 3))
    kept = [t.clone() for t in first]
    compiled(torch.full((5, 3), 9.0))
    assert all(torch.equal(a, b) for a, b in zip(first, kept))


def test_explain_lists_kernels_calls_and_sources():
    def function(x, w):
        return torch.relu((x @ w).sin() + 1).sum(0)

    explanation = frit.explain(function)(torch.randn(8, 4), torch.randn(4, 4))
    assert len(explanation.graphs) == 1 and explanation.kernels
    assert [call["op"] for call in explanation.aten_calls] == ["aten.mm.default"]
    text = str(explanation)
    assert "aten.mm.default" in text and "test_backend.py" in text
    assert '"kernels"' in explanation.to_json()
    (graph,) = explanation.graphs
    # ATen allocates the result of the matrix product; frit allocates the graph's result and intermediates of kernels.
    assert graph["runs"] == 1 and graph["peak_bytes"] >= graph["temporary_bytes"] + 4 * 4
    assert "of temporaries" in text and "at the peak with results" in text


def test_explain_shows_both_graphs_of_training_and_python_steps():
    layer = torch.nn.Linear(4, 4)

    def function(x):
        y = torch.cond(x.sum() > 0, lambda x: torch.quantize_per_tensor(x, 0.1, 10, torch.quint8).dequantize() + 1, lambda x: x - 1, (x,))
        return torch.nn.functional.gelu(layer(y)).sum()

    explanation = frit.explain(function, options={"numerics": "default"}, fullgraph=True)(torch.randn(3, 4))
    assert layer.weight.grad is None
    assert [graph["stage"] for graph in explanation.graphs] == ["forward", "backward"]
    forward, backward = explanation.graphs
    assert forward["runs"] == backward["runs"] == 1 and forward["peak_bytes"] > 0
    assert "cond" in explanation.callbacks and "python cond" in str(explanation)
    assert "left to Python: cond" in explanation.summary() and not [call for call in explanation.aten_calls if "frit_callback" in call["op"]]
    # explain leaves no state: the next compilation starts afresh.
    assert not counters["frit"]


def test_operators_left_to_aten_are_counted_and_named():
    checker.check(lambda x: torch.logcumsumexp(x * 2, 0) + 1, torch.randn(7, 3))
    assert counters["frit"]["aten:aten.logcumsumexp.default"] == 1


def test_fallbacks_are_logged():
    records = []
    handler = logging.Handler()
    handler.emit = records.append
    try:
        logs.apply("fallbacks")
        logs.artifact("fallbacks").addHandler(handler)
        torch.compile(lambda x: torch.sort(x).values * 2, backend="frit")(torch.randn(5))
    finally:
        logs.artifact("fallbacks").removeHandler(handler)
        logs.silence()
        logs.log.handlers.clear()
    assert any("aten.sort" in record.getMessage() for record in records)


def test_one_line_a_graph_is_logged():
    records = []
    handler = logging.Handler()
    handler.emit = records.append
    try:
        logs.apply("frit")
        logs.log.addHandler(handler)
        torch.compile(lambda x: torch.sort(x.sin()).values * 2, backend="frit")(torch.randn(5))
    finally:
        logs.silence()
        logs.log.handlers.clear()
    (line,) = [record.getMessage() for record in records if record.name == "frit"]
    assert "2 kernels, 1 ATen call (aten.sort.default)" in line


def test_reset_forgets_and_is_called_by_torchs(executables):
    function = torch.compile(lambda x: x + 1, backend="frit")
    function(torch.ones(3))
    assert counters["frit"]["graphs"] == 1
    frit.reset()
    assert not counters["frit"]
    function(torch.ones(3))
    torch.compiler.reset()
    function(torch.ones(3))
    assert len(executables) == 2 and counters["frit"]["graphs"] == 1


def test_every_stage_is_dumped_even_of_a_cached_graph(folder, tmp_path, monkeypatch):
    """A dump compiles again, so that it is complete, and does not change the cache."""

    wait_for_background()  # background compilations of earlier tests would be counted

    def run():
        torch.compiler.reset()
        counters["frit"].clear()
        torch.compile(lambda x: x.sin() + 1, backend="frit")(torch.ones(3))
        return [counters["frit"][name] for name in ("cache_stores", "cache_hits", "kernels_compiled", "kernels_reused")]

    dump = tmp_path / "dump"
    assert run() == [1, 0, 1, 0]
    entries = sorted(folder.rglob("*"))
    monkeypatch.setenv("FRIT_DUMP", str(dump))
    assert run() == [0, 0, 1, 0]
    assert sorted(folder.rglob("*")) == entries
    monkeypatch.delenv("FRIT_DUMP")
    assert run() == [0, 1, 0, 0]
    (stages,) = dump.iterdir()
    names = sorted(path.name for path in stages.iterdir() if path.is_file())
    kinds = [name.partition("-")[2].replace("cpu-x86-64-v4", "cpu-x86-64-v3") for name in names]
    assert stages.name == "graph0_inference" and [name[:2] for name in names] == [f"{number:02}" for number in range(1, len(names) + 1)]
    assert kinds == [
        "captured.json", "imported.mlir", "legalized.mlir", "fused.mlir", "cpu-scheduled.mlir", "cpu-outlined.mlir", "cpu-kernel-programs.txt",
        "cpu-x86-64-v3.ll", "plan.txt", "report.json", "artifact.frit",
    ]  # fmt: skip
    assert "frit_sin_add" in (stages / names[7]).read_text()


def test_a_dump_of_a_graph_that_is_compiled_twice_keeps_both(tmp_path):
    for _ in range(2):
        torch.compiler.reset()
        torch.compile(lambda x: x.sin() + 1, backend="frit", options={"dump_dir": str(tmp_path)})(torch.ones(3))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["graph0_inference", "graph0_inference-2"]


def test_fallback_error_refuses_aten_calls():
    def function(x):
        return torch.logcumsumexp(x, 0)

    with pytest.raises(Exception, match="aten.logcumsumexp.default"):
        torch.compile(function, backend="frit", options={"fallback": "error"})(torch.randn(4))


def test_numerics_eager_is_bit_equal_for_pointwise_chains():
    def function(x, y):
        return ((x * y + 1.5) * x - y).relu() / 3, torch.maximum(x + y, x) * 0.1

    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        torch.compiler.reset()
        x, y = torch.randn(67).to(dtype), torch.randn(67).to(dtype)
        checker.check(function, x, y, compare="exact", options={"numerics": "eager"})


@pytest.mark.parametrize("exponent", [3, -2, 2, -1])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_numerics_eager_rounds_powers_as_eager(dtype, exponent):
    x = torch.randn(1003).to(dtype).abs()
    assert torch.equal(torch.compile(lambda x: x**exponent, backend="frit", options={"numerics": "eager"})(x), x**exponent)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_numerics_eager_contracts_where_eagers_kernels_do(dtype):
    def function(x, y, z, w):
        sums = torch.add(x, y, alpha=0.3), torch.sub(x, y, alpha=0.3), torch.rsub(x, y, alpha=0.7)
        return *sums, torch.addcmul(x, y, z), torch.addcmul(x, y, z, value=0.3), torch.lerp(x, y, 0.3), torch.lerp(x, y, 0.7), torch.lerp(x, y, w)

    # Only whole vectors, because eager rounds the rest of a vector of halves once more.
    n = 512 if dtype == torch.bfloat16 else 517
    arguments = [torch.randn(n).to(dtype) for _ in range(3)] + [torch.rand(n).to(dtype)]
    checker.check(function, *arguments, compare="exact", options={"numerics": "eager"})


def test_numerics_eager_divides_to_the_last_bit():
    """Also for denormal quotients, where a product with the reciprocal is off by one ulp."""

    def function(x, y):
        return x / 3, x / y[:1], y / 0.7

    x, y = torch.rand(4099) * 2.0**-121, torch.rand(4099) * 2.0**-124 + 2.0**-125
    checker.check(function, x, y, compare="exact", options={"numerics": "eager"})
    checker.check(function, y, x + 1.5, compare="exact", options={"numerics": "eager"})


def test_threads_do_not_change_bits():
    def function(x):
        return torch.softmax(x, -1), x.sum(0), x.sum(), (x * 1.7).tanh()

    x = torch.randn(301, 257)
    compiled = torch.compile(function, backend="frit")
    two = compiled(x)
    torch.set_num_threads(1)
    try:
        one = compiled(x)
    finally:
        torch.set_num_threads(2)
    assert all(torch.equal(a, b) for a, b in zip(one, two))


def test_autograd_modes():
    layer = torch.nn.Linear(4, 4)
    compiled = torch.compile(lambda x: layer(x).tanh(), backend="frit")
    x = torch.randn(3, 4)
    assert compiled(x).requires_grad
    with torch.no_grad():
        assert not compiled(x).requires_grad
    with torch.inference_mode():
        torch.testing.assert_close(compiled(x), layer(x).tanh())


def test_a_long_chain_compiles_in_linear_time():
    def chain(x, length):
        for i in range(length):
            x = x * 1.0001 + (i % 3)
        return (x,)

    def seconds(length):
        x = torch.ones(4, 4)
        gm = make_fx(lambda x: chain(x, length), tracing_mode="fake")(x)
        start = time.perf_counter()
        run = backend.compile_graph(gm, [], settings=options.resolve(), stage="inference")
        took = time.perf_counter() - start
        torch.testing.assert_close(run([x])[0], chain(x, length)[0])
        return took

    seconds(10)
    short, long = seconds(500), seconds(5000)
    assert long < 25 * short + 0.5, f"{short:.2f} s for 1,000 operators, {long:.2f} s for 10,000"


def test_calls_from_several_threads(executables):
    """First and later calls, forward and backward, with other sizes in each thread."""
    layer = torch.nn.Sequential(torch.nn.Linear(6, 9), torch.nn.GELU(), torch.nn.LayerNorm(9))
    compiled = torch.compile(lambda x: torch.softmax(layer(x), -1).sort(-1).values.square(), backend="frit", dynamic=True)
    wrong = []

    def work(seed):
        try:
            generator = torch.Generator().manual_seed(seed)
            for n in range(seed + 2, seed + 8):
                x = torch.randn(n, 6, generator=generator, requires_grad=True)
                compiled(x).sum().backward()
                y = x.detach().clone().requires_grad_()
                torch.softmax(layer(y), -1).sort(-1).values.square().sum().backward()
                torch.testing.assert_close(x.grad, y.grad)
        except Exception as error:
            wrong.append((seed, error))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong, wrong


def test_one_executable_in_several_threads(executables):
    """Concurrent calls of one graph with ATen calls, temporaries and errors."""
    x = torch.randn(64, 33)
    index = torch.randint(0, 64, (50,))
    function = lambda x, index: torch.sort(x.tanh()[index], -1).values.cumsum(0) * 2 + x.mean()  # noqa: E731
    expected = torch.compile(function, backend="frit")(x, index)
    (run,) = executables
    bad = index.clone()
    bad[7] = 64
    wrong = []

    def work(seed):
        for i in range(60):
            if (i + seed) % 5 == 0:
                try:
                    run([x, bad])
                    wrong.append("no error")
                except IndexError as error:
                    if "index 64 is out of bounds for dimension 0 with size 64" not in str(error):
                        wrong.append(str(error))
            elif not torch.equal(run([x, index])[0], expected):
                wrong.append((seed, i))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong, wrong[:3]
    assert json.loads(run.stats())["calls"] == 481


def test_fusion_off_gives_one_kernel_an_operator():
    def function(x):
        return torch.softmax(x * 2 + 1, -1).tanh().view(-1)

    x = torch.randn(8, 33)
    for fusion, kernels in ((True, 1), (False, 4)):
        torch.compiler.reset()
        checker.check(function, x, options={"fusion": fusion})
        assert len(frit.explain(function, options={"fusion": fusion})(x).kernels) == kernels


def report_of(function, *inputs):
    """Returns the compiler's report on the only graph."""
    reports = []

    def observe(name, stage, captured, report, executable):
        reports.append(report)

    backend._OBSERVERS.append(observe)
    try:
        torch.compiler.reset()
        torch.compile(function, backend="frit", fullgraph=True)(*inputs)
    finally:
        backend._OBSERVERS.remove(observe)
    (report,) = reports
    return report


def test_the_report_counts_what_was_legalised():
    def function(xs, y):
        return torch._foreach_add(xs, 1.5), torch.relu(y) + y, torch.sort(y).values

    report = report_of(function, [torch.randn(3), torch.randn(4)], torch.randn(5))
    assert report["legalized"] == {"aten.add.Scalar": 2, "aten.relu.default": 1, "aten.add.Tensor": 1}
    assert [call["reason"] for call in report["aten_calls"]] == ["a sort or a search: not in the vocabulary"]


def test_views_make_no_kernel_and_no_copy():
    def function(x):
        y = x.view(4, 2, 3, 5).permute(2, 0, 3, 1).transpose(0, 1)[1:].unsqueeze(0).squeeze(0)
        return y.unflatten(0, (3, 1)).squeeze(1).permute(0, 2, 1, 3)

    def heads(x, w):
        # As in attention: a product accepts permuted operands with one unit stride.
        q = (x @ w).view(2, 6, 3, 4).transpose(1, 2).reshape(6, 6, 4)
        return q.view(2, 3, 6, 4)[0] @ q.view(2, 3, 6, 4)[1].transpose(-2, -1)

    for f, inputs in ((function, (torch.randn(8, 3, 5),)), (heads, (torch.randn(12, 12), torch.randn(12, 12)))):
        report = report_of(f, *inputs)
        assert (report["kernels"], report["copies"]) == ([], 0)
        torch.compiler.reset()
        checker.check(f, *inputs)


def test_copies_for_strides_are_counted():
    # A product may read a transposed operand; the sort reads the strides of the trace.
    def function(x, y):
        return torch.mm(x.t(), y), torch.sort(x.t().contiguous(), 1).values

    report = report_of(function, torch.randn(4, 3), torch.randn(4, 5))
    assert len(report["kernels"]) == 1 and report["step_kinds"]["Launch"] == 1


@torch.library.custom_op("frit_test::columns_first", mutates_args=())
def columns_first(x: torch.Tensor) -> torch.Tensor:
    return x.t().contiguous().t()


@columns_first.register_fake
def _(x):
    return torch.empty_like(x)


def test_results_with_other_strides_than_promised_are_copied_and_counted():
    def function(x):
        y = columns_first(x)
        return y, y + 1

    x = torch.randn(5, 3)
    explanation = frit.explain(function)(x)
    assert explanation.graphs[0]["stride_copies"] == {"frit_test.columns_first.default": 1}
    assert "1 results of frit_test.columns_first.default copied" in str(explanation)
    promised, after = torch.compile(function, backend="frit", fullgraph=True)(x)
    assert promised.stride() == (3, 1) and torch.equal(promised, x) and torch.equal(after, x + 1)
    assert frit.explain(lambda x: torch.mm(x, x.t()))(x).graphs[0]["stride_copies"] == {}
