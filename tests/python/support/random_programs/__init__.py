"""Random whole programs, compiled and held to eager: `programs()` makes them, `outcome` runs one, `smallest` shrinks what differs.

A program is data: inputs and steps, each a line of Python over named slots. It is made while eager runs it at all of its sizes, so that
almost every step is one that torch allows. Tensors hold small whole numbers: most of what floats compute is then exact and compared
bit for bit; what is rounded is bounded by the mathematics (`rounding.py`).
"""

from .compare import outcome
from .generate import Choices, generate, mode_of, programs
from .program import Program
from .smallest import smallest

__all__ = ["Choices", "Program", "generate", "mode_of", "outcome", "programs", "smallest"]
