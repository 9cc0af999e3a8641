"""`frit.load("model.frit")`: loads an artifact of `frit-compile` as a function on tensors.

Nothing is compiled and no weight is read: the file is mapped, and pages are read when kernels touch them. If
a program updates its buffers, only this process sees the new values; the file stays unchanged. The machine
code in a file runs in this process, so the file must belong to the caller or to root, and others must not be
able to write it, unless the caller passes `allow_host_code=True`.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass

import torch

from . import native
from .errors import ArtifactError


@dataclass(frozen=True)
class Value:
    """One input or output: `kind` is "tensor", "int", "float", "bool" or "none"; a size is a number or the name of a symbol."""

    kind: str
    name: str = ""
    dtype: str = ""
    device: str = ""
    shape: tuple | None = None
    mutated: bool = False

    def __str__(self):
        sizes = "..." if self.shape is None else ", ".join(map(str, self.shape))
        shown = f"{self.dtype}[{sizes}]" if self.kind == "tensor" else self.kind
        return f"{self.name}: {shown}" if self.name else shown


class Model:
    """A loaded program. Call it with the program's inputs, flat and in order; it returns a tensor, or a tuple of results.

    Calls are checked against `inputs` (count, dtype, device, sizes, strides) and may come from several threads.
    Sizes may vary within `symbols` (name -> least and greatest value). `weights` are those that were passed to load() by name.
    A model is for inference: results have no gradients.
    """

    def __init__(self, executable, path):
        self._executable = executable
        self.path = path
        signature = json.loads(executable.signature())
        self.inputs = tuple(_value(each) for each in signature["inputs"])
        self.outputs = tuple(_value(each) for each in signature["outputs"])
        self.weights = tuple(_value(each) for each in signature["weights"])
        self.symbols = {each["name"]: (each["min"], each["max"]) for each in signature["symbols"]}

    def __call__(self, *inputs):
        if _is_traced():
            raise ArtifactError(
                f"{self.path} is called while make_fx, torch.export or torch.jit.trace records operators, and its kernels are none: the trace would have "
                "this call's results as constants. Trace the module that the file was made from, or wrap the call in a torch.library.custom_op"
            )
        results = self._executable(list(inputs))
        return results[0] if len(results) == 1 else tuple(results)

    def stats(self):
        """Counts since loading: calls, kernel launches, ATen calls by name, peak bytes."""
        return json.loads(self._executable.stats())

    def report(self):
        """The compiler's report on the program: kernels, operators left to ATen and why."""
        return json.loads(self._executable.report())

    def __repr__(self):
        results = ", ".join(map(str, self.outputs))
        return f"<frit.Model {self.path!r} ({', '.join(map(str, self.inputs))}) -> ({results})>"


def _is_traced():
    """Whether torch records the operators of this thread into a graph."""
    proxies = torch._C._TorchDispatchModeKey.PROXY
    return torch._C._get_dispatch_mode(proxies) is not None or torch._C._get_tracing_state() is not None


def _value(fields):
    shape = fields.get("shape")
    return Value(**{**fields, "shape": None if shape is None else tuple(shape)})


def load(path, *, weights=None, allow_host_code=False, check_weights=False, pack=True):
    """Loads a .frit file. `check_weights` compares every weight with its digest first, which reads them all.

    `weights` is the folder of the weights if the file was compiled with `--weights=external`, or a tensor for each name
    (`module.state_dict()`) with `--weights=none`. Such tensors are used in place, so the module and the loaded model share them.

    `pack`: on CPUs, weights of the file that nothing can write to are packed at their first use in a product of many rows or a convolution, which
    makes it faster and needs as much memory again (`packed_bytes` of `stats()`).
    """
    path = os.fspath(path)
    if not path:
        raise ArtifactError("frit.load needs the path of a .frit file, got an empty one")
    given = dict(weights) if isinstance(weights, Mapping) else {}
    folder = "" if weights is None or isinstance(weights, Mapping) else os.fspath(weights)
    return Model(native.library(ArtifactError).open(path, allow_host_code, check_weights, folder, given, pack), path)
