"""Compiles exported programs: by `frit-compile`, or in this process in the same way, with the compiler's report."""

import json
import os
import subprocess
from pathlib import Path

import torch
from torch._export.serde.serialize import serialize

from frit import _C

#: The operator that attention of exported programs becomes. That of CPUs is for CPUs.
ATTENTION = "scaled_dot_product_attention" if os.environ.get("FRIT_TEST_TARGET") == "simt" else "_scaled_dot_product_flash_attention_for_cpu"
TOOLS = Path(os.environ.get("FRIT_BUILD_DIR", Path(__file__).resolve().parents[3] / "build")) / "bin"


def compile_file(folder, module, inputs, name="m", **export):
    """Exports and saves a module, compiles it with `frit-compile`, and returns the artifact's path."""
    program = torch.export.export(module.eval(), tuple(inputs), **export)
    torch.export.save(program, folder / f"{name}.pt2")
    target = folder / f"{name}.frit"
    subprocess.run([TOOLS / "frit-compile", folder / f"{name}.pt2", "-o", target], check=True, capture_output=True, text=True)
    os.chmod(target, 0o600)
    return target


class Function(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


def compiled(module, inputs, dynamic_shapes=None, decompose=False, **options):
    """Returns (callable on the inputs, the compiler's report) of a module's exported program, which is decomposed only on request."""
    program = torch.export.export(module, tuple(inputs), dynamic_shapes=dynamic_shapes)
    return compiled_program(program.run_decompositions() if decompose else program, **options)


def compiled_program(program, **options):
    """The same of an exported program."""
    result = _C.compile(serialize(program).exported_program.decode(), json.dumps({"name": "main", **options}))
    specs = [(spec.kind.name, spec.target) for spec in program.graph_signature.input_specs]
    executable = _C.load(result.artifact, [program.constants[name] for kind, name in specs if kind == "CONSTANT_TENSOR"])
    held = {name: value.detach() for name, value in program.state_dict.items()}

    def call(*given):
        given = iter(torch.utils._pytree.tree_leaves(given))
        return executable([next(given) if kind == "USER_INPUT" else held[name] for kind, name in specs if kind != "CONSTANT_TENSOR"])

    return call, json.loads(result.report)
