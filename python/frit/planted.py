"""Planted mistakes: FRIT_PLANT=n plants the mistake of class n of silent errors, to check that the tests of that class fail. Mistakes in Python are
here, those in the compiler in `ir/Planted.h`. The number is part of the compiler's identity and therefore of all cache keys.
"""

import os

import torch

from . import environment

MISTAKES = {
    15: "Casts to fp8 saturate.",
    35: "The results of a graph always lie in the same memory.",
}


def _number():
    text = os.environ.get("FRIT_PLANT", "").strip()
    if text and not text.isdecimal():
        environment.warn(f"FRIT_PLANT={text!r} is not a number and is ignored; give the number of a class of silent errors")
        del os.environ["FRIT_PLANT"]  # the compiler reads it too
        return 0
    return int(text or 0)


NUMBER = _number()


def warn(log):
    """Warns if a mistake is planted."""
    if NUMBER:
        log.warning("FRIT_PLANT=%d: a mistake of this class of silent errors is made on purpose, results are wrong", NUMBER)


def plant_decompositions(table):
    """Plants class 15 in the table of decompositions."""
    if NUMBER == 15:
        table[torch.ops.aten._to_copy.default] = _saturating_cast


def plant_results(executable):
    """The executable, with class 35 planted if it is chosen."""
    return _SameMemory(executable) if NUMBER == 35 else executable


def _saturating_cast(x, *, dtype=None, **more):
    if dtype is None or not dtype.is_floating_point or dtype.itemsize > 1:
        return NotImplemented
    most = torch.finfo(dtype).max
    return torch.ops.prims.convert_element_type.default(x.clamp(-most, most), dtype)


class _SameMemory:
    """An executable that copies all results into those of its first call."""

    _boxed_call = True

    def __init__(self, executable):
        self._executable, self._results = executable, None

    def __getattr__(self, name):
        return getattr(self._executable, name)

    def __call__(self, args):
        results = self._executable(args)
        if self._results is None:
            self._results = results
        for kept, new in zip(self._results, results):
            if isinstance(kept, torch.Tensor) and kept.shape == new.shape:
                kept.copy_(new)
        return list(self._results)
