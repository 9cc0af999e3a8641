"""The table of what ATen's operators allocate beside their results is what torch's allocator counts."""

import pytest
import torch
import workspace_calls
from workspace_calls import tensors

from frit.inspect import workspaces

aten = torch.ops.aten


def taken_and_said(operator, arguments, **options):
    _, name, overload = operator.split(".")
    numbers = workspace_calls.taken_and_said(getattr(getattr(aten, name), overload), arguments, {}, **options)
    assert numbers is not None
    return numbers


def attention(batch, heads, rows, keys, width):
    return [torch.randn(batch, heads, length, width) for length in (rows, keys, keys)]


def attention_backward(*sizes):
    q, k, v = attention(*sizes)
    result, sums = aten._scaled_dot_product_flash_attention_for_cpu.default(q, k, v)
    return (torch.randn_like(result), q, k, v, result, sums, 0.0, False)


X, IMAGE, INDEX = torch.randn(48, 48), torch.randn(2, 3, 20, 20), torch.randint(0, 48, (48,))
POOLED = aten.max_pool2d_with_indices.default(IMAGE, [3, 3], [2, 2], [1, 1])
CALLS = {
    "addmm.default": (X[0], X, X), "bmm.default": (X[None], X[None]), "baddbmm.default": (X[None], X[None], X[None]), "mm.default": (X, X.t()),
    "mv.default": (X, X[0]), "addmv.default": (X[1], X, X[0]), "cat.default": ([X, X],), "cumsum.default": (X, 0), "cumprod.default": (X, 0),
    "cummax.default": (X, 0), "logcumsumexp.default": (X, 0), "embedding.default": (X, INDEX), "index_select.default": (X, 0, INDEX),
    "index.Tensor": (X, [INDEX, INDEX]), "gather.default": (X, 0, INDEX[None]), "topk.default": (X, 5), "clone.default": (X,),
    "alias.default": (X,), "arange.start_step": (0, 99), "bernoulli.p": (X, 0.3), "rand.default": ([48, 48],), "randn.default": ([48, 48],),
    "randint.low": (0, 5, [48, 48]), "full.default": ([48, 48], 1.0), "empty.memory_format": ([48, 48],), "avg_pool2d.default": (IMAGE, [3, 3], [2, 2], [1, 1]),
    "max_pool2d_with_indices.default": (IMAGE, [3, 3], [2, 2], [1, 1]),
    "max_pool2d_with_indices_backward.default": (POOLED[0], IMAGE, [3, 3], [2, 2], [1, 1], [1, 1], False, POOLED[1]),
    "native_dropout.default": (X, 0.3, True),
    "_scaled_dot_product_flash_attention_for_cpu.default": attention(2, 3, 300, 300, 16),
    "_scaled_dot_product_flash_attention_for_cpu_backward.default": attention_backward(2, 3, 300, 300, 16),
    "embedding_dense_backward.default": (torch.randn(48, 64), INDEX, 50, -1, False),
}  # fmt: skip


@pytest.mark.parametrize("operator", sorted("aten." + name for name in CALLS))
def test_an_operator_takes_what_the_table_says(operator):
    arguments = CALLS[operator.removeprefix("aten.")]
    taken, said = taken_and_said(operator, arguments)
    size = sum(one.nbytes for each in arguments for one in tensors(each)) or X.nbytes
    assert abs(taken - said) <= 0.01 * size


@pytest.mark.parametrize("sizes", [(2, 4, 100, 100, 32), (2, 3, 800, 700, 16), (2, 3, 64, 512, 32)])
def test_attention_takes_blocks_by_its_rows(sizes):
    forward, backward = "aten._scaled_dot_product_flash_attention_for_cpu.default", "aten._scaled_dot_product_flash_attention_for_cpu_backward.default"
    for operator, arguments in ((forward, attention(*sizes)), (backward, attention_backward(*sizes))):
        taken, said = taken_and_said(operator, arguments)
        assert taken == pytest.approx(said, rel=0.01), operator


