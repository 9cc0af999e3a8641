"""The cases of torch's operator database (`torch.testing._internal.common_methods_invocations.op_db`): each operator, each type that
it claims on the CPU, some of its samples, each as several programs and over several layouts of its operands.

A *phase* is a set of programs and layouts that are compiled together for one operator and type (PHASES). A case of a phase is one sample
as one program with one layout of its operands. The samples depend only on the seed, the operator and the type.
"""

import dataclasses
import functools
import itertools
import random
from collections.abc import Callable

import torch
from torch.utils import _pytree as pytree

#: Samples are chosen among this number of an operator's first ones.
KNOWN_SAMPLES = 64

#: name -> (training, dynamic, [(program, layout), ...])
PHASES = {
    "inference": (False, False, [("plain", "as it is"), ("in place", "as it is"), ("out", "as it is")]),
    "programs": (
        False,
        False,
        [("behind a view", "as it is"), ("before a write", "as it is"), ("buffer update", "as it is"), ("out", "strided")],
    ),
    "layouts": (
        False,
        False,
        [("plain", layout) for layout in ("strided", "permuted", "offset", "expanded", "conjugated", "negated")]
        + [("in place", "strided"), ("before a write", "offset")],
    ),
    "training": (True, False, [("plain", "as it is"), ("plain", "strided"), ("in place", "as it is"), ("before a write", "as it is")]),
    "training layouts": (
        True,
        False,
        [("plain", layout) for layout in ("permuted", "offset", "expanded", "conjugated", "negated")]
        + [("behind a view", "as it is"), ("buffer update", "as it is")],
    ),
    "dynamic": (
        False,
        True,
        [("plain", "as it is"), ("plain", "strided"), ("plain", "offset"), ("in place", "as it is"), ("behind a view", "as it is")]
        + [("before a write", "as it is"), ("buffer update", "strided"), ("plain", "conjugated"), ("plain", "negated")],
    ),
    "dynamic layouts": (
        False,
        True,
        [("plain", "permuted"), ("plain", "expanded"), ("in place", "strided"), ("before a write", "offset")]
        + [("out", "as it is"), ("out", "strided"), ("buffer update", "as it is")],
    ),
    "dynamic training": (True, True, [("plain", "as it is"), ("plain", "strided"), ("behind a view", "as it is")]),
    "dynamic training layouts": (
        True,
        True,
        [("plain", layout) for layout in ("permuted", "offset", "expanded", "conjugated", "negated")]
        + [("in place", "as it is"), ("before a write", "as it is"), ("buffer update", "as it is")],
    ),
    "errors": (False, False, []),
}

#: Operators that return uninitialised memory: only the metadata of their results is compared.
UNINITIALISED = {"empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided", "resize_", "resize_as_"}

#: Operators whose fake kernel promises another size than the kernel returns. Their backward graph is traced for wrong sizes and runs
#: uncompiled, which `strict` refuses.
FAKE_SIZES = {("nn.functional.embedding_bag", "bfloat16")}


#: Errors of eager's fp64 kernels in ulps that fp32 kernels do not show, because those accumulate in fp64. Measured with rational
#: arithmetic over 60 draws of 125 elements: eager's variance errs by up to 3.4 ulp, frit's by 0.8.
KERNEL_ERRORS = {("var", "float64"): 4.0}


@dataclasses.dataclass
class Case:
    """A program over tensors: `function(*leaves)`."""

    label: str
    function: Callable
    leaves: list
    compare: bool = True  # whether values are defined
    kernel_error: float = 0.0  # of eager, in ulps, where it is known


@functools.cache
def operators():
    """Returns {name: OpInfo} in the database's order."""
    from torch.testing._internal import common_methods_invocations as database
    from torch.testing._internal.opinfo import core

    # The database's wrapper of random operators would seed during tracing, not when the graph runs.
    database.wrapper_set_seed = lambda operator, *args, **kwargs: operator(*args, **kwargs)
    # For each iterator of samples the database looks for a test of unittest in the call stack, with the source of each frame. That took half the
    # time of tests of small operators.
    core.extract_test_fn = lambda: None
    found = {}
    for op in database.op_db:
        assert op.full_name not in found, op.full_name
        found[op.full_name] = op
    return found


def dtype_name(dtype):
    return str(dtype).removeprefix("torch.")


def types(name, phase):
    """Returns the names of the types that an operator claims in a phase. Errors have no type, so float32 is returned for them."""
    op = operators()[name]
    if phase == "errors":
        return ["float32"] if op.error_inputs_func is not None else []
    claimed = op.supported_dtypes("cpu")
    if PHASES[phase][0]:
        claimed = claimed & op.supported_backward_dtypes("cpu") if op.supports_autograd else ()
    return sorted(map(dtype_name, claimed))


