"""Compiled graphs inside torch's own files: `torch.compile(...).aot_compile(...)` and AOTAutograd's bundled cache.

torch can save a function that AOTAutograd compiled if the compilers return torch's `OutputCode`; the class here wraps a graph's artifact in
one. The module is imported only when torch asks for such results (`backend._is_saved`), because OutputCode is part of Inductor, whose import
takes longer than frit's compilations. A loaded function compiles nothing.

A graph with Python steps cannot be saved, because they belong to the process that made them; saving one is an error.
"""

import contextlib
import hashlib
import json
import uuid

import torch
from torch._inductor.output_code import OutputCode

from .. import native
from ..errors import CompileError


class FritOutputCode(OutputCode):
    """A compiled graph that pickles as its artifact and constants, and loads the artifact again when unpickled."""

    def __init__(self, executable, captured, poison):
        super().__init__()
        self._executable = executable
        self._artifact = captured.artifact
        self._constants = list(captured.constants)
        self._steps = [step.name for step in captured.callbacks] + [captured.why_not_kept] * bool(captured.why_not_kept)
        self._poison = poison
        self._boxed_call = True

    def __call__(self, inputs):
        return self._executable(inputs)

    def prepare_for_serialization(self):
        if self._steps:
            raise CompileError(
                f"frit: the graph has operators that run in Python ({', '.join(self._steps)}), which a file cannot hold; "
                "compile without aot_compile, or register them with an export schema"
            )
        self._executable = None

    def post_compile(self, example_inputs, constants, graph_kwargs):
        if self._executable is None:
            self._executable = native.library().load(self._artifact, self._constants, self._poison)

    def set_triton_bundle(self, triton_bundle):
        pass


def wrapping(compile_graph, poison):
    """Wraps a graph compiler so that torch can save its results."""

    def compile_and_wrap(gm, example_inputs):
        captured = []
        executable = compile_graph(gm, example_inputs, kept_as=captured)
        return FritOutputCode(executable, captured[0], poison)

    return compile_and_wrap


@contextlib.contextmanager
def key_of_torch(settings, identity):
    """Adds frit's build and options to torch's key of a graph, through the user's tag for keys; torch's key covers neither."""
    # A dump needs a compilation, so it finds nothing.
    once = uuid.uuid4().hex if settings["dump_dir"] else ""
    text = json.dumps({"frit": identity, "options": settings, "once": once}, sort_keys=True, default=str)
    tag = torch.compiler.config.cache_key_tag + hashlib.sha256(text.encode()).hexdigest()
    with torch.compiler.config.patch(cache_key_tag=tag):
        yield
