"""Kernels for single buckets, compiled in the background while those for all sizes serve.

`options={"bucket_policy": "specialize"}`. An executable counts which buckets its calls meet; one that is met a second time is
compiled for, in a thread of its own, from the text the graph was captured as: no torch object is looked at there, and the
compiler runs without the interpreter lock. What was made is installed between two calls. Its results are the bits of the kernels for all
sizes, so nobody can see when it takes over. Whatever goes wrong is logged and counted, and the kernels for all sizes go on.
"""

import atexit
import collections
import contextlib
import hashlib
import json
import os
import threading
import time
import weakref

from .. import native
from ..cache import compiled_graphs
from ..cache.disk_cache import pack_source
from ..cache.summary import KeptReport
from ..logs import artifact, log


class Specializer:
    """What it takes to compile a graph again for a bucket. Lives as long as the executable, whose attribute it is."""

    def __init__(self, executable, captured, settings, report, name):
        self._executable = weakref.ref(executable)
        self._text = captured.json
        self._constants = captured.constants
        self._key = captured.key
        self._settings = settings
        self._name = name
        if isinstance(report, KeptReport):
            # Sizes by the names that the text has.
            self._settings, report = report.settings_as_compiled(settings), report.as_compiled
        used = sorted((entry for entry in report["buckets"] if entry["index"] >= 0), key=lambda entry: entry["index"])
        self._sizes = [(entry["symbol"], entry["sizes"]) for entry in used]

    def want(self, buckets):
        """Asks for kernels of these buckets, one entry a list; called from the call that met them, so it only takes a note."""
        _worker().put(self, buckets)

    def ranges(self, buckets):
        """`s77=9:16;s3=1:8`: the sizes that fall into these entries. A symbol's own least size bounds the first."""
        return ";".join(
            f"{symbol}={sizes[entry - 1] + 1 if entry else -(1 << 62)}:{sizes[entry]}" for (symbol, sizes), entry in zip(self._sizes, buckets)
        )

    def make(self, buckets, library):
        """Compiles and installs; in the background."""
        executable = self._executable()
        if executable is None:
            return
        started = time.perf_counter()
        ranges = self.ranges(buckets)
        key = self._key and hashlib.sha256(f"{self._key} {ranges}".encode()).hexdigest()
        try:
            content = key and compiled_graphs.read_artifact(key)
            if not content:
                asked = json.dumps({**self._settings, "symbol_ranges": ranges, "name": self._name, "strict": True})
                content = library.compile(self._text, asked).artifact
                if key:
                    compiled_graphs.keep_artifact(key, content, pack_source(self._text, asked, library.identity()))
            library.specialize(executable, buckets, content, self._constants)
        except Exception as error:  # the kernels for all sizes serve on
            executable.note_failed_specialization()
            log.warning("%s: no kernels for %s, those for all sizes serve: %s", self._name, ranges, error)
            return
        artifact("timing").debug("%s: specialized for %s in %.1f ms", self._name, ranges, 1e3 * (time.perf_counter() - started))


class _Worker:
    """A queue and the one thread that empties it, begun when it is first needed."""

    def __init__(self):
        self._changed = threading.Condition()
        self._waiting = collections.deque()
        self._busy = False
        self._thread = None
        self._stopped = False

    def put(self, specializer, buckets):
        with self._changed:
            if self._stopped:
                return
            self._waiting.append((weakref.ref(specializer), buckets))
            self._changed.notify_all()
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="frit-specialize", daemon=True)
                self._thread.start()

    def _run(self):
        _yield_to_others()
        while True:
            with self._changed:
                self._busy = False
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._waiting)
                self._busy = True
                reference, buckets = self._waiting.popleft()
            specializer = reference()
            if specializer is not None:
                specializer.make(buckets, native.compiler())
            # An executable that nobody else holds goes now, not at the next round.
            del specializer

    def wait(self, timeout=None):
        with self._changed:
            return self._changed.wait_for(lambda: not self._waiting and not self._busy, timeout)

    def forget(self):
        with self._changed:
            self._waiting.clear()
            self._changed.notify_all()

    def stop(self):
        """What is under way is finished, nothing else is begun: the compiler must not run into the end of the process."""
        with self._changed:
            self._stopped = True
            self._waiting.clear()
        self.wait()


def _yield_to_others():
    """Where a thread has a priority of its own, this one comes after those that call."""
    with contextlib.suppress(OSError, AttributeError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)


_WORKERS = []


def _worker():
    if not _WORKERS:
        _WORKERS.append(_Worker())
        atexit.register(_stop)
    return _WORKERS[0]


def _stop():
    for worker in _WORKERS:
        worker.stop()


def forget():
    """Drops what has not begun."""
    for worker in _WORKERS:
        worker.forget()


def wait_for_background(timeout=None):
    """Waits until no kernels are being compiled in the background; False if `timeout` seconds were not enough."""
    return all(worker.wait(timeout) for worker in _WORKERS)


def attach(executable, captured, settings, report, name):
    """Lets an executable ask for kernels of its buckets, where it has any and its graph can be compiled again."""
    if captured.callbacks or not captured.json or not hasattr(executable, "watch_buckets"):
        return
    if report.get("retries"):
        return  # kernels of another try would not be these
    specializer = Specializer(executable, captured, settings, report, name)
    if specializer._sizes:
        executable._specializer = specializer
        executable.watch_buckets()


# A fork has the queue and not the thread.
os.register_at_fork(after_in_child=_WORKERS.clear)
