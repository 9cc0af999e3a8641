"""`frit.explain(f).over(calls)` names each recompilation of Dynamo, and the suggested remedy avoids it."""

import os

import pytest
import torch

import frit
from frit.report.recompiles import explain_reason

HERE = os.path.basename(__file__)


def softmax(x):
    return torch.softmax(x * 2, -1)


def total(x, y):
    return x.sum() + y.sum()


def rows(n):
    return torch.randn(n, 4)


def marked(n, **bounds):
    x = rows(n)
    torch._dynamo.mark_dynamic(x, 0, **bounds)
    return x


def recompiles(function, calls, **settings):
    return frit.explain(function, **settings).over(calls).recompiles


def only(function, calls, **settings):
    found = recompiles(function, calls, **settings)
    assert len(found) == 1, found
    return found[0]


def test_nothing_is_named_where_nothing_is_recompiled():
    assert recompiles(softmax, [(rows(n),) for n in (5, 9, 30)], dynamic=True) == []


@pytest.mark.parametrize("size", [0, 1])
def test_sizes_zero_and_one(size):
    found = only(softmax, [(rows(5),), (rows(size),)], dynamic=True)
    assert found.kind == "zero_one" and found.input == "x[0]" and f"x[0] is {size}" in found.reason
    assert found.source.startswith(f"{HERE}:") and "torch.softmax(x * 2, -1)" in found.source
    assert "mark_unbacked(x, 0)" in found.remedy
    unbacked = []
    for n in (5, size):
        unbacked.append((rows(n),))
        torch._dynamo.decorators.mark_unbacked(unbacked[-1][0], 0)
    assert recompiles(softmax, unbacked) == []


def test_a_size_of_one_and_then_zero():
    kinds = [one.kind for one in recompiles(softmax, [(rows(5),), (rows(1),), (rows(0),)], dynamic=True)]
    assert kinds == ["zero_one", "zero_one"]


def test_the_first_size_is_static():
    found = only(softmax, [(rows(5),), (rows(6),), (rows(7),)])
    assert found.kind == "static" and "x[0] was 5" in found.reason and "now it is 6" in found.reason
    assert "torch._dynamo.mark_dynamic(x, 0)" in found.remedy and "dynamic=True" in found.remedy
    assert recompiles(softmax, [(marked(n),) for n in (5, 6, 7)]) == []
    assert recompiles(softmax, [(rows(n),) for n in (5, 6, 7)], dynamic=True) == []


def test_sizes_that_were_equal_by_chance():
    found = only(total, [(rows(5), rows(5)), (rows(5), rows(6))], dynamic=True)
    assert found.kind == "duck" and "y[0]" in found.reason and "x[0]" in found.reason and "equal by chance" in found.reason
    assert "mark_dynamic(x, 0)" in found.remedy and "mark_dynamic(y, 0)" in found.remedy
    assert recompiles(total, [(marked(5), marked(5)), (marked(5), marked(6))], dynamic=True) == []


def test_a_size_beyond_the_declared_maximum():
    found = only(softmax, [(marked(5, min=2, max=64),), (rows(100),)])
    assert found.kind == "range" and "x[0] is 100" in found.reason and "2 to 64" in found.reason
    assert "mark_dynamic(x, 0, min=2, max=...)" in found.remedy
    assert recompiles(softmax, [(marked(5, min=2, max=128),), (rows(100),)]) == []


def test_a_size_of_one_under_a_declared_range():
    found = only(softmax, [(marked(5, min=2, max=64),), (rows(1),)])
    assert found.kind == "zero_one" and "x[0] is 1" in found.reason


def test_conditions_of_the_program():
    def branch(x):
        return x * 2 if x.shape[0] > 10 else x + 1

    found = only(branch, [(rows(5),), (rows(15),)], dynamic=True)
    assert found.kind == "condition" and "x.size()[0] <= 10" in found.reason
    assert "if x.shape[0] > 10" in found.source and "torch.where" in found.remedy

    def even(x):
        return x.reshape(2, -1) if x.shape[0] % 2 == 0 else x + 1

    found = only(even, [(torch.ones(4),), (torch.ones(5),)], dynamic=True)
    assert found.kind == "condition" and "% 2" in found.reason


def test_integers_taken_for_constant():
    def scale(x, k):
        return x * k

    found = only(scale, [(rows(5), 3), (rows(5), 4)])
    assert found.kind == "integer" and found.input == "k" and "k was 3" in found.reason
    assert recompiles(scale, [(rows(5), 3), (rows(5), 4)], dynamic=True) == []


def test_what_is_no_matter_of_sizes():
    found = only(softmax, [(rows(5),), (rows(5).double(),)], dynamic=True)
    assert found.kind == "other" and "dtype mismatch" in found.reason


def test_alignment_of_attention_on_a_gpu():
    """On the CPU attention needs no multiples; the text is the one for a GPU."""
    guard = (
        "0/0: (mask.size()[3] % 8) == 0  # attn = F.scaled_dot_product_attention(q, k, v, mask)  # app/model.py:31 in forward "
        "(_ops/attention.py:12 in pad_bias)"
    )
    found = explain_reason(guard, "forward", "model.py:20 in forward")
    assert found.kind == "alignment" and found.input == "mask[3]" and "multiple of 8" in found.reason
    assert found.source == "model.py:31 in forward: attn = F.scaled_dot_product_attention(q, k, v, mask)"
    assert "pad_to_multiple_of=8" in found.remedy


def test_methods_and_keywords():
    class Model(torch.nn.Module):
        def forward(self, x, *, mask=None):
            return (x * mask).sum()

    found = only(Model(), [((rows(5),), {"mask": rows(5)}), {"x": rows(1), "mask": rows(1)}], dynamic=True)
    assert found.kind == "zero_one" and found.function == "forward"


def test_the_explanation_prints_and_is_json():
    import json

    explanation = frit.explain(softmax, dynamic=True).over([(rows(5),), (rows(1),)])
    assert "recompiled softmax (test_recompiles.py:" in str(explanation)
    assert json.loads(explanation.to_json())["recompiles"][0]["kind"] == "zero_one"
