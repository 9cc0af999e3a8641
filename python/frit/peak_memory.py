"""`frit.memory`: the peak of a compiled function as a formula in the sizes that vary, known before anything runs.

    memory = frit.memory(model, torch.randint(0, 100, (4, 16))).named(batch="ids[0]", length="ids[1]")
    print(memory)                                          # the formula, its parts, and what it does not contain
    memory.at(batch=32, length=512)                        # bytes
    memory.largest("batch", "8GB", length=512)             # the largest batch whose peak is within 8 GiB

The formula follows the plan as the runtime does. Counted are arguments, parameters and constants for the whole call, and results, temporaries and
workspaces while they live (the workspaces of kernels, and of ATen operators where they are known). Operators of unknown workspace are named.
"""

import os

from . import environment
from .errors import OptionError
from .inspect.formula import Parts, PlanMemory, as_text
from .inspect.polynomial import largest as largest_of
from .inspect.reader import read, read_file
from .loading import Model
from .options import nearest

#: Sizes above this are treated as unbounded.
_UNBOUNDED = 1 << 48


class Memory:
    """The memory of the graphs of one function, in bytes. The backward is a separate graph, whose arguments are what the forward saved."""

    def __init__(self, graphs, traced=(), aliases=None):
        self.graphs = list(graphs)
        self._traced = list(traced)  # graphs that run as they were traced
        self._aliases = aliases or {}  # another name of a size -> the one that `sizes` has

    @property
    def sizes(self):
        """Name -> (least, most) of each size that varies."""
        return {name: bounds[:2] for name, bounds in self._bounds().items()}

    def _bounds(self):
        found = {}
        for graph in self.graphs:
            for name, (least, most, divisor) in graph.sizes.items():
                low, high, _ = found.get(name, (least, most, divisor))
                found[name] = (max(low, least, 0), min(high, most), divisor)
        return found

    def named(self, **names):
        """A Memory with other names of sizes: `named(batch="ids[0]")`. OptionError for an unknown name."""
        other = {}
        for new, old in names.items():
            if other.setdefault(self._known(old), new) != new:
                raise OptionError(f"frit.memory: {other[self._known(old)]} and {new} are one size ({old} = {self._known(old)}); trace with sizes that differ")
        aliases = {alias: other.get(name, name) for alias, name in self._aliases.items()}
        return Memory([graph.renamed(other) for graph in self.graphs], self._traced, {**aliases, **other})

    def at(self, sizes=None, /, **named):
        """The bytes at the peak of a call. Sizes are given by name: `at(batch=32)`, or `at({"ids[0]": 32})`. OptionError if one is missing or
        invalid."""
        return self._largest_graph({**(sizes or {}), **named}).total

    def parts(self, sizes=None, /, **named):
        """The bytes at the peak by purpose: arguments, constants, results, temporaries, workspaces."""
        return self._largest_graph({**(sizes or {}), **named})

    def _largest_graph(self, given):
        sizes = self._checked(given, self._bounds())
        return max((graph.at(sizes, _threads()) for graph in self.graphs), key=lambda parts: parts.total, default=Parts(0, 0, 0, 0, 0))

    def _checked(self, given, bounds):
        sizes = {}
        for name, number in given.items():
            name = self._known(name)
            least, most, divisor = bounds[name]
            if type(number) is not int or not least <= number <= most or number % divisor:
                multiple = f", a multiple of {divisor}" if divisor > 1 else ""
                raise OptionError(f"frit.memory: {name} cannot be {number!r}; it is a number from {least} {_upto(most)}{multiple}")
            sizes[name] = number
        if missing := [name for name in bounds if name not in sizes]:
            raise OptionError(f"frit.memory: no value of {', '.join(missing)}; give one for each size that varies")
        return sizes

    def _known(self, name):
        bounds = self._bounds()
        found = name if name in bounds else self._aliases.get(name)
        if found not in bounds:
            raise OptionError(f"frit.memory: no size {name!r} varies; {nearest(name, list(bounds)) if bounds else 'all sizes are constant'}")
        return found

    def largest(self, name, budget, sizes=None, /, **named):
        """The largest value of a size whose peak is within `budget`, bytes or a text like "8GB"; None if not even the least is."""
        allowed = environment.bytes_in(budget) if isinstance(budget, str) else budget
        if type(allowed) is not int or allowed < 0:
            raise OptionError(f"frit.memory: {budget!r} is not a budget; give a number of bytes, or a text like '512M' or '8GB'")
        name, bounds = self._known(name), self._bounds()
        least, most, step = bounds.pop(name)
        others = self._checked({**(sizes or {}), **named}, bounds)

        def fits(count):
            values = {**others, name: count * step}
            return all(graph.at(values, _threads()).total <= allowed for graph in self.graphs)

        low, high = -(-least // step), most // step
        if not fits(low):
            return None
        above = max(1, low)
        while above < high and fits(above):
            low, above = above, 2 * above
            if above > _UNBOUNDED:
                raise OptionError(f"frit.memory: the peak does not grow with {name}")
        if above >= high:
            if fits(high):
                return high * step
            above = high
        # `low` fits and `above` does not; the search relies on memory growing with the size.
        while above - low > 1:
            middle = (low + above) // 2
            low, above = (middle, above) if fits(middle) else (low, middle)
        return low * step

    @property
    def formula(self):
        """The peak as text, in the names of the sizes."""
        least = {name: low for name, (low, _) in self.sizes.items()}
        return as_text(largest_of([one for graph in self.graphs for one in graph.candidates()], least))

    @property
    def not_counted(self):
        """What the numbers do not contain: a sentence for each operator of ATen that may take memory of its own."""
        found = [f"{graph.name}: {sentence}" for graph in self.graphs for sentence in graph.not_bounded()]
        return found + [f"{name}: it runs as it was traced, so its memory is eager's" for name in self._traced]

    def __str__(self):
        unbounded = self.not_counted
        lines = [f"peak bytes of a call{', at least' if unbounded else ''}: {self.formula}"]
        for name, (least, most) in self.sizes.items():
            others = [alias for alias, of in self._aliases.items() if of == name]
            lines.append(f"  {name}: {least} {_upto(most)}{', also ' + ', '.join(others) if others else ''}")
        if len(self.graphs) > 1:
            lines.extend(f"  {graph.name}: {graph.formula()}" for graph in self.graphs)
        lines.append("  counted: arguments and parameters, constants, results, temporaries, workspaces of kernels")
        if "workspace(" in lines[0]:
            lines.append("  workspace(...): the workspace of an ATen operator, at given sizes and threads, of some at most; nothing where frit's own kernel runs")
        lines.extend(f"  unbounded: {sentence}" for sentence in unbounded)
        return "\n".join(lines)


def _upto(most):
    return "up" if most > _UNBOUNDED else f"to {most}"


def _threads():
    import torch

    return torch.get_num_threads()


def memory(function, *args, device=None, mode=None, options=None, dynamic=True, **kwargs):
    """The Memory of a function or module, of the result of `torch.compile`, of a `frit.Model`, or of a .frit file.

    A function is traced with its arguments and compiled anew; nothing runs, nothing is stored, and what was compiled before stays. The arguments may
    be without data (`device="meta"`, see `frit.precompile`; `device` is where they will be). If results need gradients, the backward is compiled
    too. With `dynamic=True` all sizes vary, as under `torch.compile(..., dynamic=True)`; `mode` and `options` are those of `torch.compile`."""
    if isinstance(function, Model):
        function = function.path
    if isinstance(function, (str, os.PathLike)):
        path = os.fspath(function)
        return Memory([PlanMemory(os.path.basename(path), read_file(path)["plans"][0])])
    return _of_function(function, args, kwargs, {"device": device, "mode": mode, "options": options, "dynamic": dynamic})


def _of_function(function, args, kwargs, how):
    import torch

    from . import backend, precompiling
    from .sizes import buckets

    found, names, traced = [], {}, []

    def observe(name, stage, captured, report, executable):
        if getattr(captured, "artifact", None):
            found.append((name, read(captured.artifact)["plans"][0]))
        else:
            traced.append(name)

    def look(gm, example_inputs):
        names.update(buckets.names_of(gm, example_inputs))

    how["options"] = {**(how["options"] or {}), "cache": False}
    backend._OBSERVERS.append(observe)
    try:
        with torch._functorch.config.patch(force_non_lazy_backward_lowering=True):
            precompiling.compile_only(_original(function), args, kwargs, look=look, **how)
    finally:
        backend._OBSERVERS.remove(observe)
    first = {symbol: aliases[0] for symbol, aliases in names.items()}
    aliases = {alias: first[symbol] for symbol, others in names.items() for alias in others[1:]}
    return Memory([PlanMemory(name, plan, first) for name, plan in found], traced, aliases)


def _original(function):
    """The function or module that `torch.compile` was given."""
    import torch

    function = getattr(function, "_orig_mod", function)
    if isinstance(function, torch.nn.Module):
        return function
    return getattr(function, "_torchdynamo_orig_callable", function)
