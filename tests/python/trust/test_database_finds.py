"""Minimal programs for the findings of the sweep over torch's operators (`scripts/operator-sweep`)."""

import checker
import pytest
import torch
import torch.nn.functional as F

aten = torch.ops.aten


def gradients(function, *inputs):
    """Returns results, and gradients of their weighted sum."""
    results = function(*inputs)
    results = results if isinstance(results, (tuple, list)) else [results]
    weights = [torch.arange(float(x.numel())).view(x.shape).to(x.dtype) * (i + 1) for i, x in enumerate(results)]
    return (*results, *torch.autograd.grad(results, inputs, weights, allow_unused=True))


@pytest.mark.parametrize("function", [lambda x: x.unbind(0), lambda x: x.split(1), lambda x: (x[0], x[0]), lambda x: (x[0] + 1, x[1] + 1)])
def test_equal_results_are_tensors_of_their_own(function):
    """The rows of an expanded tensor share an address; torch.autograd distinguishes the tensor objects."""
    x = torch.randn(1, 2, 3).expand(3, 2, 3).requires_grad_()
    expected = gradients(function, x)
    compiled = torch.compile(function, backend="frit")
    for one, other in zip(gradients(compiled, x), expected, strict=True):
        assert torch.equal(one, other) and one.stride() == other.stride()


@pytest.mark.parametrize("dynamic", [False, True])
def test_as_strided_counts_from_the_start_of_whatever_storage_comes(dynamic):
    def function(x):
        return x.as_strided((2,), (1,), 0) * 1, x.as_strided((2,), (1,), 1), x.as_strided((2, 2), (2, 1), 3)[1]

    storage = torch.arange(20.0)
    compiled = checker.check(function, storage[2:10], dynamic=dynamic)
    for start in (4, 0, 3):
        checker.check(function, storage[start : start + 8], compiled=compiled)


@pytest.mark.parametrize(
    "operand", [torch.randn(4, 5, 2)[..., 1], torch.randn(25)[3:23].view(4, 5), torch.randn(5, 4).t()], ids=["gaps", "offset", "permuted"]
)
@pytest.mark.parametrize("dynamic", [False, True])
def test_scattered_results_lie_as_their_operand_does(operand, dynamic):
    checker.check(lambda x: (x.select_scatter(x[1] * 2, 0, 0), x.slice_scatter(x[:1] * 3, 0, 2, 3)), operand, dynamic=dynamic)
    checker.check(lambda x: aten.resize_as(x, x[:]), operand, dynamic=dynamic)


def test_results_of_expanded_halves_lie_as_tensor_iterator_lays_them():
    for dtype in (torch.bfloat16, torch.float16, torch.float32):
        x, y = torch.ones((), dtype=dtype).expand(3, 4, 5), torch.randn(5, 4, 3).to(dtype).permute(2, 1, 0)
        checker.check(lambda x, y: (x * y, y * x, x - y, torch.maximum(x, y)), x, y)


def test_pairs_of_a_lazily_negated_tensor_are_negated():
    z = torch._neg_view(torch.randn(3, 4, dtype=torch.complex64))
    checker.check(lambda z: (torch.view_as_real(z), z.real, z.imag + 1), z)
    checker.check(lambda x: torch.view_as_complex(x), torch._neg_view(torch.randn(3, 2)))


def test_a_group_norm_that_eager_refuses_is_refused():
    def function(x):
        return torch.native_group_norm(x, None, None, 2, 4, 9, 2, 1e-5)

    checker.check(function, torch.randn(2, 4, 3, 3))
    checker.check_raises_as_eager(function, torch.randn(2, 4, 3, 3).transpose(2, 3))


def test_a_kept_result_of_another_size_than_its_fake_one(lenient):
    """The fake kernel of `_embedding_bag` does not know the fast path of bfloat16."""
    weight = torch.randn(7, 4, dtype=torch.bfloat16, requires_grad=True)
    index, offsets, scale = torch.tensor([1, 2, 4, 5, 3]), torch.tensor([0, 2]), torch.rand(5, dtype=torch.bfloat16, requires_grad=True)

    def function(weight, scale):
        return F.embedding_bag(index, weight, offsets, mode="sum", per_sample_weights=scale)

    expected = gradients(function, weight, scale)
    for one, other in zip(gradients(torch.compile(function, backend="frit"), weight, scale), expected, strict=True):
        torch.testing.assert_close(one, other)


def test_a_sixth_of_single_precision_in_double_precision():
    x = torch.randn(9, dtype=torch.float64, requires_grad=True)
    (expected,) = torch.autograd.grad(F.hardsigmoid(x).sum(), x)
    (found,) = torch.autograd.grad(torch.compile(F.hardsigmoid, backend="frit")(x).sum(), x)
    assert torch.equal(found, expected)


@pytest.mark.parametrize("dynamic", [False, True])
def test_lazy_views_of_arguments_stay_lazy(dynamic):
    """AOTAutograd recreates results that are views of arguments; with dynamic sizes it reads the result's metadata."""

    def function(z, w):
        first, second = z.chunk(2, 0)
        return second.conj(), first.conj().imag, first.real, w * 2

    compiled = torch.compile(function, backend="frit", dynamic=dynamic)
    w = torch.randn(3, requires_grad=True)
    for size in (4, 6):
        z = torch.randn(size, 2, dtype=torch.complex64)
        for one, other in zip(compiled(z, w), function(z, w), strict=True):
            assert (one.is_conj(), one.is_neg(), one.stride(), one.storage_offset()) == (
                other.is_conj(), other.is_neg(), other.stride(), other.storage_offset(),
            )
            assert torch.equal(one, other) and (one._base is z) == (other._base is z)


