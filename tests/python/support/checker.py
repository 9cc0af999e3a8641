"""Compares compiled programs with eager, by the rules of all tests.

Exact class: values are equal bit for bit, but all NaNs count as equal. Float class: the error relative to an fp64
run is at most twice eager's (or 2 ulp of the result's norm), and no element is off by more than 64 ulp plus eight
times eager's largest error. For fp64 results, the error of the same program in fp32, in ulps, is used instead of
eager's. A result of a few elements is a small sample: of two equally good sums, one errs twice as much as the other
three times in ten. If such a result fails, eager's error is the largest of several runs on inputs and parameters that
differ by a rounding. Always compared: type, shape, strides, storage offset, lazy conjugates and negatives, which
tensors share storage, and mutations of the inputs.
"""

import contextlib

import torch
import torch.utils._pytree as pytree
from torch._dynamo.utils import counters

from frit import backend

SMALL = 10
DRAWS = 24
COMPILED_AGAIN = "compiled again, because of a mistake of frit's own, which its warning names"


def compiled_again():
    """The number of graphs that frit compiled again, in ATen or without reuse: their results are right, but not from the plan that was meant."""
    return counters["frit"]["retries"]


@contextlib.contextmanager
def executables():
    """Collects the executables that are compiled in a block, in order."""
    seen = []

    def observe(name, stage, captured, report, executable):
        seen.append(executable)

    backend._OBSERVERS.append(observe)
    try:
        yield seen
    finally:
        backend._OBSERVERS.remove(observe)


class SmallSample(AssertionError):
    """Raised if a tensor errs more than twice as much as eager in a single run; `is_small`: it has a few elements."""

    is_small = True


class Roundings(torch.utils._python_dispatch.TorchDispatchMode):
    """Perturbs the results of each operator, in fp64, by up to a rounding of a narrower type, except for operators that only move elements. The
    operands of an operator with fewer results than operands' elements are perturbed too, because it adds and rounds many times."""

    EXACT = {"clone", "copy_", "cat", "stack", "index", "gather", "where", "constant_pad_nd", "relu", "zeros_like", "ones_like", "fill_", "new_zeros"}

    def __init__(self, epsilon, generator):
        super().__init__()
        self.epsilon, self.generator = epsilon, generator

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        state = torch.get_rng_state()
        result = func(*args, **(kwargs or {}))
        if any(r.alias_info is not None for r in func._schema.returns) or func._schema.name.split("::")[1] in self.EXACT:
            return result
        made = min((x.numel() for x in pytree.tree_leaves(result) if isinstance(x, torch.Tensor)), default=0)
        if any(self._is_wide(x) and x.numel() > made for x in pytree.tree_leaves(args)):
            torch.set_rng_state(state)
            result = func(*pytree.tree_map(lambda x: self._moved(x) if self._is_wide(x) else x, args), **(kwargs or {}))
        for x in pytree.tree_leaves(result):
            if self._is_wide(x):
                x.copy_(self._moved(x))
        return result

    @staticmethod
    def _is_wide(x):
        return isinstance(x, torch.Tensor) and x.dtype == torch.float64

    def _moved(self, x):
        noise = torch.rand(x.shape, generator=self.generator, dtype=torch.float64, device="cpu").to(x.device) * 2 - 1
        return x * (1 + self.epsilon * noise)


class Outcome:
    """The leaves of a result and of the inputs, each with a description of its position."""

    def __init__(self, leaves, inputs):
        self.leaves = leaves
        self.inputs = inputs

    @property
    def tensors(self):
        return [x for x in self.inputs + self.leaves if isinstance(x, torch.Tensor)]


def copied(inputs):
    """Copies a tree of inputs, and preserves strides, offsets, shared storages and lazy conjugates and negatives."""
    storages = {}

    def copy(x):
        if not isinstance(x, torch.Tensor):
            return x
        flat = storages.get(x.untyped_storage()._cdata)
        if flat is None:
            flat = x.detach().new_empty(0).set_(x.untyped_storage().clone()) if x.numel() or x.untyped_storage().nbytes() else None
            storages[x.untyped_storage()._cdata] = flat
        if flat is None:
            return x.detach().clone().requires_grad_(x.requires_grad)
        result = torch.empty(0, dtype=x.dtype, device=x.device).set_(flat.untyped_storage(), x.storage_offset(), x.shape, x.stride())
        result = torch.conj(result) if x.is_conj() else result
        result = torch._neg_view(result) if x.is_neg() else result
        return result.detach().requires_grad_(x.requires_grad)

    return pytree.tree_map(copy, inputs)


