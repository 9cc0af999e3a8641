"""Attention on the CPU by frit's kernel."""

import json

import pytest
import torch
import torch.nn.functional as F
from test_products import IS_INTEL

import frit

pytestmark = pytest.mark.skipif(torch.backends.cpu.get_cpu_capability() != "AVX512", reason="counts what is chosen on machines with AVX-512")

attend = F.scaled_dot_product_attention


def is_chosen(queries):
    """Whether frit's kernel is faster than torch's for up to 512 keys and no causal mask: `isAttentionFaster` of runtime/cpu/Attention.h."""
    return queries <= 32 or not IS_INTEL


def own(executables):
    return sum(json.loads(one.stats())["own_attention"] for one in executables)


def compiled(function, dynamic=None, **options):
    return torch.compile(function, backend="frit", fullgraph=True, dynamic=dynamic, options=options)


def heads(batch, count, length, depth):
    """Returns heads that are interleaved in each row, as after a projection."""
    return torch.randn(batch, length, count, depth).transpose(1, 2)


def check(got, q, k, v, mask=None, causal=False, scale=None):
    """Checks values within the error bounds of the sums, of exp and of the scores."""
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    scores = q.double() @ k.double().transpose(-1, -2) * scale
    size = q.double().abs() @ k.double().abs().transpose(-1, -2) * abs(scale)
    if causal:
        mask = torch.zeros(scores.shape[-2:]).masked_fill(~torch.ones(scores.shape[-2:], dtype=torch.bool).tril(), -torch.inf)
    if mask is not None:
        mask = torch.where(mask, 0.0, -torch.inf) if mask.dtype == torch.bool else mask
        scores, size = scores + mask, size + mask.nan_to_num(neginf=0).abs()
    weights = scores.softmax(-1).nan_to_num()
    error = (size * (q.shape[-1] + 4) + scores.nan_to_num(neginf=0).abs()).amax(-1, keepdim=True) + k.shape[-2] + 12
    assert ((got.double() - weights @ v.double()).abs() <= weights @ v.double().abs() * 2 * error * 2.0**-24 + 1e-37).all()


@pytest.mark.parametrize("queries, keys", [(1, 1), (1, 37), (2, 2), (16, 16), (17, 33), (3, 300)])
@pytest.mark.parametrize("kind", ["none", "causal", "flags", "numbers", "rows"])
def test_values(queries, keys, kind, seen):
    torch.manual_seed(0)
    q, k, v = heads(2, 3, queries, 16), heads(2, 3, keys, 16), heads(2, 3, keys, 16)
    mask = {
        "flags": torch.rand(2, 1, queries, keys) < 0.7,
        "numbers": torch.randn(2, 3, queries, keys),
        "rows": torch.randn(queries, keys),
    }.get(kind)
    expected = attend(q, k, v, mask, is_causal=kind == "causal")
    with torch.no_grad():
        got = compiled(lambda q, k, v, mask: attend(q, k, v, mask, is_causal=kind == "causal"))(q, k, v, mask)
    check(got, q, k, v, mask, kind == "causal")
    assert got.stride() == expected.stride() and own(seen) == 1


@pytest.mark.parametrize("sizes", [(0, 2, 3, 3), (2, 0, 3, 3), (2, 2, 0, 3), (2, 2, 3, 0), (1, 1, 1, 1)])
@pytest.mark.parametrize("depth", [0, 1, 8])
def test_small_sizes(sizes, depth):
    batch, count, queries, keys = sizes
    q, k, v = torch.randn(batch, count, queries, depth), torch.randn(batch, count, keys, depth), torch.randn(batch, count, keys, depth)
    got, expected = compiled(attend)(q, k, v), attend(q, k, v)
    torch.testing.assert_close(got, expected, equal_nan=True)


@pytest.mark.parametrize("scale", [0.3, 0.0, -1.0])
def test_scale(scale, seen):
    q, k, v = heads(1, 2, 5, 8), heads(1, 2, 7, 8), heads(1, 2, 7, 8)
    check(compiled(lambda q, k, v: attend(q, k, v, scale=scale))(q, k, v), q, k, v, scale=scale)
    assert own(seen) == 1


def test_operands_with_strides(seen):
    torch.manual_seed(1)
    whole = torch.randn(2, 9, 4, 40)
    fast = compiled(attend)
    for q, k, v in (
        (whole[:, 2:7, :, 5:21].transpose(1, 2), whole[:, 1:, :, 3:19].transpose(1, 2), whole[:, 1:, :, 20:36].transpose(1, 2)),
        (whole[..., :16], whole[:, :1, :, :16].expand(2, 9, 4, 16), whole[:1, ..., 16:32].expand(2, 9, 4, 16)),
    ):
        torch.compiler.reset()
        seen.clear()
        got = fast(q, k, v)
        check(got, q, k, v)
        assert got.stride() == attend(q, k, v).stride() and own(seen) == 1
    torch.compiler.reset()
    seen.clear()
    apart = whole[..., ::2]
    torch.testing.assert_close(fast(apart, apart, apart), attend(apart, apart, apart))
    assert own(seen) == 0


