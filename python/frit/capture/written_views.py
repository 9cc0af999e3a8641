"""Takes views out of branches, loops and subgraphs that write to them.

torch functionalises a branch that writes to a view as a call that gets the tensor and how to make the view of it (`auto_functionalized_v2`). Here the
graph makes the view before the call, and puts the view's new value into the tensor after it. The call writes to no view then, so its graphs can
return new values (`higher_order.py`). Views that may overlap stay as they are.
"""

import copy
import operator

import torch
import torch.utils._pytree as pytree
from torch._guards import detect_fake_mode
from torch._prims_common import make_contiguous_strides_for
from torch.fx.experimental.symbolic_shapes import statically_known_true, sym_eq

from .opaque import Inexpressible

_CALL = torch.ops.higher_order.auto_functionalized_v2
_WRITERS = ("cond", "while_loop", "invoke_subgraph")
_INDEX = "_base_index"
_WRONG = "it writes to a part of a tensor that torch describes wrongly"
_aten = torch.ops.aten


def views_outside(gm):
    """The graph with such views outside of its calls; the same object if it has none. The given one stays as it is."""
    if not any(_has_views(node) for node in gm.graph.find_nodes(op="call_function", target=_CALL)):
        return gm
    gm = torch.fx.GraphModule(gm, copy.deepcopy(gm.graph))
    as_strided = not any(begins_inside(one) for inner in gm.children() if isinstance(inner, torch.fx.GraphModule) for one in results_of(inner))
    for node in gm.graph.find_nodes(op="call_function", target=_CALL):
        if _has_views(node):
            try:
                _rewrite(gm.graph, node, as_strided)
            except Inexpressible:
                pass  # a Python step, as `higher_order.py` says
    return gm


def require_apart(node):
    """Raises Inexpressible if an operator that writes to views of one tensor (`auto_functionalized_v2`) may write an element through two of them.
    A plan writes each view's new value into the tensor on its own."""
    for several in _views_by_base(node):
        if any(not one.is_apart(other) for number, one in enumerate(several) for other in several[:number]):
            raise Inexpressible("it writes to views that may overlap")


def _views_by_base(node):
    views = [[] for _ in node.kwargs["_all_bases"]]
    for place in _places(node.kwargs):
        if node.kwargs[place + _INDEX] is not None:
            views[node.kwargs[place + _INDEX]].append(place)
    # What nothing else writes to may be any view.
    return [[_View(node, place) for place in several] if len(several) > 1 else [] for several in views]


def results_of(gm):
    """What a graph returns, as fake values."""
    (output,) = gm.graph.find_nodes(op="output")
    return [one.meta.get("val") if isinstance(one, torch.fx.Node) else one for one in pytree.tree_leaves(output.args[0])]


def begins_inside(value):
    """Whether a value is a tensor that may begin inside of its storage."""
    return isinstance(value, torch.Tensor) and not (type(value.storage_offset()) is int and value.storage_offset() == 0)


def _has_views(node):
    return getattr(node.args[0], "__name__", "") in _WRITERS and any(_view_keys(node.kwargs, place) for place in _places(node.kwargs))


def _places(kwargs):
    """The names of the operands that are written, with an underscore before each."""
    return [key.removesuffix(_INDEX) for key in kwargs if key.endswith(_INDEX)]


def _view_keys(kwargs, place):
    return [key for key in kwargs if key.startswith(f"{place}_") and key != place + _INDEX]


