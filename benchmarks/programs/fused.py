"""Operator chains of every transformer, each of which becomes one kernel."""

import torch
import torch.nn.functional as F

from . import register


def five_multiplications(x):
    return x * x * x * x * x * x


def bias_gelu_residual(x, bias, residual):
    return F.gelu(x + bias, approximate="tanh") + residual


def softmax(x):
    return torch.softmax(x, dim=-1)


def residual_layer_norm(x, residual, weight, bias):
    total = x + residual
    return F.layer_norm(total, (x.shape[-1],), weight, bias), total


def _randn(*shape):
    return torch.randn(*shape)


@register("five multiplications", "5", kernels=1)
def _five_multiplications(scale):
    n = 2048 if scale == "demo" else 67
    torch.manual_seed(0)
    return five_multiplications, (_randn(n, n),)


@register("bias gelu residual", "fused", kernels=1)
def _bias_gelu_residual(scale):
    rows, columns = (4096, 1024) if scale == "demo" else (33, 70)
    torch.manual_seed(0)
    return bias_gelu_residual, (_randn(rows, columns), _randn(columns), _randn(rows, columns))


@register("softmax", "fused", kernels=1)
def _softmax(scale):
    rows, columns = (4096, 1024) if scale == "demo" else (33, 70)
    torch.manual_seed(0)
    return softmax, (_randn(rows, columns),)


@register("residual layer norm", "fused", kernels=1)
def _residual_layer_norm(scale):
    rows, columns = (2048, 768) if scale == "demo" else (33, 70)
    torch.manual_seed(0)
    return residual_layer_norm, (_randn(rows, columns), _randn(rows, columns), _randn(columns), _randn(columns))
