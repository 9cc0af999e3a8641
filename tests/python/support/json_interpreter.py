"""Runs captured JSON through torch.ops, one node after another.

An oracle for capture: capture, interpret, compare with eager. It reads only the JSON and the
constants, so correct results prove that the text is complete.
"""

import json
import math
import operator

import torch

from frit.capture import schema

_DTYPES = {code: dtype for dtype, code in schema.DTYPES.items()}
_LAYOUTS = {code: layout for layout, code in schema.LAYOUTS.items()}
_MEMORY_FORMATS = {code: fmt for fmt, code in schema.MEMORY_FORMATS.items()}
_SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_MODULES = {"_operator": operator, "math": math, "torch": torch}


def compile_json(text, constants):
    """Returns a boxed callable for a captured program."""
    program = json.loads(text)
    graph = program["graph_module"]["graph"]
    specs = program["graph_module"]["signature"]["input_specs"]
    bound = {}
    inputs = []
    for spec, constant_or_input in zip(specs, graph["inputs"], strict=True):
        if "tensor_constant" in spec:
            name = spec["tensor_constant"]["arg"]["name"]
            assert constant_or_input == {"as_tensor": {"name": name}}
            bound[name] = constants[len(bound)]
        else:
            assert spec["user_input"]["arg"] == constant_or_input
            inputs.append(constant_or_input)
    assert len(bound) == len(constants)
    prepared = _Graph(graph)

    def run(args):
        values = list(args)
        args.clear()
        return prepared.run({**bound, **_bind(inputs, values)})

    run._boxed_call = True
    return run


def _bind(inputs, values):
    assert len(inputs) == len(values), f"{len(values)} arguments for {len(inputs)} inputs"
    env = {}
    for declared, value in zip(inputs, values):
        (tag, body), = declared.items()
        if tag == "as_tensor":
            assert isinstance(value, torch.Tensor), (declared, value)
            env[body["name"]] = value
        elif "as_name" in (body if isinstance(body, dict) else {}):
            env[body["as_name"]] = value
        elif tag == "as_none":
            assert value is None, (declared, value)
        else:
            assert value == body, (declared, value)
    return env


class _Graph:
    def __init__(self, graph):
        self.graph = graph
        self.steps = [(_function(n["target"]), n) for n in graph["nodes"]]

    def run(self, env):
        for function, node in self.steps:
            args, kwargs = [], {}
            for item in node["inputs"]:
                value = self.argument(item["arg"], env)
                if item["kind"] == 1:
                    args.append(value)
                else:
                    kwargs[item["name"]] = value
            _store(node["outputs"], self._call(function, args, kwargs), env, self.graph)
        return [self.argument(result, env) for result in self.graph["outputs"]]

    def _call(self, function, args, kwargs):
        name = getattr(function, "__name__", "")
        if name == "invoke_subgraph":
            inner, _, *operands = args
            return inner.apply(operands)
        if name == "cond":
            predicate, yes, no, operands = args
            return (yes if predicate else no).apply(operands)
        if name in ("while_loop", "while_loop_stack_output"):
            test, body, carried, others = args
            made = []
            while test.apply([*carried, *others])[0]:
                carried = body.apply([*carried, *others])
                made.append(carried)
            return carried if name == "while_loop" else [torch.stack(parts) for parts in zip(*(made or [carried]))]
        if name == "scan":
            step, carried, scanned, others = args
            kept, stacked = len(carried), []
            for parts in zip(*scanned):
                results = step.apply([*carried, *parts, *others])
                carried = results[:kept]
                stacked.append(results[kept:])
            return [*carried, *(torch.stack(parts) for parts in zip(*stacked))]
        return function(*args, **kwargs)

    def apply(self, operands):
        return self.run(_bind(self.graph["inputs"], operands))

    def argument(self, arg, env):
        (tag, body), = arg.items()
        if tag == "as_tensor":
            return env[body["name"]]
        if tag == "as_tensors":
            return [env[x["name"]] for x in body]
        if tag == "as_optional_tensors":
            return [env[x["as_tensor"]["name"]] if "as_tensor" in x else None for x in body]
        if tag == "as_none":
            return None
        if tag == "as_float":
            return _SPECIAL.get(body, body)
        if tag == "as_floats":
            return [_SPECIAL.get(x, x) for x in body]
        if tag in ("as_sym_int", "as_sym_float", "as_sym_bool"):
            return _scalar(body, env)
        if tag in ("as_sym_ints", "as_sym_floats", "as_sym_bools"):
            return [_scalar(x, env) for x in body]
        if tag == "as_scalar_type":
            return _DTYPES[body]
        if tag == "as_layout":
            return _LAYOUTS[body]
        if tag == "as_memory_format":
            return _MEMORY_FORMATS[body]
        if tag == "as_device":
            return torch.device(body["type"], body["index"]) if body["index"] is not None else torch.device(body["type"])
        if tag == "as_complex":
            return complex(_SPECIAL.get(body["real"], body["real"]), _SPECIAL.get(body["imag"], body["imag"]))
        if tag == "as_arguments":
            return [self.argument(x, env) for x in body]
        if tag == "as_graph":
            return _Graph(body["graph"])
        if tag == "as_operator":
            return _function(body)
        assert tag in ("as_int", "as_ints", "as_bool", "as_bools", "as_string", "as_strings", "as_int_lists"), tag
        return body


def _scalar(body, env):
    (tag, value), = body.items()
    return env[value] if tag == "as_name" else _SPECIAL.get(value, value)


def _function(target):
    module, _, rest = target.partition(".")
    owner = _MODULES[module]
    for name in rest.split("."):
        owner = getattr(owner, name)
    return owner


def _store(outputs, value, env, graph):
    if not outputs:
        return
    if len(outputs) == 1 and not (isinstance(value, (list, tuple)) and "as_tensors" not in outputs[0]):
        value = [value]
    for declared, item in zip(outputs, value, strict=True):
        (tag, body), = declared.items()
        if tag == "as_tensor":
            env[body["name"]] = _as_described(body["name"], item, graph["tensor_values"][body["name"]])
        elif tag == "as_tensors":
            for inner, each in zip(body, item, strict=True):
                env[inner["name"]] = each
        elif tag == "as_none":
            pass
        else:
            env[body["as_name"]] = item


def _as_described(name, tensor, meta):
    """Checks that a value has the described shape and type, and returns it."""
    assert len(meta["sizes"]) == tensor.dim(), name
    for size, described in zip(tensor.shape, meta["sizes"]):
        assert described.get("as_int", size) == size, (name, tensor.shape, meta["sizes"])
    assert tensor.dtype == _DTYPES[meta["dtype"]], (name, tensor.dtype, meta["dtype"])
    return tensor
