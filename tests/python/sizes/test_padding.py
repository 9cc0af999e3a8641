"""The options `padding` and `poison`: the report, calls that are not padded, and detection of violations."""

import json

import checker
import pytest
import torch

import frit
from frit import backend, options

FORCED = {"padding": "force", "poison": True}


@pytest.fixture
def reports(monkeypatch):
    seen = []
    monkeypatch.setattr(backend, "_OBSERVERS", [lambda name, stage, captured, report, executable: seen.append(report)])
    return seen


def network(x, w, v):
    return (x @ w).relu() @ v, torch.sort(x, 0).values


def arguments(n):
    return torch.randn(n, 6), torch.randn(6, 10), torch.randn(10, 16)


def test_the_report_lists_padded_calls_and_refusals(reports):
    compiled = torch.compile(network, backend="frit", dynamic=True, options={**FORCED, "bucket_policy": "off"})
    checker.check(network, *arguments(5), compiled=compiled)
    (report,) = reports
    assert [entry["op"] for entry in report["padding"]] == ["aten.mm.default"] * 2
    first = report["padding"][0]
    assert first["why"] == "multiples" and "floordiv" in first["padded"] and first["waste"] > 0
    assert {"op": "aten.sort.default", "why": "no rule says what it does with padding"} in report["padding_refused"]


def test_what_pads_write_is_counted(reports):
    def product(x, w):
        return x @ w

    settings = {**FORCED, "bucket_policy": "off"}
    compiled = torch.compile(product, backend="frit", dynamic=True, options=settings)
    for n in (5, 16, 9):
        compiled(torch.randn(n, 6), torch.randn(6, 10))
    counted = frit.counts()
    # Every size is padded to a multiple of 8.
    logical, padded = (5 + 16 + 9) * 6 + 3 * 6 * 10, (8 + 16 + 16) * 8 + 3 * 8 * 16
    assert (counted["logical_elements"], counted["padded_elements"]) == (logical, padded)
    assert counted["padding_waste_percent"] == round(100 * (1 - logical / padded), 2)
    assert torch._dynamo.utils.counters["frit"]["padded_elements"] == padded

    explanation = frit.explain(product, dynamic=True, options=settings)(torch.randn(5, 6), torch.randn(6, 10))
    (graph,) = explanation.graphs
    assert graph["padding"][0]["op"] == "aten.mm.default" and graph["padded_elements"] == 8 * 8 + 8 * 16
    assert "padded aten.mm.default: s" in str(explanation) and "pads wrote 192 elements, 90 of them logical: 53.1 % waste" in str(explanation)


def test_what_a_call_that_fails_pads_is_not_counted(reports):
    compiled = torch.compile(lambda x, w: (x @ w).log().sum() + w.sum(), backend="frit", dynamic=True, options=FORCED)
    compiled(torch.ones(5, 6), torch.ones(6, 10))
    before = frit.counts()["padded_elements"]
    assert before > 0
    torch.compile(lambda x: x + 1, backend="frit")(torch.ones(3))
    assert frit.counts()["padded_elements"] == before


def test_forced_padding_takes_buckets_where_sizes_have_them(reports):
    compiled = torch.compile(network, backend="frit", dynamic=True, options={**FORCED, "buckets": {"x[0]": [8, 16]}})
    for n in (5, 16, 17):
        checker.check(network, *arguments(n), compiled=compiled)
    (report,) = reports
    assert report["padding"][0]["why"] == "bucket"


def test_nothing_is_padded_on_the_cpu_by_itself(reports):
    compiled = torch.compile(network, backend="frit", dynamic=True)
    compiled(*(x.bfloat16() for x in arguments(5)))
    assert reports[0]["padding"] == [] and reports[0]["padding_refused"] == []


def test_results_lie_in_storage_of_their_own_size():
    compiled = torch.compile(lambda x, w: (x @ w, (x @ w)[1:]), backend="frit", dynamic=True, options=FORCED)
    for n in (5, 9):
        whole, rest = compiled(torch.randn(n, 16), torch.randn(16, 8))
        assert whole.untyped_storage().nbytes() == whole.numel() * 4
        assert rest.untyped_storage().nbytes() <= whole.numel() * 4


