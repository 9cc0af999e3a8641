"""The benchmark over sizes that change at every step: its draws, its figures, and that it runs."""

import json
import random

import pytest
import torch

from benchmarks import size_sweep


def test_lengths_follow_the_published_distribution():
    draw = random.Random(0)
    lengths = [size_sweep.caption_length(draw) for _ in range(20000)]
    for share, low, high in size_sweep.CAPTION_LENGTHS:
        assert sum(low <= n <= high for n in lengths) / len(lengths) == pytest.approx(share, abs=0.01)
    assert 5 <= min(lengths) and max(lengths) <= 256


def test_a_batch_is_as_long_as_its_longest_caption():
    sweep = size_sweep.LengthSweep("test")
    tokens, labels = sweep.inputs([5, 9, 12, 7])
    assert tokens.shape == labels.shape == (4, 12)
    assert [(row >= 0).sum().item() for row in labels] == [5, 9, 12, 7]
    assert torch.isfinite(sweep.function()(tokens, labels))
    assert size_sweep.LengthSweep.sizes(3, seed=1) == size_sweep.LengthSweep.sizes(3, seed=1)


def test_figures():
    first = {b: {"steps_s": [1.0], "losses": losses, "graphs": 2, "processor_s": 3.0} for b, losses in (("inductor", [1.0, 2.0]), ("frit", [1.0, 2.5]))}
    totals = {"inductor": [12.0, 10.0], "frit": [5.0, 6.0]}
    row = size_sweep.figures("length", totals, {"inductor": [2.0, 4.0, 9.0], "frit": [1.0, 4.0, 3.0]}, first)
    assert row["first_steps_s"] == {"inductor": 10.0, "frit": 5.0} and row["first_steps_over_inductor"]["frit"] == 0.5
    assert row["steady_ms"] == {"inductor": 4.0, "frit": 3.0} and row["steady_over_inductor"]["frit"] == 0.5
    assert row["largest_difference_of_losses"] == 0.5
    without = size_sweep.figures("length", {"frit": [5.0]}, {"frit": [1.0]}, {"frit": first["frit"]})
    assert "steady_over_inductor" not in without and [line["first_ratio"] for line in size_sweep.lines([without])] == [None]


def test_the_benchmark_runs(tmp_path, capsys):
    backends = ["eager", "frit", "frit, specialize"]
    path = tmp_path / "sweep.json"
    flags = ["--scale", "test", "--steps", "6", "--steady", "2", "--output", str(path), *(f"--backend={b}" for b in backends)]
    assert size_sweep.main([*flags, "batch"]) == 0
    (row,) = json.loads(path.read_text())["sweeps"]
    assert set(row["first_steps_s"]) == set(row["steady_ms"]) == set(backends)
    assert row["largest_difference_of_losses"] < 1e-4
    (counted,) = row["said"]["frit, specialize"]["buckets"].values()
    assert counted["hits"] > 0 and row["said"]["frit"]["graphs"] > 0
    assert "batch, frit, specialize" in capsys.readouterr().out


def test_a_contender_that_fails_says_so(monkeypatch):
    with pytest.raises(SystemExit):
        size_sweep.main(["width"])
    monkeypatch.setattr(size_sweep.sys, "executable", "false")
    with pytest.raises(RuntimeError, match="'frit' does not run the batch sweep"):
        size_sweep.Contender("batch", "frit", "test", 1)
