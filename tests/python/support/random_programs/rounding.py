"""Bounds rounding errors of a program's results by Monte Carlo arithmetic (Parker, Pierce, Eggert, 2000).

The program runs step by step in fp64, several times. In each rounded step the operands, the results, each operator inside of it and the gradients that
flow into it are perturbed at random by two roundings of the type that they have in the program. The spread of the results is the effect of rounding,
including cancellation and discontinuities; it does not depend on eager's rounding.
"""

import contextlib

import checker
import torch

from .levels import Run, is_rounded_type, storage_of, tensors_of
from .program import lookup, namespace, widened

DRAWS = 8
ROUNDINGS = 2
#: A bound is this multiple of the largest deviation; the largest of eight deviations is below a sixteenth of the possible maximum only once in 10^9.
SAFETY = 16


def moved(x, epsilon, generator):
    """Returns random factors that move each element by up to `ROUNDINGS` roundings."""
    noise = torch.rand(x.shape, generator=generator, dtype=torch.float64) * 2 - 1
    return 1 + ROUNDINGS * epsilon * noise


def disturbed(step, space, fresh, epsilon, rounds, generator):
    """Executes a step in fp64, perturbed if it rounds. The targets `fresh` get new memory, as in the program, where a cast is a copy even if it changes
    nothing in fp64."""
    held = {storage_of(x) for x in tensors_of(space.values())}
    kept = {}
    if rounds and step.grade in ("sum", "float"):
        for name in step.reads:
            x = lookup(name, space)
            if is_rounded_type(x) and name not in step.writes and not name.startswith("m."):
                kept[name] = x
                space[name] = x * moved(x, epsilon, generator)
    with checker.Roundings(ROUNDINGS * epsilon, generator) if rounds else contextlib.nullcontext():
        exec(widened(step.line), space)
    space.update(kept)
    for name in fresh:
        if storage_of(space[name]) in held:
            space[name] = space[name].clone()
    for name in step.targets + step.writes:
        x = lookup(name, space)
        if not is_rounded_type(x) or step.kind == "view":
            continue
        if rounds:
            x.data.mul_(moved(x, epsilon, generator))
        if x.requires_grad and not x.is_leaf and epsilon:
            x.register_hook(lambda g: (g * moved(g, epsilon, generator)).to(g.dtype))


def outcomes(program, k, collect, runs, generator):
    """Returns `collect(program, k, space, state)` of perturbed fp64 runs for call `k`, after the earlier calls; `runs` are the native ones."""
    state = program.make_state(wide=True)
    for call, native in enumerate(runs):
        torch.manual_seed(call)
        space = namespace(**program.make(call, wide=True))
        if state is not None:
            space["m"] = state
        for number, step in enumerate(program.steps):
            epsilon, rounds = native.epsilons[number], native.rounds[number]
            if generator is None:
                epsilon, rounds = 0.0, False
            disturbed(step, space, native.fresh[number], epsilon, rounds, generator)
        leaves = collect(program, call, space, state)
    return leaves


def native_runs(program, k):
    """Returns the runs of the calls up to `k`, step by step, with their levels."""
    state, levels, runs = program.make_state(), {}, []
    for call in range(k + 1):
        run = Run(program, call, state, levels)
        for step in program.steps:
            run.step(step)
        runs.append(run)
    return runs


def bounds(program, k, collect, runs):
    """Returns two lists over the leaves: values in fp64, and the largest deviations of their elements (None for a leaf that is not a float)."""
    exact = outcomes(program, k, collect, runs, None)
    most = [None] * len(exact)
    for draw in range(DRAWS):
        generator = torch.Generator().manual_seed(draw)
        for i, (x, y) in enumerate(zip(outcomes(program, k, collect, runs, generator), exact)):
            if is_rounded_type(y):
                off = (x.detach() - y.detach()).abs()
                off = torch.where(off.isfinite(), off, torch.inf)
                most[i] = off if most[i] is None else torch.maximum(most[i], off)
    return exact, most


def allowed(exact, most, dtype):
    """Returns the error bound of each element of a leaf of this type."""
    finite = most[most.isfinite()]
    typical = finite.square().mean().sqrt().item() if finite.numel() else 0.0
    info = torch.finfo(dtype)
    magnitude = torch.where(exact.isfinite(), exact.abs(), 0.0)
    return SAFETY * most + 4 * typical + 4 * info.eps * magnitude + info.smallest_normal


__all__ = ["allowed", "bounds", "native_runs", "tensors_of"]
