"""Every user program under the backend: equal to eager, in as many kernels as promised, trained step by step."""

import checker
import pytest
import torch
from torch._dynamo.utils import counters

from benchmarks.programs import models, programs
from benchmarks.programs.optimizer import torch_adamw_step


@pytest.mark.parametrize("name", programs())
def test_program(name):
    program = programs()[name]
    function, inputs = program.make("test")
    checker.check(
        function,
        *inputs,
        compare=program.compare,
        training=program.training,
        seed=3 if program.random else None,
        fullgraph=program.fullgraph,
    )


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


def trained(make, steps, backend, batches):
    """Losses of a training loop from fixed weights."""
    model, loss_of = make()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    run = loss_of if backend is None else torch.compile(loss_of, backend=backend, dynamic=None)
    losses = []
    for step in range(steps):
        loss = run(*batches[step % len(batches)])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def assert_same_course(make, steps, batches, tolerance):
    expected = trained(make, steps, None, batches)
    torch.compiler.reset()
    actual = trained(make, steps, "frit", batches)
    assert expected[-1] < expected[0]
    for step, (a, e) in enumerate(zip(actual, expected)):
        assert abs(a - e) <= tolerance * max(1.0, abs(e)), f"step {step}: {a} instead of {e}"


def test_training_gpt2():
    def make():
        model = models.gpt2()
        return model, lambda tokens: model(input_ids=tokens, labels=tokens, return_dict=False)[0]

    torch.manual_seed(2)
    assert_same_course(make, 8, [(torch.randint(0, 101, (3, n)),) for n in (12, 12, 9, 17)], 1e-4)


def test_training_vit():
    def make():
        model = models.vit()
        return model, lambda images, labels: model(pixel_values=images, labels=labels, return_dict=False)[0]

    torch.manual_seed(2)
    batches = [(torch.randn(4, 3, 32, 32), torch.randint(0, 10, (4,))) for _ in range(2)]
    assert_same_course(make, 8, batches, 1e-4)


def test_training_the_captioning_model():
    def make():
        model = models.captioning(layers=1)
        for module in model.modules():
            if isinstance(module, torch.nn.Dropout):
                module.p = 0.0
        return model, lambda images, labels: model(pixel_values=images, labels=labels, return_dict=False)[0]

    generator = torch.Generator().manual_seed(2)
    lengths = [7, 12, 5, 31, 9, 18, 64, 11, 6, 23]
    batches = [
        (torch.randn(2, 3, 32, 32, generator=generator), models.captions(2, n, 64, generator)) for n in lengths
    ]
    assert_same_course(make, 20, batches, 1e-3)


def test_torchs_adamw_step_compiled():
    def parameters():
        torch.manual_seed(3)
        values = [torch.nn.Parameter(torch.randn(s)) for s in [(17, 5), (33,), (2, 3, 4)]]
        for value in values:
            value.grad = torch.randn_like(value)
        return values

    expected, actual = parameters(), parameters()
    for values, backend in ((expected, None), (actual, "frit")):
        optimizer = torch.optim.AdamW(values, lr=1e-2, foreach=True)
        step = torch_adamw_step(optimizer)
        run = step if backend is None else torch.compile(step, backend=backend)
        for _ in range(3):
            run()
    for a, e in zip(actual, expected):
        torch.testing.assert_close(a, e)
