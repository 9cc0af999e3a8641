"""AOTAutograd's results between processes: a warm process neither traces forward and backward nor partitions them.

torch stores such results for Inductor, in its own folder and under its own key. The class `Results` takes the place of torch's cache in the modules
that look results up and store them: for graphs of frit it uses frit's disk cache and key (`autograd_key.py`), and it passes all others on. So the
switches of torch and of frit, the rules of trust, the limit and the portable cache apply as in `disk_cache.py`. An entry is torch's own record of
the result, pickled, with the artifacts of both graphs inside. Python code that an entry names is imported, so an entry is trusted like host code.

torch checks the entry's guards on sizes against the sizes of the call, and adds them to those of the program. Up to four entries with different
guards are stored under one key.

The import fails if this version of torch has other names; then results are not stored.
"""

import contextlib
import contextvars
import dataclasses
import functools
import hashlib
import pickle
import re
import time

import torch
from torch._dynamo.exc import TorchDynamoException
from torch._dynamo.precompile_context import PrecompileContext
from torch._dynamo.utils import counters
from torch._functorch import aot_autograd
from torch._functorch._aot_autograd import graph_compile
from torch._functorch._aot_autograd.aot_autograd_result import (
    BundledAOTAutogradCacheArtifact,
    BundledAOTAutogradResult,
    GenericCompiledBackward,
    InductorOutput,
)
from torch._functorch._aot_autograd.autograd_cache import AOTAutogradCache, BypassAOTAutogradCache
from torch._functorch._aot_autograd.schemas import AOTAutogradCacheInfo, AOTConfig, SerializableAOTDispatchCompiler
from torch._inductor.output_code import OutputCode
from torch.utils._python_dispatch import _disable_current_modes

try:
    from torch.fx.experimental.symbolic_shapes import guarding_hint_or_throw
except ImportError:  # its name in torch 2.11
    from torch.fx.experimental.symbolic_shapes import size_hint as guarding_hint_or_throw

from .. import native
from ..errors import ArtifactError
from ..logs import log
from . import compiled_graphs
from .autograd_key import autograd_key
from .graph_key import Uncacheable
from .saved_graph import SavedGraph

_MOST_PER_KEY = 4
#: Up to torch 2.12 a lookup returns the callable alone and writes into the configuration; then it returns both.
_WRITES_CONFIG = not AOTConfig.__dataclass_params__.frozen
_VARYING = re.compile(r"0x[0-9a-f]+|\d+")
#: Whether backwards are compiled with their forwards (`frit.precompile`); torch's own setting for it is a part of the key.
COMPILE_BACKWARDS_NOW = contextvars.ContextVar("frit_compile_backwards_now", default=False)
_result_store = contextvars.ContextVar("frit_result_store", default=None)


class ResultStore:
    """Looks up and stores the results of one call of AOTAutograd. `compiled_with`: the options that a result depends on, of all `settings`.
    `describe(gm)`: see `SavedGraph`."""

    def __init__(self, compiled_with, settings, describe):
        self._settings, self.settings, self._describe = compiled_with, settings, describe

    def key(self, mod, args, aot_config):
        """The _Key of a graph that AOTAutograd is called with; raises Uncacheable or torch's BypassAOTAutogradCache."""
        gm = mod.gm if isinstance(mod, torch._dynamo.utils.GmWrapper) else mod
        try:
            return _Key(autograd_key(gm, args, aot_config, self._settings, native.compiler().identity()))
        except (Uncacheable, BypassAOTAutogradCache):
            raise
        except Exception as why:  # an object in the graph that cannot be pickled may raise anything
            log.info("a graph has no key: %s", why)
            raise Uncacheable(f"it has no key: {type(why).__name__}") from why

    @contextlib.contextmanager
    def in_use(self):
        """A context in which torch's calls of `Results` use this store."""
        token = _result_store.set(self)
        try:
            yield
        finally:
            _result_store.reset(token)

    def with_saved_graph(self, compile_graph, stage):
        """A graph compiler whose executables have their SavedGraph as an attribute."""

        @functools.wraps(compile_graph)
        def compile_and_note(gm, example_inputs):
            made = []
            executable = compile_graph(gm, example_inputs, made=made)
            _, _, captured, _, _ = made[0]
            executable.frit_saved = SavedGraph(gm, captured, self._settings, stage, self._describe)
            executable._fx_graph_cache_key = "frit"  # torch asks for it before it stores a result
            vars(executable)["_boxed_call"] = True  # torch's wrappers copy what is in __dict__ only
            return executable

        return compile_and_note

    def as_serializable(self, compile_graph, stage):
        """The same as an object of the type for which torch looks results up."""
        return SerializableAOTDispatchCompiler(OutputCode, self.with_saved_graph(compile_graph, stage))


