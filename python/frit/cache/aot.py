"""Compiled graphs inside torch's own files: `torch.compile(...).aot_compile(...)` and AOTAutograd's bundled cache.

torch saves what AOTAutograd made of a function if the compilers behind it return its `OutputCode`; this module is one around a graph's
artifact. It is imported only where torch asks for such results (`is_asked_for`), because OutputCode lies in Inductor, whose import takes
longer than frit's compilations. A loaded function compiles nothing.

What torch cannot save is an error that says so: a graph with Python steps, which belong to the process that made them.
"""

import contextlib
import hashlib
import json

import torch
from torch._inductor.output_code import OutputCode

from .. import native
from ..errors import CompileError


class FritOutputCode(OutputCode):
    """A compiled graph that pickles as its artifact and its constants. Loads the artifact again where it is unpickled."""

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
    """A graph compiler that returns what torch can save."""

    def compile_and_wrap(gm, example_inputs):
        captured = []
        executable = compile_graph(gm, example_inputs, kept_as=captured)
        return FritOutputCode(executable, captured[0], poison)

    return compile_and_wrap


@contextlib.contextmanager
def key_of_torch(settings, identity):
    """torch's key of a graph covers neither frit's build nor its options; the user's tag for keys does, with both in it."""
    text = json.dumps({"frit": identity, "options": settings}, sort_keys=True, default=str)
    tag = torch.compiler.config.cache_key_tag + hashlib.sha256(text.encode()).hexdigest()
    with torch.compiler.config.patch(cache_key_tag=tag):
        yield