def widened(inputs):
    """Converts floating-point tensors to fp64."""

    def widen(x):
        if isinstance(x, torch.Tensor) and x.dtype.is_floating_point:
            return x.detach().double().requires_grad_(x.requires_grad)
        return x.detach().clone() if isinstance(x, torch.Tensor) else x

    return pytree.tree_map(widen, inputs)


def narrowed(inputs):
    """Converts fp64 tensors to fp32."""

    def narrow(x):
        if isinstance(x, torch.Tensor) and x.dtype == torch.float64:
            return x.detach().float().requires_grad_(x.requires_grad)
        return x

    return pytree.tree_map(narrow, inputs)


class NamedTypes(torch.overrides.TorchFunctionMode):
    """Replaces every floating-point type that a call names (`dtype=torch.float16`)."""

    def __init__(self, dtype):
        super().__init__()
        self.dtype = dtype

    def __torch_function__(self, func, types, args=(), kwargs=None):
        def named(x):
            return self.dtype if isinstance(x, torch.dtype) and x.is_floating_point else x

        return func(*pytree.tree_map(named, tuple(args)), **pytree.tree_map(named, dict(kwargs or {})))


def run_in(dtype, call, inputs, seed):
    """Runs on the inputs as `dtype` (fp64 or fp32). If a program that names a type refuses such operands, the named types are replaced too."""
    make = widened if dtype == torch.float64 else lambda x: copied(narrowed(x))
    try:
        return run(call, make(inputs), seed)
    except RuntimeError:
        with NamedTypes(dtype):
            return run(call, make(inputs), seed)


def fp64_errors(call, inputs, seed, expected):
    """Returns eager's errors in fp64, estimated from the same program in fp32; None for leaves of `expected` that are not fp64."""
    narrow = run_in(torch.float32, call, inputs, seed)
    wide = run_in(torch.float64, call, narrowed(inputs), seed)

    def error(x, y, value):
        if not _is_float(value) or value.dtype != torch.float64 or x.dtype != torch.float32:
            return None
        difference = (x.detach().double() - y.detach().double()).abs()
        ratio = torch.finfo(torch.float64).eps / torch.finfo(torch.float32).eps
        return torch.where(difference.isfinite(), difference, torch.zeros_like(difference)) * ratio

    return Outcome(
        _each(error, narrow.leaves, wide.leaves, expected.leaves), _each(error, narrow.inputs, wide.inputs, expected.inputs)
    )


def drawn_errors(call, inputs, seed, module, expected=None):
    """Returns eager's largest errors over runs whose inputs differ by a rounding, for results of a few elements; else None. Errors of fp64
    results, if `expected` has some, are measured in fp32 as in `fp64_errors`. The error of an element is infinite if in such a run it is NaN or an
    infinity and in the program itself another one or a number, or the reverse (the gradient of a singular matrix): nothing defines what it is."""
    plain = run(call, copied(inputs), seed)
    generator = torch.Generator("cpu").manual_seed(0)

    def shaken(x):
        if not _is_float(x):
            return x
        noise = torch.rand(x.shape, generator=generator, dtype=torch.float64, device="cpu").to(x.device) * 2 - 1
        return (x.detach().double() * (1 + torch.finfo(x.dtype).eps * noise)).to(x.dtype).requires_grad_(x.requires_grad)

    def error(x, y, without):
        if not _is_float(x) or (x.numel() > SMALL and bool(without.isfinite().all())):
            return None
        difference = (x.detach().double() - y.detach().double()).abs()
        difference = torch.where(difference.isfinite() & (x.numel() <= SMALL), difference, torch.zeros_like(difference))
        return torch.where(_kinds(x) == _kinds(without), difference, torch.inf)

    parameters = [] if module is None else list(module.parameters())
    kept = [parameter.data for parameter in parameters]
    worst = None
    try:
        for _ in range(DRAWS):
            moved = pytree.tree_map(shaken, inputs)
            for parameter, data in zip(parameters, kept):
                parameter.data = shaken(data)
            once = run(call, copied(moved), seed)
            with module_in_fp64(module):
                exact = run(call, widened(moved), seed)
            drawn = Outcome(_each(error, once.leaves, exact.leaves, plain.leaves), _each(error, once.inputs, exact.inputs, plain.inputs))
            worst = drawn if worst is None else largest(worst, drawn)
            if expected is not None:
                # A program that names fp64 itself has no narrow form.
                with contextlib.suppress(RuntimeError):
                    worst = largest(worst, fp64_errors(call, pytree.tree_map(shaken, narrowed(inputs)), seed, expected))
    finally:
        for parameter, data in zip(parameters, kept):
            parameter.data = data
    return worst


