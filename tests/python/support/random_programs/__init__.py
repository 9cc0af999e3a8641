"""Random whole programs, compared with eager: `programs()` generates them, `outcome` runs one, `smallest` shrinks one that differs.

A program is data: inputs and steps, each a line of Python over named slots. It is generated while eager runs it at all of its sizes, so
torch allows almost every step. Tensors hold small integers, so most float results are exact and are compared bit for bit; for rounded
results, Monte Carlo arithmetic bounds the error (`rounding.py`).
"""

from .compare import outcome
from .generate import Choices, generate, mode_of, programs
from .known import known_as
from .program import Program
from .smallest import smallest

__all__ = ["Choices", "Program", "generate", "known_as", "mode_of", "outcome", "programs", "smallest"]
