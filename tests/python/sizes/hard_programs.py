"""Twenty programs whose results would change if a size were rounded up, a padded lane were read, or a guard were dropped.

Each has a function and inputs for a size; `SIZES` are those at which a bucket of 8 begins, ends and overflows. A
program may raise at some sizes; then the error must be eager's.
"""

from dataclasses import dataclass, field

import torch
import torch.nn.functional as F

BUCKET = 8
SIZES = (5, 0, 1, 2, BUCKET - 1, BUCKET, BUCKET + 1, 24)
INF = float("inf")


@dataclass(frozen=True)
class Hard:
    """A program, `make(n)` for its inputs, and the rules of comparison."""

    function: object
    make: object
    training: bool = False
    compare: str = "float"
    seed: int | None = None
    sizes: tuple = SIZES
    fullgraph: bool = True
    #: Sizes at which eager raises.
    raises: tuple = ()
    config: dict = field(default_factory=dict)


def randn(*shape, seed=0, grad=False, dtype=torch.float32, scale=1.0):
    generator = torch.Generator().manual_seed(seed + 31 * sum(shape))
    return (torch.randn(*shape, generator=generator) * scale).to(dtype).requires_grad_(grad)


def randint(high, *shape, seed=0, low=0):
    generator = torch.Generator().manual_seed(seed + 31 * sum(shape))
    return torch.randint(low, high, shape, generator=generator)


PROGRAMS = {}


def hard(name, make, **settings):
    def add(function):
        PROGRAMS[name] = Hard(function, make, **settings)
        return function

    return add


