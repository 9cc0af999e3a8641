"""Sums across the vectors of a CPU: rows shared out in parts, tiles of columns that take turns, and what is written beside the sums."""

import pytest
import torch

ROWS = (0, 1, 2, 15, 16, 17, 127, 128, 129, 255, 257, 511, 513, 1300)
COLUMNS = (1, 2, 15, 16, 17, 33, 511, 513)


def light(g, x):
    return (g * x).sum(0)


def heavy(g, x):
    """The gradient of GELU and of the bias before it."""
    y = torch.ops.aten.gelu_backward(g, x)
    return y, y.sum(0)


def many(g, x):
    """More accumulators than a tile of several vectors has registers for, and what follows from the sums."""
    sums = [(g * x).sum(0), g.sum(0), (x * x).sum(0), (g - x).exp().sum(0)]
    return sums[0] * 2 + sums[1], torch.relu(sums[2]), sums[3].sqrt(), g + x


def close(found, exact, terms):
    """Whether sums of `terms` numbers, whose rounding errors are added in blocks, are those of f64."""
    unit = torch.finfo(found.dtype).eps
    return (found.double() - exact).abs().le(unit * (16 + terms**0.5) * (exact.abs() + terms**0.5)).all()


@pytest.mark.parametrize("program", [light, heavy, many])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
def test_sizes(program, dtype):
    torch.manual_seed(0)
    compiled = torch.compile(program, backend="frit", dynamic=True)
    for rows in ROWS:
        for columns in COLUMNS if rows in (17, 129, 513) else (17, 513):
            g, x = torch.randn(rows, columns).to(dtype), torch.randn(rows, columns).to(dtype)
            found, exact = compiled(g, x), program(g.double(), x.double())
            for one, its in zip(*((y if isinstance(y, tuple) else (y,)) for y in (found, exact)), strict=True):
                assert one.dtype == dtype and one.shape == its.shape
                assert close(one, its, rows), (rows, columns)


@pytest.mark.parametrize("program", [light, heavy, many])
def test_known_sizes_and_threads_change_no_bit(program):
    torch.manual_seed(1)
    threads = torch.get_num_threads()
    dynamic = torch.compile(program, backend="frit", dynamic=True)
    for rows, columns in ((128, 40), (129, 40), (200, 513), (1300, 33), (9000, 20)):
        g, x = torch.randn(rows, columns), torch.randn(rows, columns)
        torch.compiler.reset()
        results = [torch.compile(program, backend="frit", dynamic=False)(g, x)]
        try:
            for number in (1, 2, 5):
                torch.set_num_threads(number)
                results.append(dynamic(g, x))
        finally:
            torch.set_num_threads(threads)
        for other in results[1:]:
            torch.testing.assert_close(other, results[0], rtol=0, atol=0)


def test_operands_with_gaps_and_strides():
    torch.manual_seed(2)
    whole = torch.randn(700, 100)
    for g, x in (
        (whole[:, 3:90], torch.randn(700, 87)),
        (whole[::2, :87], torch.randn(350, 87)),
        (torch.randn(87).expand(700, 87), whole[:, :87]),
        (torch.randn(700, 1).expand(700, 87), whole[:, 10:97]),
    ):
        torch.compiler.reset()
        found, exact = torch.compile(heavy, backend="frit")(g, x), heavy(g.double(), x.double())
        for one, its in zip(found, exact, strict=True):
            assert close(one, its, g.shape[0])


def test_an_operand_that_is_overwritten():
    """The results of the whole domain may be written over an operand, while its rows are summed up."""

    def step(x, w):
        y = x.sin()
        z = y * w
        return z.sum(0), z.cos()

    torch.manual_seed(3)
    x, w = torch.randn(1000, 70), torch.randn(1000, 70)
    sums, full = torch.compile(step, backend="frit")(x, w)
    exact = step(x.double(), w.double())
    assert close(sums, exact[0], 1000)
    torch.testing.assert_close(full, exact[1].float())


def test_what_is_not_finite_stays_in_its_column():
    x = torch.randn(900, 50)
    x[130, 3], x[700, 4], x[5, 6] = float("inf"), float("nan"), -float("inf")
    x[131, 3], x[899, 6] = -float("inf"), 1.0
    found = torch.compile(lambda x: (x * 1.0).sum(0), backend="frit")(x)
    expected = x.sum(0)
    assert torch.equal(found.isnan(), expected.isnan()) and torch.equal(found.isinf(), expected.isinf())
