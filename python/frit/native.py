"""The native library, `frit._C`: the compiler and the runtime. This module alone imports it, and only when something is compiled or loaded.

An installed package has it for several minor versions of torch, and the process takes that of its torch, or the nearest.
"""

import functools

from . import installed
from .errors import CompileError


def library(refusal=CompileError):
    """frit._C. If it cannot be loaded, raises an error of the type `refusal` that says what to do."""
    import torch  # the library is linked against torch's

    _choose(torch.__version__)
    try:
        from . import _C
    except ImportError as error:
        raise refusal(f"frit's native library cannot be loaded ({error}); build it with `pip install .`") from error
    _compare(torch.__version__, _C.torch_version)
    return _C


@functools.cache
def _choose(version):
    """Makes the import system find the library of an installed package."""
    import frit

    folders = installed.torch_folders()
    if folders:
        frit.__path__.append(folders[installed.nearest(version, folders)])


@functools.cache
def _compare(version, built):
    """Says once if the library is for another torch."""
    from .logs import log

    if installed.minor_version(version) != installed.minor_version(built):
        log.warning("frit has no library for torch %s and uses that for torch %s, which is untested", version, built)


@functools.cache
def compiler():
    """frit._C for compiling; warns once if a mistake is planted (`planted.py`)."""
    from . import planted
    from .logs import log

    found = library()
    planted.warn(log)
    return found
