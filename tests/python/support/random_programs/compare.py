"""Runs a program compiled and in eager mode, and describes the difference."""

import contextlib
import dataclasses
import re

import checker
import torch
import torch.utils._pytree as pytree

from . import rounding
from .actions import act, lines_of, raises, sources_of, writes_allowed
from .levels import BITS, ROUNDED, Refused, is_rounded_type


@dataclasses.dataclass(frozen=True)
class Outcome:
    """`status` is 'equal', 'raises' (both, alike), 'as aot_eager' (eager differs in an action of the caller), 'discarded' (aot_eager also differs from
    eager), or 'different', by `kind` at `place`."""

    status: str
    kind: str = ""
    place: str = ""
    message: str = ""


class Different(Exception):
    def __init__(self, kind, place, message):
        super().__init__(kind, place, message)
        self.kind, self.place, self.message = kind, place, message


@dataclasses.dataclass
class Call:
    """The leaves of one call: arguments, results and state."""

    arguments: list
    results: list
    state: list
    gradients: list
    error: Exception | None = None
    #: What each action of the caller did.
    words: list = dataclasses.field(default_factory=list)
    #: For each result, whether it is a leaf of autograd. Copies do not keep it.
    is_leaf: list = dataclasses.field(default_factory=list)
    #: For each result, before the caller acts: what it is a view of for autograd.
    views: list = dataclasses.field(default_factory=list)
    #: Whether the fp64 run, which is eager's, does the same writes.
    is_eager: bool = True

    def leaves(self):
        parts = (("argument", self.arguments), ("result", self.results), ("state", self.state), ("gradient", self.gradients))
        return [(f"{what} {i}", x) for what, leaves in parts for i, x in enumerate(leaves)]


def call_once(program, function, k, state, allowed=False):
    """Calls a function once and does what the caller does after it; `allowed`: backwards may follow writes (actions.writes_allowed)."""
    named = program.make(k)
    arguments = list(named.values())
    torch.manual_seed(k)
    kept = list(state.state_dict(keep_vars=True).values()) if state is not None else []
    sources = sources_of(arguments, state) if program.training else []
    try:
        with writes_allowed(allowed):
            returned = function(*([state] if state is not None else []), *arguments)
            results = pytree.tree_leaves(returned)
            views = [base_of(x, results, [*arguments, *kept]) for x in results if isinstance(x, torch.Tensor)]
            acted = act(program, results, named, state, sources)
    except Exception as error:
        return Call(arguments, [], kept, [], error)
    kept = list(state.state_dict(keep_vars=True).values()) if state is not None else []
    is_leaf = [x.is_leaf for x in results if isinstance(x, torch.Tensor)]
    return Call(arguments, results, kept, acted.gradients, words=acted.words, is_leaf=is_leaf, views=views)


def base_of(x, results, given):
    """Returns what a result is a view of: another result, what the caller has, or a tensor of which type and shape are known; "" if it is no view. A
    single view of a tensor that nobody else has may have been computed alone, so that there is no more of the tensor than the view."""
    if not x._is_view():
        return ""
    tensors = [(f"result {i}", y) for i, y in enumerate(results) if isinstance(y, torch.Tensor)]
    others = [y for _, y in tensors if y is not x and y.untyped_storage()._cdata == x.untyped_storage()._cdata]
    tensors += [(f"given {i}", base) for i, y in enumerate(given) if isinstance(y, torch.Tensor) for base in (y, y._base)]
    return next((name for name, y in tensors if y is x._base), f"{x._base.dtype} {tuple(x._base.shape) if others else ''}")


def compiled_by(program, backend):
    options = program.backend_options() if backend == "frit" else None
    return torch.compile(
        program.function(), backend=backend, dynamic=program.dynamic, fullgraph=program.graph_break < 0, options=options or None
    )


def first_line(error):
    return f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}"


def normal(text):
    """Removes the parts of a message that differ between programs."""
    text = re.sub(r"0x[0-9a-f]+|\b\d+\b|s\d+|u\d+", "#", text)
    return re.sub(r"graph#?\w*|'[^']*\.py'", "_", text)[:160]


