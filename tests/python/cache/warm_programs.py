"""Programs for AOTAutograd's results on disk: each runs in two processes, and the second must give the same values, aliases and effects.

    python warm_programs.py [NAME ...]

prints a line of JSON for each: the counters of the cache, and digests of the program's results and effects. A program takes the function that compiles.
"""

import hashlib
import json
import math
import sys

import torch
from torch import nn
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop

PROGRAMS = {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


def randn(*sizes, seed=0, **how):
    return torch.randn(*sizes, generator=torch.Generator().manual_seed(seed), **how)


def facts(value):
    """Returns the observable properties of a value, without its address."""
    if isinstance(value, torch.Tensor):
        shown = value.detach().resolve_conj().resolve_neg().contiguous()
        data = hashlib.sha256(shown.reshape(-1).view(torch.uint8).numpy().tobytes()).hexdigest()[:16]
        base = value._base is not None and list(value._base.shape)
        bits = [value.is_conj(), value.is_neg(), value.requires_grad, value.is_leaf, None if value.is_inference() else value._version, type(value.grad_fn).__name__]
        return [str(value.dtype), list(value.shape), list(value.stride()), value.storage_offset(), bits, base, data]
    if isinstance(value, (list, tuple)):
        return [facts(x) for x in value]
    return repr(value)


def shares(a, b):
    return a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()


@program
def inference(compiled):
    with torch.no_grad():
        return compiled(lambda x, w: torch.softmax(x @ w, -1) * 2)(randn(5, 6), randn(6, 7))


@program
def errors(compiled):
    """A call that raises an error runs as it was traced, also from a stored graph."""
    torch.manual_seed(0)

    def function(x, i):
        return torch.rand(2, 4) + torch.cond(x.sum() > 0, lambda x: x[i] * 2, lambda x: x[:2] * 3, (x,)) * math.ceil(x.shape[0] / 3) + torch.rand(1)

    def outcome(indices):
        try:
            return run(randn(5, 4).abs(), torch.tensor(indices))
        except (IndexError, RuntimeError) as error:
            return type(error).__name__, str(error).splitlines()[0]

    with torch.no_grad():
        run = compiled(function, dynamic=True)
        return [outcome(indices) for indices in ([1, 2], [1, 9], [-9, 1], [0, 4])], torch.rand(1)


@program
def training(compiled):
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 3))
    run, optimizer = compiled(model), torch.optim.SGD(model.parameters(), 0.1)
    losses = []
    for step in range(3):
        loss = run(randn(4, 6, seed=step)).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return [*losses, *model.parameters()]


@program
def dropout(compiled):
    torch.manual_seed(5)
    model = nn.Sequential(nn.Linear(6, 32), nn.Dropout(0.5), nn.Linear(32, 3), nn.Dropout(0.2))
    run = compiled(model)
    found = []
    for _ in range(2):
        x = randn(4, 6).requires_grad_()
        y = run(x)
        found += [y, *torch.autograd.grad(y.sum(), [x, *model.parameters()])]
    return [*found, torch.rand(3)]


@program
def effects(compiled):
    """Operators that check for errors are effects, which torch keeps in order by tokens."""
    a = randn(4, 4)
    square = a @ a.t() + 4 * torch.eye(4)
    found = []
    for grad in (False, True):
        with torch.set_grad_enabled(grad):
            x = square.clone().requires_grad_()
            y = compiled(lambda x: torch.linalg.inv(torch.linalg.cholesky(x)) + torch.linalg.solve(x, x[0]))(x)
            found += [y, *(torch.autograd.grad(y.sum(), x) if grad else ())]
    try:
        compiled(lambda x: torch.linalg.cholesky(x))(-square)
    except torch.linalg.LinAlgError as error:
        found.append(str(error))
    return found


@program
def dynamic_sizes(compiled):
    run = compiled(lambda x, w: torch.relu(x @ w) * x.shape[0] if x.shape[0] > 8 else torch.tanh(x @ w), dynamic=True)
    found = []
    for rows in (3, 5, 20, 8, 9):
        x, w = randn(rows, 6, seed=rows).requires_grad_(), randn(6, 7)
        found += [run(x, w), *torch.autograd.grad(run(x, w).sum(), x)]
    return found


@program
def automatic_dynamic(compiled):
    run = compiled(lambda x: torch.cumsum(x, 0) / x.shape[0])
    return [run(randn(rows, 3)) for rows in (4, 6, 11)]


