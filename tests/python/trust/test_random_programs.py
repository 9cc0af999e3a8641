"""Compares 150 random programs with eager; `scripts/random-programs` runs many more. With FRIT_RANDOM_SEED hypothesis draws 150 others, and a failing
test prints the smallest program that it finds, as a script."""

import dataclasses
import json
import os
import random

import pytest
import torch
from hypothesis import HealthCheck, Phase, given, seed, settings
from random_programs import Choices, Program, generate, known_as, mode_of, outcome, programs, smallest
from random_programs.program import NAME, Input, Step

SETTINGS = settings(
    deadline=None, database=None, phases=(Phase.generate, Phase.shrink), suppress_health_check=list(HealthCheck), print_blob=False
)


@pytest.fixture(autouse=True)
def one_thread():
    """Uses one thread, since threads do not pay off for small programs."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def is_new(program, found):
    return found.status == "different" and known_as(program, dataclasses.asdict(found)) is None


@pytest.mark.parametrize("part", range(6))
def test_random_programs(part, lenient):
    """The first 150 programs of `scripts/random-programs`, which can shrink a failing one."""
    for number in range(25 * part, 25 * part + 25):
        program = generate(Choices(random.Random(number)), mode_of(number))
        found = outcome(program)
        assert not is_new(program, found), f"program {number}: {found.kind}: {found.message}\n{program.snippet()}"


@pytest.mark.skipif("FRIT_RANDOM_SEED" not in os.environ, reason="beside those of fixed numbers: FRIT_RANDOM_SEED=1 draws 150 more and shrinks")
@pytest.mark.parametrize("part", range(6))
@pytest.mark.parametrize("mode, count", [("", 20), ("padded", 3), ("simt", 2)], ids=["plain", "padded", "simt"])
def test_drawn_programs(part, mode, count, lenient):
    @seed(int(os.environ["FRIT_RANDOM_SEED"]) + part)
    @settings(SETTINGS, max_examples=count)
    @given(program=programs(mode))
    def run(program):
        found = outcome(program)
        assert not is_new(program, found), f"{found.kind}: {found.message}\n{program.snippet()}"

    run()


def by_hand(lines, results=("v0",), inputs=("data((n, 4), torch.float32, 0)", "data((n, 4), torch.float32, 1)"), **more):
    """Makes a program of lines that assign v0, v1 ... or write to their first operand."""
    given = tuple(Input(f"a{i}", text) for i, text in enumerate(inputs))
    steps = []
    for line, kind, grade in lines:
        head, assigned, _ = line.partition(" = ")
        targets = (head,) if assigned else ()
        reads = tuple(dict.fromkeys(NAME.findall(line.partition(" = ")[2] if assigned else line)))
        steps.append(Step(line, targets, reads, kind, grade, () if assigned else (line[:2],)))
    return Program(given, tuple(steps), tuple(results), more.pop("calls", (3, 5)), **more)


def altering(change):
    """Returns a backend that runs the graph uncompiled and then changes its results."""

    def backend(gm, inputs):
        def run(*arguments):
            return tuple(change(x, arguments) for x in gm(*arguments))

        return run

    return backend


SUM = by_hand([("v0 = a0 + a1", "pure", "exact")])
VIEW = by_hand([("v0 = a0[1:]", "view", "bits")])
ROUNDED = by_hand([("v0 = a0.tanh()", "pure", "float")])
CANCELLED = by_hand([("v0 = a0.tanh()", "pure", "float"), ("v1 = v0 * 3", "pure", "exact"), ("v2 = v1 - v0", "pure", "exact")], ("v2",))
LAST_BIT = 2**-23


@pytest.mark.parametrize(
    "program, change, kind",
    [
        (SUM, lambda x, _: x.nextafter(torch.tensor(9.0)), "values"),
        (SUM, lambda x, _: x.double(), "dtype"),
        (SUM, lambda x, _: x.t().contiguous().t(), "strides"),
        (SUM, lambda x, _: torch.cat([x[:1], x])[1:], "storage offset"),
        (SUM, lambda x, given: given[-1].copy_(x) + 0, "values"),
        (SUM, lambda x, given: given[-1].copy_(x), "sharing"),
        (VIEW, lambda x, _: x.clone(), "storage offset"),
        (ROUNDED, lambda x, _: x * (1 + 1e-4), "rounding"),
        (ROUNDED, lambda x, _: x * (1 + LAST_BIT), ""),
        (CANCELLED, lambda x, _: x * (1 + 4 * LAST_BIT), ""),
    ],
)
def test_what_differs_is_seen(program, change, kind):
    """Rounding in another order is not a difference; everything else is."""
    found = outcome(program, altering(change))
    assert found.kind == kind, found


EMPTY = by_hand(
    [("v0 = torch.arange(a0.shape[0])", "pure", "shape"), ("v1 = F.pad(v0, (0, -1))", "pure", "bits"),
     ("v2 = v1.unsqueeze(0).expand(1, *v1.shape)", "view", "bits")],
    ("v2", "v1"), ("data((n,), torch.float32, 0)",), calls=(1,),
)  # fmt: skip
EMPTY_ALONE = by_hand([("v0 = a0[:0] + 1", "pure", "exact")], ("v0",))
CAST = by_hand(
    [("v0 = a0.to(torch.bfloat16)", "pure", "bits"), ("a0[1:].zero_()", "write", "bits"), ("v1 = torch.logaddexp(v0, a0)", "pure", "float")], ("v1",)
)
HALVES_INSIDE = by_hand(
    [("v0 = F.kl_div(a0.log_softmax(-1), a0.softmax(-1), reduction='sum')", "pure", "float")], inputs=("data((n,), torch.float16, 1)",),
    autocast="torch.bfloat16",
)  # fmt: skip


@pytest.mark.parametrize(
    "program, change, kind",
    [
        (EMPTY, lambda x, _: x, ""),
        (EMPTY, lambda x, _: x.new_zeros(4)[:0].view(x.shape), "view"),
        (EMPTY_ALONE, lambda x, _: x.new_empty(0).set_(x.new_zeros(4).untyped_storage(), 2, x.shape, x.stride()), ""),
        (CAST, lambda x, _: x.nextafter(torch.tensor(9.0)) if x.dtype == torch.float32 else x, ""),
        (CAST, lambda x, _: x * (1 + 1e-4), "rounding"),
        (HALVES_INSIDE, lambda x, _: x + 2e-4, ""),
        (HALVES_INSIDE, lambda x, _: x + 1e-1, "rounding"),
    ],
)
def test_what_eager_may_do_is_no_difference(program, change, kind):
    """Empty tensors may have any storage but are views of what eager's are, casts that change nothing in fp64 are copies there too, and halves inside of
    a step round as halves."""
    found = outcome(program, altering(change))
    assert found.kind == kind, found


def test_a_write_that_is_lost_is_seen():
    program = by_hand([("a0.copy_(a1)", "write", "exact")], ("a1",), inputs=("data((4,), torch.int64, 0)", "data((4,), torch.int64, 1)"))

    def forgetful(gm, inputs):
        return lambda *arguments: gm(*[x.clone() if isinstance(x, torch.Tensor) else x for x in arguments])

    assert outcome(program, forgetful).kind in ("values", "sharing")


def test_a_find_is_shrunk():
    """Of eight steps, only the one that the backend gets wrong remains."""
    lines = [
        ("v0 = a0 + 1", "pure", "exact"), ("v1 = a1 * 2", "pure", "exact"), ("v2 = v0.t()", "view", "bits"),
        ("v3 = v2.flip(0)", "pure", "bits"),
    ]
    program = by_hand([*lines, ("v4 = v3.clone()", "pure", "bits"), ("v5 = v4 - v3", "pure", "exact")], ("v5", "v1", "v2"))

    def wrong(gm, inputs):
        off = any(node.target in ("flip", torch.flip) for node in gm.graph.nodes)
        return lambda *arguments: tuple(x + 1 if off else x for x in gm(*arguments))

    found = outcome(program, wrong)
    small = smallest(program, lambda simpler: outcome(simpler, wrong).kind == found.kind)
    assert len(small.steps) <= 2 and len(small.results) == 1 and len(small.calls) == 1, small.source()


def test_a_program_is_data():
    """It can be written, read again, and printed as a script that runs."""
    program = generate(Choices(random.Random(3)))
    assert Program.from_json(json.loads(json.dumps(program.to_json()))) == program
    compile(program.snippet(), "snippet", "exec")
    assert generate(Choices(random.Random(3))) == program


def test_a_program_that_is_compiled_again_is_a_find(monkeypatch):
    monkeypatch.setattr(Program, "backend_options", lambda self: {"fail_at": "kernel:tanh", "strict": False})
    assert outcome(ROUNDED).kind == "compiled again"


def in_place(line, **more):
    return by_hand([("v0 = a0 * a1", "pure", "exact"), ("v1 = v0[1:]", "view", "bits")], ("v1",), after=(line,), **more)


TRAINED = by_hand(
    [("v0 = a0.tanh()", "pure", "float")], after=("backward([r0])", "r0.mul_(2)"), training=True, inputs=("data((n,), torch.float32, 0).requires_grad_()",)
)


@pytest.mark.parametrize(
    "program, change, kind",
    [
        (in_place("r0.add_(1)"), lambda x, _: x, ""),
        (in_place("r0.detach_()"), lambda x, _: x, ""),
        (in_place("r0.detach_()"), lambda x, _: torch.empty(0).set_(x.untyped_storage(), x.storage_offset(), x.shape, x.stride()), "action"),
        (in_place("r0.add_(1)"), lambda x, _: torch.empty(0).set_(x.untyped_storage(), x.storage_offset(), x.shape, x.stride()), "view"),
        (TRAINED, lambda x, _: x, ""),
    ],
)
def test_what_the_caller_does_with_results_is_compared(program, change, kind):
    found = outcome(program, altering(change))
    assert found.kind == kind, found


def test_a_gradient_after_a_write_is_that_of_the_values_before_it():
    """Eager refuses the last backward of this program, as `tanh` needs what was written; whoever has a gradient must have the right one."""

    def backend(factor):
        class Kept(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.x = x.detach().clone()
                return x.tanh()

            @staticmethod
            def backward(ctx, g):
                return g * (1 - ctx.x.tanh() ** 2) * factor

        return lambda gm, inputs: lambda *arguments: (Kept.apply(next(x for x in arguments if isinstance(x, torch.Tensor))),)

    assert outcome(TRAINED, backend(1)).kind == ""
    assert outcome(TRAINED, backend(1.01)).kind == "rounding"


def test_an_earlier_call_keeps_its_results():
    kept = []

    def reusing(gm, inputs):
        def run(*arguments):
            results = gm(*arguments)
            kept.append(results[0])
            if len(kept) > 1:
                kept[0].zero_()
            return results

        return run

    found = outcome(by_hand([("v0 = a0 + 7", "pure", "exact")], calls=(3, 3)), reusing)
    assert found.place == "an earlier call", found


def test_known_classes_are_narrow():
    """A known difference is one by its kind, message and source together."""
    strides = {"kind": "strides", "message": "result 0: strides (1, 2) not (2, 1)"}
    convolution = in_place("r0 = F.conv1d(a0, a0)")
    assert known_as(convolution, strides) and not known_as(ROUNDED, strides)
    assert not known_as(convolution, {**strides, "kind": "result"})
    assert not known_as(ROUNDED, {"kind": "values", "message": "a number where NaN is due: 1 of 2"})
    lost = {"kind": "rounding", "message": "off by nan, allowed 1.175e-38; 6 of 144 elements; first at (0, 1, 0, 1): nan, not 0.0"}
    attention = in_place("r0 = F.scaled_dot_product_attention(a0, a0, a0)")
    assert known_as(attention, lost) and not known_as(ROUNDED, lost)
    assert not known_as(attention, {"kind": "values", "message": "a number where NaN is due: 1 of 2"})
