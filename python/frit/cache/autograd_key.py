"""The key of AOTAutograd's result for one Dynamo graph: its forward, its backward, and the data that torch's wrappers around them need.

torch's own key (`AOTAutogradCacheDetails`) says which graphs may be cached and covers their text and torch's settings. It omits what AOTAutograd
does not read under Inductor, or what torch guards elsewhere, and it takes 1.5 s in a new process: it digests torch's sources and imports Inductor's
code generators. The key here applies torch's rules for what may be cached, and digests the same text and torch's version and settings; then it adds
what frit's own keys cover (`graph_key.py`) and what else AOTAutograd's tracing reads. A program that could change what is traced without changing the
key is not cached: operators of user libraries, tensor subclasses, arguments that share memory, sizes that are not integers.
"""

import contextlib
import platform

import torch
from torch._functorch._aot_autograd.autograd_cache import AOTAutogradCacheDetails, AOTAutogradCachePickler, check_cacheable, sanitize_gm_for_cache
from torch._inductor.codecache import BypassFxGraphCache, FxGraphCache
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from .graph_key import Uncacheable, _description, _head, _Symbols

#: Control flow that frit compiles into its plans. torch's key leaves these operators out; this key digests their graphs with the one that calls them.
_CONTROL_FLOW = ("torch.ops.higher_order.cond", "torch.ops.higher_order.while_loop", "torch.ops.higher_order.scan")
_OWN_MODULES = ("torch", "_operator", "operator", "math", "builtins")
_OWN_NAMESPACES = ("aten", "prims", "prim")
# Kernels may be replaced, since a graph calls them by name; what decides how an operator is traced may not.
_TRACED_KEYS = ("Autograd", "Composite", "Functionalize", "PreDispatch")

#: Settings that choose operators while AOTAutograd traces, besides `graph_key.FLAGS`.
_WHILE_TRACING = {
    "commit": lambda: torch.version.git_version,
    "python": platform.python_version,
    "default_device": torch.get_default_device,
    "inference_mode": torch.is_inference_mode_enabled,
    "anomaly": lambda: (torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()),
    "autocast_cache": torch.is_autocast_cache_enabled,
    "flash_attention": torch._C._get_flash_sdp_enabled,
    "efficient_attention": torch._C._get_mem_efficient_sdp_enabled,
    "math_attention": torch._C._get_math_sdp_enabled,
    "cudnn_attention": torch._C._get_cudnn_sdp_enabled,
    "cudnn": torch._C._get_cudnn_enabled,
    "mkldnn": torch._C._get_mkldnn_enabled,
    "mha_fastpath": torch.backends.mha.get_fastpath_enabled,
}


class _Details(AOTAutogradCacheDetails):
    """What the key digests: torch's details without those of Inductor's code, and frit's own (`ours`)."""

    def __init__(self, gm, arguments, aot_config, fx_config, ours):
        self.ours = ours
        super().__init__(gm, arguments, aot_config, fx_config)

    def _init_fx_graph_hash_details(self, gm, example_inputs, fx_config):
        FxGraphCache._check_can_cache(gm, example_inputs, fx_config)
        self.gm = gm
        self.example_inputs = example_inputs
        self.cache_key_tag = torch.compiler.config.cache_key_tag
        self.torch_version = (torch.__version__, torch.version.git_version)
        self.inductor_config = torch._inductor.config.save_config_portable(ignore_private_configs=False, readonly_values=True)


