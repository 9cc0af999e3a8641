"""Operators with fresh results."""

from .tables import adder, pure, templates

TABLE = {}
entry = adder(TABLE)


def anything(x):
    return True


def is_float(x):
    return x.dtype.is_floating_point


def is_number(x):
    return not (x.dtype.is_complex or str(x.dtype) == "torch.bool")


def is_integer(x):
    return not (x.dtype.is_complex or x.dtype.is_floating_point)


def is_complex(x):
    return x.dtype.is_complex


def is_bool(x):
    return str(x.dtype) == "torch.bool"


def has_dims(x):
    return x.dim() >= 1


# Operators of one tensor. Continuous ones also take rounded values; discontinuous ones do not (`steady`).
templates(
    TABLE,
    anything,
    [
        "{a} + 1", "{a} * 2", "{a} - {a}", "{a} * {a}", "2 - {a}", "{a} * -1", "torch.addcmul({a}, {a}, {a})",
        "torch.where({a} == {a}, {a}, 0)",
    ],
    "exact",
)
templates(TABLE, is_number, [
    "-{a}", "{a}.abs()", "{a}.relu()", "{a}.clamp(-2, 2)", "{a}.clamp(min=0)", "{a}.square()", "{a}.clamp({a}, {a})", "F.relu6({a})",
    "F.threshold({a}, 1, 0)", "F.leaky_relu({a}, 2)",
], "exact")
templates(
    TABLE,
    is_number,
    [
        "{a}.sign()", "{a}.floor()", "{a}.ceil()", "{a}.round()", "{a}.trunc()", "{a} // 2", "{a} % 3", "{a} > 0", "{a} == 1", "{a} <= {a}",
        "torch.isfinite({a})", "{a}.isnan()", "torch.heaviside({a}, {a})", "{a}.frac()", "{a} >> 1", "{a} << 1", "{a}.bitwise_not()",
    ],
    "exact",
    steady=True,
)
templates(TABLE, anything, ["{a} == {a}", "{a} != 0", "~({a} != 0)", "torch.logical_not({a})", "torch.logical_xor({a}, {a})"], "exact", steady=True)
templates(TABLE, is_integer, [
    "{a} & 3", "{a} ^ {a}", "{a} | 1", "{a} ** 2", "{a} * 100", "{a}.bitwise_left_shift(2)", "torch.div({a}, 2, rounding_mode='trunc')",
    "torch.remainder({a}, -3)",
], "exact", steady=True)
templates(
    TABLE,
    is_float,
    [
        "{a}.tanh()", "{a}.sigmoid()", "{a}.atan()", "(-{a}.abs()).exp()", "{a}.abs().log1p()", "({a}.abs() + 1).sqrt()",
        "({a}.abs() + 1).rsqrt()", "1 / ({a}.abs() + 1)", "{a} / 3", "{a} * 0.3", "F.gelu({a})", "F.silu({a})", "F.softplus({a})",
        "{a}.erf()", "{a}.sin()", "{a}.cos()", "F.elu({a})", "F.mish({a})", "F.hardtanh({a}) * 0.5", "F.hardswish({a})",
        "F.logsigmoid({a})", "{a}.sinc()", "torch.asinh({a})", "{a}.clamp(-0.9, 0.9).asin()", "({a} * 0.1).tan()",
        "F.gelu({a}, approximate='tanh')", "torch.nan_to_num({a}) * 0.7", "({a}.abs() + 0.5).log2()", "torch.lerp({a}, {a} * 2, 0.3)",
        "({a}.abs() + 1) ** 0.7", "{a}.mean()", "{a}.float().norm()", "({a} * 0.1).expm1()", "({a}.abs() + 1).lgamma()",
    ],
    "float",
)
templates(TABLE, is_complex, [
    "{a}.abs()", "{a} * 0.5", "{a}.angle() * 0", "{a} / 2", "({a} * 0.1).exp()", "torch.polar({a}.abs(), {a}.abs())",
    "{a} / ({a}.abs() + 1)",
], "float", 4)
templates(TABLE, is_complex, [
    "{a} * (2 + 1j)", "{a} - 3j", "{a} * 1j", "-{a}", "{a}.conj() * {a}", "{a}.conj() + 1", "{a} + {a}.real", "{a}.sum()",
    "{a}.conj_physical()", "torch.complex({a}.real, {a}.imag)", "{a}.imag * 2", "{a}.sgn() * 0", "torch.real({a}) + torch.imag({a})",
    "torch.where({a} == 0, 1j, {a})",
], "exact", 4)
templates(TABLE, anything, [
    "{a}.clone()", "{a}.clone(memory_format=torch.contiguous_format)", "torch.flip({a}, (0,))", "{a}.flip(-1)", "{a}.roll(1, 0)",
    "{a}.roll((1, -1), (0, -1))", "{a}.repeat(2, *([1] * ({a}.dim() - 1)))", "{a}.repeat_interleave(2, 0)", "{a}.tile((2,))",
    "torch.cat([{a}, {a}])", "torch.cat([{a}, {a}], -1)", "torch.stack([{a}, {a}])", "torch.stack([{a}, {a}], -1)", "{a}.rot90(1, (0, 1))",
    "{a}.tril()", "{a}.triu(1)", "F.pad({a}, (1, 1))", "F.pad({a}, (0, -1))", "F.pad({a}, (1, 0), value=2)", "torch.diag_embed({a})",
    "{a}.take_along_dim(torch.zeros_like({a}, dtype=torch.int64), 0)", "{a}.masked_fill({a} == 0, 1)", "torch.block_diag({a}, {a})",
    "{a}.movedim(0, -1).contiguous()", "{a}.mT.contiguous()", "torch.hstack([{a}, {a}])", "torch.kron({a}, torch.ones(2, dtype={a}.dtype))",
], "bits")
templates(TABLE, anything, [
    "torch.zeros_like({a})", "torch.ones_like({a}[..., :1])", "{a}.new_zeros({a}.shape)", "torch.full_like({a}, 2)",
    "{a}.new_full(({a}.shape[0], 2), 1)", "torch.arange({a}.shape[0])", "torch.arange({a}.numel()).reshape({a}.shape)",
    "torch.eye({a}.shape[-1])", "torch.ones({a}.shape[0], 3)", "torch.full((2, {a}.shape[0]), {a}.shape[0])",
    "torch.empty_like({a}).fill_(1)", "torch.arange({a}.shape[0], dtype=torch.float32)", "torch.linspace(0, 4, 5)",
    "torch.tensor([1, 2, 3])", "torch.scalar_tensor(2.0)", "torch.randint(0, 3, {a}.shape)", "torch.randperm({a}.shape[0])",
    "torch.empty_strided(({a}.shape[0], 2), (1, {a}.shape[0])).zero_()", "torch.zeros({a}.shape[0] + 1, 2)",
    "torch.ones({a}.shape[0] // 2 + 1)",
], "shape")


