"""The fallback: a graph runs as it was traced, operator by operator in Python, as under the backend "aot_eager".

A graph that cannot be captured or compiled falls back as a whole. This is slower but neither refused nor silent: it is counted in
`torch._dynamo.utils.counters["frit"]` (`whole_graphs`, `whole_graph:<reason>`), named in `frit.explain` and in a warning, and leaves a repro. With
`fallback="error"` or `strict=True` (as in the tests) it is an error.

A single call of a compiled graph falls back (`attach`) if the graph was not compiled for its arguments, or if an operator returns another result
than its fake kernel promised. The latter is a bug of the operator, so it is not an error under `strict`.

A call of a forward or of an inference graph also falls back if it raises an error. Compiled steps run in another order than the program's, so they may
find another error than the program's first one, and may have drawn random numbers that stand behind it. The traced graph raises eager's error, in the
state in which eager leaves the program. This is possible until a step writes to an argument or runs code that is not torch's.
"""

import copy
import functools
import logging
import operator
import re

import torch
from torch._dynamo.utils import counters
from torch.fx.graph import _BoxedCodeGen

from ..errors import CompileError
from ..logs import counted, log
from ..stored_code import StoredCode
from .opaque import current

#: How the runtime's message ends where the reason is no mistake of the compiler's: an operator and its fake kernel disagree, or an argument needs autograd.
_EXPECTED = (
    "its fake implementation disagrees with its kernel",
    "kernels compute no tangents of forward-mode differentiation",
    "an inference tensor is written only in inference mode",
)
#: How the runtime's reason begins for a call that raised an error.
_ERROR = "a step raised an error"
_NUMBER = re.compile(r"(?<![\w])-?\d+")


def allowed(error, settings):
    """Whether a graph that failed with `error` may run as it was traced."""
    # A library that cannot be loaded affects every graph, and the user has to fix it.
    is_of_graph = not isinstance(error.__cause__, ImportError)
    return is_of_graph and not settings["strict"] and settings["fallback"] != "error"


def boxed(gm, relaid=()):
    """A boxed callable that runs a graph. `relaid`: numbers of the arguments to which a compiled forward may have given other strides than the
    graph has; they are copied to the graph's strides."""
    return Traced(gm, relaid).boxed()


class Traced:
    """A graph as it was traced. It is pickled as Python code, from which the graph is built when it is first needed."""

    def __init__(self, gm, relaid=()):
        self._gm, self._stored, self._orders = gm, None, {}
        if relaid:
            placeholders = self._placeholders()
            self._orders = {number: _order(placeholders[number].meta["val"].stride()) for number in relaid}

    def _placeholders(self):
        return [node for node in self._gm.graph.nodes if node.op == "placeholder"]

    @functools.cached_property
    def count(self):
        """How many arguments the graph has."""
        return len(self._placeholders())

    def graph(self):
        """The graph module. After pickling, its nodes have no metadata."""
        if self._gm is None:
            self._gm = self._stored.graph_module()
        return self._gm

    def boxed(self):
        """A boxed callable that runs the graph."""
        # A copy of the graph, because the graph that is pickled must not be boxed.
        gm = torch.fx.GraphModule(self.graph(), copy.deepcopy(self.graph().graph))
        gm.graph.set_codegen(_BoxedCodeGen())
        gm.recompile()
        forward = gm.forward
        orders = self._orders

        def run(args):
            for number, order in orders.items():
                back = sorted(range(len(order)), key=lambda dim: order[dim])
                args[number] = args[number].permute(order).contiguous().permute(back)
            return forward(args)

        run._boxed_call = True
        return run

    def __getstate__(self):
        return {"count": self.count, "_gm": None, "_stored": self._stored or StoredCode(self._gm), "_orders": self._orders}


def _order(strides):
    """The dimensions of a tensor from the outermost to the innermost."""
    known = [stride if type(stride) is int else stride.node.hint or 0 for stride in strides]
    return sorted(range(len(known)), key=lambda dim: -known[dim])


def report(reason):
    """The report of a graph that runs as it was traced, in the format of the compiler's reports."""
    empty = dict.fromkeys(("kernels", "aten_calls", "guards", "buckets", "padding", "channels_last_results"), ())
    return {**empty, "random": {}, "whole_graph": reason}