@program
def aliases_of_arguments(compiled):
    x, y = randn(4, 6), randn(4, 6)
    a, b, c = compiled(lambda x, y: (x.t(), x, y[1:, ::2]))(x, y)
    c.add_(1)
    return [a, b, c, b is x, shares(a, x), shares(c, y), y]


@program
def aliases_of_intermediates(compiled):
    x = randn(4, 6).requires_grad_()

    def f(x):
        y = x.sin() + 1
        return y.view(-1), y[1:], y.unsqueeze(0).expand(2, 4, 6), y

    a, b, c, d = compiled(f)(x)
    gradient = torch.autograd.grad(a.sum() + b.square().sum() + c.sum(), x)
    found = [facts(x) for x in (a, b, c, d)]
    with torch.no_grad():
        d.add_(1)
    return [found, a.detach(), b.detach(), shares(a, d), shares(b, d), gradient]


@program
def aliases_of_varying_sizes(compiled):
    run = compiled(lambda x: (x.view(-1)[2:], (x * 2).t(), x.unflatten(1, (2, -1))), dynamic=True)
    return [[*run(randn(rows, 6)), shares(run(randn(rows, 6))[0], randn(rows, 6))] for rows in (4, 7)]


@program
def mutation(compiled):
    def f(x, y, z):
        x.mul_(2).add_(y)
        y[0] = z.sum()
        z.t_()
        return x + 1, y.sum()

    x, y, z = randn(4, 6), randn(4, 6), randn(3, 5)
    return [compiled(f)(x, y, z), x, y, z]


@program
def mutation_under_gradients(compiled):
    def f(x, buffer):
        buffer.mul_(0.5).add_(x.detach())
        y = x.clone()
        y.mul_(buffer)
        return y

    x, buffer = randn(4, 6).requires_grad_(), randn(4, 6)
    result = compiled(f)(x, buffer)
    return [result, buffer, torch.autograd.grad(result.sum(), x)]


@program
def mutated_view_of_a_leaf(compiled):
    base = randn(4, 6).requires_grad_()
    moved = base * 1
    view = moved[1:]
    result = compiled(lambda v: v.mul_(3).sum())(view)
    return [result, moved, torch.autograd.grad(moved.sum() + result, base)]


@program
def batch_norm(compiled):
    torch.manual_seed(2)
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU())
    run = compiled(model)
    for step in range(2):
        run(randn(2, 3, 8, 8, seed=step)).sum().backward()
    return [*model.parameters(), *(p.grad for p in model.parameters()), *model.buffers()]


@program
def lazy_bits(compiled):
    x = randn(4, 3, dtype=torch.complex64)
    a, b, c = compiled(lambda x: (x.conj(), x.conj().imag, x.conj() * 2))(x)
    d = compiled(lambda x: (x + 1, x.t()))(randn(4, 3, dtype=torch.complex64).conj())
    e = compiled(lambda x: (x * 2, x[1:]))(torch._neg_view(randn(4, 3)))
    return [a, b, c, shares(a, x), d, e]


@program
def lazy_bits_are_told_apart(compiled):
    def f(x):
        return x * 2, x.t()

    torch.compiler.reset()
    first = compiled(f)(randn(4, 3, dtype=torch.complex64))
    torch.compiler.reset()
    return [first, compiled(f)(randn(4, 3, dtype=torch.complex64).conj())]


@program
def constants(compiled):
    table = randn(3)
    return compiled(lambda x: x * torch.tensor([1.0, 2.0, 3.0]) + table + torch.arange(3))(randn(4, 3))


@program
def random_numbers(compiled):
    torch.manual_seed(7)
    run = compiled(lambda x: (torch.rand_like(x), torch.randint(0, 9, (3,)), torch.randn(2), torch.bernoulli(torch.sigmoid(x)), torch.randperm(5)))
    return [run(randn(4, 3)), run(randn(4, 3)), torch.rand(2)]


@program
def other_results(compiled):
    x = randn(4, 3).requires_grad_()
    found = compiled(lambda x: (None, x.shape[0], x + 1, "text", 2.5, {"a": x.sum()}["a"], x.detach()))(x)
    return [*found, torch.autograd.grad(found[2].sum() + found[5], x)]


