"""Compares cases of `operator_database` under frit with eager and, where AOTAutograd's graphs differ from eager, with aot_eager.

All cases of an operator, a type and a phase are one graph; failing cases are found by bisection. A case

* passes if frit's outcome is eager's, leaf by leaf: type, shape, values (`checker`'s rules), strides, storage offsets, which tensors
  share storage, mutations of arguments; or the type of error that eager raises;
* is an exception if aot_eager is wrong too and frit agrees with aot_eager: both give the same outcome, or both raise;
* fails otherwise.
"""

import contextlib
import dataclasses
import functools
import os
import warnings

import checker
import torch
from torch._dynamo.backends.debugging import aot_eager
from torch._dynamo.exc import TensorifyScalarRestartAnalysis
from torch._dynamo.source import LocalSource
from torch._guards import TracingContext, tracing
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from torch.utils import _pytree as pytree

from frit import backend

SEED = 3
PASSED, EXCEPTION, FAILED = "passed", "exception", "failed"


@dataclasses.dataclass
class Verdict:
    """The verdict on a case; `reason` says what aot_eager does in an exception, and what frit does in a failure."""

    label: str
    outcome: str
    reason: str = ""


@dataclasses.dataclass
class Outcome:
    """The outcome of one run of a case: its leaves, or the error that it raised."""

    inputs: list = dataclasses.field(default_factory=list)
    leaves: list = dataclasses.field(default_factory=list)
    error: Exception | None = None

    @property
    def tensors(self):
        return [x for x in self.inputs + self.leaves if isinstance(x, torch.Tensor) and x.layout is torch.strided]


# -- compiling and running ---------------------------------------------------------------------------------


def compiled(compiler, cases, dynamic):
    """Compiles all cases as one graph without Dynamo, which has nothing to trace here. The backend `compiler` gets a graph that calls them,
    as from `torch.compile`: dynamic sizes are separate arguments before the others. Returns a function of the cases' lists of leaves."""
    structures = []

    def flattened(*values):
        values = values[len(symbols) :]
        results, at = [], 0
        for case in cases:
            results.append(case.function(*values[at : at + len(case.leaves)]))
            at += len(case.leaves)
        flat, *structures[:] = pytree.tree_flatten(results)
        return flat

    mode = FakeTensorMode(shape_env=ShapeEnv())
    # Copied, because a tensor of two cases would be one argument.
    leaves = [leaf for case in cases for leaf in _copied(case.leaves)]
    symbols = {}
    with tracing(TracingContext(mode)):
        examples = [
            mode.from_tensor(leaf, static_shapes=not dynamic, source=LocalSource(f"x{i}") if dynamic else None)
            for i, leaf in enumerate(leaves)
        ]
        for i, fake in enumerate(examples if dynamic else ()):
            for what in ("size", "stride", "storage_offset"):
                values = getattr(fake, what)()
                for dim, value in enumerate(values if what != "storage_offset" else [values]):
                    if isinstance(value, torch.SymInt) and value.node.expr.is_Symbol:
                        symbols.setdefault(value.node.expr, (value, i, what, dim))
        names = [f"s{i}" for i in range(len(symbols))] + [f"x{i}" for i in range(len(leaves))]
        graph = torch.fx.Graph()
        graph.output(graph.call_function(flattened, tuple(map(graph.placeholder, names))))
        module = torch.fx.GraphModule(torch.nn.Module(), graph)
        run = compiler(module, [value for value, *_ in symbols.values()] + examples)

    def call(inputs):
        given = [leaf for each in inputs for leaf in each]
        sizes = []
        for _, i, what, dim in symbols.values():
            value = getattr(given[i], what)()
            sizes.append(value if what == "storage_offset" else value[dim])
        return pytree.tree_unflatten(run(*sizes, *given), *structures)

    return call


