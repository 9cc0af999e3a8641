"""Tests GPU kernels without a GPU: every kernel is emulated with checks of bounds, races, barriers and first writes, agrees with eager, and is
assembled by ptxas without local memory. `scripts/gpu-sweep` does the same with the whole suite."""

import math
import os
import re

import emulation as emulator
import pytest
import torch
import torch.nn.functional as F
from test_operators import BINARY, DIVISIONS, REDUCTIONS, UNARY

from benchmarks.programs import programs

EDGES = (2, 3, 31, 33, 255, 256, 257, 1023, 1025)
# Kernels whose results are IEEE's or the library's on the CPU, and those of an approximate instruction on the GPU.
TOLERANCE = {torch.float64: 1e-9, torch.float32: 2e-5, torch.bfloat16: 2e-2, torch.float16: 4e-3}


SWEEPING = os.environ.get("FRIT_TEST_TARGET") == "simt"


@pytest.fixture(scope="module")
def emulation():
    return emulator.sweep() if SWEEPING else emulator.Emulation()


# Tests that only vary operators and types are assembled for one architecture, the others for all (scripts/gpu-sweep: all for all).
FOR_EVERY_ARCHITECTURE = (
    "test_program",
    "test_rows_of_any_length",
    "test_rows_of_several_operands_of_any_length",
    "test_rows_of_slices_of_any_length",
    "test_reductions_of_any_size",
    "test_variances_of_any_size",
    "test_floating_types",
    "test_in_place",
    "test_rows_in_place",
    "test_transposes_of_any_size",
)


@pytest.fixture(autouse=True)
def emulated(request, monkeypatch, emulation):
    if SWEEPING:
        return
    emulation.architectures = emulator.ARCHITECTURES if request.node.originalname in FOR_EVERY_ARCHITECTURE else (90,)
    emulation.install(monkeypatch)


def agree(function, *inputs, dynamic=None):
    compiled = torch.compile(function, backend="frit", dynamic=dynamic)
    compare(compiled(*inputs), function(*inputs))
    return compiled


def compare(actual, expected):
    expected = [x for x in torch.utils._pytree.tree_leaves(expected)]
    actual = torch.utils._pytree.tree_leaves(actual)
    assert len(actual) == len(expected)
    for number, (a, e) in enumerate(zip(actual, expected)):
        limit = TOLERANCE.get(getattr(e, "dtype", None), 0)
        torch.testing.assert_close(
            a, e, rtol=limit, atol=limit, equal_nan=True, msg=lambda text, number=number: f"result {number}: {text}"
        )


def groups(table, size=8):
    names = [name for name in table if table[name] is not None]
    return [names[at : at + size] for at in range(0, len(names), size)]


def values(size, dtype=torch.float32, seed=0):
    generator = torch.Generator().manual_seed(seed)
    if dtype == torch.bool:
        return torch.rand(size, generator=generator) > 0.5
    if dtype.is_floating_point:
        # All values are in the domain of all functions.
        return (torch.rand(size, generator=generator, dtype=torch.float64) * 0.9 + 0.05).to(dtype)
    return torch.randint(1, 9, size if isinstance(size, tuple) else (size,), generator=generator).to(dtype)


def applied(table, names):
    def function(*inputs):
        return [table[name][0](*inputs) for name in names]

    return function


@pytest.mark.parametrize("names", groups({k: None if "not" in k else v for k, v in UNARY.items()}), ids=lambda n: f"{n[0]} to {n[-1]}")
def test_unary(names):
    """One kernel for all sizes, around the sizes of vectors, warps and blocks; sizes 0 and 1 have separate kernels."""
    if names[0] == "abs":
        names = [*names, "logical_not"]
    compiled = agree(applied(UNARY, names), values(EDGES[-1]), dynamic=True)
    for size in (*EDGES, 0, 1):
        compare(compiled(values(size)), applied(UNARY, names)(values(size)))
    # Addresses are off by one element, so that no access can be a vector.
    compare(compiled(values(66)[1:]), applied(UNARY, names)(values(66)[1:]))


SPECIAL = [math.nan, math.inf, -math.inf, -0.0, 0.0, 1.0, -1.0, 0.5, -0.5, 2.5, 1e-3, 7.0, -7.0, 3e-39]