class _Key(str):
    """The key under which torch stores a result. `slot`: the number of the entry to write; `symbols`: the sizes among the arguments; `guards` and
    `shared`: how many guards there were before the trace."""

    slot = 0
    symbols = ()
    guards = shared = 0


def install():
    """Replaces torch's cache by `Results`; AttributeError if this version of torch has another one."""
    for module in (aot_autograd, graph_compile):
        if not issubclass(Results, module.AOTAutogradCache):
            raise AttributeError(f"{module.__name__} has another cache")
    if not _WRITES_CONFIG:
        graph_compile._should_save_cache  # noqa: B018 (it reads _fx_graph_cache_key)
    aot_autograd.AOTAutogradCache = graph_compile.AOTAutogradCache = Results


@dataclasses.dataclass
class _Forward(InductorOutput):
    saved: SavedGraph

    def pre_save(self):
        self.saved = self.saved.for_file()

    def load(self, example_inputs):
        store = _result_store.get()  # none where torch loads Dynamo's code and the graphs together
        return self.saved.load(store and store.settings)

    def post_compile(self, result, fx_config):
        return result


@dataclasses.dataclass
class _Backward(GenericCompiledBackward):
    saved: SavedGraph

    pre_save, load = _Forward.pre_save, _Forward.load

    def post_compile(self, result, fx_config):
        fenced = torch._dynamo.disable(result, reason="do not trace a compiled backward")
        fenced._boxed_call = True
        return fenced


class Results(AOTAutogradCache):
    """torch's cache, and frit's for calls of AOTAutograd inside `ResultStore.in_use`. The methods are those of torch's class."""

    @staticmethod
    def try_load(mod, args, aot_config, *more, **named):
        store = _result_store.get()
        if store is None:
            return AOTAutogradCache.try_load(mod, args, aot_config, *more, **named)
        asked = {"force_non_lazy_backward_lowering": True} if COMPILE_BACKWARDS_NOW.get() else {}
        try:
            key = store.key(mod, args, aot_config)
        except (Uncacheable, BypassAOTAutogradCache) as why:
            _note_bypass(why)
            return _answer(None, aot_config, asked)
        key.symbols = Results._filter_backed_symints(args)
        found = _find(key, args, aot_config, [guarding_hint_or_throw(symbol) for symbol in key.symbols])
        if found:
            counters["frit"]["autograd_cache_hits"] += 1
            counters["aot_autograd"]["autograd_cache_hit"] += 1
            return _answer(found, aot_config, {})
        counters["frit"]["autograd_cache_misses"] += 1
        counters["aot_autograd"]["autograd_cache_miss"] += 1
        key.guards, key.shared = (len(guards) for guards in _guards())
        return _answer(None, aot_config, {**asked, "cache_info": AOTAutogradCacheInfo(key, time.time_ns(), forward_symints=key.symbols)})

    @staticmethod
    def make_entry(compiled_fw_func, compiled_bw_func, *more, **named):
        forward, backward = _saved_of(compiled_fw_func), _saved_of(compiled_bw_func)
        if forward is None:
            return AOTAutogradCache.make_entry(compiled_fw_func, compiled_bw_func, *more, **named)
        indices, symints = named.pop("backward_state_indices"), named.pop("num_symints_saved_for_bw")
        made = None if compiled_bw_func is None else _Backward(indices, symints, backward)
        return BundledAOTAutogradResult(compiled_fw=_Forward(forward), compiled_bw=made, **dict(zip(_POSITIONAL, more)), **named)

    @staticmethod
    def save(key, entry, remote):
        if not isinstance(key, _Key):
            return AOTAutogradCache.save(key, entry, remote)
        try:
            _check_guards(key)
            entry.pre_save()
            config = entry.sanitized_aot_config
            backend_id, config.precompile_backend_id = config.precompile_backend_id, None
            with _disable_current_modes():
                content = pickle.dumps(entry)
            _record_for_dynamo(backend_id, entry)
        except Uncacheable as why:
            _note_bypass(why)
        except Exception as why:  # pickle raises whatever the code of an object raises
            log.info("a result of AOTAutograd cannot be pickled: %s", why)
            _note_bypass(f"its result cannot be pickled: {type(why).__name__}")
        else:
            graphs = [each.saved.key for each in (entry.compiled_fw, entry.compiled_bw) if each is not None]
            if compiled_graphs.store_bytes(_at(key, key.slot), content, "autograd", graphs=graphs):
                counters["frit"]["autograd_cache_stores"] += 1
                counters["aot_autograd"]["autograd_cache_saved"] += 1


