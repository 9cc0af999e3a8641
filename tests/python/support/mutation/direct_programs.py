"""One program for each operator that has a rule and that programs rarely call by this name: twins of other operators (`clip`, `swapaxes`), forms with
numbers in place of tensors (`where.ScalarSelf`), and operators that torch decomposes. `mutants` runs them as exported programs, beside `edge_programs`."""

import torch
from torch._inductor import inductor_prims

from .edge_programs import NAN, equal_rows, far_rows, floats, integers, square, wide_rows

aten, prims = torch.ops.aten, torch.ops.prims


def small():
    return torch.tensor([[1.0, -2.0, 0.5, 3.0], [0.25, 7.0, -1.5, 2.0], [4.0, -0.75, 5.0, -6.0]])


def counts():
    return torch.tensor([0, 1, 5, 31, 63, 64, 65, -1])


def steps():
    """Tenths, whose multiples are rounded down and up."""
    return torch.cat([torch.arange(-60, 60) * 0.1, floats().flatten()])


def zeros():
    return torch.tensor([0.0, -0.0] * 9)


def rows():
    return torch.tensor([0, 2, 2])


def places():
    return torch.tensor([[0, 2, 1, 0], [1, 0, 2, 2]])


def volume(*shape):
    count = torch.Size(shape).numel()
    return (torch.arange(float(count)) * 7 % 11 - 5).view(shape)


def dropped(operator):
    """Evaluation and a probability of zero: what is left of a dropout without random numbers."""
    return lambda x: [operator(x, 0.5, False) * 2, operator(x, 0.0, True) * 2]


def attention(q, k, v, mask):
    operator = aten.scaled_dot_product_attention.default
    return [operator(q, k, v), operator(q, k, v, mask), operator(q, k, v, None, 0.0, True), operator(q, k, v, None, 0.0, False, scale=0.5)]


def put(operator):
    return lambda x, i, many, y: [operator(x, [i], y, True), operator(x, [i - 3], y[:1], True), operator(x, [many], y[0], True)]


def normed(x):
    return aten.instance_norm.default(x, None, None, None, None, True, 0.1, 1e-5, False)


def not_all_numbers():
    return torch.tensor([[[1.0, NAN, 2.0], [1.0, float("inf"), 2.0], [1e-9, 0.0, 0.0]]])


#: Deviations along rows.
DEVIATIONS = {
    "std.dim": lambda x: [aten.std.dim(x, [1]), aten.std.dim(x, [1], False, True)],
    "std_mean.correction": lambda x: [y for n in (0, 1, 2, 3, 5) for y in aten.std_mean.correction(x, [1], correction=n)],
    "std_mean.dim": lambda x: [*aten.std_mean.dim(x, [1]), *aten.std_mean.dim(x, [1], False, True)],
}

def bitwise(name, form):
    call = getattr(getattr(aten, name), form)
    if form == "Scalar_Tensor":
        return lambda x: call(6, x), [integers()]
    if form == "Tensor":
        return call, [integers(), integers().flip(0)]
    return lambda x: call(x, 6), [integers()]


def shift(name, form):
    """One count at a time where the counts are a tensor's, because vector and scalar instructions differ for counts out of range."""
    call = getattr(getattr(aten, name), form)
    if form == "Scalar_Tensor":
        return lambda n: [call(x, n[i]) for x in (-6, 5) for i in range(8)], [counts()]
    return lambda x: [call(x, 3), call(x, 63), call(x, 64)], [integers()]


