"""The checker detects one planted difference for each rule."""

import checker
import pytest
import torch


def outcome(*leaves, inputs=()):
    return checker.Outcome(list(leaves), list(inputs))


def expect_failure(actual, expected, reference=None, match=""):
    with pytest.raises(AssertionError, match=match):
        checker.compare_outcomes(actual, expected, reference)


def test_equal_outcomes_pass():
    x = torch.tensor([1.0, float("nan"), -0.0, float("inf")])
    checker.compare_outcomes(outcome(x.clone(), 3, None), outcome(x.clone(), 3, None))


@pytest.mark.parametrize(
    "actual, expected, match",
    [
        (torch.zeros(2), -torch.zeros(2), "differ"),
        (torch.ones(2), torch.ones(2, dtype=torch.float64), "float32"),
        (torch.ones(2), torch.ones(3), "shape"),
        (torch.tensor([1.0, float("nan")]), torch.tensor([1.0, 2.0]), "differ"),
        (torch.ones(3, 2).t(), torch.ones(2, 3), "strides"),
        (torch.ones(5)[1:], torch.ones(4), "offset"),
        (True, 1, "instead of"),
        (2, 3, "instead of"),
        (torch.tensor(3), 3, "instead of"),
    ],
)
def test_exact_rules(actual, expected, match):
    expect_failure(outcome(actual), outcome(expected), match=match)


def test_shared_storage_is_noticed():
    x, y = torch.ones(3), torch.ones(3)
    expect_failure(outcome(x, x), outcome(x, y), match="sharing")
    expect_failure(outcome(y, inputs=[x]), outcome(x, inputs=[x]), match="sharing")


def test_a_forgotten_mutation_is_noticed():
    expect_failure(outcome(inputs=[torch.zeros(2)]), outcome(inputs=[torch.ones(2)]), match="input 0")


def test_the_float_rule_allows_rounding_and_nothing_more():
    exact = torch.linspace(0.1, 1, 100, dtype=torch.float64)
    eager = exact.float()
    checker.compare_outcomes(outcome(torch.nextafter(eager, torch.ones(()))), outcome(eager), outcome(exact))
    off = eager.clone()
    off[7] *= 1 + 1e-4
    expect_failure(outcome(off), outcome(eager), outcome(exact), match="result 0")
    expect_failure(outcome(eager * (1 + 3e-7)), outcome(eager), outcome(exact), match="error")


def test_copies_keep_strides_offsets_and_sharing():
    base = torch.arange(12.0)
    inputs = [base[2:8].view(2, 3).t(), base[4:], torch.ones(2)]
    copies = checker.copied(inputs)
    for before, after in zip(inputs, copies):
        assert torch.equal(before, after) and before.stride() == after.stride()
        assert before.storage_offset() == after.storage_offset()
        assert before.untyped_storage()._cdata != after.untyped_storage()._cdata
    assert checker.sharing(copies) == [0, 0, 2]


def test_doubles_beside_them_do_not_say_how_exact_floats_are():
    """Eager's fp32 error is measured by itself, whatever else the program computes in fp64."""
    x = torch.rand(5, 67) + 0.5
    inputs = (x, x.double())

    def call(a, b):
        return a.prod(-1), b.prod(-1)

    errors = checker.fp64_errors(call, inputs, None, checker.run(call, inputs))
    assert errors.leaves[0] is None and errors.leaves[1] is not None
    assert errors.inputs == [None, errors.inputs[1]] and not errors.inputs[1].any()


def test_a_mean_of_large_numbers_that_cancel_may_err_as_sums_do():
    """Eager adds in fp64 here; the error of a sum in fp32 is relative to its terms, however small the mean."""
    x = torch.cat([torch.full((50,), 1000.0), torch.full((50,), -1000.0)]) + torch.linspace(-1, 1, 100)
    expected = checker.run(lambda x: x.mean(), [x], 0)
    reference = checker.run(lambda x: x.mean(), checker.widened([x]), 0)
    error = checker.rounding_errors(lambda x: x.mean(), [x], 0, None, expected, reference).leaves[0].item()
    rounding = torch.finfo(torch.float32).eps * 1000
    assert rounding / 100 < error < rounding / 2


def test_a_program_that_names_its_type_has_a_reference():
    """It refuses fp64 operands, so in the reference its named type becomes fp64 too."""

    def function(x):
        return x.cumprod_(0, dtype=torch.float16)

    x = torch.tensor([1.5, 1.1, 1.3], dtype=torch.float16)
    reference = checker.run_in(torch.float64, function, [x], 0).leaves[0]
    assert reference.dtype == torch.float64 and torch.equal(reference, x.double().cumprod(0))


def test_an_infinity_of_the_reference_is_no_nan():
    """Eager has a NaN because a step overflowed; the reference overflows to an infinity."""
    nan, reference = torch.tensor([float("nan")], dtype=torch.float16), torch.tensor([-7e4], dtype=torch.float64)
    checker.compare_outcomes(outcome(torch.full_like(nan, -torch.inf)), outcome(nan), outcome(reference))
    expect_failure(outcome(torch.full_like(nan, torch.inf)), outcome(nan), outcome(reference), "infinity")


def test_an_infinity_that_a_rounding_decides_is_not_required():
    """1 / (3x - 1) at 1/3 is an infinity or a large number, by one rounding; 1 / (x - x) is an infinity."""
    x = torch.full((20,), 1 / 3)
    checker.check(lambda x: 1 / (x * 3 - 1), x, compiled=lambda x: torch.full((20,), 2.0**24))
    checker.check(lambda x: 1 / (x * 3 - 1), x[:2], compiled=lambda x: torch.full((2,), 2.0**24))
    with pytest.raises(AssertionError, match="where infinity is"):
        checker.check(lambda x: 1 / (x - x), x, compiled=lambda x: torch.full((20,), 2.0**24))
    with pytest.raises(AssertionError, match="where NaN is"):
        checker.check(lambda x: 1 / (x - x), x, compiled=lambda x: torch.full((20,), torch.nan))
