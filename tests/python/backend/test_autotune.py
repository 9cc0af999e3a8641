"""max-autotune: compares schedules of regions by running them, stores their numbers with the graph, and never chooses one with wrong results. Times
are scripted here; one test measures real times without checking them."""

import json

import fresh
import pytest
import torch
from torch._dynamo.utils import counters

import frit
from frit.modes import autotune
from frit.native import compiler

MODE = "max-autotune-no-cudagraphs"


def sums(x):
    return (x * 2).sum(0), x.sum()


def scaled_in_place(x):
    x.mul_(0.5)
    return x.sum(1)


CALLS = []


def seen_copy(x: torch.Tensor) -> torch.Tensor:
    CALLS.append(1)
    return x.clone()


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("FRIT_CACHE", "1")
    monkeypatch.setenv("FRIT_CACHE_DIR", str(tmp_path))
    torch.compiler.reset()


def scripted(monkeypatch, answer):
    """Makes every comparison end with this answer; returns a list with one entry per comparison."""
    asked = []
    monkeypatch.setattr(autotune, "is_faster", lambda tried, best, device: (asked.append(1), tried(), best(), answer)[-1])
    return asked


def run(function, x):
    torch.compiler.reset()
    return torch.compile(function, backend="frit", mode=MODE)(x)


def test_the_faster_schedule_is_taken_and_remembered(monkeypatch):
    x = torch.randn(300, 500)
    asked = scripted(monkeypatch, True)
    torch.testing.assert_close(run(sums, x), sums(x), rtol=1e-4, atol=1e-3)
    tally = counters["frit"]
    assert len(asked) >= 1 and tally["autotune_regions"] >= 1
    assert tally["autotune_changed"] == tally["autotune_regions"]
    assert tally["autotune_remembered"] == tally["autotune_wrong"] == 0
    measured = len(asked)
    torch.testing.assert_close(run(sums, x), sums(x), rtol=1e-4, atol=1e-3)
    assert len(asked) == measured, "the second process measures nothing"
    assert counters["frit"]["autotune_remembered"] == 1 and counters["frit"]["cache_hits"] == 1
    assert not [name for name in counters["frit"] if name.startswith("not_measured")]


def test_schedules_are_remembered_by_device(monkeypatch, tmp_path):
    """Measurements are valid for one device only: each device has a separate entry."""
    x = torch.randn(300, 500)
    measured = {}
    for device, answer in (("one device", True), ("another", False)):
        scripted(monkeypatch, answer)
        monkeypatch.setattr(autotune, "_describe", lambda _, device=device: device)
        before = {path for path in tmp_path.rglob("*") if path.is_file()}
        run(sums, x)
        assert counters["frit"]["autotune_regions"] >= 1 and not counters["frit"]["autotune_remembered"]
        measured[device] = counters["frit"]["autotune_changed"]
        assert {path for path in tmp_path.rglob("*") if path.is_file()} > before
    assert measured["one device"] >= 1 and measured["another"] == 0
    asked = scripted(monkeypatch, True)
    for device in ("one device", "another"):
        monkeypatch.setattr(autotune, "_describe", lambda _, device=device: device)
        explained = frit.explain(sums, mode=MODE)(x)
        told = explained.graphs[0]["autotune"]
        assert told.startswith("schedules measured before") and ("=" in told) == (device == "one device"), told
    assert not asked


SECOND_PROCESS = """
import json, torch
from torch._dynamo.utils import counters
from frit.modes import autotune
asked = []
autotune.is_faster = lambda tried, best, device: asked.append(1) or True
x = torch.arange(300 * 500, dtype=torch.float32).reshape(300, 500) % 7
function = lambda x: ((x * 2).sum(0), x.sum())
for a, b in zip(torch.compile(function, backend="frit", mode="max-autotune-no-cudagraphs")(x), function(x)):
    torch.testing.assert_close(a, b)
print(json.dumps([len(asked), counters["frit"]["autotune_regions"], counters["frit"]["autotune_changed"], counters["frit"]["autotune_remembered"]]))
"""


def test_a_second_process_measures_nothing():
    found = []
    for hashes in range(2):
        done = fresh.run(["-c", SECOND_PROCESS], check=True, hashes=hashes)
        found.append(json.loads(done.stdout.splitlines()[-1]))
    (asked, regions, changed, remembered), second = found
    assert asked >= 1 and regions >= 1 and changed >= 1 and remembered == 0
    assert second == [0, 0, 0, 1]


