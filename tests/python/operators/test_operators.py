"""Compares each legalised operator with eager, over types, sizes, layouts and special values.

"exact" operators must agree bit for bit; the fp64 rule applies to the others. All cases of an operator are compiled
at once.
"""

import math

import cases
import checker
import pytest
import torch
import torch.nn.functional as F
from torch._guards import TracingContext, tracing
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from torch.utils import _pytree as pytree

from frit import backend

EXACT, FLOAT = "exact", "float"



def but_signs_of_equal_zeros(function):
    """Ignores the sign of the extremum of 0.0 and -0.0: eager's scalar loop returns the first and its vector loop the
    second, so the sign depends on the position in the tensor and on the machine."""

    def run(x, y):
        result = function(x, y)
        if not result.dtype.is_floating_point:
            return result
        return torch.where((x == 0) & (y == 0) & (torch.signbit(x) != torch.signbit(y)), 0, result)

    return run


UNARY = {
    "abs": (torch.abs, EXACT),
    "neg": (torch.neg, EXACT),
    "sign": (torch.sign, EXACT),
    "floor": (torch.floor, EXACT),
    "ceil": (torch.ceil, EXACT),
    "trunc": (torch.trunc, EXACT),
    "round": (torch.round, EXACT),
    "relu": (torch.relu, EXACT),
    "isnan": (torch.isnan, EXACT),
    "isinf": (torch.isinf, EXACT),
    "logical_not": (torch.logical_not, EXACT),
    "bitwise_not": (torch.bitwise_not, EXACT),
    "hardtanh": (lambda x: F.hardtanh(x, -2.0, 2.0), EXACT),
    "clamp": (lambda x: torch.clamp(x, -2, 3), EXACT),
    "clamp min": (lambda x: torch.clamp(x, min=1), EXACT),
    "reciprocal": (torch.reciprocal, FLOAT),
    "sqrt": (torch.sqrt, FLOAT),
    "rsqrt": (torch.rsqrt, FLOAT),
    "exp": (torch.exp, FLOAT),
    "exp2": (torch.exp2, FLOAT),
    "expm1": (torch.expm1, FLOAT),
    "log": (torch.log, FLOAT),
    "log2": (torch.log2, FLOAT),
    "log1p": (torch.log1p, FLOAT),
    "log10": (torch.log10, FLOAT),
    "sin": (torch.sin, FLOAT),
    "cos": (torch.cos, FLOAT),
    "tan": (torch.tan, FLOAT),
    "tanh": (torch.tanh, FLOAT),
    "sinh": (torch.sinh, FLOAT),
    "cosh": (torch.cosh, FLOAT),
    "asin": (torch.asin, FLOAT),
    "acos": (torch.acos, FLOAT),
    "atan": (torch.atan, FLOAT),
    "sigmoid": (torch.sigmoid, FLOAT),
    "erf": (torch.erf, FLOAT),
    "erfc": (torch.erfc, FLOAT),
    "gelu": (F.gelu, FLOAT),
    "gelu tanh": (lambda x: F.gelu(x, approximate="tanh"), FLOAT),
    "silu": (F.silu, FLOAT),
    "leaky_relu": (lambda x: F.leaky_relu(x, 0.1), FLOAT),
    "elu": (lambda x: F.elu(x, 1.3), FLOAT),
    "softplus": (lambda x: F.softplus(x, 2.0, 3.0), FLOAT),
    "pow 2": (lambda x: x**2, FLOAT),
    "pow 3": (lambda x: x**3, FLOAT),
    "pow half": (lambda x: x.abs() ** 0.5, FLOAT),
    "pow scalar base": (lambda x: torch.pow(1.7, x), FLOAT),
    "add scalar": (lambda x: torch.add(x, 3, alpha=2), EXACT),
    "rsub": (lambda x: 5 - x, EXACT),
    "mul scalar": (lambda x: x * 3, EXACT),
    "div scalar": (lambda x: x / 3, FLOAT),
    "eq scalar": (lambda x: x == 1, EXACT),
    "lt scalar": (lambda x: x < 0.5, EXACT),
    "masked_fill": (lambda x: x.masked_fill(x > 1, 2), EXACT),
    "where scalar": (lambda x: torch.where(x > 0, x, 0), EXACT),
}

