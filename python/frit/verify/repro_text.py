"""Writes the text of a repro.py. The functions that the script calls are in `frit.replay.words`.

`SYMBOLS` are the dynamic sizes, `INPUTS` the arguments as traced (with sizes as expressions), `CALL` the arguments of the failed call. The graph is
the code that torch.fx prints, with the user's source lines as comments. It is traced symbolically when the script runs, so its operators
are the same and in the same order.
"""

import builtins
import functools
import importlib
import re

import torch
import torch.utils._pytree as pytree

from ..options import BESIDE

_INLINE = 64  # the most elements of a constant that is written as a literal


def traced_arguments(gm):
    """(symbols, the text of each argument as traced), which follow from the placeholders of a graph alone."""
    return _symbols(gm), [_described(node.meta.get("val")) for node in gm.graph.nodes if node.op == "placeholder"]


def script(error, gm, settings, stage, arguments, keeps_data, title="", traced=None):
    """The text of the script. `traced`: the `traced_arguments` of a graph that has lost its metadata."""
    symbols, inputs = traced or traced_arguments(gm)
    call = None if arguments is None else [_described(x, real=True) for x in _with_storages(arguments)]
    message = "\n".join(f"# {line}".rstrip() for line in (title + str(error)).split("\n"))
    classes, imports = [], {}
    top = _class(gm, "Graph", classes, imports)
    data = "arguments.pt has the arguments themselves." if keeps_data else "Floats are drawn anew."
    listed = "".join(f"    {text},\n" for text in inputs)
    called = "None" if call is None else "[\n" + "".join(f"    {text},\n" for text in call) + "]"
    return f'''# {type(error).__name__} of frit, torch {torch.__version__}; {data}
{message}
#
# python repro.py            compiles, runs and compares with ATen; exit status 1 if the failure occurs again
# python repro.py --minify   finds the smallest failing graph

import torch
from math import inf, nan
from torch import device
from frit.replay.main import run_script
from frit.replay.words import constant, put, size, tensor
{"".join(f"{line}{chr(10)}" for line in sorted(imports.values()))}
FAILURE = {type(error).__name__!r}
STAGE = {stage!r}
SEED = {torch.initial_seed() % 2**63}
OPTIONS = {_options(settings)}

# The dynamic sizes: a value, and the range that torch knows.
SYMBOLS = {symbols!r}

# The arguments as traced.
INPUTS = [
{listed}]

# The arguments of the failed call.
CALL = {called}


{"".join(classes)}{top}
if __name__ == "__main__":
    run_script(__name__)
'''


_NOT_WRITTEN = (*BESIDE, "dump_dir")


def _options(settings):
    """The options that the compiler got, as text."""
    shown = "".join(f"    {name!r}: {value!r},\n" for name, value in sorted(settings.items()) if name not in _NOT_WRITTEN)
    return "{\n" + shown + "}"


# -- sizes -------------------------------------------------------------------------------------------


def _symbols(gm):
    """name -> [hint, least, greatest] of each symbol in the graph's values, in order of appearance."""
    found = {}
    for node in gm.graph.nodes:
        for value in pytree.tree_leaves(node.meta.get("val")) if node.op == "placeholder" else ():
            sizes = [*value.shape, *value.stride(), value.storage_offset()] if _is_strided(value) else [value]
            for number in sizes:
                if isinstance(number, torch.SymInt):
                    _note_symbols(number, found)
    return found


def _note_symbols(number, found):
    env = number.node.shape_env
    for symbol in sorted(number.node.expr.free_symbols, key=str):
        bounds = env.var_to_range.get(symbol)
        ends = [int(x) if x.is_finite and abs(x) < 2**62 else None for x in (bounds.lower, bounds.upper)] if bounds is not None else [None, None]
        hint = env.backed_var_to_val.get(symbol) if hasattr(env, "backed_var_to_val") else env.var_to_val.get(symbol)
        found.setdefault(symbol.name, [int(hint) if hint is not None else 8, *ends])


def _is_strided(value):
    return isinstance(value, torch.Tensor) and value.layout is torch.strided


def _expression(number):
    return number if type(number) is int else str(number.node.expr) if isinstance(number, torch.SymInt) else repr(number)