@pytest.mark.parametrize("dynamic", [None, True])
def test_kernels_of_no_elements_read_nothing(dynamic):
    """An empty tensor has no first element, and no divisor to check."""
    programs = [
        lambda x: torch.kron(x, torch.ones(2, dtype=x.dtype)),
        lambda x: (x + 1).take_along_dim(torch.zeros_like(x, dtype=torch.int64), 0),
    ]
    for function in programs:
        compiled = torch.compile(function, backend="frit", dynamic=dynamic)
        for size in (5, 0, 3, 0):
            x = torch.arange(float(size * 12)).view(size, 3, 4)
            assert torch.equal(compiled(x), function(x))


@pytest.mark.parametrize("dtype", [torch.uint8, torch.complex64])
def test_pieces_whose_places_the_values_of_a_tensor_say(dtype):
    """The sizes and offsets of slices depend on data, also with lazy bits."""

    def function(x, places):
        return torch.tensor_split(x, places, 0)

    compiled = torch.compile(function, backend="frit", fullgraph=True)
    with torch._dynamo.config.patch(capture_scalar_outputs=True):
        for places in ([1, 2, 4], [0, 3, 3]):
            whole = torch.arange(60).view(5, 12).to(dtype)
            for x in (whole, whole[:, 1::2], whole.conj()):
                found, expected = compiled(x, torch.tensor(places)), function(x, torch.tensor(places))
                for one, other in zip(found, expected, strict=True):
                    assert torch.equal(one, other) and one.is_conj() == other.is_conj()
                    assert (one.stride(), one.storage_offset(), one._base is x) == (other.stride(), other.storage_offset(), other._base is x)


def test_new_memory_is_filled_where_torch_fills_it():
    """With deterministic algorithms, floats are filled with NaN and integers with the largest value. Dynamo recompiles if the setting changes."""

    def function(x):
        return torch.empty(3), torch.empty_like(x, dtype=torch.int32), x.new_empty(2, 2) + 1, torch.empty(2, dtype=torch.bool), x.new_empty_strided((2, 2), (1, 2))

    compiled = torch.compile(function, backend="frit")
    compiled(torch.ones(4))
    torch.use_deterministic_algorithms(True)
    try:
        found, expected = compiled(torch.ones(4)), function(torch.ones(4))
    finally:
        torch.use_deterministic_algorithms(False)
    for one, other in zip(found, expected, strict=True):
        assert torch.equal(one.nan_to_num(7), other.nan_to_num(7)) and one.dtype == other.dtype and one.stride() == other.stride()


LAZY = {
    "a view and its copy": lambda z: (z.conj().imag, z.conj().imag.clone()),
    "a copy and the view": lambda z: (z.conj().imag + 0, z.conj().imag),
    "a resolved view": lambda z: (z.conj().imag, z.conj().imag.resolve_neg(), z.conj().imag.contiguous()),
    "a view behind the bit": lambda z: (z.conj()[1:], z.conj()[1:].clone(), z.conj()[1:].resolve_conj()),
    "a view in front of the bit": lambda z: (z[1:].conj(), z[1:].clone(), z[1:].conj().clone()),
    "of a new tensor": lambda z: ((z * 2).conj()[1:], (z * 2).conj()[1:].clone(), (z * 2).conj()),
    "two that are equal": lambda z: ((z * 2).conj(), (z * 2).conj(), (z * 2).conj().imag, (z * 2).conj().imag),
    "two that are negated": lambda z: (torch._neg_view(z.real * 2), torch._neg_view(z.real * 2), -(z.real * 2)),
    "two of one": lambda z: (z.conj().T[1], z.conj().T[1].clone(), z.conj()),
}


@pytest.mark.parametrize("name", LAZY)
@pytest.mark.parametrize("grad", [False, True])
def test_equal_values_with_and_without_a_lazy_bit(name, grad):
    """Equal values are one value for the compiler, but lazy bits and storage are properties of each result."""
    for z in (torch.randn(3, 3, dtype=torch.complex64), torch.randn(3, 3, dtype=torch.complex64).conj()):
        checker.check(LAZY[name], z.requires_grad_(grad), compare="exact")


@pytest.mark.parametrize("function", [lambda y: y @ y.t(), lambda y: (y * 2).t() @ y, lambda y: (y.sum(0), y.t() * 2)])
def test_a_view_of_sizes_that_have_the_right_product_by_the_programs_word(function):
    def program(x, n, m):
        a, b = n.item(), m.item()
        torch._check(a > 0)
        torch._check(b > 0)
        torch._check(a * b == x.shape[0])
        return function(x.view(a, b)), function((x * 2).view(a, b))

    compiled = None
    with torch._dynamo.config.patch(capture_scalar_outputs=True):
        for a, b in ((2, 3), (6, 1), (3, 2)):
            compiled = checker.check(program, torch.arange(6.0), torch.tensor(a), torch.tensor(b), compiled=compiled)


@pytest.mark.parametrize("grad", [False, True])
def test_views_of_a_result_whose_strides_have_a_maximum(grad):
    """torch uses max(n, 1) in the strides of a result if it cannot prove that a size n is positive."""

    def program(x):
        total = x.reshape(12, 2, 2).sum([1], keepdim=True)
        return total, total[6:][::2], total[2:].reshape(1, -1)

    compiled = checker.check(program, torch.randn(4, 12).requires_grad_(grad), dynamic=True)
    checker.check(program, torch.randn(8, 6).requires_grad_(grad), compiled=compiled)
