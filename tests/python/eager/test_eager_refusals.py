"""Types for which eager has no kernel: frit raises as eager, even if a formula or a rule could compute them (scripts/generate-eager-refusals.py)."""

import importlib.util
import os
import random
import re
import subprocess
from pathlib import Path

import checker
import pytest
import torch
import torch.nn.functional as F
from torch._dynamo.utils import counters

from frit.eager.decompositions import decomposition_table
from frit.eager.refusals import REFUSED as REFUSED_WHERE_DECOMPOSED

ROOT = Path(__file__).resolve().parents[3]
TRUTHS, BYTES, NUMBERS = torch.tensor([True, False, True]), torch.tensor([1, 2, 3], dtype=torch.int8), torch.tensor([1.0, 2.0, 3.0])

REFUSED = {
    "the absolute value of booleans": (torch.abs, TRUTHS),
    "booleans rounded": (torch.floor, TRUTHS),
    "an integer subtracted from booleans": (torch.sub, TRUTHS, BYTES),
    "booleans subtracted from a number": (lambda x: 1 - x, TRUTHS),
    "the place of a boolean": (torch.argmax, TRUTHS),
    "quotients of booleans, truncated": (lambda x, y: torch.div(x, y, rounding_mode="trunc"), TRUTHS, TRUTHS),
    "products of booleans, added": (torch.addcmul, TRUTHS, TRUTHS, TRUTHS),
    "bits of floats": (torch.bitwise_xor, NUMBERS, NUMBERS),
    "bits of floats, inverted": (torch.bitwise_not, NUMBERS),
    "bits of halves": (lambda x: (x & x) + 1, NUMBERS.half()),
    "between integers": (lambda x: torch.lerp(x, x, 0.5), BYTES),
    "logarithms of integers": (torch.logaddexp, BYTES, BYTES),
    "fractions of integers": (torch.frac, BYTES),
    "the softmax of integers": (lambda x: torch.softmax(x, 0), BYTES),
    "a loss of integers": (F.soft_margin_loss, BYTES, BYTES),
    "an activation of integers": (F.gelu, BYTES),
    "a bound that no byte holds": (lambda x: x.clamp(max=1000), BYTES),
    "a bound that no half holds": (lambda x: x.clamp(max=1e6), NUMBERS.half()),
    "a value that no byte holds": (lambda x: torch.full_like(x, 300), BYTES),
    "a value that no half holds": (lambda x: torch.full_like(x, 70000.0), NUMBERS.half()),
    "NaN among integers": (lambda x: torch.full_like(x, float("nan")), BYTES),
    "operands of two types": (torch.heaviside, BYTES, BYTES.to(torch.uint8)),
    "a matrix and a vector of another type": (torch.mv, torch.ones(2, 3), NUMBERS.double()),
    "vectors of two types": (torch.linalg.cross, NUMBERS, NUMBERS.double()),
    "a gradient of another type": (lambda g, y: torch.ops.aten._softmax_backward_data(g, y, 0, torch.float32), NUMBERS.bfloat16(), NUMBERS),
    "statistics of another type": (lambda x, m: F.batch_norm(x, m, m.exp()), torch.ones(2, 3), NUMBERS.bfloat16()),
    "weights of another type": (lambda x, w: F.cross_entropy(x, torch.tensor([0, 2]), w), torch.ones(2, 3), NUMBERS.double()),
    "parameters of another type": (lambda x, w: F.layer_norm(x, (3,), w, w), torch.ones(2, 3), NUMBERS.bfloat16()),
    "parameters of a narrower type": (lambda x, w: F.batch_norm(x, None, None, w, w, training=True), torch.ones(2, 3, dtype=torch.float64), NUMBERS),
}
COMPUTED = {
    "booleans clamped by integers": (lambda x: x.clamp(0, 1), TRUTHS),
    "the mean of integers in floats": (lambda x: x.mean(dtype=torch.float32), BYTES),
    "the softmax of integers in floats": (lambda x: torch.softmax(x, 0, dtype=torch.float32), BYTES),
    "booleans and integers added": (torch.add, TRUTHS, BYTES),
    "integers divided": (torch.div, BYTES, BYTES),
    "bytes clamped by a negative number, which wraps": (lambda x: x.clamp(min=-1), BYTES.to(torch.uint8)),
    "halves clamped by infinity": (lambda x: x.clamp(max=float("inf")), NUMBERS.half()),
    "bytes of a negative number, which wraps": (lambda x: torch.full_like(x, -1), BYTES.to(torch.uint8)),
    "groups of no samples": (lambda x: F.group_norm(x, 2), torch.ones(0, 4, 5, 5).bfloat16()),
}