def _answer(found, aot_config, changes):
    """What try_load returns."""
    if not _WRITES_CONFIG:
        return found, dataclasses.replace(aot_config, **changes)
    vars(aot_config).update(changes)
    return found


#: What torch passes by position after the two compiled functions.
_POSITIONAL = (
    "aot_joint_graph_str",
    "aot_forward_graph_str",
    "aot_backward_graph_str",
    "runtime_metadata",
    "dispatch_wrappers",
    "maybe_subclass_meta",
    "num_fw_outs_saved_for_bw",
    "indices_of_inps_to_detach",
    "forward_time_taken_ns",
    "backward_time_taken_ns",
)


def _find(key, args, aot_config, hints):
    """The callable of the first entry whose guards hold. Otherwise None, and `key.slot` is the slot for the new result."""
    free = []
    for slot in range(_MOST_PER_KEY):
        at = _at(key, slot)
        content = compiled_graphs.read_bytes(at)
        try:
            entry = content and pickle.loads(content)
            if entry is None:
                free.append(slot)
                continue
            if not isinstance(entry, BundledAOTAutogradResult):
                raise ArtifactError("it has no result of AOTAutograd")
            if entry.guards_expr and not Results.evaluate_guards(entry.guards_expr, hints):
                counters["frit"]["autograd_cache_guard_misses"] += 1
                continue
            made = entry.wrap_post_compile(args, aot_config, {"cudagraphs": None, "boxed_forward_device_index": None})
            if aot_config.precompile_backend_id is not None:
                _record_for_dynamo(aot_config.precompile_backend_id, pickle.loads(content))
            return made
        except TorchDynamoException:
            raise  # Dynamo's own exceptions ask it to restart the trace
        except Exception as why:  # the code of the entry's objects runs here
            compiled_graphs.note_bad(at, why)
            free.append(slot)
    key.slot = free[0] if free else _MOST_PER_KEY - 1
    return None


def _check_guards(key):
    """Raises Uncacheable if the trace made assumptions that are not stored: the entry has only the guards on sizes that are arguments."""
    sizes, shared = _guards()
    if len(shared) != key.shared:
        raise Uncacheable("its arguments share memory")
    known = set().union(*(symbol.node.expr.free_symbols for symbol in key.symbols))
    if any(not guard.expr.free_symbols <= known for guard in sizes[key.guards :]):
        raise Uncacheable("it assumes something about a size that is not an argument")


def _guards():
    """The guards on sizes, and those of AOTAutograd on arguments, that the trace has added so far."""
    env, context = Results._get_shape_env(), torch._guards.TracingContext.try_get()
    return env.guards if env is not None else [], context.guards_context.aotautograd_guards if context is not None else []


def _record_for_dynamo(backend_id, entry):
    """With `caching_precompile` torch stores Dynamo's code and guards as well, and takes the compiled graphs from here."""
    if backend_id is not None and torch._dynamo.config.caching_precompile:
        PrecompileContext.record_artifact(BundledAOTAutogradCacheArtifact(backend_id, entry))


def _saved_of(compiled):
    """The SavedGraph of an executable, behind torch's wrappers; None if it is not frit's."""
    while compiled is not None:
        if saved := getattr(compiled, "frit_saved", None):
            return saved
        compiled = getattr(compiled, "__wrapped__", None)
    return None


def _at(key, slot):
    return hashlib.sha256(f"{key} {slot}".encode()).hexdigest()


def _note_bypass(why):
    reason = (str(why).strip().splitlines() or [type(why).__name__])[0]
    reason = _VARYING.sub("#", reason)
    counters["frit"][f"autograd_cache_bypass:{reason}"] += 1
    counters["aot_autograd"]["autograd_cache_bypass"] += 1
    log.info("a result of AOTAutograd is not stored: %s", why)