def outcomes(call, cases, training, inputs=None):
    """Runs all cases on copies of their leaves, or on `inputs`."""
    inputs = [_copied(case.leaves) for case in cases] if inputs is None else inputs
    torch.manual_seed(SEED)
    results = call(inputs)
    found = [Outcome(each, pytree.tree_leaves(result)) for each, result in zip(inputs, results)]
    if training:
        sources = [leaf for each in inputs for leaf in each if leaf.requires_grad]
        roots = [x for one in found for x in one.leaves if isinstance(x, torch.Tensor) and x.requires_grad]
        gradients = iter(torch.autograd.grad(roots, sources, [_cotangent(x) for x in roots], allow_unused=True) if roots else ())
        for each, one in zip(inputs, found):
            one.leaves += [next(gradients, None) for leaf in each if leaf.requires_grad]
    return found


def _copied(leaves):
    strided = iter(checker.copied([x for x in leaves if x.layout is torch.strided]))
    return [next(strided) if x.layout is torch.strided else x.detach().clone().requires_grad_(x.requires_grad) for x in leaves]


def _cotangent(x):
    """A cotangent of similar magnitude everywhere, with both signs and without a pattern that a sum would cancel."""
    values = torch.arange(x.numel(), dtype=torch.float64, device="cpu").mul(0.7).add(0.3).cos()
    if x.is_complex():
        values = torch.complex(values, values.flip(0))
    return values.reshape(x.shape).to(x.dtype)


def eager(cases):
    return lambda inputs: [case.function(*each) for case, each in zip(cases, inputs)]


def eager_outcome(case, training):
    try:
        return outcomes(eager([case]), [case], training)[0]
    except Exception as error:
        return Outcome(error=error)


def compiled_outcomes(compiler, cases, training, dynamic):
    """Returns one outcome for each case, or the error of the whole graph. It is an error if frit had to compile the graph again."""
    repeated = checker.compiled_again()
    try:
        try:
            call = compiled(compiler, cases, dynamic)
        except TensorifyScalarRestartAnalysis:  # by which AOTAutograd makes Dynamo trace again
            call = compiled(compiler, cases, dynamic)
        found = outcomes(call, cases, training)
    except Exception as error:
        return error
    if checker.compiled_again() > repeated:
        return AssertionError(checker.COMPILED_AGAIN)
    return found


# -- comparing ---------------------------------------------------------------------------------------------


def differences(actual, expected, case, training):
    """Returns a message for each leaf that differs (arguments, then results and gradients), else None; then one for storage sharing."""
    found = []
    if [type(x) for x in actual.leaves] != [type(x) for x in expected.leaves]:
        names = [[type(x).__name__ for x in each.leaves] for each in (actual, expected)]
        return [f"results are {names[0]} instead of {names[1]}"]
    numerics = _Numerics(case, training, expected)
    for part in ("inputs", "leaves"):
        for i, (a, e) in enumerate(zip(getattr(actual, part), getattr(expected, part))):
            try:
                _compare(a, e, f"{'input' if part == 'inputs' else 'result'} {i}", case, lambda: numerics.of(part, i))
            except AssertionError as error:
                found.append(str(error))
            else:
                found.append(None)
    shares, wanted = checker.both_sharings(actual.tensors, expected.tensors)
    found.append(None if shares == wanted else f"storage sharing {shares} instead of {wanted}")
    return found


def _compare(actual, expected, place, case, numerics):
    if not isinstance(expected, torch.Tensor):
        checker.compare_values(actual, expected, None, place)
        return
    for what in ("dtype", "shape", "layout", "requires_grad"):
        a, e = getattr(actual, what), getattr(expected, what)
        assert a == e, f"{place}: {what} {a} instead of {e}"
    if expected.layout is not torch.strided:
        assert torch.equal(actual.to_dense(), expected.to_dense()), f"{place}: values of a sparse tensor differ"
        return
    checker.compare_layout(actual, expected, place)
    if not case.compare or _same_bytes(actual, expected):
        return
    actual, expected = _plain(actual), _plain(expected)
    if not actual.dtype.is_floating_point or actual.dtype.itemsize == 1:
        checker.compare_bits(actual, expected, place)
        return
    reference, error, draw = numerics()
    if reference is None or reference.shape != expected.shape:
        checker.compare_bits(actual, expected, place)
        return
    try:
        checker.compare_floats(actual, expected, reference, place, error, drawn=False)
    except checker.SmallSample:
        checker.compare_floats(actual, expected, reference, place, draw(), drawn=True)