def note(name, reason, is_wanted=False):
    """Counts a graph that runs as it was traced, and warns unless the user wants that."""
    tally = counters["frit"]
    tally["whole_graphs"] += 1
    tally[f"whole_graph:{reason}"] += 1
    log.log(logging.INFO if is_wanted else logging.WARNING, "%s runs as it was traced, operator by operator: %s", name, reason)


def is_small(gm, least):
    """Whether a graph has fewer operators than `least`."""
    return least > 0 and sum(node.op == "call_function" and node.target is not operator.getitem for node in gm.graph.nodes) < least


def instead(gm, name, nodes, short):
    """A boxed callable that runs a graph as it was traced, although it is compiled (the option `dryrun`); a warning says what the compiled graph would
    run."""
    calls = sum(short["calls"].values())
    left = f" ({', '.join(sorted(short['calls']))})" if calls else ""
    counters["frit"]["dry_runs"] += 1
    would = f"{counted(nodes, 'node')} would run as {counted(short['kernels'], 'kernel')} and {counted(calls, 'ATen call')}{left}"
    log.warning("%s: %s; dryrun runs it as it was traced", name, would)
    return boxed(gm)


def reason_of(error):
    """The first line of an error; later lines, such as the path of the repro, are dropped."""
    return str(error).strip().split("\n")[0]


class TracedFallback:
    """Runs the calls that a compiled graph was not compiled for: the graph runs as it was traced, counted by the reason."""

    def __init__(self, name, traced, strict, opaque_inputs=(), opaque_results=()):
        self._name = name
        self._strict = strict
        self._traced = traced
        self._opaque_inputs, self._opaque_results = dict(opaque_inputs), dict(opaque_results)
        self._run, self._has_warned = None, False

    def takes(self, why):
        """Whether a call that is refused for this reason runs as it was traced."""
        return not self._strict or why.endswith(_EXPECTED) or is_error(why)

    def __call__(self, args, why):
        if not self.takes(why):
            raise CompileError(f"frit: {why}")
        if len(args) != self._traced.count:
            raise RuntimeError(why)
        if self._run is None:
            self._run = self._traced.boxed()
        if not self._has_warned and not is_error(why):
            self._has_warned = True
            log.warning("%s: a call runs as it was traced, operator by operator: %s", self._name, why)
        counters["frit"]["calls_as_traced"] += 1
        # Numbers are replaced, or each call might get a counter of its own.
        counters["frit"][f"call_as_traced:{_ERROR if is_error(why) else _NUMBER.sub('#', why)}"] += 1
        for position, number in self._opaque_inputs.items():
            args[position] = current().table.pop(number)
        results = list(self._run(args))
        if is_error(why):
            # The call raises nothing in eager: frit's error is a mistake of its own.
            if self._strict:
                raise CompileError(f"frit: {self._name}: {why}, but the graph as it was traced raises none")
            log.warning("%s: %s, but the graph as it was traced raises none, so its results are used; please report it", self._name, why)
        for position, number in self._opaque_results.items():
            current().table[number] = results[position]
        return results


def is_error(why):
    """Whether a call falls back because it raised an error."""
    return why.startswith(_ERROR)


def attach(executable, gm, captured, name, settings, stage):
    """Lets an executable run the calls that it was not compiled for, and those that raise errors, as traced. `stage` is AOTAutograd's."""
    if hasattr(executable, "stats"):
        traced = Traced(gm, settings.get("channels_last_inputs", ()))
        attach_traced(executable, traced, name, settings, stage, captured.opaque_inputs, captured.opaque_results)


def attach_traced(executable, traced, name, settings, stage, opaque_inputs=(), opaque_results=()):
    """The same for a graph that is given as `Traced`."""
    if settings["fallback"] != "error":
        # A backward frees its arguments, the saved values, while it runs; those of other graphs are the caller's.
        if stage != "backward":
            executable.repeat_errors()
        executable._otherwise = TracedFallback(name, traced, settings["strict"], opaque_inputs, opaque_results)
