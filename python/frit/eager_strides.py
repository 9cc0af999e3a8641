"""What graphs promise about strides is what eager gives: graph results, and every `as_strided` behind an operator, mean eager's strides.

Three things break that promise. A decomposition gives its result other strides than the operator has: each is compared with what the operator
itself says, wherever an operand is not contiguous. Fake kernels of elementwise operators convert half types first, which makes an expanded
operand contiguous. And some fake kernels are wrong about their own operator: EAGER_LAYOUT names them. Where strides differ, the layout is put behind the result, as a copy in another order between two permutes, of which legalisation makes a view and
fusion nothing at all; a layout with gaps or with an offset keeps the operator whole. `tests/python/test_eager_strides.py` holds fake strides
against eager's over all operators that are legalised, so a torch that mends one of these, or breaks another, is seen.
"""

import functools
import operator
import threading

import torch
from torch._prims_common import (
    compute_elementwise_output_logical_to_physical_perm,
    compute_elementwise_output_strides,
    is_contiguous_or_false,
    is_non_overlapping_and_dense_or_false,
)
from torch.fx.experimental.proxy_tensor import disable_proxy_modes_tracing
from torch.fx.experimental.symbolic_shapes import statically_known_true

aten = torch.ops.aten
_nested = threading.local()


def _contiguous(_, x):
    return torch.empty_like(x, memory_format=torch.contiguous_format)


def _suggested(x, *_):
    return torch.empty_like(x, memory_format=torch._prims_common.suggest_memory_format(x))


def _rolled(x, shifts, dims=()):
    # Two pieces joined; over the flat tensor they are rows.
    return _suggested(x) if dims else _contiguous(None, x)


def _sum(x, y, **_):
    return x + y


def _angle(x):
    return _contiguous(None, x) if x.is_complex() else x


def _unpooled(x, indices, output_size):
    return torch.empty_like(x.new_empty((*x.shape[:-2], *output_size)), memory_format=torch._prims_common.suggest_memory_format(x))


def _indexed(x, indices):
    """As TensorIterator lays what it reads: `x` with no stride where it is indexed, and the indices."""
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
    spread = [index[(None,) * len(before) + (...,) + (None,) * len(after)].expand(result.shape) for index in tensors]
    return torch.empty_strided(result.shape, compute_elementwise_output_strides(read, *spread), dtype=x.dtype, device=x.device)


def _padded(x, pad, value=0):
    """What is only cropped is a clone of a view."""
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
    aten.angle.default: _angle,
    aten.constant_pad_nd.default: _padded,
    aten.log_sigmoid_forward.default: functools.partial(_contiguous, None),
    aten.pow.Scalar: _contiguous,
    aten.heaviside.default: _sum,
    aten.index.Tensor: _indexed,
    aten.logaddexp.default: _sum,
    aten.logaddexp2.default: _sum,
    aten.logical_and.default: _sum,
    aten.logical_or.default: _sum,
    aten.logical_xor.default: _sum,
    aten.div.Tensor_mode: _sum,
    aten.floor_divide.default: _sum,
    aten.native_batch_norm.default: _suggested,
    aten._native_batch_norm_legit.default: _suggested,
    aten._native_batch_norm_legit.no_stats: _suggested,
    aten._native_batch_norm_legit_functional.default: _suggested,
    aten._native_batch_norm_legit_no_training.default: _suggested,
    aten.max_unpool2d.default: _unpooled,
    # As an operator of its own, and not as pieces whose lengths would be guarded.
    aten.roll.default: _rolled,
}
# The same for operators that are decomposed.
EAGER_LAYOUT_OF_PARTS = {aten.native_batch_norm_backward.default: lambda grad, x, *_: _suggested(x)}


def _pointwise(*args, **kwargs):
    """As TensorIterator lays the result of an elementwise operator."""
    tensors = torch.broadcast_tensors(*[x for x in (*args, *kwargs.values()) if isinstance(x, torch.Tensor) and x.dim()])
    return torch.empty_strided(tensors[0].shape, compute_elementwise_output_strides(*tensors), dtype=tensors[0].dtype, device=tensors[0].device)


