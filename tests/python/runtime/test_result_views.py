"""Results that share memory are views of one tensor for torch, as in eager: with a base, and with one version counter."""

import pytest
import torch

import frit  # noqa: F401


def parts(x):
    y = x * 2
    return y[:1], y[1:]


def whole(x):
    y = x * 2
    return y[1:], y, y.view(2, -1)


def view_first(x):
    y = x * 2
    return y.view(2, -1), y


def only_views(x):
    y = x * 2
    return y.view(2, -1), y.view(-1, 2)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("function", [parts, whole, view_first, only_views])
def test_results_have_the_base_that_eager_gives_them(function, dynamic):
    x = torch.ones(6)
    expected, actual = function(x), torch.compile(function, backend="frit", dynamic=dynamic)(x)
    assert [y._is_view() for y in actual] == [y._is_view() for y in expected]
    bases = {id(y._base) for y in actual if y._is_view()}
    assert len(bases) == 1
    if function is whole:
        assert actual[0]._base is actual[1]
    if function is view_first:
        assert actual[0]._base is actual[1]
    assert next(y for y in actual if y._is_view())._base.shape == x.shape


@pytest.mark.parametrize("dynamic", [False, True])
def test_a_result_may_be_written_in_place_although_a_view_of_it_precedes_it(dynamic):
    for write in (lambda view, base: view.add_(1), lambda view, base: base.add_(1), lambda view, base: base.detach_()):
        x = torch.ones(6, requires_grad=True)
        results = torch.compile(view_first, backend="frit", dynamic=dynamic)(x)
        write(*results)
        assert torch.equal(results[0].flatten(), results[1])
        if results[1].requires_grad:
            assert torch.equal(torch.autograd.grad(results[1].sum(), x)[0], torch.full((6,), 2.0))


@pytest.mark.parametrize("dynamic", [False, True])
def test_a_backward_may_run_again(dynamic):
    def function(x, w):
        return (x @ w).tanh() * torch.softmax(x.sum(0, keepdim=True) @ w, 1)

    x, w = torch.randn(3, 4, requires_grad=True), torch.randn(4, 5, requires_grad=True)
    result = torch.compile(function, backend="frit", dynamic=dynamic)(x, w)
    cotangent = torch.randn_like(result)
    gradients = [torch.autograd.grad(result, (x, w), cotangent, retain_graph=True) for _ in range(3)]
    for one in gradients:
        for actual, first, expected in zip(one, gradients[0], torch.autograd.grad(function(x, w), (x, w), cotangent)):
            assert torch.equal(actual, first)
            torch.testing.assert_close(actual, expected)


def test_a_write_to_one_result_is_seen_by_autograd_in_another():
    y, v = torch.compile(lambda x: whole(x)[:2][::-1], backend="frit")(torch.ones(6))
    weight = torch.ones(5, requires_grad=True)
    loss = (weight * v).sum()
    y.mul_(3)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_a_write_to_an_argument_is_seen_in_what_is_kept_of_it():
    def function(x, scale):
        return (x.view(-1) * scale.view(4, 4).t().reshape(-1)).sum()

    x, scale = torch.ones(4, 4, requires_grad=True), torch.ones(16)
    loss = torch.compile(function, backend="frit")(x, scale)
    scale.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


@pytest.mark.parametrize("dynamic", [False, True])
def test_results_that_share_memory_are_arguments_behind_a_graph_break(dynamic):
    def function(x):
        y = torch.hstack([x, x])
        left = y[:, :2]
        torch._dynamo.graph_break()
        left.mul_(2)
        return y[1:]

    for size in (6, 4):
        x = torch.arange(float(size)).view(size, 1)
        assert torch.equal(torch.compile(function, backend="frit", dynamic=dynamic)(x), function(x))


def test_results_in_inference_mode():
    with torch.inference_mode():
        for actual, expected in zip(torch.compile(whole, backend="frit")(torch.ones(6)), whole(torch.ones(6)), strict=True):
            assert torch.equal(actual, expected) and actual.is_inference()


