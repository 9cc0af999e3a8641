"""Norms of half types with f32 parameters, as autocast makes them on CPUs: statistics have the parameters' type."""

import checker
import pytest
import torch
import torch.nn.functional as F

NORMS = {
    "layer": lambda x, w, b: F.layer_norm(x.movedim(1, -1), (x.shape[1],), w, b),
    "batch": lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True),
    "group": lambda x, w, b: F.group_norm(x, 1, w, b),
    "instance": lambda x, w, b: F.instance_norm(x, None, None, w, b),
}


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("name", NORMS)
def test_gradients(name, dtype, dynamic):
    torch.manual_seed(0)
    x, scale = torch.randn(16, 12, 3).to(dtype).requires_grad_(), torch.randn(12, requires_grad=True)
    shift = torch.randn(12, requires_grad=True)
    checker.check(NORMS[name], x, scale, shift, training=True, dynamic=dynamic)


@pytest.mark.parametrize("training", [True, False])
def test_running_statistics(training):
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU()).train(training)
    other = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU()).train(training)
    other.load_state_dict(module.state_dict())
    compiled = torch.compile(other, backend="frit")
    for x in torch.randn(3, 4, 3, 9, 9):
        with torch.autocast("cpu", torch.bfloat16):
            expected, actual = module(x), compiled(x)
        expected.float().sum().backward(), actual.float().sum().backward()
        torch.testing.assert_close(actual, expected, rtol=2e-2, atol=2e-2)
    for (name, mine), wanted in zip(other.state_dict().items(), module.state_dict().values(), strict=True):
        torch.testing.assert_close(mine, wanted, rtol=1e-4, atol=1e-4, msg=name)
    for mine, wanted in zip(other.parameters(), module.parameters(), strict=True):
        torch.testing.assert_close(mine.grad, wanted.grad, rtol=3e-2, atol=3e-1)
