"""Compiles one trace of Dynamo and AOTAutograd with several sets of options, because tracing takes most of the time of tests that compare options.

    compiled = OneTrace({"plain": {}, "padded": {"padding": "force"}})
    call = torch.compile(function, backend=compiled)
    for compiled.way in compiled.ways:
        call(*inputs)                    # runs the executables of this set

Every graph goes through `frit.backend` as usual, once for each set of options (a way); guards of one way apply to all of them.
"""

import contextlib
import functools
from unittest import mock

from frit import backend
from frit import options as option_registry
from frit.sizes import buckets


class OneTrace:
    """A backend. `around[way]` returns a context in which the graphs of a way are compiled."""

    def __init__(self, ways, around=None):
        self.ways = ways
        self.around = around or {}
        self.way = next(iter(ways))
        self.graphs = 0

    def __call__(self, gm, inputs):
        self.graphs += 1
        settings = {way: buckets.resolve(option_registry.resolve(None, options), gm, inputs) for way, options in self.ways.items()}
        # Each way has separate records of channels-last results that a forward saves for its backward.
        channels_last = {way: [] for way in self.ways}
        compile_graph = functools.partial(self._compile, backend.compile_graph, settings, channels_last)
        with mock.patch.object(backend, "compile_graph", compile_graph):
            return backend.frit(gm, inputs, options=self.ways[self.way])

    def _compile(self, compile_graph, settings_of, channels_last_of, gm, inputs, **given):
        """Replaces `frit.backend.compile_graph`."""
        executables = {}
        for way in self.ways:
            own = {"settings": settings_of[way], "channels_last": channels_last_of[way]}
            with self.around.get(way, contextlib.nullcontext)():
                executables[way] = compile_graph(gm, inputs, **given | {name: own[name] for name in given if name in own})

        def run(arguments):
            return executables[self.way](arguments)

        run._boxed_call = True
        return run
