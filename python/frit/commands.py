"""The installed commands `frit-compile`, `frit-run` and `frit-run-torch`, which start the programs in the package's `bin`.

The program replaces this process, so it contains no Python, and no torch except in `frit-run-torch`.
"""

import os
import sys

from .errors import FritError


def _become(name):
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", name)
    if not os.path.exists(program):
        raise FritError(f"{program} is missing; in a source tree {name} lies in build/bin, elsewhere install frit again")
    os.execv(program, [name, *sys.argv[1:]])


def frit_compile():
    _become("frit-compile")


def frit_run():
    _become("frit-run")


def frit_run_torch():
    _become("frit-run-torch")
