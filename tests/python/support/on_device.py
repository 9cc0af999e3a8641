"""Programs and kinds of kernels on a device, against eager there: what the tests that need a GPU share, and what is tried on the CPU without one.

A program is made on the CPU, as it is everywhere, then moved: its numbers are those that other tests have seen. What it makes itself while it
runs comes to the device by torch's default device.
"""

import contextlib

import checker
import gpu_kinds
import torch
import torch.utils._pytree as pytree

from benchmarks.gpu import error_of


class Small(gpu_kinds.Emulated):
    """The sizes that the emulation takes, on a device: few rows, all columns."""

    def __init__(self, device):
        super().__init__()
        self.device = device


@contextlib.contextmanager
def default_device(device):
    before = torch.get_default_device()
    torch.set_default_device(device)
    try:
        yield
    finally:
        torch.set_default_device(None if before.type == "cpu" else before)


def check_program(program, device):
    """As `checker.check_program`, with gradients where the program trains. The order of a GPU's additions is not eager's, so nothing
    with floats is held to bits; numbers without rounding are."""
    function, inputs = program.make("test")
    if getattr(function, "module", None) is not None:
        function.module.to(device)
    inputs = pytree.tree_map(lambda x: x.detach().to(device).requires_grad_(x.requires_grad) if isinstance(x, torch.Tensor) else x, inputs)
    with default_device(device):
        # Random numbers are eager's where they are asked for.
        drawn = {"seed": 3, "options": {"random": "torch"}} if program.random else {}
        checker.check(function, *inputs, training=program.training, fullgraph=program.fullgraph, **drawn)


def check_kind(one, device, sizes=None):
    """One kind of kernel against eager, or against a kernel an operator where kernels draw the numbers; the error in units of the largest number."""
    torch.manual_seed(0)
    torch.compiler.reset()
    with default_device(device), torch.no_grad():
        function, arguments = one.make(sizes or Small(device))
        expecting, drawn = function, {"options": {"random": "philox"}} if one.calls else {}
        if one.calls:
            expecting = torch.compile(function, backend="frit", options={"random": "philox", "fusion": False})
        torch.manual_seed(1)
        actual = torch.compile(function, backend="frit", fullgraph=True, dynamic=one.dynamic, **drawn)(*arguments)
        torch.manual_seed(1)
        error = error_of(actual, expecting(*arguments))
    assert error < 0.02, f"{one.name}: off by {error} of the largest number"
    return error
