"""frit: a graph-compiler backend for PyTorch 2.

`torch.compile(model, backend="frit")` finds the backend by its entry point; import this package only
to use the names listed below. The import is light on purpose: it loads neither torch nor the compiler
library, touches no device and changes no global setting.
"""

from importlib import import_module as _import_module

__version__ = "0.1.0"

_HOME = {
    "explain": "frit.report.explain",
    "load": "frit.loading",
    "cmake_prefix_path": "frit.installed",
    "Model": "frit.loading",
    "reset": "frit.backend",
    "load_cache_artifacts": "frit.cache.compiled_graphs",
    "precompile": "frit.precompiling",
    "memory": "frit.peak_memory",
    "counts": "frit.report.counts",
    "record_sizes": "frit.sizes.record",
    "collate": "frit.collating",
    "wait_for_background": "frit.sizes.specialize",
    "FritError": "frit.errors",
    "OptionError": "frit.errors",
    "CaptureError": "frit.errors",
    "CompileError": "frit.errors",
    "ArtifactError": "frit.errors",
    "VerifyError": "frit.errors",
    "CollateError": "frit.errors",
    "list_options": "frit.options",
    "list_mode_options": "frit.options",
}

__all__ = sorted(_HOME)


def __getattr__(name):
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'frit' has no attribute {name!r}")
    value = getattr(_import_module(home), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted([*globals(), *_HOME])