def test_special_values():
    names = ["abs", "neg", "sign", "floor", "ceil", "trunc", "round", "relu", "isnan", "isinf", "hardtanh", "clamp", "exp", "log", "tanh"]
    agree(applied(UNARY, names), torch.tensor(SPECIAL))
    x = torch.tensor(SPECIAL)
    agree(lambda x, y: [x > y, x == y, torch.maximum(x, y) != 0, torch.where(x < y, x, y)], x[:, None], x[None, :])


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16], ids=str)
def test_floating_types(dtype):
    names = ["abs", "floor", "relu", "exp", "log", "tanh", "erf", "sigmoid", "gelu tanh", "rsqrt", "div scalar", "eq scalar"]
    compiled = agree(applied(UNARY, names), values(130, dtype), dynamic=True)
    compare(compiled(values(77, dtype)), applied(UNARY, names)(values(77, dtype)))
    agree(lambda x: [x.sum(-1), x.amax(0), x.mean(), torch.softmax(x, -1), x.cumsum(-1)], values((7, 33), dtype))


def ulps(actual, exact):
    """Returns the distance of f32 results from f64 ones in ulps."""
    ulp = torch.exp2(torch.frexp(exact).exponent.double() - 24)
    return ((actual.double() - exact) / ulp).abs().max().item()


