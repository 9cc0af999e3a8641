"""What an installed package has beside its Python files: programs, libraries, and in `torch-<minor version>` what is built against that torch.

A source tree has none of it: its `frit._C` is for the torch that it was built with, and the rest lies in build/.
"""

import os
import re

from .errors import FritError

FOLDER = os.path.dirname(os.path.abspath(__file__))


def minor_version(version):
    """(2, 13) of "2.13.0+cpu"."""
    major, minor = re.match(r"(\d+)\.(\d+)", version).groups()
    return int(major), int(minor)


def torch_folders(folder=FOLDER):
    """The folders of what is built against torch, by its minor version."""
    names = (re.fullmatch(r"torch-(\d+)\.(\d+)", name) for name in os.listdir(folder))
    return {(int(name[1]), int(name[2])): os.path.join(folder, name[0]) for name in names if name}


def nearest(version, known):
    """The minor version among `known` that is nearest to `version`, the newer of two; None if there is none."""
    major, minor = minor_version(version)
    return min(known, key=lambda each: (abs((each[0] - major) * 1000 + each[1] - minor), -each[1]), default=None)


def cmake_prefix_path():
    """The folder for CMAKE_PREFIX_PATH with which find_package(frit) finds the C++ libraries of the package (docs/Deploy.md)."""
    if not os.path.isdir(os.path.join(FOLDER, "lib", "cmake")):
        raise FritError("a source tree has no CMake package; `cmake --install build --component runtime --prefix WHERE` installs it")
    return FOLDER