def _plain(x):
    """Views a complex tensor as pairs, and a type without comparisons as bytes."""
    x = _resolved(x)
    if x.is_complex():
        return torch.view_as_real(x)
    if x.dtype.itemsize == 1 and x.dtype.is_floating_point:
        return x.clone(memory_format=torch.contiguous_format).view(torch.uint8)
    unsigned = {torch.uint16: torch.int16, torch.uint32: torch.int32, torch.uint64: torch.int64}
    return x.view(unsigned[x.dtype]) if x.dtype in unsigned else x


def _resolved(x):
    """Resolves lazy bits; complex halves have no kernel that conjugates or negates."""
    x = x.detach()
    if x.dtype == torch.complex32 and (x.is_conj() or x.is_neg()):
        stored = torch.empty(0, dtype=x.dtype).set_(x.untyped_storage(), x.storage_offset(), x.shape, x.stride()).to(torch.complex64)
        stored = stored.conj() if x.is_conj() else stored
        return (-stored if x.is_neg() else stored).resolve_conj().to(torch.complex32)
    return x.resolve_conj().resolve_neg()


def _same_bytes(actual, expected):
    each = [_resolved(x) for x in (actual, expected)]
    each = [x.clone(memory_format=torch.contiguous_format).reshape(-1).view(torch.uint8) for x in each]
    return torch.equal(*each)


class _Numerics:
    """Eager's rounding errors in a case, measured on first use."""

    def __init__(self, case, training, expected):
        self.case, self.training, self.expected = case, training, expected
        self.reference = None

    def of(self, part, i):
        """Returns (the fp64 run's leaf or None, eager's error if it is known otherwise, a function that samples eager's error)."""
        if self.reference is None:
            self._measure()
        pick = lambda outcome: getattr(outcome, part)[i] if outcome is not None and i < len(getattr(outcome, part)) else None  # noqa: E731
        reference = pick(self.reference)
        if not isinstance(reference, torch.Tensor) or not reference.dtype.is_floating_point:
            return None, None, None
        reference, known = reference.detach(), pick(self.errors)
        if self.case.kernel_error:
            known = self.case.kernel_error * torch.finfo(torch.float64).eps * reference.double().abs()
        return reference, known, lambda: pick(self._drawn())

    def _measure(self):
        """Converts complex leaves to pairs of floats, so that `checker`'s functions for floats apply."""
        self.leaves = [_plain(x).clone().requires_grad_(x.requires_grad) if x.is_complex() else x for x in self.case.leaves]
        self.errors = None
        try:
            with _default_dtype(torch.float64):
                self.reference = checker.run_in(torch.float64, self._call, self.leaves, SEED)
            wide = [_plain(x) for x in self.expected.tensors]
            if any(x.dtype == torch.float64 for x in wide):
                self.errors = checker.fp64_errors(self._call, self.leaves, SEED, self._real(self.expected))
        except Exception:
            self.reference = self.reference or checker.Outcome([], [])

    def _drawn(self):
        expected = self._real(self.expected)
        double = any(isinstance(x, torch.Tensor) and x.dtype == torch.float64 for x in expected.leaves)
        drawn = checker.drawn_errors(self._call, self.leaves, SEED, None, expected if double else None)
        with _default_dtype(torch.float64):
            rounded = checker.rounding_errors(self._call, self.leaves, SEED, None, expected, self.reference)
        return drawn if rounded is None else checker.largest(drawn, rounded)

    def _call(self, *leaves):
        given = [torch.view_as_complex(x) if like.is_complex() else x for x, like in zip(leaves, self.case.leaves)]
        one = outcomes(eager([self.case]), [self.case], self.training, [given])[0]
        return self._real(one).leaves

    def _real(self, outcome):
        def real(x):
            return _plain(x) if isinstance(x, torch.Tensor) and x.is_complex() else x

        # `None` is a leaf of an outcome, but not of a pytree.
        return checker.Outcome(*[[0 if x is None else real(x) for x in part] for part in (outcome.leaves, outcome.inputs)])


