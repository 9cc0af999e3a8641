"""Failures of frit become calls of ATen: first the operators of a failing kernel, then optimizations are disabled, then all operators are calls.
Failures are planted (`fail_at`); elsewhere in the tests they are errors (FRIT_STRICT, conftest.py)."""

import json
import logging

import checker
import pytest
import torch
from torch._dynamo.utils import counters

import frit
from frit import backend
from frit.native import compiler


@pytest.fixture
def reports(monkeypatch):
    """Collects the reports of a test's graphs, and lets failures become calls."""
    monkeypatch.setenv("FRIT_STRICT", "0")
    seen = []
    monkeypatch.setattr(backend, "_OBSERVERS", [lambda name, stage, captured, report, executable: seen.append(report)])
    return seen


def calls(report):
    return [call["op"] for call in report["aten_calls"]]


def two_kernels(x, w):
    y = torch.atan(x) + 1
    return torch.exp(y @ w) * 2, y


INPUTS = (torch.randn(4, 3), torch.randn(3, 5))


@pytest.mark.parametrize("target", ["auto", "simt"])
def test_the_operators_of_a_failing_kernel_become_calls(reports, target):
    options = {"fail_at": "kernel:atan", "target": target}
    checker.check(two_kernels, *INPUTS, options=options)
    (report,) = reports
    assert calls(report) == ["aten.atan.default", "aten.add.Tensor", "aten.mm.default"]
    assert all("as was asked" in call["reason"] for call in report["aten_calls"][:2])
    assert [kernel["name"].startswith("frit_exp_mul") for kernel in report["kernels"]] == [True]
    assert [retry["without"] for retry in report["retries"]] == ["2 operators left to ATen"]
    assert counters["frit"]["retries"] == 1


def test_equal_regions_share_a_kernel_and_its_failure(reports):
    def function(x, w):
        return torch.atan(torch.atan(x) @ w)

    checker.check(function, torch.randn(4, 4), torch.randn(4, 4), options={"fail_at": "kernel:atan"})
    assert calls(reports[0]) == ["aten.atan.default", "aten.mm.default", "aten.atan.default"]


def test_kernels_that_fail_one_after_the_other(reports):
    """After its neighbours became calls, an operator may be part of another kernel, which also fails."""
    checker.check(two_kernels, *INPUTS, options={"fail_at": "kernel:frit_"})
    assert reports[0]["kernels"] == []
    assert len(calls(reports[0])) == 5


@pytest.mark.parametrize("place", ["pass:frit-fuse-regions", "pass:frit-plan-buffers", "plan"])
@pytest.mark.parametrize("dynamic", [False, True])
def test_a_failing_stage_leaves_every_operator_to_aten(reports, place, dynamic):
    def function(x, w, buffer):
        buffer.add_(1)
        y = x.t()[1:]
        return torch.softmax(y @ x, -1).half(), y, x.split(2), buffer * w, torch.relu(x), x.shape[0] * 2

    checker.check(function, torch.randn(4, 3), torch.randn(5), torch.zeros(2, 5), options={"fail_at": place}, dynamic=dynamic)
    # A copy to the strides of a result does not count as an operator.
    assert [kernel["ops"] for kernel in reports[0]["kernels"]] in ([], [[]])
    assert reports[0]["retries"][-1]["without"] == "every operator left to ATen"


def test_training_and_modules_with_buffers_run_on_aten_alone(reports):
    module = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(36, 2))
    checker.check(module, torch.randn(2, 3, 5, 5), options={"fail_at": "plan"}, training=True, module=module)
    assert [report["kernels"] for report in reports] == [[], []]


def test_foreach_and_random_operators_are_left_whole(reports):
    def function(xs):
        return torch._foreach_mul(xs, 2), torch.rand(3)

    checker.check(function, [torch.randn(3), torch.randn(2, 2)], options={"fail_at": "plan", "random": "philox"}, seed=3)


def test_the_user_is_told(reports, caplog):
    with caplog.at_level(logging.WARNING, logger="frit"):
        torch.compile(two_kernels, backend="frit", options={"fail_at": "kernel:atan"})(*INPUTS)
    (record,) = [record for record in caplog.records if "mistake of frit's own" in record.message]
    assert "2 operators left to ATen" in record.message and "kernel 'frit_atan" in record.message


def compiled(graphs, **options):
    torch.compile(two_kernels, backend="frit")(*INPUTS)
    return compiler().compile(graphs[0].json, json.dumps(options))


@pytest.mark.parametrize(
    "options, words",
    [
        ({"strict": True, "fail_at": "kernel:atan"}, "fails, as was asked"),
        ({"fallback": "error", "fail_at": "kernel:exp"}, "left to ATen"),
        ({"fail_at": "always"}, "with every operator left to ATen"),
    ],
)
def test_what_stays_an_error(graphs, options, words):
    with pytest.raises(frit.errors.CompileError, match=words):
        compiled(graphs, **options)


def test_an_attempt_that_succeeds_is_the_only_one(reports):
    checker.check(two_kernels, *INPUTS)
    assert reports[0]["retries"] == [] and counters["frit"]["retries"] == 0