def test_approximate_instructions_err():
    """Approximate instructions may be off by up to 2 ulp on a device, so the emulation makes such errors too."""
    x = values(1024) + 0.5
    wide = x.double()
    assert 1.5 < ulps(torch.compile(torch.exp2, backend="frit")(x), torch.exp2(wide)) <= 2.5
    assert 0.5 < ulps(torch.compile(torch.rsqrt, backend="frit")(x), torch.rsqrt(wide)) <= 1.1  # it has a Newton step
    # Results in half types show these errors only after cancellation.
    near = torch.linspace(0.4054, 0.40553, 1024)
    exponentials = torch.compile(lambda x: ((torch.exp(x) - 1.5) * 2**23).half(), backend="frit")(near)
    off = (exponentials.double() - (torch.exp(near.double()) - 1.5) * 2**23).abs()
    assert 1.5 < off.max().item() < 4
    # The exponential of a row's largest number is exact; the errors are those of the reciprocal and of the product.
    rows = near.reshape(64, 16)
    quotients = torch.compile(lambda x: ((x / x.amax(-1, keepdim=True) - 1) * 2**24).half(), backend="frit")(rows)
    off = (quotients.double() - (rows.double() / rows.double().amax(-1, keepdim=True) - 1) * 2**24).abs()
    assert 1 < off.max().item() < 2.2


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool], ids=str)
def test_integer_types(dtype):
    x, y = values(130, dtype), values(130, dtype, 1)
    names = ["eq", "lt", "logical_and", "bitwise_xor", "maximum"] + ([] if dtype == torch.bool else ["add", "sub", "mul"])
    agree(applied(BINARY, names), x, y)
    if dtype != torch.bool:
        agree(lambda x, y: [x // y, x % y, torch.fmod(x, y), x << (y % 4), x >> (y % 4), ~x], x * 3, y)
    agree(lambda x: [x.sum(-1), x.amax(0), x.any(-1), x.all(0), x.to(torch.float32).mean()], values((6, 35), dtype))
    if dtype != torch.bool:
        agree(lambda x: [x.argmax(-1), x.argmin(0), x.prod(0)], values((6, 35), dtype))


def test_casts():
    types = [torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int64, torch.int32, torch.int8, torch.uint8, torch.bool]
    agree(lambda *all: [x.to(d) for x in all for d in types], *[values(37, d) * 3 if d != torch.bool else values(37, d) for d in types])


@pytest.mark.parametrize("names", groups(BINARY), ids=lambda n: f"{n[0]} to {n[-1]}")
def test_binary(names):
    names = [name for name in names if "bitwise" not in name]
    for x, y in [(values(67), values(67, seed=1)), (values((9, 33)), values(33, seed=1)), (values((8, 5, 4)), values((5, 1), seed=1))]:
        agree(applied(BINARY, names), x, y)
    agree(applied(BINARY, names), values((33, 8)).t(), values((8, 33), seed=1))


def test_division():
    agree(applied(DIVISIONS, list(DIVISIONS)), values(130) * 9 - 4, values(130, seed=1))


SHAPES = [(1, 1), (2, 3), (5, 31), (3, 33), (4, 128), (33, 4), (2, 1025), (257, 3), (40, 24)]


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reduction(name):
    function = REDUCTIONS[name][0]
    for part in (SHAPES[:5], SHAPES[5:]):
        agree(lambda *all: [function(x) for x in all], *[values(shape) for shape in part if "var" not in name or shape[-1] > 1])


@pytest.mark.parametrize("dim", [0, 1, (0, 1), 2, (0, 2)], ids=str)
def test_reductions_of_any_size(dim):
    """The same kernel at many sizes, including empty ones."""

    def function(x):
        return x.sum(dim), (x * 2).amax(dim) if x.numel() else x.sum(dim), x.exp().mean(dim)

    compiled = agree(function, values((5, 9, 33)), dynamic=True)
    for shape in [(2, 3, 4), (3, 2, 257), (33, 40, 2), (7, 2, 128), (2, 65, 33), (0, 3, 4), (3, 4, 0)]:
        compare(compiled(values(shape)), function(values(shape)))


@pytest.mark.parametrize("size", [70_001, 1 << 18])
def test_long_full_reductions(size):
    """Partial results of many blocks are combined in a fixed order."""
    x = torch.randn(size, generator=torch.Generator().manual_seed(1))

    def function(x):
        return x.amax(), x.argmin(), (x > 0).sum(), (x - x.mean()).square().mean()

    compiled = agree(function, x)
    again = compiled(x)
    assert all(torch.equal(a, b) for a, b in zip(compiled(x), again))


def test_split_reductions():
    """For few long rows and few long columns, partial results of several blocks are combined in a fixed order."""

    def function(x, y):
        return x.sum(-1), x.argmax(-1), y.sum(0), (y * 2).amax(0), y.var(0)

    inputs = values((3, 9001)), values((2100, 6))
    compiled = agree(function, *inputs)
    assert all(torch.equal(a, b) for a, b in zip(compiled(*inputs), compiled(*inputs)))
    agree(lambda x: torch.softmax(x, -1), values((2, 33000)))


def test_variances_of_any_size():
    """In one sweep over columns: with partial tiles of rows, lanes beyond the last column, no elements, and one row."""

    def function(x):
        return torch.var_mean(x, 0), x.std(0, correction=0), (x * 2).var((0, 2)), x.sum(0)

    compiled = agree(function, values((64, 9, 33)), dynamic=True)
    for shape in [(2, 3, 4), (1, 2, 5), (31, 2, 128), (33, 2, 8), (129, 3, 30), (700, 2, 4), (0, 3, 4), (3, 4, 0)]:
        compare(compiled(values(shape)), function(values(shape)))
    again = values((700, 2, 4))
    assert all(torch.equal(a, b) for a, b in zip(*(torch.utils._pytree.tree_leaves(compiled(again)) for _ in range(2))))
    # Several blocks for a column, at an address off by one element: the same bits.
    x = torch.randn(4096 * 40 + 1, generator=torch.Generator().manual_seed(3))
    shared = torch.compile(lambda x: torch.var_mean(x, 0), backend="frit")
    beside = shared(x[1:].view(4096, 40))
    compare(beside, torch.var_mean(x[1:].view(4096, 40), 0))
    assert all(torch.equal(a, b) for a, b in zip(beside, shared(x[1:].clone().view(4096, 40))))


@pytest.mark.parametrize("mean", [0, 1e2, 1e4, -1e4])
def test_a_small_variance_around_a_large_mean(mean):
    """Compares with fp64, within a rounding of the mean: variances of columns, few rows, everything, and channels with normalised values."""

    def function(x, y, z, w):
        return torch.var_mean(x, 0), y.var(-1), z.var(), F.batch_norm(w, None, None, training=True)

    generator = torch.Generator().manual_seed(2)
    inputs = [torch.randn(shape, generator=generator) + mean for shape in [(3000, 12), (3, 20001), (50001,), (12, 3, 30000)]]
    exact = torch.utils._pytree.tree_leaves(function(*(x.double() for x in inputs)))
    found = torch.utils._pytree.tree_leaves(torch.compile(function, backend="frit")(*inputs))
    limit = 2e-6
    for variance in (0, 2, 3):
        torch.testing.assert_close(found[variance].double(), exact[variance], rtol=limit, atol=0)
    torch.testing.assert_close(found[1].double(), exact[1], rtol=1e-6, atol=1e-5)
    torch.testing.assert_close(found[4].double(), exact[4], rtol=1e-5, atol=1e-5 + 4 * abs(mean) * torch.finfo(torch.float32).eps)


def test_variances_of_what_is_not_finite():
    x = torch.randn(3000, 6, generator=torch.Generator().manual_seed(4))
    x[7, 0], x[2000, 1], x[2999, 2] = float("inf"), float("nan"), -float("inf")
    x[:, 3], x[:, 4] = 1e20, 0
    variance, mean = torch.compile(lambda x: torch.var_mean(x, 0), backend="frit")(x)
    assert variance.isnan().tolist() == [True, True, True, False, False, False]
    assert mean.tolist()[0] == float("inf") and mean.tolist()[2] == -float("inf") and mean[1].isnan()
    assert variance[3] < 1e-12 * 1e40 and variance[4] == 0


def test_rows_of_any_length():
    def function(x):
        return torch.softmax(x, -1), F.layer_norm(x, x.shape[-1:]), x.argmax(-1), torch.logsumexp(x, -1)

    compiled = agree(function, values((3, 40)), dynamic=True)
    # Lengths around a vector, a thread's elements, and 1024, the longest row in registers if the first had 40 columns.
    shapes = [(1, 8), (4, 2), (9, 31), (2, 252), (3, 256), (2, 260), (2, 1020), (2, 1024), (2, 1027), (2, 1028), (130, 5), (2, 5000), (0, 7)]
    # Rows in registers as single elements: lengths around a warp, around the threads of a row, and the longest.
    for shape in [*shapes, (5, 33), (2, 63), (3, 65), (1, 1023), (2, 1025), (2, 5001)]:
        compare(compiled(values(shape)), function(values(shape)))
    for columns in (8, 64, 100, 768, 1024, 4096, 4100):
        agree(function, values((3, columns)))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64], ids=str)
