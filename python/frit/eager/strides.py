"""Gives traced values the strides that eager's kernels give: graph results, and each `as_strided` of a result, rely on them.

Traced strides are wrong in three cases:
- Decompositions: the result is compared with what the operator itself returns, wherever an operand is not contiguous.
- Fake kernels of elementwise operators convert half types first, which makes an expanded operand contiguous.
- Some fake kernels are wrong about their own operator: EAGER_LAYOUT lists them.
Where strides differ, the result is permuted, copied and permuted back; legalisation and fusion remove this. If eager's layout has gaps or an
offset, the operator stays whole. `tests/python/eager/test_eager_strides.py` compares fake strides with eager's for all legalised operators, so that a
change in a new torch is noticed.
"""

import functools
import operator
import threading

import torch
from torch._prims_common import (
    compute_elementwise_output_logical_to_physical_perm,
    is_contiguous_for_memory_format_or_false,
    is_contiguous_or_false,
    is_non_overlapping_and_dense_or_false,
    make_channels_last_strides_for,
    make_contiguous_strides_for,
)
from torch.fx.experimental.proxy_tensor import disable_proxy_modes_tracing
from torch.fx.experimental.symbolic_shapes import guard_or_false, statically_known_true

from .promotion import operand_dtype

aten = torch.ops.aten
_nested = threading.local()


def _contiguous(_, x, *__):
    return torch.empty_like(x, memory_format=torch.contiguous_format)


def _suggested(x, *_):
    return torch.empty_like(x, memory_format=torch._prims_common.suggest_memory_format(x))


def _ldexp(x, exponent):
    """x * pow(2, exponent); pow of a Python number gives a contiguous result, pow of a tensor of another type than its own keeps the exponent's layout.
    Integers are exponents of the number itself: the result is like `x`."""
    is_integer = exponent.dtype != torch.bool and not (exponent.is_floating_point() or exponent.is_complex())
    shape = torch.broadcast_shapes(x.shape, exponent.shape)
    if x.is_floating_point() and is_integer and len(shape) == x.dim() and all(statically_known_true(a == b) for a, b in zip(x.shape, shape)):
        return torch.empty_like(x)
    is_number = not (x.is_floating_point() or x.is_complex()) or (x.dtype == torch.get_default_dtype() and exponent.is_floating_point())
    power = torch.empty_like(_contiguous(None, exponent) if is_number else exponent, dtype=torch.result_type(x.new_empty(()), exponent))
    return _pointwise(*_converted(aten.mul.Tensor, (x, power), {}))


def _rolled(x, shifts, dims=()):
    # Eager concatenates two pieces; without `dims` it rolls the flattened tensor.
    return _suggested(x) if dims else _contiguous(None, x)


def _angle(x):
    return _contiguous(None, x) if x.is_complex() else x


def _filled(x, mask, *_):
    return x.new_empty(torch.broadcast_shapes(x.shape, mask.shape))


def _unpooled(x, indices, output_size):
    return torch.empty_like(x.new_empty((*x.shape[:-2], *output_size)), memory_format=torch._prims_common.suggest_memory_format(x))


def _indexed(x, indices):
    """TensorIterator's layout for its operands: `x` with stride 0 along the indexed dims, and the indices."""
    result = aten.index.Tensor(x, indices)
    places = [dim for dim, index in enumerate(indices) if index is not None]
    tensors = torch.broadcast_tensors(*[indices[dim] for dim in places])
    if any(index.dtype in (torch.bool, torch.uint8) for index in tensors) or result.dim() < 2:
        return result
    strides = list(x.stride())
    together = places == list(range(places[0], places[-1] + 1))
    before, after = (strides[: places[0]], strides[places[-1] + 1 :]) if together else ([], [s for d, s in enumerate(strides) if d not in places])
    rank = tensors[0].dim()
    read = torch.empty_strided(result.shape, [*before, *[0] * rank, *after], device=x.device)
    spread = [index.reshape((1,) * len(before) + tuple(index.shape) + (1,) * len(after)) for index in tensors]
    return torch.empty_strided(result.shape, iterator_strides(read, *spread), dtype=x.dtype, device=x.device)