def test_another_schedule_is_another_code(monkeypatch, tmp_path):
    """CpuCandidates.cpp tests that each candidate has different machine code."""
    x = torch.randn(300, 500)

    def kernels(answer, folder):
        monkeypatch.setenv("FRIT_CACHE_DIR", str(tmp_path / folder))
        scripted(monkeypatch, answer)
        explained = frit.explain(sums, mode=MODE)(x)
        assert "autotune: " in str(explained)
        return {kernel["schedule"] for kernel in explained.kernels}, [graph["autotune"] for graph in explained.graphs]

    first, told = kernels(False, "a")
    other, told_other = kernels(True, "b")
    assert "0 take another schedule" in told[0] and "=" not in told[0]
    assert "=" in told_other[0]
    assert first != other


def test_ties_keep_the_first_schedule(monkeypatch):
    asked = scripted(monkeypatch, False)
    run(sums, torch.randn(300, 500))
    assert asked and counters["frit"]["autotune_changed"] == 0
    run(sums, torch.randn(300, 500))
    assert counters["frit"]["autotune_remembered"] == 1


def test_wrong_results_are_never_chosen(monkeypatch):
    asked = scripted(monkeypatch, True)
    monkeypatch.setattr(autotune, "_agree", lambda a, b: False)
    x = torch.randn(300, 500)
    torch.testing.assert_close(run(sums, x), sums(x), rtol=1e-4, atol=1e-3)
    assert not asked
    assert counters["frit"]["autotune_wrong"] >= 1 and counters["frit"]["autotune_changed"] == 0


@pytest.mark.parametrize("function", [sums, scaled_in_place])
def test_measured_for_real(function):
    x = torch.randn(64, 300)
    expected = function(x.clone())
    torch.testing.assert_close(run(function, x.clone()), expected, rtol=1e-4, atol=1e-3)
    assert counters["frit"]["autotune_regions"] >= 1


def test_dynamic_sizes_are_measured_at_their_hints():
    torch.compiler.reset()
    compiled = torch.compile(sums, backend="frit", mode=MODE, dynamic=True)
    for rows in (64, 7):
        x = torch.randn(rows, 300)
        torch.testing.assert_close(compiled(x), sums(x), rtol=1e-4, atol=1e-3)
    assert counters["frit"]["graphs"] == 1 and counters["frit"]["autotune_regions"] >= 1


def test_one_schedule_is_nothing_to_measure():
    torch.testing.assert_close(run(lambda x: x.relu() + 1, torch.ones(5)), torch.full((5,), 2.0))
    assert counters["frit"]["autotune_regions"] == 0
    assert not [name for name in counters["frit"] if name.startswith("not_measured")]


def test_graphs_that_may_not_run_twice_keep_their_schedules():
    operator = torch.library.custom_op("frit_test::autotuned", seen_copy, mutates_args=())
    operator.register_fake(lambda x: torch.empty_like(x))
    x = torch.randn(300, 500)
    torch.testing.assert_close(run(lambda x: operator(x).sum(0), x), x.sum(0), rtol=1e-4, atol=1e-3)
    (reason,) = [name for name in counters["frit"] if name.startswith("not_measured: ")]
    assert "may not be run twice" in reason
    assert CALLS == [1], "the operator ran once, for the call"


def test_the_emulation_is_not_measured(monkeypatch):
    asked = scripted(monkeypatch, True)
    x = torch.randn(5, 30)
    compiled = torch.compile(sums, backend="frit", options={"mode": MODE, "target": "simt"})
    torch.testing.assert_close(compiled(x), sums(x), rtol=1e-4, atol=1e-4)
    assert not asked and counters["frit"]["not_measured: the emulation says nothing about times"] == 1


ON_A_DEVICE = {
    "pointwise": (lambda x: x * 2 + x.abs(), (1025, 1030), 3),
    "pointwise of one dim": (lambda x: x * 2 + x.abs(), ((1 << 20) + 7,), 3),
    "rows": (lambda x: torch.softmax(x, -1), (7, 4096), 3),
    "rows of a cluster": (lambda x: torch.softmax(x, -1), (64, 40960), 3),
    "columns": (lambda x: x.sum(0), (3000, 33), 3),
    "everything": (lambda x: x.sum(), (300, 500), 2),
}


