"""Arguments in a state of autograd that kernels know nothing of: the call runs as traced, counted, with eager's result or error."""

import pytest
import torch
import torch.autograd.forward_ad as forward
from torch._dynamo.utils import counters


def function(x):
    return x.sin() * x.sum()


@pytest.mark.parametrize("plain_first", [False, True])
def test_tangents_of_forward_mode(plain_first):
    compiled = torch.compile(function, backend="frit")
    x, tangent = torch.randn(5), torch.randn(5)
    if plain_first:
        torch.testing.assert_close(compiled(x), function(x))
    with forward.dual_level():
        actual, expected = (forward.unpack_dual(f(forward.make_dual(x, tangent))).tangent for f in (compiled, function))
        torch.testing.assert_close(actual, expected)
        before = counters["frit"]["calls_as_traced"]
        compiled(x)  # without a tangent
        assert counters["frit"]["calls_as_traced"] == before >= 1


def test_jacobians_by_forward_mode():
    compiled, x = torch.compile(function, backend="frit"), torch.randn(4, dtype=torch.float64)
    jacobian = torch.autograd.functional.jacobian
    torch.testing.assert_close(jacobian(compiled, x, vectorize=True, strategy="forward-mode"), jacobian(function, x))
    assert torch.autograd.gradcheck(compiled, x.requires_grad_(), check_forward_ad=True, check_backward_ad=False)


WRITES = {
    "the argument": lambda x: x.add_(1),
    "a part": lambda x: x[1:].mul_(2),
    "an element": lambda x: x.__setitem__(0, 5.0),
    "a copy": lambda x: x.copy_(x.flip(0)),
}


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("no_grad", [False, True])
def test_inference_tensors_are_written_in_inference_mode_only(name, no_grad):
    write, compiled = WRITES[name], torch.compile(WRITES[name], backend="frit")
    with torch.inference_mode():
        x, y = torch.arange(3.0), torch.arange(3.0)
    with torch.set_grad_enabled(not no_grad):
        for written, called in ((x, compiled), (y, write)):
            with pytest.raises(RuntimeError, match="Inplace update to inference tensor outside InferenceMode is not allowed"):
                called(written)
        assert torch.equal(x, y)  # eager raises its error after it has written
    with torch.inference_mode():
        compiled(x), write(y)
        assert torch.equal(x, y)
