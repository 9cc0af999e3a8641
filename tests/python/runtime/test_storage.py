"""Shared memory and offsets: arguments written from each other, results of one storage, results that must be fresh although nothing is computed
for them, `as_strided` of values with other layouts, and elements that no kernel computes with."""

import checker
import pytest
import torch
import torch.nn.functional as F


def swap(a, b):
    t = a.clone()
    a.copy_(b)
    b.copy_(t)
    return t, a + b


def ring(a, b, c):
    t = a.clone()
    a.copy_(b)
    b.copy_(c)
    c.copy_(t)


def chain(a, b, c):
    c.copy_(b)
    b.copy_(a)
    a.zero_()


def two_from_one(a, b, c):
    t = a.clone()
    a.copy_(c * 2)
    b.copy_(t)
    c.copy_(t)


def crossed(a, b, c):
    """Both are read at the positions where they are written."""
    x, y = a * 0.5 - b, a + b * 0.5
    a.copy_(x)
    b.copy_(y)


def history(a, b, c):
    old = a.clone()
    a.add_(1)
    b.copy_(old)
    return old, b[1:]


@pytest.mark.parametrize("function", [ring, chain, two_from_one, crossed, history], ids=lambda f: f.__name__)
def test_arguments_written_from_each_other(function):
    for n in (0, 1, 37):
        checker.check(function, torch.randn(n), torch.randn(n), torch.randn(n), compare="exact")
        torch.compiler.reset()


@pytest.mark.parametrize("dtype", [torch.float32, torch.uint8, torch.complex64], ids=str)
def test_a_swap(dtype):
    a, b = (torch.arange(12).mul(k).to(dtype) for k in (1, 2))
    checker.check(swap, a, b, compare="exact")
    torch.compiler.reset()
    checker.check(swap, a[::2], b[1::2], compare="exact")


def test_an_argument_written_from_its_own_transpose():
    checker.check(lambda a: a.copy_(a.t().clone()), torch.randn(5, 5), compare="exact")


def test_buffers_that_change_places():
    class Module(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.full((4,), 2.0))
            self.register_buffer("prev", torch.zeros(4))
            self.register_buffer("cur", torch.ones(4))

        def forward(self, x):
            t = self.cur.clone()
            self.cur.copy_(self.prev + x.detach())
            self.prev.copy_(t)
            return x * self.weight * self.cur

    eager, inner = Module(), Module()
    compiled = torch.compile(inner, backend="frit")
    for training in (False, True):
        for _ in range(2):
            x = torch.randn(4)
            with torch.set_grad_enabled(training):
                expected, actual = eager(x), compiled(x)
            if training:
                expected.sum().backward()
                actual.sum().backward()
                assert torch.equal(eager.weight.grad, inner.weight.grad)
            assert torch.equal(expected, actual)
            assert torch.equal(eager.prev, inner.prev) and torch.equal(eager.cur, inner.cur)


VIEWS_OF_ARGUMENTS = {
    "view": lambda y: y.view(y.shape[0], 2, -1),
    "slices": lambda y: (y[1:], y[:, 1:], y.t(), y.select(0, 1), y.diagonal(), y.expand(2, *y.shape)),
    "as_strided": lambda y: (y.as_strided((2, 2), (8, 1), 3), y[1:].as_strided((2, 2), (8, 1))),
    "reinterpreted": lambda y: (y.view(torch.int32), y.view(torch.int32)[1:]),
}


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", VIEWS_OF_ARGUMENTS)
def test_views_of_an_argument_with_an_offset(name, dynamic):
    function = VIEWS_OF_ARGUMENTS[name]
    compiled = checker.check(function, torch.randn(6, 8)[:, 2:6], dynamic=dynamic, compare="exact")
    checker.check(function, torch.randn(6, 8)[:, 4:8], compiled=compiled, compare="exact")


def several(x):
    v, w, u = x * 2, torch.maximum(x, x), x.sum(0)
    return v, v.t(), v[1:].view(-1), w[1:, 2:], w[0], u.as_strided((2, 3), (3, 1)), u, u.expand(3, 6), v.view(torch.int32)


def without_the_owner(x):
    v = torch.sort(x.exp()).values
    return v[1:3], v[2:], torch.arange(12).view(3, 4).t(), F.pad(x, (1, 1))[:, 1:-1], v.clone()[1:], v.clone()


def made_complex(x):
    z = torch.complex(x, x)
    return z, z.real, torch.view_as_real(z)[1:], (z * 1)[1:], z.clone().t(), z.clone()


@pytest.mark.parametrize("function", [several, without_the_owner, made_complex], ids=lambda f: f.__name__)
def test_results_of_one_storage(function):
    for dynamic in (False, True):
        checker.check(function, torch.randn(4, 6), dynamic=dynamic)
        torch.compiler.reset()


