"""Every kind of literal reaches the operator unchanged: through capture's text, the importer's attributes, the plan's values and the call. A lost one
would be a zero."""

import math

import pytest
import torch
from torch._dynamo.utils import counters

LIBRARY = torch.library.Library("frit_test_literals", "DEF")
ARGUMENTS = {
    "Scalar complex_number": complex(2, -3.5),
    "Scalar odd_complex": complex(-0.0, math.inf),
    "Scalar integer": -(2**62),
    "Scalar real": 1e-300,
    "Scalar flag": True,
    "Scalar? nothing": None,
    "int whole": 7,
    "int? absent": None,
    "float fraction": -0.0,
    "bool yes": True,
    "str text": 'a "quoted"\n\\ text \u00fc',
    "ScalarType dtype": torch.complex64,
    "Device device": torch.device("cpu"),
    "Layout layout": torch.strided,
    "MemoryFormat form": torch.channels_last,
    "int[] wholes": [1, -2, 3],
    "int[] no_wholes": [],
    "int[2] pair": [4, 5],
    "float[] fractions": [1.0, math.inf, -0.0],
    "bool[] flags": [True, False],
    "str[] texts": ["a", ""],
    "Tensor?[] tensors": [None],
}
# Kinds of lists that the schema lacks reach the operator through Python.
LISTS = {"Scalar[] numbers": [1, 2.5], "Scalar[] complex_numbers": [1j, complex(2, 3)], "int[] wholes": [3]}
SEEN = []


def echo(x, *given):
    SEEN.append(given)
    return x.clone()


for name, arguments in (("echo", ARGUMENTS), ("echo_lists", LISTS)):
    LIBRARY.define(f"{name}(Tensor x, {', '.join(arguments)}) -> Tensor")
    LIBRARY.impl(name, echo, "CompositeExplicitAutograd")
    LIBRARY.impl(name, lambda x, *given: torch.empty_like(x), "Meta")


def text(value):
    """Returns a text that shows types and signs of zeros."""
    return f"{type(value).__name__} {value!r}"


@pytest.mark.parametrize("name, arguments, callbacks", [("echo", ARGUMENTS, 0), ("echo_lists", LISTS, 1)])
def test_every_kind_of_literal_arrives_as_it_was_written(name, arguments, callbacks):
    def function(x):
        return getattr(torch.ops.frit_test_literals, name)(x, *arguments.values()) * 2

    x = torch.randn(3)
    SEEN.clear()
    function(x)
    before = counters["frit"]["callbacks"]
    assert torch.equal(torch.compile(function, backend="frit", fullgraph=True)(x), x * 2)
    assert counters["frit"]["callbacks"] - before == callbacks
    assert len(SEEN) == 2
    for argument, wanted, got in zip(arguments, *SEEN, strict=True):
        assert text(got) == text(wanted), argument
