"""Each overload of the operators that frit promises to legalise has a rule, and each such rule has a call here, compared with eager.

The overloads are those in torch's schemas that frit's decompositions leave; test_exported_programs.py covers composite
ones. A call is exported alone, so that it is not decomposed.
"""

import json
import os
import subprocess
from pathlib import Path

import checker
import pytest
import torch
from exported import Function, compiled

from frit.eager.decompositions import decomposition_table

ROOT = Path(__file__).resolve().parents[3]
TOOL = Path(os.environ.get("FRIT_BUILD_DIR", ROOT / "build")) / "bin" / "frit-opt"

PROMISED = """
add sub mul div neg abs sign reciprocal rsqrt sqrt exp exp2 expm1 log log2 log1p log10 sin cos tan tanh sinh cosh asin acos atan
asinh acosh atanh atan2 sigmoid erf erfc lgamma gelu relu hardtanh silu leaky_relu elu softplus pow clamp maximum minimum fmod remainder floor ceil trunc
round where masked_fill eq ne lt le gt ge logical_and logical_or logical_not logical_xor bitwise_and bitwise_or bitwise_xor
bitwise_not bitwise_left_shift bitwise_right_shift isnan isinf lerp addcmul addcdiv _to_copy
gelu_backward hardtanh_backward silu_backward leaky_relu_backward elu_backward softplus_backward tanh_backward sigmoid_backward
threshold_backward
full full_like zeros ones scalar_tensor arange fill copy clone alias lift_fresh_copy new_empty_strided empty empty_like
empty_strided empty_permuted
view expand permute transpose t unsqueeze squeeze select slice split split_with_sizes unbind as_strided flip roll cat stack repeat
constant_pad_nd slice_scatter select_scatter scatter
embedding gather index_select index
sum mean prod amax amin max min argmax argmin any all var var_mean std logsumexp linalg_vector_norm _softmax _log_softmax
_softmax_backward_data _log_softmax_backward_data native_layer_norm native_layer_norm_backward native_group_norm
_native_batch_norm_legit_functional _native_batch_norm_legit_no_training nll_loss_forward nll_loss_backward
tril triu
""".split()

EXCUSED = {
    "aten.scatter.reduce": "a write with a combination",
    "aten.scatter.value_reduce": "a write with a combination",
    "aten.view.dtype": "bytes read as another dtype",
}

torch.manual_seed(0)
X, Y = torch.rand(4, 6) + 0.1, torch.rand(4, 6) + 0.2
INTS, MASK, ROW = torch.arange(24).view(4, 6) - 9, torch.arange(24).view(4, 6) % 3 == 0, torch.rand(6)
INDEX, CLASSES = torch.tensor([[1], [0], [5], [2]]), torch.tensor([1, 0, -100, 5])
IMAGE, CHANNELS = torch.rand(2, 6, 5), torch.rand(6) + 0.5
F32 = torch.float32


def elementwise(*names):
    return {f"aten.{name}.default": (X * 0.9,) for name in names}