#: operator, and what is special about the tensors -> (program, its tensors)
PROGRAMS = {
    **{f"aten.__{name}__.{form}": bitwise(f"__{name}__", form) for name in ("and", "or", "xor") for form in ("Scalar", "Tensor")},
    **{f"aten.bitwise_{name}.{form}": bitwise(f"bitwise_{name}", form) for name in ("and", "or", "xor") for form in ("Scalar", "Scalar_Tensor")},
    **{f"aten.{name}.Scalar": shift(name, "Scalar") for name in ("__lshift__", "__rshift__")},
    **{f"aten.bitwise_{name}_shift.{form}": shift(f"bitwise_{name}_shift", form) for name in ("left", "right") for form in ("Scalar_Tensor", "Tensor_Scalar")},
    "aten._assert_tensor_metadata.default": (lambda x: [aten._assert_tensor_metadata.default(x, dtype=torch.float32), x + 1][1], [small()]),
    "aten._reshape_alias.default": (lambda x: aten._reshape_alias.default(x, [2, 6], [6, 1]) * 2, [small()]),
    "aten._reshape_copy.default": (lambda x: aten._reshape_copy.default(x, [2, 6]), [small()]),
    "aten._unsafe_view.default": (lambda x: aten._unsafe_view.default(x, [2, 6]) * 2, [small()]),
    "aten._weight_norm.default": (
        lambda v, g: [aten._weight_norm.default(v, g), aten._weight_norm.default(v, g[:1, :1], -1)], [small(), torch.tensor([[2.0], [0.5], [-1.0]])],
    ),
    "aten.adaptive_avg_pool2d.default": (lambda x: [aten.adaptive_avg_pool2d.default(x, n) for n in ([1, 1], [2, 3], [6, 8])], [volume(2, 3, 6, 8)]),
    "aten.adaptive_avg_pool3d.default": (lambda x: [aten.adaptive_avg_pool3d.default(x, n) for n in ([1, 1, 1], [2, 1, 3])], [volume(1, 2, 4, 3, 6)]),
    "aten.alias.default": (lambda x: aten.alias.default(x) * 2, [small()]),
    "aten.alpha_dropout.default": (dropped(aten.alpha_dropout.default), [small()]),
    "aten.dropout.default": (dropped(aten.dropout.default), [small()]),
    "aten.feature_dropout.default": (dropped(aten.feature_dropout.default), [volume(2, 3, 2, 2)]),
    "aten.clamp_max.default": (lambda x, y: [aten.clamp_max.default(x, 0.5), 1 / aten.clamp_max.default(y, 0.0)], [floats(), zeros()]),
    "aten.clip.Tensor": (
        lambda x, low: [aten.clip.Tensor(x, low, low + 2), aten.clip.Tensor(x, low), aten.clip.Tensor(x, None, low)],
        [floats(), floats().flip(0) - 1],
    ),
    "aten.clip.default": (
        lambda x, y: [1 / aten.clip.default(y, 0.0, 1.0), aten.clip.default(x, -1, 2.5), aten.clip.default(x, 0.5), aten.clip.default(x, None, 0.5)],
        [floats(), zeros()],
    ),
    "aten.clone.default": (lambda x: [aten.clone.default(x), aten.clone.default(x.t(), memory_format=torch.contiguous_format)], [small()]),
    "aten.concat.default": (lambda x, y: [aten.concat.default([x, y]), aten.concat.default([x, y], 1)], [small(), small() * 2]),
    "aten.contiguous.default": (lambda x: [aten.contiguous.default(x.t()), aten.contiguous.default(x.t()) * 2], [small()]),
    "aten.conv3d.default": (
        lambda x, w, b: [aten.conv3d.default(x, w), aten.conv3d.default(x, w, b, [2, 1, 1], [1, 0, 1])], [volume(1, 2, 4, 4, 4), volume(3, 2, 2, 2, 2), volume(3)],
    ),
    "aten.detach.default": (lambda x: aten.detach.default(x) * 2, [small()]),
    "aten.div.Scalar_mode": (
        lambda x, i: [aten.div.Scalar_mode(y, n, rounding_mode=mode) for y in (x, i) for n in (0.1, -2) for mode in (None, "floor", "trunc")],
        [steps(), integers()],
    ),
    "aten.empty_like.default": (lambda x: aten.zero.default(aten.empty_like.default(x)), [small()]),
    "aten.empty_strided.default": (lambda x: aten.zero.default(aten.empty_strided.default([3, 4], [1, 3])) + x, [small()]),
    "aten.new_empty.default": (lambda x: aten.zero.default(aten.new_empty.default(x, [3, 4])) + x, [small()]),
    "aten.fill.Tensor": (lambda x, y: aten.fill.Tensor(x, y), [small(), torch.tensor(2.5)]),
    "aten.fix.default": (lambda x: aten.fix.default(x), [steps()]),
    "aten.floor_divide.Scalar": (
        lambda x, i: [aten.floor_divide.Scalar(x, 0.1), aten.floor_divide.Scalar(x, -2), aten.floor_divide.Scalar(i, -2)], [steps(), integers()],
    ),
    "aten.remainder.Scalar_Tensor": (
        lambda x, i: [aten.remainder.Scalar_Tensor(5, x), aten.remainder.Scalar_Tensor(-5.5, x), aten.remainder.Scalar_Tensor(-5, i | 1)],
        [floats(), integers()],
    ),
    "aten.true_divide.Scalar": (lambda x, i: [aten.true_divide.Scalar(x, 2.5), aten.true_divide.Scalar(i, 3)], [floats(), integers()]),
    **{f"aten.instance_norm.default, {which}": (normed, [leaf]) for which, leaf in {"plain": volume(2, 3, 5), "NaN": not_all_numbers()}.items()},
    # Eager's result has one digit here; frit's has six.
    **{
        f"aten.instance_norm.default, {which}": (lambda x: (normed(x) * 10).round(), [leaf])
        for which, leaf in {"far": far_rows().view(1, 3, 4), "wide": wide_rows().view(1, 3, 9)}.items()
    },
    "aten.instance_norm.default, running statistics": (
        lambda x, w: aten.instance_norm.default(x, w, w, w, w.abs(), False, 0.1, 0.5, False), [volume(2, 3, 5), torch.tensor([1.0, 2.0, -0.5])],
    ),
    "aten.lift_fresh_copy.default": (lambda x: aten.lift_fresh_copy.default(x), [small()]),
    "aten.moveaxis.int": (lambda x: aten.moveaxis.int(x, 0, -1) * 2, [volume(2, 3, 4)]),
    "aten.moveaxis.intlist": (lambda x: aten.moveaxis.intlist(x, [0, 1], [2, 0]) * 2, [volume(2, 3, 4)]),
    "aten.movedim.int": (lambda x: aten.movedim.int(x, 0, -1) * 2, [volume(2, 3, 4)]),
    "aten.nll_loss.default": (
        lambda x, i, w: [aten.nll_loss.default(x, i), aten.nll_loss.default(x, i, w, 2), aten.nll_loss.default(x, i, w, 1, 1), aten.nll_loss.default(x, i, None, 0, 1)],
        [small(), torch.tensor([0, 3, 1]), torch.tensor([1.0, 2.0, 0.5, 3.0])],
    ),
    "aten.nll_loss.default, negative": (lambda x, i: aten.nll_loss.default(x, i) * 2, [square(), torch.tensor([0, -1, 1])]),
    "aten.nll_loss2d_forward.default, negative": (
        lambda x, i: aten.nll_loss2d_forward.default(x, i, None, 1, -100)[0] * 2, [volume(2, 4, 1, 2), torch.tensor([[[0, -1]], [[1, 2]]])],
    ),
    "aten.nll_loss2d_forward.default": (
        lambda x, i, w: [y for r in range(3) for y in aten.nll_loss2d_forward.default(x, i, w, r, 1)],
        [volume(2, 4, 2, 2), torch.tensor([[[0, 3], [1, 2]], [[2, 1], [0, 3]]]), torch.tensor([1.0, 2.0, 0.5, 3.0])],
    ),
    "aten.ravel.default": (lambda x: aten.ravel.default(x.t()) * 2, [small()]),
    "aten.reshape_as.default": (lambda x, y: aten.reshape_as.default(x, y) * 2, [small(), volume(2, 6)]),
    "aten.view_as.default": (lambda x, y: aten.view_as.default(x, y) * 2, [small(), volume(2, 6)]),
    "aten.scaled_dot_product_attention.default": (attention, [*(small().view(1, 1, 3, 4) * s for s in (0.5, 0.25, 1)), torch.tensor([[True, False, True]] * 3)]),
    "aten.select_copy.int": (lambda x: [aten.select_copy.int(x, 0, 1), aten.select_copy.int(x, 1, -1)], [small()]),
    "aten.slice_copy.Tensor": (lambda x: [aten.slice_copy.Tensor(x, 0, 1), aten.slice_copy.Tensor(x, 1, 0, 3, 2)], [small()]),
    "aten.split.sizes": (lambda x: [y * 2 for y in aten.split.sizes(x, [1, 3], 1)], [small()]),
    **{
        f"aten.{name}, {which}": (lambda x, call=call: call(x), [leaf])
        for which, leaf in {"square": square(), "wide": wide_rows(), "far": far_rows(), "equal": equal_rows(), "NaN": torch.tensor([[1.0, NAN, 2.0], [1.0] * 3])}.items()
        for name, call in DEVIATIONS.items()
    },
    "aten.swapaxes.default": (lambda x: aten.swapaxes.default(x, 0, -1) * 2, [volume(2, 3, 4)]),
    "aten.swapdims.default": (lambda x: aten.swapdims.default(x, 0, -1) * 2, [volume(2, 3, 4)]),
    "aten.to.dtype_layout": (lambda x: aten.to.dtype_layout(x, dtype=torch.float64), [small()]),
    "aten.to.other": (lambda x, y: aten.to.other(x, y), [small(), integers()]),
    "aten.type_as.default": (lambda x, y: aten.type_as.default(x, y), [small(), integers()]),
    "aten.where.Scalar": (lambda x: [aten.where.Scalar(x > 0.5, 2.5, -1.0), aten.where.Scalar(x > 0.5, 2, 3)], [floats()]),
    "aten.where.ScalarOther": (lambda x: aten.where.ScalarOther(x > 0.5, x, -1.5), [floats()]),
    "aten.where.ScalarSelf": (lambda x: aten.where.ScalarSelf(x > 0.5, -1.5, x), [floats()]),
    "prims.clone.default": (lambda x: prims.clone.default(x), [small()]),
    "prims.convert_element_type.default": (
        lambda x: [prims.convert_element_type.default(x, dtype) for dtype in (torch.float64, torch.int32)], [small()],
    ),
    "prims.fma.default": (lambda x, y: [inductor_prims.fma(x, y, x + y), inductor_prims.fma(x, x + 0.1, -(x * (x + 0.1)))], [small(), small() * 1.1]),
    "prims.iota.default": (
        lambda x: prims.iota.default(4, start=3, step=2, dtype=torch.int64, device=torch.device("cpu"), requires_grad=False) * x, [small()],
    ),
    "prims.view_of.default": (lambda x: prims.view_of.default(x) * 2, [small()]),
}  # fmt: skip