def real_and_complex(z):
    y = z * 2
    return y.real, y[1:]


def conjugated(z):
    y = (z * 2).conj()
    return y.imag, y[1:]


def complex_of_real(z):
    y = torch.view_as_real(z).contiguous() * 2
    return torch.view_as_complex(y), y[1:]


def other_type(z):
    y = torch.view_as_real(z).contiguous() * 2
    return y.view(torch.int32), y[1:]


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("function", [real_and_complex, conjugated, complex_of_real, other_type])
def test_results_of_several_types_share_a_base_and_a_version_counter(function, dynamic):
    z = torch.randn(4, dtype=torch.complex64)
    expected, actual = function(z), torch.compile(function, backend="frit", dynamic=dynamic)(z)
    for results in (expected, actual):
        results[0].mul_(3)
    for a, e in zip(actual, expected, strict=True):
        assert torch.equal(a, e) and a._version == e._version and a._is_view() == e._is_view()
        assert not a._is_view() or a._base.dtype == e._base.dtype


def detached_part(y):
    return y.view_as(y), y.detach()[0]


def detached(y):
    return y.view(-1), y.detach()


def detached_first(y):
    return y.detach(), y.view(-1), y[1:]


def parts_of_detached(y):
    d = y[1:].detach()
    return y.t(), d, d[:1]


def facts(results):
    """What the caller sees of results: gradients, views and bases among the results."""
    return [(y.requires_grad, y._is_view(), next((i for i, other in enumerate(results) if other is y._base), None)) for y in results]


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("function", [detached_part, detached, detached_first, parts_of_detached])
def test_detached_results_are_no_views_of_the_others(function, dynamic):
    def program(x):
        return function(x * 2)

    outcomes = []
    for backend in ("aot_eager", "frit"):
        torch._dynamo.reset()
        x = torch.ones(3, 4, requires_grad=True)
        results = torch.compile(program, backend=backend, dynamic=dynamic)(x)
        known = facts(results)
        next(y for y in results if not y.requires_grad).add_(1)
        sum(y.sum() for y in results if y.requires_grad).backward()
        outcomes.append((known, [y.tolist() for y in results], x.grad.tolist()))
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("split", [lambda x: x.unbind(0), lambda x: x.split(1), lambda x: (x.chunk(2)[0],)])
def test_parts_of_an_argument_are_views_of_it(split, dynamic):
    results = torch.compile(split, backend="frit", dynamic=dynamic)(torch.ones(2, 3, requires_grad=True))
    with pytest.raises(RuntimeError, match="is being modified inplace"):
        results[0].mul_(5)


def copied_part(a):
    a.sub_(1)
    v = a[1] * 1
    return v, v[..., :1]


def copied_halves(a):
    left, right = a.chunk(2, 0)
    left[0] = left[0]
    right.add_(1)
    return right, left


def added_column(a):
    v = a.select(1, 0)
    v.copy_(v)
    v.index_add_(0, torch.tensor([0, 1]), v.narrow(0, 0, 2).clone())
    return a.diagonal(0, 0, 1), v


def alias_of_an_alias(a):
    v = a.squeeze().as_strided((4, 3), (3, 1)) * 1
    return v, v.as_strided((6,), (1,), 1)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("function", [copied_part, copied_halves, added_column, alias_of_an_alias])
def test_results_share_memory_although_their_value_is_stored_to_an_argument(function, dynamic):
    """What is stored may be computed in the argument; the results are then copied together."""
    expected, actual = (torch.arange(24.0).view(8, 3)[1:], torch.arange(24.0).view(8, 3)[1:])
    due, done = function(expected), torch.compile(function, backend="frit", dynamic=dynamic)(actual)
    for results in (due, done):
        results[0].mul_(2)
    assert torch.equal(actual, expected) and all(torch.equal(a, e) for a, e in zip(done, due))