BINARY = {
    "add": (torch.add, EXACT),
    "sub": (torch.sub, EXACT),
    "mul": (torch.mul, EXACT),
    "div": (torch.div, FLOAT),
    "maximum": (but_signs_of_equal_zeros(torch.maximum), EXACT),
    "minimum": (but_signs_of_equal_zeros(torch.minimum), EXACT),
    "eq": (torch.eq, EXACT),
    "ne": (torch.ne, EXACT),
    "lt": (torch.lt, EXACT),
    "le": (torch.le, EXACT),
    "gt": (torch.gt, EXACT),
    "ge": (torch.ge, EXACT),
    "logical_and": (torch.logical_and, EXACT),
    "logical_or": (torch.logical_or, EXACT),
    "logical_xor": (torch.logical_xor, EXACT),
    "bitwise_and": (torch.bitwise_and, EXACT),
    "bitwise_or": (torch.bitwise_or, EXACT),
    "bitwise_xor": (torch.bitwise_xor, EXACT),
    "atan2": (torch.atan2, FLOAT),
    "lerp": (lambda x, y: torch.lerp(x, y, 0.3), FLOAT),
    "addcmul": (lambda x, y: torch.addcmul(x, x, y, value=2), FLOAT),
    "where": (lambda x, y: torch.where(x > y, x, y), EXACT),
    "clamp tensor": (but_signs_of_equal_zeros(lambda x, y: torch.clamp(x, max=y)), EXACT),
}

DIVISIONS = {
    "floor": (lambda x, y: torch.div(x, y, rounding_mode="floor"), EXACT),
    "trunc": (lambda x, y: torch.div(x, y, rounding_mode="trunc"), EXACT),
    "fmod": (torch.fmod, EXACT),
    "remainder": (torch.remainder, EXACT),
    "addcdiv": (lambda x, y: torch.addcdiv(x, x, y, value=2), FLOAT),
}

REDUCTIONS = {
    "sum": (torch.sum, FLOAT),
    "sum last": (lambda x: x.sum(-1), FLOAT),
    "sum first kept": (lambda x: x.sum(0, keepdim=True), FLOAT),
    "sum as f64": (lambda x: x.sum(-1, dtype=torch.float64), FLOAT),
    "mean": (torch.mean, FLOAT),
    "mean last": (lambda x: x.mean(-1), FLOAT),
    "prod last": (lambda x: x.prod(-1), FLOAT),
    "amax": (lambda x: x.amax(-1), EXACT),
    "amin first": (lambda x: x.amin(0), EXACT),
    "max dim": (lambda x: tuple(x.max(-1)), EXACT),
    "min dim first": (lambda x: tuple(x.min(0)), EXACT),
    "max": (torch.max, EXACT),
    "argmax": (lambda x: x.argmax(-1), EXACT),
    "argmin": (torch.argmin, EXACT),
    "any": (lambda x: x.any(-1), EXACT),
    "all": (torch.all, EXACT),
    "var": (lambda x: x.var(-1), FLOAT),
    "var correction": (lambda x: torch.var(x, 0, correction=0), FLOAT),
    # No infinities: Welford's mean of -inf and 0 is NaN or -inf, depending on their order.
    "var_mean": (lambda x: tuple(torch.var_mean(x.masked_fill(torch.isinf(x), 2), -1)), FLOAT),
    "std": (lambda x: x.std(-1), FLOAT),
    "logsumexp": (lambda x: torch.logsumexp(x, -1), FLOAT),
    "vector_norm": (lambda x: torch.linalg.vector_norm(x, 2, -1), FLOAT),
    "vector_norm 1": (lambda x: torch.linalg.vector_norm(x, 1), FLOAT),
    "vector_norm inf": (lambda x: torch.linalg.vector_norm(x, math.inf, 0), FLOAT),
    "softmax": (lambda x: torch.softmax(x, -1), FLOAT),
    "softmax first": (lambda x: torch.softmax(x, 0), FLOAT),
    "log_softmax": (lambda x: torch.log_softmax(x, -1), FLOAT),
    "count_nonzero": (lambda x: torch.count_nonzero(x, -1), EXACT),
}


