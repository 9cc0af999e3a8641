"""The measurement of compile times: in turns, with all samples stored, and the same statistic for every compiler."""

import pytest

from benchmarks import compile_times


def taken(**changes):
    return {
        "calls": {"aot_eager": [120.0, 100.0, 110.0], "frit": [150.0, 125.0, 130.0], "inductor": [1100.0]},
        "cpu": {"aot_eager": [95.0, 96.0], "frit": [127.0, 115.0]},
        "inside": [{"wall": 40.0, "cpu": 30.0, "codegen": 25.0}, {"wall": 28.0, "cpu": 27.0, "codegen": 20.0}],
        "kernels": 2,
        **changes,
    }


def test_figures_are_minima():
    figures = compile_times.figures(taken())
    assert figures["first_call"] == {"aot_eager": 100.0, "frit": 125.0, "inductor": 1100.0}
    assert figures["beyond_aot_eager"] == {"frit": 25.0, "inductor": 1000.0}
    assert (figures["beyond_aot_eager_cpu"], figures["cpu_per_kernel"]) == (20.0, 10.0)
    assert figures["inside"] == {"wall": 28.0, "cpu": 27.0, "codegen": 20.0}
    assert figures["spread"] == {"aot_eager": 10.0, "frit": 5.0, "inductor": 0.0}
    assert (figures["per_kernel"], figures["inside_per_kernel"], figures["inside_cpu_per_kernel"]) == (12.5, 14.0, 13.5)


def test_the_ratio_takes_the_worse_of_both_ways_to_measure():
    assert compile_times.figures(taken())["less_than_inductor"] == pytest.approx(1000 / 28)
    calls = {"aot_eager": [100.0], "frit": [90.0], "inductor": [1100.0]}
    assert compile_times.figures(taken(calls=calls))["less_than_inductor"] == pytest.approx(1000 / 28)


def test_without_inductor_or_kernels():
    calls = {"aot_eager": [100.0], "frit": [140.0], "inductor": []}
    figures = compile_times.figures(taken(calls=calls, kernels=0))
    assert figures["less_than_inductor"] is None and figures["per_kernel"] is None and "inductor" not in figures["first_call"]


def test_samples_of_a_program():
    figures = compile_times.compile_times("five multiplications", scale="test", rounds=2, inductor_samples=0)
    assert {backend: len(all_of) for backend, all_of in figures["samples"].items()} == {"aot_eager": 2, "frit": 2}
    assert figures["kernels"] == 1
    assert 0 < figures["inside"]["codegen"] < figures["inside"]["wall"] < figures["first_call"]["frit"]


def test_a_failing_process_says_why():
    with pytest.raises(RuntimeError, match="no such program"):
        compile_times.compile_times("no such program", scale="test", rounds=1, inductor_samples=0)