def drawn(seed, count, phases=tuple(PHASES), most=3):
    """Draws `count` triples (operator, types, phase) by a seed: each operator at most once if possible, cheap phases more often, at most `most`
    types."""
    chooser = random.Random(seed)
    weights = [4 if phase == "inference" else 2 if phase == "training" else 1 for phase in phases]
    names, found = [], []
    while len(found) < count:
        if not names:
            names = list(operators())
            chooser.shuffle(names)
        name, phase = names.pop(), chooser.choices(phases, weights)[0]
        claimed = types(name, phase)
        if claimed:
            found.append((name, sorted(chooser.sample(claimed, min(most, len(claimed)))), phase))
    return found


def cases(name, dtype, phase, seed=0, count=2):
    """Returns the cases of an operator, a type (by name) and a phase, over at most `count` samples, including those that eager refuses."""
    op = operators()[name]
    training, _, programs = PHASES[phase]
    chooser = random.Random(f"{seed} {name} {dtype}")
    if phase == "errors":
        return list(_errors(op, chooser, count))
    _seed_everything(chooser.getrandbits(32))
    samples = list(itertools.islice(op.sample_inputs("cpu", getattr(torch, dtype), requires_grad=training, set_seed=False), KNOWN_SAMPLES))
    numbers = list(range(len(samples)))
    # The first sample is the most typical one; the others are drawn.
    chosen = sorted([0, *chooser.sample(numbers[1:], min(count, len(numbers)) - 1)] if numbers else [])
    found = []
    for number in chosen:
        for program, layout in programs:
            made = _case(op, samples[number], program, layout, training)
            if made is not None:
                function, leaves = made
                label, error = f"{dtype} {number}: {program}, {layout}", KERNEL_ERRORS.get((name, dtype), 0.0)
                found.append(Case(label, function, leaves, op.name not in UNINITIALISED, error))
    return found


def _seed_everything(seed):
    torch.manual_seed(seed)
    random.seed(seed)
    try:
        import numpy

        numpy.random.seed(seed)
    except ImportError:
        pass


def _errors(op, chooser, count):
    _seed_everything(chooser.getrandbits(32))
    inputs = list(itertools.islice(op.error_inputs("cpu"), KNOWN_SAMPLES))
    for number in sorted(chooser.sample(range(len(inputs)), min(max(count, 4), len(inputs)))):
        sample = inputs[number].sample_input
        if not isinstance(sample, Exception):
            leaves, call = _opened(sample)
            yield Case(f"float32 {number}: error", functools.partial(call, op.get_op()), leaves)


def _opened(sample):
    """Returns the tensors of a sample, each once, and `call(operator, *tensors)`."""
    flat, structure = pytree.tree_flatten((sample.input, tuple(sample.args), dict(sample.kwargs)))
    leaves, places = [], {}
    for place, value in enumerate(flat):
        if isinstance(value, torch.Tensor):
            same = [i for i, leaf in enumerate(leaves) if leaf is value]
            places[place] = same[0] if same else len(leaves)
            if not same:
                leaves.append(value)

    def call(operator, *tensors):
        values = [tensors[places[i]] if i in places else value for i, value in enumerate(flat)]
        operand, args, kwargs = pytree.tree_unflatten(values, structure)
        return operator(operand, *args, **kwargs)

    return leaves, call


def _case(op, sample, program, layout, training):
    """Returns (function, leaves) of a program, or None if it does not exist for the operator, the sample or the layout."""
    leaves, call = _opened(sample)
    strided = all(x.layout is torch.strided for x in leaves)
    laid = [LAYOUTS[layout](x, i) if strided else x for i, x in enumerate(leaves)]
    if layout != "as it is" and all(new is old for new, old in zip(laid, leaves)):
        return None
    leaves = [x if new is x else new.detach().requires_grad_(x.requires_grad) for x, new in zip(leaves, laid)]
    if not strided and program not in ("plain", "before a write"):
        return None
    made = PROGRAMS[program](op, sample, leaves, call, layout)
    if made is None or not training:
        return made
    function, leaves = made
    process = sample.output_process_fn_grad
    return lambda *tensors: process(function(*tensors)), leaves


# -- programs ----------------------------------------------------------------------------------------------


def _plain(op, sample, leaves, call, layout):
    return functools.partial(call, op.get_op()), leaves


def _in_place(op, sample, leaves, call, layout):
    variant = op.get_inplace()
    if variant is None or sample.broadcasts_input or not isinstance(sample.input, torch.Tensor):
        return None

    def run(first, *rest):
        # A leaf that requires gradients must not be written.
        first = first.clone() if first.requires_grad else first
        return call(variant, first, *rest)

    return run, leaves