@entry("cast", 8)
def _cast(b):
    kind = b.c.choice(["float32", "bfloat16", "float16", "float64", "int64", "int32", "uint8", "bool", "complex64", "int8"])
    if kind in ("float32", "bfloat16", "float16", "float64", "complex64"):
        a = b.tensor(lambda x: kind == "complex64" or not x.dtype.is_complex)
        return pure(b, f"{a}.to(torch.{kind})", "bits")
    a = b.steady(lambda x: not x.dtype.is_complex or kind == "bool")
    if kind != "bool" and not b.is_finite(a):
        raise IndexError
    if kind == "bool":
        return pure(b, f"{a}.bool()", "exact")
    # uint8 has no negative numbers.
    size = ".abs()" if kind == "uint8" and not is_bool(b.value(a)) else ""
    return pure(b, f"{a}{size}.clamp(-100, 100).to(torch.{kind})", "exact")


@entry("binary", 24)
def _binary(b):
    a = b.tensor()
    other = b.tensor(like=a) if b.c.chance(60) else b.tensor()
    text = b.c.choice([
        "{a} + {b}", "{a} - {b}", "{a} * {b}", "{a} + {b} * 2", "torch.add({a}, {b}, alpha=2)", "torch.addcmul({a}, {a}, {b}, value=2)",
        "{a} * {b} + {a}", "torch.sub({b}, {a})", "torch.where({m}, {a}, {b})", "torch.lerp({a}, {b}, 2.0)",
    ])
    if "{m}" in text:
        text = text.replace("{m}", f"{b.steady(like=a)} > 0" if b.c.chance(50) else b.steady(is_bool))
    return pure(b, text.format(a=a, b=other), "exact")


