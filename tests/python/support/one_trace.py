"""One trace by Dynamo and AOTAutograd, compiled in several ways: tracing is what a test that compares ways spends its time on.

    compiled = OneTrace({"plain": {}, "padded": {"padding": "force"}})
    call = torch.compile(function, backend=compiled)
    for compiled.way in compiled.ways:
        call(*inputs)                    # by the executables of this way

Every graph goes through `frit.backend` as ever, once for each way with that way's options; what a way guards is guarded for all of them.
"""

import contextlib
import functools
from unittest import mock

from frit import backend
from frit import options as option_registry
from frit.sizes import buckets


class OneTrace:
    """A backend. `around[way]` makes a context in which the graphs of a way are compiled."""

    def __init__(self, ways, around=None):
        self.ways = ways
        self.around = around or {}
        self.way = next(iter(ways))
        self.graphs = 0

    def __call__(self, gm, inputs):
        self.graphs += 1
        settings = {way: buckets.resolve(option_registry.resolve(None, options), gm, inputs) for way, options in self.ways.items()}
        # What a forward lays channels-last for its backward is between the two of a way.
        laid = {way: [] for way in self.ways}
        compile_graph = functools.partial(self._compile, backend.compile_graph, settings, laid)
        with mock.patch.object(backend, "compile_graph", compile_graph):
            return backend.frit(gm, inputs, options=self.ways[self.way])

    def _compile(self, compile_graph, settings_of, laid_of, gm, inputs, **given):
        """Stands in for `frit.backend.compile_graph`."""
        executables = {}
        for way in self.ways:
            own = {"settings": settings_of[way], "laid": laid_of[way]}
            with self.around.get(way, contextlib.nullcontext)():
                executables[way] = compile_graph(gm, inputs, **given | {name: own[name] for name in given if name in own})

        def run(arguments):
            return executables[self.way](arguments)

        run._boxed_call = True
        return run