def test_saved_activations_keep_logical_sizes():
    model = torch.nn.Sequential(torch.nn.Linear(6, 10), torch.nn.GELU(), torch.nn.Linear(10, 3))
    shapes = {}
    for name, settings in (("off", {"padding": "off"}), ("force", FORCED)):
        torch.compiler.reset()
        seen = shapes.setdefault(name, [])

        def pack(x):
            seen.append((tuple(x.shape), x.untyped_storage().nbytes()))
            return x

        compiled = torch.compile(model, backend="frit", dynamic=True, options=settings)
        for n in (5, 9):
            with torch.autograd.graph.saved_tensors_hooks(pack, lambda x: x):
                compiled(torch.randn(n, 6)).sum().backward()
    assert shapes["force"] == shapes["off"] and shapes["off"]


def test_unbacked_rows_are_padded(reports):
    def function(x, w):
        kept = x[x[:, 0] > 0]
        return kept @ w, w.t() @ kept.t()

    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        compiled = torch.compile(function, backend="frit", fullgraph=True, options=FORCED)
        for n in (5, 1, 30):
            checker.check(function, torch.randn(n, 6), torch.randn(6, 6), compiled=compiled)
    assert len(reports[0]["padding"]) == 2


@pytest.mark.parametrize(("name", "value"), [("padding", "always"), ("poison", "yes")])
def test_bad_values_are_refused(name, value):
    with pytest.raises(Exception, match=f"frit: option '{name}'"):
        torch.compile(lambda x: x + 1, backend="frit", options={name: value})(torch.ones(3))


def test_the_environment_sets_defaults(monkeypatch):
    monkeypatch.setenv("FRIT_POISON", "1")
    monkeypatch.setenv("FRIT_PADDING", "force")
    assert options.resolve()["poison"] is True and options.resolve()["padding"] == "force"
    assert options.resolve(options={"padding": "off"})["padding"] == "off"
    said = []
    monkeypatch.setattr(options.environment, "warn", said.append)
    monkeypatch.setenv("FRIT_PADDING", "sometimes")
    assert options.resolve()["padding"] == "auto" and "option 'padding' cannot be 'sometimes'" in said[0]


@torch.library.custom_op("frit_test::overrun", mutates_args=())
def overrun(x: torch.Tensor) -> torch.Tensor:
    """Writes one element past the end of its argument."""
    import ctypes

    ctypes.c_float.from_address(x.data_ptr() + 4 * x.numel()).value = 1.0
    return x.clone()


@overrun.register_fake
def _(x):
    return torch.empty_like(x)


@torch.library.custom_op("frit_test::scribble", mutates_args=())
def scribble(x: torch.Tensor) -> torch.Tensor:
    """Writes to an argument that its schema declares as only read."""
    x.numpy()[0] = 7.0
    return x.clone()


@scribble.register_fake
def _(x):
    return torch.empty_like(x)


def test_a_write_past_the_end_of_a_buffer_is_named():
    def function(x):
        return overrun(x * 2) + 1

    compiled = torch.compile(function, backend="frit", options={"poison": True})
    with pytest.raises(RuntimeError, match="poison: operator frit_test::overrun of graph '.*' wrote . bytes past the end of a buffer"):
        compiled(torch.randn(64))


def test_a_write_to_an_argument_that_is_only_read_is_named():
    compiled = torch.compile(lambda x: scribble(x) + 1, backend="frit", options={"poison": True})
    with pytest.raises(RuntimeError, match="poison: graph '.*' changed the memory under input 0, which it may not write to"):
        compiled(torch.randn(64))


def test_poison_shows_memory_that_is_read_before_it_is_written():
    """`empty` is uninitialised: under poison none of it is zero by chance, and the results of a correct program do not change."""

    def function(x):
        return x + 1, x.sum(), torch.cumsum(x, 0)

    compiled = torch.compile(function, backend="frit", dynamic=True, options={"poison": True})
    for n in (4, 33, 0, 1):
        checker.check(function, torch.randn(n), compiled=compiled)


def test_lanes_of_poison_come_in_turns(tmp_path):
    """Rows of padding that affect no result: poison in the compiled graph under `poison`, zeros otherwise."""
    compiled = torch.compile(lambda x, w: x @ w, backend="frit", options={**FORCED, "dump_dir": str(tmp_path)})
    compiled(torch.randn(5, 8), torch.randn(8, 8))
    (report,) = tmp_path.glob("*/*-report.json")
    assert json.loads(report.read_text())["padding"]
