"""Compares programs and kinds of kernels on a device with eager there. Tests that need a GPU share it; without a GPU it is tried on the CPU.

A program is made on the CPU and then moved, so its numbers are those of other tests. Tensors that it makes while it runs are on the device because
of torch's default device.
"""

import contextlib

import checker
import gpu_kinds
import torch
import torch.utils._pytree as pytree

from benchmarks.gpu import error_of

#: The largest difference from eager's results, relative to their largest number.
LIMIT = 0.02
HALVES = (torch.float16, torch.bfloat16)


class Small(gpu_kinds.Emulated):
    """The sizes of the emulation, on a device: few rows, all columns."""

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
    """Like `checker.check_program`, with gradients if the program trains. A GPU adds in another order than eager, so floats are not
    compared bit for bit; values without rounding are."""
    function, inputs = program.make("test")
    if getattr(function, "module", None) is not None:
        function.module.to(device)
    inputs = pytree.tree_map(lambda x: x.detach().to(device).requires_grad_(x.requires_grad) if isinstance(x, torch.Tensor) else x, inputs)
    # TensorFloat-32 has an error that depends on the algorithm, and cuDNN may choose another one for another call.
    with default_device(device), torch.backends.cudnn.flags(deterministic=True, allow_tf32=False):
        # Requests eager's random numbers.
        drawn = {"seed": 3, "options": {"random": "torch"}} if program.random else {}
        checker.check(function, *inputs, training=program.training, fullgraph=program.fullgraph, **drawn)


def check_kind(one, device, sizes=None):
    """Compares a kind of kernel with eager, or with unfused kernels if kernels draw random numbers; returns the error relative to the largest number."""
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
        halves = [x for x in pytree.tree_leaves(arguments) if isinstance(x, torch.Tensor) and x.dtype in HALVES]
        if error >= LIMIT and halves and not one.calls:
            # Some kernels of eager's add in the type of the operand, so its numbers are less precise than ours: single precision decides.
            wide = pytree.tree_map(lambda x: x.float() if isinstance(x, torch.Tensor) and x.dtype in HALVES else x, (actual, arguments))
            error = error_of(wide[0], pytree.tree_map(lambda x: x.float() if x.is_floating_point() else x, expecting(*wide[1])))
    assert error < LIMIT, f"{one.name}: off by {error} of the largest number"
    return error
