"""Operators at edge cases of their rules: equal operands, values at bounds, NaN, infinities, signs of zero, limits of integers, booleans,
indices out of range. `mutants.py` runs them with planted mistakes."""

import torch
import torch.nn.functional as F

NAN, INF = float("nan"), float("inf")
aten = torch.ops.aten


def floats():
    return torch.tensor([NAN, INF, -INF, -0.0, 0.0, 0.5, 2.5, 1.0, -1.0, -3.0, 20.0, 1e30])


def other_floats():
    return torch.tensor([1.0, INF, INF, 0.0, -0.0, 0.5, -2.5, NAN, -1.0, 2.0, 0.0, -1e30])


def integers():
    return torch.tensor([-3, -1, 0, 1, 2, 3, 7, 2**31, -(2**63), 2**63 - 1])


def booleans():
    return torch.tensor([[True, False, True], [False, False, True], [True, True, False], [False, False, False]])


def compared(x, scalars):
    return [op(x, s) for s in scalars for op in (torch.gt, torch.ge, torch.lt, torch.le, torch.eq, torch.ne)]


def tested(x):
    return [x.any(), x.all(), x.any(0), x.all(0), torch.logical_not(x), torch.logical_or(x, x.flip(0)), torch.logical_and(x, x.flip(0))]


def shifted(x, counts):
    """Shifts by one count at a time, because vector and scalar instructions differ for counts out of range."""
    return [op(x[i : i + 1], counts[j : j + 1]) for op in (torch.bitwise_left_shift, torch.bitwise_right_shift) for i in range(2) for j in range(5)] + [
        op(x[0], counts[j]) for op in (torch.Tensor.__lshift__, torch.Tensor.__rshift__) for j in range(5)
    ]


def shifts(dtype):
    width = torch.iinfo(dtype).bits
    counts = [width, width + 3, 1, width - 1, 100 if dtype == torch.uint8 else -1]
    return shifted, [torch.tensor([5, 3 if dtype == torch.uint8 else -8], dtype=dtype), torch.tensor(counts, dtype=dtype)]


def square():
    return torch.arange(9.0).view(3, 3) + 1


def extrema(x):
    # Eager has no argmax of booleans.
    places = [] if x.dtype == torch.bool else [x.argmax(0), x.argmin(0)]
    return [x.amax(), x.amin(), x.amax(0), x.amin(0), x.max(), x.min(), *x.max(0), *x.min(0), *places]


#: Where both sides of a bound are zero, the signs differ, and an infinite slope gives NaN.
AT_ZERO = {
    "relu": lambda x: 1 / F.relu(x),
    "clamp": lambda x: 1 / x.clamp(0.0, 1.0),
    "hardtanh": lambda x: 1 / F.hardtanh(x, 0.0, 1.0),
    "elu": lambda x: 1 / F.elu(x, -1.0),
    "leaky_relu": lambda x: F.leaky_relu(x, INF),
}

