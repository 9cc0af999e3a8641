"""Writes: in place, through views, into `out` arguments, and into state."""

from .tables import adder, pure, write

TABLE = {}
entry = adder(TABLE)


def target(b, test=None, other_than=()):
    """Chooses a tensor that may be written: no leaf that requires gradients, and none of `other_than`."""
    taken = [b.value(name) for name in other_than]

    def writable(x):
        return not (x.is_leaf and x.requires_grad) and not any(x is y for y in taken) and (test is None or test(x))

    return b.tensor(writable)


def number(b):
    return b.c.choice(["2", "1", "-1", "0", "3"])


def is_number(x):
    return x.dtype.is_floating_point or not (x.dtype.is_complex or str(x.dtype) == "torch.bool")


@entry("pointwise_", 6)
def _pointwise(b):
    a = target(b)
    other = b.tensor(like=a) if b.c.chance(60) else number(b)
    return write(f"{a}.{b.c.choice(['add_', 'mul_', 'sub_'])}({other})", [a], "exact")


@entry("augmented", 2)
def _augmented(b):
    # Augmented assignment also binds the name again, to the same tensor.
    a = target(b)
    other = b.tensor(like=a) if b.c.chance(60) else number(b)
    return write(f"{a} {b.c.choice(['+=', '*=', '-='])} {other}", [a], "exact")


@entry("broadcast_", 2)
def _broadcast(b):
    a = target(b)
    return write(f"{a}.{b.c.choice(['add_', 'mul_', 'copy_'])}({b.tensor()})", [a], "exact")


@entry("unary_", 4)
def _unary(b):
    a = target(b, is_number)
    return write(
        f"{a}.{b.c.choice(['neg_()', 'abs_()', 'relu_()', 'square_()', 'clamp_(-1, 2)', 'clamp_(min=0)', 'sign_()'])}", [a], "exact",
    )


@entry("rounded_", 2)
def _rounded(b):
    a = target(b, lambda x: x.dtype.is_floating_point)
    return write(f"{a}.{b.c.choice(['tanh_()', 'sigmoid_()', 'sin_()', 'cos_()', 'div_(3)', 'mul_(0.1)'])}", [a], "float")


@entry("copy_", 5)
def _copy(b):
    a = target(b)
    source = b.tensor(like=a)
    return write(f"{a}.copy_({source})", [a], "exact")


@entry("fill_", 2)
def _fill(b):
    a = target(b)
    return write(f"{a}.{b.c.choice(['zero_()', 'fill_(2)', 'fill_(-1)'])}", [a], "exact")


@entry("setitem", 6)
def _setitem(b):
    a = target(b, lambda x: x.dim() >= 1)
    where = b.c.choice(["0", "1:", "::2", "..., 0", "..., 1:", "-1", ":2", ":", "..., ::2"])
    value = number(b) if b.c.chance(40) else f"{b.tensor()}[{where}]" if b.c.chance(50) else b.tensor()
    return write(f"{a}[{where}] {b.c.choice(['=', '=', '+='])} {value}", [a], "exact")


@entry("setitem_mask", 2)
def _setitem_mask(b):
    a = target(b)
    mask = b.steady(lambda x: str(x.dtype) == "torch.bool", like=a)
    return write(f"{a}[{mask}] = {number(b)}", [a], "exact")


@entry("masked_fill_", 2)
def _masked_fill(b):
    a = target(b)
    mask = b.steady(like=a)
    return write(f"{a}.masked_fill_({mask} > 0, {number(b)})", [a], "exact")


@entry("through_view", 5)
def _through_view(b):
    """Writes to a view that has no other use."""
    a = target(b, lambda x: x.dim() >= 1)
    seen = b.c.choice([
        "[1:]", ".t()", ".transpose(0, -1)", ".flatten()", ".view(-1)", "[..., ::2]", ".diagonal()", ".unsqueeze(0)", "[:, 1]",
        ".reshape(-1)[1:]", ".view(2, -1)", ".real", ".unflatten(0, (-1, 2))", ".as_strided((2,), (1,))",
    ])
    what = b.c.choice(["add_(1)", "mul_(2)", "zero_()", f"add_({a}{seen})", f"copy_({a}{seen} + 1)", "fill_(3)"])
    return write(f"{a}{seen}.{what}", [a], "exact")


def index(b, a, d):
    """Returns the text of a vector of indices into a dimension: a slot, reduced to the range, or constants."""
    if b.c.chance(50):
        i = b.steady(lambda x: x.dim() == 1 and str(x.dtype) in ("torch.int64", "torch.int32"))
        return f"({i}.long() % {a}.shape[{d}])"
    return f"torch.tensor({b.c.choice(['[0]', '[1, 0]', '[0, 1, 1]', '[1]', '[-1, 0]'])})"


@entry("index_put_", 3)
def _index_put(b):
    a = target(b, lambda x: x.dim() >= 1)
    i = index(b, a, 0)
    text = b.c.choice([
        f"{a}[{i}] = {number(b)}", f"{a}.index_put_(({i},), torch.ones((), dtype={a}.dtype), accumulate=True)", f"{a}[{i}[:1]] = {a}[:1]",
        f"{a}[..., {index(b, a, -1)}] = {number(b)}",
    ])
    return write(text, [a], "sum")