@pytest.mark.parametrize("indices", [INDEX, INDEX.int()])
@pytest.mark.parametrize("transposed", [False, True])
def test_the_gradient_of_a_table_is_copied_if_it_is_not_contiguous(indices, transposed):
    gradient = torch.randn(64, 48).t() if transposed else torch.randn(48, 64)
    taken, said = taken_and_said("aten.embedding_dense_backward.default", (gradient, indices, 50, -1, False))
    assert 0 <= said - taken <= (0 if indices.dtype == torch.int64 else 8 * len(indices))


#: Images, inputs, outputs, height, size of the filters, stride, groups.
SIZES = [
    (1, 3, 32, 64, 7, 2, 1), (4, 32, 64, 32, 3, 1, 1), (4, 64, 64, 16, 1, 1, 1), (2, 32, 32, 32, 3, 1, 32), (4, 17, 33, 15, 3, 1, 1), (8, 128, 128, 14, 3, 2, 2),
    (2, 192, 768, 14, 1, 1, 1), (3, 6, 12, 11, 5, 1, 3), (1, 1, 1, 1, 1, 1, 1), (2, 5, 7, 9, 2, 2, 1), (16, 3, 64, 96, 3, 1, 1),
]  # fmt: skip


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_a_convolution_takes_at_most_what_the_table_says(sizes, channels_last, dtype):
    images, inputs, outputs, height, size, stride, groups = sizes
    layout = torch.channels_last if channels_last else torch.contiguous_format
    x = torch.randn(images, inputs, height, height, dtype=dtype).to(memory_format=layout)
    w, b = torch.randn(outputs, inputs // groups, size, size, dtype=dtype).to(memory_format=layout), torch.randn(outputs, dtype=dtype)
    options = [stride, stride], [size // 2, size // 2], [1, 1], False, [0, 0], groups
    taken, said = taken_and_said("aten.convolution.default", (x, w, b, *options), padding=options[1], groups=groups)
    assert 0 <= taken <= said
    gradient = torch.randn_like(aten.convolution.default(x, w, b, *options))
    arguments = gradient, x, w, [outputs], *options, [True, True, True]
    taken, said = taken_and_said("aten.convolution_backward.default", arguments, padding=options[1], groups=groups)
    assert 0 <= taken <= said


def test_transposed_convolutions_and_other_ranks():
    for rank in (1, 2, 3):
        x, w = torch.randn(2, 12, *[9] * rank), torch.randn(12, 5, *[3] * rank)
        options = [2] * rank, [1] * rank, [1] * rank, True, [0] * rank, 2
        taken, said = taken_and_said("aten.convolution.default", (x, w, None, *options), padding=options[1], groups=2)
        assert 0 <= taken <= said


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("sizes", [(1, 64, 64), (48, 48, 48), (33, 100, 77), (128, 512, 512), (7, 2048, 512), (2048, 64, 64)], ids=str)
def test_products_of_half_types_take_at_most_what_the_table_says(sizes, dtype):
    rows, terms, columns = sizes
    x, w, wide = (torch.randn(*size, dtype=dtype) for size in ((rows, terms), (columns, terms), (terms, columns)))
    bias = torch.randn(columns, dtype=dtype)
    batches = x[None].expand(3, rows, terms), w.t()[None].expand(3, terms, columns)
    for operator, arguments in (
        ("mm.default", (x, w.t())), ("mm.default", (x, wide)), ("addmm.default", (bias, x, w.t())), ("bmm.default", batches),
        ("baddbmm.default", (bias, *batches)), ("mv.default", (x, w[0])), ("addmv.default", (x[:, 0], x, w[0])),
    ):  # fmt: skip
        taken, said = taken_and_said(f"aten.{operator}", arguments)
        assert 0 <= taken <= said, operator


def test_other_types_are_not_known():
    assert not workspaces.is_known("aten.convolution.default", ["F8E4M3", "F8E4M3"]) and not workspaces.is_known("aten.mm.default", ["I64", "I64"])
    assert not workspaces.is_known("aten.addmm.default", ["F32", "F16", "F16"])
