"""The hard programs over the sizes around a bucket: values, gradients and errors of eager, as many compilations as aot_eager."""

import functools

import checker
import pytest
import torch
from hard_programs import PROGRAMS

SETTINGS = {"plain": {}, "padded and poisoned": {"padding": "force", "poison": True}}


class Counting:
    """A backend that counts the graphs it is handed."""

    def __init__(self, backend, options=None):
        call = torch._dynamo.lookup_backend(backend)
        self.call = functools.partial(call, options=options) if options else call
        self.graphs = 0

    def __call__(self, gm, inputs):
        self.graphs += 1
        return self.call(gm, inputs)


def outcome(call, inputs):
    """What a call raises, or None."""
    try:
        call(*checker.copied(inputs))
    except Exception as error:
        return error
    return None


@functools.cache
def graphs_of_aot_eager(name):
    """How many graphs the sweep costs, and what is raised on the way, size by size."""
    program = PROGRAMS[name]
    torch.compiler.reset()
    counting = Counting("aot_eager")
    compiled = torch.compile(program.function, backend=counting, dynamic=True, fullgraph=program.fullgraph)
    compiled = checker.with_gradients(compiled) if program.training else compiled
    errors = {n: outcome(compiled, program.make(n)) for n in program.sizes}
    torch.compiler.reset()
    return counting.graphs, errors


def sweep(name, options):
    program = PROGRAMS[name]
    expected, errors = graphs_of_aot_eager(name)
    counting = Counting("frit", options)
    compiled = torch.compile(program.function, backend=counting, dynamic=True, fullgraph=program.fullgraph)
    for n in program.sizes:
        inputs = program.make(n)
        if n in program.raises:
            assert outcome(program.function, inputs) is not None, f"eager takes size {n}"
            got = outcome(compiled, inputs)
            assert got is not None, f"size {n}: nothing is raised"
            assert type(got) is type(errors[n]) and str(got).split("\n")[0] == str(errors[n]).split("\n")[0], (n, got, errors[n])
            continue
        try:
            checker.check(
                program.function, *inputs, compare=program.compare, training=program.training, seed=program.seed, compiled=compiled
            )
        except Exception as error:
            error.add_note(f"size {n}")
            raise
    assert counting.graphs == expected, f"{counting.graphs} graphs, aot_eager is handed {expected}"


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_over_the_sizes_around_a_bucket(name, settings):
    sweep(name, SETTINGS[settings])
