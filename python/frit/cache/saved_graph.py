"""One compiled graph as a part of AOTAutograd's results on disk: the artifact, its constants, and the graph as it was traced, for calls that the
artifact was not compiled for. What is loaded is counted as if it were compiled now.
"""

import functools

import torch

from .. import native
from ..capture.as_is import Otherwise, Traced
from ..errors import ArtifactError
from .graph_key import Uncacheable, sources_digest
from .summary import KeptReport, is_summary

#: Called with each loaded graph, its executable and its report; returns the graph's name.
ON_LOAD = []


class SavedGraph:
    """`captured` comes from the compilation of `gm`; `settings` are all options, `stage` is that of AOTAutograd. `describe` gives what a repro must
    know of a graph's arguments."""

    def __init__(self, gm, captured, settings, stage, describe):
        self.stage = stage
        self.nodes = captured.nodes
        self.summary = captured.summary
        self.artifact = captured.artifact
        self.relaid = list(captured.relaid)
        self.described = None
        self._gm, self._describe = gm, describe
        self._constants = list(captured.constants)
        self._steps = bool(captured.callbacks or captured.opaque_results or captured.opaque_inputs or captured.opaque_constants)
        self._why_not_kept = captured.why_not_kept
        self._strict = settings["strict"]
        self._otherwise = settings["fallback"] != "error"
        self._build = None

    def for_file(self):
        """The graph in a form that can be pickled, or Uncacheable: Python steps are objects of this process."""
        if self._steps:
            raise Uncacheable("it has Python steps")
        if self._why_not_kept or not self.artifact:
            raise Uncacheable(f"it has no artifact: {self._why_not_kept or 'another function compiled it'}")
        kept = object.__new__(SavedGraph)
        traced, described = Traced(self._gm, self.relaid), self._describe(self._gm)
        kept.__dict__.update(self.__dict__, _gm=None, _describe=None, _traced=traced, described=described, _build=_build())
        return kept

    def graph(self):
        """The graph as it was traced, if this one was loaded."""
        return self._traced.graph()

    def __setstate__(self, state):
        """Torch's package of Dynamo's code compares no more than torch's version, so the build is compared here. An error while torch reads its
        file is a miss; a later one would be an error of the program."""
        if state.get("_build") != _build():
            raise ArtifactError("frit: the graph was compiled by another build of frit, for another processor or with another version of torch")
        self.__dict__.update(state)

    def load(self, watch=None):
        """The executable. `watch(executable, name, self)` may add what handles the calls that it refuses."""
        if not is_summary(self.summary):
            raise ArtifactError("frit: the summary of a stored graph has values of the wrong kind")
        executable = native.compiler().load(self.artifact, self._constants)
        name = self.stage
        for observe in ON_LOAD:
            name = observe(self, executable, KeptReport(executable.report())) or name
        if self._otherwise:
            executable._otherwise = Otherwise(name, self._traced, self._strict)
        if watch is not None:
            watch(executable, name, self)
        return executable


@functools.cache
def _build():
    return native.compiler().identity(), sources_digest(), torch.__version__