def _described(value, real=False):
    """The text of an argument: a call of `tensor` or `size`, or a literal."""
    if isinstance(value, Literal):
        return value.text
    if isinstance(value, torch.SymInt):
        return f"size({_expression(value)!r})"
    if _is_strided(value):
        parts = [tuple(map(_expression, value.shape)), tuple(map(_expression, value.stride())), _expression(value.storage_offset()), value.dtype]
        more = ""
        if value.device.type != "cpu":
            more += f", device={str(value.device)!r}"
        if value.requires_grad:
            more += ", requires_grad=True"
        if real:
            more += _described_memory(value)
        return f"tensor({', '.join(map(repr, parts))}{more})"
    if value is None or isinstance(value, (bool, int, str)):
        return repr(value)
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, (torch.SymFloat, torch.SymBool)):
        return "1.0" if isinstance(value, torch.SymFloat) else "True"
    return "None"


def _described_memory(value):
    text = "".join(f", {name}=True" for name, lazy in (("conj", value.is_conj()), ("neg", value.is_neg())) if lazy)
    if not value.is_floating_point() and not value.is_complex() and value.dtype is not torch.bool and value.numel():
        text += f", low={int(value.min())}, high={int(value.max())}"
    return text


class Literal:
    """A value with its text in the script."""

    def __init__(self, text):
        self.text = text


def _with_storages(arguments):
    """Marks tensors that share memory with the number of the first one and the bytes of the storage."""
    tensors = [x for x in arguments if _is_strided(x) and type(x) in (torch.Tensor, torch.nn.Parameter)]
    keys = [x.untyped_storage()._cdata for x in tensors]
    for x in arguments:
        if any(x is y for y in tensors):
            key = x.untyped_storage()._cdata
            needed = (x.storage_offset() + 1 + sum((n - 1) * s for n, s in zip(x.shape, x.stride()))) * x.element_size() if x.numel() else 0
            shared = keys.count(key) > 1
            if shared or x.untyped_storage().nbytes() != needed:
                of = f", storage={keys.index(key)}" if shared else ""
                yield Literal(_described(x, real=True)[:-1] + f"{of}, bytes={x.untyped_storage().nbytes()})")
                continue
        yield x


# -- code --------------------------------------------------------------------------------------------


def _class(gm, name, classes, imports):
    """The text of a module class for a graph; the classes of its subgraphs are added to `classes`."""
    code = gm.graph.python_code("self", verbose=True, include_stride=True)
    for each, value in code.globals.items():
        if each not in ("inf", "nan", "torch", "device", "NoneType", "fx_pytree", "pytree"):
            imports[each] = _import(each, value)
    attributes = []
    for target in dict.fromkeys(node.target for node in gm.graph.nodes if node.op == "get_attr"):
        value = functools.reduce(getattr, target.split("."), gm)
        if isinstance(value, torch.fx.GraphModule):
            inner = f"{name}_{re.sub(r'[^0-9A-Za-z_]', '_', target)}"
            classes.append(_class(value, inner, classes, imports) + "\n")
            attributes.append((target, f"{inner}()"))
        elif isinstance(value, torch.Tensor):
            attributes.append((target, _constant(value)))
        else:
            attributes.append((target, f"None  # {type(value).__name__}, which has no text"))
    made = "".join(f"        {_assign(target, text)}\n" for target, text in attributes)
    start = f"    def __init__(self):\n        super().__init__()\n{made}\n" if attributes else ""
    body = "".join(f"    {line}\n" if line.strip() else "\n" for line in code.src.strip("\n").split("\n"))
    return f"class {name}(torch.nn.Module):\n{start}{body.rstrip()}\n\n"


def _assign(target, text):
    return f"self.{target} = {text}" if "." not in target else f"put(self, {target!r}, {text})"


def _import(name, value):
    module, qualified = getattr(value, "__module__", None), getattr(value, "__qualname__", getattr(value, "__name__", ""))
    if module is None and hasattr(builtins, name):
        return f"import builtins; {name} = builtins.{name}"
    if type(value).__name__ == "module":
        return f"import {value.__name__} as {name}"
    try:
        found = functools.reduce(getattr, qualified.split("."), importlib.import_module(module))
    except (ImportError, AttributeError, TypeError, ValueError):
        found = None
    if found is not value:
        return f"{name} = None  # {value!r} belongs to the program".replace("\n", " ")
    first, *rest = qualified.split(".")
    return f"from {module} import {first} as {name}" if not rest else f"import {module}; {name} = {module}.{qualified}"


def _constant(value):
    """A constant of the graph: a literal if it is small, else a description."""
    if value.numel() <= _INLINE and value.layout is torch.strided and value.dtype.itemsize > 1 | (not value.is_floating_point()):
        listed = value.detach().cpu().resolve_conj().tolist()
        return f"constant({listed!r}, {value.dtype!r}, {str(value.device)!r}, {tuple(value.shape)!r}, {tuple(value.stride())!r}, {value.storage_offset()})"
    return _described(value, real=True) + ".made(number=1)"
