"""Every user program under the backend: equal to eager, with the promised number of kernels, and trained."""

import checker
import pytest
import torch
from torch._dynamo.utils import counters

from benchmarks.programs import giou, programs


@pytest.mark.parametrize("name", programs())
def test_program(name):
    checker.check_program(programs()[name])


@pytest.mark.parametrize("name", ["giou, padded", "softmax", "similarity", "pairwise distance", "gpt2, forward", "adamw step"])
def test_program_with_dynamic_shapes(name):
    program = programs()[name]
    function, inputs = program.make("test")
    checker.check(function, *inputs, compare=program.compare, dynamic=True)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64], ids=str)
@pytest.mark.parametrize(
    "name", ["five multiplications", "bias gelu residual", "softmax", "residual layer norm", "pairwise distance", "giou, padded"]
)
def test_program_in_other_types(name, dtype):
    function, inputs = programs()[name].make("test")
    checker.check(function, *[x.to(dtype) for x in inputs])


KERNELS = [(name, program.kernels) for name, program in programs().items() if program.kernels is not None]


@pytest.mark.parametrize("name, promised", KERNELS)
def test_kernels(name, promised):
    function, inputs = programs()[name].make("test")
    torch.compile(function, backend="frit", fullgraph=True)(*inputs)
    assert (counters["frit"]["kernels"], counters["frit"]["aten_calls"]) == (promised, 0)


def test_kernels_of_the_padded_loss():
    function, inputs = programs()["giou, padded, backward"].make("test")
    loss = torch.compile(function, backend="frit", fullgraph=True)(*inputs)
    assert counters["frit"]["kernels"] <= 2
    before = counters["frit"]["kernels"]
    loss.backward()
    assert counters["frit"]["kernels"] - before <= 3


@pytest.mark.parametrize("name", ["giou, loop", "giou, concatenated"])
@pytest.mark.parametrize("dynamic", [False, True])
def test_gradients_of_the_ragged_losses(name, dynamic):
    function, (predicted, targets) = programs()[name].make("test")
    checker.check(function, predicted.requires_grad_(), targets, training=True, dynamic=dynamic)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.bfloat16], ids=str)
def test_boxes_in_narrow_types_need_no_cast_pass(dtype):
    """The padded loss on integer and bf16 boxes: the casts are in the kernels."""
    predicted, target = (torch.randint(0, 200, (5, 9, 4)) for _ in range(2))
    for boxes in (predicted, target):
        boxes[..., 2:] = boxes[..., :2] + 1 + boxes[..., 2:] % 50
    target[:, 6:] = 0

    def function(predicted, target):
        return giou.loss_padded(predicted.float(), target.float())

    checker.check(function, predicted.to(dtype), target.to(dtype))
    assert counters["frit"]["kernels"] <= 2 and counters["frit"]["aten_calls"] == 0


def test_an_operator_of_the_users_own_sees_eagers_strides():
    seen = []

    @torch.library.custom_op("frit_test::note_strides", mutates_args=())
    def note_strides(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        seen.append((x.stride(), y.stride(), x.storage_offset()))
        return x + y.sum()

    @note_strides.register_fake
    def _(x, y):
        return torch.empty_like(x)

    def function(x, images):
        moved = (x * 2).permute(2, 0, 1)
        kept = note_strides(moved, torch.relu(images) + 1)
        return note_strides(kept[:, 1:] * 3, images.mT).contiguous() - 1

    images = torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last)
    for dynamic in (False, True):
        torch.compiler.reset()
        seen.clear()
        checker.check(function, torch.randn(3, 4, 5), images, dynamic=dynamic)
        eager, compiled = seen[:2], seen[2:4]
        assert [calls[:2] for calls in compiled] == [calls[:2] for calls in eager]


def test_an_operator_of_the_users_own_with_lists_and_gradients():
    @torch.library.custom_op("frit_test::halves", mutates_args=())
    def halves(x: torch.Tensor, scale: float) -> list[torch.Tensor]:
        return [x[: len(x) // 2] * scale, x[len(x) // 2 :] * scale]

    @halves.register_fake
    def _(x, scale):
        return [torch.empty_like(x[: x.shape[0] // 2]), torch.empty_like(x[x.shape[0] // 2 :])]

    halves.register_autograd(
        lambda ctx, gradients: (torch.cat(gradients) * ctx.scale, None),
        setup_context=lambda ctx, inputs, output: setattr(ctx, "scale", inputs[1]),
    )

    def function(x):
        low, high = halves(x.sin(), 0.5)
        return low.exp() + 1, high * 2

    checker.check(function, torch.randn(6, 3, requires_grad=True), training=True)


def test_maps_over_lists_of_tensors():
    from torch._higher_order_ops import foreach_map

    def step(parameter, gradient, average):
        return parameter - 0.1 * (average * 0.9 + gradient * 0.1) / (gradient.abs() + 1e-3)

    def function(parameters, gradients, averages):
        moved = foreach_map(step, parameters, gradients, averages)
        return moved, torch._foreach_norm(moved), torch._foreach_add(moved, gradients, alpha=0.5)

    lists = [[torch.randn(shape) for shape in [(17, 5), (33,), (2, 3, 4), (1,), (0,)]] for _ in range(3)]
    checker.check(function, *lists)


def test_autocast():
    layer = torch.nn.Sequential(torch.nn.Linear(12, 16), torch.nn.GELU(), torch.nn.LayerNorm(16), torch.nn.Linear(16, 5))

    def function(x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = layer(x)
            with torch.autocast("cpu", enabled=False):
                z = torch.softmax(y.float(), -1)
            return y, z @ z.t(), (x @ x.t()).relu()

    for dynamic in (False, True):
        torch.compiler.reset()
        checker.check(function, torch.randn(9, 12), training=True, module=layer, dynamic=dynamic)
