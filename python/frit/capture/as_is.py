"""Graphs that run as they were traced, operator by operator in Python, as backend "aot_eager" runs all of them.

What cannot be captured or compiled as a whole runs so: it is slower, never refused, and never silent. Each is counted in
`torch._dynamo.utils.counters["frit"]` (`whole_graphs`, and `whole_graph:<reason>`), named in `frit.explain` and told in a warning, and leaves a
repro. With `fallback="error"` it is an error; with `strict=True`, which the tests set, too: what falls back there is a mistake of ours.
The calls of a compiled graph whose arguments are not those that it was compiled for run so, too (`attach`), and those in which an operator
returns another result than its fake kernel promised; that is a mistake of the operator's, so that it is no error under `strict` either.
"""

import re

from torch._dynamo.utils import counters
from torch.fx.graph import _BoxedCodeGen

from ..errors import CompileError
from ..logs import log
from .opaque import current

#: What the runtime says at the end where an operator and its fake kernel disagree.
_DISAGREES = "its fake implementation disagrees with its kernel"
_NUMBER = re.compile(r"(?<![\w])-?\d+")


def allowed(error, settings):
    """Whether a graph that gave `error` may run as it is."""
    # Without its libraries frit compiles nothing: that is for the user to mend.
    is_ours = not isinstance(error.__cause__, ImportError)
    return is_ours and not settings["strict"] and settings["fallback"] != "error"


def boxed(gm, relaid=()):
    """A boxed callable that runs a graph. `relaid`: numbers of the arguments that a compiled forward may have laid in other strides than the
    graph says; they are laid as it says."""
    gm.graph.set_codegen(_BoxedCodeGen())
    gm.recompile()
    forward = gm.forward
    orders = {}
    placeholders = [node for node in gm.graph.nodes if node.op == "placeholder"] if relaid else []
    for number in relaid:
        strides = placeholders[number].meta["val"].stride()
        known = [stride if type(stride) is int else stride.node.hint or 0 for stride in strides]
        orders[number] = sorted(range(len(known)), key=lambda dim: -known[dim])

    def run(args):
        for number, order in orders.items():
            back = sorted(range(len(order)), key=lambda dim: order[dim])
            args[number] = args[number].permute(order).contiguous().permute(back)
        return forward(args)

    run._boxed_call = True
    return run


def report(reason):
    """What a compiler would say of such a graph."""
    empty = dict.fromkeys(("kernels", "aten_calls", "guards", "buckets", "padding", "channels_last_results"), ())
    return {**empty, "random": {}, "whole_graph": reason}


def note(name, reason):
    """Counts and tells that a graph runs as it is."""
    tally = counters["frit"]
    tally["whole_graphs"] += 1
    tally[f"whole_graph:{reason}"] += 1
    log.warning("%s runs as it was traced, operator by operator: %s", name, reason)


def reason_of(error):
    """The first line of an error, without what is said to who asked for it."""
    return str(error).strip().split("\n")[0]


class Otherwise:
    """What a compiled graph does with a call that it was not compiled for: it runs the graph as it was traced, counted by the reason."""

    def __init__(self, name, gm, relaid, captured, strict):
        self._name = name
        self._strict = strict
        self._gm = gm
        self._relaid = relaid
        self._count = sum(node.op == "placeholder" for node in gm.graph.nodes)
        self._opaque_inputs, self._opaque_results = captured.opaque_inputs, captured.opaque_results
        self._run = None

    def takes(self, why):
        """Whether a call that is refused for this reason runs as it was traced."""
        return not self._strict or why.endswith(_DISAGREES)

    def __call__(self, args, why):
        if not self.takes(why):
            raise CompileError(f"frit: {why}")
        if len(args) != self._count:
            raise RuntimeError(why)
        if self._run is None:
            self._run = boxed(self._gm, self._relaid)
            log.warning("%s: a call runs as it was traced, operator by operator: %s", self._name, why)
        counters["frit"]["calls_as_traced"] += 1
        # Without the numbers of the call, which would be as many counters as there are calls.
        counters["frit"][f"call_as_traced:{_NUMBER.sub('#', why)}"] += 1
        for position, number in self._opaque_inputs.items():
            args[position] = current().table.pop(number)
        results = list(self._run(args))
        for position, number in self._opaque_results.items():
            current().table[number] = results[position]
        return results


def attach(executable, gm, captured, name, settings):
    """Gives an executable what to do with calls that it was not compiled for."""
    if settings["fallback"] != "error" and hasattr(executable, "stats"):
        executable._otherwise = Otherwise(name, gm, settings.get("channels_last_inputs", ()), captured, settings["strict"])