def compare_call(program, k, actual, expected):
    """Raises Different for the first difference."""
    mine, wanted = actual.leaves(), expected.leaves()
    if [place for place, _ in mine] != [place for place, _ in wanted]:
        raise Different("structure", "results", f"{len(mine)} leaves, not {len(wanted)}")
    for i, (done, due) in enumerate(zip(actual.words, expected.words)):
        if done != due:
            raise Different("action", f"{i}: {lines_of(program)[i]}", f"{done}, not {due}")
    if actual.is_leaf != expected.is_leaf:
        raise Different("is_leaf", "results", f"{actual.is_leaf}, not {expected.is_leaf}")
    unequal = []
    for number, ((place, a), (_, e)) in enumerate(zip(mine, wanted)):
        if not isinstance(e, torch.Tensor) or not isinstance(a, torch.Tensor):
            if type(a) is not type(e) or not (a == e or (a != a and e != e)):
                raise Different("value of a number", place, f"{a!r}, not {e!r}")
            continue
        for what in ("dtype", "shape", "requires_grad"):
            if getattr(a, what) != getattr(e, what):
                raise Different(what, place, f"{getattr(a, what)}, not {getattr(e, what)}")
        for what in ("is_conj", "is_neg"):
            if getattr(a, what)() != getattr(e, what)():
                raise Different(what, place, f"{getattr(a, what)()}, not {getattr(e, what)()}")
        try:
            checker.compare_layout(a, e, place)
        except AssertionError as error:
            kind = "storage offset" if "storage offset" in str(error) else "strides"
            raise Different(kind, place.split()[0], str(error)) from error
        if not same_bits(a, e):
            unequal.append(number)
    sharing = checker.both_sharings(*([x for _, x in leaves if isinstance(x, torch.Tensor)] for leaves in (mine, wanted)))
    if sharing[0] != sharing[1]:
        raise Different("sharing", "", f"{sharing[0]}, not {sharing[1]}")
    objects = [[[r is x for x in call.arguments] for r in call.results] for call in (actual, expected)]
    if objects[0] != objects[1]:
        raise Different("identity", "", "a result is an argument itself, or not")
    if unequal:
        # Autograd may refuse a write after it has happened, or before it, as in the fp64 run.
        writes = [i for i, line in enumerate(lines_of(program)) if not line.startswith("backward")]
        refused = bool(expected.words) and any(raises(expected.words, i) for i in writes)
        compare_values(program, k, mine, wanted, unequal, expected.is_eager and not refused)
    if actual.views != expected.views:
        raise Different("view", "results", f"views of {actual.views}, not of {expected.views}")


def same_bits(a, e):
    a, e = a.detach().resolve_conj().resolve_neg(), e.detach().resolve_conj().resolve_neg()
    if e.is_complex():
        a, e = torch.view_as_real(a), torch.view_as_real(e)
    same = a == e
    if e.is_floating_point():
        same = (same & (a.signbit() == e.signbit())) | (a.isnan() & e.isnan())
    return bool(same.all())


def collect(program, k, space, state):
    """Returns the leaves of a run by steps, in the order of Call.leaves."""
    named = {x.name: space[x.name] for x in program.arguments}
    results = pytree.tree_leaves([eval(text, space) for text in program.results])
    sources = sources_of(named.values(), state) if program.training else []
    found = act(program, results, named, state, sources).gradients
    kept = list(state.state_dict(keep_vars=True).values()) if state is not None else []
    return [*named.values(), *results, *kept, *found]


