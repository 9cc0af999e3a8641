"""Bucket lists by argument and dimension, as the user's source names them.

`options={"buckets": {"x[0]": [8, 16, 32], "input_ids[1]": "ramp"}}`. The compiler knows sizes by torch's symbols, whose names are
hashes; this module looks the keys up among the sources that Dynamo recorded for the graph's inputs. An invalid key is an error that lists the
valid ones. A key of a size that is static in this graph is allowed, because with automatic dynamic shapes the first graph is static. So is a key of
another graph's argument: after a graph break an argument belongs to the graph that uses it.
"""

import inspect
import json
import re
from functools import partial

import torch

from ..errors import OptionError
from ..options import BESIDE

_NUMBERED = re.compile(r"arg(\d+)_1|primals_(\d+)")
_DIMENSION = re.compile(r"^(?P<of>.+)\[(?P<dim>-?\d+)\]$")

# `buckets` option -> the keys that some graph had; later graphs of the program need not have them.
_SEEN_KEYS = {}


def resolve(settings, gm, example_inputs):
    """`settings` with the bucket lists by symbol (`symbol_buckets`) and the user's names of each symbol (`symbol_names`) and of each argument in order
    (`argument_names`), for a Dynamo graph. OptionError for an invalid key, or for two keys of one size that differ."""
    if not hasattr(gm, "graph"):
        return {**settings, "symbol_buckets": "", "symbol_names": {}, "argument_names": []}
    sizes, names = _sizes_by_name(gm, example_inputs), names_of(gm, example_inputs)
    asked = {}
    for key, value in settings["buckets"].items():
        size = _find(key, sizes, settings["buckets"], names)
        if not isinstance(size, str):
            continue
        before = asked.setdefault(size, (key, value))
        if _text(before[1]) != _text(value):
            raise OptionError(
                f"frit: buckets of {before[0]!r} and {key!r} differ, but both are one size ({' = '.join(names[size])}); "
                "give them the same, or tell them apart with torch._dynamo.mark_dynamic"
            )
    text = ";".join(f"%{symbol}={_text(value)}" for symbol, (_, value) in asked.items())
    return {**settings, "symbol_buckets": text, "symbol_names": names, "argument_names": [name for _, name in _arguments(gm)]}


_NOT_FOR_THE_COMPILER = frozenset(("buckets", "symbol_names", "argument_names", *BESIDE))


def names_of_inputs(gm, names):
    """The user's name of each placeholder of a graph of AOTAutograd, None if it has none; `names`: those of the Dynamo graph's arguments.
    AOTAutograd numbers the arguments: `arg3_1` of an inference graph and `primals_4` of a forward or backward are the fourth."""
    found = []
    for node in gm.graph.nodes:
        if node.op == "placeholder":
            match = _NUMBERED.fullmatch(node.name)
            number = None if match is None else int(match[1]) if match[1] else int(match[2]) - 1
            found.append(names[number] if number is not None and number < len(names) else None)
    return found


def for_compiler(settings):
    """The settings that the compiler needs. The others, such as the user's names of sizes, must not change a cache key."""
    return {key: value for key, value in settings.items() if key not in _NOT_FOR_THE_COMPILER}


def _text(value):
    return value if isinstance(value, str) else ",".join(map(str, value))


def _find(key, sizes, option, names):
    """The symbol (str) or constant that a key names; None if the key belongs to another graph."""
    seen = _SEEN_KEYS.setdefault(json.dumps({k: _text(v) for k, v in option.items()}), set())
    dimension = _DIMENSION.match(key)
    plain = f"{dimension['of']}[{int(dimension['dim'])}]" if dimension else key
    plain = plain if plain in sizes else by_parameter(plain)
    if plain in sizes:
        seen.add(key)
        size = sizes[plain]
        if isinstance(size, tuple):
            raise OptionError(f"frit: {key!r} is {size[0]}, which follows from other sizes; give buckets to those: {_known(sizes)}")
        return size
    known_tensor = dimension and any(name.startswith(f"{dimension['of']}[") for name in sizes)
    if not known_tensor and (key in seen or (dimension["of"] if dimension else key) in _variables_of_frame()):
        return None
    if key in names or re.fullmatch(r"[su]\d+", key):
        raise OptionError(f"frit: {key!r} is torch's name of a size, which changes with the program; known: {_known(sizes)}")
    raise OptionError(f"frit: no argument dimension {key!r} for buckets; known: {_known(sizes)}")


def _known(sizes):
    varying = [name for name, size in sizes.items() if isinstance(size, str)]
    return ", ".join(varying or sizes) or "none, the graph has no tensor arguments"


def _sizes_by_name(gm, example_inputs):
    """The name of each size of an argument -> its symbol, its value if constant, or a tuple with its expression as text."""
    return {name: size for name, _, _, size in _sizes(gm, example_inputs)}


def names_of(gm, example_inputs):
    """Symbol -> the names of the sizes that have this symbol."""
    names = {}
    for name, size in _sizes_by_name(gm, example_inputs).items():
        if isinstance(size, str):
            names.setdefault(size, []).append(name)
    return names


def places(gm, example_inputs):
    """(name, argument, the function that reads the size from the argument) of the first occurrence of each dynamic size."""
    found = {}
    for name, argument, read, size in _sizes(gm, example_inputs):
        if isinstance(size, str):
            found.setdefault(size, (name, argument, read))
    return list(found.values())