@entry("binary numbers", 8)
def _binary_numbers(b):
    a = b.tensor(is_number)
    other = b.tensor(is_number, like=a) if b.c.chance(60) else b.tensor(is_number)
    text = b.c.choice([
        "torch.maximum({a}, {b})", "torch.minimum({a}, {b})", "torch.fmax({a}, {b})", "({a} - {b}).abs()", "torch.rsub({a}, {b})",
        "{a}.clamp(max={b})",
    ])
    return pure(b, text.format(a=a, b=other), "exact")


@entry("binary steady", 8)
def _binary_steady(b):
    a = b.steady(is_number)
    other = b.steady(is_number, like=a) if b.c.chance(60) else b.steady(is_number)
    text = b.c.choice([
        "{a} < {b}", "{a} == {b}", "{a} >= {b}", "{a} != {b}", "torch.logical_and({a}, {b})", "{a} // ({b}.abs() + 1)",
        "{a} % ({b}.abs() + 1)", "torch.fmod({a}, {b}.abs() + 1)", "torch.copysign({a} * 1.0, {b}.abs() + 1)",
        "torch.isclose({a} * 1.0, {b} * 1.0)", "torch.nextafter({a} * 0.0, {b} * 0.0) * 0",
    ])
    return pure(b, text.format(a=a, b=other), "exact")


@entry("bitwise", 4)
def _bitwise(b):
    a = b.tensor(is_integer)
    other = b.tensor(is_integer, like=a)
    return pure(b, f"{a} {b.c.choice(['&', '|', '^'])} {other}", "exact")


@entry("binary rounded", 4)
def _binary_rounded(b):
    a = b.tensor(is_float)
    other = b.tensor(is_float, like=a) if b.c.chance(60) else b.tensor(is_float)
    text = b.c.choice([
        "{a} / ({b}.abs() + 1)", "torch.atan2({a}, {b}.abs() + 1)", "torch.hypot({a}, {b})", "torch.lerp({a}, {b}, 0.25)",
        "torch.logaddexp({a}, {b})", "torch.addcdiv({a}, {a}, {b}.abs() + 2)", "{a}.abs() ** ({b}.abs() * 0.1)",
    ])
    return pure(b, text.format(a=a, b=other), "float")


@entry("number", 4)
def _scalar(b):
    """A number that is an argument of the program."""
    s = b.c.choice(sorted(b.numbers))
    a = b.tensor()
    text = b.c.choice([
        "{a} + {s}", "{a} * {s}", "{s} - {a}", "torch.add({a}, {a}, alpha={s})", "torch.full_like({a}, {s})",
        "torch.where({a} == 0, {s}, {a})", "{a} > {s}", "{a}.clamp(max={s})", "{a} % ({s} or 2)",
    ])
    if ">" in text or "%" in text:
        a = b.steady()
    return pure(b, text.format(a=a, s=s), "exact")


