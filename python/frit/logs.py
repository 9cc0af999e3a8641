"""Logging: Python's logger `frit`, controlled by FRIT_LOGS.

FRIT_LOGS has the grammar of TORCH_LOGS: a comma-separated list of names, each optionally preceded by `+`
(debug level) or `-` (errors only). `frit` is the package's own log; the other names are
artifacts, which are off by default. TORCH_LOGS can name `frit` too, as it can name any package: `+frit` also shows the artifacts, all but the
graphs (`torch_logs.py`). It cannot name the artifacts: torch parses it during its import, before frit is imported.
"""

import functools
import logging
import os
import sys

from . import environment
from .options import nearest

ARTIFACTS = {
    "graph": "the captured graph, as JSON",
    "kernels": "one line per kernel: name, operators, source",
    "fallbacks": "one line per operator that is left to ATen or Python, with the reason",
    "guards": "one line per assumption: the condition, its graph or kernel variant, and the operator that needs it",
    "timing": "milliseconds of capture, compile and load",
}

log = logging.getLogger("frit")


@functools.cache
def artifact(name):
    """The logger of an artifact."""
    return logging.getLogger(f"frit.artifact.{name}")


def apply(spec):
    """Sets levels from a FRIT_LOGS string; a warning about an unknown name suggests the nearest known one."""
    for entry in filter(None, (part.strip() for part in spec.split(","))):
        level = {"+": logging.DEBUG, "-": logging.ERROR}.get(entry[0], logging.INFO)
        name = entry.lstrip("+-")
        if name == "all":
            _show(log, logging.DEBUG)
            for each in ARTIFACTS:
                artifact(each).setLevel(logging.DEBUG)
        elif name == "frit":
            _show(log, level)
        elif name in ARTIFACTS:
            _show(log, log.level or logging.WARNING)
            artifact(name).setLevel(logging.ERROR if level == logging.ERROR else logging.DEBUG)
        else:
            environment.warn(f"FRIT_LOGS: unknown name {name!r} is ignored; {nearest(name, ['all', 'frit', *ARTIFACTS])}")


def _show(logger, level):
    logger.setLevel(level)
    if not logger.handlers:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter("%(levelname).1s %(name)s: %(message)s"))
        logger.addHandler(handler)


def silence():
    """Restores the state without FRIT_LOGS: warnings only, artifacts off."""
    log.setLevel(logging.NOTSET)
    _silence_artifacts()


def _silence_artifacts():
    for each in ARTIFACTS:
        artifact(each).setLevel(logging.CRITICAL + 1)


# The level of `frit` itself may be TORCH_LOGS's.
_silence_artifacts()
if os.environ.get("FRIT_LOGS"):
    apply(os.environ["FRIT_LOGS"])
