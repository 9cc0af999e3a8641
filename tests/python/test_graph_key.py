"""The fast key: the same in every process, and another one as soon as anything differs that the compiler can see."""

import os
import subprocess
import sys

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx

from frit import backend, graph_key, options
from frit.graph_key import Uncacheable


def program(x, y):
    return (x * 2 + y).relu().sum(1)


def graph(function=program, shapes=((4, 6), (4, 6)), dtype=torch.float32, mode="fake", stride=None):
    inputs = [torch.zeros(shape, dtype=dtype) for shape in shapes]
    if stride is not None:
        inputs[0] = torch.zeros(1000).as_strided(shapes[0], stride)
    return make_fx(function, tracing_mode=mode)(*inputs)


def key(gm=None, settings=None, identity="build 1"):
    return graph_key.graph_key(gm or graph(), settings or options.resolve(), identity)


def test_the_same_program_has_the_same_key():
    assert key() == key()
    assert len(key()) == 64


GRAPHS = {
    "a literal": dict(function=lambda x, y: (x * 3 + y).relu().sum(1)),
    "the type of a literal": dict(function=lambda x, y: (x * 2.0 + y).relu().sum(1)),
    "the sign of a zero": dict(function=lambda x, y: (x * 0.0 + y).relu().sum(1)),
    "the other sign": dict(function=lambda x, y: (x * -0.0 + y).relu().sum(1)),
    "an operator": dict(function=lambda x, y: (x * 2 - y).relu().sum(1)),
    "an overload": dict(function=lambda x, y: (x * 2 + y).relu().sum()),
    "a dimension": dict(function=lambda x, y: (x * 2 + y).relu().sum(0)),
    "a keyword": dict(function=lambda x, y: (x * 2 + y).relu().sum(1, dtype=torch.float64)),
    "the order of operands": dict(function=lambda x, y: (y * 2 + x).relu().sum(1)),
    "the number of results": dict(function=lambda x, y: ((x * 2 + y).relu().sum(1), y)),
    "a shape": dict(shapes=((4, 7), (4, 7))),
    "a dtype": dict(dtype=torch.float64),
    "a stride": dict(stride=(1, 4)),
    "a symbolic size": dict(mode="symbolic"),
    "equal symbols": dict(mode="symbolic", shapes=((4, 4), (4, 4))),
}


def test_every_difference_in_the_graph_is_another_key():
    keys = {name: key(graph(**how)) for name, how in GRAPHS.items()}
    keys["the first"] = key()
    assert len(set(keys.values())) == len(keys), keys


def test_every_option_is_in_the_key():
    other = {bool: lambda v: not v, str: lambda v: v + "x", int: lambda v: v + 1, dict: lambda v: {**v, "x": 1}}
    settings = options.resolve()
    assert set(settings) == set(options.REGISTRY)
    keys = [key(settings={**settings, name: other.get(type(value), repr)(value)}) for name, value in settings.items()]
    assert len({key(), *keys}) == len(keys) + 1


def test_the_compiler_torch_and_our_own_sources_are_in_the_key(monkeypatch):
    keys = [key(), key(identity="build 2")]
    monkeypatch.setattr(torch, "__version__", "2.99")
    keys.append(key())
    monkeypatch.undo()
    monkeypatch.setattr(graph_key, "sources_digest", lambda: "other")
    keys.append(key())
    monkeypatch.undo()
    torch.use_deterministic_algorithms(True)
    try:
        keys.append(key())
    finally:
        torch.use_deterministic_algorithms(False)
    assert len(set(keys)) == len(keys)


def test_ranges_and_guards_of_symbols_are_in_the_key():
    def guarded(x, y):
        torch._check(x.shape[0] <= 64)
        return program(x, y)

    assert key(graph(mode="symbolic")) != key(graph(guarded, mode="symbolic"))


def test_hints_count_by_their_power_of_two():
    sizes = {n: key(graph(shapes=((n, 6), (n, 6)), mode="symbolic")) for n in (17, 30, 33)}
    assert sizes[17] == sizes[30] != sizes[33]


def test_constants_are_known_by_their_description():
    def with_constant(value):
        gm = graph(lambda x: x + 1, shapes=((3,),))
        gm.register_buffer("constant", value)
        with gm.graph.inserting_before(next(n for n in gm.graph.nodes if n.op == "call_function")):
            gm.graph.get_attr("constant")
        return gm

    first = key(with_constant(torch.zeros(3)))
    assert first == key(with_constant(torch.ones(3))), "data is bound when the artifact is loaded"
    assert first != key(with_constant(torch.zeros(4)))


def test_what_no_other_process_would_write_the_same_way_has_no_key():
    gm = graph()
    node = next(n for n in gm.graph.nodes if n.op == "call_function")
    node.kwargs = {"thing": object()}
    with pytest.raises(Uncacheable, match="no text of its own"):
        key(gm)


_SCRIPT = """
import sys
sys.path.insert(0, sys.argv[1])
import test_graph_key as t
print(t.key(), t.key(t.graph(mode="symbolic")))
"""


def test_keys_agree_between_processes():
    seen = set()
    for seed in ("1", "77"):
        environment = dict(os.environ, PYTHONHASHSEED=seed, PYTHONPATH=os.pathsep.join(sys.path))
        command = [sys.executable, "-c", _SCRIPT, os.path.dirname(__file__)]
        seen.add(subprocess.run(command, env=environment, capture_output=True, text=True, check=True, cwd="/").stdout)
    assert len(seen) == 1 and seen.pop().split() == [key(), key(graph(mode="symbolic"))]


def test_the_library_has_an_identity():
    identity = backend._native().identity()
    assert "build " in identity and "llvm 22" in identity and "x86-64-v" in identity