def test_rows_of_several_operands_of_any_length(dtype):
    """Operands that are read again stay in registers as vectors or as elements, or not at all; also if they are overwritten."""

    def function(x, y, m, w):
        z = x + y
        return z, F.rms_norm(z, z.shape[-1:]) * w, torch.softmax(x.masked_fill(m, float("-inf")), -1)

    def inputs(rows, columns):
        return values((rows, columns), dtype), values((rows, columns), dtype, 1), values((rows, columns), torch.bool), values((columns,), dtype, 2)

    def in_place(x, y):
        return x.copy_(F.layer_norm(x + y, x.shape[-1:]))

    compiled, over = (torch.compile(one, backend="frit", dynamic=True) for one in (function, in_place))
    for rows, columns in [(3, 40), (5, 7), (2, 33), (3, 127), (2, 129), (1, 255), (2, 1024), (3, 1031), (2, 2047), (2, 2048), (2, 2049), (1, 4096), (0, 9)]:
        compare(compiled(*inputs(rows, columns)), function(*inputs(rows, columns)))
        one, two = inputs(rows, columns)[:2], inputs(rows, columns)[:2]
        compare(over(*one), in_place(*two))
        compare(one, two)


@pytest.mark.parametrize("columns", [63, 64])
def test_rows_of_unknown_length_have_the_same_bits_from_any_pointer(columns):
    compiled = torch.compile(lambda x: torch.softmax(x, -1), backend="frit", dynamic=True)
    x = values((7 * columns + 1,))
    beside, aligned = x[1:].view(7, columns), x[1:].clone().view(7, columns)
    compare(compiled(beside), torch.softmax(beside, -1))
    assert torch.equal(compiled(beside), compiled(aligned))
    wide = values((7, columns + 9))[:, :columns]
    assert torch.equal(compiled(wide), compiled(wide.clone(memory_format=torch.contiguous_format)))


