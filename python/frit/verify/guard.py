"""Wraps the compilation of a graph: failed compilations and refused calls leave a repro, and the first calls are verified if the options say so.
The modules that do this are imported only when needed, and calls that succeed run none of this code.
"""

import functools

import torch
import torch._dynamo

from ..capture import as_is
from ..errors import CompileError


def guarded(freedom, build):
    """A decorator for `compile_graph`. `freedom(stage, channels_last)` returns options with facts about strides that the graph does not contain;
    `build` compiles parts of a graph that gives wrong results."""

    def guard(compile_graph):
        @functools.wraps(compile_graph)
        def run(gm, example_inputs, *, settings, stage, channels_last=None, made=None):
            made = [] if made is None else made
            level = torch._dynamo.config.repro_level if torch._dynamo.config.repro_after == "aot" else 0
            settings = _as_torch_asks(settings, level) if level else settings
            told = {**settings, **freedom(stage, channels_last)}
            try:
                executable = compile_graph(gm, example_inputs, settings=told, stage=stage, channels_last=channels_last, made=made)
            except Exception as error:
                from . import repro

                raise _with_launcher(repro.note(error, gm, told, stage), settings, level)  # noqa: B904 (it may be the same error)
            if level == 3:
                _write_before_it_runs(gm, told, stage)
            return _watched(executable, gm, told, stage, build, *made[-1])

        return run

    return guard


def _as_torch_asks(settings, level):
    """TORCHDYNAMO_REPRO_AFTER=aot: repros go to torch's folder for minifiers, and with level 4 every call is compared with ATen."""
    from torch._dynamo.debug_utils import minifier_dir

    verify = max(settings["verify"], 1 << 30) if level == 4 else settings["verify"]
    return {**settings, "repro_dir": minifier_dir(), "repro_data": True, "verify": verify, "minifier_level": level}


def _with_launcher(error, settings, level):
    """From level 2 on, writes the `minifier_launcher.py` that torch's messages and documentation mention."""
    if level >= 2 and getattr(error, "repro", None):
        from . import repro

        repro.write_launcher(error, settings["repro_dir"])
    return error


def _write_before_it_runs(gm, settings, stage):
    from . import repro

    error = CompileError(f"frit: nothing failed yet: TORCHDYNAMO_REPRO_LEVEL=3 leaves every graph that is compiled ({stage})")
    _with_launcher(repro.note(error, gm, settings, stage), settings, 3)


def _watched(run, gm, settings, stage, build, name, _stage, captured, report, executable):
    if hasattr(executable, "stats") and settings["repro_dir"] != "off":
        executable._otherwise = Refused(getattr(executable, "_otherwise", None), name, lambda: gm, settings, stage)
    if not settings["verify"]:
        return run
    from . import calls

    return calls.attach(run, gm, stage, name, settings, captured, report, build)


def watch_loaded(executable, name, saved, settings):
    """Lets refused calls of a graph that was loaded from a file (`cache/saved_graph.py`) leave a repro too."""
    if settings["repro_dir"] != "off":
        told = {**settings, "channels_last_inputs": list(saved.relaid)} if saved.relaid else settings
        executable._otherwise = Refused(getattr(executable, "_otherwise", None), name, saved.traced.graph, told, saved.stage, saved.described)


class Refused:
    """Handles calls whose arguments a compiled graph refuses: the first leaves a repro, then `otherwise` runs the call, or it is an error.
    `graph()` returns the graph; `traced`: its `traced_arguments`, if it was stored without them."""

    def __init__(self, otherwise, name, graph, settings, stage, traced=None):
        self._otherwise, self._name, self._graph, self._stage = otherwise, name, graph, stage
        self._settings = {**settings, "strict": True}  # or the repro would run the call as traced too
        self._traced, self._folder = traced, None

    def __call__(self, args, why):
        from . import repro

        if as_is.is_error(why):
            return self._otherwise(args, why)
        error = CompileError(f"frit: {why}")
        if self._folder is None:
            noted = repro.note(error, self._graph(), self._settings, self._stage, arguments=list(args), traced=self._traced)
            self._folder = getattr(noted, "repro", None) or ""
        elif self._folder:
            repro.name_in(error, self._folder)
        if self._otherwise is None or not self._otherwise.takes(why):
            raise error
        if self._folder:
            from ..logs import log

            log.info("%s: refused: %s", self._name, error)
        return self._otherwise(args, why)