def check_batch(function, labels, inputs, compare):
    assert labels, "eager accepts no case"

    def batch(*arguments):
        return [function(*each) for each in arguments]

    try:
        checker.check(batch, *inputs, compare=compare, compiled=traced_without_dynamo(batch, inputs))
    except AssertionError as error:
        message = str(error)
        place = message.split(":")[0].split()
        if place[0] == "result" and compare_leaves(function, inputs):
            each = compare_leaves(function, inputs)
            message = f"{labels[int(place[1]) // each]}: {message}"
        raise AssertionError(message) from None


def traced_without_dynamo(function, inputs):
    """Compiles a function without Dynamo, which would take as long for a batch as all other steps: the backend gets a graph that calls the
    function, and AOTAutograd traces that."""
    leaves, structure = pytree.tree_flatten(inputs)
    structures = []

    def flattened(*arguments):
        results, *structures[:] = pytree.tree_flatten(function(*pytree.tree_unflatten(arguments, structure)))
        return results

    graph = torch.fx.Graph()
    graph.output(graph.call_function(flattened, tuple(graph.placeholder(f"x{i}") for i in range(len(leaves)))))
    mode = FakeTensorMode(shape_env=ShapeEnv())
    with tracing(TracingContext(mode)):
        examples = [mode.from_tensor(x, static_shapes=True) for x in leaves]
        compiled = backend.frit(torch.fx.GraphModule(torch.nn.Module(), graph), examples)
    return lambda *arguments: pytree.tree_unflatten(compiled(*pytree.tree_leaves(arguments)), *structures)


def compare_leaves(function, inputs):
    result = function(*inputs[0])
    return len(result) if isinstance(result, (tuple, list)) else 1


def split(labels, inputs, dtypes):
    """Returns the cases whose first operand has one of the types."""
    kept = [i for i, x in enumerate(inputs) if x[0].dtype in dtypes]
    return [labels[i] for i in kept], [inputs[i] for i in kept]


@pytest.mark.parametrize("name", UNARY)
def test_unary(name):
    function, compare = UNARY[name]
    check_batch(function, *cases.unary(function), compare)


@pytest.mark.parametrize("name", BINARY)
def test_binary(name):
    function, compare = BINARY[name]
    # Only floating-point types for ternary operators, because their decompositions promote integers in another order.
    dtypes = cases.FLOATS if name in ("addcmul", "lerp") else cases.ALL
    check_batch(function, *cases.binary(function, dtypes=dtypes), compare)


@pytest.mark.parametrize("name", DIVISIONS)
def test_division(name):
    function, compare = DIVISIONS[name]
    labels, inputs = cases.binary(function, dtypes=cases.FLOATS)
    check_batch(function, labels, inputs, compare)
    if name == "addcdiv":
        return
    torch.compiler.reset()

    def nonzero(x):
        return x if x.dtype.is_floating_point else torch.where(x == 0, torch.ones_like(x), x)

    def guarded(x, y):
        return function(x, nonzero(y))

    check_batch(guarded, *cases.binary(guarded, dtypes=cases.INTEGERS), compare)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reduction(name):
    function, compare = REDUCTIONS[name]
    dtypes = cases.FLOATS if "softmax" in name else cases.ALL
    labelled = [(f"{dtype} {label}", (x,)) for dtype in dtypes for label, x in cases.matrices(dtype).items()]
    check_batch(function, *cases.supported(function, labelled), compare)


def test_shifts():
    def function(x, n):
        return x << n, x >> n

    labelled = [(str(d), (cases.vector(40, d), torch.arange(40, dtype=d) % 7)) for d in cases.INTEGERS]
    check_batch(function, *cases.supported(function, labelled), EXACT)


def test_pow_of_tensors():
    def function(x, y):
        return torch.pow(x.abs(), y)

    check_batch(function, *cases.binary(function, dtypes=cases.FLOATS), FLOAT)


@pytest.mark.parametrize("source", cases.ALL, ids=str)
def test_casts(source):
    """Casts between all types; values out of the target's range are left out, because eager's results depend on the machine."""
    x = cases.vector(67, source, special=False)
    if source.is_floating_point:
        x = x.abs()
    elif source != torch.bool:
        x = x.abs().clamp(0, 100)

    def function(x):
        return [x.to(d) for d in cases.ALL] + [x.to(torch.bfloat16).to(torch.float32).to(d) for d in cases.ALL]

    checker.check(function, x, compare=EXACT)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.uint8, torch.bool], ids=str)
