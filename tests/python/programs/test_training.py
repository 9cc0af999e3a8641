"""Whole training runs: the losses of all steps, as one tensor, agree with eager's by the rule for floats.

Each run is done three times from the same weights and batches: eager, compiled, and eager in fp64, the reference
of both.
"""

import checker
import pytest
import torch
from torch._dynamo.utils import counters

from benchmarks.programs import models
from benchmarks.programs.optimizer import torch_adamw_step


def course(make, batches, *, compiled, wide=False, compile_step=False, mark=None, **settings):
    """Returns the loss of every step as one tensor."""
    model, loss_of = make()
    model = model.double() if wide else model
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    run = torch.compile(loss_of, backend="frit", **settings) if compiled else loss_of
    update = torch_adamw_step(optimizer)
    update = torch.compile(update, backend="frit") if compiled and compile_step else update
    losses = []
    for batch in batches:
        inputs = [x.double() if wide and x.dtype == torch.float32 else x for x in batch]
        if compiled and mark:
            mark(*inputs)
        loss = run(*inputs)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        update()
        losses.append(loss.item())
    return torch.tensor(losses, dtype=torch.float32)


def assert_same_course(make, batches, **settings):
    eager = course(make, batches, compiled=False)
    reference = course(make, batches, compiled=False, wide=True)
    actual = course(make, batches, compiled=True, **settings)
    assert eager[-1] < eager[len(batches) // 2 - 1], "the batches come twice"
    checker.compare_floats(actual, eager, reference, "course")


def language_model():
    model = models.gpt2()
    return model, lambda tokens: model(input_ids=tokens, labels=tokens, return_dict=False)[0]


def sentences(*lengths):
    torch.manual_seed(2)
    return [(torch.randint(0, 101, (3, n)),) for n in lengths]


def test_gpt2_with_the_optimizer_compiled_too():
    assert_same_course(language_model, sentences(12, 11, 9, 17) * 2, compile_step=True, fullgraph=True)


def test_vit():
    def make():
        model = models.vit()
        return model, lambda images, labels: model(pixel_values=images, labels=labels, return_dict=False)[0]

    torch.manual_seed(2)
    batches = [(torch.randn(4, 3, 32, 32), torch.randint(0, 10, (4,))) for _ in range(2)]
    assert_same_course(make, batches * 4, fullgraph=True)


def captioning_model(autocast=False):
    def make():
        model = models.captioning(layers=1)

        def loss_of(images, labels):
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast and images.dtype == torch.float32):
                return model(pixel_values=images, labels=labels, return_dict=False)[0]

        return model, loss_of

    return make


def captioned_images(lengths):
    generator = torch.Generator().manual_seed(2)
    return [(torch.randn(2, 3, 32, 32, generator=generator), models.captions(2, n, 64, generator)) for n in lengths]


LENGTHS = (7, 12, 5, 31, 9, 18, 64, 11, 6, 23)


def test_captioning_over_lengths_that_vary():
    """Trains for twenty steps; Dynamo compiles for the first length, then once for all others."""
    assert_same_course(captioning_model(), captioned_images(LENGTHS) * 2)
    assert counters["frit"]["graphs_forward"] == 2


def test_captioning_under_autocast_with_a_marked_length():
    def mark(images, labels):
        torch._dynamo.mark_dynamic(labels, 1, min=4, max=64)

    assert_same_course(captioning_model(autocast=True), captioned_images(LENGTHS[:4]) * 2, mark=mark)
    assert counters["frit"]["graphs_forward"] == 1


@pytest.mark.parametrize("foreach", [True, False])
def test_adamw_step_compiled(foreach):
    """Dynamo makes the step count a tensor, so the formulas are aot_eager's, which differ slightly from eager's."""

    def parameters(wide=False):
        torch.manual_seed(3)
        values = [torch.nn.Parameter(torch.randn(s)) for s in [(17, 5), (33,), (2, 3, 4)]]
        for value in values:
            value.grad = torch.randn_like(value)
        values = [torch.nn.Parameter(v.detach().double()) for v in values] if wide else values
        return values

    expected, actual, reference = parameters(), parameters(), parameters(wide=True)
    for narrow, wide in zip(expected, reference):
        wide.grad = narrow.grad.double()
    for values, backend in ((expected, "aot_eager"), (actual, "frit"), (reference, "eager")):
        optimizer = torch.optim.AdamW(values, lr=1e-2, foreach=foreach)
        run = torch.compile(torch_adamw_step(optimizer), backend=backend)
        for _ in range(3):
            run()
    for i, (a, e, r) in enumerate(zip(actual, expected, reference)):
        checker.compare_floats(a.detach(), e.detach(), r.detach(), f"parameter {i}")
