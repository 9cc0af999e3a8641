"""Counts the sizes of real calls, from which `frit-compile --sizes` computes buckets.

    with frit.record_sizes("seen.json"):
        model = torch.compile(model, backend="frit", dynamic=True)
        serve(model)

or FRIT_RECORD_SIZES=seen.json for an unchanged program. The file says how often each size of each dynamic dimension was seen:
`{"ids[1]": {"17": 120, "64": 3}}`. Functions that were compiled before the recording began are not counted, because counting adds Python code
to each call.
"""

import atexit
import collections
import contextlib
import functools
import json
import os
import threading

from ..errors import FritError
from ..logs import log

_ACTIVE = []


class SizeRecord:
    """How often each size was seen, by argument and dimension."""

    def __init__(self):
        self.counts = {}
        self._lock = threading.Lock()

    def watched(self, compiled, places):
        """Wraps `compiled` to count each call; `places` are those of the dynamic sizes (`buckets.places`)."""

        @functools.wraps(compiled)
        def run(*args):
            with self._lock:
                for name, argument, read in places:
                    self.counts.setdefault(name, collections.Counter())[read(args[argument])] += 1
            return compiled(*args)

        return run

    def to_json(self):
        """The counts as JSON text, `{"ids[1]": {"17": 120}}`."""
        with self._lock:
            each = {name: {str(size): counts[size] for size in sorted(counts)} for name, counts in sorted(self.counts.items())}
        return json.dumps(each, indent=1)

    def write(self, path):
        """Writes the counts to a file, by renaming a temporary one; FritError if that fails."""
        try:
            with open(f"{path}.partial", "w", encoding="utf-8") as file:
                file.write(self.to_json() + "\n")
            os.replace(f"{path}.partial", path)
        except OSError as error:
            raise FritError(f"frit: sizes cannot be written to {path}: {error.strerror}") from error


@contextlib.contextmanager
def record_sizes(path=None):
    """A context that counts the sizes of calls of the functions compiled inside it, and writes them to `path` at the end, also after an exception."""
    record = SizeRecord()
    _ACTIVE.append(record)
    try:
        yield record
    finally:
        _ACTIVE.remove(record)
        if path is not None:
            record.write(os.fspath(path))


@functools.cache
def _of_environment():
    """The record for FRIT_RECORD_SIZES, written when the process ends."""
    path = os.environ.get("FRIT_RECORD_SIZES")
    if not path:
        return None
    record = SizeRecord()

    def write():
        try:
            record.write(path)
        except FritError as error:
            log.warning("%s", error)

    atexit.register(write)
    return record


def watch(compiled, places):
    """Wraps `compiled` so that every active record counts its calls; `places` is called only if there is a record."""
    records = [*_ACTIVE, *filter(None, [_of_environment()])]
    found = places() if records else ()
    for record in records if found else ():
        compiled = record.watched(compiled, found)
    return compiled
