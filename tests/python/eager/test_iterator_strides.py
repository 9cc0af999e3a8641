"""The strides of elementwise results: compares the formula with eager's kernels, and every elementwise operator of several tensors with the formula."""

import itertools
import random

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from frit.eager import strides
from frit.eager.decompositions import decomposition_table

LAYOUTS = {
    "contiguous": lambda x: x.view(2, 3, 4),
    "reversed": lambda x: x.view(4, 3, 2).permute(2, 1, 0),
    "swapped": lambda x: x.view(3, 2, 4).permute(1, 0, 2),
    "repeated": lambda x: x[:3].view(1, 3, 1).expand(2, 3, 4),
    "of rank 2": lambda x: x[:12].view(4, 3).t(),
    "of one": lambda x: x[:8].view(4, 1, 2).permute(2, 1, 0),
}
# Operators that do not take arbitrary numbers, or are not functions of single elements.
NOT_ASKED = {"binary_cross_entropy_backward", "polygamma", "special_polygamma", "native_dropout_backward"}


def some_layout(shape):
    """Returns a tensor of `shape`, or one that is broadcast to it, with a random order of dimensions and sometimes with gaps."""
    rank = random.randint(max(1, len(shape) - 1), len(shape))
    sizes = [size if random.random() < 0.7 else 1 for size in shape[len(shape) - rank :]]
    order = random.sample(range(rank), rank)
    gap = random.choice((1, 1, 2))
    x = torch.ones([sizes[dim] * gap for dim in order]).permute([order.index(dim) for dim in range(rank)])
    return x[tuple(slice(None, None, gap) for _ in sizes)]


@pytest.mark.parametrize("seed", range(4))
def test_the_formula_is_the_kernels(seed):
    random.seed(seed)
    for _ in range(500):
        shape = [random.choice([1, 2, 2, 3]) for _ in range(random.randint(1, 4))]
        tensors = [some_layout(shape) for _ in range(random.choice((2, 2, 3)))]
        eager = torch.add(*tensors) if len(tensors) == 2 else torch.addcmul(*tensors)
        assert tuple(strides.iterator_strides(*tensors)) == eager.stride(), [(x.shape, x.stride()) for x in tensors]


def arguments_of(op, layouts, dtype):
    """Returns arguments of `op`, its tensors with these `layouts` in turn; None if an argument's kind is not supported here."""
    layouts, positional, named = itertools.chain(layouts, itertools.repeat("contiguous")), [], {}
    for argument in op._schema.arguments:
        kind = str(argument.type)
        if kind in ("Tensor", "Optional[Tensor]"):
            is_mask = argument.name in ("condition", "mask")
            value = LAYOUTS[next(layouts)](torch.arange(1, 25).to(torch.bool if is_mask else dtype))
        elif argument.has_default_value():
            value = argument.default_value
        elif kind in ("number", "float", "int", "bool"):
            value = kind != "bool" and 1
        else:
            return None
        if argument.kwarg_only:
            named[argument.name] = value
        else:
            positional.append(value)
    return positional, named


def traced(rule, op, positional, named):
    """Returns the strides of the result that a graph promises."""
    with FakeTensorMode() as mode:
        fakes = [mode.from_tensor(x) if isinstance(x, torch.Tensor) else x for x in positional]
        keywords = {name: mode.from_tensor(x) if isinstance(x, torch.Tensor) else x for name, x in named.items()}
        result = rule(*fakes, **keywords)
        return (op(*fakes, **keywords) if result is NotImplemented else result).stride()


def elementwise_operators():
    return sorted((op for op in strides._iterated_operators() if op._schema.name.split("::")[1] not in NOT_ASKED), key=str)


def test_every_elementwise_operator_has_its_kernels_strides():
    table, wrong, asked = decomposition_table(), [], 0
    for op in elementwise_operators():
        for dtype in (torch.float32, torch.int64, torch.bool):
            ran = False
            for layouts in itertools.product(LAYOUTS, repeat=2):
                arguments = arguments_of(op, layouts, dtype)
                if arguments is None:
                    break
                try:
                    eager = op(*arguments[0], **arguments[1])
                except (RuntimeError, NotImplementedError):
                    continue  # eager refuses these types or sizes
                ran = True
                promised = traced(table[op], op, *arguments)
                if any(a != b and n > 1 for a, b, n in zip(promised, eager.stride(), eager.shape)):
                    wrong.append(f"{op} of {layouts}: {promised} instead of {eager.stride()}")
            if ran:
                asked += 1
                break
    assert not wrong, "\n".join(wrong)
    assert asked >= 60


def test_rules_with_a_layout_of_their_own_are_decomposed():
    # `layout` is an argument of new_zeros, and its name once clashed with a parameter of the function that preserves strides.
    from torch._dynamo.utils import counters

    x = torch.randn(4, 6).t().requires_grad_()

    def fn(x):
        return (x.new_zeros(x.shape) + x).sin().select(0, 1) * 2

    before = counters["frit"]["traced_whole"]
    out = torch.compile(fn, backend="frit", options={"strict": True})(x)
    out.sum().backward()
    assert counters["frit"]["traced_whole"] == before
    torch.testing.assert_close(out, fn(x))
