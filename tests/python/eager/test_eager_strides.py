"""The strides that graphs promise are eager's, for every operator that is legalised.

torch's fake kernels determine the strides of a traced value; `as_strided` and results rely on them. Each function here
is traced as by frit, without compilation, and the traced strides are compared with eager's.
"""

import contextlib
import itertools

import pytest
import torch
import torch.nn.functional as F
from functorch.compile import make_boxed_func
from test_operators import BINARY, DIVISIONS, REDUCTIONS, UNARY
from torch._functorch.aot_autograd import aot_module_simplified

from frit.eager.decompositions import decomposition_table


def transposed():
    return torch.randn(7, 9).t()


def channels_last(*shape):
    return torch.randn(*shape).to(memory_format=torch.channels_last)


def one():
    return [
        (transposed(),),
        (torch.randn(7, 9)[:, ::2],),
        (torch.randn(5)[:, None].expand(5, 6),),
        (channels_last(2, 3, 4, 5),),
        (channels_last(2, 1, 4, 5),),
        (torch.randn(2, 3, 4, 5).permute(1, 3, 0, 2),),
    ]


def two():
    x, permuted = channels_last(2, 3, 4, 5), torch.randn(2, 3, 4, 5).permute(1, 3, 0, 2)
    v, rank_0 = torch.randn(7), torch.randn(())
    return [
        (transposed(), v),
        (v, transposed()),
        (transposed(), torch.randn(9, 7)),
        (torch.randn(9, 7), transposed()),
        (x, torch.randn(5)),
        (x, torch.randn(2, 3, 4, 5)),
        (torch.randn(2, 3, 4, 5), x),
        (permuted, permuted.contiguous()),
        (x, rank_0),
        (rank_0, x),
        (rank_0, transposed()),
    ]


MORE = {
    "roll": lambda x: x.roll(1, 0),
    "roll flat": lambda x: x.roll(1),
    "roll dims": lambda x: x.roll((1, -1), (0, 1)),
    "flip": lambda x: x.flip(0),
    "repeat": lambda x: x.repeat(*([2] * x.dim())),
    "clone": lambda x: x.clone(),
    "tril": lambda x: x.tril(),
    "pad": lambda x: F.pad(x, (1, 1)),
    "cat": lambda x: torch.cat([x, x]),
    "stack": lambda x: torch.stack([x, x]),
    "index_select": lambda x: x.index_select(0, torch.tensor([0, 1])),
    "index": lambda x: x[torch.tensor([0, 1])],
    "index second": lambda x: x[:, torch.tensor([0, 0])],
    "gather": lambda x: x.gather(0, torch.zeros(x.shape, dtype=torch.long)),
    "slice_scatter": lambda x: torch.slice_scatter(x, x[:1], 0, 0, 1),
    "select_scatter": lambda x: torch.select_scatter(x, x[0], 0, 0),
    "scatter": lambda x: x.scatter(0, torch.zeros(x[:1].shape, dtype=torch.long), 1.0),
    "to": lambda x: x.to(torch.float64),
    "full_like": lambda x: torch.full_like(x, 1),
    "layer_norm": lambda x: F.layer_norm(x, x.shape[-1:]),
    "group_norm": lambda x: F.group_norm(x, 1),
    "batch_norm": lambda x: F.batch_norm(x, torch.zeros(x.shape[1]), torch.ones(x.shape[1])),
    "sort": lambda x: tuple(x.sort(0)),
    "cumsum": lambda x: x.cumsum(0),
    "native_dropout_backward": lambda x: torch.ops.aten.native_dropout_backward(x, x > 0, 1 / 0.7),
    "logsigmoid": F.logsigmoid,
    "max_unpool2d": lambda x: F.max_unpool2d(x, torch.arange(x[0, 0].numel()).view(x[0, 0].shape).expand(x.shape), 1) if x.dim() == 4 else x.clone(),
    "as_strided of roll": lambda x: x.roll(1, 0).as_strided((2,), (1,), 1),
}

