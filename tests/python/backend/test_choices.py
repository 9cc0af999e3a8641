"""The options that decide whether a graph is compiled, where it is stored, and with how many threads it runs."""

import logging
import re

import fresh
import pytest
import torch
from torch._dynamo.utils import counters

import frit
from frit import OptionError, options
from frit.cache import disk_cache


def function(x):
    return (x * 2).softmax(-1).cumsum(0)


def tally():
    return counters["frit"]


# -- cache_dir -------------------------------------------------------------------------------------


def stored(folder):
    return disk_cache.DiskCache(str(folder)).entries()


def test_the_folder_of_the_cache_is_an_option(results_folder, tmp_path):
    x = torch.randn(5, 7)
    torch.compile(function, backend="frit", options={"cache_dir": str(tmp_path / "other")})(x)
    assert stored(tmp_path / "other") and not stored(results_folder) and tally()["cache_stores"] + tally()["autograd_cache_stores"] > 0
    torch.compiler.reset()
    torch.compile(function, backend="frit")(x)
    assert stored(results_folder) and not tally()["cache_hits"] and not tally()["autograd_cache_hits"]
    torch.compiler.reset()
    torch.compile(function, backend="frit", options={"cache_dir": str(tmp_path / "other")})(x)
    assert tally()["autograd_cache_hits"] == 1 and disk_cache.default_folder() == str(results_folder)


def test_a_backward_and_specialised_kernels_are_stored_there_too(folder, tmp_path):
    other = tmp_path / "other"
    model = torch.compile(function, backend="frit", options={"cache_dir": str(other), "bucket_policy": "specialize"}, dynamic=True)
    for n in (5, 6, 5, 6):
        model(torch.randn(n, 7, requires_grad=True)).sum().backward()
    frit.sizes.specialize.wait_for_background()
    assert len(stored(other)) >= 2 and not stored(folder)


# -- min_operators ---------------------------------------------------------------------------------


def test_a_small_graph_runs_as_it_was_traced(caplog):
    x = torch.randn(5, 7)
    with caplog.at_level(logging.WARNING):
        small = torch.compile(function, backend="frit", options={"min_operators": 50})
        torch.testing.assert_close(small(x), function(x))
    reason = "it has fewer than min_operators = 50 operators"
    assert not tally()["kernels"] and tally()["whole_graphs"] == tally()[f"whole_graph:{reason}"] == 1 and not caplog.records
    (graph,) = frit.explain(function, options={"min_operators": 50})(x).graphs
    assert graph["whole_graph"] == reason


def test_a_graph_of_enough_operators_is_compiled():
    torch.compile(function, backend="frit", options={"min_operators": 3})(torch.randn(5, 7))
    assert tally()["kernels"] > 0 and not tally()["whole_graphs"]


def check_gradients(**options):
    """Compares the gradients of a small network of images with eager's."""
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.GELU())
    x = torch.randn(2, 3, 8, 8)
    net(x).square().sum().backward()
    expected = [parameter.grad.clone() for parameter in net.parameters()]
    net.zero_grad()
    torch.compile(net, backend="frit", options=options)(x).square().sum().backward()
    torch.testing.assert_close([parameter.grad for parameter in net.parameters()], expected, rtol=1e-3, atol=1e-4)


def test_a_small_forward_has_a_compiled_backward():
    # The channels of an image are last in compiled graphs only, and the backward must not expect that.
    check_gradients(min_operators=12)
    assert tally()["whole_graphs"] == 1 and tally()["graphs"] == 2 and tally()["kernels"] > 0


def test_small_graphs_and_no_fallbacks_contradict_each_other():
    with pytest.raises(OptionError, match="contradict each other"):
        options.resolve(options={"min_operators": 3, "fallback": "error"})
    for name in ("min_operators", "threads"):
        with pytest.raises(OptionError, match=f"'{name}' takes a number of {'operators' if name[0] == 'm' else 'threads'}, not -1"):
            options.resolve(options={name: -1})


# -- dryrun ----------------------------------------------------------------------------------------


def test_a_dry_run_says_what_would_run_and_runs_eager(results_folder, caplog):
    x = torch.randn(5, 7)
    with caplog.at_level(logging.WARNING), torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        assert torch.equal(torch.compile(function, backend="frit", options={"dryrun": True})(x), torch.compile(function, backend="aot_eager")(x))
    (line,) = [record.getMessage() for record in caplog.records]
    assert re.fullmatch(r"graph0_inference: \d+ nodes would run as 1 kernel and 1 ATen call \(aten.cumsum.default\); dryrun runs it as it was traced", line)
    assert not [event for event in profile.events() if event.name.startswith("frit_")]
    assert tally()["dry_runs"] == 1 and not stored(results_folder)
    torch.compiler.reset()
    torch.compile(function, backend="frit")(x)
    assert not tally()["dry_runs"] and stored(results_folder)


def test_a_dry_run_of_training():
    check_gradients(dryrun=True)
    assert tally()["dry_runs"] == 2


# -- threads ---------------------------------------------------------------------------------------

PROGRAM = """
import threading, torch
seen = set()
@torch.library.custom_op("choices::team", mutates_args=())
def team(x: torch.Tensor) -> torch.Tensor:
    seen.add(torch.get_num_threads())
    return x.clone()
team.register_fake(lambda x: torch.empty_like(x))
torch.set_num_threads(2)
def function(x):
    return team(x * 2).softmax(-1).sum(0)
x = torch.randn(512, 1024, requires_grad=True)
results = {}
for threads in (0, 1, 2):
    torch.compiler.reset(); seen.clear()
    fast = torch.compile(lambda x: function(x.detach()), backend="frit", options={"threads": threads})
    results[threads] = fast(x); fast(x)
    print(threads, sorted(seen), torch.get_num_threads())
assert torch.equal(results[0], results[1]) and torch.equal(results[1], results[2])
"""


def test_a_call_has_as_many_threads_as_asked_for_and_the_same_bits():
    done = fresh.run(["-c", PROGRAM])
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["0 [2] 2", "1 [1] 2", "2 [2] 2"]


def test_the_threads_are_those_of_the_process_that_loads(results_folder):
    """The number is no part of a key: a graph that is stored with one number serves another."""
    x = torch.randn(5, 7)
    for number in (1, 2):
        torch.compiler.reset()
        torch.compile(function, backend="frit", options={"threads": number})(x)
    assert tally()["autograd_cache_hits"] == 1