def test_moving(dtype):
    def function(x, y):
        b = x.new_ones(())
        return [
            x.view(x.shape + (1,)),
            x.reshape(-1),
            x.permute(2, 0, 1).reshape(5, 24),
            x.transpose(0, 2).contiguous(),
            x.unsqueeze(1).expand(4, 3, 6, 5),
            x[:, 2],
            x[1:3, ::2, -2:],
            x[..., None],
            torch.stack(x.unbind(0), -1),
            torch.cat(x.split([1, 3, 2], 1)[::-1], 1),
            x.flip(0, 2),
            x.roll((1, -2), (0, 2)),
            torch.cat([x, y], 0),
            torch.cat([x, x.new_empty(4, 0, 5), x * b], 1),
            torch.stack([x[:3], y], 1),
            x.repeat(2, 1, 3),
            F.pad(x, (1, 2, 0, 3)),
            F.pad(x, (-1, 1)),
            torch.slice_scatter(x, y[:, :2], 1, 1, 3) if y.shape[0] == x.shape[0] else x.clone(),
            torch.select_scatter(x, x[0] * b, 0, 2),
            torch.as_strided(x, (3, 4), (5, 1), 7) * b,
            x.squeeze(),
            x[:, :1].squeeze(1) * b,
            x.diagonal(0, 0, 1) * b,
            x.movedim(0, -1) * b,
            torch.tril(x) * b,
            torch.triu(x, 1) * b,
            x.unfold(2, 2, 2) * b,
        ]

    x = cases.vector(120, dtype).view(4, 6, 5)
    y = cases.vector(90, dtype, 3).view(3, 6, 5)
    checker.check(function, x, y, compare=EXACT)
    torch.compiler.reset()
    checker.check(function, cases.vector(120, dtype).view(5, 6, 4).permute(2, 1, 0), y, compare=EXACT)


def test_making():
    def function(x):
        return [
            torch.full((2, 3), 1.5),
            torch.full_like(x, -0.0),
            torch.zeros(0, 3),
            torch.ones_like(x, dtype=torch.int64),
            torch.arange(7),
            torch.arange(1, 10, 3),
            torch.arange(0.0, 1.0, 0.1),
            torch.arange(5, device=x.device, dtype=torch.int32) * 2,
            torch.scalar_tensor(3.5),
            torch.empty_like(x).fill_(2),
            x.clone(),
            x.new_zeros(2, 2),
            torch.eye(4),
            torch.tensor([1, 2, 3]),
            torch.tensor(2.0) * x,
        ]

    checker.check(function, torch.randn(3, 5).t(), compare=EXACT)


def test_reading_by_index():
    def function(table, index, x):
        return [
            F.embedding(index, table),
            table.index_select(0, index.flatten()),
            table[index],
            table[:, index[0] % 7],
            table[index[0], index[0] % 7],
            x.gather(1, index % x.shape[1]),
            x[index % 3 - 2],
            x[x > 0],
            torch.take_along_dim(x, index % 5, 1),
            table[-1],
            x[:, [2, 0]],
        ]

    table, index = torch.randn(11, 7), torch.randint(0, 11, (3, 4))
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        checker.check(function, table, index, torch.randn(3, 5), compare=EXACT)
        torch.compiler.reset()
        checker.check(function, table.to(torch.bfloat16), index.int().long(), torch.randn(5, 3).t(), compare=EXACT)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (1, 6, 1, 33), (4, 2, 17, 1)], ids=str)