def rounding_errors(call, inputs, seed, module, expected, reference):
    """Returns how far results move if each operator's result moves by a rounding (Monte Carlo arithmetic: Parker, Pierce, Eggert, 2000), so
    independently of how eager happened to round once. The roundings are those of the most precise result type; None if no result rounds."""
    types = {x.dtype for x in expected.leaves if _is_float(x) and x.dtype.itemsize > 1}
    if not types:
        return None

    def error(x, y):
        if not _is_float(x):
            return None
        difference = (x.detach().double() - y.detach().double()).abs()
        return torch.where(difference.isfinite(), difference, torch.zeros_like(difference))

    worst = None
    for draw in range(DRAWS):
        generator = torch.Generator("cpu").manual_seed(draw)
        with module_in_fp64(module), Roundings(min(torch.finfo(dtype).eps for dtype in types), generator):
            moved = run(call, widened(inputs), seed)
        drawn = Outcome(_each(error, moved.leaves, reference.leaves), _each(error, moved.inputs, reference.inputs))
        worst = drawn if worst is None else largest(worst, drawn)
    return worst


def _kinds(x):
    """0 for numbers, 1 for NaN, 2 and 3 for the infinities."""
    x = x.detach()
    return x.isnan() + 2 * x.isposinf() + 3 * x.isneginf()


def _each(function, *lists):
    return [function(*each) for each in zip(*lists)]


def largest(one, other):
    """Returns the elementwise maximum of two outcomes of errors."""

    def larger(a, b):
        return a if b is None else b if a is None else torch.maximum(a, b)

    return Outcome(_each(larger, one.leaves, other.leaves), _each(larger, one.inputs, other.inputs))


@contextlib.contextmanager
def module_in_fp64(module):
    """Converts the parameters and buffers of a module to fp64 within a block."""
    tensors = [] if module is None else [*module.parameters(), *module.buffers()]
    kept = [(t, t.data) for t in tensors]
    try:
        for tensor, data in kept:
            if data.dtype.is_floating_point:
                tensor.data = data.double()
        yield
    finally:
        for tensor, data in kept:
            tensor.data = data


def with_gradients(function, module=None):
    """Returns a function of the results followed by the gradients of their sum."""

    def run(*inputs):
        result = function(*inputs)
        sources = [x for x in pytree.tree_leaves(inputs) if isinstance(x, torch.Tensor) and x.requires_grad]
        sources += [p for p in (module.parameters() if module is not None else ()) if p.requires_grad]
        loss = sum(
            x.double().sum() for x in pytree.tree_leaves(result) if isinstance(x, torch.Tensor) and x.requires_grad
        )
        return result, torch.autograd.grad(loss, sources, allow_unused=True)

    return run


def run(function, inputs, seed=None):
    """Calls the function on the given inputs, which may be mutated, and returns the Outcome."""
    if seed is not None:
        torch.manual_seed(seed)
    result = function(*inputs)
    return Outcome(pytree.tree_leaves(result), pytree.tree_leaves(inputs))


def check(
    function,
    *inputs,
    compare="float",
    training=False,
    module=None,
    seed=None,
    backend="frit",
    compiled=None,
    strides=True,
    **compile_arguments,
):
    """Compiles, runs and compares with eager. Returns the compiled function, which can be checked again on other inputs."""
    module = module if module is not None else getattr(function, "module", None)
    if compiled is None:
        compile_arguments.setdefault("fullgraph", True)
        compiled = torch.compile(function, backend=backend, **compile_arguments)
    eager_call, compiled_call = function, compiled
    if training:
        eager_call, compiled_call = with_gradients(function, module), with_gradients(compiled, module)
    expected = run(eager_call, copied(inputs), seed)
    actual = run(compiled_call, copied(inputs), seed)
    reference = None
    if compare != "exact" and any(_is_float(x) for x in expected.tensors):
        with module_in_fp64(module):
            reference = run_in(torch.float64, eager_call, inputs, seed)
    errors = None
    if reference is not None and module is None and any(_is_float(x) and x.dtype == torch.float64 for x in expected.inputs):
        errors = fp64_errors(eager_call, inputs, seed, expected)
    try:
        compare_outcomes(actual, expected, reference, strides=strides, errors=errors)
    except SmallSample as unsure:
        if unsure.is_small:
            drawn = drawn_errors(eager_call, inputs, seed, module, None if errors is None else expected)
        else:
            drawn = rounding_errors(eager_call, inputs, seed, module, expected, reference)
        if drawn is None:
            raise
        errors = drawn if errors is None else largest(drawn, errors)
        compare_outcomes(actual, expected, reference, strides=strides, errors=errors, drawn=True)
    return compiled


