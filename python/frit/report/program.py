"""`FRIT_REPORT=folder`: a page for each function that a program compiles, and an index, written when the program ends.

Compiled functions stay in memory until then, also those that `torch.compiler.reset()` would have released.
"""

import atexit
import collections
import os
import re
import tempfile

import torch

from .. import backend as _backend
from ..logs import counted, log
from ..modes.cuda_graphs import in_bytes
from ..pages.text import element, page, table
from .collected import Collected, breaks_of
from .explain import Explanation
from .html import write
from .recompiles import explain_reason

_PROGRAMS = {}  # folder -> Program


class Program:
    """What a process compiles for one folder of reports."""

    def __init__(self, folder):
        rank = os.environ.get("RANK")
        self.folder = os.path.join(folder, f"rank{rank}") if rank else folder
        self.process = os.getpid()
        self.temporary = tempfile.TemporaryDirectory(prefix="frit-report-")
        self.functions = {}  # (Dynamo's number, name, file, line) -> Function; numbers start again after a reset
        self.current = {}  # Dynamo's number -> Function
        self.last = None

    def of(self, gm, dump):
        """The Function that Dynamo compiles now."""
        number = _backend.number_of_function()
        place = _place(gm)
        if (number, *place) not in self.functions:
            self.functions[number, *place] = Function(*place, Collected(dump))
        self.last = self.current[number] = self.functions[number, *place]
        return self.last

    def observe(self, *graph):
        """An observer of the backend: adds a graph to the function that Dynamo compiles."""
        found = self.current.get(_backend.number_of_function(), self.last)
        if found:
            found.collected.observe(*graph)

    def finish(self):
        """Writes the pages, in the process that compiled the functions."""
        if os.getpid() != self.process:
            return
        try:
            self._write()
        except OSError as error:
            log.warning("no report is written to %s: %s", self.folder, error)
        self.temporary.cleanup()

    def _write(self):
        rows = []
        recompiles = _recompiles()
        for number, function in enumerate(self.functions.values()):
            function.collected.finish()
            again = recompiles.get((function.name, function.file), [])
            explanation = Explanation(function.collected.graphs, again, function.breaks, function.collected.anatomies, function.name)
            file = f"{number:03}-{re.sub(r'[^A-Za-z0-9_]+', '-', function.name)[:60]}.html"
            write(explanation, os.path.join(self.folder, file), f"{function.file}:{function.line}")
            rows.append(_row(explanation, function, file))
        head = ["function", "where", "graphs", "breaks", "recompilations", "kernels", "calls of ATen", "bytes moved", "times the least"]
        body = element("main", element("h1", "Compiled functions"), element("p", "in the order of compilation; a click on a column sorts", class_="soft"),
                       table(head, rows, class_="sorts"))
        os.makedirs(self.folder, exist_ok=True)
        with open(os.path.join(self.folder, "index.html"), "w", encoding="utf-8") as index:
            index.write(page("frit: compiled functions", body))
        log.warning("the report on %s is in %s", counted(len(rows), "compiled function"), os.path.join(self.folder, "index.html"))


class Function:
    """A function as Dynamo sees it: its graphs, and where Dynamo broke it."""

    def __init__(self, name, file, line, collected):
        self.name, self.file, self.line, self.collected = name, file, line, collected
        self.breaks = []


def programs():
    """The Programs of this process, one for each folder."""
    return list(_PROGRAMS.values())


def collect(gm, settings):
    """Notes that `gm` is about to be compiled; returns the settings that make the compiler leave its stages."""
    folder = os.path.abspath(settings["report_dir"])
    if folder not in _PROGRAMS:
        program = _PROGRAMS[folder] = Program(folder)
        _backend._OBSERVERS.append(program.observe)
        atexit.register(program.finish)
    program = _PROGRAMS[folder]
    dump = settings["dump_dir"] or program.temporary.name
    program.of(gm, dump).breaks.extend(breaks_of(gm))
    return {**settings, "dump_dir": dump}


def _place(gm):
    """(name, file, line) of the function that Dynamo compiles: the outermost frame of any node."""
    # If arguments come in lists, `gm` is a wrapper whose attribute `gm` has the graph.
    for node in getattr(getattr(gm, "gm", gm), "graph", torch.fx.Graph()).nodes:
        found = re.search(r'File "([^"]+)", line (\d+), in (\S+)', node.meta.get("stack_trace") or node.stack_trace or "")
        if found:
            return found[3], os.path.basename(found[1]), int(found[2])
    return _frame()


def _frame():
    """The same of the frame that Dynamo compiles; it is torch's own for a module like nn.Sequential, whose nodes have no frame of the user."""
    try:
        from torch._dynamo.symbolic_convert import InstructionTranslator

        translator = InstructionTranslator.current_tx()
        code, name, receiver = translator.f_code, translator.f_code.co_name, translator.f_locals.get("fn")
        if isinstance(receiver, torch.nn.Module):  # the frame is a wrapper that calls `fn`
            code, name = type(receiver).forward.__code__, f"{type(receiver).__name__}.forward"
    except (ImportError, AttributeError):
        return "function", "?", 0
    return name, os.path.basename(code.co_filename), code.co_firstlineno


def _recompiles():
    """(name, file) of a function -> its recompilations, as far back as torch remembers them."""
    from torch._dynamo.utils import get_compilation_metrics

    found = collections.defaultdict(list)
    for metric in get_compilation_metrics():
        if metric.recompile_reason:
            file = os.path.basename(metric.co_filename or "?")
            found[metric.co_name, file].append(explain_reason(metric.recompile_reason, metric.co_name, f"{file}:{metric.co_firstlineno}"))
    return found


def _row(explanation, function, file):
    moved, mandatory = (sum(graph.get(key, 0) for graph in explanation.graphs) for key in ("bytes_moved", "bytes_mandatory"))
    counts = [len(each) for each in (explanation.graphs, explanation.breaks, explanation.recompiles, explanation.kernels, explanation.aten_calls)]
    ratio = moved / mandatory if mandatory else 0
    return (element("a", function.name, href=file), f"{function.file}:{function.line}", *((count, count) for count in counts), (moved, in_bytes(moved)),
            (ratio, f"{ratio:.2g}"))
