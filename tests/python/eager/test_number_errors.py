"""Errors of Python's numbers within a graph have eager's type and words: divisions by zero, infinity and NaN as integers, numbers beyond a type."""

import pytest
import torch

T = torch.tensor
R = torch.ones(5)


def both(operation):
    """The operation on numbers from data."""
    return lambda n, m: torch.ones(3) * operation(n.item(), m.item())


def sized(operation):
    """The operation on a size and on a size that may be 0."""
    return lambda x, y: x + operation(x.size(0), y.size(0) - 4)


FROM_DATA = {
    "//": (both(lambda a, b: a // b), (T(5), T(2)), (T(5), T(0))),
    "%": (both(lambda a, b: a % b), (T(5), T(2)), (T(5), T(0))),
    "/": (both(lambda a, b: a / b), (T(5), T(2)), (T(5), T(0))),
    "1 /": (both(lambda a, b: 1 / b), (T(5), T(2)), (T(5), T(0))),
    "int": (both(lambda a, b: int(a) + b), (T(2.5), T(2)), (T(float("inf")), T(2))),
    "int of NaN": (both(lambda a, b: int(a) + b), (T(2.5), T(2)), (T(float("nan")), T(2))),
    "full": (lambda x, n: torch.full((2,), n.item(), dtype=torch.int8) + x.to(torch.int8), (T([4, 5]), T(-3)), (T([4, 5]), T(300))),
    "clamp": (lambda x, n: x.to(torch.uint8).clamp(n.item()), (T([4, 5]), T(-3)), (T([4, 5]), T(300))),
    "masked_fill": (lambda x, n: x.to(torch.int32).masked_fill(x > 4, n.item()), (T([4, 5]), T(3)), (T([4, 5]), T(1 << 40))),
}
OF_SIZES = {
    "//": (sized(lambda a, b: a // b), (R, torch.ones(6)), (R, torch.ones(4))),
    "%": (sized(lambda a, b: a % b), (R, torch.ones(6)), (R, torch.ones(4))),
    "2 * %": (sized(lambda a, b: a % b * 2 + a), (R, torch.ones(7)), (R, torch.ones(4))),
    "/": (sized(lambda a, b: a / b), (R, torch.ones(6)), (R, torch.ones(4))),
    "number //": (lambda x, a, b: x * (a // b), (R, 5, 3), (R, 5, 0)),
    "number %": (lambda x, a, b: x * (a % b), (R, -5, 3), (R, 5, 0)),
    "number full": (lambda x, n: x + torch.full((5,), n, dtype=torch.int8), (R, 100), (R, 128)),
}
TENSORS = {
    "//": (lambda x, y: x // y, (T([4, 5]), T([2, 3])), (T([4, 5]), T([2, 0]))),
    "% of one": (lambda x, y: x % y, (T(4), T(3)), (T(4), T(0))),
    "// of an item": (lambda x, y: x // y.item(), (T([4, 5]), T(2)), (T([4, 5]), T(0))),
}
GROUPS = {"data": FROM_DATA, "sizes": OF_SIZES, "tensors": TENSORS}
ALL = [pytest.param(*program, id=f"{kind}: {name}") for kind, group in GROUPS.items() for name, program in group.items()]


@pytest.mark.parametrize("target", [{}, {"target": "simt"}])
def test_divisors_of_both_signs(target):
    """A kernel divides the numbers itself."""

    def function(x, y, n):
        number, size = n.item() - 2, y.size(0) - 9
        return x + 12 // number, x + 12 % number, x + 12 // size, x + 12 % size, x + n.item() // size

    with torch._dynamo.config.patch(capture_scalar_outputs=True):
        compiled = torch.compile(function, backend="frit", fullgraph=True, dynamic=True, options=target)
        for number, size in ((1, 7), (-7, 5), (7, 14), (5, 8)):
            arguments = (R, torch.ones(size), T(number))
            for one, other in zip(compiled(*arguments), function(*arguments), strict=True):
                assert torch.equal(one, other)


@pytest.mark.parametrize("function, good, bad", ALL)
def test_type_and_words(function, good, bad):
    with torch._dynamo.config.patch(capture_scalar_outputs=True):
        compiled = torch.compile(function, backend="frit", fullgraph=True, dynamic=True, options={"strict": False})
        for _ in range(2):
            assert torch.equal(compiled(*good), function(*good))
            with pytest.raises(Exception) as expected:
                function(*bad)
            with pytest.raises(expected.type) as found:
                compiled(*bad)
            assert type(found.value) is expected.type
            assert str(found.value).partition("\n")[0] == str(expected.value).partition("\n")[0]
