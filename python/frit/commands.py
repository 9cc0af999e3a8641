"""The installed commands `frit-compile`, `frit-run` and `frit-run-torch`, which start the programs in the package.

The program replaces this process, so it contains no Python, and no torch except in `frit-run-torch`.
"""

import os
import shutil
import sys

from . import installed
from .errors import FritError


def _exec(folder, name):
    # Not one from the PATH, which may be the script that runs.
    program = os.path.join(folder, name)
    if not os.path.exists(program):
        raise FritError(f"{program} is missing; in a source tree {name} is in build/bin, elsewhere install frit again")
    os.execv(program, [name, *sys.argv[1:]])


def program(name):
    """The path of a program: in the package, in the build folder of a source tree, or on the PATH."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    build = os.environ.get("FRIT_BUILD_DIR") or os.path.join(root, "build")
    places = [os.path.join(_programs(), name), os.path.join(build, "bin", name), shutil.which(name)]
    found = next((place for place in places if place and os.access(place, os.X_OK)), None)
    if found is None:
        raise FritError(f"{places[0]} is missing; in a source tree {name} is in build/bin, elsewhere install frit again")
    return found


def _programs():
    return os.path.join(installed.FOLDER, "bin")


def frit_compile():
    """The command `frit-compile`."""
    _exec(_programs(), "frit-compile")


def frit_run():
    """The command `frit-run`."""
    _exec(_programs(), "frit-run")


def frit_run_torch():
    """The command `frit-run-torch` for the installed torch; the newest if none is installed, for the libraries that LD_LIBRARY_PATH names."""
    from importlib import metadata

    folders = installed.torch_folders()
    try:
        version = metadata.version("torch")
        chosen = installed.nearest(version, folders)
        if chosen and chosen != installed.minor_version(version):
            sys.stderr.write(f"frit-run-torch: built for torch {chosen[0]}.{chosen[1]}, untested with {version}\n")
    except metadata.PackageNotFoundError:
        chosen = max(folders, default=None)
    _exec(folders.get(chosen, _programs()), "frit-run-torch")
