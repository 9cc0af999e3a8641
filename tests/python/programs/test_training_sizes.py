"""Training on lengths that change at every step, with every library call padded and all memory poisoned, has eager's losses."""

import json
import os

import distributed_sizes
import fresh
import pytest
import torch
from distributed_sizes import OPTIONS, Counting
from test_training import assert_same_course, captioned_images, captioning_model

HERE = os.path.dirname(os.path.abspath(__file__))
LENGTHS = (7, 12, 31, 18)


def graphs(backend, options=None):
    """Returns the number of graphs for training over the lengths."""
    torch.compiler.reset()
    model, loss_of = captioning_model()()
    counting = Counting(backend, options)
    run = torch.compile(loss_of, backend=counting)
    for batch in captioned_images(LENGTHS):
        run(*batch).backward()
    return counting.graphs


def test_captioning_with_padded_calls():
    assert_same_course(captioning_model(), captioned_images(LENGTHS) * 2, options=OPTIONS)
    assert graphs("frit", OPTIONS) == graphs("aot_eager")


def check_two_processes(tmp_path, *device, rel, abs):
    """Compares losses and parameters with eager DDP; every rank must compile as often as in a single process."""
    commands = [
        [os.path.join(HERE, "distributed_sizes.py"), str(rank), "2", str(tmp_path / "meeting"), str(tmp_path / f"{rank}.json"), *device]
        for rank in range(2)
    ]
    processes = [fresh.start(command) for command in commands]
    for process in processes:
        _, said = process.communicate(timeout=300)
        assert process.returncode == 0, said[-3000:]
    ranks = [json.loads((tmp_path / f"{rank}.json").read_text()) for rank in range(2)]
    for seen, lengths in zip(ranks, distributed_sizes.LENGTHS):
        assert seen["graphs"] == seen["alone"] == distributed_sizes.train(lengths, "aot_eager")[2]
        for got, wanted in zip(seen["compiled"], seen["eager"]):
            assert got == pytest.approx(wanted, rel=rel, abs=abs)
    assert ranks[0]["compiled"][1] == pytest.approx(ranks[1]["compiled"][1], rel=rel / 10, abs=abs / 10)


def test_two_processes_with_lengths_of_their_own(tmp_path):
    check_two_processes(tmp_path, rel=1e-5, abs=1e-6)
