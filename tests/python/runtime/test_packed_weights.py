"""Weights of a file that nothing can write to are packed once; all others are read as they lie, so that no packed copy can be stale."""

import subprocess
import threading

import pytest
import torch
from exported import TOOLS
from torch import nn

import frit

ROWS = torch.export.Dim("rows", min=1, max=512)


class Network(nn.Module):
    """Products and convolutions of many rows, of outputs and depths that are no whole panels."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second = nn.Linear(70, 1100), nn.Linear(1100, 90, bias=False)
        self.table = nn.Parameter(torch.randn(90, 65))
        self.filters, self.grouped = nn.Conv2d(6, 40, 3, padding=1), nn.Conv2d(40, 36, 3, groups=2)

    def forward(self, x, image):
        x = self.second(self.first(x).relu()) @ self.table
        return x, self.grouped(self.filters(image).relu())


def inputs(rows):
    torch.manual_seed(rows)
    return torch.randn(rows, 70), torch.randn(max(rows // 32, 1), 6, 14, 12)


def compiled(folder, module, given, *options, shapes=None):
    torch.export.save(torch.export.export(module, given, dynamic_shapes=shapes), folder / "m.pt2")
    subprocess.run([TOOLS / "frit-compile", folder / "m.pt2", "-o", folder / "m.frit", *options], check=True, capture_output=True)
    return folder / "m.frit"


@pytest.mark.parametrize("options", [(), ("--weights=external",)])
def test_results_have_the_same_bits(tmp_path, options):
    module = Network()
    path = compiled(tmp_path, module, inputs(256), *options, shapes=({0: ROWS}, {0: torch.export.Dim("images", min=1, max=64)}))
    where = {"weights": tmp_path} if options else {}
    packed, plain = frit.load(path, **where), frit.load(path, pack=False, **where)
    for rows in (1, 65, 400, 256, 96):
        given = inputs(rows)
        results = packed(*given)
        torch.testing.assert_close(results, plain(*given), rtol=0, atol=0)
        with torch.no_grad():
            torch.testing.assert_close(tuple(results), module(*given), rtol=1e-4, atol=1e-4)
    weights = sum(x.nbytes for x in module.parameters())
    assert plain.stats()["packed_bytes"] == 0
    # Panels are filled up to whole vectors.
    if packed.stats()["own_convolutions"]:
        assert 0 < packed.stats()["packed_bytes"] < weights * 1.6


def test_threads_share_the_packed_weights(tmp_path):
    module = Network()
    model = frit.load(compiled(tmp_path, module, inputs(256)))
    given = inputs(256)
    expected = frit.load(tmp_path / "m.frit", pack=False)(*given)
    found = [None] * 4

    def call(number):
        found[number] = model(*given)

    threads = [threading.Thread(target=call, args=(number,)) for number in range(len(found))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for results in found:
        torch.testing.assert_close(results, expected, rtol=0, atol=0)


class Returned(nn.Module):
    """The caller gets the weight, and may write to it."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(64, 80))

    def forward(self, x):
        return x @ self.weight, self.weight


class Updated(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("weight", torch.randn(64, 80))

    def forward(self, x):
        y = x @ self.weight
        self.weight.mul_(0.5)
        return y, y.sum()


def test_filters_that_are_not_finite_at_borders(tmp_path):
    x, module = torch.randn(2, 32, 20, 20), nn.Conv2d(32, 64, 3, padding=1)
    module.weight.data[2, 0, 0, 0] = torch.inf
    path = compiled(tmp_path, module, (x,))
    for pack in (True, False):
        with torch.no_grad():
            got, expected = frit.load(path, pack=pack)(x), module(x)
        assert torch.equal(got.isnan(), expected.isnan()) and torch.equal(got.isinf(), expected.isinf())


def test_weights_that_somebody_may_write_to(tmp_path):
    x = torch.randn(128, 64)
    for module in (Returned(), Updated()):
        model = frit.load(compiled(tmp_path, module, (x,)))
        for _ in range(3):
            with torch.no_grad():
                expected = module(x)
            torch.testing.assert_close(tuple(model(x)), expected, rtol=1e-5, atol=1e-4)
        assert model.stats()["packed_bytes"] == 0
    returned = frit.load(compiled(tmp_path, Returned(), (x,)))
    weight = returned(x)[1]
    with torch.no_grad():
        weight.zero_()
    assert not returned(x)[0].any()


class Piece(nn.Module):
    """The caller gets a piece of the weight's memory, as a weight of its own."""

    def __init__(self):
        super().__init__()
        self.register_buffer("whole", torch.randn(80, 64))
        self.register_buffer("piece", self.whole[:40])

    def forward(self, x):
        return x @ self.whole.t(), self.piece


def test_weights_that_share_memory_with_one_that_somebody_may_write_to(tmp_path):
    x, module = torch.randn(128, 64), Piece()
    model = frit.load(compiled(tmp_path, module, (x,)))
    for _ in range(3):
        got, expected = model(x), module(x)
        torch.testing.assert_close(tuple(got), expected, rtol=1e-5, atol=1e-4)
        got[1].add_(1), expected[1].add_(1)
    assert model.stats()["packed_bytes"] == 0


def test_weights_of_the_user(tmp_path):
    x, module = torch.randn(128, 64), nn.Linear(64, 80)
    model = frit.load(compiled(tmp_path, module, (x,), "--weights=none"), weights=module.state_dict())
    called = torch.compile(module, backend="frit")
    for _ in range(3):
        with torch.no_grad():
            torch.testing.assert_close(model(x), module(x), rtol=1e-5, atol=1e-4)
            torch.testing.assert_close(called(x), module(x), rtol=1e-5, atol=1e-4)
            module.weight.data.mul_(-2)
    assert model.stats()["packed_bytes"] == 0