def copied_and_seen(x):
    y, z = x.contiguous() if not x.is_contiguous() else x.clone(), x.clone(memory_format=torch.contiguous_format)
    return y, y[1:], z.t(), z, (x * 1)[1:], x.t().contiguous().t(), x.double()[:, 1:]


def copied_before_it_is_written(x):
    y = x.clone(memory_format=torch.contiguous_format)
    x.add_(1)
    z = x.clone(memory_format=torch.contiguous_format)
    return y[1:], y, z, z.t(), x[1:]


LAYOUTS = {
    "dense": lambda: torch.randn(4, 6),
    "rows": lambda: torch.randn(8, 6)[::2],
    "columns": lambda: torch.randn(4, 9)[:, 2:8],
    "transposed": lambda: torch.randn(6, 4).t(),
    "expanded": lambda: torch.randn(1, 6).expand(4, 6),
    "empty": lambda: torch.randn(0, 6)[:, ::2],
    "one": lambda: torch.randn(2, 2)[::2, ::2],
}


#: Eager refuses to write what is expanded.
COPIED = [(copied_and_seen, layout) for layout in LAYOUTS] + [(copied_before_it_is_written, layout) for layout in LAYOUTS if layout != "expanded"]


@pytest.mark.parametrize("function, layout", COPIED, ids=lambda each: each if isinstance(each, str) else each.__name__)
def test_a_copy_of_an_argument_and_views_of_it_are_one_storage(function, layout):
    for dynamic in (False, True):
        checker.check(function, LAYOUTS[layout](), dynamic=dynamic)
        torch.compiler.reset()


def test_results_of_one_storage_in_training():
    def function(x):
        v = x.exp()
        return v, v[1:], v.t()[2:], x * 1

    checker.check(function, torch.randn(4, 6, requires_grad=True), training=True)


def folded(c):
    return (
        (c * 1).as_strided((2, 3), (3, 1)),
        (c * 1).as_strided((2, 2), (1, 2), 1),
        (c - 0.0).t(),
        c.clone()[1:],
        torch.cat([c])[1:],
        c.flip(0).flip(0).as_strided((6,), (1,)),
        c.permute(1, 0).contiguous().permute(1, 0),
        F.pad(c, (0, 0)).as_strided((2,), (2,)),
        (c * 1).view(torch.int32),
        c.double().float()[1:],
    )


@pytest.mark.parametrize("dynamic", [False, True])
def test_what_is_computed_by_nothing_is_fresh(dynamic):
    for c in (torch.randn(2, 3), torch.randn(3, 2).t(), torch.randn(2, 8)[:, 2:5]):
        checker.check(folded, c, compare="exact", dynamic=dynamic)
        torch.compiler.reset()


def test_a_fresh_result_of_an_argument_that_is_overwritten():
    def function(c):
        d = (c * 1).as_strided((2, 3), (3, 1))
        e = c.clone()
        c.add_(1)
        return d, e.t(), e[1:], c.t()

    checker.check(function, torch.randn(2, 3), compare="exact")


def test_as_strided_of_a_relaid_value():
    def function(x, w):
        v = F.pad(F.conv2d(x, w), (1, 1, 1, 1))
        once = v.as_strided((2, 8, 4, 4), (288, 36, 6, 1))
        twice = once.as_strided((2, 8, 3), (288, 36, 1), 1)
        return twice.clone(), once + 1, v.permute(0, 2, 3, 1).contiguous().as_strided((2, 3, 16), (288, 1, 3)) * 2

    checker.check(function, torch.randn(2, 8, 4, 4), torch.randn(8, 8, 1, 1))


def test_as_strided_of_views():
    def function(x):
        v = x * 2
        u = v.t()
        return (
            u.as_strided((4, 6), (6, 1)) + 1,
            v[1:, 2:].as_strided((2, 3), (6, 1)) + 1,
            v.as_strided((3, 3), (6, 1), 1).as_strided((2, 2), (6, 2), 7).clone(),
            v.as_strided((8, 3), (1, 1)),
            x.sum(0).expand(3, 6).as_strided((6,), (1,)) * 2,
            (x.t() * 3).as_strided((24,), (1,)) + 1,
        )

    checker.check(function, torch.randn(4, 6))
    torch.compiler.reset()
    checker.check(function, torch.randn(4, 6), dynamic=True)
    torch.compiler.reset()
    checker.check(function, torch.randn(4, 6, requires_grad=True), training=True)


def complex_views(a):
    v = a.view(a.shape[0], 2, -1)
    v.mul_(2)
    a.t().add_(1)
    return a.clone(), a.t().contiguous(), a[1:].t().reshape(-1), a.flip(0), a.clone().as_strided((3, 3), (4, 1), 1)


@pytest.mark.parametrize("dynamic", [False, True])
def test_complex_views_are_copied_by_aten(dynamic):
    checker.check(complex_views, torch.randn(6, 8, dtype=torch.complex64)[:, 2:6], dynamic=dynamic, compare="exact")