# 1. Denominators count only real elements.
@hard("01 means", lambda n: (randn(n, 4, grad=True), randint(9, n, 3)), training=True)
def means(x, i):
    return x.mean(0), x.mean(), (i.sum(0) // max(i.shape[0], 1)), x.sum() / x.shape[0] if x.shape[0] else x.sum()


def targets(n):
    t = randint(7, n)
    if n > 2:
        t[-1] = -100
    return t


@hard("01 cross entropy", lambda n: (randn(n, 7, grad=True), targets(n)), training=True)
def cross_entropy(logits, t):
    return F.cross_entropy(logits, t, ignore_index=-100), F.nll_loss(F.log_softmax(logits, 1), t, reduction="sum")


# 2. The variance of one element is NaN; others divide by n - 1.
@hard("02 variance", lambda n: (randn(3, n, grad=True),), training=True, sizes=(5, 0, 2, 7, 8, 9, 24))
def variance(x):
    deviation, mean = torch.std_mean(x, 1, keepdim=True)
    return x.var(1), x.var(0), x.var(1, correction=0), (x - mean) / (deviation + 1e-5)


@hard("02 variance of one", lambda n: (randn(3, n),), sizes=(5, 1, 2))
def variance_of_one(x):
    return x.var(1), x.std(1), x.var(), torch.var_mean(x, 1)[1]


@hard("02 layer and group norm", lambda n: (randn(2, 6, n, grad=True), randn(n, 6, grad=True)), training=True, sizes=(5, 2, 7, 8, 9, 24))
def norms(x, y):
    normed = F.group_norm(x, 3), F.layer_norm(y, (6,)), F.instance_norm(x)
    return [v.sin() for v in normed]


# 3. A fill value must be below -1e4, and a row of -inf gives eager's NaN.
def low_rows(n):
    x = randn(4, n) - 1e4
    x[2] = -INF
    if n > 2:
        x[1, -1] = -INF
    return (x,)


@hard("03 softmax", low_rows)
def softmaxes(x):
    return x.softmax(1), x.log_softmax(1), x.logsumexp(1), x.softmax(0)


@hard("03 softmax of half types", lambda n: (low_rows(n)[0].bfloat16(), (low_rows(n)[0] + 9.9e3).half()))
def half_softmaxes(x, y):
    return x.softmax(1), y.log_softmax(1), y.softmax(-1, dtype=torch.float32)


@hard("03 softmax backward", lambda n: (randn(4, n, grad=True),), training=True)
def softmax_backward(x):
    return x.softmax(1).square(), (x - 1e4).log_softmax(1)


# 4. The position of an extremum must be that of a real lane.
def extreme_rows(n):
    x = randn(5, n)
    x[0] = -INF
    x[1] = 1.0
    x[2] = INF
    if n:
        x[3, n // 2] = float("nan")
    i = randint(9, 3, n)
    i[0] = torch.iinfo(torch.int64).min
    i[1] = torch.iinfo(torch.int64).max
    return x, i


@hard("04 extremes", extreme_rows, compare="exact", raises=(0,))
def extremes(x, i):
    return x.argmax(1), x.argmin(1), x.max(1), x.min(1), i.argmax(1), i.argmin(1), i.max(1), i.amin(1), x.amax(), x.argmax()


# 5. The identities of reductions for each type.
@hard("05 identities", lambda n: (randn(3, n), randint(9, 3, n) > 3, randint(9, 2, n).to(torch.int8)))
def identities(x, b, i):
    return x.prod(1), x.cumprod(1), b.all(1), b.any(1), b.all(), b.any(), i.prod(1), i.sum(1), b.sum(1), (b | True).all(0)


@hard("05 extremes of narrow types", lambda n: (randint(120, 2, n, low=100).to(torch.int8), randn(2, n) - 400), raises=(0,), compare="exact")
def narrow_extremes(i, x):
    return i.amin(1), (-i).amax(1), i.to(torch.uint8).amin(1), x.to(torch.float8_e4m3fn).float().amax(1), x.half().amax(1)


# 6. The last element must be the last real one.
@hard("06 last elements", lambda n: (randn(3, n),), raises=(0,))
def last_elements(x):
    return x.cumsum(1)[..., -1], x[:, -3:], x.select(1, -1), x.diff(dim=1), x.cumsum(1).diff(dim=1), x[:, -1:] - x[:, :1]


@hard("06 running sums", lambda n: (randn(3, n, grad=True), randint(9, n)), training=True)
def running_sums(x, i):
    return x.cumsum(1), i.cumsum(0), x[:, -3:] * 2, x.narrow(1, x.shape[1] // 2, x.shape[1] - x.shape[1] // 2)


# 7. Reversal and rotation move only real lanes.
@hard("07 moves", lambda n: (randn(3, n, grad=True),), training=True)
def moves(x):
    return x.flip(1), x.roll(2, 1), x.flip(0, 1).roll(-1, 1) * torch.arange(x.shape[1]), x.tril(), x.triu(1).t(), x.diagonal()


# 8. Concatenated pieces are adjacent, without padding between them.
def two_pieces(n):
    return randn(n, 3, grad=True), randn(n + 2, 3, seed=1, grad=True), randn(2 * n + 2, 3, seed=2)


@hard("08 pieces", two_pieces, training=True)
def pieces(x, y, w):
    both = torch.cat([x, y])
    weighted = both * w
    return weighted.sum(), weighted.sum(0), torch.split(weighted, [x.shape[0], y.shape[0]]), torch.stack([x, x * 2], 1)


# 9. Rows keep their positions when dimensions are merged and split.
@hard("09 merged rows", lambda n: (randn(2, n, 6, grad=True), randn(6, 5, grad=True)), training=True)
def merged_rows(x, w):
    b, s, h = x.shape
    return (x.reshape(b * s, h) @ w).view(b, s, 5), x.permute(2, 0, 1).contiguous().view(-1), x.transpose(1, 2).reshape(b * h, s)


@hard("09 split rows", lambda n: (randn(2 * n, 4, grad=True),), training=True)
def split_rows(x):
    halves = x.reshape(x.shape[0] // 2, 2, 4)
    return halves.sum(1), halves.amax(1), halves.permute(1, 0, 2).reshape(-1, 4), halves.transpose(0, 1).contiguous().view(-1)


# 10. Padding of the contracted dimension must be zero on both sides: 0 * inf is not 0.
def contracted(n):
    return randn(n, 5).abs() + 0.5, randn(n, 7, seed=1)


@hard("10 contraction", contracted)
def contraction(x, z):
    y = 1 / x
    return y.t() @ z, z.t() @ y, torch.log(x).t() @ z, z.t() @ torch.rsqrt(x), torch.einsum("nk,nj->kj", x.exp(), z / x[:, :1])


@hard("10 contraction in half types", lambda n: tuple(x.bfloat16() for x in contracted(n)))
def half_contraction(x, z):
    return (1 / x).t() @ z, z.t() @ torch.log(x), (x @ x.t()).softmax(1) @ z


# 11. Derivatives that are infinite at zero.
@hard("11 roots", lambda n: (randn(n, 4, grad=True), randn(n, 4, seed=1, grad=True)), training=True)
def roots(x, y):
    return (x.abs() + 0.1).sqrt().sum(0), x.norm(dim=1), torch.atan2(x, y + 2).sum(0), (x.square() + 1).log().mean()


def tokens(n):
    return randn(2, n, 6, grad=True), randn(5, 6, seed=1, grad=True), randn(5, seed=2, grad=True)


@hard("11 weight gradients", tokens, training=True)
def weight_gradients(x, w, b):
    return F.gelu(F.linear(x, w, b)), (F.linear(x, w) + 3).rsqrt().nan_to_num()


# 12. Attention with padded keys, queries and masks.
def attention_inputs(n):
    q, k, v = (randn(2, 3, n, 8, seed=i, grad=True) for i in range(3))
    lengths = torch.tensor([max(n - 2, 1), n])
    return q, k, v, torch.arange(n)[None, :] < lengths[:, None]


@hard("12 masked attention", attention_inputs, training=True, sizes=(5, 1, 2, 7, 8, 9, 17))
def masked_attention(q, k, v, keep):
    n = q.shape[2]
    causal = torch.ones(n, n, dtype=torch.bool).tril()
    return F.scaled_dot_product_attention(q, k, v, attn_mask=causal & keep[:, None, None, :])


@hard("12 causal attention", lambda n: attention_inputs(n)[:3], training=True, sizes=(5, 1, 2, 7, 8, 9, 17))
def causal_attention(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


@hard("12 attention in math", attention_inputs, training=True, sizes=(5, 1, 2, 7, 8, 9, 17))
def attention_in_math(q, k, v, keep):
    scores = q @ k.transpose(-1, -2) / 8**0.5
    return scores.masked_fill(~keep[:, None, None, :], -INF).softmax(-1) @ v


# 13. Statistics are those of the real batch, and are written once.
# An error of a channel's mean or deviation affects all its elements, so there are many channels: otherwise eager's error would be a small sample.
def batch_norm_inputs(n):
    return randn(n, 16, 3, grad=True), torch.zeros(16), torch.ones(16), torch.zeros((), dtype=torch.int64)


@hard("13 batch norm", batch_norm_inputs, training=True)
def batch_norm(x, mean, variance, batches):
    for _ in range(2):
        x = F.batch_norm(x, mean, variance, training=True).sin()
        batches.add_(1)
    return x


# 14. No element is counted twice.
@hard("14 tables", lambda n: (randn(1, 4, grad=True), torch.zeros(n, dtype=torch.int64), randn(9, 4, grad=True), randint(9, n)), training=True)
def tables(one, zeros, table, i):
    return F.embedding(zeros, one), F.embedding(i, table).sum(0), one.new_zeros(9, 4).index_add(0, i, F.embedding(zeros, one)), table[i]


@hard("14 counts", lambda n: (randint(6, n), randn(n)), fullgraph=False)
def counts(i, w):
    return torch.bincount(i, minlength=6), w.new_zeros(6).scatter_add(0, i, w), torch.histc(w, 4, -2, 2), w.new_zeros(6).index_put((i,), w, accumulate=True)


# 15. Selection considers only real lanes.
@hard("15 selection", lambda n: (randn(3, n).round(), randint(3, n)), compare="exact", raises=(0, 1, 2, 5))
def selection(x, i):
    return x.topk(6, 1).values, x.sort(dim=1, stable=True), i.sort(dim=0, stable=True, descending=True), x.median(1), x.kthvalue(2, 1)


@hard("15 selection of unknown size", lambda n: (randn(n).round(), randint(3, n)), compare="exact", fullgraph=False)
def unknown_selection(x, i):
    return i.unique(), x.nonzero(), x[i > 0] * 2, torch.masked_select(x, i == 1)


# 16. Exactly as many random numbers are drawn as there are real elements.
@hard("16 dropout", lambda n: (randn(n, 5),), seed=7)
def dropout(x):
    return F.dropout(x, 0.5), torch.rand(3), torch.rand_like(x), F.dropout(x * 2, 0.25)


# 19. Windows read zeros beyond the last element; returned sizes are the real ones.
def convolved(n):
    return randn(2, 3, n, grad=True), randn(3, 3, 3, seed=1, grad=True), randn(3, seed=2, grad=True)


@hard("19 convolutions", convolved, training=True, sizes=(5, 1, 2, 7, 8, 9, 24))
def convolutions(x, w, b):
    for _ in range(3):
        x = F.conv1d(x, w, b, padding="same").relu()
    return x


@hard("19 windows", lambda n: (randn(2, 3, n),), sizes=(5, 2, 7, 8, 9, 24))
def windows(x):
    pooled = F.avg_pool1d(x, 3, stride=2, padding=1, count_include_pad=False)
    return pooled, F.max_pool1d(x, 2, padding=1), F.interpolate(x, scale_factor=2.0, mode="linear"), F.interpolate(x, scale_factor=2.0)


@hard("19 sizes", lambda n: (randn(n, 3),))
def sizes(x):
    n = x.shape[0]
    return torch.arange(n) * 2, torch.linspace(0, 1, n), x.size(0), x.numel() // 2, torch.full((n,), n), x.new_ones(n + 1).sum()


# 20. Size one is broadcast, other sizes are not.
@hard("20 broadcast", lambda n: (randn(1, 4), randn(n, 4, grad=True)), training=True)
def broadcast(x, y):
    return x + y, (x * y).sum(0), torch.maximum(y, x).mean(1)