def test_norms_and_their_gradients(shape, dtype):
    torch.manual_seed(1)
    x = torch.randn(shape, dtype=dtype, requires_grad=True)
    layer = [torch.randn(shape[-1], dtype=dtype, requires_grad=True) for _ in range(2)]
    channel = [torch.randn(shape[1], dtype=dtype, requires_grad=True) for _ in range(2)]
    running = [torch.zeros(shape[1], dtype=dtype), torch.ones(shape[1], dtype=dtype)]

    def function(x, layer, channel, running):
        return (
            F.layer_norm(x, shape[-1:], *layer),
            F.group_norm(x, 1, *channel),
            F.batch_norm(x, *running, *channel, training=True),
            F.batch_norm(x, *running, *channel, training=False),
            F.rms_norm(x, shape[-1:], layer[0]),
        )

    checker.check(function, x, layer, channel, running, training=True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_losses_and_their_gradients(dtype):
    torch.manual_seed(1)
    x = torch.randn(9, 17, dtype=dtype, requires_grad=True)
    target = torch.randint(0, 17, (9,))
    target[3] = -100
    weight = torch.rand(17, dtype=dtype)

    def function(x, target, weight):
        return (
            F.cross_entropy(x, target),
            F.cross_entropy(x, target, weight, reduction="sum"),
            F.nll_loss(F.log_softmax(x, -1), target, reduction="none"),
            F.mse_loss(x, x.roll(1, 0)),
            F.smooth_l1_loss(x, x.flip(1)),
            F.binary_cross_entropy_with_logits(x, (x > 0).to(x.dtype)),
        )

    checker.check(function, x, target, weight, training=True)


GRADIENTS = {
    "gelu": F.gelu,
    "gelu tanh": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "relu": torch.relu,
    "leaky_relu": F.leaky_relu,
    "elu": F.elu,
    "softplus": F.softplus,
    "hardtanh": F.hardtanh,
    "softmax": lambda x: torch.softmax(x, -1) * x,
    "log_softmax": lambda x: torch.log_softmax(x, -1) * x,
    "logsumexp": lambda x: torch.logsumexp(x, 0),
    "amax": lambda x: x.amax(-1),
    "max dim": lambda x: x.max(-1).values,
    "var": lambda x: x.var(-1),
    "std": lambda x: x.std(0),
    "norm": lambda x: torch.linalg.vector_norm(x, dim=-1),
    "prod": lambda x: x.prod(-1),
    "clamp": lambda x: x.clamp(-0.5, 0.5),
    "where": lambda x: torch.where(x > 0, x.sin(), x.exp()),
    "maximum": lambda x: torch.maximum(x, x.flip(-1)),
    "embedding": lambda x: F.embedding(torch.tensor([1, 0, 1]), x),
    "gather": lambda x: x.gather(1, torch.tensor([[0, 1, 1], [2, 2, 0], [1, 1, 1], [0, 0, 0], [3, 2, 1]])),
    "index": lambda x: x[torch.tensor([0, 2, 0])],
    "cat and slice": lambda x: torch.cat([x[1:], x[:, ::2].repeat(1, 2)[:2, : x.shape[1]]]),
    "pad": lambda x: F.pad(x, (1, 1)),
    "matmul": lambda x: x @ x.t(),
    "pow": lambda x: x.abs() ** 1.7,
    "atan2": lambda x: torch.atan2(x, x.flip(0)),
    "erf": torch.erf,
    "lerp": lambda x: torch.lerp(x, x.flip(0), 0.3),
}


def test_gradients():
    torch.manual_seed(1)
    x = torch.randn(5, 7, requires_grad=True)

    for start in range(0, len(GRADIENTS), 8):
        torch.compiler.reset()
        part = list(GRADIENTS)[start : start + 8]

        def function(*inputs, part=part):
            return [GRADIENTS[name](x) for name, x in zip(part, inputs)]

        checker.check(function, *[x.detach().clone().requires_grad_() for _ in part], training=True)


def test_foreach_arithmetic():
    def function(xs, ys):
        return [
            torch._foreach_add(xs, ys, alpha=2),
            torch._foreach_mul(xs, 3),
            torch._foreach_div(xs, ys),
            torch._foreach_addcmul(xs, ys, ys, 0.5),
            torch._foreach_lerp(xs, ys, 0.1),
            torch._foreach_sqrt(torch._foreach_abs(xs)),
            torch._foreach_maximum(xs, ys),
            torch._foreach_neg(xs),
            torch._foreach_sub(xs, 1.5),
            torch._foreach_pow(xs, 2),
        ]

    torch.manual_seed(1)
    shapes = [(3, 5), (17,), (0,), (), (2, 2, 2)]
    xs, ys = ([torch.randn(s) for s in shapes] for _ in range(2))
    checker.check(function, xs, ys)


def test_foreach_in_place():
    def function(xs, ys):
        torch._foreach_mul_(xs, 0.9)
        torch._foreach_add_(xs, ys)
        return xs

    checker.check(function, [torch.randn(3, 5), torch.randn(17)], [torch.randn(3, 5), torch.randn(17)])