def beside(x, columns):
    """Copies x into a larger tensor, from this column on."""
    wide = torch.zeros(*x.shape[:-1], x.shape[-1] + 2 * columns, dtype=x.dtype)
    return wide[..., columns:-columns].copy_(x)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.float64], ids=str)
def test_rows_of_slices_of_any_length(dtype):
    """Vectors or single elements of the same chunks, in registers or not: the same bits at any stride and address, also if they are overwritten."""

    def function(x, y, m, w):
        z = x + y
        return z, F.rms_norm(z, z.shape[-1:]) * w, F.layer_norm(x, x.shape[-1:]), torch.softmax(x.masked_fill(m, float("-inf")), -1)

    def in_place(x, y):
        return x.copy_(F.layer_norm(x + y, x.shape[-1:]))

    compiled, over = (torch.compile(one, backend="frit", dynamic=True) for one in (function, in_place))
    # Lengths around a vector, a warp of vectors, and the longest row in registers; partial vectors; longer rows.
    for rows, columns in [(3, 40), (4, 8), (2, 16), (5, 12), (2, 33), (3, 248), (2, 256), (2, 264), (1, 1016), (2, 1024), (2, 1032), (2, 2048), (1, 2056), (1, 4096)]:
        plain = values((rows, columns), dtype), values((rows, columns), dtype, 1), values((rows, columns), torch.bool), values((columns,), dtype, 2)
        # At column 16 rows are aligned if their length is a multiple of vectors; at column 1 no row is.
        found = [compiled(*(beside(x, by) for x in plain)) for by in (16, 1)]
        compare(found[1], function(*plain))
        for near, far in zip(*found):
            assert torch.equal(near, far)
        written = [[beside(x, by) for x in plain[:2]] for by in (16, 1)]
        expected = [x.clone() for x in plain[:2]]
        compare(over(*written[1]), in_place(*expected))
        assert torch.equal(over(*written[0]), written[1][0])
        compare(written[1], expected)


CARRIED = {
    "pairs": lambda x, b, w: (x[:, None] + x.flip(0)).flatten(0, 1) * 2,
    "repeated": lambda x, b, w: (x.flatten(1).repeat(1, x.shape[0]) + 1, x.repeat(x.shape[0], 1, 1)),
    "flat": lambda x, b, w: (x * b[:, None]).flatten() * w + torch.arange(w.shape[0]),
    "turned": lambda x, b, w: x.permute(2, 0, 1).flatten() + w,
    "sum": lambda x, b, w: ((x * b[:, None]).sum(), (x * b[:, None]).flatten(1).argmax()),
    "rows": lambda x, b, w: ((x * b[:, None]).sum((0, 2)), (x + 1).square().sum((0, 2))),
    "columns": lambda x, b, w: (x * b[:, None]).sum((0, 1)),
    "softmax": lambda x, b, w: torch.softmax((x * b[:, None]).flatten(1), -1),
}


@pytest.mark.parametrize("name", CARRIED)
def test_places_that_are_carried(name):
    """The same kernel with many sizes of dims, by which it may not divide in a loop: around a vector, a block and a thread's elements."""
    function = CARRIED[name]

    def of(*shape):
        x = values(shape)
        return x, values(shape[1]), values(x.numel(), seed=1)

    compiled = agree(function, *of(5, 9, 33), dynamic=True)
    shapes = [(2, 2, 2), (2, 3, 4), (3, 2, 257), (33, 40, 2), (3, 31, 32), (2, 2, 1023), (2, 1025, 4), (40, 3, 64), (0, 3, 4), (3, 0, 4), (3, 4, 0)]
    for shape in shapes if name != "sum" else shapes[:-3]:
        # Also with addresses that are not multiples of 16 bytes.
        x, b, w = of(*shape)
        compare(compiled(x, b, w), function(x, b, w))
        apart = values(x.numel() + 1)[1:].view(shape)
        compare(compiled(apart, b, w), function(apart, b, w))


