"""Inputs for per-operator tests: many small tensors with special values, sizes and layouts.

All cases of an operator are compiled at once, so a table of operators stays cheap.
"""

import math

import torch

FLOATS = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
ALL = FLOATS + INTEGERS + (torch.bool,)
MIXED = (
    (torch.float32, torch.bfloat16),
    (torch.bfloat16, torch.float16),
    (torch.float64, torch.float32),
    (torch.float16, torch.int64),
    (torch.float32, torch.bool),
    (torch.int64, torch.int32),
    (torch.int16, torch.uint8),
    (torch.int8, torch.uint8),
    (torch.uint8, torch.bool),
)
SIZES = (0, 1, 2, 15, 16, 17, 31, 33, 67)

_SPECIAL = [math.nan, math.inf, -math.inf, -0.0, 0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, 1e-3, -1e-3, 7.0, -7.0, 100.0, 3e-39]


def vector(size, dtype, seed=0, special=True, low=-4.0, high=4.0):
    """Returns a contiguous vector; floating-point ones begin with the special values, integers with their limits."""
    generator = torch.Generator().manual_seed(1000 * seed + size)
    if dtype == torch.bool:
        return torch.rand(size, generator=generator) > 0.5
    if dtype.is_floating_point:
        values = torch.empty(size, dtype=torch.float64).uniform_(low, high, generator=generator)
        if special:
            kept = _SPECIAL[: max(0, size - 2)]
            values[: len(kept)] = torch.tensor(kept, dtype=torch.float64).roll(seed)
        return values.to(dtype)
    limits = torch.iinfo(dtype)
    values = torch.randint(max(limits.min, -9), 10, (size,), generator=generator).to(dtype)
    if special and size > 6:
        values[:6] = torch.tensor([limits.min, limits.max, 0, 1, limits.max - 1, 2], dtype=dtype).roll(seed)
    return values


def layouts(dtype, seed=0, **values):
    """Returns name -> tensor: sizes around vector widths, then layouts that are not contiguous; all of them for f32."""
    sizes = SIZES if dtype == torch.float32 else (0, 1, 17, 67)
    cases = {f"size {n}": vector(n, dtype, seed, **values) for n in sizes}
    grid = vector(63, dtype, seed, **values).view(7, 9)
    cases["transposed"] = grid.t()
    if dtype != torch.float32:
        return cases
    cases["every second"] = vector(67, dtype, seed, **values)[::2]
    cases["offset"] = vector(36, dtype, seed, **values)[3:]
    cases["expanded"] = vector(5, dtype, seed, **values)[:, None].expand(5, 18)
    cases["rank 0"] = vector(1, dtype, seed, special=False, **{k: v for k, v in values.items() if k != "special"})[0]
    return cases


def supported(function, labelled):
    """Returns the cases that eager accepts: (labels, inputs)."""
    labels, inputs = [], []
    for label, arguments in labelled:
        try:
            function(*arguments)
        except (RuntimeError, IndexError, TypeError, NotImplementedError, ValueError):
            continue
        labels.append(label)
        inputs.append(arguments)
    return labels, inputs


def unary(function, dtypes=ALL, **values):
    return supported(
        function, [(f"{dtype} {name}", (x,)) for dtype in dtypes for name, x in layouts(dtype, **values).items()]
    )


def binary(function, dtypes=ALL, **values):
    """Returns pairs of the same type in every layout, then mixed types, broadcasts and 0-d tensors."""
    labelled = []
    for dtype in dtypes:
        left, right = layouts(dtype, **values), layouts(dtype, seed=3, **values)
        labelled += [(f"{dtype} {name}", (left[name], right[name])) for name in left]
        labelled.append((f"{dtype} broadcast", (left["transposed"], vector(7, dtype, 5, **values))))
    for a, b in MIXED:
        if a in dtypes and b in dtypes:
            x, y = vector(19, a, **values), vector(19, b, 3, **values)
            labelled += [(f"{a} with {b}", (x, y)), (f"{a} with {b} of rank 0", (x, y[7])), (f"rank 0 {b} with {a}", (y[7], x))]
    return supported(function, labelled)


def matrices(dtype, seed=0, special=True):
    """Returns tensors for reductions: every dim empty once, rows around vector widths, permuted and strided."""
    shapes = [(0, 3), (3, 0), (1, 1), (2, 17), (17, 2), (5, 67), (3, 4, 33)]
    if dtype not in (torch.float32, torch.int64):
        shapes = [(3, 0), (17, 2), (5, 67)]
    cases = {}
    for i, shape in enumerate(shapes):
        flat = vector(math.prod(shape), dtype, seed + i, special=special and i % 2 == 0)
        cases[f"shape {shape}"] = flat.view(shape)
    cases["permuted"] = vector(3 * 5 * 8, dtype, seed, special=False).view(3, 5, 8).permute(2, 0, 1)
    cases["strided"] = vector(6 * 40, dtype, seed, special=False).view(6, 40)[::2, 1::3]
    cases["rank 0"] = vector(1, dtype, seed, special=False)[0]
    return cases