@program
def gradient_modes(compiled):
    def f(x):
        with torch.no_grad():
            a = x.sin()
        torch._C._set_grad_enabled(False)
        return a * x

    x = randn(3).requires_grad_()
    y, z = compiled(lambda x: (x.sin(), x.detach().cos()))(x)
    found = [y, z, torch.autograd.grad(y.sum(), x), compiled(f)(x), torch.is_grad_enabled()]
    torch.set_grad_enabled(True)
    with torch.inference_mode():
        w = compiled(lambda x: x.exp() + 1)(randn(3))
    v = compiled(lambda x: x.exp() + 1)(randn(3))
    return [*found, w, w.is_inference(), v, v.is_inference()]


@program
def saved_tensors_that_changed(compiled):
    x, w = randn(3, 3).requires_grad_(), randn(3, 3).requires_grad_()
    run = compiled(lambda x, w: (x @ w).sin())
    run(x, w).sum().backward()
    y = run(x, w)
    with torch.no_grad():
        w.add_(1)
    try:
        y.sum().backward()
    except RuntimeError as error:
        return str(error).split(";")[0].split("[")[0]
    return "no error"


@program
def backward_twice(compiled):
    x = randn(3, 3).requires_grad_()
    y = compiled(lambda x: (x.exp() * x.sin()).sum())(x)
    first = torch.autograd.grad(y, x, retain_graph=True)
    return [first, torch.autograd.grad(y, x)]


@program
def hooks_and_some_gradients(compiled):
    x, y = randn(3, 3).requires_grad_(), randn(3, 3)
    a, b, c = compiled(lambda x, y: (x @ y, y.sum(), (x > 0).sum()))(x, y)
    seen = []
    a.register_hook(lambda g: seen.append(g.clone()))
    (a * 2).sum().backward()
    return [a, b, c, seen, x.grad]


@program
def autocast(compiled):
    found = []
    for dtype in (torch.bfloat16, torch.float16):
        torch.compiler.reset()
        x = randn(4, 6).requires_grad_()
        with torch.autocast("cpu", dtype):
            y = compiled(lambda x, w: torch.relu(x @ w))(x, randn(6, 7))
        found += [y, torch.autograd.grad(y.float().sum(), x)]
    return found


@program
def attention_of_each_kind(compiled):
    from torch.nn.attention import SDPBackend, sdpa_kernel

    found = []
    for kind in (SDPBackend.MATH, SDPBackend.FLASH_ATTENTION):
        torch.compiler.reset()
        q = randn(2, 2, 9, 8).requires_grad_()
        with sdpa_kernel(kind):
            y = compiled(lambda q: nn.functional.scaled_dot_product_attention(q, q, q))(q)
        found += [y, torch.autograd.grad(y.sum(), q)]
    return found


@program
def offsets_are_told_apart(compiled):
    found = []
    for start in (0, 3):
        torch.compiler.reset()
        memory = randn(20)
        x = memory[start : start + 12].view(3, 4)
        y = compiled(lambda x: (x.t(), x.as_strided((2, 2), (4, 1)), x + 1))(x)
        found += [y, shares(y[0], memory)]
    return found


@program
def arguments_that_share_memory(compiled):
    """One trace for overlapping arguments and one for others; neither is used for the other."""

    def f(a, b):
        a.add_(1)
        return b * 2

    found = []
    for start in (1, 6):
        torch.compiler.reset()
        memory = randn(12)
        run = compiled(f)
        found += [run(memory[:6], memory[start : start + 6]), memory]
        torch.compiler.reset()
        found.append(run(randn(6), randn(6, seed=1)))
    return found


@program
def functions_with_gradients_of_their_own(compiled):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            ctx.factor = 3
            return x * 2

        @staticmethod
        def backward(ctx, gradient):
            (x,) = ctx.saved_tensors
            return gradient * ctx.factor * x

    x = randn(3).requires_grad_()
    y = compiled(lambda x: Double.apply(x).sin())(x)
    return [y, torch.autograd.grad(y.sum(), x)]


@program
def operators_of_a_library(compiled):
    @torch.library.custom_op("warm::triple", mutates_args=())
    def triple(x: torch.Tensor) -> torch.Tensor:
        return x * 3

    triple.register_fake(torch.empty_like)
    triple.register_autograd(lambda ctx, gradient: gradient * 3)
    x = randn(3).requires_grad_()
    y = compiled(lambda x: torch.ops.warm.triple(x) + 1)(x)
    return [y, torch.autograd.grad(y.sum(), x)]


@program
def tensor_subclasses(compiled):
    from torch.testing._internal.two_tensor import TwoTensor

    x = TwoTensor(randn(3), randn(3, seed=1))
    y = compiled(lambda x: x * 2 + 1)(x)
    return [y.a, y.b, type(y).__name__]


