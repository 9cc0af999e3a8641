"""Decides whether two runs of a graph differ.

Exact operators must give equal bits (all NaNs are equal). Values that depend on rounding are compared with an fp64 run: their error may be a small
multiple of ATen's error, or of the distance that values move in runs in which each operator is off by a rounding or two (`frit.verify.reference`).
Types, sizes, strides, offsets and the sharing of memory must always agree.
"""

from dataclasses import dataclass, field

import torch

from . import reference

_DRAWS = 8


@dataclass
class Difference:
    """One value that differs from ATen's. `nodes`: the graph's nodes that compute it."""

    place: str
    text: str
    nodes: list = field(default_factory=list)
    is_value: bool = True

    def __str__(self):
        return f"{self.place}: {self.text}"


@dataclass
class Slot:
    """A value to compare: `actual` is frit's, `expected` ATen's, `node` computes it, `read(outcome)` takes it from an fp64 run, and `sees_layout`
    says whether its strides and offset are compared."""

    place: str
    actual: object
    expected: object
    node: object
    read: object
    sees_layout: bool = True


class Judge:
    """Compares the values of one call of one graph. `arguments`: copies made before the call, with which the fp64 runs start."""

    def __init__(self, gm, arguments, random_values, own_random, sizes):
        self._gm, self._arguments, self._random_values, self._sizes = gm, arguments, random_values, sizes
        self.facts = reference.Facts(gm, own_random)
        self.skipped = {}  # place -> reason
        self._base, self._draws = None, []

    def differences(self, slots):
        """Every Difference among `slots`, in their order."""
        found, pending = {}, []
        for number, slot in enumerate(slots):
            try:
                unsure = self._compare(slot)
            except _Differs as difference:
                found[number] = Difference(slot.place, str(difference), [slot.node], difference.is_value)
                continue
            if unsure:
                pending.append(number)
        for number in pending:
            text = self._compare_rounded(slots[number])
            if text:
                found[number] = Difference(slots[number].place, text, [slots[number].node])
        return [found[number] for number in sorted(found)]

    def _compare(self, slot):
        """Whether the fp64 run has to decide. Raises _Differs if the values certainly differ."""
        actual, expected = slot.actual, slot.expected
        if not isinstance(expected, torch.Tensor):
            same = type(actual) is type(expected) and (actual == expected or (actual != actual and expected != expected))
            why = self.facts.unknown.get(slot.node)
            if not same and not why and slot.node not in self.facts.rounded:
                raise _Differs(f"{actual!r} instead of {expected!r}")
            return False
        if not isinstance(actual, torch.Tensor):
            raise _Differs(f"{type(actual).__name__} instead of a tensor", is_value=False)
        for what in ("dtype", "device", "layout"):
            if getattr(actual, what) != getattr(expected, what):
                raise _Differs(f"{what} {getattr(actual, what)} instead of {getattr(expected, what)}", is_value=False)
        if actual.shape != expected.shape:
            raise _Differs(f"sizes {tuple(actual.shape)} instead of {tuple(expected.shape)}", is_value=False)
        if slot.sees_layout and actual.layout is torch.strided:
            self._compare_layout(slot)
        why = self.facts.unknown.get(slot.node)
        if why:
            self.skipped[slot.place] = why
            return False
        same = _same_bits(actual, expected)
        if bool(same.all()):
            return False
        if slot.node in self.facts.rounded:
            return True
        raise _Differs(_elements(~same, actual, expected))

    def _compare_layout(self, slot):
        """Compares the strides of dims longer than 1, and the offset. Both ATen's and those of the traced graph are accepted, since ATen's kernels
        sometimes differ from the trace."""
        actual, expected = slot.actual, slot.expected
        if actual.numel() == 0:
            return
        meta = slot.node.meta.get("val")
        traced = [self._sizes(x) for x in meta.stride()] if isinstance(meta, torch.Tensor) and meta.layout is torch.strided else None
        dims = [d for d, size in enumerate(actual.shape) if size > 1]
        if all(actual.stride(d) == expected.stride(d) for d in dims) or (
            traced is not None and len(traced) == actual.ndim and all(actual.stride(d) == traced[d] for d in dims)
        ):
            offsets = {expected.storage_offset()} | ({self._sizes(meta.storage_offset())} if traced is not None else set())
            if actual.storage_offset() not in offsets:
                raise _Differs(f"storage offset {actual.storage_offset()} instead of {expected.storage_offset()}", is_value=False)
            return
        raise _Differs(f"strides {actual.stride()} instead of {expected.stride()}", is_value=False)

    # -- roundings -----------------------------------------------------------------------------------

    def _compare_rounded(self, slot):
        """The difference of a value that depends on rounding, as text; empty if there is none."""
        try:
            base = slot.read(self._run_of(0))
        except reference.NoReference as reason:
            self.skipped[slot.place] = str(reason)
            return _compare_with_tolerance(slot.actual, slot.expected)
        text = ""
        spread = None
        for draw in range(1, _DRAWS + 1):
            moved = _distance(slot.read(self._run_of(draw)), base)
            spread = moved if spread is None else torch.maximum(spread, moved)
            text = _beyond_rounding(slot.actual, slot.expected, base, spread)
            if not text:
                return ""
        return text

    def _run_of(self, draw):
        """(results, arguments afterwards) of the fp64 run (0), or of a run in which each operator is off by a rounding."""
        while len(self._draws) <= draw:
            generator = torch.Generator("cpu").manual_seed(len(self._draws)) if self._draws else None
            self._draws.append(reference.wide(self._gm, self._arguments, self._random_values, generator))
        return self._draws[draw]