@pytest.mark.parametrize("name", ON_A_DEVICE)
def test_every_schedule_of_a_device_gives_eagers_results(name, monkeypatch):
    function, shape, count = ON_A_DEVICE[name]
    x, seen = torch.randn(shape), set()
    native = compiler()
    compile_native, choice = native.compile, "list"

    def compiled(text, settings):
        result = compile_native(text, json.dumps({**json.loads(settings), "schedule_choices": choice}))
        report = json.loads(result.report)
        assert report["schedule_candidates"] == [count]
        seen.update(kernel["name"] for kernel in report["kernels"])
        return result

    monkeypatch.setattr(native, "compile", compiled)
    for number in range(count):
        choice = f"0={number}"
        torch.compiler.reset()
        monkeypatch.setenv("FRIT_CACHE", "0")
        actual = torch.compile(function, backend="frit", options={"target": "simt"})(x)
        torch.testing.assert_close(actual, function(x), rtol=1e-4, atol=1e-3)
    assert len(seen) == count


def test_random_numbers_of_the_program_are_left_alone(monkeypatch):
    scripted(monkeypatch, False)
    torch.manual_seed(7)
    run(sums, torch.ones(64, 300))
    after = torch.rand(3)
    torch.manual_seed(7)
    assert torch.equal(after, torch.rand(3))


def test_faster_is_less_by_a_margin(monkeypatch):
    times = {"a": 1.0, "b": 1.0}
    monkeypatch.setattr(autotune, "milliseconds", lambda run, device: times[run()])
    compare = lambda: autotune.is_faster(lambda: "a", lambda: "b", torch.device("cpu"), seconds=0)  # noqa: E731
    assert not compare()
    times["a"] = 0.98
    assert not compare()
    times["a"] = 0.9
    assert compare()


def test_results_agree_up_to_the_order_of_additions():
    x = torch.randn(100)
    assert autotune._agree(x, x * (1 + 1e-5))
    assert not autotune._agree(x, x * 1.1)
    assert not autotune._agree(torch.tensor([1.0, float("nan")]), torch.tensor([1.0, 2.0]))
    assert autotune._agree(torch.tensor([1.0, float("nan")]), torch.tensor([1.0, float("nan")]))
    assert autotune._agree(torch.tensor([3]), torch.tensor([3])) and not autotune._agree(torch.tensor([3]), torch.tensor([4]))
    assert autotune._agree(None, None) and autotune._agree(3, 3)


def test_arguments_are_made_as_they_were_traced():
    graph = torch.fx.Graph()
    values = [torch.empty(40)[4:].as_strided((3, 4), (8, 2), 5), torch.ones(3, dtype=torch.int64), 7, torch.randn(2, 0)]
    for at, value in enumerate(values):
        graph.placeholder(f"a{at}").meta["val"] = value
    graph.output(())
    made = autotune.made_up_inputs(torch.fx.GraphModule({}, graph))
    for one, value in zip(made, values):
        if isinstance(value, torch.Tensor):
            assert (one.shape, one.stride(), one.storage_offset(), one.dtype) == (value.shape, value.stride(), value.storage_offset(), value.dtype)
    assert made[2] == 7 and not made[1].any() and made[0].std() > 0


def test_a_backward_whose_saved_tensors_are_channels_last_is_measured():
    """The forward saves tensors channels-last for convolutions, which the graph of the backward does not show."""
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 16, 3), torch.nn.MaxPool2d(2), torch.nn.ReLU(), torch.nn.Conv2d(16, 16, 3), torch.nn.ReLU())
    x = torch.randn(4, 3, 66, 66)
    torch.compile(model, backend="frit", mode=MODE)(x).sum().backward()
    gradients = [parameter.grad for parameter in model.parameters()]
    expected = torch.autograd.grad(model(x).sum(), list(model.parameters()))
    torch.testing.assert_close(gradients, list(expected), rtol=1e-4, atol=1e-4)
    assert counters["frit"]["autotune_regions"] >= 1 and not [name for name in counters["frit"] if name.startswith("not_measured")]


def test_a_graph_that_made_up_arguments_do_not_fit_is_not_measured():
    def function(x):
        return torch.linalg.cholesky(x).sum(1), (x * 2).sum(1)

    x = torch.eye(300) * 2
    torch.testing.assert_close(run(function, x), function(x))
    assert counters["frit"]["graphs"] == 1 and not counters["frit"]["autotune_regions"]


def test_random_numbers_are_the_same_for_each_schedule(monkeypatch):
    """Other random numbers would look like wrong results of a schedule. The caller's generator is unchanged."""
    scripted(monkeypatch, True)
    x = torch.randn(300, 500)

    def function(x):
        return (torch.rand_like(x) * x).sum(1)

    torch.manual_seed(3)
    result = run(function, x)
    torch.manual_seed(3)
    torch.testing.assert_close(result, function(x), rtol=1e-4, atol=1e-4)
    assert counters["frit"]["autotune_changed"] >= 1 and not counters["frit"]["autotune_wrong"]