@entry("index_add_", 2)
def _index_add(b):
    a = target(b, lambda x: x.dim() >= 1)
    d = b.dim(a)
    word = b.c.choice(["index_add_", "index_add_", "index_copy_"])
    # A single index for index_copy_, because among equal indices the winner is undefined.
    i = "torch.tensor([1])" if word == "index_copy_" else "torch.tensor([0, 1])"
    size = 1 if word == "index_copy_" else 2
    return write(f"{a}.{word}({d}, {i}, {a}.narrow({d}, 0, {size}).clone())", [a], "sum")


@entry("index_fill_")
def _index_fill(b):
    a = target(b, lambda x: x.dim() >= 1)
    d = b.dim(a)
    return write(f"{a}.index_fill_({d}, {index(b, a, d)}, {number(b)})", [a], "exact")


@entry("scatter_", 2)
def _scatter(b):
    a = target(b, lambda x: x.dim() >= 1)
    d = b.dim(a)
    text = b.c.choice([
        f"{a}.scatter_({d}, torch.zeros_like({a}, dtype=torch.int64), 2)",
        f"{a}.scatter_add_({d}, torch.zeros_like({a}, dtype=torch.int64), {a}.clone())",
        f"{a}.scatter_reduce_({d}, torch.zeros_like({a}, dtype=torch.int64), {a}.clone(), 'amax')",
    ])
    return write(text, [a], "sum")


@entry("swap", 2)
def _swap(b):
    a = target(b)
    other = target(b, lambda x: x.shape == b.value(a).shape, [a])
    t = b.fresh()
    return [
        pure_named(t, f"{a}.clone()"),
        write(f"{a}.copy_({other})", [a], "exact"),
        write(f"{other}.copy_({t})", [other], "exact"),
    ]


def pure_named(name, text):
    from .program import Step
    from .tables import reads_of

    return Step(f"{name} = {text}", (name,), reads_of(text), "pure", "bits")


@entry("ring")
def _ring(b):
    a = target(b)
    second = target(b, lambda x: x.shape == b.value(a).shape, [a])
    third = target(b, lambda x: x.shape == b.value(a).shape, [a, second])
    t = b.fresh()
    return [
        pure_named(t, f"{a} + 1"),
        write(f"{a}.copy_({second})", [a], "exact"),
        write(f"{second}.copy_({third})", [second], "exact"),
        write(f"{third}.copy_({t})", [third], "exact"),
    ]


@entry("out=", 4)
def _out(b):
    a = target(b)
    left, right = b.tensor(like=a), b.tensor(like=a)
    word = b.c.choice(["add", "mul", "sub", "maximum"])
    return write(f"torch.{word}({left}, {right}, out={a})", [a], "exact")


@entry("out=sum", 2)
def _out_sum(b):
    a = b.tensor(lambda x: x.dim() >= 1)
    d = b.dim(a)
    made = b.fresh()
    from .program import Step

    return [
        Step(f"{made} = torch.zeros_like({a}.sum({d}))", (made,), (a,), "pure", "shape"),
        write(f"torch.sum({a}, {d}, out={made})", [made], "sum"),
    ]


@entry("foreach_")
def _foreach(b):
    a = target(b)
    other = target(b, None, [a])
    return write(f"torch._foreach_{b.c.choice(['add_', 'mul_'])}([{a}, {other}], 2)", [a, other], "exact")


@entry("metadata_", 2)
def _metadata(b):
    """In-place views, which change the shape of the same tensor. Dynamo refuses them for arguments."""
    a = b.c.choice([name for name in reversed(b.slots()) if name[0] == "v" and b.rank(name) >= 1])
    text = b.c.choice(["unsqueeze_(0)", "transpose_(0, -1)", "squeeze_()", "t_()" if b.rank(a) == 2 else "transpose_(0, -1)"])
    return write(f"{a}.{text}", [a], "bits")


@entry("buffer=", 5)
def _buffer(b):
    state = [x.name for x in b.program.state if x.name.startswith("m.b")]
    m = b.c.choice(state)
    a = b.tensor(like=m)
    if b.c.chance(50):
        return write(f"{m} = {a}", [m], "bits")
    return write(f"{m}.{b.c.choice(['copy_', 'add_', 'mul_'])}({a})", [m], "exact")


@entry("buffer_mean")
def _buffer_mean(b):
    state = [x.name for x in b.program.state if x.name.startswith("m.b") and b.value(x.name).is_floating_point()]
    m = b.c.choice(state)
    a = b.tensor(lambda x: x.dim() == b.rank(m) + 1 and x.shape[1:] == b.value(m).shape and x.is_floating_point())
    return write(f"{m}.lerp_({a}.detach().mean(0).to({m}.dtype), 0.25)", [m], "float")


@entry("copy_then_write", 2)
def _copy_then_write(b):
    """A copy made before a write, and the tensor after the write."""
    a = target(b)
    return [pure(b, f"{a} + 1", "exact"), write(f"{a}.mul_(2)", [a], "exact"), pure(b, f"{a} + 1", "exact")]
