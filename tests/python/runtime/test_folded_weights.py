"""What depends on weights alone is computed when a file is compiled, if nothing can write to those weights later."""

import subprocess

import pytest
import torch
from exported import TOOLS
from torch import nn

import frit


def load(folder, module, given, *options, **arguments):
    torch.export.save(torch.export.export(module, given), folder / "m.pt2")
    subprocess.run([TOOLS / "frit-compile", folder / "m.pt2", "-o", folder / "m.frit", *options], check=True, capture_output=True)
    return frit.load(folder / "m.frit", **arguments)


class Normed(nn.Module):
    """Batch norms behind convolutions, with statistics that matter, and one whose result is returned."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second = nn.Conv2d(3, 16, 3, bias=False), nn.Conv2d(16, 20, 3, padding=1)
        self.norms = nn.ModuleList([nn.BatchNorm2d(16), nn.BatchNorm2d(20, eps=0.1)])
        for norm in self.norms:
            nn.init.normal_(norm.running_mean)
            nn.init.uniform_(norm.running_var, 0.5, 2)
            nn.init.normal_(norm.weight)
            nn.init.normal_(norm.bias)
        self.eval()

    def forward(self, x):
        return self.norms[1](self.second(self.norms[0](self.first(x)).relu()))


IMAGE = torch.randn(2, 3, 10, 11, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("options", [(), ("--weights=external",), ("--target=simt",)])
def test_batch_norms(tmp_path, options):
    module = Normed()
    model = load(tmp_path, module, (IMAGE,), *options, **({"weights": tmp_path} if "external" in "".join(options) else {}))
    with torch.no_grad():
        torch.testing.assert_close(model(IMAGE), module(IMAGE), rtol=1e-5, atol=1e-5)
    assert model.report()["folded_weights"] >= 2


def test_eagers_numbers_stay_the_same_bits(tmp_path):
    """`torch.compile` computes them in each call."""
    module, arithmetic, given = Normed(), Arithmetic(), (torch.randn(2, 5), torch.randn(2, 6, 8, 8))
    with torch.no_grad():
        for one, values in ((module, (IMAGE,)), (arithmetic, given)):
            got = load(tmp_path, one, values, "--numerics=eager")(*values)
            expected = torch.compile(one, backend="frit", options={"numerics": "eager"})(*values)
            torch.testing.assert_close(got, expected if torch.is_tensor(got) else list(expected), rtol=0, atol=0)


class Arithmetic(nn.Module):
    """All operators, a filter among what they compute, a scalar, no element, and other types."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(2)
        self.a, self.b = (nn.Parameter(torch.rand(6, 5) + 0.5) for _ in range(2))
        self.filter, self.factor = nn.Parameter(torch.randn(8, 6, 3, 3)), nn.Parameter(torch.randn(8, 1, 1, 1))
        self.one, self.none = nn.Parameter(torch.tensor(-3.0)), nn.Parameter(torch.empty(0, 5))
        self.long, self.whole = nn.Parameter(torch.rand(5, dtype=torch.float64)), nn.Parameter(torch.arange(5), requires_grad=False)
        self.large = nn.Parameter(torch.randn(300, 300))

    def forward(self, x, image):
        a, b = self.a, self.b
        rows = (a + b) / (a * b - 0.25) + torch.sqrt(a) - torch.rsqrt(b.T.flip(0).T) * -a[0]
        images = nn.functional.conv2d(image, self.filter * self.factor)
        others = x.double() + self.long * 2, x + (self.whole + 1), self.large.mul(2) + x[0, 0]
        return x * rows[1:3] * (self.one * self.one - 1), images, self.none * 2 + self.none, *others


def test_arithmetic(tmp_path):
    module, given = Arithmetic(), (torch.randn(2, 5), torch.randn(2, 6, 8, 8))
    model = load(tmp_path, module, given)
    with torch.no_grad():
        torch.testing.assert_close(tuple(model(*given)), module(*given), rtol=1e-5, atol=1e-4)
    assert model.report()["folded_weights"] == 2