@contextlib.contextmanager
def _default_dtype(dtype):
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


# -- judging -----------------------------------------------------------------------------------------------


def judge(cases, training, dynamic, compiler=backend.frit, started=lambda label: None):
    """Returns a verdict for each case. `started` is called with the label of each case before it runs, so that a crash can be attributed."""
    wanted, together, found = [], [], {}
    for i, case in enumerate(cases):
        started([case.label])
        wanted.append(eager_outcome(case, training))
        random = not torch.equal(torch.get_rng_state(), _state_of_seed())
        if wanted[i].error is not None:
            found[i] = _judge_error(case, wanted[i], training, dynamic, compiler)
        elif random:  # the numbers of one case depend on earlier draws
            _judge_batch([i], cases, wanted, training, dynamic, compiler, started, found)
        else:
            together.append(i)
    _judge_batch(together, cases, wanted, training, dynamic, compiler, started, found)
    return [found[i] for i in range(len(cases))]


@functools.cache
def _state_of_seed():
    return torch.manual_seed(SEED).get_state()


def _judge_batch(numbers, cases, wanted, training, dynamic, compiler, started, found):
    if not numbers:
        return
    batch = [cases[i] for i in numbers]
    started([case.label for case in batch])
    actual = compiled_outcomes(compiler, batch, training, dynamic)
    if len(numbers) == 1:
        one = Outcome(error=actual) if isinstance(actual, Exception) else actual[0]
        found[numbers[0]] = _judge_one(cases[numbers[0]], wanted[numbers[0]], one, training, dynamic)
        return

    def judge_part(part):
        _judge_batch(part, cases, wanted, training, dynamic, compiler, started, found)

    def fails_beside_others(i, what):
        """Fails a case that passes only by itself, unless aot_eager also differs with the other cases."""
        aot = compiled_outcomes(aot_eager, batch, training, dynamic)
        place = numbers.index(i)
        if not isinstance(aot, Exception) and not any(differences(aot[place], wanted[i], cases[i], training)):
            found[i] = Verdict(cases[i].label, FAILED, f"beside other cases, {what}")

    if isinstance(actual, Exception):
        size = len(numbers) // 2 if len(numbers) > 3 else 1
        for at in range(0, len(numbers), size):
            judge_part(numbers[at : at + size])
        if all(found[i].outcome == PASSED for i in numbers):
            fails_beside_others(numbers[0], f"error: {short(actual)}")
        return
    wrong = {}
    for i, one in zip(numbers, actual):
        if each := [x for x in differences(one, wanted[i], cases[i], training) if x]:
            wrong[i] = each[0]
    right = [i for i in numbers if i not in wrong]
    if _shared(actual) == _shared([wanted[i] for i in numbers]):
        found.update((i, Verdict(cases[i].label, PASSED)) for i in right)
    elif wrong:
        judge_part(right)
    else:
        # Each case may pass by itself, but together their results share memory.
        aot = compiled_outcomes(aot_eager, batch, training, dynamic)
        as_aot = not isinstance(aot, Exception) and _shared(aot) == _shared(actual)
        outcome = EXCEPTION if as_aot else FAILED
        reason = "results of several cases share memory, as aot_eager's do" if as_aot else "differs: results of several cases share memory"
        found.update((i, Verdict(cases[i].label, outcome, reason)) for i in numbers)
    for i, what in wrong.items():
        judge_part([i])
        if found[i].outcome == PASSED:
            fails_beside_others(i, f"differs: {what}")


def _shared(outcomes):
    return checker.sharing([x for one in outcomes for x in one.tensors])


