"""Exported programs, compiled as `frit-compile` compiles them but in this process, so that operators left to ATen run too."""

import json

import torch
from torch._export.serde.serialize import serialize

from frit import _C


class Function(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


def compiled(module, inputs, **options):
    """(callable on the inputs, the compiler's report) of a module's exported program, not decomposed."""
    program = torch.export.export(module, tuple(inputs))
    result = _C.compile(serialize(program).exported_program.decode(), json.dumps({"name": "main", **options}))
    specs = [(spec.kind.name, spec.target) for spec in program.graph_signature.input_specs]
    executable = _C.load(result.artifact, [program.constants[name] for kind, name in specs if kind == "CONSTANT_TENSOR"])
    held = {name: value.detach() for name, value in program.state_dict.items()}

    def call(*given):
        given = iter(torch.utils._pytree.tree_leaves(given))
        return executable([next(given) if kind == "USER_INPUT" else held[name] for kind, name in specs if kind != "CONSTANT_TENSOR"])

    return call, json.loads(result.report)
