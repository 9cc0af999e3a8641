"""Optimizer steps: one formula over many small tensors."""

import torch

from . import register


def adamw_step(parameters, gradients, averages, squares, step, lr=1e-3, beta1=0.9, beta2=0.999, decay=1e-2, eps=1e-8):
    """One AdamW step on lists of tensors, returning the new state."""
    step = step + 1
    correction1 = 1 - beta1**step
    correction2 = 1 - beta2**step
    averages = torch._foreach_lerp(averages, gradients, 1 - beta1)
    squares = torch._foreach_mul(squares, beta2)
    squares = torch._foreach_addcmul(squares, gradients, gradients, 1 - beta2)
    parameters = torch._foreach_mul(parameters, 1 - lr * decay)
    denominators = [s.sqrt() / correction2.sqrt() + eps for s in squares]
    parameters = [p - (lr / correction1) * a / d for p, a, d in zip(parameters, averages, denominators)]
    return parameters, averages, squares, step


def torch_adamw_step(optimizer):
    """A step of a torch.optim optimizer, as users compile it."""

    def run():
        optimizer.step()

    return run


@register("adamw step", "4")
def _adamw(scale):
    torch.manual_seed(0)
    if scale == "demo":
        shapes = [(256, 1024), (1024,), (1024, 256), (256,)] * 8
    else:
        shapes = [(17, 5), (5,), (33,)]
    state = [[torch.randn(s) for s in shapes] for _ in range(3)]
    state.append([torch.rand(s) for s in shapes])
    return adamw_step, (*state, torch.tensor(3.0))
