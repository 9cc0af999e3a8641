"""Compiled graphs inside torch's own files: `torch.compile(...).aot_compile(...)` and AOTAutograd's bundled cache.

torch can save a function that AOTAutograd compiled if the compilers return torch's `OutputCode`; the class here wraps a graph's artifact in
one. The module is imported only when torch asks for such results (`backend._is_saved`), because OutputCode is part of Inductor, whose import
takes longer than frit's compilations. A loaded function compiles nothing; a call that it was not compiled for is handled as in the process that
compiled it (`saved_graph.py`).

A graph with Python steps cannot be saved, because they are objects of the process that made them; saving one is an error.
"""

import contextlib
import hashlib
import json
import uuid

import torch
from torch._inductor.output_code import OutputCode

from ..errors import CompileError
from .graph_key import Uncacheable
from .saved_graph import SavedGraph


class FritOutputCode(OutputCode):
    """A compiled graph that pickles as a SavedGraph, and loads its artifact again when unpickled."""

    def __init__(self, executable, saved):
        super().__init__()
        self._executable, self._saved = executable, saved
        self._boxed_call = True

    def __call__(self, inputs):
        return self._executable(inputs)

    def prepare_for_serialization(self):
        """Called by torch before it pickles the object; CompileError if the graph cannot be saved."""
        try:
            self._saved = self._saved.for_file(only_this_build=False)
        except Uncacheable as why:
            named = f" ({', '.join(self._saved.steps)})" if self._saved.steps else ""
            raise CompileError(
                f"frit: a file cannot hold this graph: {why}{named}; compile without aot_compile, or register such operators with an export schema"
            ) from why
        self._executable = None

    def post_compile(self, example_inputs, constants, graph_kwargs):
        """Called by torch after it has unpickled the object."""
        if self._executable is None:
            self._executable = self._saved.load()

    def set_triton_bundle(self, triton_bundle):
        """Part of torch's interface; frit has no Triton kernels."""


def wrapping(compile_graph, stage, settings, describe):
    """Wraps a graph compiler so that torch can save its results. `settings`, `describe`: see `SavedGraph`."""

    def compile_and_wrap(gm, example_inputs):
        made = []
        executable = compile_graph(gm, example_inputs, made=made)
        _, _, captured, _, _ = made[0]
        return FritOutputCode(executable, SavedGraph(gm, captured, settings, stage, describe))

    return compile_and_wrap


@contextlib.contextmanager
def key_of_torch(settings, identity):
    """Adds frit's build and options to torch's key of a graph, through the user's tag for keys; torch's key covers neither."""
    # A dump needs a compilation, so its key is unique.
    once = uuid.uuid4().hex if settings["dump_dir"] else ""
    text = json.dumps({"frit": identity, "options": settings, "once": once}, sort_keys=True, default=str)
    tag = torch.compiler.config.cache_key_tag + hashlib.sha256(text.encode()).hexdigest()
    with torch.compiler.config.patch(cache_key_tag=tag):
        yield
