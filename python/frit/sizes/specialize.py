"""Compiles specialised kernels for single buckets in the background, while the generic kernels run.

`options={"bucket_policy": "specialize"}`. An executable counts the buckets of its calls. When one is used a second time, a background thread
compiles kernels for it from the captured text; it touches no torch object and does not hold the interpreter lock while it compiles. The new
kernels are installed between two calls. Their results are bit for bit those of the generic kernels, so the switch is not visible. A failure is
logged and counted, and the generic kernels stay in use.
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
from ..cache.disk_cache import default_folder, folder_of, pack_source
from ..cache.summary import StoredReport
from ..logs import artifact, log


class Specializer:
    """Compiles a graph again for a bucket. It is an attribute of the executable and lives as long as it."""

    def __init__(self, executable, captured, settings, report, name):
        self._executable = weakref.ref(executable)
        self._text = captured.json
        self._constants = captured.constants
        self._key = captured.key
        self._folder = {"cache_dir": default_folder() or ""}
        self._settings = settings
        self._name = name
        if isinstance(report, StoredReport):
            # The text has the names of sizes of the program it was compiled for.
            self._settings, report = report.settings_as_compiled(settings), report.as_compiled
        used = sorted((entry for entry in report["buckets"] if entry["index"] >= 0), key=lambda entry: entry["index"])
        self._sizes = [(entry["symbol"], entry["sizes"]) for entry in used]

    def want(self, buckets):
        """Requests kernels for these buckets, one entry per list. It runs inside a call, so it only queues the request."""
        _worker().put(self, buckets)

    def ranges(self, buckets):
        """The ranges of the sizes in these buckets, as in `s77=9:16;s3=1:8`. The first bucket has no lower bound, so the symbol's own minimum
        applies."""
        return ";".join(
            f"{symbol}={sizes[entry - 1] + 1 if entry else -(1 << 62)}:{sizes[entry]}" for (symbol, sizes), entry in zip(self._sizes, buckets)
        )

    def make(self, buckets, library):
        """Compiles and installs the kernels; runs in the background thread."""
        executable = self._executable()
        if executable is None:
            return
        started = time.perf_counter()
        ranges = self.ranges(buckets)
        key = self._key and hashlib.sha256(f"{self._key} {ranges}".encode()).hexdigest()
        try:
            content = key and compiled_graphs.read_artifact(key)
            if not content:
                options = json.dumps({**self._settings, "symbol_ranges": ranges, "name": self._name, "strict": True})
                content = library.compile(self._text, options).artifact
                if key:
                    compiled_graphs.store_artifact(key, content, pack_source(self._text, options, library.identity()))
            library.specialize(executable, buckets, content, self._constants)
        except Exception as error:  # the generic kernels stay in use
            executable.note_failed_specialization()
            log.warning("%s: no specialised kernels for %s, the generic ones run: %s", self._name, ranges, error)
            return
        artifact("timing").debug("%s: specialized for %s in %.1f ms", self._name, ranges, 1e3 * (time.perf_counter() - started))


class _Worker:
    """A queue and its one thread, which starts when it is first needed."""

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
                with folder_of(specializer._folder):
                    specializer.make(buckets, native.compiler())
            # Without this an executable that is not used any more would live until the next request.
            del specializer

    def wait(self, timeout=None):
        with self._changed:
            return self._changed.wait_for(lambda: not self._waiting and not self._busy, timeout)

    def forget(self):
        with self._changed:
            self._waiting.clear()
            self._changed.notify_all()

    def stop(self):
        """Finishes the running compilation and starts no other, because the compiler must not run while the process ends."""
        with self._changed:
            self._stopped = True
            self._waiting.clear()
        self.wait()


def _yield_to_others():
    """Lowers the priority of this thread, where threads have their own priority."""
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
    """Drops the requests that have not begun."""
    for worker in _WORKERS:
        worker.forget()


def wait_for_background(timeout=None):
    """Waits until no kernels are being compiled in the background; False if `timeout` seconds were not enough."""
    return all(worker.wait(timeout) for worker in _WORKERS)


def attach(executable, captured, settings, report, name):
    """Lets an executable request kernels for its buckets, if it has any and its graph can be compiled again."""
    if captured.callbacks or not captured.json or not hasattr(executable, "watch_buckets"):
        return
    if report.get("retries"):
        return  # after a retry, another compilation may give other kernels
    specializer = Specializer(executable, captured, settings, report, name)
    if specializer._sizes:
        executable._specializer = specializer
        executable.watch_buckets()


# A forked child inherits the queue but not the thread.
os.register_at_fork(after_in_child=_WORKERS.clear)
