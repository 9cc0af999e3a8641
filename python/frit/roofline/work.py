"""The arithmetic of a kernel, counted from its program: each value once for each index that it depends on, times the weight of its operation.

A program is what every target's code is made from (kernel/KernelProgram.h). Counts are those of the algorithm: a schedule may compute a value again.
"""

import ast
import functools
import math
import re

#: A function (exp, log, sin ...) counts as many operations as the compiler's cost model has instructions for it (kernel/KernelCosts.cpp).
FUNCTION = 25
_WEIGHTS = {
    **dict.fromkeys(("extf", "truncf", "extsi", "extui", "trunci", "bitcast", "sitofp", "uitofp", "fptosi", "fptoui", "index_cast"), 0),
    **dict.fromkeys(("sqrt", "absf", "absi", "floor", "ceil", "trunc", "round", "roundeven", "copysign", "isnan", "isinf", "isfinite"), 1),
    "fma": 2, "rsqrt": 2,
}
#: Of each element that a reduction takes: squared deviations take a difference, a product and a sum.
_REDUCTIONS = {"deviations": 3}
_NODE = re.compile(r"^%(\d+) = (\w+) ?(.*) : \S+ dims \{([\d,]*)\} level \d+$")
_OPERAND = re.compile(r"%(\d+)")
_SUMS = {ast.Add: lambda a, b: a + b, ast.Sub: lambda a, b: a - b, ast.Mult: lambda a, b: a * b}
_FUNCTIONS = {"floordiv": lambda a, b: a // b, "mod": lambda a, b: a % b, "max": max, "min": min}


def weight(operation):
    """Operations of one `arith.addf`, `math.exp` ...; conversions count 0."""
    dialect, _, name = operation.partition(".")
    return _WEIGHTS.get(name, 1 if dialect == "arith" else FUNCTION)


def value_of(text, parameters):
    """The value of a size such as "p0 * (p1 + 1)"; `parameters` are those of p0, p1 ... None if one of them is not known."""
    try:
        return _value(ast.parse(text, mode="eval").body, parameters)
    except (AttributeError, SyntaxError, KeyError, IndexError, TypeError, ZeroDivisionError):
        return None


def _value(node, parameters):
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return parameters[int(node.id[1:])] if node.id[1:].isdecimal() else parameters[node.id]
    if isinstance(node, ast.UnaryOp):
        return -_value(node.operand, parameters)
    if isinstance(node, ast.BinOp):
        return _SUMS[type(node.op)](_value(node.left, parameters), _value(node.right, parameters))
    return _FUNCTIONS[node.func.id](*(_value(one, parameters) for one in node.args))


class Program:
    """The text of a kernel program."""

    def __init__(self, text):
        parallel, _, reduced = re.search(r"^domain \[(.*)\]$", text, re.MULTILINE)[1].partition(" | ")
        split = [_split(part) for part in (parallel, reduced)]
        self.domain = split[0] + split[1]
        self._parallel = frozenset(range(len(split[0])))
        self._reduced = frozenset(range(len(split[0]), len(self.domain)))
        self._work = []  # (operations, the dims that they are done for)
        dims_of = {}
        for number, kind, rest, listed in (found.groups() for found in map(_NODE.match, text.splitlines()) if found):
            dims_of[number] = frozenset(map(int, filter(None, listed.split(","))))
            taken = frozenset().union(*(dims_of[one] for one in _OPERAND.findall(rest)), frozenset())
            if counted := self._counted(kind, rest, dims_of[number], taken):
                self._work.append(counted)

    def _counted(self, kind, rest, dims, taken):
        if kind == "apply":
            return weight(rest.split()[0]), dims
        if kind == "select":
            return 1, dims
        if kind == "random":
            return FUNCTION, dims
        if kind == "scan":
            return 1, dims
        if kind == "reduce":
            what = rest.split()
            over = self._parallel if what[0] == "across" else self._reduced
            return _REDUCTIONS.get(what[what[0] == "across"], 1), taken | over
        return None  # constants, loads, indices and their checks

    def operations(self, parameters):
        """How many a launch does with these values of p0, p1 ...; None if a size is not known."""
        sizes = [value_of(size, parameters) for size in self.domain]
        if None in sizes:
            return None
        return sum(count * math.prod(sizes[dim] for dim in dims) for count, dims in self._work)


def _split(sizes):
    """The sizes of a list; a comma inside of parentheses separates none."""
    found, depth = [""], 0
    for letter in sizes:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and not depth:
            found.append("")
        else:
            found[-1] += letter
    return [one.strip() for one in found if one.strip()]


def of_launch(program, action, values):
    """The operations of a step that launches a kernel; None if a size is not known."""
    each = len(action["ints"]) // max(1, action["items"])
    total = 0
    for item in range(max(1, action["items"])):
        found = program.operations([values.get(reg) for reg in action["ints"][item * each : (item + 1) * each]])
        if found is None:
            return None
        total += found
    return total


#: What frit calls by another name than the operator that torch has a formula for.
_LIKE = {
    "frit::convolution": "aten::convolution",
    "aten::_scaled_dot_product_flash_attention_for_cpu": "aten::_scaled_dot_product_flash_attention",
    "aten::_scaled_dot_product_flash_attention_for_cpu_backward": "aten::_scaled_dot_product_flash_attention_backward",
}


@functools.cache
def _formula(name):
    """(torch's formula for the operations of an operator, the numbers of its arguments that are keywords and their names); (None, {}) without one."""
    import torch
    from torch.utils.flop_counter import flop_registry

    namespace, _, operator = _LIKE.get(name, name).partition("::")
    packet = getattr(getattr(torch.ops, namespace), operator, None)
    if packet not in flop_registry:
        return None, {}
    arguments = getattr(packet, packet.overloads()[0])._schema.arguments
    return flop_registry[packet], {number: one.name for number, one in enumerate(arguments) if one.kwarg_only}


def of_call(action, traffic):
    """The operations of a call of ATen by torch's formula (torch.utils.flop_counter); None if torch has none for it, or a size is not known."""
    name = action["name"]
    formula, keywords = _formula(name)
    if formula is None:
        return None
    positional, named = [], {}
    try:
        # What follows the convolution in one kernel comes after its own nine arguments.
        for number, one in enumerate(action["arguments"][: 9 if name == "frit::convolution" else None]):
            word = one["name"] or keywords.get(number)
            if one["kind"] == "Default":
                continue
            if word:
                named[word] = _argument(one, traffic)
            else:
                positional.append(_argument(one, traffic))
        results = tuple(_argument(one, traffic) for one in action["results"])
        return int(formula(*positional, **named, out_val=results[0] if len(results) == 1 else results))
    except (AssertionError, AttributeError, IndexError, KeyError, LookupError, TypeError, ValueError):
        return None


def _argument(value, traffic):
    import torch

    kind = value["kind"]
    if kind == "Tensor":
        sizes = traffic.sizes(value["reg"])
        if None in sizes or traffic.plan["tensors"][value["reg"]]["rank"] < 0:
            raise LookupError("a size is not known")
        return torch.empty(sizes, device="meta")
    if kind == "List":
        return [_argument(one, traffic) for one in value["items"]]
    if kind in ("IntReg", "BoolReg"):
        return traffic.values[value["reg"]]
    return {"Int": value["integer"], "Bool": bool(value["integer"]), "Double": value["real"]}.get(kind)