@entry("size", 3)
def _size(b):
    a = b.tensor(has_dims)
    text = b.c.choice([
        "{a} * {a}.shape[0]", "{a} + {a}.shape[-1] // 2", "{a} - {a}.numel()", "{a}[:{a}.shape[0] // 2] * 1", "{a}[{a}.shape[0] // 2:] + 0",
        "{a} * ({a}.shape[0] % 3)", "{a} * max({a}.shape[0], 4)", "{a}[:(({a}.shape[0] + 1) // 2)] * 2",
        "({a} if {a}.shape[0] > 4 else -{a}) * 1",
    ])
    return pure(b, text.format(a=a), "exact")


def axis(b, a):
    """Returns the arguments of a reduction as text."""
    if b.rank(a) == 0 or b.c.chance(25):
        return ""
    d = b.dim(a)
    if b.rank(a) >= 2 and b.c.chance(20):
        return f"({', '.join(str(i) for i in range(2))})" + b.c.choice(["", ", keepdim=True"])
    return f"{d}" + b.c.choice(["", ", keepdim=True"])


@entry("sum", 8)
def _sum(b):
    a = b.tensor()
    words = ["sum", "sum", "nansum", "ne(0).sum"] if b.is_steady(a) and not is_complex(b.value(a)) else ["sum"]
    return pure(b, f"{a}.{b.c.choice(words)}({axis(b, a)})", "sum")


@entry("extrema", 4)
def _extrema(b):
    a = b.tensor(is_number)
    return pure(b, f"{a}.{b.c.choice(['amax', 'amin'])}({axis(b, a)})", "exact")


@entry("max with dim", 2)
def _max_dim(b):
    a = b.steady(lambda x: is_number(x) and x.dim() >= 1)
    return pure(b, f"{a}.{b.c.choice(['max', 'min', 'cummax', 'cummin'])}({b.dim(a)})[0]", "exact")


@entry("argmax", 2)
def _argmax(b):
    a = b.steady(lambda x: is_number(x) and x.dim() >= 1)
    return pure(b, f"{a}.{b.c.choice(['argmax', 'argmin'])}({b.dim(a)}{b.c.choice(['', ', keepdim=True'])})", "exact")


@entry("any", 2)
def _any(b):
    a = b.steady()
    return pure(b, f"({a} != 0).{b.c.choice(['any', 'all', 'sum'])}({axis(b, a)})", "exact")


@entry("prod")
def _prod(b):
    a = b.tensor(lambda x: x.dim() >= 1)
    return pure(b, f"{a}.prod({b.dim(a)})", "sum")


@entry("scan", 4)
def _scan(b):
    a = b.tensor(has_dims)
    return pure(b, f"{a}.{b.c.choice(['cumsum', 'cumsum', 'cumprod'])}({b.dim(a)})", "sum")


@entry("diff")
def _diff(b):
    a = b.tensor(lambda x: x.dim() >= 1 and not is_bool(x))
    return pure(b, f"{a}.diff(dim={b.dim(a)})", "exact")


@entry("softmax", 4)
def _softmax(b):
    a = b.tensor(lambda x: is_float(x) and x.dim() >= 1)
    d = b.dim(a)
    text = b.c.choice([
        f"{a}.softmax({d})", f"{a}.log_softmax({d})", f"{a}.logsumexp({d})", f"F.normalize({a}, dim={d})", f"{a}.mean({d}, keepdim=True)",
        f"{a} - {a}.mean({d}, keepdim=True)", f"{a}.var({d}, correction=0)", f"({a}.var({d}) + 1).sqrt()",
        f"torch.linalg.vector_norm({a}, dim={d})", f"F.layer_norm({a}, {a}.shape[-1:])", f"F.softmin({a}, {d})", f"{a}.logcumsumexp({d})",
        f"F.rms_norm({a}, {a}.shape[-1:])", f"{a}.std({d}, unbiased=False) * 0.5", f"F.glu({a}, {d})",
    ])
    return pure(b, text, "float")


@entry("batch_norm", 2)
def _batch_norm(b):
    a = b.tensor(lambda x: is_float(x) and x.dim() in (2, 3, 4))
    return pure(b, b.c.choice([
        f"F.batch_norm({a}, torch.zeros({a}.shape[1], dtype={a}.dtype), torch.ones({a}.shape[1], dtype={a}.dtype))",
        f"F.instance_norm({a})", f"F.group_norm({a}, 1)",
    ]), "float")


