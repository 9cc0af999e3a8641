"""Runs a graph with ATen, on copies of a call's arguments, in its own types or in fp64.

`eager` is the plain run. `wide` runs the same nodes in fp64. With a generator it perturbs each operator's result by about a rounding of its type in
the graph; how far the results move bounds the error that a compiler may make, independently of one run's luck. An operator without an fp64 form
runs in its own types. Random values are taken from the eager run, so that both have the same.
"""

import contextlib
import operator

import torch
import torch.utils._pytree as pytree

_WIDER = {
    torch.float16: torch.float64,
    torch.bfloat16: torch.float64,
    torch.float32: torch.float64,
    torch.complex32: torch.complex128,
    torch.complex64: torch.complex128,
}
_WIDE = (torch.float64, torch.complex128)

#: Operators whose results are exactly defined: views, copies, signs, comparisons, selections and casts. All others round.
_EXACT = frozenset(
    """
    _to_copy _unsafe_view abs alias amax amin argmax argmin any all arange argsort as_strided as_strided_scatter bitwise_and bitwise_not bitwise_or
    bitwise_xor cat ceil clamp clamp_max clamp_min clone constant_pad_nd contiguous convert_element_type copy copy_ detach diagonal
    diagonal_scatter embedding empty empty_like empty_strided eq expand eye fill fill_ flip floor full full_like gather ge getitem gt
    index index_select iota isinf isnan item le lift_fresh_copy logical_and logical_not logical_or logical_xor lt masked_fill maximum max
    max_pool2d_with_indices median minimum min ne neg new_empty new_empty_strided new_full new_ones new_zeros nonzero ones ones_like permute pow_
    relu repeat reshape roll round scalar_tensor scatter select select_scatter sgn sign signbit slice slice_scatter sort split split_with_sizes
    squeeze stack sym_size sym_stride sym_storage_offset t topk transpose tril triu trunc unbind unfold unsqueeze view view_as_complex view_as_real
    where zero_ zeros zeros_like _local_scalar_dense _assert_scalar _assert_async _assert_tensor_metadata isfinite conj _conj _conj_physical _neg_view
    real imag resolve_conj resolve_neg movedim narrow chunk unflatten index_put bucketize searchsorted low_memory_max_pool_with_offsets
    """.split()
)
#: Operators that return uninitialised memory.
_UNINITIALISED = frozenset("empty empty_like empty_strided new_empty new_empty_strided".split())
#: Sums: the perturbation includes the error of n additions.
_SUMS = frozenset(
    """
    sum mean mm bmm addmm baddbmm addmv mv dot convolution convolution_backward var var_mean std std_mean cumsum cumprod prod logsumexp
    native_layer_norm native_layer_norm_backward native_batch_norm _native_batch_norm_legit _native_batch_norm_legit_functional
    native_group_norm native_group_norm_backward native_batch_norm_backward linalg_vector_norm _softmax _log_softmax _softmax_backward_data
    _log_softmax_backward_data avg_pool2d avg_pool2d_backward _adaptive_avg_pool2d norm scatter_add scatter_reduce index_add index_put
    embedding_dense_backward _scaled_dot_product_flash_attention_for_cpu _scaled_dot_product_flash_attention_for_cpu_backward
    """.split()
)


class NoReference(Exception):
    """Raised if a graph cannot run in fp64; the text says why."""


# -- arguments ---------------------------------------------------------------------------------------


def copied(values):
    """Copies of a list of arguments, with the same strides, offsets, lazy bits and sharing of storages."""
    return _rebuilt(values, lambda x: x.dtype)


def widened(values):
    """The same with floats as fp64 and complex numbers as complex128."""
    return _rebuilt(values, lambda x: _WIDER.get(x.dtype, x.dtype))