CALLS = {
    **elementwise(*"""neg abs sign reciprocal rsqrt sqrt exp exp2 expm1 log log2 log1p log10 sin cos tan tanh sinh cosh asin acos
        atan asinh atanh sigmoid erf erfc lgamma gelu relu hardtanh silu leaky_relu elu softplus floor ceil trunc round logical_not isnan isinf
        clone alias lift_fresh_copy empty_like t sum mean prod max min any all _to_copy""".split()),
    **{f"aten.{op}.Tensor": (X, Y) for op in "add sub mul div fmod remainder eq ne lt le gt ge".split()},
    **{f"aten.{op}.Scalar": (X, 0.4) for op in "add sub mul div fmod remainder eq ne lt le gt ge".split()},
    **{f"aten.{op}.default": (X, Y) for op in "atan2 maximum minimum logical_and logical_or logical_xor".split()},
    **{f"aten.bitwise_{op}.Tensor": (INTS, INTS + 3) for op in ("and", "or", "xor")},
    **{f"aten.bitwise_{op}.Scalar": (INTS, 5) for op in ("and", "or", "xor")},
    **{f"aten.bitwise_{op}.Scalar_Tensor": (5, INTS) for op in ("and", "or", "xor")},
    **{f"aten.bitwise_{op}_shift.Tensor": (INTS, INTS.abs() % 5) for op in ("left", "right")},
    **{f"aten.bitwise_{op}_shift.Tensor_Scalar": (INTS, 2) for op in ("left", "right")},
    **{f"aten.bitwise_{op}_shift.Scalar_Tensor": (7, INTS.abs() % 5) for op in ("left", "right")},
    **{f"aten.{op}_backward.default": (X, Y) for op in ("gelu", "silu", "tanh", "sigmoid")},
    "aten.acosh.default": (X + 1,),
    "aten.bitwise_not.default": (INTS,),
    "aten.div.Tensor_mode": (X, Y, dict(rounding_mode="floor")),
    "aten.div.Scalar_mode": (X, 0.3, dict(rounding_mode="trunc")),
    "aten.remainder.Scalar_Tensor": (0.7, X),
    "aten.pow.Tensor_Tensor": (X, Y),
    "aten.pow.Tensor_Scalar": (X, 2.5),
    "aten.pow.Scalar": (1.5, X),
    "aten.clamp.default": (X, 0.2, 0.8),
    "aten.clamp.Tensor": (X, Y, None),
    "aten.where.self": (MASK, X, Y),
    "aten.masked_fill.Scalar": (X, MASK, 2.0),
    "aten.masked_fill.Tensor": (X, MASK, torch.tensor(2.0)),
    "aten.lerp.Scalar": (X, Y, 0.3),
    "aten.lerp.Tensor": (X, Y, ROW.expand(4, 6)),
    "aten.addcmul.default": (X, Y, Y),
    "aten.addcdiv.default": (X, Y, Y),
    "aten.round.decimals": (X, dict(decimals=1)),
    "aten.hardtanh_backward.default": (X, Y, 0.0, 0.5),
    "aten.leaky_relu_backward.default": (X, Y - 0.5, 0.1, False),
    "aten.elu_backward.default": (X, 1.0, 1.0, 1.0, False, Y - 0.5),
    "aten.softplus_backward.default": (X, Y, 1.0, 20.0),
    "aten.threshold_backward.default": (X, Y, 0.5),
    "aten.full.default": ([2, 3], 1.5),
    "aten.full_like.default": (X, 2),
    "aten.zeros.default": ([2, 3],),
    "aten.ones.default": ([2, 3],),
    "aten.scalar_tensor.default": (2.5,),
    "aten.arange.default": (7,),
    "aten.arange.start": (1, 7),
    "aten.arange.start_step": (1, 7, 2),
    "aten.fill.Scalar": (X, 3),
    "aten.fill.Tensor": (X, torch.tensor(3.0)),
    "aten.copy.default": (X, ROW),
    "aten.new_empty_strided.default": (X, [0, 3], [3, 1]),
    "aten.empty.memory_format": ([0, 3],),
    "aten.empty_strided.default": ([0, 3], [3, 1]),
    "aten.empty_permuted.default": ([0, 3], [0, 1]),
    "aten.empty_like.default": (X[:0],),
    "aten.view.default": (X, [6, 4]),
    "aten.expand.default": (ROW, [4, 6]),
    "aten.permute.default": (X, [1, 0]),
    "aten.transpose.int": (X, 0, 1),
    "aten.unsqueeze.default": (X, 1),
    "aten.squeeze.default": (X[:1],),
    "aten.squeeze.dim": (X[:1], 0),
    "aten.squeeze.dims": (X[:1], [0]),
    "aten.select.int": (X, 1, -2),
    "aten.slice.Tensor": (X, 1, 1, 5, 2),
    "aten.split.Tensor": (X, 2, 1),
    "aten.split_with_sizes.default": (X, [1, 5], 1),
    "aten.unbind.int": (X,),
    "aten.as_strided.default": (X, [3, 2], [2, 4]),
    "aten.flip.default": (X, [1]),
    "aten.roll.default": (X, [2], [1]),
    "aten.cat.default": ([X, Y], 1),
    "aten.stack.default": ([X, Y], 1),
    "aten.repeat.default": (X, [2, 1]),
    "aten.constant_pad_nd.default": (X, [1, -2, 0, 3], 7.0),
    "aten.slice_scatter.default": (X, Y[:, :2], 1, 1, 3),
    "aten.select_scatter.default": (X, ROW, 0, 2),
    "aten.scatter.value": (X, 1, INDEX, -1.0),
    "aten.scatter.src": (X, 1, INDEX, Y),
    "aten.embedding.default": (X, INDEX % 4),
    "aten.gather.default": (X, 1, INDEX),
    "aten.index_select.default": (X, 1, INDEX[:, 0]),
    "aten.index.Tensor": (X, [INDEX % 4, INDEX[:, 0]]),
    "aten.sum.dim_IntList": (X, [1]),
    "aten.mean.dim": (X, [1], True),
    "aten.prod.dim_int": (X, 1),
    "aten.amax.default": (X, [1]),
    "aten.amin.default": (X, [0]),
    "aten.max.dim": (X, 1),
    "aten.min.dim": (X, 1),
    "aten.argmax.default": (X, 1),
    "aten.argmin.default": (X, 0),
    "aten.any.dim": (MASK, 1),
    "aten.any.dims": (MASK, [0, 1]),
    "aten.all.dim": (MASK, 1),
    "aten.all.dims": (MASK, [0]),
    "aten.var.correction": (X, [1]),
    "aten.var_mean.correction": (X, [1]),
    "aten.std.correction": (X, [1]),
    "aten.logsumexp.default": (X, [1]),
    "aten.linalg_vector_norm.default": (X, 2, [1]),
    "aten._softmax.default": (X, 1, False),
    "aten._log_softmax.default": (X, 1, False),
    "aten._softmax_backward_data.default": (X, Y, 1, F32),
    "aten._log_softmax_backward_data.default": (X, Y, 1, F32),
    "aten.native_layer_norm.default": (X, [6], ROW, ROW, 1e-5),
    "aten.native_layer_norm_backward.default": (X, Y, [6], Y.mean(1, True), Y.std(1, keepdim=True), ROW, ROW, [True, True, True]),
    "aten.native_group_norm.default": (IMAGE, CHANNELS, CHANNELS, 2, 6, 5, 3, 1e-5),
    "aten._native_batch_norm_legit_functional.default": (IMAGE, CHANNELS, CHANNELS, CHANNELS, CHANNELS, True, 0.1, 1e-5),
    "aten._native_batch_norm_legit_no_training.default": (IMAGE, CHANNELS, CHANNELS, CHANNELS, CHANNELS, 0.1, 1e-5),
    "aten.nll_loss_forward.default": (X, CLASSES, None, 1, -100),
    "aten.nll_loss_backward.default": (X[0, 0], X, CLASSES, None, 1, -100, torch.tensor(3.0)),
    "aten.tril.default": (X,),
    "aten.triu.default": (X, 1),
}