def autograd_key(gm, arguments, aot_config, settings, identity):
    """The key of a Dynamo graph under `settings`; raises Uncacheable. `arguments` are fake tensors and sizes; `identity` is the compiler's."""
    _check_arguments(arguments)
    _check_operators(gm)
    symbols = _Symbols()
    described = [_argument(value, symbols) for value in arguments]
    ours = ["autograd 1", *_head(settings, identity), *(f"{name} {read()}" for name, read in _WHILE_TRACING.items()), *described, *symbols.lines()]
    if " at 0x" in "\n".join(ours):
        raise Uncacheable("an argument has no text of its own")
    fx_config = {"cudagraphs": None, "boxed_forward_device_index": None}
    with sanitize_gm_for_cache(gm), _with_control_flow(gm):
        try:
            for module in gm.modules():
                if isinstance(module, torch.fx.GraphModule):
                    check_cacheable(module)
            return AOTAutogradCachePickler(gm).get_hash(_Details(gm, arguments, aot_config, fx_config, ours))
        except BypassFxGraphCache as why:
            raise Uncacheable(str(why)) from why


def _with_control_flow(gm):
    """A context in which torch takes the control flow of a graph as cacheable."""
    called = {node.target for module in gm.modules() if isinstance(module, torch.fx.GraphModule) for node in module.graph.nodes}
    names = {f"{target.__module__}.{target.__name__}" for target in called if isinstance(target, torch._ops.HigherOrderOperator)}
    ours = dict.fromkeys(sorted(names.intersection(_CONTROL_FLOW)), "frit")
    config = torch._inductor.config
    return config.patch(unsafe_marked_cacheable_functions={**config.unsafe_marked_cacheable_functions, **ours}) if ours else contextlib.nullcontext()


def _argument(value, symbols):
    text = _description(value, symbols)
    if not isinstance(value, torch.Tensor):
        return text
    marks = [sorted(getattr(value, mark, ())) for mark in ("_dynamo_dynamic_indices", "_dynamo_unbacked_indices", "_dynamo_static_indices")]
    bits = value.layout is torch.strided and (value.is_conj(), value.is_neg())
    return f"{text} {bits} {value.is_inference()} {value.is_leaf} {marks}"


def _check_arguments(arguments):
    """Raises Uncacheable for arguments that the key cannot describe. Two tensors of one storage may be traced as views of one base, under guards
    that only a trace adds."""
    storages = set()
    for value in arguments:
        if isinstance(value, (torch.SymFloat, torch.SymBool)):
            raise Uncacheable("an argument is a symbolic number that is not an integer")
        if not isinstance(value, torch.Tensor):
            continue
        if is_traceable_wrapper_subclass(value):
            raise Uncacheable("an argument is a tensor subclass")
        if value.layout is not torch.strided:
            raise Uncacheable(f"an argument has layout {value.layout}")
        storage = value.untyped_storage()._cdata
        if storage in storages:
            raise Uncacheable("its arguments share memory")
        storages.add(storage)


def _check_operators(gm):
    """Raises Uncacheable if the graph calls operators or functions whose Python code is traced but is not in the key."""
    if any(name.startswith("aten/") and name.rsplit("/", 1)[-1].startswith(_TRACED_KEYS) for name in torch.library._impls):
        raise Uncacheable("the program replaces operators of torch")
    for module in gm.modules():
        if type(module).__module__.split(".")[0] != "torch":
            raise Uncacheable(f"it calls a module of {type(module).__module__.split('.')[0]}")
        for node in module.graph.nodes if isinstance(module, torch.fx.GraphModule) else ():
            if node.op == "call_function":
                _check_function(node)


def _check_function(node):
    target = node.target
    if isinstance(target, (torch._ops.OpOverload, torch._ops.OpOverloadPacket)):
        name = target._schema.name if isinstance(target, torch._ops.OpOverload) else target._qualified_op_name
        namespace = name.split("::")[0]
        if namespace not in _OWN_NAMESPACES:
            raise Uncacheable(f"it calls an operator of the library {namespace}")
        return
    of = (getattr(target, "__module__", None) or "torch").split(".")[0]
    # torch's key has a digest of each function that the program has wrapped.
    if of not in _OWN_MODULES and not node.meta.get("is_wrapped"):
        raise Uncacheable(f"it calls a function of {of}")
