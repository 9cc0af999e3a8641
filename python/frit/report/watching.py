"""Shows each graph in torch's logs (TORCH_LOGS), TORCH_COMPILE_DEBUG, the log of `tlparse`, and the pages of FRIT_REPORT.

Every first compilation imports this module, so modules that read artifacts and write pages are imported only if something is shown.
"""

import functools
import json
import os
import tempfile

import torch

from .. import backend as _backend
from .. import environment, torch_logs
from ..errors import FritError
from ..logs import log
from . import limits


@functools.cache
def _temporary():
    return tempfile.TemporaryDirectory(prefix="frit-logs-")


def prepare(gm, settings):
    """Called before `gm` is compiled; returns the settings that make the compiler leave the stages that will be shown."""
    torch_logs.follow()
    limits.watch()
    _observe_if(_is_shown())
    folder = _writable(settings["dump_dir"]) or torch_logs.debug_folder()
    if not folder and (torch_logs.wants("output_code") or torch_logs.is_traced()):
        folder = _temporary().name
    settings = {**settings, "dump_dir": folder}
    if not settings["report_dir"]:
        return settings
    from . import program

    return program.collect(gm, settings)


def _writable(folder):
    """The folder, or "" with a warning if FRIT_DUMP names one that cannot be written. The compiler raises an error for a folder that an option
    names."""
    if folder and folder == os.environ.get("FRIT_DUMP"):
        try:
            os.makedirs(folder, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
        except OSError as error:
            environment.warn(f"FRIT_DUMP={folder!r} is ignored: the folder cannot be written ({error.strerror})")
            return ""
    return folder


def _is_shown():
    return torch_logs.is_traced() or any(map(torch_logs.wants, torch_logs.NAMES))


def _observe_if(shown):
    """Observes graphs only while something is shown, because AOTAutograd's results are not stored for observed graphs."""
    if shown and _observe not in _backend._OBSERVERS:
        _backend._OBSERVERS.append(_observe)
    elif not shown and _observe in _backend._OBSERVERS:
        _backend._OBSERVERS.remove(_observe)


def _observe(name, stage, captured, report, executable):
    traced = torch_logs.is_traced()
    if not _is_shown():
        return
    from ..inspect import stages
    from . import hints
    from .collected import graph_entry

    try:
        anatomy = stages.of_graph(getattr(captured, "artifact", None), _folder(name), names=getattr(captured, "input_names", ()))
    except FritError as error:
        log.warning("%s is not shown in torch's logs: %s", name, error)
        return
    if torch_logs.wants("output_code"):
        torch_logs.logger("output_code").debug("%s", output_code(name, anatomy))
    steps = [(step.name, step.why) for step in captured.callbacks]
    entry = graph_entry(name, stage, captured.nodes, report, anatomy, steps)
    if torch_logs.wants("perf_hints"):
        for hint in hints.of_graph(entry, anatomy):
            torch_logs.logger("perf_hints").debug("%s: %s", name, hint)
    if traced:
        _trace(name, entry, anatomy)


def _folder(name):
    from ..inspect import stages
    from . import program

    places = [torch_logs.debug_folder(), _temporary().name, *(known.temporary.name for known in program.programs())]
    found = [stages.folder_of(place, name) for place in places if place]
    return next(filter(None, found), None)


def output_code(name, anatomy):
    """The kernels of a graph with their sources and code, the costliest first, as one text."""
    if anatomy is None:
        return f"# {name} runs as it was traced"
    moved = anatomy.bytes_by_kernel
    parts = [f"# {name}: {len(anatomy.plan['kernels'])} kernels"]
    for kernel in sorted(anatomy.plan["kernels"], key=lambda kernel: -moved.get(kernel["name"], 0)):
        lines = [f"# kernel {kernel['name']}: {moved.get(kernel['name'], 0)} bytes"]
        lines += [f"#   {anatomy.artifact['sources'][source]}" for source in kernel["sources"]]
        parts.append("\n".join(lines))
        parts += [f"# {title}\n{text}" for title, text in anatomy.texts_of(kernel)]
    return "\n\n".join(parts)


def _trace(name, entry, anatomy):
    """Writes the files of `tlparse`: the report, the stages of the graph, and the kernels with LLVM's IR or PTX."""
    texts = {"report": json.dumps(entry)}
    if anatomy:
        texts.update({title.replace(" ", "_"): text for title, text in anatomy.stages})
        texts["kernels"] = output_code(name, anatomy)
    for title, text in texts.items():
        encoding = "json" if title == "report" else "string"
        torch._logging.trace_structured(
            "artifact",
            metadata_fn=lambda title=title, encoding=encoding: {"name": f"frit_{name}_{title}", "encoding": encoding},
            payload_fn=lambda text=text: text,
            expect_trace_id=False,
        )