def _convert_halves(op, *args, **kwargs):
    """A decomposition of elementwise operators that changes nothing but the strides where a half operand is expanded."""
    if getattr(_nested, "active", False):
        return NotImplemented
    tensors = [x for x in (*args, *kwargs.values()) if isinstance(x, torch.Tensor)]
    expanded = [x for x in tensors if x.dtype in (torch.bfloat16, torch.float16) and _is_expanded(x)]
    if not expanded or not any(x.dim() > 1 and not _is_expanded(x) and not is_contiguous_or_false(x) for x in tensors):
        return NotImplemented
    return _keeping(op, None, _pointwise, *args, **kwargs)


def _is_expanded(x):
    return any(type(stride) is int and stride == 0 for stride in x.stride())


# These copy the whole storage of their first operand and change the copy: the result lies in it as the operand does in its own.
COPIES_OF_STORAGE = {
    aten.copy.default,
    aten.slice_scatter.default,
    aten.select_scatter.default,
    aten.diagonal_scatter.default,
    aten.as_strided_scatter.default,
}


class EagerOffsets:
    """Where the tensors of one graph begin in their storage as eager's kernels make them; fake kernels of COPIES_OF_STORAGE say 0.

    Nodes are asked for in the graph's order.
    """

    def __init__(self):
        # node -> what eager's offset is beyond the fake one; in elements, and only where there is a difference
        self.beyond = {}

    def of(self, value, node):
        """The storage offset of `value`, the fake result of a node or an element of it (a `getitem` of that node), in elements."""
        offset = value.storage_offset()
        if node is None or node.op != "call_function":
            return offset
        if node.target in COPIES_OF_STORAGE:
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
        # A tensor that is conjugated or negated lazily is resolved first, one that overlaps itself is copied as any other.
        if x.is_conj() or x.is_neg() or any(_is_zero(stride) and not _is_one(size) for stride, size in zip(x.stride(), x.shape)):
            return 0
        return x.storage_offset() + self.beyond.get(node, 0)


def _is_zero(number):
    return statically_known_true(number == 0)


def _is_one(number):
    return statically_known_true(number == 1)


def _viewed(node):
    """The node whose tensor this one's result is a view of, None if it is none or begins at a place of its own."""
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


def _keeping(op, rule, layout, *args, **kwargs):
    """The operator by its decomposition, or as it is where it has none, with eager's strides; NotImplemented where it has to stay whole."""
    if getattr(_nested, "active", False):
        return rule(*args, **kwargs) if rule is not None else NotImplemented
    if all(is_contiguous_or_false(x) for value in (*args, *kwargs.values()) for x in _tensors(value)):
        return rule(*args, **kwargs) if rule is not None else NotImplemented
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
    return type(result)(results) if several else results[0]


def _makes_tensors(op):
    """Whether the operator's results are tensors of their own."""
    schema = op._schema
    return not schema.is_mutable and all(one.alias_info is None and str(one.type) == "Tensor" for one in schema.returns)


def decompositions(table):
    """OpOverload -> decomposition with eager's strides, for the entries of `table` and for those of EAGER_LAYOUT."""
    kept = {
        op: functools.partial(_keeping, op, rule, None)
        for op, rule in table.items()
        if isinstance(op, torch._ops.OpOverload) and op not in EAGER_LAYOUT and _makes_tensors(op)
    }
    halves = {op: functools.partial(_convert_halves, op) for op in _pointwise_operators() if op not in table}
    parts = {op: functools.partial(_keeping, op, table[op], layout) for op, layout in EAGER_LAYOUT_OF_PARTS.items()}
    return kept | halves | parts | {op: functools.partial(_keeping, op, None, layout) for op, layout in EAGER_LAYOUT.items()}


def _pointwise_operators():
    """Those with several operands."""
    for name in sorted(torch._C._dispatch_get_all_op_names()):
        namespace, _, rest = name.partition("::")
        packet, _, overload = rest.partition(".")
        if namespace != "aten" or overload.endswith("out"):
            continue
        op = getattr(getattr(aten, packet), overload or "default")
        several = sum(str(argument.type) in ("Tensor", "Optional[Tensor]") for argument in op._schema.arguments) > 1
        if several and torch.Tag.pointwise in op.tags and _makes_tensors(op) and len(op._schema.returns) == 1:
            yield op