def compare_values(program, k, mine, wanted, unequal, with_rounded=True):
    """Compares leaves that are not equal bit for bit, by their levels (levels.py)."""
    try:
        with writes_allowed(program.training):
            runs = rounding.native_runs(program, k)
            native = collect(program, k, runs[-1].space, runs[-1].state)
    except Refused:
        return
    gradient = [place.startswith("gradient") for place, _ in mine]
    limits = None
    for number in unequal:
        (place, a), (_, e) = mine[number], wanted[number]
        level = ROUNDED if gradient[number] else runs[-1].level(native[number])
        if not is_rounded_type(e) or level == BITS:
            raise Different("values", place.split()[0], shown(a, e, a != e))
        if level < ROUNDED:
            same = (a == e) | (a.isnan() & e.isnan())
            if not bool(same.all()):
                raise Different("values", place.split()[0], shown(a, e, ~same))
            continue
        if not with_rounded:
            continue
        if limits is None:
            with writes_allowed(program.training):
                limits = rounding.bounds(program, k, collect, runs)
        exact, most = limits[0][number], limits[1][number]
        compare_rounded(place, a.detach(), e.detach(), exact.detach(), most)


def compare_rounded(place, a, e, exact, most):
    # Overflows that happen only in the narrow type are not compared.
    odd = ~(e.isfinite() & exact.isfinite())
    if not exact.is_complex():
        # Where both eager and fp64 have NaN, frit must have NaN.
        nan = e.isnan() & exact.isnan()
        if bool((nan & ~a.isnan()).any()):
            raise Different("values", place.split()[0], "a number where NaN is due: " + shown(a, e, nan & ~a.isnan()))
        infinite = e.isinf() & (exact == e)
        if bool((infinite & (a != e)).any()):
            raise Different("values", place.split()[0], "not infinite: " + shown(a, e, infinite & (a != e)))
    real = e.dtype.to_real()
    wide = a.to(exact.dtype)
    off = (wide - exact).abs()
    bad = ~(off <= rounding.allowed(exact, most, real)) & ~odd
    if bool(bad.any()):
        at = tuple(bad.nonzero()[0].tolist())
        limit = rounding.allowed(exact, most, real)[at].item()
        raise Different("rounding", place.split()[0], f"off by {off[at].item():.3e}, allowed {limit:.3e}; " + shown(a, e, bad))


def shown(a, e, bad):
    at = tuple(bad.nonzero()[0].tolist())
    return f"{int(bad.sum())} of {bad.numel()} elements; first at {at}: {a[at].item()!r}, not {e[at].item()!r}"


def difference(program, backend, expected):
    """Returns how a backend differs from eager's calls, or None. If eager raises an error, the last call does. A compilation that frit had to repeat is
    a difference too."""
    repeated = checker.compiled_again()
    with buffers_kept(backend):
        found = _difference(program, backend, expected)
    if found is None and checker.compiled_again() > repeated:
        return Different("compiled again", "", checker.COMPILED_AGAIN)
    return found


def _difference(program, backend, expected):
    torch.compiler.reset()
    state = program.make_state()
    try:
        compiled = compiled_by(program, backend)
    except Exception as error:
        return Different("raises", "compile", first_line(error))
    earlier = []
    for k, wanted in enumerate(expected):
        actual = call_once(program, compiled, k, state)
        if actual.error is not None and wanted.error is None:
            return Different("raises", normal(first_line(actual.error)), first_line(actual.error))
        if wanted.error is not None:
            if actual.error is None:
                return Different("missing error", normal(first_line(wanted.error)), first_line(wanted.error))
            if type(actual.error) is not type(wanted.error):
                return Different("error type", f"{type(actual.error).__name__} for {type(wanted.error).__name__}", first_line(actual.error))
            return None
        try:
            compare_call(program, k, actual, permitted(program, k, actual, wanted))
        except Different as found:
            return found
        if state is None:
            earlier.append((actual, copied_calls(actual.results)))
    for k, (call, kept) in enumerate(earlier):
        if not all(a == e if not isinstance(a, torch.Tensor) else same_bits(a, e) for a, e in zip(call.results, kept)):
            return Different("values", "an earlier call", f"a call after call {k} changes its results")
    return None