@entry("sort", 3)
def _sort(b):
    a = b.steady(lambda x: is_number(x) and x.dim() >= 1)
    d = b.dim(a)
    if b.c.chance(50):
        return pure(b, f"torch.sort({a}, {d}, stable=True)", "bits", 2)
    return pure(b, b.c.choice([
        f"{a}.sort({d}, descending=True)[0]", f"torch.argsort({a}, {d}, stable=True)", f"{a}.topk(min(2, {a}.shape[{d}]), {d})[0]",
        f"{a}.topk(1, {d}, largest=False)[0]", f"{a}.kthvalue(1, {d})[0]", f"{a}.msort()",
    ]), "bits")


@entry("median")
def _median(b):
    a = b.steady(lambda x: is_number(x) and x.dim() >= 1)
    return pure(b, f"{a}.median({b.dim(a)})[0]", "bits")


@entry("searchsorted", 2)
def _searchsorted(b):
    a = b.steady(is_number)
    return pure(b, b.c.choice([
        f"torch.bucketize({a}, torch.tensor([-1, 0, 2]))", f"torch.searchsorted(torch.tensor([-2.0, 0.0, 1.0]), {a}.float())",
        f"torch.isin({a}, torch.tensor([0, 1]))",
    ]), "exact")


def indices(b, a, d, rank=None):
    """Returns the text of indices into a dimension: a slot, reduced to the range, or constants."""
    if b.c.chance(60):
        i = b.steady(lambda x: is_integer(x) and not is_bool(x) and (x.dim() >= 1 if rank is None else x.dim() == rank))
        return f"({i}.long() % {a}.shape[{d}])"
    if rank == 1 or b.c.chance(50):
        return f"torch.tensor({b.c.choice(['[0]', '[1, 0]', '[0, 1, 1]'] + (['[-1, 0]'] if rank is None else []))})"
    return "torch.tensor([[0, 1], [1, 1]])"


@entry("index", 6)
def _index(b):
    a = b.tensor(has_dims)
    d = b.c.integer(0, b.rank(a) - 1)
    return pure(b, f"{a}[{':, ' * d}{indices(b, a, d)}]", "bits")


@entry("index two", 2)
def _index_two(b):
    a = b.tensor(lambda x: x.dim() >= 2)
    return pure(b, f"{a}[{indices(b, a, 0, 1)}, {b.c.choice([':1', '0', 'None', '...', indices(b, a, 1, 1)])}]", "bits")


@entry("index mask", 2)
def _index_mask(b):
    """The number of elements depends on data: the graph breaks, or a separate operator runs."""
    a = b.tensor(has_dims)
    m = b.steady(is_bool, like=a)
    return pure(b, f"torch.where({m}, {a}, torch.zeros_like({a}))", "bits")


@entry("index_select", 2)
def _index_select(b):
    a = b.tensor(has_dims)
    d = b.dim(a)
    return pure(b, f"{a}.index_select({d}, {indices(b, a, d, 1)})", "bits")


@entry("gather", 3)
def _gather(b):
    a = b.tensor(has_dims)
    d = b.dim(a)
    i = b.steady(lambda x: is_integer(x) and not is_bool(x) and x.dim() == b.rank(a))
    return pure(b, f"{a}.gather({d}, {i}.long() % {a}.shape[{d}])", "bits")


@entry("embedding", 3)
def _embedding(b):
    a = b.tensor(lambda x: x.dim() == 2 and is_float(x))
    i = b.steady(lambda x: is_integer(x) and not is_bool(x))
    more = b.c.choice(["", "", ", padding_idx=0"])
    return pure(b, f"F.embedding({i}.long() % {a}.shape[0], {a}{more})", "bits")