def test_moving():
    def function(x, y):
        return [
            x.permute(2, 0, 1).reshape(5, 24) + 1,
            x.transpose(0, 2).contiguous(),
            x[1:3, ::2, -2:] * 2,
            torch.stack(x.unbind(0), -1),
            torch.cat(x.split([1, 3, 2], 1)[::-1], 1),
            x.flip(0, 2),
            x.roll((1, -2), (0, 2)),
            torch.cat([x, y], 0),
            torch.cat([x, x.new_empty(4, 0, 5), x * 2], 1),
            x.repeat(2, 1, 3),
            F.pad(x, (1, 2, 0, 3)),
            F.pad(x, (-1, 1)),
            torch.select_scatter(x, x[0] * 3, 0, 2),
            torch.tril(x),
            torch.triu(x, 1),
            x.unfold(2, 2, 2) * 2,
            x.unsqueeze(1).expand(4, 3, 6, 5).contiguous(),
        ]

    for dtype in (torch.float32, torch.uint8):
        agree(function, values((4, 6, 5), dtype), values((3, 6, 5), dtype, 1))
    agree(lambda x: [torch.full_like(x, 2), torch.arange(33), torch.eye(4), x.new_zeros(0, 3), torch.arange(7) * x.shape[0]], values((3, 5)))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.uint8, torch.float32], ids=lambda dtype: str(dtype)[6:])
def test_transposes_of_any_size(dtype):
    """Tiles of pairs and of single elements: sizes around both, odd sizes or addresses, and a result in either order."""

    def function(x, y):
        return x.mT.contiguous(), (x * 2).mT + y, x.mT.float().contiguous()

    compiled = agree(function, values((2, 70, 66), dtype), values((2, 66, 70), dtype, 1), dynamic=True)
    for rows, columns in [(64, 64), (62, 66), (63, 64), (64, 65), (2, 128), (130, 16), (31, 33), (2, 2), (18, 3), (0, 4), (4, 0)]:
        inputs = values((2, rows, columns), dtype), values((2, columns, rows), dtype, 1)
        compare(compiled(*inputs), function(*inputs))
    # Even sizes and rows, from an odd offset on.
    x, y = values(2 * 64 * 66 + 1, dtype)[1:].view(2, 64, 66), values((2, 66, 64), dtype, 1)
    compare(compiled(x, y), function(x, y))
    wide = values((2, 64, 68), dtype)
    for x in (wide[:, :, :66], wide[:, :, 1:67], wide[:, ::2, 2:]):
        y = values(x.mT.shape, dtype, 1)
        compare(compiled(x, y), function(x, y))


def test_reading_by_index():
    table, index = values((11, 7)), torch.randint(0, 11, (3, 4), generator=torch.Generator().manual_seed(1))

    def function(table, index, x):
        return [
            F.embedding(index, table),
            table.index_select(0, index.flatten()) + 1,
            table[index],
            table[index[0], index[0] % 7],
            x.gather(1, index % 5),
            x[index % 3 - 2],
            table[-1] * 2,
        ]

    agree(function, table, index, values((3, 5)))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
def test_neighbours_that_may_be_one_access(dtype):
    """Numbers in groups of four: all or some of a group, at the beginning or not, from pointers at any multiple of an element."""
    def corners(x):
        x1, y1, x2, y2 = x.unbind(-1)
        return (x2 - x1) * (y2 - y1), (x2 - x1).amax(-1), (y1 - y2).sum()

    def some(x):
        return x[..., 0] - x[..., 1], x[..., 1] * x[..., 2], x[:, :-1, 3] - x[:, 1:, 0]

    for function in (corners, some):
        numbers = values(8 * 33 * 4 + 3, dtype)
        compiled = torch.compile(function, backend="frit")
        for first in range(4):
            x = numbers[first : first + 8 * 33 * 4].view(8, 33, 4)
            compare(compiled(x), function(x))


def test_an_index_out_of_range_is_an_error_of_the_emulation():
    compiled = torch.compile(lambda t, i: F.embedding(i, t) * 2, backend="frit")
    table = values((5, 3))
    compiled(table, torch.tensor([0, 4]))
    with pytest.raises(IndexError, match="out of (range|bounds)"):
        compiled(table, torch.tensor([0, 5]))