#: name -> (program, its tensors, ...); compared by value, or by eager's error if one is given.
INFERENCE = {
    "floats and scalars": (lambda x: compared(x, [0.5, 0.0, 2.5]), [floats()]),
    "integers and scalars": (lambda x: compared(x, [2, 2.5, 0]), [integers()]),
    "booleans and scalars": (lambda x: compared(x, [1, 0, True]), [booleans()]),
    "floats and floats": (
        lambda x, y: [op(x, y) for op in (torch.gt, torch.ge, torch.lt, torch.le, torch.eq, torch.ne, torch.maximum, torch.minimum)],
        [floats(), other_floats()],
    ),
    "divisions": (
        lambda x, y: [x / y, torch.floor_divide(x, y), torch.div(x, y, rounding_mode="trunc"), torch.remainder(x, y), torch.fmod(x, y)],
        [floats(), other_floats()],
    ),
    "divisions by a number": (lambda x: [x // 2.5, x % 2.5, x % -2.5, torch.div(x, -0.5, rounding_mode="floor")], [floats()]),
    "integer divisions": (lambda x: [x // 3, x // -3, x % 3, x % -3, torch.fmod(x, 3), torch.div(x, 2, rounding_mode="trunc")], [integers()]),
    "truths of floats": (lambda x: tested(x.view(2, 6)), [floats()]),
    "truths of NaN": (tested, [torch.tensor([[NAN, 0.0], [0.0, 0.0]])]),
    "truths of NaN in some dimensions": (
        lambda x: [torch.any(x, dim=(0, 1)), torch.any(x, dim=(0, 2)), torch.all(x, dim=(0, 1))],
        [torch.tensor([[[NAN, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]]])],
    ),
    "truths of booleans": (tested, [booleans()]),
    "extrema of booleans": (extrema, [booleans()]),
    "extrema of bytes": (extrema, [torch.tensor([[200, 3], [100, 255], [0, 128]], dtype=torch.uint8)]),
    "extrema of floats": (extrema, [floats().view(2, 6)]),
    "products": (lambda x, y: [x.prod(), x.prod(0), y.prod(), y.prod(0), y.sum(), x.sum(0)], [booleans(), torch.tensor([200, 2, 255], dtype=torch.uint8)]),
    "clamps": (lambda x: [x.clamp(-1, 2.5), x.clamp(min=0.5), x.clamp(max=0.5), F.relu(x), F.relu6(x), F.hardtanh(x), F.hardtanh(x, -0.5, 2.5)], [floats()]),
    "activations": (
        lambda x: [F.elu(x), F.leaky_relu(x), F.softplus(x), F.threshold(x, 0.5, 7), F.hardsigmoid(x), F.hardswish(x), F.silu(x), x.sign(), x.abs()],
        [floats()],
    ),
    **{f"{name} at zero": (function, [torch.tensor([0.0, -0.0] * 9)]) for name, function in AT_ZERO.items()},
    "norms": (lambda x: [torch.linalg.vector_norm(x, ord) for ord in (0, 1, 2, 3, INF, -INF)], [torch.tensor([3.0, -4.0, 0.0, 0.5])]),
    "norms of NaN": (lambda x: [torch.linalg.vector_norm(x, ord) for ord in (0, 1, 2, INF)], [torch.tensor([3.0, NAN, 0.0])]),
    "statistics of NaN": (lambda x: [x.var(), *torch.var_mean(x, 1), x.std(1)], [torch.tensor([[1.0, NAN, 2.0], [1.0, 1.0, 1.0]])]),
    "powers": (lambda x: [x**2, x**3, x**0.5, x**-1, x**0, x**1, x**-0.5, x**-2], [floats()]),
    "powers of integers": (lambda x: [x**2, x**3, x**0, x**1], [integers()]),
    "shifts": (
        lambda x, y: [x << y, x >> y],
        [torch.tensor([1, -1, 5, 7, -8, 3], dtype=torch.int32), torch.tensor([0, 1, 31, 32, 40, -1], dtype=torch.int32)],
    ),
    **{f"shifts of {str(dtype)[6:]}": shifts(dtype) for dtype in (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)},
    "interpolation": (
        lambda x, y, w: [torch.lerp(x, y, 0.5), torch.lerp(x, y, 0.25), torch.lerp(x, y, 0.75), torch.lerp(x, y, w)],
        [torch.tensor([1.0, INF, 3.0, 1e8]), torch.tensor([2.0, 1.0, INF, 1.0]), torch.tensor([0.5, 0.25, 0.75, NAN])],
    ),
    "scalars": (lambda x: [torch.scalar_tensor(-3, dtype=torch.float32) + x, torch.full((2, 3), 2.5), torch.full_like(x, -1), x.new_full((2,), 3)], [floats()]),
    "moves": (
        lambda x: [x.repeat(2, 1), x.unsqueeze(0), x.unsqueeze(-1), x[None].squeeze((0,)), x.expand(2, 3, 4), x.view(-1), x.view(2, 6)]
        + list(x.split([1, 2])) + [x.slice_scatter(x[:1] * 2, 0, 1, 2), x.slice_scatter(x[:, :2] * 2, 1, 1, 4, 2)],
        [torch.arange(12.0).view(3, 4)],
    ),
    "places": (
        lambda x, i: [x.gather(0, i), x.gather(1, i), x[i[0]], x[:, i[1]], x.index_select(1, i[0]), x.scatter(0, i, 7.0), x.scatter(1, i, x * 2)]
        + [F.embedding(i, x)],
        [torch.arange(12.0).view(3, 4), torch.tensor([[0, 2, 1, 0], [1, 0, 2, 2]])],
    ),
    # A value in a half type that is computed twice must be rounded both times.
    "halves that are equal": (
        lambda x, y: [torch.where(x.sin() == x.sin(), x, 0), (x.exp() == x.exp() + 0), (x * y).floor(), (x * y).long(), torch.isinf(x * 3e4), (x * y) == 1],
        [torch.tensor([0.5, 1.7, -2.3, 3.0], dtype=torch.float16), torch.tensor([2.0, 1.7641, -0.4347, 0.3333], dtype=torch.float16)],
    ),
    # A product that is contracted (FMA) with only one of its readers would have two values.
    "products that are equal": (
        lambda x, y: [(x * 0.7).std(1, unbiased=False) == 0, (x * y - (x * y).mean(1, keepdim=True)) == 0, (x * y - y * x) == 0, (y * x - (x * y)) == 0],
        [torch.linspace(-3, 3, 32).view(4, 1, 8), torch.linspace(0.1, 2, 32).view(4, 1, 8)],
    ),
    "places in joined tensors": (
        lambda x, i: [torch.vstack([x, x + 1]).take_along_dim(i * 0, 0), torch.cat([x, x * 2]).gather(0, torch.cat([i, i])), torch.cat([x, -x])[i * 3]],
        [torch.arange(3.0), torch.tensor([[0, 1, 1]])[0]],
    ),
    "sums at every place": (lambda x: [x * 0 + (x - x).sum(), (x[:, :1] * 0 + 2).sum(1, keepdim=True).expand(3, 4) * 1], [torch.arange(12).view(3, 4)]),
    "negative places": (lambda x, i: [x[i], x[:, i]], [torch.arange(9.0).view(3, 3), torch.tensor([-1, -3, 2])]),
    "negative places of gathers": (lambda x, i: x.gather(1, i) * 2, [square(), torch.tensor([[0, -1]])]),
    "negative places of short gathers": (lambda x, i: x.gather(1, i) * 2, [square(), torch.tensor([[0, -1]], dtype=torch.int32)]),
    "negative columns": (lambda x, i: x.index_select(1, i) * 2, [square(), torch.tensor([0, -1])]),
    "negative places of scatters": (lambda x, i: x.scatter(1, i, 1.0) * 2, [square(), torch.tensor([[0], [-1], [1]])]),
    "negative places of sources": (lambda x, i: x.scatter(1, i, x) * 2, [square(), torch.tensor([[0], [-1], [1]])]),
    "negative classes": (lambda x, i: F.nll_loss(x, i) * 2, [square(), torch.tensor([0, -1, 1])]),
    "negative classes of gradients": (
        lambda x, i: aten.nll_loss_backward(x[0, 0], x, i, None, 1, 7, x[1, 1]) * 2, [square(), torch.tensor([0, -1, 1])],
    ),
    "scatters of one place a row": (
        lambda x, i: [x.scatter(1, i, 7.0), x.scatter(0, i.t(), 8.0), x.scatter(1, i, -x), x.scatter(0, i.t(), -x)],
        [square(), torch.tensor([[0], [2], [1]])],
    ),
    "places that are not there": (lambda x, i: x[i] * 2, [torch.arange(9.0).view(3, 3), torch.tensor([0, 3])]),
    "columns that are not there": (lambda x, i: x.index_select(1, i) * 2, [torch.arange(9.0).view(3, 3), torch.tensor([0, 3])]),
    "gathers of what is not there": (lambda x, i: x.gather(1, i) * 2, [torch.arange(9.0).view(3, 3), torch.tensor([[0, 3]])]),
    "scatters to what is not there": (lambda x, i: x.scatter(1, i, 1.0) * 2, [torch.arange(9.0).view(3, 3), torch.tensor([[0, 3]])]),
    "sources of what is not there": (lambda x, i: x.scatter(1, i, x) * 2, [torch.arange(9.0).view(3, 3), torch.tensor([[0, 3]])]),
    "words that are not there": (lambda x, i: F.embedding(i, x) * 2, [torch.arange(9.0).view(3, 3), torch.tensor([0, 3])]),
    "classes that are not there": (lambda x, i: F.nll_loss(x, i), [torch.arange(9.0).view(3, 3), torch.tensor([0, 3, 1])]),
    "classes": (
        lambda x, i: [F.nll_loss(x, i), F.nll_loss(x, i, ignore_index=1), F.nll_loss(x, i, reduction="none", weight=x[0])],
        [torch.arange(9.0).view(3, 3), torch.tensor([0, 2, 1])],
    ),
}

ACTIVATIONS = {
    "elu": F.elu,
    "elu of 0.5": lambda x: F.elu(x, 0.5),
    "leaky_relu": F.leaky_relu,
    "leaky_relu of -0.5": lambda x: F.leaky_relu(x, -0.5),
    "hardtanh": F.hardtanh,
    "hardtanh of 2.5": lambda x: F.hardtanh(x, -0.5, 2.5),
    "softplus": F.softplus,
    "softplus of 2.5": lambda x: F.softplus(x, 1, 2.5),
    "threshold": lambda x: F.threshold(x, 0.5, 7),
    "relu": F.relu,
    "relu6": F.relu6,
    "hardswish": F.hardswish,
    "hardsigmoid": F.hardsigmoid,
}

TRAINING = {
    # One gradient each, because a NaN in one gradient of a tensor would hide the others.
    **{f"gradients of {name}": (function, [floats()]) for name, function in ACTIVATIONS.items()},
    "gradients of elu by its result": (lambda x: F.elu(x.clone(), inplace=True), [floats()]),
    "gradients of classes": (lambda x: F.nll_loss(x, torch.tensor([0, 2, 1]), ignore_index=1), [torch.arange(9.0).view(3, 3)]),
}


def nearly():
    return torch.tensor([1.0, 1.0, 1.0, 0.0, 0.0, INF, INF, -INF, NAN, 5.0]), torch.tensor([1.0, 1.000001, 1.1, 1e-9, 0.25, INF, -INF, 3.0, NAN, NAN])


def equal_rows():
    """Rows of one number whose sum is rounded, so that only a corrected mean is the number: the variance is zero."""
    return (torch.arange(1, 25) * 12345.67).view(4, 6, 1).expand(4, 6, 7).contiguous()


def far_rows():
    """Rows whose mean is large beside their deviation."""
    return torch.tensor([[256.1, 257.3, 259.7, 256.2], [-256.1, -255.3, -253.7, -254.9], [2.0, -2.0, 1.0, -1.0]])


def wide_rows():
    """Rows whose squares overflow, or vanish, where the deviation does not; with zeros, so that also the product of a row's squares vanishes."""
    return torch.tensor([[1e19, -1e19, 1e19, -1e19, 1e19, -1e19, 1e19, -1e19, 0.0], [3e17, 1e17, 0.0, 2e17] * 2 + [1e17], [1e-25, 3e-25, 0.0] * 3])


def deviations(x):
    return [x.std(1, correction=1), x.var(1, unbiased=True), x.var(1, unbiased=False), *torch.var_mean(x, 1, unbiased=True)]


def few(x):
    return [x.var(1, correction=n) for n in (0, 2, 3, 5)] + [x.std(1, correction=3), x.var((0, 1), unbiased=True)]


def sums(x):
    return [x.sum(), torch.all(x), torch.all(x, 0), torch.all(x, dim=(1,)), torch.all(x, dim=(0, 1)), torch.all(x, dim=(0,), keepdim=True)]


#: What `torch.compile` decomposes, and an exported program keeps. Signs of zeros show in their reciprocals.
EXPORTED = {
    **{name: INFERENCE[name] for name in ("clamps", "activations", "moves", "classes", "negative classes", "classes that are not there", "norms")},
    "sums of floats": (sums, [torch.tensor([[NAN, 1.0], [1.0, 2.0]])]),
    "sums of integers": (sums, [torch.tensor([[3, 4], [0, 5]])]),
    "sums of booleans": (sums, [booleans()]),
    "squares": (lambda x, y, z: [x.square(), y.square(), z.square()], [floats(), integers(), booleans()]),
    "steps": (lambda x: [torch.arange(0.5, 4.5) + x, torch.arange(4) * x, torch.arange(-2, 2) * x], [torch.tensor([1.0, 2.0, 3.0, 4.0])]),
    "activations at their bounds": (
        lambda x, slope: [F.hardshrink(x), F.softshrink(x), F.softplus(x, 1, 2.5), F.softplus(x, 2, 2.0), F.selu(x), F.celu(x), F.celu(x, 0.5), F.logsigmoid(x)]
        + [F.prelu(x, slope), x.nan_to_num(), x.nan_to_num(1, 2, 3), x.clamp_min(0.5), F.mish(x)],
        [floats(), torch.tensor([-0.5])],
    ),
    "a loss with an infinite bound": (lambda x: F.huber_loss(x, x.new_zeros(9), reduction="none", delta=INF), [torch.tensor([INF] * 9)]),
    "distances of integers": (
        lambda a, b, c, d: [F.pairwise_distance(a, b), F.pairwise_distance(c, d)],
        [*torch.tensor([[[3]], [[5]]], dtype=torch.uint8), *torch.tensor([[[16777217]], [[16777216]]])],
    ),
    "activations with bounds that are infinite": (lambda x: [F.celu(x, INF), F.softplus(x, INF), F.hardshrink(x, INF)], [floats()]),
    "signs of activations": (
        lambda x: [1 / F.relu6(x), 1 / x.clamp_min(0.0), 1 / F.softshrink(x), 1 / F.celu(x, -1), 1 / F.selu(x), 1 / F.hardswish(x), 1 / F.hardsigmoid(x)],
        [torch.tensor([0.0, -0.0, 0.5, -0.5, -3.0, 3.0, 6.0, -1.0])],
    ),
    "losses at their bounds": (
        lambda x, y: [op(x, y, reduction="none") for op in (F.huber_loss, F.smooth_l1_loss)]
        + [F.smooth_l1_loss(x, y, reduction="none", beta=b) for b in (0, 2.5, 1e30)] + [F.huber_loss(x, y, reduction="none", delta=2.5)],
        [torch.tensor([1.0, 2.5, 1e30, INF, NAN, 0.5]), torch.tensor([0.0, 0.0, 0.0, 0.0, 0.0, 0.5])],
    ),
    "losses of sums and means": (
        lambda x, y: [op(x, y, reduction=r) for op in (F.l1_loss, F.mse_loss, F.huber_loss, F.smooth_l1_loss) for r in ("none", "mean", "sum")],
        [torch.tensor([1.0, 2.5, 4.0]), torch.tensor([0.0, 3.0, 0.5])],
    ),
    "cross entropies of NaN": (
        lambda x, y: F.binary_cross_entropy_with_logits(x, y, reduction="none"), [floats(), torch.linspace(0, 1, 12)],
    ),
    "closeness": (
        lambda x, y: [torch.isclose(x, y), torch.isclose(y, x), torch.isclose(x, y, equal_nan=True), torch.isclose(x, y, atol=0.25), torch.isclose(x, y, 0.1)],
        list(nearly()),
    ),
    "distances": (
        lambda x, y: [F.pairwise_distance(x, y, eps=0.5), F.pairwise_distance(x, y), F.cosine_similarity(x, y), F.cosine_similarity(x, y, 1, 0.5)],
        [torch.tensor([[0.5, 0.25, 0.0], [1e-9, 0.0, 0.0], [NAN, 1.0, 2.0], [0.0] * 3]), torch.tensor([[0.25, 0.5, 0.0], [0.0] * 3, [1.0] * 3, [0.0] * 3])],
    ),
    "logarithms of sums": (
        lambda x: [torch.logsumexp(x, 1), torch.logsumexp(x, 0), torch.logsumexp(x, (0, 1), True)],
        [torch.tensor([[-INF, -INF], [INF, 1.0], [NAN, 1.0], [1e30, 1e30], [2.0, -INF]])],
    ),
    "norms of equal numbers": (lambda x: [F.layer_norm(x, (7,)), F.group_norm(x, 6)], [equal_rows()]),
    "norms of far numbers": (lambda x: [F.layer_norm(x, (4,)), F.group_norm(x.view(1, 3, 4), 3), F.rms_norm(x, (4,))], [far_rows()]),
    "norms with NaN": (
        lambda x: [F.layer_norm(x, (3,)), F.group_norm(x.view(1, 3, 3), 3), F.rms_norm(x, (3,))], [torch.tensor([[1.0, NAN, 2.0], [1.0, INF, 2.0], [1e-9, 0.0, 0.0]])],
    ),
    # Here the variance is NaN, and the centred numbers are infinite.
    "norms of numbers that overflow": (lambda x: [F.layer_norm(x, (3,)), F.group_norm(x.view(1, 3), 1)], [torch.tensor([[3.4e38, -3.4e38, -3.4e38]])]),
    "deviations of wide rows": (deviations, [wide_rows()]),
    "deviations with NaN": (deviations, [torch.tensor([[1.0, NAN, 2.0], [1.0, 1.0, 1.0]])]),
    "deviations of few numbers": (few, [torch.tensor([[1.0, 2.0, 4.0], [5.0, 5.0, 5.0]])]),
    "deviations of nothing": (few, [torch.zeros(2, 0)]),
    "negative classes of cross entropies": (lambda x, i: F.cross_entropy(x, i) * 2, [square(), torch.tensor([0, -1, 1])]),
    "classes of cross entropies": (
        lambda x, i: [F.cross_entropy(x, i), F.cross_entropy(x, i, ignore_index=1), F.cross_entropy(x, i, reduction="none", weight=x[0])],
        [torch.arange(9.0).view(3, 3), torch.tensor([0, 2, 1])],
    ),
    "tiles": (lambda x: [x.tile(2, 1), x.tile(1, 2), x.tile(2, 1, 1)], [torch.arange(6.0).view(2, 3)]),
}

DYNAMIC = {
    "scalars of sizes": (lambda x: torch.scalar_tensor(x.shape[0] - 20, dtype=torch.float32) + x, [floats()]),
}