#: Programs of one result. A view of a fresh tensor is a view although its base is no result; what an operator copies is none, also where it ends with a
#: view in another form: `flatten` of a transposed tensor, products of three dims, an operator that is decomposed into others.
LONE = {
    "view": lambda x: (x * 2).view(-1),
    "transpose": lambda x: (x * 2).t(),
    "part": lambda x: (x * 2)[1:],
    "expanded": lambda x: (x * 2).sum(1, keepdim=True).expand(-1, 3),
    "of a scalar": lambda x: x.sum().unsqueeze(0),
    "real": lambda x: torch.complex(x, x).real,
    "another dtype": lambda x: (x * 2).view(torch.int32),
    "detached": lambda x: (x * 2).detach(),
    "copied": lambda x: (x * 2).t().flatten(),
    "reshaped": lambda x: (x * 2).reshape(-1),
    "product": lambda x: torch.matmul(x.expand(2, 4, 4), x.t()),
    "linear": lambda x: torch.nn.functional.linear(x[None], x),
    "stack": lambda x: torch.stack([x, x]),
    "part of a stack": lambda x: torch.stack([x, x])[1],
    "rot90": lambda x: torch.rot90(x),
    "instance norm": lambda x: torch.nn.functional.instance_norm(x[None]),
}


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("name", LONE)
def test_a_lone_result_has_the_base_that_aot_eager_gives_it(name, grad, dynamic):
    def facts(backend):
        torch.compiler.reset()
        compiled = torch.compile(LONE[name], backend=backend, dynamic=dynamic)
        known = []
        for write in (None, torch.Tensor.detach_, lambda y: y.unsqueeze_(0), lambda y: y.add_(1)):
            y = compiled(torch.arange(16.0).view(4, 4).requires_grad_(grad))
            try:
                known.append((y._is_view(), y._is_view() and (y._base.shape, y._base.stride())) if write is None else (write(y) is y, y.shape))
            except RuntimeError as error:
                known.append(str(error).split(".")[0])
        return known

    assert facts("frit") == facts("aot_eager")


EMPTY = {
    "one part": lambda x: (x * 2).split(2)[0],
    "parts": lambda x: (x * 2).chunk(3),
    "parts of an argument": lambda x: x.split(2),
    "beyond the end": lambda x: (x + 1)[5:],
    "the copy of a part, turned": lambda x: (x + 1).tensor_split(2, 1)[1].clone().t(),
}


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("shape", [(0, 6), (2, 6)], ids=str)
@pytest.mark.parametrize("name", EMPTY)
def test_an_empty_result_is_a_view_as_in_eager(name, shape, dynamic):
    def facts(backend):
        torch.compiler.reset()
        x = torch.ones(shape)
        made = torch.compile(EMPTY[name], backend=backend, dynamic=dynamic)(x)
        return [(y._is_view(), y._base is x, y.shape, y.stride(), y.storage_offset()) for y in (made if isinstance(made, tuple) else [made])]

    assert facts("frit") == facts("eager")


def test_a_base_keeps_its_shape_behind_a_graph_break():
    """Dynamo and AOTAutograd make a view again from the shape of its base."""

    def complex_base(a):
        v = a * a
        w = v.real
        w.mul_(2)
        torch._dynamo.graph_break()
        return v

    def turned_base(a):
        v = a.new_full((a.shape[0], 2), 1)
        v.transpose_(0, -1)
        turned, flat = v.transpose(-1, 0), v.transpose(-1, 0).flatten()
        torch._dynamo.graph_break()
        v.transpose(-2, 1)[::2] = 3
        return turned, flat

    for function, dtype in ((complex_base, torch.complex64), (turned_base, torch.float32)):
        results = []
        for backend in ("eager", "frit"):
            torch.compiler.reset()
            results.append(torch.compile(function, backend=backend, dynamic=True)(torch.arange(1, 4).to(dtype)))
        torch.testing.assert_close(results[1], results[0], rtol=0, atol=0)