def test_in_place():
    """Results overwrite an operand after all readers of the old value."""

    def function(x, y):
        x.mul_(2)
        y.add_(x)
        t = (x + y).exp()
        t = t @ t.t()
        return (t * 2 + 1).relu()

    for size in (4, 33):
        one, two = [values((size, size), seed=s) for s in (0, 1)], [values((size, size), seed=s) for s in (0, 1)]
        compare(torch.compile(function, backend="frit")(*one), function(*two))
        compare(one, two)


def test_rows_in_place():
    """Threads beyond a row do not load elements that another thread may already overwrite."""

    def function(x, y, z):
        return x.copy_(torch.softmax(x, -1)), y.copy_(y - y.amax(0)), z.copy_(z - z.sum(-1, keepdim=True))

    for shape in ((8, 33), (5, 7), (130, 5), (2, 1025), (33, 40), (3, 128), (17, 40960)):
        one, two = [[values(shape, seed=s) for s in range(3)] for _ in range(2)]
        compare(torch.compile(function, backend="frit")(*one), function(*two))
        compare(one, two)


@pytest.mark.parametrize("dim", [0, 1])
def test_operands_of_whole_rows_in_place(dim):
    """A running mean: all threads of a row may read it, and one overwrites it."""

    def only(x, mean):
        now = x.mean(dim, keepdim=True)
        mean.mul_(0.9).add_(now)
        return x - now

    def both(x, mean):
        now = x.mean(dim, keepdim=True)
        shifted = (x - now) + mean
        mean.mul_(0.9).add_(now)
        return shifted

    for shape in ((4, 7), (33, 64), (4, 1025), (700, 65), (17, 40960)):
        for function in (only, both):
            kept = [d if i != dim else 1 for i, d in enumerate(shape)]
            x, one, two = values(shape), values(tuple(kept), seed=1), values(tuple(kept), seed=1)
            compare(torch.compile(function, backend="frit")(x, one), function(x, two))
            compare(one, two)


def test_trigonometry_in_large_kernels():
    """libdevice reduces large arguments of sin, cos and tan with an array, which must not be in local memory even in large kernels."""
    for dtype in (torch.float32, torch.float64):
        for function in (torch.sin, torch.cos, torch.tan):
            agree(lambda x: function(torch.softmax(x, -1)) + function(x), values((3, 64), dtype))


SMALL = [
    name
    for name in programs()
    if not any(word in name for word in ("gpt2", "vit", "captioning", "bert")) and not programs()[name].random
]


@pytest.mark.parametrize("name", SMALL)
def test_program(name):
    program = programs()[name]
    function, inputs = program.make("test")
    _, expected_inputs = program.make("test")
    expected = function(*expected_inputs)
    actual = torch.compile(function, backend="frit", fullgraph=program.fullgraph)(*inputs)
    compare(torch.utils._pytree.tree_map(_plain, actual), torch.utils._pytree.tree_map(_plain, expected))


def _plain(x):
    return x.detach() if isinstance(x, torch.Tensor) else x


def test_training_a_small_network():
    def loss(w, v, b, x, target):
        h = F.gelu(F.layer_norm(x @ w + b, b.shape))
        return F.cross_entropy(h @ v, target)

    def run(function):
        weights = [values(s, seed=i).requires_grad_() for i, s in enumerate([(12, 24), (24, 7), (24,)])]
        result = function(*weights, values((9, 12), seed=5), torch.arange(9) % 7)
        return result.detach(), *torch.autograd.grad(result, weights)

    compare(run(torch.compile(loss, backend="frit")), run(loss))


@pytest.mark.skipif(emulator.PTXAS is None, reason="needs ptxas")
@pytest.mark.skipif(SWEEPING, reason="not emulated: a sweep assembles at its end")
def test_every_kernel_of_this_file_assembles(emulation):
    """Assembles the kernels of all other tests; must be the last test of the file."""
    rows = emulation.assemble()
    # A kernel with several variants and launches has several numbered entries.
    assembled = {name if name in emulation.seen else re.sub(r"(_v\d+)?(_u)?(_\d+)?$", "", name) for name, *_ in rows}
    assert assembled == emulation.seen
    emulator.check_ledger(rows)
    if len(emulation.seen) > 300:
        assert {arch for _, arch, _ in rows} == {80, 90, 100}