def _rebuilt(values, dtype_of):
    storages = {}

    def rebuild(x):
        if not isinstance(x, torch.Tensor):
            return x
        if x.layout is not torch.strided or type(x) not in (torch.Tensor, torch.nn.Parameter):
            return x.detach().clone()
        dtype = dtype_of(x)
        storage = x.untyped_storage()
        key = storage._cdata, x.dtype if dtype != x.dtype else None
        if key not in storages:
            bytes_of_whole = storage.nbytes() // x.dtype.itemsize * x.dtype.itemsize
            whole = torch.empty(0, dtype=x.dtype, device=x.device).set_(storage, 0, (bytes_of_whole // x.dtype.itemsize,), (1,))
            storages[key] = whole.to(dtype).untyped_storage() if dtype != x.dtype else storage.clone()
        result = torch.empty(0, dtype=dtype, device=x.device).set_(storages[key], x.storage_offset(), x.shape, x.stride())
        if x.is_conj():
            torch._C._set_conj(result, True)
        if x.is_neg():
            torch._C._set_neg(result, True)
        return result

    with torch.no_grad():
        return [rebuild(x) for x in values]


@contextlib.contextmanager
def without_modes():
    """A context like that in which a compiled graph runs: no gradients, no autocast, none of the caller's modes."""
    from torch.utils._python_dispatch import _disable_current_modes

    with _disable_current_modes(), torch.no_grad(), torch._C._DisableAutocast():
        yield


def is_out_of_memory(error):
    """Whether an error says that memory is exhausted; torch's allocator for CPUs has no exception of its own."""
    return isinstance(error, torch.OutOfMemoryError) or (isinstance(error, RuntimeError) and "DefaultCPUAllocator: " in str(error))


class SavedRandom:
    """The state of torch's generators on the devices of a graph."""

    def __init__(self, devices):
        self._devices = [d for d in devices if d.type == "cuda"]
        self._states = self._read()

    def _read(self):
        return [torch.get_rng_state(), *(torch.cuda.get_rng_state(d) for d in self._devices)]

    def restore(self):
        """Sets the generators to this state."""
        torch.set_rng_state(self._states[0])
        for device, state in zip(self._devices, self._states[1:]):
            torch.cuda.set_rng_state(state, device)

    def __eq__(self, other):
        return all(map(torch.equal, self._states, other._states))


# -- facts about nodes -------------------------------------------------------------------------------


def name_of(node):
    """An operator's name without its namespace and overload."""
    target = node.target
    if isinstance(target, torch._ops.OpOverload):
        return target._schema.name.partition("::")[2]
    return getattr(target, "__name__", str(target))


def is_random(node):
    """Whether an operator draws random numbers; attention without dropout does not."""
    if not isinstance(node.target, torch._ops.OpOverload) or torch.Tag.nondeterministic_seeded not in node.target.tags:
        return False
    names = [argument.name for argument in node.target._schema.arguments]
    if "dropout_p" not in names:
        return True
    number = names.index("dropout_p")
    return (node.args[number] if number < len(node.args) else node.kwargs.get("dropout_p", 0.0)) != 0.0


def is_collective(node):
    """Whether an operator communicates with other processes."""
    return isinstance(node.target, torch._ops.OpOverload) and node.target.namespace in ("_c10d_functional", "c10d_functional", "c10d", "_dtensor")


def _is_float(value):
    return any(isinstance(x, torch.Tensor) and (x.is_floating_point() or x.is_complex()) for x in pytree.tree_leaves(value))


def is_exact(node):
    """Whether an operator does no rounding of its own."""
    if node.op != "call_function" or name_of(node) in _EXACT or node.target is operator.getitem:
        return True
    if isinstance(node.target, torch._ops.OpOverload) and node.target.is_view:
        return True
    return not _is_float(node.meta.get("val")) and not any(_is_float(x.meta.get("val")) for x in node.all_input_nodes)


class Facts:
    """The nodes whose values depend on rounding (`rounded`), and those that cannot be compared, with the reason (`unknown`): they depend on
    uninitialised memory or on random numbers that kernels generate."""

    def __init__(self, gm, own_random):
        self.rounded, self.unknown = set(), {}
        for node in gm.graph.nodes:
            name = name_of(node) if node.op == "call_function" else ""
            sources = node.all_input_nodes
            if name in ("copy", "fill") and len(sources) > 1 or name in ("fill", "zero"):
                sources = sources[1:]
            if name in ("copy_", "fill_", "zero_"):
                sources = node.all_input_nodes[1:]
            written = mutated(node)
            if not is_exact(node) or any(x in self.rounded for x in sources):
                self.rounded.update([node, *written])
            why = next((self.unknown[x] for x in sources if x in self.unknown), None)
            if name in _UNINITIALISED:
                why = "uninitialised memory"
            elif own_random and is_random(node):
                why = "random numbers that kernels generate"
            elif is_random(node) and name != "native_dropout" and any(x in self.rounded for x in sources):
                why = "random numbers that depend on rounding"
            if why:
                self.unknown.update(dict.fromkeys([node, *written], why))


def mutated(node):
    """The nodes whose memory an operator writes to."""
    if node.op != "call_function" or not isinstance(node.target, torch._ops.OpOverload) or not node.target._schema.is_mutable:
        return []
    written = []
    for number, argument in enumerate(node.target._schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            value = node.args[number] if number < len(node.args) else node.kwargs.get(argument.name)
            written.extend(x for x in pytree.tree_leaves(value) if isinstance(x, torch.fx.Node))
    return written


# -- runs --------------------------------------------------------------------------------------------


class _Run(torch.fx.Interpreter):
    """Runs every node; stores the values of the nodes that are keys of `seen` there."""

    def __init__(self, gm, seen=None):
        super().__init__(gm)
        self._seen = seen

    def run_node(self, n):
        value = super().run_node(n)
        if self._seen is not None and n in self._seen:
            self._seen[n] = pytree.tree_map(lambda x: x.clone() if isinstance(x, torch.Tensor) and x.layout is torch.strided else x, value)
        return value


def eager(gm, arguments, seen=None):
    """(results, arguments afterwards) of a run by ATen; writes to `arguments`."""
    with without_modes():
        results = _Run(gm, seen).run(*arguments)
    return _listed(results), arguments


def _listed(results):
    return list(results) if isinstance(results, (list, tuple)) else [results]


def wide(gm, arguments, random_values, generator=None):
    """The same in fp64. With a `generator`, the result of each operator that rounds is perturbed by about a rounding."""
    arguments = widened(arguments)
    try:
        with without_modes():
            results = _Wide(gm, random_values, generator).run(*arguments)
    except Exception as error:
        raise NoReference(f"it cannot be run in fp64: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}") from error
    return _listed(results), arguments


class _Wide(torch.fx.Interpreter):
    def __init__(self, gm, random_values, generator):
        super().__init__(gm)
        self._random_values = random_values
        self._generator = generator

    def run_node(self, n):
        if n in self._random_values:
            return self._random(n, self._widen(self._random_values[n]))
        if n.op == "get_attr":
            return self._widen(super().run_node(n))
        if n.op != "call_function" or n.target is operator.getitem:
            return super().run_node(n)
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        rounds = self._generator is not None and not is_exact(n)
        if rounds and name_of(n) in _SUMS:
            args, kwargs = self._perturb_terms(n, args, kwargs)
        value = self._call(n, args, kwargs)
        return self._perturb_result(n, value) if rounds else value

    def _random(self, n, value):
        """The value that the eager run drew. Of a dropout only the mask is taken from that run."""
        if name_of(n) != "native_dropout":
            return value
        args, _ = self.fetch_args_kwargs_from_env(n)
        x, probability, train = args
        if train is False:
            return value
        dropped = torch.where(value[1], x / (1 - probability) if probability < 1 else 0.0, 0.0)
        return self._perturb_result(n, (dropped, value[1])) if self._generator is not None else (dropped, value[1])

    def _call(self, n, args, kwargs):
        if n.target is torch.ops.aten.view.dtype:  # reinterprets bits, which differ in fp64
            return self._in_own_types(n)
        wide_args, wide_kwargs = pytree.tree_map(lambda x: _WIDER.get(x, x) if isinstance(x, torch.dtype) else x, (args, kwargs))
        try:
            return self._widen(n.target(*wide_args, **wide_kwargs))
        except (RuntimeError, TypeError, NotImplementedError, ValueError):
            return self._in_own_types(n)

    def _widen(self, value):
        def widen(x):
            return x.to(_WIDER[x.dtype]) if isinstance(x, torch.Tensor) and x.dtype in _WIDER else x

        return pytree.tree_map(widen, value)

    def _in_own_types(self, n):
        """Runs the call in the graph's types."""
        if mutated(n):
            raise NoReference(f"{n.target} writes to memory of one type")

        def narrow(node):
            value, meta = self.env[node], node.meta.get("val")
            own = isinstance(value, torch.Tensor) and isinstance(meta, torch.Tensor) and value.dtype in _WIDE
            return value.to(meta.dtype) if own else value

        args, kwargs = torch.fx.node.map_arg((n.args, n.kwargs), narrow)
        return self._widen(n.target(*args, **kwargs))

    def _noise(self, x):
        noise = torch.randn(x.shape, generator=self._generator, dtype=torch.float64)
        return noise.to(x.device)

    def _perturb_result(self, n, value):
        metas = pytree.tree_leaves(n.meta.get("val"), is_leaf=lambda y: y is None)
        leaves, spec = pytree.tree_flatten(value, is_leaf=lambda y: y is None)

        def perturb(meta, x):
            if not isinstance(x, torch.Tensor) or x.dtype not in _WIDE or not isinstance(meta, torch.Tensor):
                return x
            return _like(x * (1 + _PERTURBATION * torch.finfo(meta.dtype).eps * self._noise(x)), x)

        return pytree.tree_unflatten([perturb(*pair) for pair in zip(metas, leaves)], spec) if len(metas) == len(leaves) else value

    def _perturb_terms(self, n, args, kwargs):
        """Perturbs the terms of a sum by a rounding times the root of their number, which bounds the error of adding them in any order."""
        sizes = [x.numel() for x in pytree.tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor) and x.dtype in _WIDE]
        meta = next((x for x in pytree.tree_leaves(n.meta.get("val")) if isinstance(x, torch.Tensor)), None)
        if not sizes or meta is None or meta.dtype not in (*_WIDER, *_WIDE):
            return args, kwargs
        terms = max(1.0, max(sizes) / max(1, min(sizes)), max(sizes) ** 0.5)
        eps = torch.finfo(torch.float64 if meta.dtype in _WIDE else torch.float32).eps

        def perturb(x):
            if not isinstance(x, torch.Tensor) or x.dtype not in _WIDE:
                return x
            return _like(x * (1 + _PERTURBATION * eps * max(1.0, terms**0.5 / 4) * self._noise(x)), x)

        return pytree.tree_map(perturb, (args, kwargs))


#: The standard deviation of a perturbation, in roundings: library functions err by up to four.
_PERTURBATION = 2.0


def _like(value, other):
    """`value` with the strides of `other`, on which views may depend."""
    result = torch.empty_strided(other.shape, other.stride(), dtype=other.dtype, device=other.device)
    return result.copy_(value) if not _overlaps(other) else value


def _overlaps(x):
    return any(size > 1 and stride == 0 for size, stride in zip(x.shape, x.stride()))