#: The same for GPUs alone, with the option `deterministic`: rows are then sorted however few they are.
GPU = {
    "aten._unsafe_index_put.default": (put(aten._unsafe_index_put.default), [small(), rows(), places(), small() * 2]),
    "aten.index_put.default": (put(aten.index_put.default), [small(), rows(), places(), small() * 2]),
    "aten.cumprod.default": (lambda x: [aten.cumprod.default(x, 1), aten.cumprod.default(x, 0, dtype=torch.float64)], [small().repeat(40, 2)]),
    "aten.cumsum.default": (
        lambda x, i: [aten.cumsum.default(x, 1), aten.cumsum.default(i, 0), aten.cumsum.default(x, 0, dtype=torch.float64)],
        [small().repeat(40, 2), integers().repeat(20, 1)],
    ),
    "aten.embedding_dense_backward.default": (
        lambda x, i: [
            1 / aten.embedding_dense_backward.default(x * -0.0, i, 4, -1, False),
            aten.embedding_dense_backward.default(x, i, 4, -1, False),
            aten.embedding_dense_backward.default(x, i, 4, 2, False),
        ],
        [volume(2, 4, 3), places()],
    ),
    "aten.index_add.default": (
        lambda x, i, y: [aten.index_add.default(x, 0, i, y), aten.index_add.default(x, 0, i, y, alpha=2.5)], [volume(3, 4), rows(), small()],
    ),
    "aten.index_add.default, negative": (lambda x, i, y: aten.index_add.default(x, 0, i, y), [volume(3, 4), rows() - 1, small()]),
    **{
        f"aten.{name}, negative": (
            lambda x, i, y, call=call: call(x, 0, i[:, None].expand(3, 4), y), [volume(3, 4), rows() - 1, small()],
        )
        for name, call in {"scatter_add.default": aten.scatter_add.default, "scatter_reduce.two": lambda *x: aten.scatter_reduce.two(*x, "sum")}.items()
    },
    "aten.scatter_add.default": (lambda x, i, y: aten.scatter_add.default(x, 0, i[:, None].expand(3, 4), y), [volume(3, 4), rows(), small()]),
    "aten.scatter_reduce.two": (
        lambda x, i, y: [aten.scatter_reduce.two(x, 0, i[:, None].expand(3, 4), y, how) for how in ("sum", "amax")], [volume(3, 4), rows(), small()],
    ),
}  # fmt: skip
