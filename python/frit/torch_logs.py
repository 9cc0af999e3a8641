"""Torch's own switches that apply to frit: TORCH_LOGS, TORCH_COMPILE_DEBUG and TORCH_TRACE."""

import logging
import os

import torch
from torch._logging import _internal as torch_logging

from .logs import ARTIFACTS, artifact

#: The artifacts of TORCH_LOGS to which frit contributes.
NAMES = ("output_code", "perf_hints", "recompiles")
#: A child of one of torch's loggers, whose handlers print its records.
_PARENT = "torch._dynamo.backends.frit"


def logger(name):
    """The logger of one of torch's artifacts; enabled by TORCH_LOGS or torch._logging.set_logs."""
    return torch._logging.getArtifactLogger(_PARENT, name)


def wants(name):
    """Whether TORCH_LOGS names an artifact."""
    return torch_logging.log_state.is_artifact_enabled(name)


def is_traced():
    """Whether torch writes the log that `tlparse` reads."""
    # Other handlers may be attached there (pytest attaches one). torch's handler removes itself if there is no folder for the log.
    return any(isinstance(handler, torch_logging.LazyTraceHandler) for handler in torch_logging.trace_log.handlers)


def debug_folder():
    """The folder for stages under TORCH_COMPILE_DEBUG=1, else ""."""
    if os.environ.get("TORCH_COMPILE_DEBUG", "0") != "1":
        return ""
    from torch._dynamo.utils import get_debug_dir

    return os.path.join(get_debug_dir(), "frit")


def follow():
    """Under TORCH_LOGS=+frit shows the artifacts too, as torch shows those below a logger at debug level; graphs are shown only on request."""
    if torch_logging.log_state.log_qname_to_level.get("frit") == logging.DEBUG:
        for name in ARTIFACTS:
            if name != "graph":
                artifact(name).setLevel(logging.DEBUG)