#: Operators of a boolean tensor and one number, written as users write them.
OF_A_NUMBER = {
    **{name: getattr(torch, name) for name in ("add", "sub", "rsub", "mul", "true_divide", "floor_divide", "fmod", "remainder", "pow", "float_power",
                                               "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift", "eq", "lt", "xlogy",
                                               "clamp", "clamp_max")},
    **{f"{name} with a mode": lambda x, y, name=name: torch.div(x, y, rounding_mode=name) for name in ("trunc", "floor")},
    "remainder of a number": lambda x, y: y % x,
    "power of a number": lambda x, y: y**x,
    "clamp(max=)": lambda x, y: x.clamp(max=y),
    "hardtanh": lambda x, y: F.hardtanh(x, -1, y),
    "threshold": lambda x, y: F.threshold(x, y, y),
    "leaky_relu": F.leaky_relu,
    "lerp": lambda x, y: torch.lerp(x, x, y),
    "where": lambda x, y: torch.where(x, y, x),
    "masked_fill": lambda x, y: x.masked_fill(x, y),
    "full_like": torch.full_like,
}


@pytest.mark.parametrize("name", OF_A_NUMBER)
def test_booleans_and_a_number(name):
    """For each kind of number frit computes or refuses what "aot_eager" does; Dynamo words some errors itself. Dynamic numbers too."""

    def outcome(compiled, number):
        try:
            result = compiled(TRUTHS, number)
        except (RuntimeError, TypeError):
            return "refused"
        return str(result), result.dtype

    numbers = True, False, 2, 2.5, 3, 3.5
    for dynamic in False, True:
        outcomes = []
        for backend in "aot_eager", "frit":
            torch.compiler.reset()
            compiled = torch.compile(OF_A_NUMBER[name], backend=backend, dynamic=dynamic)
            outcomes.append([outcome(compiled, number) for number in numbers])
        assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("name", REFUSED)
def test_what_eager_refuses(name):
    function, *inputs = REFUSED[name]
    checker.check_raises_as_eager(function, *inputs)


@pytest.mark.parametrize("name", COMPUTED)
def test_what_eager_computes(name):
    function, *inputs = COMPUTED[name]
    actual = torch.compile(function, backend="frit", fullgraph=True)(*inputs)
    torch.testing.assert_close(actual, function(*inputs))


@pytest.mark.parametrize("name", ["group_norm", "batch_norm"])
def test_asking_the_kernel_puts_no_guard_on_sizes(name):
    """Parameters in another type than the input's, as under autocast."""
    weights = torch.randn(4)
    functions = {
        "group_norm": lambda x: F.group_norm(x, 2, weights, weights),
        "batch_norm": lambda x: F.batch_norm(x, weights, weights.exp(), weights, weights),
    }
    compiled = torch.compile(functions[name], backend="frit", dynamic=True)
    for sizes in ((3, 4, 5, 6), (5, 4, 7, 8), (2, 4, 12, 9)):
        x = torch.randn(sizes).bfloat16()
        torch.testing.assert_close(compiled(x), functions[name](x))
    assert counters["frit"]["graphs"] == 1


def generator():
    spec = importlib.util.spec_from_file_location("refusals", ROOT / "scripts" / "generate-eager-refusals.py")
    refusals = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(refusals)
    return refusals


def test_decompositions_ask_the_same_table():
    names = set(map(str, decomposition_table()))
    written = set(re.findall(r'EAGER_REFUSES\("(.*?)"', generator().RULES.read_text()))
    assert set(REFUSED_WHERE_DECOMPOSED) == written & names


def test_no_type_is_refused_that_eager_computes_in():
    """Checks the table for operators that the commit selects."""
    refusals = generator()
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    seed = os.environ.get("FRIT_OPERATOR_SEED", commit)
    recorder = refusals.measure(random.Random(seed).sample(refusals.op_db, 60))
    table = {}
    for name, scalars, dtypes in re.findall(r'EAGER_REFUSES\("(.*)", (\w+), (.*)\)', refusals.RULES.read_text()):
        table[name] = (scalars == "true", set(dtypes.split(" | ")))
    assert len(table) > 100 and recorder.ran
    for (func, scalars), dtypes in recorder.ran.items():
        if table.get(str(func), (None,))[0] == scalars:
            wrong = {refusals.NAMES[dtype] for dtype in dtypes if dtype in refusals.NAMES} & table[str(func)][1]
            assert not wrong, f"{func}: eager computes in {wrong} (seed {seed})"