@entry("one_hot")
def _one_hot(b):
    i = b.steady(lambda x: is_integer(x) and not is_bool(x))
    return pure(b, f"F.one_hot({i}.long() % 5, 5)", "bits")


@entry("scatter", 4)
def _scatter(b):
    a = b.tensor(has_dims)
    d = b.dim(a)
    i = b.steady(lambda x: is_integer(x) and not is_bool(x) and x.dim() == b.rank(a), like=a)
    i = f"{i}.long() % {a}.shape[{d}]"
    text = b.c.choice([
        f"{a}.scatter({d}, {i}, 2)", f"{a}.scatter_add({d}, {i}, {a})", f"{a}.scatter_reduce({d}, {i}, {a}, 'sum')",
        f"{a}.scatter_reduce({d}, {i}, {a}, 'amax', include_self=False)",
    ])
    return pure(b, text, "sum")


@entry("index_add", 3)
def _index_add(b):
    a = b.tensor(has_dims)
    d = b.dim(a)
    i = b.steady(lambda x: is_integer(x) and not is_bool(x) and x.dim() == 1)
    text = b.c.choice([
        f"torch.zeros_like({a}).index_add({d}, {i}.long() % {a}.shape[{d}], {a}.narrow({d}, 0, {i}.shape[0]))",
        f"{a}.index_fill({d}, {i}.long() % {a}.shape[{d}], 2)",
        f"{a}.index_put(({i}.long() % {a}.shape[0],), torch.ones((), dtype={a}.dtype), accumulate=True)",
        f"{a}.slice_scatter({a}[1:] * 2, 0, 1)", f"{a}.select_scatter({a}[0] * 2, 0, -1)", f"torch.bincount({i}.long() % 3, minlength=3)",
    ])
    return pure(b, text, "sum")


@entry("matmul", 8)
def _matmul(b):
    a = b.tensor(lambda x: x.dim() >= 1 and not is_bool(x))
    others = [n for n in b.slots() if b.value(n).dtype == b.value(a).dtype and b.value(n).dim() >= 1]
    x = b.value(a)
    fits = [n for n in others if (b.value(n).shape[-2] if b.value(n).dim() >= 2 else b.value(n).shape[0]) == x.shape[-1]]
    if fits and b.c.chance(60):
        return pure(b, f"{a} @ {b.c.choice(fits)}", "sum")
    linear = [n for n in others if b.value(n).dim() == 2 and b.value(n).shape[1] == x.shape[-1]]
    if linear and b.c.chance(60):
        return pure(b, f"F.linear({a}, {b.c.choice(linear)})", "sum")
    if x.dim() == 1:
        return pure(b, b.c.choice([f"torch.outer({a}, {a})", f"torch.dot({a}, {a})", f"{a} @ {a}[:, None]"]), "sum")
    text = b.c.choice([
        "{a} @ {a}.mT", "{a}.mT @ {a}", "torch.einsum('...ij,...kj->...ik', {a}, {a})",
        "torch.baddbmm({a}[:, :1], {a}, {a}.mT @ {a})" if x.dim() == 3 else "torch.addmm({a}[:, :1], {a}, {a}.t())",
        "{a}[..., 0, :] @ {a}.mT", "F.linear({a}, {a}[..., 0, :] if {a}.dim() == 2 else {a}[0, 0])", "torch.tensordot({a}, {a}, {a}.dim())",
        "torch.einsum('...ij->...j', {a})",
    ])
    return pure(b, text.format(a=a), "sum")


@entry("attention", 2)
def _attention(b):
    a = b.tensor(lambda x: x.dim() in (3, 4) and is_float(x))
    return pure(b, f"F.scaled_dot_product_attention({a}, {a}, {a}{b.c.choice(['', ', is_causal=True'])})", "float")