def _arguments(gm):
    """(node, the user's name) of each argument of a Dynamo graph."""
    # If arguments come in lists (compiled autograd), a wrapper module without a graph is passed; its arguments have no names.
    placeholders = [node for node in gm.graph.nodes if node.op == "placeholder"] if hasattr(gm, "graph") else []
    sources = [getattr(node.meta.get("grapharg"), "source", None) for node in placeholders]
    names = [readable(source.name if source is not None else node.name) for node, source in zip(placeholders, sources)]
    return [(node, name if (parameter := by_parameter(name)) in names else parameter) for node, name in zip(placeholders, names)]


def _sizes(gm, example_inputs):
    for argument, ((node, name), value) in enumerate(zip(_arguments(gm), example_inputs)):
        # Dynamo passes the tensors of the call; the node has their symbolic sizes.
        value = node.meta.get("example_value", value)
        if isinstance(value, torch.Tensor):
            # A ragged dimension has no single size; the rows of all samples together have one.
            ragged = value._ragged_idx if value.layout is torch.jagged else None
            for dim, size in enumerate(value.shape):
                if dim == ragged:
                    yield f"{name}[{dim}]", argument, None, (f"ragged, with {name}.values()[{dim - 1}] rows together",)
                    yield f"{name}.values()[{dim - 1}]", argument, partial(_rows, dim=dim - 1), _size(value._values.shape[dim - 1])
                else:
                    yield f"{name}[{dim}]", argument, partial(_extent, dim=dim), _size(size)
        elif isinstance(value, torch.SymInt) and ".size()" not in name and ".stride()" not in name:
            yield name, argument, int, _size(value)


def _extent(tensor, dim):
    return int(tensor.shape[dim])


def _rows(jagged, dim):
    return int(jagged._values.shape[dim])


def _size(size):
    if isinstance(size, int):
        return size
    expression = size.node.expr
    return expression.name if expression.is_Symbol else int(expression) if expression.is_number else (str(expression),)


def readable(source):
    """`L['self']._modules['fc']._parameters['weight']` as a user writes it: `self.fc.weight`."""
    text = re.sub(r"\b[LG]\['([^'\]]+)'\]", r"\1", source)
    return re.sub(r"\.(?:_modules|_parameters|_buffers|__dict__)\['([^'\]]+)'\]", r".\1", text)


def by_parameter(name):
    """A name in the frame of a wrapper as a parameter of the function that it wraps: `kwargs['mask'][1]` is `mask[1]`, and `args[1][0]` is `mask[0]`
    in the wrapper of `forward(self, ids, mask)`."""
    position = re.match(r"args\[(\d+)\]", name)
    if position:
        parameters = _wrapped_parameters()
        number = int(position[1])
        return parameters[number] + name[position.end() :] if number < len(parameters) else name
    return re.sub(r"^kwargs\['(\w+)'\]", r"\1", name)


def _wrapped_parameters():
    """Names of the positional parameters of the function that the frame being compiled passes its `*args` to; empty if it is not known."""
    from torch._dynamo import external_utils

    frame = _frame()
    if frame is None or not frame.f_code.co_flags & inspect.CO_VARARGS:
        return ()
    code, variables = frame.f_code, frame.f_locals
    if code.co_filename == external_utils.__file__:  # Dynamo's own wrapper, of torch's modules
        function, skipped = variables.get("fn"), 0
        function = function.forward if isinstance(function, torch.nn.Module) else function
    else:  # a method (self, *args)
        bases = type(variables.get("self")).__mro__
        wrapper = next((one for base in bases for one in vars(base).values() if getattr(one, "__code__", None) is code), None)
        function, skipped = (wrapper if hasattr(wrapper, "__wrapped__") else None), code.co_argcount
    if not callable(function):
        return ()
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # those of a builtin are not known
        return ()
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [one.name for one in parameters if one.kind in positional][skipped:]


def _variables_of_frame():
    """Names of the arguments and variables of the frame that is being compiled; empty if Dynamo does not provide it."""
    frame = _frame()
    return () if frame is None else (*frame.f_code.co_varnames, *frame.f_code.co_cellvars, *frame.f_code.co_freevars)


def _frame():
    """Dynamo's translator of the frame that is being compiled, or None."""
    try:
        from torch._dynamo.symbolic_convert import InstructionTranslator

        return InstructionTranslator.current_tx()
    except (ImportError, AttributeError):
        return None


def smallest_bucket(asked, size):
    """The bucket of a size under a list, "ramp" or "off"; None if the size is above the last entry of the list."""
    if asked == "off":
        return size
    if asked != "ramp":
        return next((bucket for bucket in asked if bucket >= size), None)
    # passes/BucketPolicy.h has the same ramp: powers of two up to 64, then eight steps per octave.
    step = 1 << max((size - 1).bit_length() - 4, 0) if size > 64 else 1 << max(size - 1, 0).bit_length()
    return -(-size // step) * step or 1


def waste(entry):
    """The padding as a percentage of the bucket sizes, over the calls so far."""
    return 100 * (1 - entry["logical"] / entry["padded"]) if entry.get("padded") else 0.0


def reset():
    """Forgets the keys of earlier graphs."""
    _SEEN_KEYS.clear()
