"""`frit.precompile`: fills the disk cache in a process that has no weights, for a process that serves the model.

    with torch.device("meta"):
        model = Model()
    frit.precompile(model, torch.empty(8, 128, device="meta"), device="cpu")

Tensors without data (of the device "meta", or fake) are replaced by tensors of the same layout that are never read or written: nothing is computed,
so the operating system gives them no memory on a CPU. The model is traced as `torch.compile(model, backend="frit")` would trace it, so the other
process finds the results under the same keys.
"""

import contextlib
import copy
import inspect

import torch
import torch._dynamo
from torch._dynamo.utils import counters
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._pytree import tree_map

from . import backend
from .cache import compiled_graphs
from .errors import CompileError, OptionError


class _Compiled(BaseException):
    """Raised when everything is compiled, so that nothing runs and Dynamo installs nothing for the function. Not an Exception: Dynamo would wrap
    it."""


def precompile(model, *args, device=None, mode=None, options=None, dynamic=None, **kwargs):
    """Compiles what `torch.compile(model, backend="frit", mode=mode, options=options, dynamic=dynamic)(*args, **kwargs)` would compile, forward and
    backward, and runs nothing. `device` is where meta tensors will be in the other process. Gradient mode, autocast and the model's `training` must
    be those of the call there. Returns what is now in the cache, `{"results": n, "graphs": n, "bypassed": {reason: n}}`: the results of calls of
    AOTAutograd, the graphs compiled in them, and why others are not stored. CompileError if the cache is off or a tensor cannot be replaced; a model
    with graph breaks is torch's error, because what follows a break depends on results."""
    if not compiled_graphs.enabled({"cache": True, "dump_dir": "", "poison": False, **(options or {})}):
        raise CompileError("frit: precompile fills the disk cache, which is off (docs/Cache.md); set FRIT_CACHE=1 and drop the options that need it off")
    before = dict(counters["frit"])
    with backend.backwards_compiled_now():
        compile_only(model, args, kwargs, device, mode, options, dynamic)
    return _report(before)


def compile_only(model, args, kwargs, device=None, mode=None, options=None, dynamic=None, look=lambda gm, example_inputs: None):
    """Compiles `model` for its arguments as one graph and runs nothing. `look(gm, example_inputs)` is called with Dynamo's graph. OptionError if it
    does not take these arguments."""
    _check_arguments(model, args, kwargs)
    real = _Real(device)
    args, kwargs = tree_map(real.tensor, (args, kwargs))

    def compile_and_stop(gm, example_inputs):
        look(gm, example_inputs)
        backend.frit(gm, example_inputs, mode=mode, options=options)
        raise _Compiled

    with _uncompiled(real.module(model)) as plain:
        try:
            torch.compile(plain, backend=compile_and_stop, dynamic=dynamic, fullgraph=True)(*args, **kwargs)
        except _Compiled:
            pass


def _check_arguments(model, args, kwargs):
    function = model.forward if isinstance(model, torch.nn.Module) else model
    try:
        # What a decorator wraps may take more than the decorated function.
        signature = inspect.signature(function, follow_wrapped=False)
    except ValueError:  # of a function in C
        return
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        name = getattr(function, "__qualname__", type(model).__name__)
        raise OptionError(f"frit: {name}: {error}; give the arguments of a call beside the function; they may be without data (device='meta')") from error


@contextlib.contextmanager
def _uncompiled(model):
    """A context in which a module on which `compile()` was called behaves as before that call."""
    compiled = vars(model).get("_compiled_call_impl") if isinstance(model, torch.nn.Module) else None
    if compiled is None:
        yield model
        return
    model._compiled_call_impl = None
    try:
        yield model
    finally:
        model._compiled_call_impl = compiled


def _report(before):
    new = {name: number - before.get(name, 0) for name, number in counters["frit"].items() if number > before.get(name, 0)}
    reasons = {name.partition(":")[2].strip(): number for name, number in new.items() if "cache_bypass:" in name}
    results = new.get("autograd_cache_stores", 0) + new.get("autograd_cache_hits", 0)
    return {"results": results, "graphs": new.get("graphs", 0), "bypassed": reasons}


class _Real:
    """Replaces tensors without data, the same tensor always by the same one."""

    def __init__(self, device):
        self._device = device
        self._made = {}

    def tensor(self, value):
        """The replacement of a tensor without data; any other value unchanged."""
        if not isinstance(value, torch.Tensor) or not (value.is_meta or isinstance(value, FakeTensor)):
            return value
        if id(value) not in self._made:
            self._made[id(value)] = self._like(value), value
        return self._made[id(value)][0]

    def module(self, model):
        """The model, or a copy with other parameters and buffers where some have no data."""
        if not isinstance(model, torch.nn.Module):
            return model
        replaced = {}
        for value in (*model.parameters(), *model.buffers()):
            other = self.tensor(value)
            if other is not value:
                replaced[id(value)] = other
        return copy.deepcopy(model, {**{id(x): x for x in (*model.parameters(), *model.buffers())}, **replaced}) if replaced else model

    def _like(self, value):
        device = value.fake_device if isinstance(value, FakeTensor) else None
        device = self._device if device is None or device.type == "meta" else device
        if device is None:
            raise CompileError("frit: a tensor is of the device 'meta'; name the device that it will have, as in device='cpu'")
        if value.storage_offset():
            raise CompileError("frit: a tensor without data begins inside its storage; give one that begins at its storage's start")
        with torch.no_grad(), torch.utils._python_dispatch._disable_current_modes():
            made = torch.empty_strided(tuple(map(int, value.shape)), tuple(map(int, value.stride())), dtype=value.dtype, device=device)
        if isinstance(value, torch.nn.Parameter):
            made = torch.nn.Parameter(made, value.requires_grad)
        else:
            made.requires_grad_(value.requires_grad)
        for name, mark in vars(value).items():
            if name.startswith("_dynamo_"):  # torch._dynamo.mark_dynamic and its like
                setattr(made, name, mark)
        return made