def check_program(program):
    """Checks a program of `benchmarks.programs` at test scale, by the rules that it names (`compare`)."""
    function, inputs = program.make("test")
    return check(
        function,
        *inputs,
        compare=program.compare,
        training=program.training,
        seed=3 if program.random else None,
        fullgraph=program.fullgraph,
    )


def check_raises_as_eager(function, *inputs, compiled=None, backend="frit", **compile_arguments):
    """Checks that eager and compiled raise the same type with the same first line."""
    failures = []
    compile_arguments.setdefault("fullgraph", True)
    compiled = compiled or torch.compile(function, backend=backend, **compile_arguments)
    for call in (function, compiled):
        try:
            call(*copied(inputs))
        except Exception as error:
            failures.append(error)
        else:
            raise AssertionError(f"{'eager' if call is function else 'compiled'} did not raise")
    expected, actual = failures
    assert type(actual) is type(expected), (type(expected), expected, type(actual), actual)
    first = str(expected).split("\n")[0]
    assert str(actual).split("\n")[0] == first, f"eager: {first}\ncompiled: {actual}"
    return compiled


def compare_outcomes(actual, expected, reference=None, strides=True, errors=None, drawn=False):
    """Applies all rules to two outcomes; `reference` is the fp64 run if the float rule applies, `errors` eager's errors if they are known
    otherwise, and `drawn` whether these are from many runs."""
    for part in ("inputs", "leaves"):
        got, wanted = getattr(actual, part), getattr(expected, part)
        assert len(got) == len(wanted), f"{part}: {len(got)} instead of {len(wanted)}"
        precise = getattr(reference, part) if reference is not None else [None] * len(wanted)
        own = getattr(errors, part) if errors is not None else [None] * len(wanted)
        for i, (a, e, r, error) in enumerate(zip(got, wanted, precise, own)):
            place = f"{'input' if part == 'inputs' else 'result'} {i}"
            compare_values(a, e, r, place, error, drawn)
            if strides and isinstance(e, torch.Tensor):
                compare_layout(a, e, place)
                assert (a.is_conj(), a.is_neg()) == (e.is_conj(), e.is_neg()), (
                    f"{place}: lazily conjugated {a.is_conj()}, negated {a.is_neg()} instead of {e.is_conj()}, {e.is_neg()}"
                )
    shares, wanted = both_sharings(actual.tensors, expected.tensors)
    assert shares == wanted, f"storage sharing {shares} instead of {wanted}"


def sharing(tensors, alone=()):
    """Returns, for each tensor, the index of the first tensor with the same storage; empty storages and tensors numbered in `alone` share with none."""
    first = {}
    groups = []
    for i, tensor in enumerate(tensors):
        key = ("alone", i) if i in alone or not tensor.untyped_storage().nbytes() else tensor.untyped_storage()._cdata
        groups.append(first.setdefault(key, i))
    return groups


def both_sharings(actual, expected):
    """Returns the sharing of each list. A tensor whose storage is empty in one list shares in neither, because its storage is arbitrary."""
    alone = {i for i, pair in enumerate(zip(actual, expected)) if not all(x.untyped_storage().nbytes() for x in pair)}
    return sharing(actual, alone), sharing(expected, alone)


def compare_layout(actual, expected, place):
    """Compares observable strides and the storage offset."""
    if expected.numel() == 0:
        return
    for d, size in enumerate(expected.shape):
        if size > 1:
            assert actual.stride(d) == expected.stride(d), f"{place}: strides {actual.stride()} not {expected.stride()}"
    assert actual.storage_offset() == expected.storage_offset(), (
        f"{place}: storage offset {actual.storage_offset()} not {expected.storage_offset()}"
    )


def compare_values(actual, expected, reference, place, error=None, drawn=False):
    """Compares type, shape and values of one leaf."""
    if not isinstance(expected, torch.Tensor):
        assert type(actual) is type(expected), f"{place}: {actual!r} instead of {expected!r}"
        equal = actual == expected or (actual != actual and expected != expected)
        assert equal, f"{place}: {actual!r} instead of {expected!r}"
        return
    assert isinstance(actual, torch.Tensor), f"{place}: {type(actual).__name__} instead of a tensor"
    assert actual.dtype == expected.dtype, f"{place}: {actual.dtype} instead of {expected.dtype}"
    assert actual.shape == expected.shape, f"{place}: shape {tuple(actual.shape)} instead of {tuple(expected.shape)}"
    assert actual.requires_grad == expected.requires_grad, f"{place}: requires_grad {actual.requires_grad}"
    actual, expected = actual.detach(), expected.detach()
    if not _is_float(expected) or not isinstance(reference, torch.Tensor):
        compare_bits(actual, expected, place)
    else:
        compare_floats(actual, expected, reference.detach(), place, error, drawn)


