"""`python repro.py`: the last line of each script calls `run_script`."""

import argparse
import sys
import traceback

from ..errors import FritError
from . import bisect
from .program import Program


def main(module):
    """The exit status of `python repro.py`: 1 if the failure occurs again, 2 if another one does, 0 if none does."""
    parser = argparse.ArgumentParser(description=f"repeats a {module.FAILURE} of frit")
    parser.add_argument("--minify", action="store_true", help="find the smallest failing graph (as `frit bisect` does)")
    chosen = parser.parse_args()
    program = Program(module)
    if chosen.minify:
        return bisect.of_program(program)
    try:
        program.run()
    except Exception as error:
        if not isinstance(error, FritError):
            traceback.print_exc()
        same = type(error).__name__ == program.expected
        print(f"{'the failure' if same else 'another failure'}: {type(error).__name__}: {error}")
        return 1 if same else 2
    print(f"no failure: the graph compiles, runs and agrees with ATen; a {program.expected} was expected")
    return 0


def run_script(module_name):
    """Called in the last line of a script."""
    sys.exit(main(sys.modules[module_name]))