TWO = {"floor_divide": lambda x, y: x // y, "heaviside": torch.heaviside, "logaddexp": torch.logaddexp, "logaddexp2": torch.logaddexp2}
COMPLEX = {
    name: getattr(torch, name)
    for name in """angle abs sgn exp log sqrt reciprocal sin tanh square conj_physical real imag view_as_real neg sigmoid rsqrt isfinite
    isnan atan sinh log10 log2 expm1 log1p""".split()
}

GROUPS = {
    "unary": ({name: f for name, (f, _) in UNARY.items()}, one),
    "complex": (COMPLEX, lambda: [(torch.complex(x, x),) for (x,) in one()]),
    "binary": ({name: f for name, (f, _) in (BINARY | DIVISIONS).items()} | TWO, two),
    "reductions": ({name: f for name, (f, _) in REDUCTIONS.items()}, one),
    "moves": (MORE, one),
}


def promised_strides(function, inputs):
    found = []

    def backend(module, example_inputs):
        def compiler(graph, _):
            (output,) = (node for node in graph.graph.nodes if node.op == "output")
            found.extend(tuple(node.meta["val"].stride()) for node in output.args[0])
            return make_boxed_func(graph)

        return aot_module_simplified(module, example_inputs, fw_compiler=compiler, decompositions=decomposition_table())

    torch.compile(function, backend=backend, fullgraph=True)(*inputs)
    return found


@pytest.mark.parametrize("group", GROUPS)
def test_promised_strides_are_eagers(group):
    functions, make = GROUPS[group]
    cases = []
    for name, function in functions.items():
        for number, inputs in enumerate(make()):
            try:
                function(*inputs)
            except (RuntimeError, IndexError, ValueError):
                continue
            cases.append((f"{name} of inputs {number}", function, number))
    inputs = make()

    def all_of_them(*inputs):
        results = []
        for _, function, number in cases:
            result = function(*inputs[number])
            # Views of inputs are not results of the graph; adding 0 makes them results and preserves strides.
            results += [x + 0 for x in (result if isinstance(result, (tuple, list)) else [result])]
        return results

    expected = all_of_them(*inputs)
    promised = promised_strides(all_of_them, inputs)
    assert len(promised) == len(expected)
    places = [label for label, function, number in cases for _ in range(count(function, inputs[number]))]
    wrong = [
        f"{place}: {have} instead of {want.stride()}"
        for place, have, want in zip(places, promised, expected)
        if any(h != w and n > 1 for h, w, n in zip(have, want.stride(), want.shape))
    ]
    assert not wrong, "\n".join(wrong)


def test_operands_of_another_type_are_converted_first():
    """A converted copy of an expanded operand is contiguous, so it decides the strides of the result; integers are converted where the result is a float."""
    types = (torch.float32, torch.bfloat16, torch.complex64, torch.int64, torch.bool)
    functions = [torch.add, torch.mul, torch.div, torch.atan2, torch.eq, torch.logical_and, torch.maximum, torch.copysign]
    functions += [lambda a, b: torch.where(a != 0, a, b), lambda a, b: torch.addcmul(b, a, b), lambda a, b: torch.where(b != 0, 1.5, a)]
    inputs = [torch.ones(1, 5, 6).to(one).expand(2, 5, 6) for one in types] + [torch.ones(6, 5, 2).to(one).permute(2, 1, 0) for one in types]
    cases = []
    for number, function in enumerate(functions):
        for a, b in [*itertools.product(range(5), range(5, 10)), *itertools.product(range(5, 10), range(5))]:
            with contextlib.suppress(RuntimeError):
                function(inputs[a], inputs[b])
                cases.append((number, a, b))

    def all_of_them(*inputs):
        return [functions[number](inputs[a], inputs[b]) for number, a, b in cases]

    expected = [x.stride() for x in all_of_them(*inputs)]
    promised = promised_strides(all_of_them, inputs)
    wrong = [f"{case}: {have} instead of {want}" for case, have, want in zip(cases, promised, expected) if have != want]
    assert len(cases) > 300 and not wrong, "\n".join(wrong)


def count(function, inputs):
    result = function(*inputs)
    return len(result) if isinstance(result, (tuple, list)) else 1


@pytest.mark.parametrize("dynamic", [False, True])
def test_strides_of_dims_of_size_1_are_promised_too(dynamic):
    def function(x):
        total = x.sum(0, keepdim=True)
        return total, x.amax(1, keepdim=True), x.mean((0, 1), keepdim=True), (x + 1)[:1], (x * 2)[:, None], total

    x = torch.randn(4, 3).t()
    actual = torch.compile(function, backend="frit", dynamic=dynamic, options={"strict": True})(x)
    expected = function(x)
    assert [a.stride() for a in actual] == [e.stride() for e in expected]
    assert actual[0] is actual[-1] and all(torch.allclose(a, e) for a, e in zip(actual, expected, strict=True))


def test_a_named_tuple_of_results_may_be_laid_anew():
    x = torch.randn(4, 3).t()

    def function(x):
        return torch.aminmax(x, dim=0, keepdim=True)

    actual, expected = torch.compile(function, backend="frit", options={"strict": True})(x), function(x)
    assert all(torch.equal(a, b) and a.stride() == b.stride() for a, b in zip(actual, expected, strict=True))


@pytest.mark.parametrize(
    "function, operands",
    [
        (lambda x: F.channel_shuffle(x, 2), [channels_last(2, 4, 6, 5)]),
        (lambda x: F.glu(x, 1), [channels_last(2, 4, 3, 4)]),
        (lambda x: F.glu(x, 0), [torch.randn(2, 6, 5, 4).permute(0, 3, 1, 2)]),
        (lambda x: F.softmax(x, 0), [torch.randn(3, 2).t()]),
        (F.cross_entropy, [torch.randn(3, 2).t(), torch.rand(3, 2).t()]),
    ],
    ids=["channel_shuffle", "glu", "glu of a permutation", "softmax", "cross_entropy of probabilities"],
)
def test_strides_of_results_and_gradients_are_those_of_aot_eager(function, operands):
    def strides(backend):
        x, *rest = operands
        x = x.clone().requires_grad_()
        result = torch.compile(function, backend=backend)(x, *rest)
        (gradient,) = torch.autograd.grad(result.square().sum(), x)
        return result.stride(), gradient.stride()

    assert strides("frit") == strides("aot_eager")


@pytest.mark.parametrize("reduction", ["none", "mean"])
def test_losses_of_images_in_other_layouts_are_eagers(reduction):
    target = torch.randint(0, 3, (2, 4, 4))

    def outcome(backend, x):
        x = x.clone().requires_grad_()
        result = torch.compile(F.nll_loss, backend=backend)(x, target, reduction=reduction)
        try:
            return result.stride(), torch.autograd.grad(result.sum(), x)[0].stride()
        except RuntimeError as error:
            return result.stride(), str(error)

    for x in (channels_last(2, 3, 4, 4), torch.randn(4, 3, 4, 2).transpose(0, 3), torch.randn(2, 3, 4, 4)):
        assert outcome("frit", x) == outcome("aot_eager", x)


@pytest.mark.parametrize("exponent", [torch.float32, torch.float64, torch.complex64, torch.int64], ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.complex64, torch.int32], ids=str)
def test_strides_of_ldexp_follow_from_the_types(dtype, exponent):
    pairs = [
        (torch.ones(5, 1, 10).to(dtype).permute(2, 1, 0), torch.ones(5, 10, 1).to(exponent).permute(2, 1, 0)),
        (torch.ones(1, 6, 5).to(dtype).expand(2, 6, 5), torch.ones(5, 6, 2).to(exponent).permute(2, 1, 0)),
    ]
    compiled = torch.compile(lambda: [torch.ldexp(x, e) for x, e in pairs], backend="frit")
    assert [one.stride() for one in compiled()] == [torch.ldexp(x, e).stride() for x, e in pairs]


def with_offset(offset):
    return torch.randn(400 + offset)[offset:].view(20, 20)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: torch.slice_scatter(x, torch.zeros(10, 20), 0, 0, 10),
        lambda x: torch.select_scatter(x, torch.zeros(20), 0, 1),
        lambda x: torch.diagonal_scatter(x, torch.zeros(20)),
        lambda x: torch.slice_scatter(x.t(), torch.zeros(10, 20), 0, 0, 10)[1:],
        lambda x: torch.slice_scatter(x.clone(), torch.zeros(10, 20), 0, 0, 10),
        lambda x: torch.slice_scatter(x, torch.zeros(10, 20), 0, 0, 10) * 2,
    ],
    ids=["slice", "select", "diagonal", "view of a view", "clone", "kernel"],
)
def test_copies_of_a_storage_have_the_offset_of_the_call(function):
    """An argument may have another storage offset in each call; torch does not guard it."""
    compiled = torch.compile(function, backend="frit", options={"strict": True})
    for offset in (3, 0, 5):
        x = with_offset(offset)
        actual, expected = compiled(x), function(x)
        assert torch.equal(actual, expected) and actual.storage_offset() == expected.storage_offset()