class Chained(nn.Module):
    """Values that are computed from each other, all of which the rest of the program reads."""

    def __init__(self):
        super().__init__()
        self.register_buffer("w", torch.arange(12.0).view(3, 4))

    def forward(self, x):
        first = self.w * 2
        second = first.T.flip(0).T + 1
        return x + first, x * second, x - second / (first + 3)


def test_values_that_others_need(tmp_path):
    module, x = Chained(), torch.randn(3, 4)
    model = load(tmp_path, module, (x,))
    torch.testing.assert_close(tuple(model(x)), module(x))
    assert model.report()["folded_weights"] == 3


class Special(nn.Module):
    def __init__(self, numbers):
        super().__init__()
        self.a, self.b = nn.Parameter(numbers), nn.Parameter(numbers.flip(0).clone())

    def forward(self, x):
        a, b = self.a, self.b
        return tuple(x * 0 + value for value in (a + b, a - b, a * b, a / b, -a, a.sqrt(), a.rsqrt()))


def test_numbers_that_are_not_finite(tmp_path):
    numbers = torch.tensor([torch.nan, torch.inf, -torch.inf, 0.0, -0.0, 1e-45, 3e38, -1.0, 2.0])
    module, x = Special(numbers), torch.zeros(9)
    model = load(tmp_path, module, (x,))
    with torch.no_grad():
        for got, expected in zip(model(x), module(x), strict=True):
            torch.testing.assert_close(got, expected, rtol=1e-6, atol=0, equal_nan=True)
    assert model.report()["folded_weights"] == 7


class Returned(nn.Module):
    def __init__(self, view):
        super().__init__()
        self.weight, self.view = nn.Parameter(torch.randn(4, 6)), view

    def forward(self, x):
        return x * (self.weight + 1), self.view(self.weight)


class Updated(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("weight", torch.randn(4, 6))

    def forward(self, x):
        y = x * (self.weight + 1)
        self.weight.mul_(0.5)
        return y, y.sum()


@pytest.mark.parametrize("view", [lambda w: w, lambda w: w.T, lambda w: w[1:, ::2], lambda w: w.view(-1)])
def test_a_weight_that_the_caller_gets(tmp_path, view):
    x = torch.randn(4, 6)
    model = load(tmp_path, Returned(view), (x,))
    seen = model(x)[1]
    with torch.no_grad():
        seen.fill_(-1)
        got, again = model(x)
    assert (again == -1).all() and torch.equal(view(got), torch.zeros_like(view(x)))
    assert model.report()["folded_weights"] == 0


def test_a_weight_that_the_program_writes(tmp_path):
    x, module = torch.randn(4, 6), Updated()
    model = load(tmp_path, module, (x,))
    for _ in range(3):
        torch.testing.assert_close(tuple(model(x)), module(x))
    assert model.report()["folded_weights"] == 0


def test_weights_of_the_user(tmp_path):
    module = Normed()
    model = load(tmp_path, module, (IMAGE,), "--weights=none", weights=module.state_dict())
    for _ in range(2):
        with torch.no_grad():
            torch.testing.assert_close(model(IMAGE), module(IMAGE), rtol=1e-5, atol=1e-5)
            module.norms[0].running_var.mul_(4)
    assert model.report()["folded_weights"] == 0


class Shared(nn.Module):
    """Two buffers of one storage, one of which is written."""

    def __init__(self):
        super().__init__()
        whole = torch.randn(8, 6)
        self.register_buffer("upper", whole[:4])
        self.register_buffer("lower", whole[4:])

    def forward(self, x):
        y = x * (self.lower + 1)
        self.upper.add_(1)
        return y + self.upper


def test_weights_that_share_memory(tmp_path):
    x, module = torch.randn(4, 6), Shared()
    model = load(tmp_path, module, (x,))
    for _ in range(3):
        torch.testing.assert_close(model(x), module(x))
