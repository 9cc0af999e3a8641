"""The phases of a compilation: spans in torch's traces (its profiler, TORCH_TRACE and `tlparse`), and a progress line on a terminal."""

import contextlib
import shutil
import sys
import threading
import time

#: Seconds before the line appears, and between its updates.
AFTER, EVERY = 1.0, 0.2
#: The state of this thread: `line` is its progress line.
_HERE = threading.local()


@contextlib.contextmanager
def phase(what, graph, **facts):
    """Opens the span `frit.<what>` in torch's traces, with the name of the graph and other facts; the line on the terminal shows the same."""
    from torch._dynamo.utils import dynamo_timed

    line = getattr(_HERE, "line", None)
    before = line and line.text
    if line:
        line.text = f"{what} {graph}" + "".join(f", {value} {name}" for name, value in facts.items())
    try:
        with dynamo_timed(f"frit.{what}", metadata={"graph": graph, **facts}):
            yield
    finally:
        if line:
            line.text = before


def note(what, **facts):
    """Adds facts to the span of the current phase."""
    from torch._dynamo.utils import CompileEventLogger

    CompileEventLogger.chromium(f"frit.{what}", **facts)


@contextlib.contextmanager
def watched(is_wanted):
    """A context in which a compilation of more than a second shows a line on the terminal. At its end the line and the thread that writes it are
    removed."""
    if not is_wanted or getattr(_HERE, "line", None) or not _is_terminal(sys.stderr):
        yield
        return
    line = _HERE.line = _Line(sys.stderr)
    try:
        yield
    finally:
        _HERE.line = None
        line.end()


def _is_terminal(stream):
    try:
        return stream.isatty()
    except (AttributeError, ValueError):  # there is none, or it is closed
        return False


class _Line:
    """A progress line on a terminal, written by a thread of its own."""

    def __init__(self, stream):
        self.text = "trace"
        self._stream = stream
        self._began = time.monotonic()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="frit-progress", daemon=True)
        self._thread.start()

    def end(self):
        self._ended.set()
        self._thread.join()

    def _run(self):
        wait, width = AFTER, 0
        # The terminal may be closed meanwhile.
        with contextlib.suppress(OSError, ValueError):
            while not self._ended.wait(wait):
                shown = f"frit: {time.monotonic() - self._began:.1f} s, {self.text}"[: shutil.get_terminal_size().columns - 1]
                self._write("\r" + shown.ljust(width))
                wait, width = EVERY, max(width, len(shown))
            if width:
                self._write("\r" + " " * width + "\r")

    def _write(self, text):
        self._stream.write(text)
        self._stream.flush()