def _padded(x, pad, value=0):
    """If nothing is padded but only cropped, eager clones a view."""
    result = aten.constant_pad_nd.default(x, pad, value)
    if any(size > 0 for size in pad):
        return torch.empty_like(result, memory_format=torch._prims_common.suggest_memory_format(x))
    for number in range(len(pad) // 2):
        dim = x.dim() - 1 - number
        left, right = pad[2 * number : 2 * number + 2]
        x = x.narrow(dim, -left, x.shape[dim] + left + right)
    return torch.empty_like(x)


# operator -> a function of its arguments whose (first) result has eager's strides
EAGER_LAYOUT = {
    aten._log_softmax_backward_data.default: _contiguous,
    aten._softmax_backward_data.default: _contiguous,
    aten.angle.default: _angle,
    aten.constant_pad_nd.default: _padded,
    aten.index.Tensor: _indexed,
    aten.ldexp.Tensor: _ldexp,
    aten.log_sigmoid_forward.default: functools.partial(_contiguous, None),
    aten.pow.Scalar: _contiguous,
    aten.native_batch_norm.default: _suggested,
    aten._native_batch_norm_legit.default: _suggested,
    aten._native_batch_norm_legit.no_stats: _suggested,
    aten._native_batch_norm_legit_functional.default: _suggested,
    aten._native_batch_norm_legit_no_training.default: _suggested,
    aten.max_unpool2d.default: _unpooled,
    # Here so that it stays one operator: its decomposition would guard the lengths of the pieces.
    aten.roll.default: _rolled,
}
# Elementwise operators without torch's tag `pointwise`.
UNTAGGED_ELEMENTWISE = {
    aten.elu_backward.default,
    aten.floor_divide.default,
    aten.hardshrink_backward.default,
    aten.hardsigmoid_backward.default,
    aten.hardswish_backward.default,
    aten.hardtanh_backward.default,
    aten.leaky_relu_backward.default,
    aten.mish_backward.default,
    aten.softplus_backward.default,
    aten.softshrink_backward.default,
}
# Their kernels take the forward's tensor as the first operand.
SECOND_OPERAND_FIRST = {aten.leaky_relu_backward.default, aten.threshold_backward.default}
# The same as EAGER_LAYOUT, for operators that are decomposed.
EAGER_LAYOUT_OF_PARTS = {
    aten.binary_cross_entropy_backward.default: lambda grad, x, *_: torch.empty_like(x),
    aten.channel_shuffle.default: _suggested,
    aten.native_channel_shuffle.default: _suggested,
    aten.glu_backward.default: _contiguous,
    aten.huber_loss_backward.default: _contiguous,
    aten.log_sigmoid_backward.default: lambda grad, *_: torch.empty_like(grad),
    aten.masked_fill.Scalar: _filled,
    aten.masked_fill.Tensor: _filled,
    aten.mse_loss_backward.default: _contiguous,
    aten.native_batch_norm_backward.default: lambda grad, x, *_: _suggested(x),
    aten.smooth_l1_loss_backward.default: _contiguous,
    aten.isin.Tensor_Tensor: lambda x, *_, **__: _contiguous(None, x),
    aten.isin.Tensor_Scalar: lambda x, *_, **__: _contiguous(None, x),
}


def iterator_strides(*tensors):
    """The strides that TensorIterator (ATen/TensorIterator.cpp) gives to the result of these operands. torch's formula for fake tensors differs where
    operands are broadcast or have dimensions of one element."""
    shape = torch.broadcast_shapes(*[x.shape for x in tensors])
    rank = len(shape)
    contiguous = make_contiguous_strides_for(shape)
    if all(x.dim() == rank and all(statically_known_true(a == b) for a, b in zip(x.shape, shape)) for x in tensors):
        if all(is_contiguous_or_false(x) for x in tensors):
            return contiguous
        if rank == 4 and all(is_contiguous_for_memory_format_or_false(x, memory_format=torch.channels_last) for x in tensors):
            return make_channels_last_strides_for(shape)
        first = tensors[0].stride()
        if all(is_non_overlapping_and_dense_or_false(x) and all(statically_known_true(a == b) for a, b in zip(x.stride(), first)) for x in tensors):
            return first
    operands = [_broadcast_strides(x, shape) for x in tensors]
    order = list(range(rank - 1, -1, -1))
    for i in range(1, rank):
        inner = i
        for outer in range(i - 1, -1, -1):
            compared = _order(operands, shape, order[outer], order[inner])
            if compared > 0:
                order[outer], order[inner] = order[inner], order[outer]
                inner = outer
            elif compared < 0:
                break
    if order == list(range(rank - 1, -1, -1)):
        return contiguous
    strides, step = [0] * rank, 1
    for dim in order:
        strides[dim] = step
        step = step * shape[dim]
    return tuple(strides)


def _broadcast_strides(x, shape):
    """A broadcast dimension has stride 0; a dimension of one element that is not broadcast keeps its stride."""
    missing = len(shape) - x.dim()
    kept = (0 if _is_one(size) and not _is_one(shape[missing + dim]) else stride for dim, (size, stride) in enumerate(zip(x.shape, x.stride())))
    return [0] * missing + list(kept)


def _order(operands, shape, outer, inner):
    """1 if `outer` has to move further out than `inner`, -1 if the order may stay, 0 if no operand decides."""
    for strides in operands:
        a, b = strides[outer], strides[inner]
        if _is_zero(a) or _is_zero(b):
            continue
        if guard_or_false(a == b):
            if guard_or_false(shape[outer] > shape[inner]):
                return 1
        elif guard_or_false(a < b) or guard_or_false(b % a == 0):
            return -1
        elif guard_or_false(a > b) or guard_or_false(a % b == 0):
            return 1
    return 0


def _operands(args, kwargs):
    # 0-d tensors do not influence the order.
    return [x for x in (*args, *kwargs.values()) if isinstance(x, torch.Tensor) and x.dim()]


def _pointwise(*args, **kwargs):
    """An empty tensor with the layout that TensorIterator gives to the result of an elementwise operator."""
    tensors = _operands(args, kwargs)
    return torch.empty_strided(
        torch.broadcast_shapes(*[x.shape for x in tensors]), iterator_strides(*tensors), dtype=tensors[0].dtype, device=tensors[0].device
    )


def _iterated(op, rule, /, *args, **kwargs):
    """An elementwise operator, decomposed if it has a rule, with the strides that TensorIterator gives to its result."""
    if not _operands(args, kwargs):
        return _keeping(op, rule, None, *args, **kwargs) if rule is not None else NotImplemented

    def layout(*args, **kwargs):
        operands = _converted(op, args, kwargs)
        return _pointwise(*reversed(operands[:2]), *operands[2:]) if op in SECOND_OPERAND_FIRST else _pointwise(*operands)

    return _keeping(op, rule, layout, *args, **kwargs)


def _converted(op, args, kwargs):
    """The operands as eager's kernel reads them: one of another type than the kernel computes in is converted first, and a copy of a tensor that repeats
    elements, or has gaps, is contiguous."""
    operands = _operands(args, kwargs)
    sparse = [x for x in operands if not is_non_overlapping_and_dense_or_false(x)]
    if not sparse:
        return operands
    dtype = operand_dtype(op, args, kwargs)
    if not (dtype.is_floating_point or dtype.is_complex):
        result = op(*args, **kwargs).dtype
        dtype = result if result.is_floating_point else dtype
    return [x.to(dtype) if x.dtype != dtype and any(x is one for one in sparse) and not _selects(op, x, args) else x for x in operands]


def _selects(op, x, args):
    """Whether `x` is the condition of `where`, which has a type of its own."""
    return op is aten.where.self and x is args[0]


# These copy the whole storage of their first operand and change the copy, so the result has the operand's storage offset.
COPIES_OF_STORAGE = {
    aten.copy.default,
    aten.slice_scatter.default,
    aten.select_scatter.default,
    aten.diagonal_scatter.default,
    aten.as_strided_scatter.default,
}
# Operators live forever. Their own hash is a call of Python, which a look at every node of a graph would pay.
_COPIES_BY_ID = frozenset(map(id, COPIES_OF_STORAGE))


class EagerOffsets:
    """The storage offsets that eager's kernels give to the tensors of one graph; fake kernels of COPIES_OF_STORAGE say 0.

    `of` must be called for the nodes in the graph's order.
    """

    def __init__(self):
        # node -> eager's offset minus the fake one, in elements; only nodes where they differ
        self.beyond = {}

    def of(self, value, node):
        """The storage offset, in elements, of `value`: the fake result of a node, or one element of its results (a `getitem`)."""
        offset = value.storage_offset()
        if node is None or node.op != "call_function":
            return offset
        if id(node.target) in _COPIES_BY_ID:
            base = node.args[0]
            beyond = self._kept_offset(base) - offset
        elif self.beyond:
            maker = node.args[0] if node.target is operator.getitem else node
            base = _viewed(maker)
            beyond = self.beyond.get(base, 0)
            if base is not None:
                beyond = beyond * base.meta["val"].element_size() // value.element_size()
        else:
            return offset
        if not statically_known_true(beyond == 0):
            self.beyond[node] = beyond
        return offset + beyond

    def _kept_offset(self, node):
        x = node.meta["val"]
        # A lazily conjugated or negated tensor is resolved first, and a tensor that overlaps itself is copied without its storage.
        if x.is_conj() or x.is_neg() or any(_is_zero(stride) and not _is_one(size) for stride, size in zip(x.stride(), x.shape)):
            return 0
        return x.storage_offset() + self.beyond.get(node, 0)


def has_offset_of_argument(node):
    """Whether a result of the graph has the storage offset that an argument has in each call, whatever the trace saw: only ATen's kernel knows it."""
    if id(node.target) not in _COPIES_BY_ID:
        return False
    base = node.args[0]
    while base.op == "call_function" and _viewed(base) is not None:
        base = _viewed(base)
    return base.op == "placeholder" and _is_returned(node)


def _is_returned(node):
    """Whether the graph returns the node or a view of it."""
    return any(
        user.op == "output" or (user.op == "call_function" and (user.target is operator.getitem or _viewed(user) is node) and _is_returned(user))
        for user in node.users
    )


def _is_zero(number):
    return statically_known_true(number == 0)


def _is_one(number):
    return statically_known_true(number == 1)


def _viewed(node):
    """The node that this node's result is a view of; None if it is not a view, or has an explicit offset."""
    if not isinstance(node.target, torch._ops.OpOverload):
        return None
    if node.target is aten.as_strided.default and (len(node.args) > 3 or "storage_offset" in node.kwargs):
        return None
    for argument, value in zip(node.target._schema.arguments, node.args):
        if argument.alias_info is not None and not argument.alias_info.is_write:
            return value if isinstance(value, torch.fx.Node) else None
    return None


def _relaid(x, like):
    """`x` with the strides of `like`, which is dense."""
    with disable_proxy_modes_tracing():
        order, _ = compute_elementwise_output_logical_to_physical_perm(like)
    back = sorted(range(x.dim()), key=order.__getitem__)
    return x.permute(order).contiguous().permute(back)


def _same_layout(x, like):
    return x.dim() == like.dim() and all(
        statically_known_true(a == b) or statically_known_true(size == 1)
        for a, b, size in zip((*x.stride(), x.storage_offset()), (*like.stride(), like.storage_offset()), (*x.shape, 2))
    )


def _tensors(values):
    return [x for x in (values if isinstance(values, (tuple, list)) else (values,)) if isinstance(x, torch.Tensor)]


#: Its kernel accepts some layouts, returns another layout for others and refuses the rest, so it stays whole.
WHOLE_UNLESS_CONTIGUOUS = {aten.nll_loss2d_backward.default}


def _keeping(op, rule, layout, /, *args, **kwargs):
    """The operator, decomposed if it has a rule, with eager's strides; NotImplemented if it has to stay whole."""
    if getattr(_nested, "active", False):
        return rule(*args, **kwargs) if rule is not None else NotImplemented
    if all(is_contiguous_or_false(x) for value in (*args, *kwargs.values()) for x in _tensors(value)):
        return rule(*args, **kwargs) if rule is not None else NotImplemented
    if op in WHOLE_UNLESS_CONTIGUOUS:
        return NotImplemented
    _nested.active = True
    try:
        with disable_proxy_modes_tracing():
            wanted = (layout or op)(*args, **kwargs)
        result = rule(*args, **kwargs) if rule is not None else op(*args, **kwargs)
    finally:
        _nested.active = False
    if result is NotImplemented:
        return result
    several = isinstance(result, (tuple, list))
    results, likes = (list(result), wanted if layout is None else [wanted]) if several else ([result], [wanted])
    for i, (x, like) in enumerate(zip(results, likes)):
        if not isinstance(x, torch.Tensor) or x.dim() == 0:
            continue
        with disable_proxy_modes_tracing():  # symbolic strides of `like` have no place in the graph
            kept = _same_layout(x, like)
            dense = kept or (is_non_overlapping_and_dense_or_false(like) and statically_known_true(like.storage_offset() == 0))
        if not dense:
            return NotImplemented
        if not kept:
            results[i] = _relaid(x, like)
    if not several:
        return results[0]
    return result._make(results) if hasattr(result, "_make") else type(result)(results)


def _makes_tensors(schema):
    """Whether the results of an operator of this schema are fresh tensors."""
    return not schema.is_mutable and all(one.alias_info is None and str(one.type) == "Tensor" for one in schema.returns)


def decompositions(table):
    """OpOverload -> decomposition with eager's strides, for the entries of `table`, elementwise operators and those of EAGER_LAYOUT."""
    iterated = set(_iterated_operators())
    kept = {
        op: functools.partial(_keeping, op, rule, None)
        for op, rule in table.items()
        if isinstance(op, torch._ops.OpOverload) and op not in iterated and op not in EAGER_LAYOUT and _makes_tensors(op._schema)
    }
    elementwise = {op: functools.partial(_iterated, op, table.get(op)) for op in iterated}
    parts = {op: functools.partial(_keeping, op, table[op], layout) for op, layout in EAGER_LAYOUT_OF_PARTS.items()}
    return kept | elementwise | parts | {op: functools.partial(_keeping, op, None, layout) for op, layout in EAGER_LAYOUT.items()}


def _iterated_operators():
    """Elementwise operators of several tensors. Composite ones are left out, because the operators that they consist of decide the order."""
    for name in sorted(torch._C._dispatch_get_all_op_names()):
        namespace, _, rest = name.partition("::")
        packet, _, overload = rest.partition(".")
        if namespace != "aten" or overload.endswith("out"):
            continue
        # The schema first: an operator that torch.ops has not looked up yet costs ten times as much, and a process has 3,000.
        schema = torch._C._get_schema(f"{namespace}::{packet}", overload)
        if not _makes_tensors(schema) or len(schema.returns) != 1:
            continue
        if sum(str(argument.type) in ("Tensor", "Optional[Tensor]") for argument in schema.arguments) < 2:
            continue
        op = getattr(getattr(aten, packet), overload or "default")
        has_kernel = functools.partial(torch._C._dispatch_has_kernel_for_dispatch_key, name)
        is_composite = has_kernel("CompositeImplicitAutograd") and not has_kernel("CPU")
        if torch.Tag.pointwise in op.tags and not is_composite:
            yield op
    yield from UNTAGGED_ELEMENTWISE
