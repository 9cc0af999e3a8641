"""Finds how exact values are (their level) by running a program step by step.

Level 0: equal bit for bit (copies, integers). Level 1: integers that every order of summation gives exactly; zeros may differ in
sign. Level 2: rounded. A level belongs to a storage.
"""

import re

import torch
import torch.utils._pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from .program import lookup, namespace, widened

BITS, WHOLE, ROUNDED = range(3)
PRECISION = {torch.float16: 11, torch.bfloat16: 8, torch.float32: 24, torch.float64: 53, torch.complex64: 24, torch.complex128: 53}


def tensors_of(values):
    return [x for x in values if isinstance(x, torch.Tensor)]


def real(x):
    return torch.view_as_real(x.resolve_conj()) if x.is_complex() else x


def is_rounded_type(x):
    return isinstance(x, torch.Tensor) and (x.is_floating_point() or x.is_complex())


def storage_of(x):
    return x.untyped_storage()._cdata


def whole(x, bits):
    """Whether the finite values are integers of at most 2^bits."""
    values = real(x.detach())
    values = values[values.isfinite()]
    return bool(((values == values.round()) & (values.abs() <= 2**bits)).all())


class Refused(Exception):
    """Raised for a step whose values could not be compared: integers made of rounded numbers."""


class _Coarsest(TorchDispatchMode):
    """Records the lowest precision among the results of a step's operators: a step may compute in halves and return single precision."""

    epsilon = 0.0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if all(r.alias_info is None for r in func._schema.returns):
            self.epsilon = max([self.epsilon, *(torch.finfo(x.dtype).eps for x in pytree.tree_leaves(result) if is_rounded_type(x))])
        return result


class Run:
    """The slots of one call after the steps so far, run eagerly, with the level of each storage."""

    def __init__(self, program, k, state, levels=None):
        self.program = program
        torch.manual_seed(k)
        self.space = namespace(**program.make(k))
        self.state = state
        if state is not None:
            self.space["m"] = state
        self.levels = {} if levels is None else levels
        #: For each step: whether its result is rounded, its lowest precision, and which of its targets have new memory.
        self.rounds = []
        self.epsilons = []
        self.fresh = []
        # Keeps old values of slots alive, because levels are stored by address.
        self.kept = []

    def level(self, x):
        return self.levels.get(storage_of(x), BITS)

    def level_of(self, name):
        value = lookup(name, self.space)
        return self.level(value) if isinstance(value, torch.Tensor) else BITS

    def step(self, step):
        """Executes a step; raises what eager raises, or Refused."""
        read = [(name, lookup(name, self.space)) for name in step.reads]
        before = max([self.level(x) for x in tensors_of(x for _, x in read)], default=BITS)
        old = {storage_of(x) for x in tensors_of(self._all())}
        known = before
        if step.grade == "sum" and before < ROUNDED:
            known = self._summed(step, read, before)
        coarsest = _Coarsest()
        with self.program.context(), coarsest:
            exec(step.line, self.space)
        made = tensors_of(lookup(name, self.space) for name in step.targets)
        written = tensors_of(lookup(name, self.space) for name in step.writes)
        self.kept += made
        level = self._graded(step, known, made + written, read)
        for x in made:
            if storage_of(x) not in old:
                self._set(x, BITS if step.grade == "shape" else level, step)
        for x in written:
            self._set(x, max(level, self.level(x)), step)
        rounded = [x for x in made + written if is_rounded_type(x)]
        self.rounds.append(step.kind != "view" and step.grade not in ("bits", "shape") and any(self.level(x) == ROUNDED for x in rounded))
        self.epsilons.append(max([coarsest.epsilon, *(torch.finfo(x.dtype).eps for x in rounded)]) if rounded else 0.0)
        self.fresh.append([name for name in step.targets if name in self.space and self._is_outside(old, self.space[name])])

    def _all(self):
        held = [x for x in self.space.values() if isinstance(x, torch.Tensor)]
        return held + (list(self.state.state_dict().values()) if self.state is not None else [])

    @staticmethod
    def _is_outside(storages, x):
        return isinstance(x, torch.Tensor) and storage_of(x) not in storages

    def _set(self, x, level, step):
        if level == ROUNDED and not is_rounded_type(x):
            raise Refused(step.line)
        if self.levels.get(storage_of(x), BITS) != level:
            self.levels[storage_of(x)] = level

    def _graded(self, step, before, results, read):
        results = [x for x in results if is_rounded_type(x)]
        if step.grade in ("shape", "bits") or step.kind == "view" or before == ROUNDED:
            # A cast also rounds.
            narrow = [x for x in results if before < ROUNDED and step.grade == "bits" and not whole(x, PRECISION[x.dtype])]
            casts = narrow and any(is_rounded_type(y) and y.dtype != narrow[0].dtype for y in tensors_of(y for _, y in read))
            return ROUNDED if casts else before
        if step.grade == "float" and results:
            return ROUNDED
        exact = all(whole(x, PRECISION[x.dtype]) for x in results)
        return (max(before, WHOLE) if results else before) if exact else ROUNDED

    def _summed(self, step, read, before):
        """Returns the level of a sum: exact if the sum of magnitudes is exact."""
        space = namespace(m=None)
        space.update(self.space)
        bits = min([PRECISION[x.dtype] for x in tensors_of(x for _, x in read) if is_rounded_type(x)], default=64)
        if bits == 64:
            return before
        if self.program.autocast:
            bits = min(bits, PRECISION[getattr(torch, self.program.autocast.removeprefix("torch."))])
        line = widened(step.line)
        for number, (name, x) in enumerate(read):
            if isinstance(x, torch.Tensor):
                magnitude = x.detach().clone()
                if is_rounded_type(x):
                    magnitude = torch.where(x.detach().isfinite(), x.detach(), 0).abs().double()
                    magnitude = magnitude.to(torch.complex128) if x.is_complex() else magnitude
                space[f"magnitude{number}"] = magnitude
                line = _renamed(line, name, f"magnitude{number}", step)
        try:
            with torch.no_grad():
                exec(line, space)
        except Exception:
            return ROUNDED
        names = [f"magnitude{i}" for i, (name, _) in enumerate(read) if name in step.writes] if not step.targets else step.targets
        sums = [space[name] for name in names]
        return before if all(whole(x, bits) for x in tensors_of(sums) if is_rounded_type(x)) else ROUNDED


def _renamed(line, name, other, step):
    """Renames the names that a line reads, but not those that it assigns."""
    head, equals, tail = line.partition(" = ") if step.targets else ("", "", line)
    return head + equals + re.sub(rf"(?<![\w.]){re.escape(name)}\b", other, tail)
