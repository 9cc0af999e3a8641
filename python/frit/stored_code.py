"""A graph module that is pickled as its Python code and is rebuilt without a trace.

torch pickles a graph module as code and rebuilds the graph by tracing that code symbolically. While it does, operators without a traced operand
(`rand`) run and become constants, functions that need a number (`math.ceil` of a size) and control flow fail, and classes of the whole process are
patched, which other threads notice. Generated code is a list of calls, so here each call is appended to a graph as it stands, and nothing runs.
"""

import builtins
import copy
import functools
import inspect
import types

import torch


class StoredCode:
    """The code and the attributes of a graph module."""

    def __init__(self, gm):
        bare = copy.copy(gm)
        bare.meta = {}
        _, (body, imports) = bare.__reduce__()
        self._source = imports + body["_code"]
        self._name = type(gm).__name__
        self._tensors = {**body["_parameters"], **body["_buffers"]}
        plain = {name: value for name, value in vars(gm).items() if name in _attributes_of(gm)}
        self._modules = {name: StoredCode(each) if isinstance(each, torch.fx.GraphModule) else each for name, each in body["_modules"].items()}
        self._others = {name: value for name, value in plain.items() if name not in self._tensors and name not in self._modules}

    def graph_module(self):
        """The graph module; its nodes have no metadata."""
        root = torch.nn.Module()
        for name, value in self._tensors.items():
            root.register_parameter(name, value) if isinstance(value, torch.nn.Parameter) else root.register_buffer(name, value)
        for name, module in self._modules.items():
            root.add_module(name, module.graph_module() if isinstance(module, StoredCode) else module)
        for name, value in self._others.items():
            setattr(root, name, value)
        return torch.fx.GraphModule(root, _recorded(self._source), self._name)


def _attributes_of(gm):
    return {str(node.target).partition(".")[0] for node in gm.graph.nodes if node.op == "get_attr"}


def _recorded(source):
    """The graph that calls what the code calls."""
    space = {}
    exec(compile(source, "<stored graph>", "exec"), space)
    forward = space["forward"]
    graph = torch.fx.Graph()
    tracer = torch.fx.proxy.GraphAppendingTracer(graph)
    for name in forward.__code__.co_names:
        value = space.get(name, getattr(builtins, name, None))
        if value is not None and value is not getattr:
            space[name] = _recorder(tracer, value)
    placeholders = [torch.fx.Proxy(graph.placeholder(name), tracer) for name in list(inspect.signature(forward).parameters)[1:]]
    graph.output(tracer.create_arg(forward(_Attributes(tracer), *placeholders)))
    return graph


def _recorder(tracer, value):
    """What stands for a global name of the code: a function is recorded when it is called, and so is a function of a module. A type is called, unless an
    argument is a value of the graph."""
    if isinstance(value, types.ModuleType) or (callable(value) and not isinstance(value, type)):
        return _Recorder(tracer, value)
    return functools.partial(_made, tracer, value) if isinstance(value, type) else value


def _made(tracer, kind, *args, **kwargs):
    traced = any(isinstance(each, torch.fx.Proxy) for each in (*args, *kwargs.values()))
    return tracer.create_proxy("call_function", kind, args, kwargs) if traced else kind(*args, **kwargs)


class _Recorder:
    def __init__(self, tracer, value):
        self._tracer, self._value = tracer, value

    def __getattr__(self, name):
        return _recorder(self._tracer, getattr(self._value, name))

    def __call__(self, *args, **kwargs):
        return self._tracer.create_proxy("call_function", self._value, args, kwargs)


class _Attributes:
    """`self` of the code."""

    def __init__(self, tracer):
        self._tracer = tracer

    def __getattr__(self, name):
        return self._tracer.create_proxy("get_attr", name, (), {})