@entry("conv", 3)
def _conv(b):
    a = b.tensor(lambda x: x.dim() in (3, 4) and is_float(x))
    spatial = b.rank(a) - 2
    kernel = b.c.choice([1, 2, 3])
    w = pure(
        b,
        f"(torch.arange(2 * {a}.shape[1] * {kernel**spatial}) % 3 - 1).to({a}.dtype).reshape(2, {a}.shape[1], {', '.join([str(kernel)] * spatial)})",
        "bits",
    )
    more = b.c.choice(["", ", padding=1", ", stride=2", ", padding=1, stride=2"])
    return [w, pure(b, f"F.conv{spatial}d({a}, {w.targets[0]}{more})", "sum")]


@entry("pool", 3)
def _pool(b):
    a = b.tensor(lambda x: x.dim() in (3, 4) and is_float(x))
    spatial = b.rank(a) - 2
    text, grade = b.c.choice([
        (f"F.max_pool{spatial}d({a}, 2)", "exact"), (f"F.avg_pool{spatial}d({a}, 2)", "float"),
        (f"F.interpolate({a}, scale_factor=2)", "bits"), (f"F.adaptive_avg_pool{spatial}d({a}, 2)", "float"),
        (f"F.pad({a}, (1, 1), mode='{b.c.choice(['reflect', 'replicate', 'circular'])}')", "bits"),
        (f"F.max_pool{spatial}d({a}, 3, 1, 1)", "exact"),
        (f"F.interpolate({a}, scale_factor=2.0, mode='{'linear' if spatial == 1 else 'bilinear'}')", "float"),
    ])
    return pure(b, text, grade)


@entry("loss", 2)
def _loss(b):
    a = b.tensor(lambda x: is_float(x) and x.dim() >= 1)
    other = b.tensor(is_float, like=a)
    text = b.c.choice([
        "F.mse_loss({a}, {b})", "F.l1_loss({a}, {b}, reduction='none')", "F.smooth_l1_loss({a}, {b})",
        "F.cross_entropy({a}, {a}.shape[0] * [0] and torch.zeros({a}.shape[0], dtype=torch.int64))",
        "F.kl_div({a}.log_softmax(-1), {b}.softmax(-1), reduction='sum')", "F.huber_loss({a}, {b}, reduction='none')",
        "F.cosine_similarity({a}, {b} + 5, dim=-1)",
    ])
    return pure(b, text.format(a=a, b=other), "float")


@entry("cat", 4)
def _cat(b):
    a = b.tensor(has_dims)
    other = b.tensor(like=a)
    text = b.c.choice([
        "torch.cat([{a}, {b}])", "torch.cat([{a}, {b}], -1)", "torch.stack([{a}, {b}], 1)", "torch.cat([{a}[:1], {b}])",
        "torch.cat([{a}, {b}[..., :1]], -1)", "torch.vstack([{a}, {b}])", "torch.cat([{a}.new_zeros((0,) + {a}.shape[1:]), {b}])",
    ])
    return pure(b, text.format(a=a, b=other), "bits")


@entry("where", 4)
def _where(b):
    m = b.steady(is_bool)
    a = b.tensor(like=m)
    return pure(b, b.c.choice([
        f"torch.where({m}, {a}, {b.tensor(like=m)})", f"torch.where({m}, {a}, 2)", f"{a}.masked_fill({m}, -1)", f"{a} * {m}",
    ]), "exact")


@entry("item")
def _item(b):
    """A number that is read from a tensor, so that the graph breaks."""
    a = b.steady(lambda x: is_integer(x) and not is_bool(x))
    other = b.tensor()
    return pure(b, f"{other} + {a}.sum()", "exact")


@entry("fft")
def _fft(b):
    a = b.tensor(lambda x: x.dim() >= 1 and str(x.dtype) in ("torch.float32", "torch.float64", "torch.complex64"))
    return pure(
        b, f"torch.fft.fft({a})" if is_complex(b.value(a)) else b.c.choice([f"torch.fft.rfft({a})", f"torch.fft.fft({a})"]), "float",
    )


@entry("no_grad")
def _no_grad(b):
    a = b.tensor(is_float)
    return pure(b, f"{a}.detach() * 2 + {a}", "exact")
