"""The hard programs over the sizes around a bucket: values, gradients and errors are eager's, with as many compilations as aot_eager."""

import functools

import checker
import hard_programs
import pytest
import torch
from hard_programs import PROGRAMS
from one_trace import OneTrace
from remembered import remembered

SETTINGS = {"plain": {}, "padded and poisoned": {"padding": "force", "poison": True}}


class Counting:
    """A backend that counts the graphs that it gets."""

    def __init__(self, backend, options=None):
        call = torch._dynamo.lookup_backend(backend)
        self.call = functools.partial(call, options=options) if options else call
        self.graphs = 0

    def __call__(self, gm, inputs):
        self.graphs += 1
        return self.call(gm, inputs)


def outcome(call, inputs):
    """Returns the error of a call, or None."""
    try:
        call(*checker.copied(inputs))
    except Exception as error:
        return error
    return None


def named(error):
    """The type and the first line of an error."""
    return error and [type(error).__name__, str(error).split("\n")[0]]


@functools.cache
def graphs_of_aot_eager(name):
    """Returns the number of graphs of the sweep, and [size, error] of each size that raises one."""
    return remembered(f"hard size {name}", (__file__, hard_programs.__file__), lambda: asked(PROGRAMS[name]))


def asked(program):
    torch.compiler.reset()
    counting = Counting("aot_eager")
    compiled = torch.compile(program.function, backend=counting, dynamic=True, fullgraph=program.fullgraph)
    compiled = checker.with_gradients(compiled) if program.training else compiled
    errors = [[n, named(outcome(compiled, program.make(n)))] for n in program.sizes]
    torch.compiler.reset()
    return [counting.graphs, [[n, error] for n, error in errors if error]]


def selected(request):
    """Returns the settings that are selected for this program, so that others are not compiled."""
    name = request.node.callspec.params["name"]
    mine = [item.callspec.params for item in request.session.items if item.path == request.node.path and hasattr(item, "callspec")]
    return tuple(settings for settings in SETTINGS if {"name": name, "settings": settings} in mine)


@functools.cache
def swept(name, all_settings):
    """Returns the failure of each setting, or None, and the number of graphs; each graph is traced once for all settings."""
    program = PROGRAMS[name]
    errors = dict(graphs_of_aot_eager(name)[1])
    torch.manual_seed(0)
    backend = OneTrace({settings: SETTINGS[settings] for settings in all_settings})
    compiled = torch.compile(program.function, backend=backend, dynamic=True, fullgraph=program.fullgraph)
    wrong = dict.fromkeys(all_settings)
    for n in program.sizes:
        for backend.way in [settings for settings in all_settings if wrong[settings] is None]:
            try:
                check_size(program, n, compiled, errors)
            except Exception as error:
                error.add_note(f"size {n}")
                wrong[backend.way] = error
    return wrong, backend.graphs


def check_size(program, n, compiled, errors):
    inputs = program.make(n)
    if n in program.raises:
        assert outcome(program.function, inputs) is not None, f"eager takes size {n}"
        got = outcome(compiled, inputs)
        assert got is not None, f"size {n}: nothing is raised"
        assert named(got) == errors[n], f"size {n}"
        return
    checker.check(program.function, *inputs, compare=program.compare, training=program.training, seed=program.seed, compiled=compiled)


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_over_the_sizes_around_a_bucket(name, settings, request):
    expected, _ = graphs_of_aot_eager(name)
    wrong, graphs = swept(name, selected(request))
    if wrong[settings] is not None:
        raise wrong[settings]
    assert graphs == expected, f"{graphs} graphs, aot_eager is handed {expected}"