def _range_of(base, keys):
    """(dimension, first, end) of the base that a written operand is. torch counts from the beginning of the storage, but slices the base: an error of
    torch that can be undone where all numbers are known."""
    dim, *ends = (keys[f"slice_{name}"] for name in ("dim", "start", "end"))
    before = base.storage_offset()
    if _known(before == 0):
        return dim, *ends
    if any(type(one) is not int for one in (before, *ends, base.stride(dim))) or base.stride(dim) == 0:
        raise Inexpressible(_WRONG)
    return dim, *(one - before // base.stride(dim) for one in ends)


def with_true_ranges(kwargs):
    """The arguments of auto_functionalized_v2, with the ranges of the bases that the written operands are."""
    kwargs = dict(kwargs)
    for place in _places(kwargs):
        keys = {key.removeprefix(f"{place}_"): kwargs[key] for key in _view_keys(kwargs, place)}
        base = kwargs["_all_bases"][kwargs[place + _INDEX]].meta["val"] if keys else None
        # An offset counts from the beginning of the storage, and a copy of the base has another one.
        if "storage_offset" in keys and not _known(base.storage_offset() == 0):
            raise Inexpressible("it writes to a part of an argument that begins inside of its storage")
        if "slice_dim" in keys:
            _, kwargs[f"{place}_slice_start"], kwargs[f"{place}_slice_end"] = _range_of(base, keys)
    return kwargs


def _rewrite(graph, node, as_strided):
    """Replaces one call. `as_strided`: whether the graph may get operators of that name."""
    bases = node.kwargs["_all_bases"]
    views = [[] for _ in bases]
    for place in _places(node.kwargs):
        if node.kwargs[place + _INDEX] is not None:
            views[node.kwargs[place + _INDEX]].append(_View(node, place))
    for several in views:
        if any(not one.is_apart(other) for number, one in enumerate(several) for other in several[:number]):
            raise Inexpressible("it writes to views that may overlap")
    given, results = node.meta["val"], len(node.meta["val"]) - len(bases)
    if any(user.target is not operator.getitem or user.args[1] < 0 for user in node.users) or not all(views):
        raise Inexpressible("its results are read as one value")
    ordered = [view for several in views for view in several]
    if any(view.kind and view.kind[0] is _aten.as_strided.default for view in ordered) and not as_strided:
        raise Inexpressible("it writes to a view that only as_strided can make, and a graph returns a view that begins inside of its storage")
    kwargs = {key: value for key, value in node.kwargs.items() if not any(key.startswith(f"{view.place}_") for view in ordered)}
    kwargs |= {view.place + _INDEX: number for number, view in enumerate(ordered)}

    def call(target, *args, val, **kwargs):
        made = graph.call_function(target, args, kwargs)
        made.meta = {**node.meta, "val": val}
        return made

    with graph.inserting_before(node):
        kwargs["_all_bases"] = [view.before(call) for view in ordered]
        made = call(_CALL, *node.args, val=(*given[:results], *(view.new for view in ordered)), **kwargs)
        new, number = [], results
        for several, base in zip(views, bases, strict=True):
            for view in several:
                value = call(operator.getitem, made, number, val=view.new)
                base = view.after(call, base, value)
                number += 1
            new.append(base)
    for user in list(node.users):
        number = user.args[1]
        if number < results:
            user.replace_input_with(node, made)
        else:
            user.replace_all_uses_with(new[number - results])
            graph.erase_node(user)
    graph.erase_node(node)
    for one in reversed(list(made.users)):
        _erase_unread(graph, one)


def _erase_unread(graph, node):
    for user in list(node.users):
        _erase_unread(graph, user)
    if not node.users and node.op == "call_function" and (node.target is operator.getitem or node.target in _AFTER):
        graph.erase_node(node)


_AFTER = (_aten.slice_scatter.default, _aten.select_scatter.default, _aten.as_strided_scatter.default, _aten.permute.default, _aten.view.default)


class _View:
    """One operand that is written: a view of a base, or the base itself. `part`: (dimension, first, end) of the base that it holds, if it is a range
    of one dimension."""

    def __init__(self, node, place):
        kwargs = node.kwargs
        self.place = place
        self.base = kwargs["_all_bases"][kwargs[place + _INDEX]]
        keys = {key.removeprefix(f"{place}_"): kwargs[key] for key in _view_keys(kwargs, place)}
        base = self.base.meta["val"]
        self.part = None
        if not keys or "alias" in keys:
            self.kind, self.args, self.back, self.val = None, (), (), base
        elif "slice_dim" in keys:
            dim, first, end = _range_of(base, keys)
            # The branches were traced with what torch describes, which may be shorter.
            if not _known(base.storage_offset() == 0) and not _known(keys["slice_end"] <= base.shape[dim]):
                raise Inexpressible(_WRONG)
            self.kind, self.args = (_aten.slice.Tensor, _aten.slice_scatter.default), (dim, first, end)
            first, end = _value(first), _value(end)
            self.part = (dim, first, end)
            size = [end - first if number == dim else one for number, one in enumerate(base.shape)]
            self.val = self._strided(base, size, base.stride(), base.storage_offset() + first * base.stride(dim))
        else:
            self.args = tuple(keys[name] for name in ("size", "stride", "storage_offset"))
            size, stride, offset = [_value(one) for one in self.args[0]], [_value(one) for one in self.args[1]], _value(self.args[2])
            self.val = self._strided(base, size, stride, offset)
            self.kind = _aten.as_strided.default, _aten.as_strided_scatter.default
            self._simplify(base, size, stride, offset - base.storage_offset())
        strides = self.val.stride() if self.kind and self.kind[1] is _aten.permute.default else make_contiguous_strides_for(self.val.shape)
        with detect_fake_mode(base):
            self.new = base if self.kind is None else torch.empty_strided(self.val.shape, strides, dtype=base.dtype, device=base.device)

    @staticmethod
    def _strided(base, size, stride, offset):
        with detect_fake_mode(base):
            return base.as_strided(size, stride, offset)

    def _sizes_of_base(self):
        """The sizes of the base as arguments of a call; None if the graph has no node for one of them."""
        nodes = [n for n in self.base.graph.find_nodes(op="placeholder") if isinstance(n.meta.get("val"), torch.SymInt)]
        sizes, found = self.base.meta["val"].shape, []
        for size in sizes:
            found += [size] if type(size) is int else [n for n in nodes if _known(n.meta["val"] == size)][:1]
        return found if len(found) == len(sizes) else None

    def _simplify(self, base, size, stride, offset):
        """Prefers operators that are compiled to as_strided."""
        own = list(zip(size, stride))
        rest = list(zip(base.shape, base.stride()))
        for dim, (_, step) in enumerate(rest):
            if _same(own, rest[:dim] + rest[dim + 1 :]) and (index := _quotient(offset, step)) is not None:
                self.kind, self.args, self.part = (_aten.select.int, _aten.select_scatter.default), (dim, index), (dim, index, index + 1)
                return
        if not _known(offset == 0):
            return
        order = []
        for one in own:
            order += [dim for dim, other in enumerate(rest) if dim not in order and _same([one], [other])][:1]
        if len(order) == len(rest) == len(own):
            self.kind, self.args = (_aten.permute.default, _aten.permute.default), (order,)
            self.back = [order.index(dim) for dim in range(len(order))]
        elif _is_contiguous(size, stride) and _is_contiguous(base.shape, base.stride()) and _known(self.val.numel() == base.numel()):
            if (sizes := self._sizes_of_base()) is not None:
                self.kind, self.args, self.back = (_aten.view.default, _aten.view.default), (list(self.args[0]),), sizes

    def is_apart(self, other):
        """Whether two views of one base certainly share no element."""
        if self.part and other.part and self.part[0] == other.part[0]:
            return _known(self.part[2] <= other.part[1]) or _known(other.part[2] <= self.part[1])
        one, two = self.val, other.val
        return _known(_end(one) <= two.storage_offset()) or _known(_end(two) <= one.storage_offset())

    def before(self, call):
        """The node of the view."""
        return self.base if self.kind is None else call(self.kind[0], self.base, *self.args, val=self.val)

    def after(self, call, base, value):
        """The node of the base, whose value is `base` by now, after the view has got a new value."""
        if self.kind is None:
            return value
        if self.kind[0] in (_aten.permute.default, _aten.view.default):
            return call(self.kind[1], value, self.back, val=self.base.meta["val"])
        return call(self.kind[1], base, value, *self.args, val=self.base.meta["val"])


def _value(one):
    return one.meta["val"] if isinstance(one, torch.fx.Node) else one


def _known(condition):
    return statically_known_true(condition)


def _same(pairs, others):
    return len(pairs) == len(others) and all(_known(sym_eq(one, other)) for one, other in zip(pairs, others))


def _is_contiguous(size, stride):
    return _known(sym_eq(tuple(stride), tuple(make_contiguous_strides_for(size))))


def _quotient(offset, step):
    """offset / step, if that is an integer that is known."""
    if _known(offset == 0):
        return 0
    if _known(step == 0):
        return None
    number = offset // step
    if not isinstance(number, int):
        number = int(number.node.expr) if number.node.expr.is_Integer else None
    return number if number is not None and _known(number * step == offset) else None


def _end(value):
    """The first element of the storage behind those of a tensor that is not empty."""
    return value.storage_offset() + 1 + sum((size - 1) * stride for size, stride in zip(value.shape, value.stride()))