@program
def branches(compiled):
    return compiled(lambda x: torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,)) + 1)(randn(3))


@program
def loops(compiled):
    n, x = torch.tensor(0), randn(4, 3)
    with torch.no_grad():
        repeated = compiled(lambda n, x: while_loop(lambda n, y: (n < 5) & (y.abs().max() > 0.1), lambda n, y: (n + 1, y / 2), (n, x)))(n, x)
        sums = compiled(lambda x: scan(lambda total, part: (total + part, total * part), x[0] * 0, x, dim=0), dynamic=True)
        return [*repeated, *sums(x), *sums(randn(6, 3, seed=1))]


@program
def branches_with_gradients(compiled):
    w = randn(3).requires_grad_()
    run = compiled(lambda x: torch.cond(x.sum() > 0, lambda y: (y * w).sin(), lambda y: y.cos() + w, (x,)) + 1)
    found = []
    for sign in (1, -1):
        x = (randn(3).abs() * sign).requires_grad_()
        found += [run(x), *torch.autograd.grad(run(x).sum(), (x, w))]
    return found


@program
def sizes_from_data(compiled):
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True, capture_scalar_outputs=True):
        return compiled(lambda x: torch.nonzero(x > 0) * 2)(randn(4, 3))


@program
def checkpointed(compiled):
    from torch.utils.checkpoint import checkpoint

    x, w = randn(4, 6).requires_grad_(), randn(6, 6).requires_grad_()
    y = compiled(lambda x, w: checkpoint(lambda x: torch.sin(x @ w).exp(), x, use_reentrant=False))(x, w)
    return [y, torch.autograd.grad(y.sum(), (x, w))]


@program
def recurrent(compiled):
    torch.manual_seed(3)
    model = nn.GRUCell(4, 5)

    def f(x):
        h = torch.zeros(2, 5)
        for step in range(3):
            h = model(x[:, step], h)
        return h

    y = compiled(f)(randn(2, 3, 4))
    return [y, *torch.autograd.grad(y.sum(), list(model.parameters()))]


@program
def calls_that_do_not_fit(compiled):
    """torch promises a shape of the wrong rank for a negative dim, so the call runs uncompiled."""

    def f(x):
        values, counts = torch.unique_consecutive(x, return_counts=True, dim=-1)
        return ~values, counts

    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        return compiled(f)(torch.tensor([True, True, True, False, True]))


@program
def views_with_hooks_of_version(compiled):
    """A result that is a view of an argument shares the argument's version counter."""
    x = randn(4, 6)
    y = compiled(lambda x: x.view(2, 12))(x)
    x.add_(1)
    return [y, y._version == x._version]


@program
def channels_last(compiled):
    torch.manual_seed(4)
    model = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 4, 3)).to(memory_format=torch.channels_last)
    x = randn(2, 3, 10, 10).to(memory_format=torch.channels_last).requires_grad_()
    y = compiled(model)(x)
    return [y, *torch.autograd.grad(y.square().sum(), [x, *model.parameters()])]


@program
def sizes_that_guards_tell_apart(compiled):
    """Several entries under one key: one for each branch."""

    def f(x):
        y = torch.sin(x.reshape(-1, 2))
        return y * 2 if y.shape[0] % 2 == 0 else y + 1

    found = []
    for rows in (4, 5, 6, 7):
        torch.compiler.reset()
        run = compiled(f, dynamic=True)
        found += [run(randn(rows, 2)), run(randn(rows + 1, 2))]
    return found


def main(names):
    from torch._dynamo.utils import counters

    for name in names or PROGRAMS:
        torch.compiler.reset()
        counters.clear()
        seen = {}

        def compiled(function, **how):
            return torch.compile(function, backend="frit", **how)

        # `reset` inside a program clears frit's counters.
        real = torch.compiler.reset

        def reset():
            add()
            real()

        def add():
            for what, number in counters["frit"].items():
                seen[what] = seen.get(what, 0) + number
            counters["frit"].clear()

        torch.compiler.reset = reset
        try:
            found = facts(PROGRAMS[name](compiled))
        except Exception as error:
            found = f"{type(error).__name__}: {error}"
        finally:
            torch.compiler.reset = real
        add()
        cache = {what: number for what, number in seen.items() if "cache" in what or what.startswith(("call", "graphs"))}
        print(json.dumps({"name": name, "cache": cache, "facts": found}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