class _Differs(Exception):
    def __init__(self, text, is_value=True):
        super().__init__(text)
        self.is_value = is_value


def _same_bits(a, b):
    if a.is_complex():
        a, b = torch.view_as_real(a.resolve_conj()), torch.view_as_real(b.resolve_conj())
        return _same_bits(a, b).all(-1)
    if a.dtype.is_floating_point and a.dtype.itemsize == 1:
        a, b = a.float(), b.float()
    same = a == b
    if a.dtype.is_floating_point:
        same = (same & (a.signbit() == b.signbit())) | (a.isnan() & b.isnan())
    return same


def _distance(moved, base):
    """How far a perturbed run is from the fp64 run; infinite where only one of them is NaN or infinite."""
    if not base.is_floating_point() and not base.is_complex():
        return torch.where(moved == base, 0.0, float("inf")).double()
    distance = (moved - base).abs().double()
    both = (moved == base) | (moved.isnan() & base.isnan())
    return torch.where(both, 0.0, torch.where(distance.isfinite(), distance, float("inf")))


def _beyond_rounding(actual, expected, base, spread):
    """The difference that rounding cannot explain, as text; empty if there is none."""
    if not expected.is_floating_point() and not expected.is_complex():
        # An integer that depends on rounding: where a perturbed run gives another one, any value is accepted.
        wrong = (actual != expected) & (spread == 0) & (base == expected)
        return _elements(wrong, actual, expected) if bool(wrong.any()) else ""
    limits = torch.finfo(expected.dtype)
    eps, tiny = limits.eps, limits.smallest_normal
    wide, eager = (x.to(base.dtype) for x in (actual, expected))
    odd = ~(wide.isfinite() & eager.isfinite() & base.isfinite() & spread.isfinite())
    # A NaN or infinity is accepted where ATen or the fp64 run has the same, or where a perturbed run diverges.
    is_same = (wide == eager) | (wide.isnan() & eager.isnan()) | (wide == base) | (wide.isnan() & base.isnan())
    at_edge = wide.isinf() & (base.abs() >= 0.98 * limits.max) | spread.isinf()
    wrong = odd & ~is_same & ~at_edge & ~(wide.isfinite() & base.isfinite())
    zero = torch.zeros((), dtype=torch.float64, device=base.device)
    error, own, size, moved = (torch.where(odd, zero, x) for x in ((wide - base).abs(), (eager - base).abs(), base.abs(), spread))
    worst = own.max() if own.numel() else zero
    bound = torch.maximum(8 * moved + 8 * eps * size, torch.maximum(64 * eps * size if eps < 1e-4 else 4 * eps * size, 8 * worst)) + tiny
    wrong = wrong | (error > bound)
    if bool(wrong.any()):
        return _elements(wrong, actual, expected, base, error / bound, bound)
    norm = error.norm().item()
    allowed = max(2 * moved.norm().item(), 2 * own.norm().item()) + 2 * eps * size.norm().item() + tiny * max(1, error.numel()) ** 0.5
    if norm > allowed:
        return f"its error against fp64 is {norm:.3e} in norm, ATen's {own.norm().item():.3e}, roundings allow {allowed:.3e}"
    return ""


def _compare_with_tolerance(actual, expected):
    """Compares with ATen's run alone, with tolerances, if there is no fp64 run."""
    tolerance = 10 * (torch.finfo(expected.dtype).eps ** 0.5 if expected.is_floating_point() or expected.is_complex() else 0)
    same = torch.isclose(actual, expected, rtol=tolerance, atol=tolerance, equal_nan=True)
    return "" if bool(same.all()) else _elements(~same, actual, expected)


def _elements(wrong, actual, expected, base=None, badness=None, bound=None):
    """The difference as text: `12 of 64 elements differ, worst at (0, 3): 1.0 instead of 2.0`."""
    if badness is None:
        badness = torch.where(wrong, 1.0, 0.0)
        if actual.dtype.is_floating_point and actual.dtype.itemsize > 1 or actual.is_complex():
            far = (actual - expected).abs().double()
            badness = torch.where(wrong, torch.where(far.isfinite(), 1 + far, float("inf")), 0.0)
    badness = torch.where(wrong & ~badness.isfinite(), float("inf"), torch.where(wrong, badness, -1.0))
    at = tuple(int(x) for x in torch.unravel_index(badness.reshape(-1).argmax(), wrong.shape)) if wrong.ndim else ()
    text = f"{int(wrong.sum())} of {wrong.numel()} elements differ, worst at {at}: {actual[at].item()!r} instead of {expected[at].item()!r}"
    return text if base is None else f"{text} (fp64: {base[at].item()!r}, allowed error {bound[at].item():.3g})"


def sharing(values):
    """For each tensor the number of the first one with the same storage; empty tensors share with none."""
    first, groups = {}, []
    for number, x in enumerate(values):
        plain = isinstance(x, torch.Tensor) and x.layout is torch.strided and x.untyped_storage().nbytes()
        groups.append(first.setdefault(x.untyped_storage()._cdata if plain else ("none", number), number))
    return groups
