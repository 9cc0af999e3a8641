"""The registry of programs: what the demo prints, the benchmark measures and the tests check.

Each program is plain eager PyTorch. `make(scale)` gives the function and its inputs, at the published
size (`"demo"`) or at one small enough for a test (`"test"`); seeds are fixed.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

_MODULES = ("fused", "array_way", "sampling", "memory", "giou", "models", "optimizer")


@dataclass(frozen=True)
class Program:
    """One program.

    `compare` says how results are compared with eager's: "exact" bit for bit, "float" by the fp64 rule, "training"
    with gradients too. A program that draws random numbers (`random`) is seeded before each call. `fullgraph` is false
    if a shape depends on data.
    """

    name: str
    section: str
    make: Callable
    compare: str = "float"
    fullgraph: bool = True
    random: bool = False
    training: bool = False
    demo: bool = True
    kernels: int | None = None
    compile_options: dict = field(default_factory=dict)


_PROGRAMS = {}


def register(name, section, **settings):
    """Decorator that registers the function as the `make` of a program."""

    def add(make):
        assert name not in _PROGRAMS, name
        _PROGRAMS[name] = Program(name, section, make, **settings)
        return make

    return add


def programs():
    """All programs by name, in the order of the sections."""
    from importlib import import_module

    for module in _MODULES:
        import_module(f"{__name__}.{module}")
    return _PROGRAMS