def permitted(program, k, actual, wanted):
    """Returns what is due of a call. Where eager raises an error because what a backward needs was written after the call, a backend may also know the
    gradient: then it must be the one of the values before the write."""
    backwards = [i for i, line in enumerate(lines_of(program)) if line.startswith("backward")]
    known = [i for i in backwards if wanted.words and raises(wanted.words, i) and not raises(actual.words, i)]
    if not known:
        return wanted
    free = eager_calls(program, allowed=True)[k]
    words, gradients, count = list(wanted.words), list(wanted.gradients), len(wanted.gradients) // len(backwards)
    for i in known:
        at = backwards.index(i) * count
        words[i] = free.words[i]
        gradients[at : at + count] = free.gradients[at : at + count]
    return dataclasses.replace(wanted, words=words, gradients=gradients)


def eager_calls(program, allowed=False):
    """Returns eager's calls, up to the first that raises; `allowed`: see actions.writes_allowed."""
    return calls_of(program, program.function(), allowed)


def aot_calls(program):
    torch.compiler.reset()
    with buffers_kept("aot_eager"):
        return [dataclasses.replace(call, is_eager=False) for call in calls_of(program, compiled_by(program, "aot_eager"))]


def buffers_kept(backend):
    """Lets backwards of aot_eager run twice, as those of eager and of frit do."""
    return torch._functorch.config.patch(donated_buffer=False) if backend == "aot_eager" else contextlib.nullcontext()


def calls_of(program, function, allowed=False):
    state, calls = program.make_state(), []
    for k in range(len(program.calls)):
        calls.append(_frozen(call_once(program, function, k, state, allowed)))
        if calls[-1].error is not None:
            break
    return calls


def _frozen(call):
    """Copies a call's leaves, with their sharing, because later calls write to the state."""
    if not call.state:
        return call
    every = copied_calls([call.arguments, call.results, call.state, call.gradients])
    return dataclasses.replace(call, arguments=every[0], results=every[1], state=every[2], gradients=every[3])


def copied_calls(leaves):
    """Copies leaves, and preserves strides, offsets, sharing, identity, lazy bits and requires_grad."""
    storages, tensors = {}, {}

    def copy(x):
        if not isinstance(x, torch.Tensor):
            return x
        if id(x) in tensors:
            return tensors[id(x)]
        key = x.untyped_storage()._cdata
        if key not in storages:
            storages[key] = x.untyped_storage().clone()
        with torch.no_grad():
            result = torch.empty(0, dtype=x.dtype).set_(storages[key], x.storage_offset(), x.shape, x.stride())
            torch._C._set_conj(result, x.is_conj())
            torch._C._set_neg(result, x.is_neg())
        tensors[id(x)] = result.requires_grad_(x.requires_grad) if x.requires_grad else result
        return tensors[id(x)]

    return pytree.tree_map(copy, leaves)


def outcome(program, backend="frit"):
    """Compares the backend with eager on a program; differences that aot_eager shares are discarded."""
    with torch._dynamo.config.patch(recompile_limit=16):
        expected = eager_calls(program)
        found = difference(program, backend, expected)
        if found is None:
            raised = expected[-1].error is not None
            return Outcome("raises" if raised else "equal", *(("error", "", first_line(expected[-1].error)) if raised else ()))
        measure = difference(program, "aot_eager", expected)
        if measure is not None and found.kind == measure.kind in ("action", "is_leaf", "view") and excuses(measure, found):
            # After an action that AOTAutograd itself does otherwise, its results are what is due.
            found, measure = difference(program, backend, aot_calls(program)), None
            if found is None:
                return Outcome("as aot_eager")
        torch.compiler.reset()
    if measure is not None and excuses(measure, found):
        return Outcome("discarded", measure.kind, measure.place, measure.message)
    return Outcome("different", found.kind, found.place, found.message)


def excuses(measure, found):
    """Whether a program proves nothing about frit: aot_eager fails, or differs from eager in the same way."""
    if measure.kind in ("raises", "error type"):
        return True
    return (measure.kind, measure.place) == (found.kind, found.place)


__all__ = ["Call", "Different", "Outcome", "difference", "outcome"]
