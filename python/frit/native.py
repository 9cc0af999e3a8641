"""The native library, `frit._C`: the compiler and the runtime. This module alone imports it, and only when something is compiled or loaded."""

import functools

from .errors import CompileError


def library(refusal=CompileError):
    """frit._C. If it cannot be loaded, raises an error of the type `refusal` that says what to do."""
    import torch  # noqa: F401 (the library is linked against torch's)

    try:
        from . import _C
    except ImportError as error:
        raise refusal(f"frit's native library cannot be loaded ({error}); build it with `pip install .`") from error
    return _C


@functools.cache
def compiler():
    """frit._C for compiling; warns once if a mistake is planted (`planted.py`)."""
    from . import planted
    from .logs import log

    found = library()
    planted.warn(log)
    return found