def promised_overloads():
    decomposed = set(map(str, decomposition_table()))
    found = set()
    for schema in torch._C._jit_get_all_schemas():
        base, overload = schema.name.removeprefix("aten::"), schema.overload_name or "default"
        if not schema.name.startswith("aten::") or base not in PROMISED or "Dimname" in str(schema):
            continue
        if any(argument.is_out for argument in schema.arguments):
            continue
        name = f"aten::{base}" + (f".{schema.overload_name}" if schema.overload_name else "")
        if not torch._C._dispatch_has_kernel(name):
            continue  # an overload for scalars of TorchScript
        if torch._C._dispatch_has_kernel_for_dispatch_key(name, "CompositeImplicitAutograd"):
            continue
        full = f"aten.{base}.{overload}"
        # frit's own decompositions keep the operator and only correct its strides.
        if full not in decomposed or full in ("aten.pow.Scalar", "aten.div.Tensor_mode"):
            found.add(full)
    return found


def rules():
    command = [TOOL, "--frit-legalize-aten=list-rules=true", "/dev/null", "-o", "/dev/null"]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


def test_every_promised_overload_has_a_rule_and_a_call():
    promised, known = promised_overloads() - set(EXCUSED), rules()
    assert len(promised) > 120
    assert not promised - known, f"without a rule: {sorted(promised - known)}"
    assert not promised - set(CALLS), f"without a call: {sorted(promised - set(CALLS))}"
    assert not set(CALLS) - known, f"calls without a rule: {sorted(set(CALLS) - known)}"


def test_mistakes_were_planted_in_every_rule():
    ledger = json.loads((ROOT / "tests" / "golden" / "mutants.json").read_text())
    assert set(ledger["mistakes"]) == rules()


def overload_of(name):
    _, base, overload = name.split(".")
    return getattr(getattr(torch.ops.aten, base), overload)


@pytest.mark.parametrize("name", CALLS)
def test_call(name):
    operator, arguments = overload_of(name), list(CALLS[name])
    keywords = arguments.pop() if arguments and isinstance(arguments[-1], dict) else {}
    leaves, spec = torch.utils._pytree.tree_flatten(arguments)
    places = [i for i, x in enumerate(leaves) if isinstance(x, torch.Tensor)]

    def function(*tensors):
        given = list(leaves)
        for place, tensor in zip(places, tensors):
            given[place] = tensor
        return operator(*torch.utils._pytree.tree_unflatten(given, spec), **keywords)

    inputs = [leaves[i] for i in places]
    module = Function(function)
    call, report = compiled(module, inputs)
    assert not report["aten_calls"], report["aten_calls"]
    checker.check(module, *inputs, compiled=call)