def _out(op, sample, leaves, call, layout):
    if not op.supports_out or any(x.requires_grad for x in leaves):
        return None
    expected = _tried(functools.partial(call, op.get_op()), leaves)
    targets, structure = pytree.tree_flatten(expected)
    if not targets or not all(isinstance(x, torch.Tensor) and x.layout is torch.strided for x in targets):
        return None
    blank = [torch.zeros_like(x, memory_format=torch.contiguous_format) for x in targets]
    blank = [LAYOUTS[layout](x, 0) for x in blank]

    def run(*tensors):
        out = pytree.tree_unflatten(list(tensors[: len(blank)]), structure)
        if isinstance(out, (tuple, list)):
            out = tuple(out)
        return call(functools.partial(op.get_op(), out=out), *tensors[len(blank) :])

    return run, blank + leaves


def _behind_a_view(op, sample, leaves, call, layout):
    """The first operand is a transposed slice of an argument."""
    if not leaves or leaves[0].is_sparse:
        return None
    x = leaves[0]
    swapped = x.ndim >= 2
    stored = x.detach().transpose(0, -1) if swapped else x.detach()
    base = torch.stack([torch.zeros_like(stored), stored]).contiguous().requires_grad_(x.requires_grad)

    def run(base, *rest):
        view = base[1]
        return call(op.get_op(), view.transpose(0, -1) if swapped else view, *rest)

    return run, [base, *leaves[1:]]


def _before_a_write(op, sample, leaves, call, layout):
    """The result, and then the first operand, are written in place."""

    def run(*tensors):
        # Memory of a leaf that requires gradients must not be written.
        tensors = [x.clone() if x.requires_grad else x for x in tensors]
        result = call(op.get_op(), *tensors)
        first = next((x for x in pytree.tree_leaves(result) if isinstance(x, torch.Tensor)), None)
        if first is not None:
            _write(first)
        if tensors and not tensors[0].requires_grad:
            _write(tensors[0])
        return result

    return run, leaves


def _write(x):
    if x.dtype == torch.bool:
        x.logical_not_()
    elif x.dtype.itemsize == 1 and x.is_floating_point():
        x.fill_(1)
    else:
        x.mul_(2)


def _buffer_update(op, sample, leaves, call, layout):
    """Writes the result to a buffer, like a module that stores state between steps."""
    expected = _tried(functools.partial(call, op.get_op()), leaves)
    first = next((x for x in pytree.tree_leaves(expected) if isinstance(x, torch.Tensor)), None)
    if first is None or first.layout is not torch.strided:
        return None
    buffer = LAYOUTS[layout](torch.ones_like(first.detach(), memory_format=torch.contiguous_format), 0)

    def run(buffer, *tensors):
        result = call(op.get_op(), *tensors)
        before = buffer.clone()
        value = next(x for x in pytree.tree_leaves(result) if isinstance(x, torch.Tensor))
        buffer.copy_(value.detach())
        return before, result

    return run, [buffer, *leaves]


def _tried(function, leaves):
    """Returns eager's results on copies, or None if it refuses."""
    try:
        return function(*[x.detach().clone() for x in leaves])
    except Exception:
        return None


PROGRAMS = {
    "plain": _plain,
    "in place": _in_place,
    "out": _out,
    "behind a view": _behind_a_view,
    "before a write": _before_a_write,
    "buffer update": _buffer_update,
}


# -- layouts -----------------------------------------------------------------------------------------------
# Each takes an operand and its number, and returns the operand itself if the layout does not apply to it.


def _strided(x, number):
    wide = torch.zeros((*x.shape, 2), dtype=x.dtype)
    wide[..., 1] = x.detach()
    return wide[..., 1]


def _permuted(x, number):
    if x.ndim < 2:
        return x
    return x.detach().transpose(0, -1).clone(memory_format=torch.contiguous_format).transpose(0, -1)


def _offset(x, number):
    flat = torch.zeros(x.numel() + 3, dtype=x.dtype)
    flat[3:] = x.detach().reshape(-1)
    return flat[3:].view(x.shape)


def _expanded(x, number):
    # Not for indices: expanded rows would repeat an index, and some operators need distinct ones.
    if x.ndim == 0 or x.shape[0] < 2 or (number and not (x.is_floating_point() or x.is_complex())):
        return x
    return x.detach()[:1].clone().expand(x.shape)


def _conjugated(x, number):
    return torch.conj(x.detach().conj_physical()) if x.is_complex() else x


def _negated(x, number):
    return torch._neg_view(-x.detach()) if (x.is_floating_point() and x.dtype.itemsize > 1) or x.is_complex() else x


LAYOUTS = {
    "as it is": lambda x, number: x,
    "strided": _strided,
    "permuted": _permuted,
    "offset": _offset,
    "expanded": _expanded,
    "conjugated": _conjugated,
    "negated": _negated,
}
