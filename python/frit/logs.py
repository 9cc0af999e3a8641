"""Logging: Python's logger `frit`, controlled by FRIT_LOGS.

FRIT_LOGS has the grammar of TORCH_LOGS: a comma-separated list of names, each optionally preceded by `+` (debug level) or `-` (errors only). `frit`
is the package's own log; the other names are artifacts, which are off by default. TORCH_LOGS can name `frit` too, as it can name any package: `+frit`
also shows the artifacts, except the graphs (`torch_logs.py`). It cannot name the artifacts: torch parses it during its import, before frit is
imported.

A line is a sentence. With FRIT_LOGS_FORMAT=json it is an object with the level, the logger, the text, and, for an artifact, the graph and the entry
of the compiler's report.
"""

import functools
import json
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
def counted(number, one, several=None):
    """A number with its noun: `1 kernel`, `2 kernels`."""
    return f"{number} {one if number == 1 else several or one + 's'}"


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


def note_entry(what, graph, entry):
    """Logs an entry of the compiler's report to the artifact `what`."""
    artifact(what).debug("%s: %s", graph, _SENTENCES[what](entry), extra={"frit_graph": graph, "frit_entry": entry})


def _kernel(entry):
    uses = f", {entry['uses']} times" if entry.get("uses", 1) > 1 else ""
    shown = f"kernel {entry['name']}{uses}: {', '.join(entry.get('ops', ())) or 'copy'}"
    return "; ".join([shown, *filter(None, [entry.get("schedule", "")]), *entry.get("sources", ())])


def _call(entry):
    where = "Python" if entry.get("python") else "ATen, or in frit's own kernel where that is faster" if entry.get("own_product") else "ATen"
    return f"{entry['op']} runs in {where}: {entry.get('reason') or 'no reason is known'}" + (f"; {entry['source']}" if entry.get("source") else "")


def _guard(entry):
    where = f"variant {entry['variant']} of {entry['kernel']} takes" if "kernel" in entry else "the graph assumes"
    return f"{where}: {entry['requirement']}" + (f", for {entry['origin']}" if entry.get("origin") else "")


_SENTENCES = {"kernels": _kernel, "fallbacks": _call, "guards": _guard}


class _Json(logging.Formatter):
    """A log record as one JSON object."""

    def format(self, record):
        graph, entry = getattr(record, "frit_graph", None), getattr(record, "frit_entry", None)
        found = {"level": record.levelname.lower(), "logger": record.name, "text": record.getMessage()}
        if record.exc_info:
            found["traceback"] = self.formatException(record.exc_info)
        return json.dumps({**found, **({} if graph is None else {"graph": graph, "entry": entry})}, default=str)


def _formatter():
    asked = os.environ.get("FRIT_LOGS_FORMAT") or "text"
    if asked not in ("text", "json"):
        environment.warn(f"FRIT_LOGS_FORMAT={asked!r} is ignored; {nearest(asked, ['text', 'json'])}")
    return _Json() if asked == "json" else logging.Formatter("%(levelname).1s %(name)s: %(message)s")


def _show(logger, level):
    logger.setLevel(level)
    if not [handler for handler in logger.handlers if not _is_last_resort(handler)]:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(_formatter())
        logger.addHandler(handler)


class _LastResort(logging.StreamHandler):
    """Prints warnings where nothing else shows them, as Python does, and names frit."""

    def __init__(self):
        super().__init__(sys.stderr)

    def format(self, record):
        text = super().format(record)
        return text if text.startswith("frit") else f"frit: {text}"

    def emit(self, record):
        if log.handlers == [self] and not logging.getLogger().handlers and record.levelno >= logging.WARNING:
            self.setStream(sys.stderr)
            super().emit(record)


def _is_last_resort(handler):
    # By its name: the package may have been imported before.
    return type(handler).__name__ == _LastResort.__name__


def silence():
    """Restores the state without FRIT_LOGS: warnings only, artifacts off."""
    log.setLevel(logging.NOTSET)
    _silence_artifacts()


def _silence_artifacts():
    for each in ARTIFACTS:
        artifact(each).setLevel(logging.CRITICAL + 1)


log.handlers[:] = [*(handler for handler in log.handlers if not _is_last_resort(handler)), _LastResort()]
# The level of `frit` itself may be TORCH_LOGS's.
_silence_artifacts()
if os.environ.get("FRIT_LOGS"):
    apply(os.environ["FRIT_LOGS"])
