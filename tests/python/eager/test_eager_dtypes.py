"""The dtypes that graphs promise are eager's if operands have several dtypes. Nothing is compiled: each operator is traced as by frit, and the dtype
is compared with eager's."""

import itertools

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx

from frit.eager.decompositions import decomposition_table
from frit.eager.dtypes import OF_SELF

aten = torch.ops.aten
DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int64)


def call(op):
    """Returns the operator as a function of tensors only, with the other arguments filled in."""
    if op is aten.addr.default:
        return lambda x, y: op(x[:, None], y, y)
    if op is aten.select_scatter.default:
        return lambda x, y: op(x, y[0], 0, 1)
    if op is aten.threshold_backward.default:
        return lambda x, y: op(x, y, 0.5)
    rest = {"huber_loss": (), "mish_backward": (), "soft_margin_loss": ()}.get(op._schema.name.removeprefix("aten::"))
    if rest is not None:
        return lambda x, y: op(x, y)
    if op is aten.smooth_l1_loss_backward.default:
        return lambda x, y: op(x, y, x, 0, 1.0)
    return lambda x, y: op(x, y, x, 0)


@pytest.mark.parametrize("op", [*OF_SELF, aten.select_scatter.default, aten.addr.default, aten.threshold_backward.default], ids=str)
def test_operands_of_several_dtypes(op):
    met = 0
    for one, other in itertools.product(DTYPES, repeat=2):
        inputs = torch.tensor([1, 2, 3]).to(one), torch.tensor([3, 2, 1]).to(other)
        try:
            expected = call(op)(*inputs)
        except RuntimeError:
            continue  # eager has no kernel for these
        met += one != other
        traced = make_fx(call(op), decomposition_table(), tracing_mode="fake")(*inputs)
        (output,) = traced.graph.find_nodes(op="output")
        assert output.args[0].meta["val"].dtype == expected.dtype, (op, one, other)
        torch.testing.assert_close(traced(*inputs), expected, rtol=2e-2, atol=1e-2)
    assert met >= 2