def _judge_one(case, wanted, actual, training, dynamic):
    """Judges a case that eager runs."""
    if actual.error is None and not any(differences(actual, wanted, case, training)):
        return Verdict(case.label, PASSED)
    aot = compiled_outcomes(aot_eager, [case], training, dynamic)
    if isinstance(aot, Exception):
        reason = f"aot_eager: {short(aot)}"
        if actual.error is not None:
            return Verdict(case.label, EXCEPTION, reason)
        wrong = next(filter(None, differences(actual, wanted, case, training)))
        return Verdict(case.label, FAILED, f"differs: {wrong}; {reason}")
    if actual.error is not None:
        return Verdict(case.label, FAILED, f"error: {short(actual.error)}")
    from_eager = differences(actual, wanted, case, training)
    from_aot = differences(actual, aot[0], case, training)
    if len(from_eager) == len(from_aot):
        # Each leaf may agree with either of the two.
        wrong = [f"{a}; aot_eager: {b}" if a != b else a for a, b in zip(from_eager, from_aot) if a and b]
    else:
        wrong = [x for x in from_aot if x]
    if wrong and all("where infinity is" in each for each in wrong) and _is_singular(case, wanted, training, dynamic):
        return Verdict(case.label, EXCEPTION, f"eager divides by zeros whose signs are rounding errors: {wrong[0]}")
    if wrong and _is_undefined(case, wanted, training):
        return Verdict(case.label, EXCEPTION, f"eager gives other results each time: {wrong[0]}")
    if wrong:
        return Verdict(case.label, FAILED, f"differs: {wrong[0]}")
    return Verdict(case.label, EXCEPTION, f"aot_eager differs from eager: {next(filter(None, from_eager))}")


def _is_singular(case, wanted, training, dynamic, most=8):
    """Whether eager's infinities change when each operand moves by at most one rounding, and frit with eager's numerics has the same ones."""
    exact = compiled_outcomes(functools.partial(backend.frit, options={"numerics": "eager"}), [case], training, dynamic)
    if isinstance(exact, Exception) or any(differences(exact[0], wanted, case, training)):
        return False
    generator = torch.Generator().manual_seed(SEED)
    for _ in range(most):
        moved = _copied(case.leaves)
        for leaf in moved:
            if leaf.is_floating_point() or leaf.is_complex():
                memory = _plain(torch.empty(0, dtype=leaf.dtype).set_(leaf.untyped_storage()))
                memory.mul_(1 + torch.finfo(memory.dtype).eps * torch.randint(-1, 2, memory.shape, generator=generator))
        again = eager_outcome(dataclasses.replace(case, leaves=moved), training)
        if again.error is None and any(
            not torch.equal(torch.where(x.isinf(), x, 0), torch.where(y.isinf(), y, 0))
            for x, y in zip(again.leaves, wanted.leaves)
            if isinstance(x, torch.Tensor) and (x.is_floating_point() or x.is_complex())
        ):
            return True
    return False


def _is_undefined(case, wanted, training, most=4):
    """Whether eager gives another result when it runs again on the same operands, because it reads uninitialised memory."""
    for _ in range(most):
        # Leaves freed memory with nonzero contents.
        for size in (1, 64, 1024):
            torch.full((size,), torch.pi)
        (again,) = outcomes(eager([case]), [case], training)
        if again.error is not None or any(differences(again, wanted, case, training)):
            return True
    return False


def _judge_error(case, wanted, training, dynamic, compiler):
    """Judges a case that eager refuses."""
    actual = compiled_outcomes(compiler, [case], training, dynamic)
    if type(actual) is type(wanted.error):
        return Verdict(case.label, PASSED)
    if "INTERNAL ASSERT FAILED" in str(wanted.error) and not isinstance(actual, Exception):
        return Verdict(case.label, EXCEPTION, f"eager fails by its own assertion: {short(wanted.error)}")
    aot = compiled_outcomes(aot_eager, [case], training, dynamic)
    what = short(actual) if isinstance(actual, Exception) else "no error"
    if type(aot) is type(actual):
        return Verdict(case.label, EXCEPTION, f"eager: {short(wanted.error)}; aot_eager: {what}")
    reason = f"error: {what} instead of {short(aot) if isinstance(aot, Exception) else 'none'}; eager: {short(wanted.error)}"
    return Verdict(case.label, FAILED, reason)


def short(error):
    """Returns the type of an error and its first line."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0][:160] if lines else ''}"


def quiet():
    """Sets up a process that only judges: no warnings, no disk caches, one thread."""
    os.environ["FRIT_CACHE"] = "0"
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