def compare_bits(actual, expected, place):
    """Compares bit for bit: all NaNs are equal, and zeros of different sign differ."""
    if expected.is_complex():
        actual, expected = torch.view_as_real(actual.resolve_conj()), torch.view_as_real(expected.resolve_conj())
    same = actual == expected
    if expected.dtype.is_floating_point:
        same = (same & (actual.signbit() == expected.signbit())) | (actual.isnan() & expected.isnan())
    _demand(same, actual, expected, place, "differ")


def compare_floats(actual, expected, reference, place, known_error=None, drawn=True):
    """Applies the fp64 rule. `known_error` is eager's error if the reference cannot measure it. One run is a small sample: unless errors are
    `drawn` from many runs, a violation raises SmallSample."""
    reference = reference.to(torch.float64)
    wide, eager = actual.double(), expected.double()
    # A NaN that only eager's run has, not its fp64 run (gelu of an infinity in AVX-512 code), is an error of eager: a
    # number there is compared with the reference.
    narrow = reference.to(expected.dtype).double()
    truth = torch.where(narrow.isinf(), narrow, reference)
    eager = torch.where(eager.isnan() & ~reference.isnan() & ~wide.isnan(), truth, eager)
    if expected.dtype.itemsize < 4:
        # The same holds for an infinity of eager's in a half type, if a step overflowed but the result does not.
        overflowed = eager.isinf() & reference.to(expected.dtype).isfinite() & wide.isfinite()
        eager = torch.where(overflowed, reference, eager)
    failure = AssertionError if drawn else SmallSample
    open_ = torch.zeros_like(wide, dtype=torch.bool) if known_error is None else known_error.isinf()
    try:
        _demand(open_ | (wide.isnan() == eager.isnan()), actual, expected, place, "differ in where NaN is", failure)
        # If a value overflows only in the narrow type, the rule does not apply, and eager's value is required.
        _demand(open_ | ~(eager.isinf() | wide.isinf()) | (wide == eager), actual, expected, place, "differ in where infinity is", failure)
    except SmallSample as unsure:
        unsure.is_small = True  # whatever the size: only drawn errors are infinite
        raise
    odd = open_ | eager.isinf() | wide.isinf() | wide.isnan() | reference.isinf() | reference.isnan() | eager.isnan()
    zero = torch.zeros((), dtype=torch.float64, device=expected.device)
    wide, eager, reference = (torch.where(odd, zero, x) for x in (wide, eager, reference))
    ulp = torch.finfo(expected.dtype).eps
    tiny = torch.finfo(expected.dtype).smallest_normal
    error, own = (wide - reference).abs(), (eager - reference).abs()
    if known_error is not None:
        own = torch.maximum(own, known_error.masked_fill(open_, 0.0))
    # The reference of fp64 results is eager itself, so the difference includes its own error.
    share = 1 if expected.dtype == torch.float64 else 0
    norm_bound = max((2 + share) * own.norm().item(), 2 * ulp * reference.norm().item(), tiny)
    if error.norm().item() > norm_bound:
        larger = failure(f"{place}: error {error.norm().item():.3e} against fp64, eager's {own.norm().item():.3e}, bound {norm_bound:.3e}")
        larger.is_small = error.numel() <= SMALL
        raise larger
    worst = own.max().item() if own.numel() else 0.0
    bound = 64 * ulp * reference.abs() + (8 + share) * worst + tiny
    _demand(error <= bound, actual, expected, place, "are off by more than 64 ulp + 8x eager's own error", failure)


def _demand(same, actual, expected, place, what, failure=AssertionError):
    if bool(same.all()):
        return
    where = (~same).nonzero()
    at = tuple(where[0].tolist())
    error = failure(
        f"{place}: {len(where)} of {same.numel()} elements {what}; first at {at}: "
        f"{actual[at].item()!r} instead of {expected[at].item()!r}"
    )
    error.is_small = same.numel() <= SMALL
    raise error


def _is_float(x):
    return isinstance(x, torch.Tensor) and x.dtype.is_floating_point