def test_heads_that_share_keys(seen):
    q, k, v = heads(2, 6, 5, 16), heads(2, 2, 9, 16), heads(2, 2, 9, 16)
    got = compiled(lambda q, k, v: attend(q, *(x[:, :, None].expand(2, 2, 3, 9, 16).reshape(2, 6, 9, 16) for x in (k, v))))(q, k, v)
    check(got, q, k.repeat_interleave(3, 1), v.repeat_interleave(3, 1))
    assert own(seen) == 1


def test_sizes_that_vary(seen):
    fast = compiled(lambda q, k, v, mask: attend(q, k, v, mask), dynamic=True)
    calls = [(2, 3, 4, 5), (1, 3, 1, 8), (3, 3, 17, 33), (2, 3, 32, 300), (2, 3, 40, 300)]
    for batch, count, queries, keys in calls:
        q, k, v, mask = heads(batch, count, queries, 16), heads(batch, count, keys, 16), heads(batch, count, keys, 16), torch.randn(queries, keys)
        check(fast(q, k, v, mask), q, k, v, mask)
    assert own(seen) == sum(is_chosen(queries) for _, _, queries, _ in calls)


def test_masked_rows_and_what_is_not_finite(seen):
    torch.manual_seed(2)
    q, k, v = heads(1, 2, 5, 16), heads(1, 2, 7, 16), heads(1, 2, 7, 16)
    mask = torch.randn(5, 7)
    mask[1], mask[2, 3], mask[3, :6] = -torch.inf, torch.nan, -torch.inf
    q[0, 0, 4], k[0, 1, 2], v[0, 0, 1, 3] = torch.nan, torch.inf, torch.nan
    fast = compiled(attend)
    for flags in (mask, mask > 0):
        got, expected = fast(q, k, v, flags), attend(q, k, v, flags)
        assert torch.equal(got.isnan(), expected.isnan())
        torch.testing.assert_close(got, expected, equal_nan=True)
    assert own(seen) == 2


def test_what_is_left_to_aten(seen):
    q, k, v = heads(2, 3, 5, 16), heads(2, 3, 7, 16), heads(2, 3, 7, 16)
    for dtype in (torch.float64, torch.bfloat16):
        operands = [x.to(dtype) for x in (q, k, v)]
        torch.testing.assert_close(compiled(attend)(*operands), attend(*operands))
    for options in ({"products": False}, {"numerics": "eager"}):
        torch.compiler.reset()
        assert torch.equal(compiled(attend, **options)(q, k, v), attend(q, k, v))
    assert own(seen) == 0


def test_gradients_come_from_aten(seen):
    leaves = [heads(2, 3, 5, 16).requires_grad_(), heads(2, 3, 7, 16).requires_grad_(), heads(2, 3, 7, 16).requires_grad_()]
    expected = torch.autograd.grad(attend(*leaves).square().sum(), leaves)
    got = torch.autograd.grad(compiled(attend)(*leaves).square().sum(), leaves)
    for mine, its in zip(got, expected):
        torch.testing.assert_close(mine, its)
    assert own(seen) == 0


@pytest.mark.parametrize("queries", [31, 70])
def test_the_same_bits_for_every_number_of_threads(queries, seen):
    q, k, v = heads(2, 4, queries, 64), heads(2, 4, 300, 64), heads(2, 4, 300, 64)
    fast, before, results = compiled(attend), torch.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            results.append(fast(q, k, v))
    finally:
        torch.set_num_threads(before)
    assert torch.equal(results[0], results[1]) and torch.equal(results[0], results[2])
    assert own(seen) == 3 * is_chosen(queries)


def test_it_is_counted_and_explained(seen):
    q, k, v = heads(2, 3, 5, 16), heads(2, 3, 7, 16), heads(2, 3, 7, 16)
    explanation = frit.explain(attend)(q, k, v)
    (graph,) = explanation.graphs
    assert graph["own_attention"] == 1 and [call["own_attention"] for call in graph["aten_calls"]] == [True]
    assert "attention in frit's own kernel 1 time, in 1 call" in str(explanation)
    frit.reset()
    compiled(attend)(q, k, v)
    assert frit.counts()["own_attention"] == 1 and frit.counts()["aten_calls"] == 1


def test_strides_of_a_result_are_the_traces_where_an_operand_was_copied():
    """It is known only at the call whether the query is a view of `x`, so the operator gets a copy with another order of strides."""

    def function(x):
        query = x.view(x.shape[0], x.shape[1], 4, -1).transpose(1, 2)[:, :, 1:]
        return torch.nn.functional.scaled_dot_product_attention(query, query, query)

    got = torch.compile(function, backend="frit", dynamic=True)
    for length in (5, 6):
        x = torch.randn(2, length, 32)
        expected = function(x)
        torch.testing.assert_close(got(x), expected)
        assert got(x).stride() == expected.stride()
