"""What the caller does with the results of a call: writes in place, changes of metadata, several backwards.

An action is a line of Python over the results `r0`, `r1` ..., the arguments and the state. An error of an action is recorded and does not end the
program, so that both sides are compared after it.
"""

import contextlib
import dataclasses

import torch

from .program import namespace, tangent

#: Writes keep integers exact, so that the level of a result's values stays.
WRITES = (
    ("{r}.add_(1)", 4),
    ("{r}.mul_(2)", 4),
    ("{r}.zero_()", 2),
    ("{r}.neg_()", 1),
    ("{r}[..., :1].fill_(2)", 3),
    ("{r}[:1].mul_(2)", 2),
    ("{r}.view(-1).add_(1)", 1),
    ("{r}.t_()", 1),
    ("{r}.transpose_(0, -1)", 1),
    ("{r}.unsqueeze_(0)", 1),
    ("{r}.detach_()", 2),
    ("{r}.requires_grad_()", 2),
    ("{r}.requires_grad_(False)", 1),
)


@dataclasses.dataclass
class Acted:
    """What the actions did: for each one the error, or whose version counters changed; the gradients of all backwards."""

    words: list
    gradients: list


def draw_actions(c, program):
    """Chooses actions for the results of a program."""
    if not c.chance(50):
        return ()
    results = [f"r{i}" for i, text in enumerate(program.results) if ".shape[" not in text]
    if not results:
        return ()
    lines = []
    for _ in range(c.integer(1, 4)):
        if program.training and c.chance(25):
            some = [r for r in results if c.chance(50)] or results[:1]
            lines.append(f"backward([{', '.join(some)}])")
            continue
        written = c.choice([x.name for x in program.inputs if x.name[0] == "a"]) if c.chance(15) else c.choice(results)
        line = c.weighted(WRITES).format(r=written)
        lines.append(f"with torch.no_grad(): {line}" if c.chance(30) else line)
    return tuple(lines)


def lines_of(program):
    """Returns the actions of a program; training ends with the backward of all results."""
    everything = [f"r{i}" for i in range(len(program.results))]
    return program.after + ((f"backward([{', '.join(everything)}])",) if program.training else ())


def loss_of(results):
    """Returns a weighted sum of the results that require gradients, or 0."""
    loss = 0.0
    for x in results:
        if isinstance(x, torch.Tensor) and x.requires_grad:
            parts = torch.view_as_real(x.resolve_conj()).sum(-1) if x.is_complex() else x
            loss = loss + (parts.double() * tangent(parts)).sum()
    return loss


def sources_of(arguments, state):
    """Returns what gradients are taken for: leaves among the arguments, and parameters. Asked before the call, because actions change it."""
    found = [x for x in arguments if isinstance(x, torch.Tensor) and x.requires_grad and x.is_leaf]
    return found + (list(state.parameters()) if state is not None else [])


def act(program, results, named, state, sources):
    """Executes the actions of a program. `results` are those of one call, `named` its arguments by name. The gradients of a backward that raises are
    None. Without actions an error of the backward is raised."""
    acted = Acted([], [])

    def backward(chosen):
        loss = loss_of(chosen)
        if isinstance(loss, torch.Tensor) and sources:
            more = len(sources) * backwards > len(acted.gradients)
            acted.gradients[-len(sources) :] = torch.autograd.grad(loss, sources, allow_unused=True, retain_graph=more)

    space = namespace(backward=backward, m=state, **named, **{f"r{i}": x for i, x in enumerate(results)})
    watched = {name: x for name, x in space.items() if isinstance(x, torch.Tensor)}
    watched |= {f"m.{name}": x for name, x in state.state_dict(keep_vars=True).items()} if state is not None else {}
    backwards = sum(line.startswith("backward") for line in lines_of(program))
    for line in lines_of(program):
        before = {name: x._version for name, x in watched.items()}
        if line.startswith("backward"):
            acted.gradients += [None] * len(sources)
        try:
            exec(line, space)
        except Exception as error:
            if not program.after:
                raise
            acted.words.append(f"raises {type(error).__name__}")
            continue
        changed = [name for name, x in watched.items() if x._version != before[name]]
        acted.words.append("changes " + ", ".join(changed))
    return acted


def raises(words, i):
    return words[i].startswith("raises")


def writes_allowed(allowed):
    """Lets backwards read what was saved before a write, where autograd raises an error (torch.autograd.graph)."""
    return torch.autograd.graph.allow_mutation_on_saved_tensors() if allowed else contextlib.nullcontext()
