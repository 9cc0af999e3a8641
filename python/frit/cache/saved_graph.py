"""One compiled graph in a file of frit's disk cache or of torch: the artifact, its constants, and the graph as it was traced, for calls that the
artifact was not compiled for. A loaded graph is counted as if it were compiled now.
"""

import functools
import importlib

import torch

from .. import native
from ..capture.as_is import Traced
from ..errors import ArtifactError
from .graph_key import Uncacheable, sources_digest
from .summary import StoredReport, is_summary

#: Called with each loaded graph, its executable, its report and the options of the process (None if there are none: torch loads a file).
ON_LOAD = []


class SavedGraph:
    """A compiled graph that can be pickled. `captured` comes from the compilation of `gm`; `settings` are the options of the compilation, `stage` is
    AOTAutograd's. `describe(gm)` returns what a repro needs to know about a graph's arguments."""

    def __init__(self, gm, captured, settings, stage, describe):
        self.stage = stage
        self.nodes = captured.nodes
        self.summary = captured.summary
        self.artifact = captured.artifact
        self.key = captured.key
        self.relaid = list(captured.relaid)
        self.settings = settings
        self.traced = self.described = None
        #: The names of the Python steps, which are objects of this process.
        self.steps = [step.name for step in captured.callbacks]
        self._gm, self._describe = gm, describe
        self._constants = list(captured.constants)
        self._is_opaque = bool(captured.opaque_results or captured.opaque_inputs or captured.opaque_constants)
        self._why_not_saved = captured.why_not_saved
        self._build = None

    def for_file(self, only_this_build=True):
        """The graph in a form that can be pickled; raises Uncacheable if it has Python steps, which are objects of this process. `only_this_build`:
        other builds of frit refuse to load it; otherwise they load it like any artifact."""
        if self.traced is not None:
            return self
        if self.steps or self._is_opaque:
            raise Uncacheable("it has Python steps")
        if self._why_not_saved or not self.artifact:
            raise Uncacheable(f"it has no artifact: {self._why_not_saved or 'another function compiled it'}")
        kept = object.__new__(SavedGraph)
        traced, described = Traced(self._gm, self.relaid), self._describe(self._gm)
        build = _build() if only_this_build else None
        kept.__dict__.update(self.__dict__, _gm=None, _describe=None, traced=traced, described=described, _build=build)
        return kept

    def __setstate__(self, state):
        """Compares the build, because torch's package of Dynamo's code compares only torch's version. An error while torch reads its file is a miss;
        a later one would be an error of the program."""
        if state["_build"] not in (None, _build()):
            raise ArtifactError("frit: the graph was compiled by another build of frit, for another processor or with another version of torch")
        self.__dict__.update(state)

    def load(self, settings=None):
        """Loads the executable. `settings`: the options of this process, if it has some for this graph. ArtifactError if the stored data are
        invalid."""
        if not is_summary(self.summary):
            raise ArtifactError("frit: the summary of a stored graph has values of the wrong kind")
        executable = native.compiler().load(self.artifact, self._constants, self.settings["poison"])
        importlib.import_module("frit.backend")  # registers itself in ON_LOAD; it imports this module
        for observe in ON_LOAD:
            observe(self, executable, StoredReport(executable.report()), settings)
        return executable


@functools.cache
def _build():
    return native.compiler().identity(), sources_digest(), torch.__version__
